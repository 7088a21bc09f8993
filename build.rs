//! Hashes the sources that decide what a measurement is, so that stored measurements of another version are not reused;
//! and under the feature `gem5` lets the program find libgem5 where it was linked.
//!
//! A version number would do if nobody ever forgot to raise it. The hash is FNV-1a of 128 bits: it guards against
//! accidents, not against enemies, and needs no package.
use std::path::{Path, PathBuf};

/// Everything between an artifact and its measurement, and what makes artifacts.
const ENGINE: [&str; 4] = ["src/sim", "src/backend", "src/process", "src/artifact"];
/// Everything between a measurement and its verdict.
const JUDGE: [&str; 2] = ["src/verdict", "src/evaluation/run.rs"];

fn main() {
    println!("cargo::rustc-env=TICKMARK_ENGINE={}", hash(&ENGINE));
    println!("cargo::rustc-env=TICKMARK_JUDGE={}", hash(&JUDGE));
    println!("cargo::rerun-if-changed=build.rs");
    // gem5-sys says where the library lies; without the feature `gem5` there is no such variable.
    if let Ok(folder) = std::env::var("DEP_GEM5_SHIM_FOLDER") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
        println!("cargo::rustc-env=TICKMARK_LIBGEM5_FOLDER={folder}");
    }
}

fn hash(roots: &[&str]) -> String {
    let mut files = Vec::new();
    for root in roots {
        println!("cargo::rerun-if-changed={root}");
        collect(Path::new(root), &mut files);
    }
    files.sort();
    let mut state: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let mut eat = |bytes: &[u8]| {
        for &byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            state ^= u128::from(byte);
            state = state.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    };
    for file in files {
        let content = std::fs::read(&file).expect("the package's own source can be read");
        eat(file.to_string_lossy().as_bytes());
        eat(&content);
    }
    format!("{state:032x}")
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_owned());
    } else {
        for entry in std::fs::read_dir(path).expect("the package's own folders can be listed") {
            collect(&entry.expect("the entry was just listed").path(), files);
        }
    }
}
