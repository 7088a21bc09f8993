//! Runs instances of every `Code` on both sides and counts.
use super::catalog::{Standing, catalog};
use super::compare::{differences, disassembly, hex, inputs, memory_differences, opaque_bytes};
use super::generate::{Generator, Instance};
use super::guest::{Guest, GuestEnding, Path};
use super::host::Host;
use super::image::{DATA, DATA_END, DATA_SIZE, Ending, PAGE, Trap};
use super::random::Random;
use iced_x86::{Code, Instruction, Mnemonic, OpKind};
use std::fmt::Write;

const DATA_LEN: usize = (DATA_END - DATA) as usize;
/// Examples of a mismatch that are kept for each `Code`.
const EXAMPLES: usize = 2;

/// What became of one `Code`.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) code: Code,
    pub(crate) standing: Standing,
    /// Instances that both sides ran.
    pub(crate) compared: u64,
    /// Of those, with a memory operand.
    pub(crate) with_memory: u64,
    /// Of those, that faulted on the host.
    pub(crate) trapped: u64,
    /// Instances that the simulator does not implement.
    pub(crate) unsupported: u64,
    pub(crate) mismatches: u64,
    /// Printed forms of the first mismatches.
    pub(crate) examples: Vec<String>,
}

/// Both sides, with equal memory.
pub(crate) struct Pair {
    pub(crate) host: Host,
    pub(crate) guest: Guest,
    guest_data: Box<[u8; DATA_LEN]>,
}

impl Pair {
    pub(crate) fn new() -> Result<Self, String> {
        Ok(Self {
            host: Host::acquire()?,
            guest: Guest::new(),
            guest_data: Box::new([0; DATA_LEN]),
        })
    }

    /// Fills the memory of both sides.
    pub(crate) fn reset(&mut self, rng: &mut Random) {
        let fill = |len: u64, rng: &mut Random| -> Vec<u8> {
            (0..len / 8)
                .flat_map(|_| rng.next().to_le_bytes())
                .collect()
        };
        let writable = fill(DATA_SIZE, rng);
        self.host.data_mut().copy_from_slice(&writable);
        self.guest.write_data(DATA, &writable);
        let fixed = fill(PAGE, rng);
        self.host.set_read_only(&fixed);
        self.guest.set_read_only(&fixed);
    }

    pub(crate) fn write(&mut self, at: u64, bytes: &[u8]) {
        let from = (at - DATA) as usize;
        self.host.data_mut()[from..from + bytes.len()].copy_from_slice(bytes);
        self.guest.write_data(at, bytes);
    }

    /// The memory differences; the guest then has the host's memory again.
    pub(crate) fn compare_memory(&mut self) -> Vec<String> {
        self.guest.read_data(&mut self.guest_data);
        let host = self.host.data();
        if host == self.guest_data.as_slice() {
            return Vec::new();
        }
        let out = memory_differences(host, self.guest_data.as_slice());
        let writable = host[..DATA_SIZE as usize].to_vec();
        self.guest.write_data(DATA, &writable);
        out
    }
}

/// What one instance came to.
enum Comparison {
    Same(Ending),
    Unsupported,
    Mismatch(Ending, String),
}

