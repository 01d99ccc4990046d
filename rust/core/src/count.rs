//! What things cost. One table for all formats; DESIGN.md section 2 has the same figures.
//!
//! Providers do not publish their chat templates' overhead for every model: the figures for messages and calls are those of the
//! common ChatML layout (role, separators, end mark), rounded up. Images follow the providers' published rules for a picture of
//! about one megapixel.

use crate::json::Writer;
use crate::node::Node;

/// Tokens of a request beyond its messages (the reply's opening).
pub const REQUEST: u64 = 3;
/// Tokens of a message beyond its parts.
pub const MESSAGE: u64 = 4;
/// A `name` on a message, beyond its text.
pub const NAME: u64 = 1;
/// Tokens of a call beyond name and arguments (id, type, braces).
pub const CALL: u64 = 8;
/// Tokens of a result beyond its content.
pub const RESULT: u64 = 4;
/// Tokens of a tool definition beyond its JSON.
pub const TOOL: u64 = 8;
/// A redacted thinking block.
pub const REDACTED_THINKING: u64 = 300;
/// A sound.
pub const AUDIO: u64 = 500;
/// A document that is not plain text.
pub const DOCUMENT: u64 = 3_000;

/// The counter failed; whoever lent it knows why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// Counts the tokens of a text.
pub trait Counter {
    /// Tokens of `text`.
    ///
    /// # Errors
    /// [`Failed`] when a counter of the user's raised or gave nonsense.
    fn count(&mut self, text: &str) -> Result<u64, Failed>;
}

/// The built-in estimate.
#[derive(Clone, Copy, Debug)]
pub struct Estimate(pub &'static crate::estimate::Weights);

impl Counter for Estimate {
    fn count(&mut self, text: &str) -> Result<u64, Failed> {
        Ok(crate::estimate::estimate(text, self.0))
    }
}

/// Four characters a token, rounded up: the rule of thumb, for tests and comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Chars4;

impl Counter for Chars4 {
    fn count(&mut self, text: &str) -> Result<u64, Failed> {
        Ok((text.chars().count() as u64).div_ceil(4))
    }
}

/// Price of a node as compact JSON, and whether a lone surrogate is in it; `None` when it is nested too deep or too large.
pub(crate) fn json<N: Node>(node: &N, counter: &mut dyn Counter) -> Result<Option<(u64, bool)>, Failed> {
    let mut writer = Writer::plain();
    node.write_json(&mut writer);
    if writer.excess { Ok(None) } else { counter.count(&writer.out).map(|tokens| Some((tokens, writer.lossy))) }
}

/// Price of an unknown block: its compact JSON, each blob in it as one image.
pub(crate) fn opaque<N: Node>(node: &N, image: u64, counter: &mut dyn Counter) -> Result<Option<u64>, Failed> {
    let mut writer = Writer::without_blobs();
    node.write_json(&mut writer);
    if writer.excess {
        return Ok(None);
    }
    Ok(Some(counter.count(&writer.out)? + image * u64::from(writer.blobs)))
}
