//! One guest on one machine: the loop that joins instructions, kernel and time, and its snapshots.
use super::guest::{
    Guest, LoadError,
    kernel::{Control, Kernel, MarkKind, Now},
};
use super::isa::op::Context;
use super::isa::run::{Engine, Stop};
use super::isa::state::Cpu;
use super::memory::{Fault, Memory, PAGE_SIZE};
use super::outcome::{Counters, Exit, Limits, Outcome, Region};
use super::uarch::Timing;
use std::sync::Arc;

/// Instructions between two looks at the host's clock.
const GUARD_INTERVAL: u64 = 20_000_000;

/// What accumulates while the guest runs, beside the state of guest and core.
#[derive(Clone, Debug, Default)]
struct Tally {
    retired: u64,
    regions: Vec<Region>,
    /// Where the open region began: instructions and cycles.
    open: Option<(u64, Option<u64>)>,
    memory_kib_cycles: u64,
    sampled_at: u64,
    sampled_pages: u64,
}

/// A running guest.
#[derive(Debug)]
pub struct Simulation<T: Timing> {
    cx: Context,
    kernel: Kernel,
    timing: T,
    engine: Engine<T>,
    limits: Limits,
    tally: Tally,
    /// The guest stands behind a system call that has not been answered.
    unanswered: bool,
    tick: Option<Tick>,
    /// [`Kernel::memory_changes`] when the block cache was last made to fit and memory sampled.
    memory_changes: u64,
}

/// When to look at the guest's timers. State, as where they are looked at is where their signals act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tick {
    /// The point in processor time that is meant, nanoseconds.
    due_ns: u64,
    /// The instruction at which to look.
    at: u64,
}

/// A stopped guest, from which any number of runs can go on. Plain data: sharing it between threads is safe.
#[derive(Debug)]
pub struct Snapshot<T: Timing> {
    cpu: Cpu,
    mem: Memory,
    clock_read: bool,
    kernel: Kernel,
    timing: T,
    limits: Limits,
    tally: Tally,
    unanswered: bool,
    tick: Option<Tick>,
}

impl<T: Timing> Simulation<T> {
    /// A guest before its first instruction.
    ///
    /// # Errors
    /// Why the program cannot be loaded.
    pub fn new(
        guest: Result<Guest, LoadError>,
        timing: T,
        mut engine: Engine<T>,
        limits: Limits,
    ) -> Result<Self, LoadError> {
        let Guest {
            cpu,
            mut mem,
            kernel,
        } = guest?;
        engine.pause = u64::MAX;
        engine.revalidate(&mut mem);
        Ok(Self {
            cx: Context::new(cpu, mem),
            kernel,
            timing,
            engine,
            limits,
            tally: Tally::default(),
            unanswered: false,
            tick: None,
            memory_changes: 0,
        })
    }

    /// Goes on from a snapshot, with a block cache that may be warm.
    pub fn resume(snapshot: &Snapshot<T>, mut engine: Engine<T>) -> Self {
        let mut mem = snapshot.mem.fork_frozen();
        engine.pause = u64::MAX;
        engine.revalidate(&mut mem);
        let mut cx = Context::new(snapshot.cpu.clone(), mem);
        cx.clock_read = snapshot.clock_read;
        Self {
            cx,
            kernel: snapshot.kernel.clone(),
            timing: snapshot.timing.clone(),
            engine,
            limits: snapshot.limits,
            tally: snapshot.tally.clone(),
            unanswered: snapshot.unanswered,
            tick: snapshot.tick,
            memory_changes: snapshot.kernel.memory_changes(),
        }
    }

    /// Freezes the state; this simulation can go on.
    pub fn snapshot(&mut self) -> Snapshot<T> {
        Snapshot {
            cpu: self.cx.cpu.clone(),
            mem: self.cx.mem.snapshot(),
            clock_read: self.cx.clock_read,
            kernel: self.kernel.clone(),
            timing: self.timing.clone(),
            limits: self.limits,
            tally: self.tally.clone(),
            unanswered: self.unanswered,
            tick: self.tick,
        }
    }

    /// How many inputs the driver has read from its device.
    pub fn inputs_read(&self) -> usize {
        self.kernel.inputs_read()
    }

    /// The block cache, for the next run on this thread.
    pub fn into_engine(self) -> Engine<T> {
        self.engine
    }

