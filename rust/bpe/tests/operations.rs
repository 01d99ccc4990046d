//! Prefix, suffix and stream against trying everything, on random texts of units that stress the patterns.

use lithify_bpe::{StreamCounter, Tokenizer, cl100k, o200k};

const UNITS: &[&str] = &[
    "a",
    "B",
    "the",
    "The",
    "HTTP",
    "fooBar",
    "中",
    "文字",
    "ไทย",
    "é",
    "É",
    "ʰ",
    "\u{301}",
    "\u{300}\u{302}",
    "'s",
    "'S",
    "'re",
    "'LL",
    "'",
    "\u{2019}s",
    "'\u{17F}",
    " ",
    " ",
    " ",
    "  ",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    " \n",
    "\u{A0}",
    "\u{3000}",
    "!",
    "//",
    "/\n",
    "...",
    "(",
    ")",
    "=",
    "====",
    "0",
    "42",
    "1234567",
    "²",
    "😀",
    "👍🏽",
    "<|endoftext|>",
    "\0",
    "_",
    "-",
];

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    /// Some units out of a few, so that repetitions are common.
    fn text(&mut self) -> String {
        let pool: Vec<&str> = (0..1 + self.below(8)).map(|_| UNITS[self.below(UNITS.len())]).collect();
        (0..self.below(40)).map(|_| pool[self.below(pool.len())]).collect()
    }
}

fn cuts(text: &str) -> impl DoubleEndedIterator<Item = usize> + '_ {
    (0..=text.len()).filter(|&at| text.is_char_boundary(at))
}

fn tokenizers() -> [&'static Tokenizer; 2] {
    [o200k(), cl100k()]
}

#[test]
fn count_is_the_number_of_tokens() {
    let mut random = Random(1);
    for _ in 0..20_000 {
        let text = random.text();
        for tokenizer in tokenizers() {
            assert_eq!(tokenizer.count(&text), tokenizer.encode(&text).len() as u64, "{text:?}");
        }
    }
}

#[test]
fn prefix_is_the_longest() {
    let mut random = Random(2);
    for _ in 0..10_000 {
        let text = random.text();
        let max = random.below(30) as u64;
        for tokenizer in tokenizers() {
            let best = cuts(&text).rev().find(|&cut| tokenizer.count(&text[..cut]) <= max).unwrap();
            assert_eq!(tokenizer.prefix(&text, max), &text[..best], "{text:?} {max} {:?}", tokenizer.encoding());
        }
    }
}

#[test]
fn suffix_is_the_longest() {
    let mut random = Random(3);
    for _ in 0..10_000 {
        let text = random.text();
        let max = random.below(30) as u64;
        for tokenizer in tokenizers() {
            let best = cuts(&text).find(|&cut| tokenizer.count(&text[cut..]) <= max).unwrap();
            assert_eq!(tokenizer.suffix(&text, max), &text[best..], "{text:?} {max} {:?}", tokenizer.encoding());
        }
    }
}

#[test]
fn a_stream_counts_like_its_text() {
    let mut random = Random(4);
    for _ in 0..3_000 {
        let text = random.text();
        for tokenizer in tokenizers() {
            let mut stream = StreamCounter::new(tokenizer);
            let mut before = 0;
            for cut in cuts(&text) {
                stream.append(&text[before..cut]);
                before = cut;
                assert_eq!(stream.total(), tokenizer.count(&text[..cut]), "{:?}", &text[..cut]);
            }
        }
    }
}

#[test]
fn long_runs_are_cut_within_the_budget() {
    let texts =
        ["a".repeat(200_000), "的一是不了人我在".repeat(20_000), " ".repeat(200_000), "=".repeat(50_000), "A中".repeat(50_000)];
    for text in &texts {
        for tokenizer in tokenizers() {
            for max in [0, 1, 2, 100, 1_000] {
                let prefix = tokenizer.prefix(text, max);
                assert!(tokenizer.count(prefix) <= max);
                if let Some(next) = text[prefix.len()..].chars().next() {
                    let longer = &text[..prefix.len() + next.len_utf8()];
                    assert!(tokenizer.count(longer) > max, "{:?} {max}", &text[..8]);
                }
                let suffix = tokenizer.suffix(text, max);
                assert!(tokenizer.count(suffix) <= max && (max < 100 || suffix.len() >= 90));
            }
        }
    }
}