fn run_instance(pair: &mut Pair, instance: &Instance, standing: Standing) -> Comparison {
    for (at, bytes) in &instance.writes {
        pair.write(*at, bytes);
    }
    let before = pair.host.data().to_vec();
    let insn = &instance.insn;
    let (ending, host) =
        pair.host
            .run(insn.ip(), &instance.bytes, &instance.exits, &instance.image);
    let mut text = String::new();
    for path in Path::ALL {
        if path != Path::Complete {
            pair.guest.write_data(DATA, &before[..DATA_SIZE as usize]);
        }
        let (guest_ending, guest, retired) = match path {
            Path::Complete => {
                let (ending, guest) = pair.guest.run_complete(insn, &instance.image);
                (ending, guest, 1)
            }
            _ => pair.guest.run_blocks(
                path,
                insn.ip(),
                &instance.bytes,
                &instance.exits,
                &instance.image,
            ),
        };
        let mut found = Vec::new();
        match &guest_ending {
            GuestEnding::Unsupported => {
                pair.compare_memory();
                return Comparison::Unsupported;
            }
            GuestEnding::Ending(e) if same_ending(ending, *e, Some(insn)) => {
                found = differences(instance, standing, ending, &host, &guest);
                let completed = matches!(ending, Ending::Exit(_));
                // `int3` is a trap: the host stands behind it.
                if !completed
                    && ending != Ending::Trap(Trap::Breakpoint)
                    && path != Path::Complete
                    && guest.rip != host.rip
                {
                    found.push(format!("a fault at {:#x}, not {:#x}", host.rip, guest.rip));
                }
                if retired != u64::from(completed) && path != Path::Complete {
                    found.push(format!("retired: {}, not {retired}", u64::from(completed)));
                }
            }
            other => found.push(format!("ending: {ending:x?}, not {other:x?}")),
        }
        if let Some(at) = instance.memory {
            for (start, end) in opaque_bytes(insn) {
                let from = at.wrapping_add(*start).clamp(DATA, DATA + DATA_SIZE);
                let to = at.wrapping_add(*end).clamp(DATA, DATA + DATA_SIZE);
                if from < to {
                    let bytes =
                        pair.host.data()[(from - DATA) as usize..(to - DATA) as usize].to_vec();
                    pair.guest.write_data(from, &bytes);
                }
            }
        }
        let memory = pair.compare_memory();
        // A fault in `enter` may leave some of its pushes below the stack pointer.
        if !(insn.mnemonic() == Mnemonic::Enter && matches!(ending, Ending::Trap(_))) {
            found.extend(memory);
        }
        for line in found {
            let _ = writeln!(text, "  {path:?}: host has {line}");
        }
    }
    if text.is_empty() {
        return Comparison::Same(ending);
    }
    let text = format!(
        "{:?}  {}  {}\n  at {:#x}, with{}\n{text}",
        insn.code(),
        hex(&instance.bytes),
        disassembly(insn),
        insn.ip(),
        inputs(instance, &before)
    );
    Comparison::Mismatch(ending, text)
}

/// Whether both sides ended alike at this instruction.
pub(crate) fn same_ending(host: Ending, guest: Ending, insn: Option<&Instruction>) -> bool {
    if host == guest {
        return true;
    }
    let (Ending::Trap(host), Ending::Trap(guest)) = (host, guest) else {
        return false;
    };
    // `cmps` has two operands, and which of them faults first is not architectural (it differs with the prefix); so it is
    // with the many of `enter`.
    let access = |trap| matches!(trap, Trap::Page(_) | Trap::Protection);
    if insn.is_some_and(|insn| {
        use Mnemonic as M;
        matches!(
            insn.mnemonic(),
            M::Cmpsb | M::Cmpsw | M::Cmpsd | M::Cmpsq | M::Enter
        )
    }) {
        return access(host) && access(guest);
    }
    // Nor is it which of two neighbouring pages faults first, where an operand straddles them.
    let closed = |page: u64| !(DATA..DATA + DATA_SIZE).contains(&page);
    matches!((host, guest), (Trap::Page(a), Trap::Page(b)) if a.abs_diff(b) == PAGE && closed(a) && closed(b))
}

/// Compares `count` instances of one `Code`. The seed and the code alone decide what is run.
pub(crate) fn run_code(
    pair: &mut Pair,
    code: Code,
    standing: Standing,
    seed: u64,
    count: u64,
) -> Row {
    let mut row = Row {
        code,
        standing,
        compared: 0,
        with_memory: 0,
        trapped: 0,
        unsupported: 0,
        mismatches: 0,
        examples: Vec::new(),
    };
    if matches!(standing, Standing::Excluded(_)) {
        return row;
    }
    let mut rng = Random::derived(seed, code as u64);
    pair.reset(&mut rng);
    let generator = Generator::new(code);
    let mut attempts = 0;
    while row.compared < count && attempts < 4 * count {
        // An instruction that is not implemented says so at once.
        if row.unsupported >= 20 && row.compared == 0 {
            break;
        }
        attempts += 1;
        let Some(instance) = generator.instance(&mut rng, attempts) else {
            continue;
        };
        let (ending, mismatch) = match run_instance(pair, &instance, standing) {
            Comparison::Unsupported => {
                row.unsupported += 1;
                continue;
            }
            Comparison::Same(ending) => (ending, None),
            Comparison::Mismatch(ending, text) => (ending, Some(text)),
        };
        row.compared += 1;
        let memory =
            (0..instance.insn.op_count()).any(|i| instance.insn.op_kind(i) == OpKind::Memory);
        row.with_memory += u64::from(memory);
        row.trapped += u64::from(matches!(ending, Ending::Trap(_)));
        if let Some(text) = mismatch {
            row.mismatches += 1;
            if row.examples.len() < EXAMPLES {
                row.examples
                    .push(format!("seed {seed}, instance {attempts}: {text}"));
            }
        }
    }
    row
}

