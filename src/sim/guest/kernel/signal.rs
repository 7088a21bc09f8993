//! Signals: dispositions, masks, sending to oneself, and what becomes of faults.
//!
//! A signal with its default action acts as on Linux. One that the guest has a handler for ends the run with its
//! reason, as handlers are not run yet.
use super::super::elf::is_elf;
use super::super::symbols;
use super::abi::*;
use super::user::{Record, give, take, take_u32, take_u64};
use super::{Answer, Kernel, STACK_GUARD, Stop, unsupported};
use crate::sim::isa::state::{Cpu, RSP};
use crate::sim::memory::{Backing, Fault, Memory, Purpose};
use crate::sim::outcome::Exit;
use std::collections::BTreeMap;

const SIG_DEFAULT: u64 = 0;
const SIG_IGNORE: u64 = 1;
const SS_DISABLE: u32 = 2;

/// A disposition as the guest gave it: handler, flags, restorer, mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Action([u64; 4]);

/// The signal state of the process.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    actions: BTreeMap<u8, Action>,
    /// Bit n-1 for signal n.
    pub(super) blocked: u64,
    pub(super) pending: u64,
    /// Alternate stack: address, flags, size.
    alternate: Option<(u64, u32, u64)>,
}

impl Signals {
    fn handler(&self, signal: u8) -> u64 {
        self.actions.get(&signal).map_or(SIG_DEFAULT, |a| a.0[0])
    }

    /// Signals that are ignored, and those that have a handler, for `/proc/self/status`.
    pub(super) fn ignored_and_caught(&self) -> (u64, u64) {
        let mut masks = (0, 0);
        for (&signal, action) in &self.actions {
            match action.0[0] {
                SIG_DEFAULT => {}
                SIG_IGNORE => masks.0 |= bit(signal),
                _ => masks.1 |= bit(signal),
            }
        }
        masks
    }
}

fn bit(signal: u8) -> u64 {
    1 << ((signal - 1) & 63)
}

fn valid(signal: u64) -> Result<u8, Errno> {
    match u8::try_from(signal) {
        Ok(s) if (1..=SIGNALS).contains(&s) => Ok(s),
        _ => Err(EINVAL),
    }
}

impl Kernel {
    pub(super) fn rt_sigaction(
        &mut self,
        mem: &mut Memory,
        signal: u64,
        new: u64,
        old: u64,
        size: u64,
    ) -> Answer {
        if size != 8 {
            return Err(EINVAL.into());
        }
        let new = if new == 0 {
            None
        } else {
            Some(take::<32>(mem, new)?)
        };
        let signal = valid(signal & 0xffff_ffff)?;
        if new.is_some() && matches!(signal, SIGKILL | SIGSTOP) {
            return Err(EINVAL.into());
        }
        let before = self
            .signals
            .actions
            .get(&signal)
            .copied()
            .unwrap_or_default();
        if let Some(bytes) = new {
            let word = |i: usize| std::array::from_fn(|j| bytes[8 * i + j]);
            let action = Action(std::array::from_fn(|i| u64::from_le_bytes(word(i))));
            self.signals.actions.insert(signal, action);
        }
        if old != 0 {
            let bytes: Vec<u8> = before.0.iter().flat_map(|w| w.to_le_bytes()).collect();
            give(mem, old, &bytes)?;
        }
        Ok(0)
    }

    pub(super) fn rt_sigprocmask(
        &mut self,
        cpu: &Cpu,
        mem: &mut Memory,
        how: u32,
        set: u64,
        old: u64,
        size: u64,
    ) -> Answer {
        if size != 8 {
            return Err(EINVAL.into());
        }
        let before = self.signals.blocked;
        if set != 0 {
            let bits = take_u64(mem, set)?;
            let blocked = match how {
                0 => before | bits,
                1 => before & !bits,
                2 => bits,
                _ => return Err(EINVAL.into()),
            };
            self.signals.blocked = blocked & !(bit(SIGKILL) | bit(SIGSTOP));
        }
        if old != 0 {
            give(mem, old, &before.to_le_bytes())?;
        }
        let unblocked = self.signals.pending & !self.signals.blocked;
        for signal in (1..=SIGNALS).filter(|&s| unblocked & bit(s) != 0) {
            self.signals.pending &= !bit(signal);
            self.send(cpu, mem, signal)?;
        }
        Ok(0)
    }

