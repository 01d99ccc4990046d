//! Shortens one text to a number of tokens, at a line break where that costs little, with a marker on a line of its own.
//!
//! Invariant: the result, marker included, costs at most the budget by the counter in use, starts with a prefix of the text, and
//! never ends inside a character, a CRLF, an escape sequence or a joined emoji. DESIGN.md section 7. The counter is asked
//! O(log n) times, first near the place that the text's own density suggests.
//!
//! Example: 400 lines of 10 characters, cut to 100 tokens of 4 characters: whole lines, then `\n[truncated: ...]`.

use crate::count::{Counter, Failed};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// How far back an escape sequence or a run of regional indicators is looked for, in bytes.
const LOOK_BACK: usize = 64;

/// Cuts `text` to `max_tokens`. `None` when not even the marker fits; a text that fits comes back whole.
///
/// # Errors
/// The counter failed.
pub fn truncate(text: &str, max_tokens: u64, marker: &str, counter: &mut dyn Counter) -> Result<Option<String>, Failed> {
    let whole = counter.count(text)?;
    if whole <= max_tokens {
        return Ok(Some(text.to_owned()));
    }
    let mut scratch = String::new();
    let mut fits = |end: usize, counter: &mut dyn Counter| {
        scratch.clear();
        scratch.push_str(&text[..end]);
        if end > 0 {
            scratch.push('\n');
        }
        scratch.push_str(marker);
        counter.count(&scratch).map(|tokens| tokens <= max_tokens)
    };
    let longest = longest_prefix(text, whole, max_tokens, counter, &mut fits)?;
    let mut end = at_line_break(text, legal_before(text, longest));
    // A counter that is not quite monotone may find the shorter text dearer: give way until it fits.
    while end > 0 && !fits(end, counter)? {
        end = legal_before(text, text.floor_char_boundary(end - 1 - end / 64));
    }
    if end == 0 {
        return Ok((counter.count(marker)? <= max_tokens).then(|| marker.to_owned()));
    }
    Ok(Some(format!("{}\n{marker}", &text[..end])))
}

/// The longest prefix (a character boundary) that fits, found by galloping from a guess and then bisecting.
fn longest_prefix(
    text: &str,
    whole: u64,
    max_tokens: u64,
    counter: &mut dyn Counter,
    fits: &mut impl FnMut(usize, &mut dyn Counter) -> Result<bool, Failed>,
) -> Result<usize, Failed> {
    if text.len() < 2 {
        return Ok(0);
    }
    // Everything up to `low` fits, nothing from `high` on does.
    let (mut low, mut high) = (0, text.len());
    let guess = (text.len() as u128 * u128::from(max_tokens) / u128::from(whole.max(1))) as usize;
    let mut step = (text.len() / 256).max(16);
    let mut at = guess.clamp(1, text.len() - 1);
    let up = fits(text.floor_char_boundary(at), counter)?;
    loop {
        if fits(text.floor_char_boundary(at), counter)? {
            low = at
        } else {
            high = at
        }
        let next = if up { at.saturating_add(step) } else { at.saturating_sub(step) };
        step *= 2;
        if (up && low != at) || (!up && high != at) || next <= low || next >= high {
            break;
        }
        at = next;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(text.floor_char_boundary(middle), counter)? { low = middle } else { high = middle }
    }
    Ok(text.floor_char_boundary(low))
}

/// The end of the last whole line, when that keeps at least 70 % of the bytes; else `end` itself.
fn at_line_break(text: &str, end: usize) -> usize {
    match text[..end].rfind('\n') {
        Some(line) if line * 10 >= end * 7 => line - usize::from(text[..line].ends_with('\r')),
        _ => end,
    }
}

/// The nearest legal place at or before `end`.
#[must_use]
pub fn legal_before(text: &str, end: usize) -> usize {
    let mut end = text.floor_char_boundary(end);
    while !is_legal(text, end) {
        end = text.floor_char_boundary(end - 1);
    }
    end
}

