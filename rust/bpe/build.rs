//! Unpacks the vocabulary files at compile time.
//!
//! The source tree holds them compressed. The library wants them plain: reading them then costs no time and no memory
//! beyond the pages touched, and the wheel is compressed as a whole anyway.

use std::path::Path;
use std::{env, fs};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for name in ["cl100k_base", "o200k_base"] {
        let source = format!("data/{name}.bin.z");
        println!("cargo::rerun-if-changed={source}");
        let packed = fs::read(&source).unwrap_or_else(|error| panic!("{source}: {error}"));
        let plain =
            miniz_oxide::inflate::decompress_to_vec_zlib(&packed).unwrap_or_else(|error| panic!("{source} is damaged: {error}"));
        fs::write(Path::new(&out).join(format!("{name}.bin")), plain).expect("OUT_DIR is writable");
    }
}