    pub(super) fn rt_sigpending(&mut self, mem: &mut Memory, at: u64, size: u64) -> Answer {
        if size > 8 {
            return Err(EINVAL.into());
        }
        give(
            mem,
            at,
            &self.signals.pending.to_le_bytes()[..size as usize],
        )?;
        Ok(0)
    }

    pub(super) fn sigaltstack(&mut self, mem: &mut Memory, new: u64, old: u64) -> Answer {
        let before = self.signals.alternate;
        if new != 0 {
            let (base, flags, size) = (
                take_u64(mem, new)?,
                take_u32(mem, new.wrapping_add(8))?,
                take_u64(mem, new.wrapping_add(16))?,
            );
            match flags & 0x7fff_ffff {
                SS_DISABLE => self.signals.alternate = None,
                0 | 1 if size < self.profile.minimum_signal_stack => return Err(ENOMEM.into()),
                0 | 1 => self.signals.alternate = Some((base, flags, size)),
                _ => return Err(EINVAL.into()),
            }
        }
        if old != 0 {
            let (base, flags, size) = before.unwrap_or((0, SS_DISABLE, 0));
            give(
                mem,
                old,
                &Record::new()
                    .u64(base)
                    .u32(flags & !1)
                    .u32(0)
                    .u64(size)
                    .bytes(),
            )?;
        }
        Ok(0)
    }

    pub(super) fn rt_sigtimedwait(
        &mut self,
        mem: &mut Memory,
        set: u64,
        time: u64,
        size: u64,
    ) -> Answer {
        if size != 8 {
            return Err(EINVAL.into());
        }
        let wanted = take_u64(mem, set)? & self.signals.pending;
        if wanted != 0 {
            let signal = wanted.trailing_zeros() + 1;
            self.signals.pending &= !(1 << (signal - 1));
            return Ok(signal.into());
        }
        if time == 0 {
            return Err(unsupported(
                "rt_sigtimedwait: waiting for a signal with nobody to send it",
            ));
        }
        let ns = super::clock::parse_timespec(take(mem, time)?)?;
        self.sleep(ns);
        Err(EAGAIN.into())
    }

    /// The process sends itself a signal.
    fn send(&mut self, cpu: &Cpu, mem: &Memory, signal: u8) -> Result<(), Stop> {
        if self.signals.blocked & bit(signal) != 0 {
            self.signals.pending |= bit(signal);
            return Ok(());
        }
        match (self.signals.handler(signal), signal) {
            (SIG_IGNORE, _) => Ok(()),
            (SIG_DEFAULT, SIGCHLD | SIGCONT | SIGURG | SIGWINCH) => Ok(()),
            (SIG_DEFAULT, SIGSTOP..=SIGTTOU) => Err(unsupported(format!(
                "{}: the process stops with nobody to continue it",
                signal_name(signal)
            ))),
            (SIG_DEFAULT, _) => Err(Stop::Exit(self.killed(mem, signal, cpu.rip, None))),
            _ => Err(unsupported(handler_reason(signal))),
        }
    }

    /// A write found nobody to read: the signal, or EPIPE where it is ignored.
    pub(super) fn broken_pipe(&mut self, mem: &Memory) -> Stop {
        if self.signals.blocked & bit(SIGPIPE) != 0 {
            self.signals.pending |= bit(SIGPIPE);
            return EPIPE.into();
        }
        match self.signals.handler(SIGPIPE) {
            SIG_IGNORE => EPIPE.into(),
            SIG_DEFAULT => Stop::Exit(self.killed(mem, SIGPIPE, self.rip, None)),
            _ => unsupported(handler_reason(SIGPIPE)),
        }
    }

    pub(super) fn kill(&mut self, cpu: &Cpu, mem: &Memory, pid: i32, signal: i32) -> Answer {
        if !(0..=i32::from(SIGNALS)).contains(&signal) {
            return Err(EINVAL.into());
        }
        match pid {
            // The process, its group (which it leads), and everybody: there is nobody else that it may signal.
            0 | -1 => {}
            _ if pid.unsigned_abs() == GUEST_PID => {}
            _ => return Err(self.not_mine(pid).into()),
        }
        // `kill(-1)` leaves out the caller.
        if signal == 0 || pid == -1 {
            return if pid == -1 { Err(ESRCH.into()) } else { Ok(0) };
        }
        self.send(cpu, mem, signal as u8)?;
        Ok(0)
    }

