//! Properties of the estimate that hold for any weights, and a few plain texts for the fitted ones.

use super::*;

const ALL: [Weights; 3] = [Weights::O200K, Weights::CL100K, Weights::DEFAULT];

/// A small generator, so that the tests need no crate.
fn noise(len: usize, mut seed: u64) -> Vec<u8> {
    (0..len)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        })
        .collect()
}

/// The same sum, written as the definition reads.
fn plain(text: &[u8], weights: &Weights) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let at = |i: isize| usize::try_from(i).ok().and_then(|i| text.get(i)).copied().unwrap_or(0);
    let mut total = 0_i64;
    for i in 0..text.len() as isize {
        let quad = [at(i - 2), at(i - 1), at(i), at(i + 1)];
        total += i64::from(weights.steps(u64::from(u32::from_le_bytes(quad)))) - ZERO;
    }
    (total.max(0) as u64 * weights.scale)
        .max(text.len() as u64 * UNITS_PER_TOKEN / 64 + u64::from(!text.len().is_multiple_of(64)))
        .max(UNITS_PER_TOKEN)
}

#[test]
fn empty_is_zero_and_the_rest_is_not() {
    for weights in &ALL {
        assert_eq!(estimate("", weights), 0);
        assert_eq!(estimate_units(b"", weights), 0);
        for byte in 0..=255 {
            assert!(estimate_units(&[byte], weights) >= UNITS_PER_TOKEN);
        }
    }
}

#[test]
fn blocks_and_edges_agree_with_the_definition() {
    for weights in &ALL {
        for len in 0..300 {
            let text = noise(len, len as u64);
            assert_eq!(estimate_units(&text, weights), plain(&text, weights), "{len} bytes");
        }
    }
}

#[test]
fn parts_add_up_to_the_whole() {
    let text = "fn main() { println!(\"héllo, 世界\"); } // the end\n".repeat(40);
    for weights in &ALL {
        let whole = estimate_units(text.as_bytes(), weights);
        for cut in (1..text.len()).filter(|&i| text.is_char_boundary(i)) {
            let (left, right) = text.split_at(cut);
            let sum = estimate_units(left.as_bytes(), weights) + estimate_units(right.as_bytes(), weights);
            assert!(sum.abs_diff(whole) <= 5 * UNITS_PER_TOKEN, "cut at {cut}: {sum} and {whole}");
        }
    }
}

#[test]
fn a_prefix_is_not_far_above_the_whole() {
    let text = "Die Straße — 東京都 has 13,960,000 people\n\n\t\tif (x) { return 0x1F; }  ".repeat(20);
    for weights in &ALL {
        let mut most = 0;
        for end in (1..=text.len()).filter(|&i| text.is_char_boundary(i)) {
            let now = estimate_units(&text.as_bytes()[..end], weights);
            assert!(most <= now + 3 * UNITS_PER_TOKEN, "at {end}");
            most = most.max(now);
        }
    }
}

#[test]
fn truncation_uses_its_budget() {
    let marker = crate::format::TRUNCATED;
    let texts = ["all words on one line, ", "东京都的人口超过一千万。", "{\"k\":[1,2.5,null]},", "🙂👍🏽 ", "QUJDREVGR0hJSktM"];
    for weights in [&Weights::O200K, &Weights::CL100K] {
        for text in texts.map(|t| t.repeat(400)) {
            for budget in [100, 250, 600] {
                let mut counter = crate::count::Estimate(weights);
                let out = crate::truncate::truncate(&text, budget, marker, &mut counter).unwrap().unwrap();
                let used = estimate(&out, weights);
                assert!(used <= budget && used + 6 >= budget.min(estimate(&text, weights)), "{used} of {budget}: {text:.20}");
            }
        }
    }
}

#[test]
fn a_repeated_text_costs_its_multiple() {
    for weights in &ALL {
        for piece in ["hello world. ", "数据", "\t\t}\n", "🙂", "QUJDRA"] {
            let some = estimate_units(piece.repeat(100).as_bytes(), weights);
            let more = estimate_units(piece.repeat(1000).as_bytes(), weights);
            assert!(more.abs_diff(10 * some) <= 20 * UNITS_PER_TOKEN, "{piece:?}");
        }
    }
}

#[test]
fn any_bytes_are_accepted() {
    for weights in &ALL {
        for text in [&b"\xED\xA0\x80"[..], b"\xFF\xFE", b"\0", b"a\xC3", &[0x80; 100], &[0; 1000]] {
            assert!(estimate_units(text, weights) >= UNITS_PER_TOKEN);
        }
    }
}

#[test]
fn plain_texts_are_near_the_truth() {
    let cases = [
        ("The quick brown fox jumps over the lazy dog. It was not amused, and went home early.", 20, 20),
        ("def main() -> None:\n    for i in range(10):\n        print(i)\n\n\nmain()\n", 20, 20),
    ];
    for (text, o200k, cl100k) in cases {
        assert!(estimate(text, &Weights::O200K).abs_diff(o200k) <= 4, "{text}");
        assert!(estimate(text, &Weights::CL100K).abs_diff(cl100k) <= 4, "{text}");
    }
}
