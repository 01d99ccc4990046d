//! Turn order, as a rule of the format: who may speak after whom, and what has to stand between two neighbours that may not be ones.
//!
//! Gemini: a content with calls comes right after a user's content (results are one, too). Bedrock: a user's message opens, and user
//! and assistant alternate. With strict alternation, in every format: no two messages of the user's side by side, where tool
//! messages and what the model calls without a word are not looked at (chat templates judge it so).
//!
//! As a veto on cuts this rule would glue whole agent runs together. Instead a cut may go anywhere, and where what stays breaks
//! the order a short message of ours, a *filler*, is put between. Example (Bedrock): of `user, assistant, user` the middle goes;
//! `user, filler (assistant), user` is left. One step each item.

use super::Format;
use crate::draft::Draft;
use crate::item::{Item, Made, PartKind, Role};

/// A walk over the items of a history, in order.
#[derive(Clone, Debug)]
pub struct Turns {
    format: Format,
    strict: bool,
    /// The role of the item before.
    before: Option<Role>,
    /// The last that was said by the user or the model.
    said: Option<Role>,
}

impl Turns {
    /// A walk that begins before the first item.
    #[must_use]
    pub const fn new(format: Format, strict: bool) -> Self {
        Self { format, strict, before: None, said: None }
    }
    /// The role of the filler that has to stand before this item, when one has to. Then the walk stands behind the item.
    pub fn before_item<N: Clone>(&mut self, draft: &Draft<N>, item: &Item<N>) -> Option<Role> {
        let calls = draft.has_calls(item);
        let speaks = match item.role {
            Role::User => true,
            Role::Assistant if !self.format.result_messages() || item.made.is_some() => true,
            Role::Assistant => {
                draft.parts_of(item).iter().any(|p| p.kind == PartKind::Text && !p.blank)
                    || (!calls && self.format == Format::OpenAiChat)
            }
            Role::System | Role::Tool => false,
        };
        self.step(item.role, calls, speaks)
    }
    /// The same for a notice of this role.
    pub fn before_notice(&mut self, role: Role) -> Option<Role> {
        self.step(role, false, true)
    }
    fn step(&mut self, role: Role, calls: bool, speaks: bool) -> Option<Role> {
        let filler = match self.format {
            Format::Bedrock => match (self.before, role) {
                (None, Role::Assistant) | (Some(Role::Assistant), Role::Assistant) => Some(Role::User),
                (Some(Role::User), Role::User) => Some(Role::Assistant),
                _ => None,
            },
            Format::Gemini if calls && self.before != Some(Role::User) => Some(Role::User),
            Format::OpenAiChat | Format::Anthropic | Format::Responses | Format::Gemini => {
                let twice = self.strict && speaks && role == Role::User && self.said == Some(Role::User);
                twice.then_some(Role::Assistant)
            }
        };
        self.before = Some(role);
        if speaks {
            self.said = Some(role);
        }
        filler
    }
}

/// Whether this is a filler: one made now, or one that came in.
#[must_use]
pub fn is_filler<N>(item: &Item<N>) -> bool {
    item.role != Role::Tool && (item.stub || item.made == Some(Made::Start))
}

impl Format {
    /// Whether no two neighbours may have the same role, whatever the settings.
    #[must_use]
    pub const fn alternates(self) -> bool {
        matches!(self, Self::Bedrock)
    }
    /// Whether a user's filler goes with the calls behind it (one that is needed elsewhere is made afresh).
    #[must_use]
    pub const fn filler_goes_with_calls(self) -> bool {
        matches!(self, Self::Gemini)
    }
    /// Whether a filler of this role is put in and left out as the order of what stays demands. Else it stays where it stands: a
    /// user's that opens an Anthropic history cannot be missed.
    #[must_use]
    pub const fn filler_comes_and_goes(self, role: Role) -> bool {
        matches!(self, Self::Bedrock) || (matches!(role, Role::Assistant) && !matches!(self, Self::Gemini))
    }
}
