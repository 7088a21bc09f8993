//! The block cache and the run loop: the hot path of the simulator.
//!
//! A block is decoded once and chained to its successors. The cache is not state: a run gives the same counters with a
//! warm and a cold one, since a block's extent depends only on its address and bytes and time is kept by [`Timing`].
use super::decode::{Features, decode};
use super::op::{Context, Flow, Op, SideTables};
use super::state::BLOCK;
use crate::sim::memory::{Fault, Memory, PAGE_SIZE, Page, Recorded, Silent};
use crate::sim::uarch::{Retired, Timing};
use iced_x86::Instruction;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Most instructions of a block.
const MAX_BLOCK: u64 = 64;
type BlockId = u32;
const NO_BLOCK: BlockId = BlockId::MAX;
const JUMP_CACHE: usize = 4096;
/// Blocks kept before the cache starts afresh: bounds host memory for guests that write code without end.
const MAX_BLOCKS: usize = 1 << 18;
/// Instructions in them, likewise: some 200 MB. Real programs stay far below.
const MAX_DECODED: usize = 1 << 21;

#[derive(Debug)]
struct Block<B> {
    alive: Cell<bool>,
    instructions: u32,
    entry: u64,
    ops: Box<[Op]>,
    /// Successor of a taken branch, and of falling through.
    successors: [Cell<BlockId>; 2],
    /// Address of a taken branch's target, and behind the block.
    ways: [u64; 2],
    timing: B,
    details: Box<Details>,
}

/// What only faults and partial runs look at.
#[derive(Debug, Default)]
struct Details {
    first_instruction: Box<[u8]>,
    instructions: Box<[Instruction]>,
}

/// Why the run loop returned. All retired instructions are accounted for; `cpu.rip` is the next one to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A system call retired; the kernel is to act. `cpu.rip` is behind it.
    Syscall,
    /// The instruction at `cpu.rip` faulted.
    Fault(Fault),
    /// As many instructions as allowed have retired.
    Deadline,
    /// Live memory or decoded code changed (the latter has been dealt with). A page that an instruction touches for the
    /// first time comes before the instruction runs.
    Attention,
}

/// The block cache, for one timing model.
#[derive(Debug)]
pub struct Engine<T: Timing> {
    blocks: Vec<Block<T::Block>>,
    /// Looked up, never iterated: its order cannot show.
    by_entry: HashMap<u64, BlockId>,
    /// Counts how often the cache started afresh: an id means nothing beyond its generation.
    generation: u64,
    /// Instructions in living blocks.
    decoded: usize,
    by_page: BTreeMap<u64, Vec<BlockId>>,
    pages: BTreeMap<u64, Arc<Page>>,
    jump_cache: Box<[(u64, BlockId)]>,
    side: SideTables,
    features: Features,
    /// Instructions retired; the caller sets where counting goes on.
    pub retired: u64,
    /// No block that would pass this many retired instructions is begun; see [`Engine::pauses`].
    pub pause: u64,
}

impl<T: Timing> Engine<T> {
    /// An empty cache.
    pub fn new(features: Features) -> Self {
        Self {
            blocks: Vec::new(),
            by_entry: HashMap::new(),
            generation: 0,
            decoded: 0,
            by_page: BTreeMap::new(),
            pages: BTreeMap::new(),
            jump_cache: vec![(u64::MAX, NO_BLOCK); JUMP_CACHE].into(),
            side: SideTables::default(),
            features,
            retired: 0,
            pause: u64::MAX,
        }
    }

    /// A block may not fit any more before [`Engine::pause`]. Unlike at a deadline no block is cut, so that a run that
    /// pauses looks at memory at the same instructions as one that does not.
    pub fn pauses(&self) -> bool {
        self.pause.saturating_sub(self.retired) < MAX_BLOCK
    }