fn is_legal(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    let (Some(last), Some(next)) = (before.chars().next_back(), after.chars().next()) else { return true };
    let inside = (last == '\r' && next == '\n')
        || joins(next)
        || last == '\u{200d}'
        || (is_regional(next) && is_regional(last) && inside_flag(before))
        || inside_escape(before, after);
    !inside
}

/// Whether a character belongs to the one before it.
fn joins(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{1f3fb}'..='\u{1f3ff}')
        || c.general_category_group() == GeneralCategoryGroup::Mark
}

fn is_regional(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Whether an odd number of regional indicators ends here: the next one completes a flag.
fn inside_flag(before: &str) -> bool {
    before.chars().rev().take(LOOK_BACK / 4).take_while(|&c| is_regional(c)).count() % 2 == 1
}

/// Whether the place lies between `ESC` and the final byte of a control sequence.
fn inside_escape(before: &str, after: &str) -> bool {
    let tail = &before.as_bytes()[before.len().saturating_sub(LOOK_BACK)..];
    let Some(escape) = tail.iter().rposition(|&b| b == 0x1b) else { return false };
    let mut rest = tail[escape + 1..].iter().chain(after.as_bytes().iter().take(LOOK_BACK)).copied();
    if rest.next() != Some(b'[') {
        return false;
    }
    let parameters = rest.by_ref().take_while(|b| (0x20..=0x3f).contains(b)).count();
    // Bytes from ESC to the final byte, that one included; the final byte itself was taken by `take_while`.
    let length = 2 + parameters + 1;
    let written = tail.len() - escape;
    let last = tail.get(escape + length - 1).or_else(|| after.as_bytes().get(length - 1 - written.min(length - 1)));
    written < length && last.is_some_and(|b| (0x40..=0x7e).contains(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::Chars4;

    const MARKER: &str = crate::format::TRUNCATED;

    fn cut(text: &str, tokens: u64) -> Option<String> {
        truncate(text, tokens, MARKER, &mut Chars4).unwrap()
    }

    #[test]
    fn whole_lines_are_kept_when_they_are_near() {
        let text = "line\r\n".repeat(400);
        let out = cut(&text, 100).unwrap();
        let body = out.strip_suffix(&format!("\n{MARKER}")).unwrap();
        assert!(body.ends_with("line") && text.starts_with(body));
        assert!(out.chars().count().div_ceil(4) <= 100);
    }

    #[test]
    fn a_far_line_break_is_not_taken() {
        let text = format!("short first line\n{}", "x".repeat(100_000));
        let out = cut(&text, 1000).unwrap();
        assert_eq!(out.chars().count(), 4000);
    }

    #[test]
    fn every_budget_is_kept_and_prefixes_are_legal() {
        let texts = [
            "Compiled the file \u{2713} and more",
            "a\u{1b}[31mred\u{1b}[0m b",
            "\u{e01}\u{e33}\u{e48}\u{e19}",
            "🇹🇭🇹🇭🇹🇭",
            "👩\u{200d}👩\u{200d}👧x",
        ];
        for text in texts.map(|t| t.repeat(40)) {
            for tokens in 0..400 {
                match cut(&text, tokens) {
                    None => assert!(tokens < 11),
                    Some(out) => {
                        assert!(out.chars().count().div_ceil(4) as u64 <= tokens, "{tokens} {out:?}");
                        let body = out.strip_suffix(MARKER).unwrap_or(&out).trim_end_matches('\n');
                        assert!(text.starts_with(body));
                        assert!(is_legal(&text, body.len()), "{tokens} {body:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn escape_sequences_are_whole() {
        let text = "ab\u{1b}[31mcd";
        let legal: Vec<usize> = (0..=text.len()).filter(|&at| is_legal(text, at)).collect();
        assert_eq!(legal, [0, 1, 2, 7, 8, 9]);
    }
}