/// Compares every `Code` of the catalogue whose name passes `wanted`.
pub(crate) fn run_codes(
    seed: u64,
    count: u64,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Row>, String> {
    let mut pair = Pair::new()?;
    Ok(catalog()
        .into_iter()
        .filter(|(code, _)| wanted(&format!("{code:?}")))
        .map(|(code, standing)| run_code(&mut pair, code, standing, seed, count))
        .collect())
}

/// The report: a line a `Code`, the examples, the sums.
pub(crate) fn report(rows: &[Row], verbose: bool) -> String {
    let mut out = String::new();
    for row in rows {
        for example in &row.examples {
            let _ = writeln!(out, "MISMATCH {example}");
        }
    }
    let tested = |row: &&Row| !matches!(row.standing, Standing::Excluded(_));
    if verbose {
        let _ = writeln!(
            out,
            "{:<32} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "code", "compared", "memory", "trapped", "unsupp.", "mismatch"
        );
        for row in rows.iter().filter(tested) {
            let _ = writeln!(
                out,
                "{:<32} {:>9} {:>9} {:>9} {:>9} {:>9}",
                format!("{:?}", row.code),
                row.compared,
                row.with_memory,
                row.trapped,
                row.unsupported,
                row.mismatches
            );
        }
    }
    let list = |title: &str, rows: Vec<String>, out: &mut String| {
        let _ = writeln!(out, "{title}: {}", rows.len());
        if verbose {
            for row in rows {
                let _ = writeln!(out, "  {row}");
            }
        }
    };
    let name = |row: &Row| format!("{:?}", row.code);
    list(
        "excluded",
        rows.iter()
            .filter_map(|row| match row.standing {
                Standing::Excluded(why) => Some(format!("{}: {why}", name(row))),
                _ => None,
            })
            .collect(),
        &mut out,
    );
    list(
        "value exempt",
        rows.iter()
            .filter_map(|row| match row.standing {
                Standing::ValueExempt(why) => Some(format!("{}: {why}", name(row))),
                _ => None,
            })
            .collect(),
        &mut out,
    );
    list(
        "not implemented",
        rows.iter()
            .filter(|row| row.compared == 0 && row.unsupported > 0)
            .map(name)
            .collect(),
        &mut out,
    );
    list(
        "implemented in part",
        rows.iter()
            .filter(|row| row.compared > 0 && row.unsupported > 0)
            .map(name)
            .collect(),
        &mut out,
    );
    list(
        "never generated",
        rows.iter()
            .filter(tested)
            .filter(|row| row.compared == 0 && row.unsupported == 0)
            .map(name)
            .collect(),
        &mut out,
    );
    list(
        "with mismatches",
        rows.iter()
            .filter(|row| row.mismatches > 0)
            .map(|row| format!("{} ({} of {})", name(row), row.mismatches, row.compared))
            .collect(),
        &mut out,
    );
    let _ = writeln!(
        out,
        "compared: {} instances of {} codes, {} with a memory operand, {} that faulted; mismatches: {}",
        rows.iter().map(|r| r.compared).sum::<u64>(),
        rows.iter().filter(|r| r.compared > 0).count(),
        rows.iter().map(|r| r.with_memory).sum::<u64>(),
        rows.iter().map(|r| r.trapped).sum::<u64>(),
        rows.iter().map(|r| r.mismatches).sum::<u64>()
    );
    out
}
