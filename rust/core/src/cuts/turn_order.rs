//! Gemini's turn order: a content with calls comes right after a user's content (results are one, too).
//!
//! As a veto this rule would glue whole agent runs together. Instead a cut may go anywhere, and where what stays breaks the
//! order a short user content is put between. It is rare: only something pinned or kept for other reasons can stand there.

use crate::draft::Draft;
use crate::format::Format;
use crate::item::{Item, Role};

/// Whether a user content has to stand between these two neighbours.
#[must_use]
pub fn needs_user<N: Clone>(draft: &Draft<N>, before: Option<&Item<N>>, item: &Item<N>) -> bool {
    draft.format == Format::Gemini && draft.has_calls(item) && before.is_none_or(|before| before.role != Role::User)
}
