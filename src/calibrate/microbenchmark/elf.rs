//! A static executable around code: one segment of code, one of zeros to work on.
use super::{CODE, DATA, DATA_BYTES};

const PAGE: u64 = 4096;
const HEADER: u16 = 64;
const PROGRAM_HEADER: u16 = 56;
const EXECUTE: u32 = 1;
const WRITE: u32 = 2;
const READ: u32 = 4;

/// The file.
pub(super) fn file(code: &[u8]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let half = |file: &mut Vec<u8>, n: u16| file.extend(n.to_le_bytes());
    let word = |file: &mut Vec<u8>, n: u32| file.extend(n.to_le_bytes());
    let long = |file: &mut Vec<u8>, n: u64| file.extend(n.to_le_bytes());
    // An executable (2) for x86-64 (62), version 1.
    half(&mut file, 2);
    half(&mut file, 62);
    word(&mut file, 1);
    long(&mut file, CODE);
    long(&mut file, HEADER.into());
    long(&mut file, 0);
    word(&mut file, 0);
    for n in [HEADER, PROGRAM_HEADER, 2, 0, 0, 0] {
        half(&mut file, n);
    }
    let length = code.len() as u64;
    for (flags, offset, address, in_file, in_memory) in [
        (READ | EXECUTE, PAGE, CODE, length, length),
        (READ | WRITE, 0, DATA, 0, DATA_BYTES),
    ] {
        // PT_LOAD
        word(&mut file, 1);
        word(&mut file, flags);
        for n in [offset, address, address, in_file, in_memory, PAGE] {
            long(&mut file, n);
        }
    }
    file.resize(PAGE as usize, 0);
    file.extend(code);
    file
}