    /// Makes the cache fit another address space: blocks of pages that are not the very pages they were decoded from
    /// are dropped, the others are kept. Every simulation that is handed a warm cache begins with this.
    pub fn revalidate(&mut self, mem: &mut Memory) {
        let stale: Vec<u64> = self
            .pages
            .iter()
            .filter(|(number, page)| !mem.adopt_code_page(**number, page))
            .map(|(&number, _)| number)
            .collect();
        if stale.len() == self.pages.len() {
            self.clear();
        } else {
            self.kill_pages(&stale);
        }
    }

    fn clear(&mut self) {
        self.generation += 1;
        self.decoded = 0;
        self.blocks.clear();
        self.by_entry.clear();
        self.by_page.clear();
        self.pages.clear();
        self.jump_cache.fill((u64::MAX, NO_BLOCK));
        self.side.clear();
    }

    fn kill_pages(&mut self, numbers: &[u64]) {
        for number in numbers {
            self.pages.remove(number);
            for id in self.by_page.remove(number).unwrap_or_default() {
                let block = &mut self.blocks[id as usize];
                if block.alive.replace(false) {
                    // The tombstone keeps its id, so that links to it stay harmless; its content goes.
                    self.by_entry.remove(&block.entry);
                    block.ops = Box::default();
                    *block.details = Details::default();
                    self.decoded -= block.instructions as usize;
                    // Only its own slot can name it: code that is rewritten in a loop pays for its blocks alone.
                    let slot = &mut self.jump_cache[Self::jump_slot(block.entry)];
                    if slot.1 == id {
                        *slot = (u64::MAX, NO_BLOCK);
                    }
                }
            }
        }
    }

    /// The block at `entry`, decoded if need be.
    fn block(&mut self, cx: &mut Context, timing: &T, entry: u64) -> Result<BlockId, Fault> {
        let slot = Self::jump_slot(entry);
        let (cached, id) = self.jump_cache[slot];
        if cached == entry {
            return Ok(id);
        }
        let id = match self.by_entry.get(&entry) {
            Some(&id) => id,
            None => self.decode_block(cx, timing, entry)?,
        };
        self.jump_cache[slot] = (entry, id);
        Ok(id)
    }

    #[inline(always)]
    fn jump_slot(entry: u64) -> usize {
        (entry ^ entry >> 12) as usize % JUMP_CACHE
    }

    #[cold]
    #[inline(never)]
    fn decode_block(&mut self, cx: &mut Context, timing: &T, entry: u64) -> Result<BlockId, Fault> {
        // The side tables grow with what is decoded, dead or alive.
        let aside = cx.side.slow.len() + cx.side.lanes.len();
        if self.blocks.len() >= MAX_BLOCKS || self.decoded.max(aside) >= MAX_DECODED {
            self.clear();
            cx.side.clear();
        }
        let block = self.make_block(cx, timing, entry, usize::MAX)?;
        let id = self.blocks.len() as BlockId;
        for number in entry / PAGE_SIZE..=(block.ways[1] - 1) / PAGE_SIZE {
            self.by_page.entry(number).or_default().push(id);
            if let Some(page) = cx.mem.peek_code_page(number) {
                self.pages.insert(number, Arc::clone(page));
            }
        }
        self.by_entry.insert(entry, id);
        self.decoded += block.instructions as usize;
        self.blocks.push(block);
        Ok(id)
    }

    fn make_block(
        &mut self,
        cx: &mut Context,
        timing: &T,
        entry: u64,
        limit: usize,
    ) -> Result<Block<T::Block>, Fault> {
        let decoded = if T::NEEDS_ADDRESSES {
            decode::<Recorded>(cx, entry, self.features, limit)?
        } else {
            decode::<Silent>(cx, entry, self.features, limit)?
        };
        Ok(Block {
            alive: Cell::new(true),
            instructions: decoded.instructions.len() as u32,
            entry,
            ops: decoded.ops.into(),
            successors: [Cell::new(NO_BLOCK), Cell::new(NO_BLOCK)],
            ways: [decoded.target, decoded.end],
            timing: timing.prepare(&decoded.instructions),
            details: Box::new(Details {
                first_instruction: decoded.first_instruction.into(),
                instructions: decoded.instructions.into(),
            }),
        })
    }

