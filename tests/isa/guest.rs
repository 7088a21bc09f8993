//! The guest side: the same image, memory and instruction through the simulator.
use super::image::{
    CODE, CODE_SIZE, DATA, DATA_END, DATA_SIZE, Ending, FLAGS, Image, PAGE, READ_ONLY_SIZE, Trap,
};
use iced_x86::Instruction;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tickmark::sim::isa::accesses::fixed_access_count;
use tickmark::sim::isa::decode::Features;
use tickmark::sim::isa::exec;
use tickmark::sim::isa::op::{Context, Flow};
use tickmark::sim::isa::run::{Engine, Stop};
use tickmark::sim::isa::state::{Cpu, F80};
use tickmark::sim::memory::{Backing, Fault, Memory, Protection, Purpose};
use tickmark::sim::uarch::{Retired, Timing};

/// How a run of the guest ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuestEnding {
    /// As the host can end.
    Ending(Ending),
    /// The simulator does not implement an instruction.
    Unsupported,
    /// The simulator is wrong about itself: a panic, a flow that cannot be.
    Broken(String),
}

/// Through which of the simulator's paths an instruction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// The complete handlers, from the decoded instruction.
    Complete,
    /// Blocks with fast handlers, as the machine that only counts runs them.
    Fast,
    /// Blocks with fast handlers that record addresses, as the machines with time run them.
    Recorded,
}

impl Path {
    pub(crate) const ALL: [Self; 3] = [Self::Complete, Self::Fast, Self::Recorded];
}

/// A timing model that keeps no time. With `RECORD` it asks for addresses and checks that it could share them out: every
/// instruction whose number of accesses is fixed by its encoding must have made that number.
#[derive(Clone, Debug, Default)]
struct Timeless<const RECORD: bool> {
    /// The first retirement with other numbers.
    wrong: Option<String>,
}

impl<const RECORD: bool> Timing for Timeless<RECORD> {
    const NEEDS_ADDRESSES: bool = RECORD;
    /// The number of accesses of each instruction.
    type Block = Vec<Option<u8>>;
    fn prepare(&self, instructions: &[Instruction]) -> Self::Block {
        if RECORD {
            instructions.iter().map(fixed_access_count).collect()
        } else {
            Vec::new()
        }
    }
    fn retire(&mut self, block: &Self::Block, retired: Retired<'_>) {
        if !RECORD {
            return;
        }
        let counts = &block[retired.first..retired.first + retired.count];
        let fixed: usize = counts.iter().flatten().map(|&n| usize::from(n)).sum();
        // Only the last instruction of a block may make any number; a partial run may hold more of the next one.
        let whole = retired.first + retired.count == block.len();
        let exact = whole && counts.iter().all(Option::is_some);
        let made = retired.accesses.len();
        if made < fixed || exact && made != fixed {
            self.wrong.get_or_insert(format!(
                "{made} accesses of instructions that make {counts:?}"
            ));
        }
    }
    fn cycles(&self) -> Option<u64> {
        None
    }
    fn frequency_hz(&self) -> u64 {
        1
    }
    fn micro_ops(&self) -> u64 {
        0
    }
    fn report(&self, _: &mut BTreeMap<String, u64>) {}
}

/// A guest with the areas of the host.
pub(crate) struct Guest {
    cx: Context,
    fast: Engine<Timeless<false>>,
    recorded: Engine<Timeless<true>>,
}

impl Guest {
    pub(crate) fn new() -> Self {
        let mut mem = Memory::new(64 << 20);
        let mut map = |at, len, protection| {
            mem.map(at, len, protection, Backing::Anonymous, Purpose::Anonymous);
        };
        map(
            CODE,
            CODE_SIZE,
            Protection::READ_WRITE.union(Protection::EXECUTE),
        );
        map(DATA, DATA_SIZE, Protection::READ_WRITE);
        map(DATA + DATA_SIZE, READ_ONLY_SIZE, Protection::READ);
        let cx = Context::new(Cpu::new(std::sync::Arc::new([])), mem);
        Self {
            cx,
            fast: Engine::new(Features::ALL),
            recorded: Engine::new(Features::ALL),
        }
    }

    /// Copies bytes into the writable data.
    pub(crate) fn write_data(&mut self, at: u64, bytes: &[u8]) {
        self.cx.mem.copy_in(at, bytes).expect("the data is mapped");
    }

    /// Fills the read-only page.
    pub(crate) fn set_read_only(&mut self, bytes: &[u8]) {
        let at = DATA + DATA_SIZE;
        self.cx.mem.protect(at, PAGE, Protection::READ_WRITE);
        self.write_data(at, bytes);
        self.cx.mem.protect(at, PAGE, Protection::READ);
    }

    /// The data, writable pages and read-only page.
    pub(crate) fn read_data(&mut self, buffer: &mut [u8; (DATA_END - DATA) as usize]) {
        self.cx
            .mem
            .copy_out(DATA, buffer)
            .expect("the data is mapped");
    }

