// Rust: collections, strings, iterators, hashing, sorting, panics that are caught.
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::Write as _;
use std::os::fd::FromRawFd;

fn mark(device: &mut std::fs::File, kind: u8) {
    let mut message = *b"-0123456789abcdef";
    message[0] = kind;
    device.write_all(&message).unwrap();
}

fn main() {
    println!("hello from Rust");
    let mut device = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(198) });
    mark(&mut device, b'B');
    let mut state = 88172645463325252u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut values: Vec<u64> = (0..600).map(|_| next() % 100_000).collect();
    values.sort_unstable();
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    let mut hashed: HashMap<u64, u64, BuildHasherDefault<DefaultHasher>> = HashMap::default();
    for value in &values {
        *counts.entry(value % 100).or_default() += 1;
        *hashed.entry(value % 977).or_default() += value;
    }
    let mut heap: BinaryHeap<u64> = values.iter().step_by(7).copied().collect();
    let mut queue: VecDeque<u64> = VecDeque::new();
    while let Some(top) = heap.pop() {
        if top % 2 == 0 { queue.push_back(top) } else { queue.push_front(top) }
    }
    let mut text = String::new();
    for (key, count) in counts.iter().take(20) {
        write!(text, "{key}:{count:>3} {:.4}; ", (*count as f64).sqrt()).unwrap();
    }
    let words: Vec<&str> = text.split(';').map(str::trim).filter(|word| !word.is_empty()).collect();
    let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&words);
    mark(&mut device, b'E');
    let mut sums: Vec<_> = hashed.into_iter().collect();
    sums.sort();
    std::panic::set_hook(Box::new(|_| {}));
    let caught = std::panic::catch_unwind(|| words[words.len() + 1].len()).is_err();
    println!("{} {:?} {:?} {hash:x} {caught}", values[1500], &sums[..3], queue.iter().take(4).collect::<Vec<_>>());
    println!("{text}");
}