    /// Runs from `cpu.rip` until something needs the caller, at the latest when `self.retired` reaches `deadline`.
    pub fn run(&mut self, cx: &mut Context, timing: &mut T, deadline: u64) -> Stop {
        cx.mem.set_recording(T::NEEDS_ADDRESSES);
        cx.mem.set_demand(true);
        std::mem::swap(&mut cx.side, &mut self.side);
        let stop = match self.run_blocks(cx, timing, deadline) {
            Stop::Fault(Fault::FirstTouch { addr, kind }) => match cx.mem.fill(addr, kind) {
                Ok(()) => {
                    self.attend(cx);
                    Stop::Attention
                }
                Err(fault) => Stop::Fault(fault),
            },
            stop => stop,
        };
        std::mem::swap(&mut cx.side, &mut self.side);
        cx.mem.set_demand(false);
        stop
    }

    fn run_blocks(&mut self, cx: &mut Context, timing: &mut T, deadline: u64) -> Stop {
        loop {
            if cx.mem.wants_attention() && self.attend(cx) {
                return Stop::Attention;
            }
            if self.retired >= deadline || self.pauses() {
                return Stop::Deadline;
            }
            let id = match self.block(cx, timing, cx.cpu.rip) {
                Ok(id) => id,
                Err(fault) => return Stop::Fault(fault),
            };
            if let Some(stop) = self.chain(cx, timing, deadline.min(self.pause), id) {
                return stop;
            }
            if self.pauses() {
                continue;
            }
            if deadline - self.retired < MAX_BLOCK && self.retired < deadline {
                // The next block might not fit: single steps, which give the same state as whole blocks.
                if let Some(stop) = self.step(cx, timing) {
                    return stop;
                }
            }
        }
    }

    /// Decoded code that changed is dropped here; true if the caller has something to do too.
    #[cold]
    fn attend(&mut self, cx: &mut Context) -> bool {
        cx.mem.take_attention();
        let stale = cx.mem.take_stale_code();
        self.kill_pages(&stale);
        true
    }

    /// Runs from block to block along the links until something unusual happens; `None` means "look again".
    #[inline(always)]
    fn chain(
        &mut self,
        cx: &mut Context,
        timing: &mut T,
        deadline: u64,
        first: BlockId,
    ) -> Option<Stop> {
        let mut id = first;
        let mut retired = self.retired;
        let result = loop {
            let block = &self.blocks[id as usize];
            if !block.alive.get() || retired + u64::from(block.instructions) > deadline {
                cx.cpu.rip = block.entry;
                break None;
            }
            cx.cpu.gpr[BLOCK] = block.entry;
            if T::NEEDS_ADDRESSES {
                cx.mem.clear_accesses();
            }
            let mut flow = Flow::Next;
            let mut at = 0;
            for (i, op) in block.ops.iter().enumerate() {
                flow = (op.handler)(cx, op);
                if flow != Flow::Next {
                    at = i;
                    break;
                }
            }
            // An if-chain, most frequent first: a `match` becomes an indirect jump, which the host mispredicts.
            let direct = flow <= Flow::NotTaken;
            let way = usize::from(flow != Flow::Taken);
            let next = if direct {
                block.ways[way]
            } else if flow == Flow::Indirect {
                cx.cpu.rip
            } else {
                self.retired = retired;
                return self.unusual(cx, timing, id, at, flow);
            };
            retired += u64::from(block.instructions);
            timing.retire(
                &block.timing,
                Retired {
                    first: 0,
                    count: block.instructions as usize,
                    accesses: if T::NEEDS_ADDRESSES {
                        cx.mem.accesses()
                    } else {
                        &[]
                    },
                    repeats: std::mem::take(&mut cx.repeats),
                    next,
                },
            );
            if cx.mem.wants_attention() {
                cx.cpu.rip = next;
                break None;
            }
            if direct {
                let successor = block.successors[way].get();
                if successor != NO_BLOCK {
                    id = successor;
                    continue;
                }
            } else {
                let (entry, cached) = self.jump_cache[Self::jump_slot(next)];
                if entry == next {
                    id = cached;
                    continue;
                }
            }
            cx.cpu.rip = next;
            let generation = self.generation;
            let found = match self.block(cx, timing, next) {
                Ok(found) => found,
                Err(fault) => {
                    break Some(Stop::Fault(fault));
                }
            };
            if direct && self.generation == generation {
                self.blocks[id as usize].successors[way].set(found);
            }
            id = found;
        };
        self.retired = retired;
        result
    }

