//! Times counting on files of texts: `time FILE ROUNDS`. A file holds corpora; each is a little-endian `u32` number of
//! texts, then for each text its length as `u32` and its bytes. The first count of each corpus is reported as new, the
//! later ones as again, in milliseconds.

use std::time::Instant;

fn read(data: &[u8]) -> Vec<Vec<&str>> {
    let mut rest = data;
    let number = |rest: &mut &[u8]| {
        let (head, tail) = rest.split_first_chunk::<4>().expect("a length");
        *rest = tail;
        u32::from_le_bytes(*head) as usize
    };
    let mut corpora = Vec::new();
    while !rest.is_empty() {
        let texts = (0..number(&mut rest)).map(|_| {
            let length = number(&mut rest);
            let (text, tail) = rest.split_at(length);
            rest = tail;
            std::str::from_utf8(text).expect("UTF-8")
        });
        corpora.push(texts.collect());
    }
    corpora
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).expect("a readable file");
    let rounds: usize = arguments[2].parse().expect("a number");
    let started = Instant::now();
    let tokenizer = lithify_bpe::o200k();
    println!("load {:.2} ms", started.elapsed().as_secs_f64() * 1e3);
    let corpora = read(&data);
    let (mut new, mut again) = (Vec::new(), Vec::new());
    let mut total = 0;
    for texts in &corpora {
        for round in 0..=rounds {
            let started = Instant::now();
            total += texts.iter().map(|text| tokenizer.count(text)).sum::<u64>();
            let milliseconds = started.elapsed().as_secs_f64() * 1e3;
            if round == 0 { new.push(milliseconds) } else { again.push(milliseconds) }
        }
    }
    again.sort_by(f64::total_cmp);
    println!("{} new {new:.1?} again median {:.1} min {:.1} total {total}", arguments[1], again[again.len() / 2], again[0]);
}