    /// Why a signal does not reach another process: only the parent and the first process exist, and they are root's.
    pub(super) fn not_mine(&self, pid: i32) -> Errno {
        if pid == 1 || pid == PARENT_PID as i32 {
            EPERM
        } else {
            ESRCH
        }
    }

    pub(super) fn tgkill(
        &mut self,
        cpu: &Cpu,
        mem: &Memory,
        group: i32,
        thread: i32,
        signal: i32,
    ) -> Answer {
        if group <= 0 || thread <= 0 || !(0..=i32::from(SIGNALS)).contains(&signal) {
            return Err(EINVAL.into());
        }
        if thread != GUEST_PID as i32 || group != GUEST_PID as i32 {
            return Err(self
                .not_mine(if group == thread { thread } else { 0 })
                .into());
        }
        if signal != 0 {
            self.send(cpu, mem, signal as u8)?;
        }
        Ok(0)
    }

    pub(super) fn rt_sigqueueinfo(
        &mut self,
        cpu: &Cpu,
        mem: &Memory,
        pid: i32,
        signal: i32,
    ) -> Answer {
        self.kill(cpu, mem, if pid > 0 { pid } else { i32::MAX }, signal)
    }

    pub(super) fn alarm(&mut self, seconds: u32) -> Answer {
        if seconds == 0 {
            Ok(0)
        } else {
            Err(unsupported("alarm: signals at a time are not implemented"))
        }
    }

    pub(super) fn getitimer(&mut self, mem: &mut Memory, which: u32, at: u64) -> Answer {
        if which > 2 {
            return Err(EINVAL.into());
        }
        give(mem, at, &[0; 32])?;
        Ok(0)
    }

    pub(super) fn setitimer(&mut self, mem: &mut Memory, which: u32, new: u64, old: u64) -> Answer {
        let wanted = if new == 0 {
            [0; 32]
        } else {
            take::<32>(mem, new)?
        };
        if which > 2 {
            return Err(EINVAL.into());
        }
        // The first expiry decides: without one, the timer is off.
        if wanted[16..] != [0; 16] {
            return Err(unsupported(
                "setitimer: signals at a time are not implemented",
            ));
        }
        if old != 0 {
            give(mem, old, &[0; 32])?;
        }
        Ok(0)
    }

    /// How the run ends when the instruction at `rip` faults.
    pub fn fault(&mut self, cpu: &Cpu, mem: &mut Memory, fault: Fault, rip: u64) -> Exit {
        let (signal, address) = match fault {
            Fault::MemoryLimit => return Exit::MemoryLimit,
            Fault::Unsupported => {
                return Exit::UnsupportedInstruction {
                    mnemonic: mnemonic(mem, rip),
                    rip,
                    function: self.symbolize(mem, rip),
                };
            }
            Fault::Page { addr, .. } => (SIGSEGV, Some(addr)),
            Fault::Bus { addr } => (SIGBUS, Some(addr)),
            Fault::GeneralProtection => (SIGSEGV, None),
            Fault::Divide | Fault::SimdFloat | Fault::X87Float => (SIGFPE, None),
            Fault::InvalidOpcode => (SIGILL, None),
            Fault::Breakpoint => (SIGTRAP, None),
        };
        let overflow = matches!(fault, Fault::Page { addr, mapped: false, .. } if self.beyond_stack(cpu, mem, addr));
        // A fault whose signal is blocked or ignored kills; and after an overflow there is no stack for a handler but
        // an alternate one.
        let handled = self.signals.handler(signal) > SIG_IGNORE
            && self.signals.blocked & bit(signal) == 0
            && (!overflow || self.signals.alternate.is_some());
        if handled {
            return Exit::UnsupportedSyscall {
                name: handler_reason(signal),
            };
        }
        if overflow {
            return Exit::StackOverflow {
                rip,
                function: self.symbolize(mem, rip),
            };
        }
        self.killed(mem, signal, rip, address)
    }

