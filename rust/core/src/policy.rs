//! The settings, as the engine sees them. Defaults and validation live with the caller's typed policy; the meaning is in
//! DESIGN.md sections 5 and 6.

/// A share of the input limit, or a number of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Times the input limit, floored.
    Share(f64),
    /// Tokens as they are.
    Tokens(u64),
}

impl Amount {
    /// The tokens this means under an input limit.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    pub fn of(self, limit: u64) -> u64 {
        match self {
            // IEEE multiplication and floor: the same on every platform. Limits stay far below 2^53.
            Self::Share(share) => (share * limit as f64).floor() as u64,
            Self::Tokens(tokens) => tokens,
        }
    }
}

/// Layer 1.
#[derive(Clone, Debug)]
pub struct Clear {
    /// A single result is truncated to this.
    pub single_share: Amount,
    /// The fill at which results are cleared.
    pub trigger: Amount,
    /// The fill that clearing works down to.
    pub target: Amount,
    /// The least that one clearing frees.
    pub at_least: Amount,
    /// The newest results, never cleared.
    pub keep: usize,
    /// Normalised names of the tools that go first.
    pub listed: Vec<String>,
    /// Normalised names of the tools whose results are never cleared.
    pub protected: Vec<String>,
    /// Normalised names the caller excludes.
    pub exclude_tools: Vec<String>,
    /// Normalised names of the tools that read a file.
    pub readers: Vec<String>,
    /// A result of this many tokens is verbose.
    pub verbose: u64,
    /// Verbose results older than this many turns go early.
    pub verbose_turns: usize,
    /// Errors of this many last turns are never cleared.
    pub errors_keep_turns: usize,
    /// Clear the first group without waiting for the trigger.
    pub eager: bool,
    /// Only listed tools, no ranks.
    pub literal: bool,
}

/// Layer 2.
#[derive(Clone, Debug)]
pub struct Prune {
    /// The fill at which the middle is pruned.
    pub trigger: Amount,
    /// The fill under which more is kept.
    pub target: Amount,
    /// The newest messages, at most.
    pub keep: usize,
    /// Bound of the carry-over.
    pub carry_over: Amount,
    /// Part of the room given to recent units.
    pub recent_share: f64,
    /// Part of the room given to older user messages.
    pub verbatim_share: f64,
}

/// All settings.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Layer 1.
    pub clear: Clear,
    /// Layer 2.
    pub prune: Prune,
    /// Merge the notice so that user and assistant messages alternate.
    pub strict_alternation: bool,
}
