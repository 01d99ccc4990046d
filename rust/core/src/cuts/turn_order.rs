//! Turn order. Gemini: a content with calls comes right after a user's content (results are one, too). Bedrock: the first
//! message is a user's.
//!
//! As a veto this rule would glue whole agent runs together. Instead a cut may go anywhere, and where what stays breaks the
//! order a short user content is put between. It is rare: only something pinned or kept for other reasons can stand there.

use crate::draft::Draft;
use crate::format::Format;
use crate::item::{Item, Made, Role};

/// A user content that stands before calls only for the order's sake goes with them.
pub(super) fn veto<N: Clone>(draft: &Draft<N>, legal: &mut [bool]) {
    if draft.format != Format::Gemini {
        return;
    }
    let filler = |item: &Item<N>| item.role == Role::User && (item.stub || item.made == Some(Made::Start));
    for (at, pair) in draft.items.windows(2).enumerate() {
        if filler(&pair[0]) && draft.has_calls(&pair[1]) {
            legal[at + 1] = false;
        }
    }
}

/// Whether a user's message has to stand between these two neighbours.
#[must_use]
pub fn needs_user<N: Clone>(draft: &Draft<N>, before: Option<&Item<N>>, item: &Item<N>) -> bool {
    match draft.format {
        Format::Gemini => draft.has_calls(item) && before.is_none_or(|before| before.role != Role::User),
        Format::Bedrock => before.is_none() && item.role != Role::User,
        Format::OpenAiChat | Format::Anthropic | Format::Responses => false,
    }
}