    /// Runs one decoded instruction with the complete handlers.
    pub(crate) fn run_complete(
        &mut self,
        insn: &Instruction,
        input: &Image,
    ) -> (GuestEnding, Image) {
        self.load(input);
        let cx = &mut self.cx;
        let ran = catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..1 << 17 {
                cx.cpu.rip = insn.next_ip();
                match exec::execute(cx, insn) {
                    Ok(Flow::Again) => {}
                    other => return Some(other),
                }
            }
            None
        }));
        let ending = match ran {
            Err(_) => GuestEnding::Broken("panic".into()),
            Ok(None) => GuestEnding::Broken("`Again` without end".into()),
            Ok(Some(Err(fault))) => from_fault(fault),
            Ok(Some(Ok(flow))) => match flow {
                Flow::Next | Flow::NotTaken | Flow::Stop => exit(insn.next_ip()),
                Flow::Taken => exit(insn.near_branch_target()),
                Flow::Indirect => exit(self.cx.cpu.rip),
                other => GuestEnding::Broken(format!("flow {other:?}")),
            },
        };
        (ending, self.store())
    }

    /// Runs `code` at `entry` in blocks until it reaches one of `exits` or faults; the number of retired instructions.
    pub(crate) fn run_blocks(
        &mut self,
        path: Path,
        entry: u64,
        code: &[u8],
        exits: &[u64],
        input: &Image,
    ) -> (GuestEnding, Image, u64) {
        /// `syscall`: makes the run loop return.
        const LEAVE: [u8; 2] = [0x0f, 0x05];
        self.load(input);
        for (at, bytes) in
            std::iter::once((entry, code)).chain(exits.iter().map(|&at| (at, &LEAVE[..])))
        {
            self.cx
                .mem
                .copy_in(at, bytes)
                .expect("the code area is mapped");
        }
        self.cx.cpu.rip = entry;
        let cx = &mut self.cx;
        let (fast, recorded) = (&mut self.fast, &mut self.recorded);
        let ran = catch_unwind(AssertUnwindSafe(|| match path {
            Path::Recorded => run_engine(recorded, cx, &mut Timeless::default()),
            _ => run_engine(fast, cx, &mut Timeless::default()),
        }));
        let (ending, retired) = match ran {
            Err(_) => {
                // Its cache may be in any state.
                self.fast = Engine::new(Features::ALL);
                self.recorded = Engine::new(Features::ALL);
                (GuestEnding::Broken("panic".into()), 0)
            }
            Ok(Err(wrong)) => (GuestEnding::Broken(wrong), 0),
            // The `syscall` of the exit retired too.
            Ok(Ok((Stop::Syscall, retired))) => (exit(self.cx.cpu.rip - 2), retired - 1),
            Ok(Ok((Stop::Fault(fault), retired))) => (from_fault(fault), retired),
            Ok(Ok((other, retired))) => (GuestEnding::Broken(format!("{other:?}")), retired),
        };
        (ending, self.store(), retired)
    }

    fn load(&mut self, image: &Image) {
        let cpu = &mut self.cx.cpu;
        for (i, &value) in image.gpr.iter().enumerate() {
            cpu.gpr[i as u8] = value;
        }
        cpu.flags.set_rflags(image.rflags);
        for i in 0..16 {
            cpu.vec[i as u8] = [image.xmm(i), image.upper[i]];
        }
        cpu.set_mxcsr(image.mxcsr());
        let x87 = &mut cpu.x87;
        x87.control = image.control_word();
        x87.top = image.top();
        x87.status = image.status_word() & !0x3800;
        x87.valid = image.valid();
        for i in 0..8 {
            let (sign_exponent, significand) = image.st(i);
            x87.registers[(usize::from(image.top()) + i) % 8] = F80 {
                sign_exponent,
                significand,
            };
        }
    }

    fn store(&self) -> Image {
        let cpu = &self.cx.cpu;
        let mut image = Image::default();
        for i in 0..16 {
            image.gpr[i] = cpu.gpr[i as u8];
            let [low, high] = cpu.vec[i as u8];
            image.set_xmm(i, low);
            image.upper[i] = high;
        }
        image.rflags = cpu.flags.rflags() & FLAGS;
        image.rip = cpu.rip;
        image.set_mxcsr(cpu.mxcsr());
        let x87 = &cpu.x87;
        image.set_control_word(x87.control);
        image.set_status_word(x87.status | u16::from(x87.top) << 11);
        image.set_valid(x87.valid);
        for i in 0..8 {
            let value = x87.registers[(usize::from(x87.top) + i) % 8];
            image.set_st(i, (value.sign_exponent, value.significand));
        }
        image
    }
}

fn run_engine<const RECORD: bool>(
    engine: &mut Engine<Timeless<RECORD>>,
    cx: &mut Context,
    timing: &mut Timeless<RECORD>,
) -> Result<(Stop, u64), String> {
    engine.retired = 0;
    loop {
        match engine.run(cx, timing, 1 << 20) {
            // Blocks of code that other bytes have replaced, or a first touch of a page.
            Stop::Attention => {}
            stop => return timing.wrong.take().map_or(Ok((stop, engine.retired)), Err),
        }
    }
}

fn exit(at: u64) -> GuestEnding {
    GuestEnding::Ending(Ending::Exit(at))
}

fn from_fault(fault: Fault) -> GuestEnding {
    GuestEnding::Ending(Ending::Trap(match fault {
        Fault::Page { addr, .. } => Trap::Page(addr & !(PAGE - 1)),
        Fault::GeneralProtection => Trap::Protection,
        Fault::Divide => Trap::Divide,
        Fault::InvalidOpcode => Trap::InvalidOpcode,
        Fault::Breakpoint => Trap::Breakpoint,
        Fault::SimdFloat => Trap::SimdFloat,
        Fault::X87Float => Trap::X87Float,
        Fault::Unsupported => return GuestEnding::Unsupported,
        other @ (Fault::Bus { .. } | Fault::MemoryLimit | Fault::FirstTouch { .. }) => {
            return GuestEnding::Broken(format!("{other:?}"));
        }
    }))
}