    /// The rare ends of a block, at operation `at`.
    #[cold]
    #[inline(never)]
    fn unusual(
        &mut self,
        cx: &mut Context,
        timing: &mut T,
        id: BlockId,
        at: usize,
        flow: Flow,
    ) -> Option<Stop> {
        let block = &self.blocks[id as usize];
        let index = usize::from(block.details.first_instruction[at]);
        let insn = block.details.instructions[index];
        let (count, next, stop) = match flow {
            Flow::Syscall => (index + 1, insn.next_ip(), Some(Stop::Syscall)),
            Flow::Time => (index + 1, insn.next_ip(), None),
            Flow::Stop => (index + 1, insn.next_ip(), None),
            Flow::Again => (index, insn.ip(), None),
            _ => (index, insn.ip(), Some(Stop::Fault(cx.fault))),
        };
        if flow == Flow::Time {
            let cycles = timing.cycles().unwrap_or(self.retired + index as u64);
            super::exec::set_time(cx, &insn, cycles);
        }
        self.retired += count as u64;
        timing.retire(
            &block.timing,
            Retired {
                first: 0,
                count,
                accesses: if T::NEEDS_ADDRESSES {
                    cx.mem.accesses()
                } else {
                    &[]
                },
                repeats: std::mem::take(&mut cx.repeats),
                next,
            },
        );
        cx.mem.clear_accesses();
        cx.cpu.rip = next;
        stop
    }

    /// Runs one instruction.
    fn step(&mut self, cx: &mut Context, timing: &mut T) -> Option<Stop> {
        let entry = cx.cpu.rip;
        let before = cx.side.mark();
        let block = match self.make_block(cx, timing, entry, 1) {
            Ok(block) => block,
            Err(fault) => return Some(Stop::Fault(fault)),
        };
        let id = self.blocks.len() as BlockId;
        self.blocks.push(block);
        let stop = self.chain_one(cx, timing, id);
        self.blocks.pop();
        // The operation is not kept, so neither is what it needed.
        cx.side.back_to(before);
        stop
    }