    /// Whether an access hit the guard zone of the stack, or the stack pointer itself has left the stack downwards (a
    /// frame larger than the zone) without having gone to another mapping, as that of a coroutine.
    fn beyond_stack(&self, cpu: &Cpu, mem: &Memory, addr: u64) -> bool {
        let bottom = self.layout.stack_bottom;
        let pointer = cpu.gpr[RSP];
        let in_guard = |a: u64| a < bottom && a >= bottom - STACK_GUARD;
        // What a program can take from the stack at once and still mean the stack: as much again as it may use.
        let reach = bottom.saturating_sub(self.layout.stack_top - bottom);
        in_guard(addr) || pointer < bottom && pointer >= reach && mem.region_at(pointer).is_none()
    }

    fn killed(&self, mem: &Memory, signal: u8, rip: u64, address: Option<u64>) -> Exit {
        Exit::Signaled {
            signal,
            rip,
            address,
            function: self.symbolize(mem, rip),
        }
    }

    /// `name+0xoff` of the function at an address, from the symbol tables of the file that is mapped there.
    pub fn symbolize(&self, mem: &Memory, addr: u64) -> Option<String> {
        let (start, region) = mem.region_at(addr)?;
        let (Purpose::File(_), Backing::File { content, offset }) =
            (&region.purpose, &region.backing)
        else {
            return None;
        };
        if !is_elf(content) {
            return None;
        }
        symbols::name(content, offset + (addr - start))
    }
}

fn handler_reason(signal: u8) -> String {
    format!("signal handler for {}", signal_name(signal))
}

