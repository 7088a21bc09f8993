//! What a simulation takes and gives: the program, its limits, and every reason to stop.
use super::guest::world::World;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What to run in the guest.
#[derive(Clone, Debug)]
pub struct Program {
    /// Guest path of the executable (looked up in `world`).
    pub path: String,
    /// `argv`, including `argv[0]`.
    pub arguments: Vec<Vec<u8>>,
    /// `NAME=value` strings.
    pub environment: Vec<Vec<u8>>,
    /// Bytes of standard input.
    pub stdin: Arc<[u8]>,
    /// The files that the guest can see.
    pub world: World,
    /// Messages that the driver reads from the device, one a `read`. `None`: the guest has no device.
    pub device: Option<Device>,
    /// Seed of `getrandom`, `AT_RANDOM` and the like.
    pub seed: u64,
}

/// The driver's side channel: file descriptor [`Device::FD`] of the guest.
///
/// The driver writes messages of one kind byte, [`Device::nonce`] and a text; it reads its inputs, one a `read`.
#[derive(Clone, Debug)]
pub struct Device {
    /// 16 characters that only the driver knows: a message without them was not made by the driver.
    pub nonce: [u8; 16],
    /// What the driver reads, in order; further reads give end of file.
    pub inputs: Vec<Arc<[u8]>>,
    /// Stop with [`Exit::Paused`] at the `read` of this input (0 for the first), before it is answered.
    pub pause_at: Option<usize>,
}

impl Device {
    /// The file descriptor of the device, open when the program starts.
    pub const FD: i32 = 198;
    /// Message kind: a region begins.
    pub const BEGIN: u8 = b'B';
    /// Message kind: the region ends.
    pub const END: u8 = b'E';
    /// Message kind: a rehearsal of a marker, which means nothing; it warms up what a marker costs.
    pub const REHEARSAL: u8 = b'W';
    /// Message kind: the driver has finished and the candidate has passed its checks.
    pub const DONE: u8 = b'D';
    /// Message kind: the candidate has failed; the text says how.
    pub const FAILED: u8 = b'F';
    /// Message kind: a part of a result; more follows.
    pub const PART: u8 = b'P';
    /// Message kind: the result of a call, or its last part.
    pub const RESULT: u8 = b'R';
}

/// What the guest may use. Limits are part of the job key: exceeding one is a property of the candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Retired instructions.
    pub instructions: u64,
    /// Bytes of live memory.
    pub memory_bytes: u64,
    /// Bytes of stack.
    pub stack_bytes: u64,
    /// Bytes written to standard output and standard error, each.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            instructions: 100_000_000_000,
            memory_bytes: 2 << 30,
            stack_bytes: 256 << 20,
            output_bytes: 64 << 20,
        }
    }
}

/// Why the guest stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Exit {
    /// `exit` or `exit_group`.
    Exited {
        /// 0 to 255.
        code: u8,
    },
    /// Killed by a signal.
    Signaled {
        /// Signal number.
        signal: u8,
        /// Address of the instruction.
        rip: u64,
        /// Data address of a memory fault.
        address: Option<u64>,
        /// `function+offset` where symbols tell.
        function: Option<String>,
    },
    /// The stack grew beyond its limit.
    StackOverflow {
        /// Address of the instruction.
        rip: u64,
        /// `function+offset` where symbols tell.
        function: Option<String>,
    },
    /// Live memory reached the limit.
    MemoryLimit,
    /// Standard output or standard error reached the limit.
    OutputLimit,
    /// The instruction limit was reached.
    InstructionLimit,
    /// All threads wait, and nothing will wake one.
    Deadlock {
        /// The system call in which the oldest thread waits.
        call: String,
    },
    /// The CPU time limit was reached (`native`; the simulator limits instructions instead).
    TimeLimit,
    /// An instruction that this simulator does not implement.
    UnsupportedInstruction {
        /// Mnemonic.
        mnemonic: String,
        /// Address of the instruction.
        rip: u64,
        /// `function+offset` where symbols tell.
        function: Option<String>,
    },
    /// A system call (or a mode of one) that cannot be answered truthfully.
    UnsupportedSyscall {
        /// Name and the reason.
        name: String,
    },
    /// The guest wrote to the device what the driver does not write.
    ForgedMarker,
    /// The driver asked for the input at which the job pauses.
    Paused,
    /// The program could not be loaded.
    LoadFailed {
        /// Why, and what to do.
        reason: String,
    },
    /// The wall-clock guard of the host ended the run: an infrastructure failure.
    WallClock,
}

/// Counters of a span: the whole run or a region. Units stand in the names; all are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Retired macro-instructions; `rep` counts once.
    pub instructions: u64,
    /// Retired micro-operations by the machine's table.
    pub micro_ops: u64,
    /// Core cycles; absent on machines that only count.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cycles: Option<u64>,
    /// Simulated time; absent on machines that only count.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub simulated_time_ps: Option<u64>,
    /// System calls.
    pub system_calls: u64,
    /// Highest live memory.
    pub peak_memory_bytes: u64,
    /// Live memory in KiB integrated over cycles (instructions, on machines that only count).
    pub memory_kib_cycles: u64,
    /// Counters of the machine's parts, by dotted name (`l1d.misses`, `branch.mispredictions`).
    #[serde(flatten)]
    pub parts: BTreeMap<String, u64>,
}

/// One region between two markers of the driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Instructions between the markers.
    pub instructions: u64,
    /// Cycles between the markers; absent on machines that only count.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cycles: Option<u64>,
}

/// Everything that a simulation gives.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it stopped.
    pub exit: Exit,
    /// The whole run.
    pub counters: Counters,
    /// The regions, in order.
    pub regions: Vec<Region>,
    /// A region was begun and not ended.
    pub open_region: bool,
    /// Kind and text of the driver's messages other than markers, in order.
    pub messages: Vec<(u8, Vec<u8>)>,
    /// Bytes written to standard output.
    pub stdout: Vec<u8>,
    /// Bytes written to standard error.
    pub stderr: Vec<u8>,
    /// System calls that were answered `ENOSYS`, each once, by name.
    pub unanswered_system_calls: Vec<String>,
    /// The guest read a clock: its behaviour may depend on simulated time.
    pub clock_read: bool,
}