    fn chain_one(&mut self, cx: &mut Context, timing: &mut T, id: BlockId) -> Option<Stop> {
        let block = &self.blocks[id as usize];
        cx.cpu.gpr[BLOCK] = block.entry;
        cx.mem.clear_accesses();
        let op = block.ops[0];
        let flow = (op.handler)(cx, &op);
        let block = &self.blocks[id as usize];
        let next = match flow {
            Flow::Taken => block.ways[0],
            Flow::NotTaken | Flow::Next => block.ways[1],
            Flow::Indirect => cx.cpu.rip,
            other => return self.unusual(cx, timing, id, 0, other),
        };
        self.retired += 1;
        timing.retire(
            &block.timing,
            Retired {
                first: 0,
                count: 1,
                accesses: if T::NEEDS_ADDRESSES {
                    cx.mem.accesses()
                } else {
                    &[]
                },
                repeats: std::mem::take(&mut cx.repeats),
                next,
            },
        );
        cx.mem.clear_accesses();
        cx.cpu.rip = next;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::isa::state::{Cpu, RAX, RCX};
    use crate::sim::memory::{Backing, Protection, Purpose};
    use iced_x86::code_asm::{CodeAssembler, dword_ptr, eax, ecx, qword_ptr, rax, rcx, rdi};

    /// Counts instructions and accesses; checks nothing.
    #[derive(Clone, Debug, Default)]
    struct Counting {
        retired: u64,
        accesses: u64,
        repeats: u64,
    }
    impl Timing for Counting {
        const NEEDS_ADDRESSES: bool = true;
        type Block = ();
        fn prepare(&self, _: &[Instruction]) {}
        fn retire(&mut self, (): &(), retired: Retired<'_>) {
            self.retired += retired.count as u64;
            self.accesses += retired.accesses.len() as u64;
            self.repeats += retired.repeats;
        }
        fn cycles(&self) -> Option<u64> {
            Some(self.retired)
        }
        fn frequency_hz(&self) -> u64 {
            1_000_000_000
        }
        fn micro_ops(&self) -> u64 {
            self.retired
        }
        fn report(&self, _: &mut BTreeMap<String, u64>) {}
    }

    const CODE: u64 = 0x10_0000;
    const DATA: u64 = 0x20_0000;

    fn guest(build: impl FnOnce(&mut CodeAssembler)) -> Context {
        let mut asm = CodeAssembler::new(64).unwrap();
        build(&mut asm);
        let code = asm.assemble(CODE).unwrap();
        let mut mem = Memory::new(1 << 24);
        let all = Protection::READ_WRITE.union(Protection::EXECUTE);
        mem.map(CODE, 0x4000, all, Backing::Anonymous, Purpose::Anonymous);
        mem.map(
            DATA,
            0x4000,
            Protection::READ_WRITE,
            Backing::Anonymous,
            Purpose::Anonymous,
        );
        mem.copy_in(CODE, &code).unwrap();
        // Data that is there: the model counts what a first touch records, too.
        mem.copy_in(DATA, &[0; 0x4000]).unwrap();
        let mut cpu = Cpu::new(Arc::new([]));
        cpu.rip = CODE;
        Context::new(cpu, mem)
    }

    fn run(cx: &mut Context, deadline: u64) -> (Stop, Engine<Counting>, Counting) {
        let mut engine = Engine::new(Features::default());
        let mut timing = Counting::default();
        loop {
            match engine.run(cx, &mut timing, deadline) {
                Stop::Attention => {}
                stop => return (stop, engine, timing),
            }
        }
    }

    fn sum_loop(asm: &mut CodeAssembler) {
        let mut top = asm.create_label();
        asm.xor(eax, eax).unwrap();
        asm.mov(ecx, 1000).unwrap();
        asm.set_label(&mut top).unwrap();
        asm.add(rax, rcx).unwrap();
        asm.mov(qword_ptr(DATA), rax).unwrap();
        asm.sub(ecx, 1).unwrap();
        asm.jnz(top).unwrap();
        asm.int3().unwrap();
    }

    #[test]
    fn a_loop_retires_exactly_its_instructions() {
        let mut cx = guest(sum_loop);
        let (stop, engine, timing) = run(&mut cx, u64::MAX);
        assert_eq!(stop, Stop::Fault(Fault::Breakpoint));
        assert_eq!(cx.cpu.gpr[RAX], 500_500);
        assert_eq!(
            (engine.retired, timing.retired, timing.accesses),
            (4002, 4002, 1000)
        );
    }

    #[test]
    fn every_deadline_is_met_exactly_and_gives_the_state_of_the_unbroken_run() {
        for deadline in [1, 2, 3, 5, 63, 64, 65, 100, 1999, 4001] {
            let mut cx = guest(sum_loop);
            let (stop, engine, _) = run(&mut cx, deadline);
            assert_eq!(stop, Stop::Deadline);
            assert_eq!(engine.retired, deadline);
            let iterations = deadline.saturating_sub(2).div_ceil(4);
            assert_eq!(
                cx.cpu.gpr[RAX],
                (0..iterations).map(|i| 1000 - i).sum::<u64>(),
                "deadline {deadline}"
            );
            let (stop, engine, _) = run(&mut cx, u64::MAX);
            assert_eq!(stop, Stop::Fault(Fault::Breakpoint));
            assert_eq!(engine.retired, 4002 - deadline);
            assert_eq!(cx.cpu.gpr[RAX], 500_500);
        }
    }

    #[test]
    fn a_page_comes_before_the_instruction_that_touches_it_first() {
        // The fifth instruction of one block stores to a page that nobody has touched.
        let mut cx = guest(|asm| {
            for _ in 0..4 {
                asm.add(rax, rcx).unwrap();
            }
            asm.mov(qword_ptr(DATA), rax).unwrap();
            asm.add(rax, rcx).unwrap();
            asm.int3().unwrap();
        });
        cx.mem.discard(DATA, 0x4000);
        let mut engine = Engine::new(Features::default());
        let mut timing = Counting::default();
        let live = cx.mem.live_pages();
        let mut grown = Vec::new();
        let stop = loop {
            match engine.run(&mut cx, &mut timing, u64::MAX) {
                Stop::Attention if cx.mem.live_pages() > live => grown.push(engine.retired),
                Stop::Attention => {}
                stop => break stop,
            }
        };
        assert_eq!(stop, Stop::Fault(Fault::Breakpoint));
        assert_eq!((grown, engine.retired), (vec![4], 6));
    }

    #[test]
    fn single_steps_leave_nothing_behind() {
        let mut cx = guest(|asm| {
            let mut top = asm.create_label();
            asm.mov(ecx, 1000).unwrap();
            asm.set_label(&mut top).unwrap();
            asm.bswap(rax).unwrap();
            asm.cpuid().unwrap();
            asm.mov(ecx, 5).unwrap();
            asm.jmp(top).unwrap();
        });
        let mut engine = Engine::new(Features::default());
        let mut timing = Counting::default();
        for deadline in 1..2000 {
            while engine.run(&mut cx, &mut timing, deadline) != Stop::Deadline {}
        }
        assert!(engine.side.slow.len() < 10, "{}", engine.side.slow.len());
    }

    #[test]
    fn a_store_into_the_running_block_takes_effect_at_the_next_instruction() {
        // The immediate of the second `mov` is overwritten by the store just before it, in the same block.
        let mut cx = guest(|asm| {
            asm.mov(ecx, 0x1234).unwrap();
            asm.mov(dword_ptr(CODE + 5 + 7 + 1), ecx).unwrap();
            asm.mov(eax, 1).unwrap();
            asm.int3().unwrap();
        });
        let bytes: Vec<u8> = {
            let mut b = vec![0; 24];
            cx.mem.copy_out(CODE, &mut b).unwrap();
            b
        };
        assert_eq!(
            bytes[12], 0xb8,
            "the test relies on the encoding of the store"
        );
        let (stop, ..) = run(&mut cx, u64::MAX);
        assert_eq!(stop, Stop::Fault(Fault::Breakpoint));
        assert_eq!(cx.cpu.gpr[RAX], 0x1234);
    }

    #[test]
    fn a_repeated_store_counts_once_and_its_iterations_as_repeats() {
        for count in [0u64, 1, 50, 10_000] {
            let mut cx = guest(|asm| {
                asm.mov(rcx, count).unwrap();
                asm.mov(rdi, DATA).unwrap();
                asm.rep().stosb().unwrap();
                asm.int3().unwrap();
            });
            let (stop, engine, timing) = run(&mut cx, u64::MAX);
            assert_eq!(stop, Stop::Fault(Fault::Breakpoint));
            assert_eq!(
                (engine.retired, timing.repeats, timing.accesses),
                (3, count, count)
            );
            assert_eq!(cx.cpu.gpr[RCX], 0);
        }
    }

    #[test]
    fn a_faulting_instruction_has_changed_nothing_and_is_not_counted() {
        let mut cx = guest(|asm| {
            asm.mov(eax, 7).unwrap();
            asm.add(qword_ptr(0x40), rax).unwrap();
            asm.int3().unwrap();
        });
        let (stop, engine, _) = run(&mut cx, u64::MAX);
        assert!(
            matches!(stop, Stop::Fault(Fault::Page { addr: 0x40, .. })),
            "{stop:?}"
        );
        assert_eq!(engine.retired, 1);
        assert_eq!(cx.cpu.rip, CODE + 5);
    }
}