/// The mnemonic of the instruction at an address.
fn mnemonic(mem: &mut Memory, rip: u64) -> String {
    let mut bytes = [0; 15];
    let mut len = 0;
    while len < bytes.len()
        && mem
            .copy_out(rip.wrapping_add(len as u64), &mut bytes[len..=len])
            .is_ok()
    {
        len += 1;
    }
    let mut decoder =
        iced_x86::Decoder::with_ip(64, &bytes[..len], rip, iced_x86::DecoderOptions::NONE);
    format!("{:?}", decoder.decode().mnemonic()).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Process, failed};
    use super::*;
    use crate::sim::memory::{AccessKind, Protection};

    fn fault(process: &mut Process, fault: Fault, rip: u64) -> Exit {
        let super::super::super::Guest { cpu, mem, kernel } = &mut process.guest;
        kernel.fault(cpu, mem, fault, rip)
    }

    fn unmapped(addr: u64) -> Fault {
        Fault::Page {
            addr,
            kind: AccessKind::Write,
            mapped: false,
        }
    }

    fn action(process: &mut Process, signal: u8, handler: u64) {
        let at = process.bytes(&[&handler.to_le_bytes()[..], &[0; 24]].concat());
        process.succeed("rt_sigaction", &[signal.into(), at, 0, 8]);
    }

    #[test]
    fn faults_become_the_signals_of_linux() {
        let mut process = Process::new();
        for (cause, signal, address) in [
            (unmapped(8), SIGSEGV, Some(8)),
            (
                Fault::Page {
                    addr: 9,
                    kind: AccessKind::Write,
                    mapped: true,
                },
                SIGSEGV,
                Some(9),
            ),
            (Fault::Bus { addr: 7 }, SIGBUS, Some(7)),
            (Fault::GeneralProtection, SIGSEGV, None),
            (Fault::Divide, SIGFPE, None),
            (Fault::SimdFloat, SIGFPE, None),
            (Fault::X87Float, SIGFPE, None),
            (Fault::InvalidOpcode, SIGILL, None),
            (Fault::Breakpoint, SIGTRAP, None),
        ] {
            let expected = Exit::Signaled {
                signal,
                rip: 0x1000,
                address,
                function: None,
            };
            assert_eq!(fault(&mut process, cause, 0x1000), expected);
        }
        assert_eq!(
            fault(&mut process, Fault::MemoryLimit, 0),
            Exit::MemoryLimit
        );
        let Exit::UnsupportedInstruction { mnemonic, .. } =
            fault(&mut process, Fault::Unsupported, 0x40_0078)
        else {
            panic!("an instruction that is not implemented");
        };
        assert_eq!(mnemonic, "syscall");
    }

    #[test]
    fn a_stack_overflow_is_told_from_a_wild_pointer() {
        let mut process = Process::new();
        let bottom = process.guest.kernel.layout.stack_bottom;
        let top = process.guest.kernel.layout.stack_top;
        let is_overflow = |exit: Exit| matches!(exit, Exit::StackOverflow { .. });
        assert!(is_overflow(fault(&mut process, unmapped(bottom - 8), 0)));
        assert!(is_overflow(fault(
            &mut process,
            unmapped(bottom - STACK_GUARD),
            0
        )));
        assert!(!is_overflow(fault(
            &mut process,
            unmapped(bottom - STACK_GUARD - 1),
            0
        )));
        assert!(!is_overflow(fault(&mut process, unmapped(0), 0)));
        // A huge frame: the stack pointer has jumped over the guard, the access is anywhere in the frame.
        process.guest.cpu.gpr[RSP] = bottom - (top - bottom) + 8;
        assert!(is_overflow(fault(
            &mut process,
            unmapped(bottom - STACK_GUARD - 1),
            0
        )));
        // A coroutine's stack that stands there is none of ours.
        let at = (bottom - STACK_GUARD - (64 << 10)) & !4095;
        process.guest.mem.map(
            at,
            4096,
            Protection::READ_WRITE,
            Backing::Anonymous,
            Purpose::Anonymous,
        );
        process.guest.cpu.gpr[RSP] = at + 64;
        assert!(!is_overflow(fault(&mut process, unmapped(at - 8), 0)));
    }

    #[test]
    fn a_signal_to_oneself_acts_by_its_disposition() {
        let mut process = Process::new();
        process.guest.cpu.rip = 0x1234;
        let killed = |signal| Exit::Signaled {
            signal,
            rip: 0x1234,
            address: None,
            function: None,
        };
        assert_eq!(process.exit("tgkill", &[100, 100, 6]), killed(6));
        assert_eq!(process.exit("kill", &[100, 15]), killed(15));
        assert_eq!(process.exit("kill", &[0, 9]), killed(9));
        assert_eq!(process.call("kill", &[100, 0]), 0);
        assert_eq!(
            process.call("kill", &[100, u64::from(SIGCHLD)]),
            0,
            "ignored unless handled"
        );
        action(&mut process, 15, SIG_IGNORE);
        assert_eq!(process.call("kill", &[100, 15]), 0);
        action(&mut process, 10, 0x40_0078);
        let expected = Exit::UnsupportedSyscall {
            name: "signal handler for SIGUSR1".to_owned(),
        };
        assert_eq!(process.exit("kill", &[100, 10]), expected);
        action(&mut process, SIGSEGV, 0x40_0078);
        let Exit::UnsupportedSyscall { name } = fault(&mut process, unmapped(8), 0) else {
            panic!("handled")
        };
        assert_eq!(name, "signal handler for SIGSEGV");
        // Without an alternate stack, a handler cannot run after an overflow.
        let bottom = process.guest.kernel.layout.stack_bottom;
        assert!(matches!(
            fault(&mut process, unmapped(bottom - 8), 0),
            Exit::StackOverflow { .. }
        ));
        assert_eq!(process.call("kill", &[99, 9]), failed(EPERM));
        assert_eq!(process.call("kill", &[1, 9]), failed(EPERM));
        assert_eq!(process.call("kill", &[4242, 9]), failed(ESRCH));
        assert_eq!(process.call("tgkill", &[100, 101, 9]), failed(ESRCH));
    }

    #[test]
    fn a_blocked_signal_waits_until_it_is_unblocked() {
        let mut process = Process::new();
        let set = process.bytes(&bit(15).to_le_bytes());
        process.succeed("rt_sigprocmask", &[0, set, 0, 8]);
        assert_eq!(process.call("kill", &[100, 15]), 0);
        let pending = process.bytes(&[0; 8]);
        process.succeed("rt_sigpending", &[pending, 8]);
        assert_eq!(process.get(pending, 8), bit(15).to_le_bytes());
        assert!(matches!(
            process.exit("rt_sigprocmask", &[1, set, 0, 8]),
            Exit::Signaled { signal: 15, .. }
        ));
        let unblockable = process.bytes(&[0xff; 8]);
        process.succeed("rt_sigprocmask", &[0, unblockable, 0, 8]);
        assert!(matches!(
            process.exit("kill", &[100, 9]),
            Exit::Signaled { signal: 9, .. }
        ));
    }
}