    /// Goes on after [`Exit::Paused`] with these inputs, from the one that was asked for on, to pause again at the
    /// input of the number `pause_at` (0 is the first of the whole run).
    pub fn resume_with(&mut self, inputs: &[Arc<[u8]>], pause_at: Option<usize>) {
        self.kernel.resume_with(inputs.to_vec());
        self.kernel.set_pause_at(pause_at);
    }

    /// Gives the guest another standard input. For one that has not read of its own.
    pub fn set_stdin(&mut self, stdin: Arc<[u8]>) {
        self.kernel.set_stdin(stdin);
    }

    /// Runs until the guest stops. `expired` is asked from time to time whether the host's clock has run out.
    pub fn run(&mut self, expired: &dyn Fn() -> bool) -> Exit {
        self.engine.retired = self.tally.retired;
        let exit = self.run_to_exit(expired);
        self.tally.retired = self.engine.retired;
        self.sample_memory();
        exit
    }

    /// Runs until this many instructions have retired since the start, or the guest stops: then why. From where this
    /// stops the guest goes on as if it had not.
    pub fn run_to(&mut self, instructions: u64, expired: &dyn Fn() -> bool) -> Option<Exit> {
        let limit = self.limits.instructions;
        self.limits.instructions = limit.min(instructions);
        let exit = self.run(expired);
        self.limits.instructions = limit;
        (exit != Exit::InstructionLimit || instructions >= limit).then_some(exit)
    }

    /// Runs to less than 64 instructions before this number, or until the guest stops: then why. Unlike
    /// [`Self::run_to`] this cuts no block, so that nothing at all tells the run from an unbroken one.
    pub fn run_near(&mut self, instructions: u64, expired: &dyn Fn() -> bool) -> Option<Exit> {
        self.engine.pause = instructions;
        let exit = self.run(expired);
        self.engine.pause = u64::MAX;
        (exit != Exit::Paused || self.unanswered).then_some(exit)
    }

    fn run_to_exit(&mut self, expired: &dyn Fn() -> bool) -> Exit {
        loop {
            if std::mem::take(&mut self.unanswered)
                && let Some(exit) = self.system_call()
            {
                return exit;
            }
            let wanted = self.next_tick();
            if wanted <= self.engine.retired {
                if let Some(exit) = self.tick() {
                    return exit;
                }
                continue;
            }
            if self.memory_changes != self.kernel.memory_changes() {
                self.memory_changes = self.kernel.memory_changes();
                self.engine.revalidate(&mut self.cx.mem);
                self.sample_memory();
            }
            let next_look = (self.engine.retired / GUARD_INTERVAL + 1) * GUARD_INTERVAL;
            let deadline = next_look.min(self.limits.instructions).min(wanted);
            match self.engine.run(&mut self.cx, &mut self.timing, deadline) {
                Stop::Syscall => self.unanswered = true,
                Stop::Attention => self.sample_memory(),
                Stop::Deadline if self.engine.retired >= self.limits.instructions => {
                    return Exit::InstructionLimit;
                }
                Stop::Deadline if self.engine.pauses() => return Exit::Paused,
                Stop::Deadline if self.engine.retired < next_look => {}
                Stop::Deadline => {
                    if expired() {
                        return Exit::WallClock;
                    }
                }
                Stop::Fault(fault) => {
                    if let Some(exit) = self.fault(fault) {
                        return exit;
                    }
                }
            }
        }
    }

    fn system_call(&mut self) -> Option<Exit> {
        self.timing.drain();
        let rip = self.cx.cpu.rip;
        let now = self.now();
        self.kernel.clock_read |= std::mem::take(&mut self.cx.clock_read);
        match self.kernel.syscall(&mut self.cx.cpu, &mut self.cx.mem, now) {
            Control::Continue => None,
            Control::Exit(exit) => Some(exit),
            Control::Pause => {
                // The kernel set RIP back to the call; here the call has retired and waits for its answer.
                self.cx.cpu.rip = rip;
                self.unanswered = true;
                Some(Exit::Paused)
            }
            Control::Mark(MarkKind::Begin) => self.begin_region(),
            Control::Mark(MarkKind::End) => self.end_region(),
        }
    }

    fn begin_region(&mut self) -> Option<Exit> {
        if self.tally.open.is_some() {
            return Some(Exit::ForgedMarker);
        }
        self.tally.open = Some((self.engine.retired, self.timing.cycles()));
        None
    }

    fn end_region(&mut self) -> Option<Exit> {
        let Some((instructions, cycles)) = self.tally.open.take() else {
            return Some(Exit::ForgedMarker);
        };
        self.tally.regions.push(Region {
            instructions: self.engine.retired - instructions,
            cycles: self
                .timing
                .cycles()
                .zip(cycles)
                .map(|(now, then)| now - then),
        });
        None
    }

    fn fault(&mut self, fault: Fault) -> Option<Exit> {
        let now = self.now();
        let exit = self
            .kernel
            .fault(&mut self.cx.cpu, &mut self.cx.mem, fault, now);
        if exit.is_none() {
            self.timing.drain();
        }
        exit
    }

    /// Timers expire and threads take turns: the kernel is entered, as by an interrupt.
    fn tick(&mut self) -> Option<Exit> {
        self.timing.drain();
        let now = self.now();
        self.tick = None;
        self.kernel.tick(&mut self.cx.cpu, &mut self.cx.mem, now)
    }

    /// The instruction before which the kernel wants to be entered.
    fn next_tick(&mut self) -> u64 {
        let turn = self.kernel.quantum_end().unwrap_or(u64::MAX);
        let Some(due_ns) = self.kernel.timer_due_ns() else {
            self.tick = None;
            return turn;
        };
        let at = match self.tick {
            Some(tick) if tick.due_ns == due_ns => tick.at,
            _ => {
                let at = self.instruction_at(due_ns);
                self.tick = Some(Tick { due_ns, at });
                at
            }
        };
        turn.min(at)
    }

    /// The instruction at which a point in time is reached, or one on the way there: on machines with cycles, how many
    /// instructions they are is not known before.
    fn instruction_at(&self, due_ns: u64) -> u64 {
        let cycle = u128::from(due_ns) * u128::from(self.timing.frequency_hz());
        let cycle = u64::try_from(cycle.div_ceil(1_000_000_000)).unwrap_or(u64::MAX);
        match self.timing.cycles() {
            None => cycle,
            Some(now) => {
                let left = cycle.saturating_sub(now);
                let step = if left == 0 { 0 } else { (left / 8).max(64) };
                self.engine.retired.saturating_add(step)
            }
        }
    }

    fn time(&self) -> u64 {
        self.timing.cycles().unwrap_or(self.engine.retired)
    }

    fn now(&self) -> Now {
        let time = self.time();
        let nanoseconds = u128::from(time) * 1_000_000_000 / u128::from(self.timing.frequency_hz());
        Now {
            cycles_or_instructions: time,
            nanoseconds: nanoseconds as u64,
            instructions: self.engine.retired,
        }
    }

    fn sample_memory(&mut self) {
        let now = self.time();
        let kib = self.tally.sampled_pages * (PAGE_SIZE / 1024);
        let span = kib.saturating_mul(now - self.tally.sampled_at);
        self.tally.memory_kib_cycles = self.tally.memory_kib_cycles.saturating_add(span);
        self.tally.sampled_at = now;
        self.tally.sampled_pages = self.kernel.live_pages(&self.cx.mem);
    }

    /// What the guest has done so far, with `exit` as the reason to stop.
    pub fn outcome(&self, exit: Exit) -> Outcome {
        let cycles = self.timing.cycles();
        let mut counters = Counters {
            instructions: self.tally.retired,
            micro_ops: self.timing.micro_ops(),
            cycles,
            simulated_time_ps: cycles.map(|c| {
                (u128::from(c) * 1_000_000_000_000 / u128::from(self.timing.frequency_hz())) as u64
            }),
            system_calls: self.kernel.system_calls,
            peak_memory_bytes: self.kernel.peak_pages(&self.cx.mem) * PAGE_SIZE,
            memory_kib_cycles: self.tally.memory_kib_cycles,
            ..Counters::default()
        };
        self.timing.report(&mut counters.parts);
        Outcome {
            exit,
            counters,
            regions: self.tally.regions.clone(),
            open_region: self.tally.open.is_some(),
            messages: self.kernel.messages.clone(),
            stdout: self.kernel.stdout.clone(),
            stderr: self.kernel.stderr.clone(),
            unanswered_system_calls: self.kernel.unanswered.clone(),
            clock_read: (self.kernel.clock_read_when_told)
                .unwrap_or(self.cx.clock_read || self.kernel.clock_read),
        }
    }
}
