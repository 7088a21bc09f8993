//! Counts the instructions of a program by single-stepping it on the host processor.
//!
//! Convention, the same as the simulator's: a `rep` instruction counts once, however many iterations it makes; a system
//! call counts once, the last one (`exit`) too.
#![expect(
    unsafe_code,
    reason = "ptrace has no safe interface in the standard library"
)]
use iced_x86::{Decoder, DecoderOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Steps until a program is given up.
const STEP_LIMIT: u64 = 50_000_000;

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Instructions of the whole program.
    pub(crate) instructions: u64,
    /// Instructions before each arrival at the marker: a difference of two is the length of what lies between, the
    /// instruction at the marker included.
    pub(crate) arrivals: Vec<u64>,
    /// The exit code.
    pub(crate) exit_code: i32,
}

/// Runs a static program with an empty environment to its end, and notes each arrival at the address `marker`.
pub(crate) fn single_step(program: &Path, marker: Option<u64>) -> Result<Steps, String> {
    let mut command = Command::new(program);
    command
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    // SAFETY: `ptrace` is a plain system call, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    // Dropping the child neither kills nor reaps it: `Tracee` does.
    let child = command
        .spawn()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    let mut tracee = Tracee {
        pid: child.id() as i32,
        ended: false,
    };
    tracee.wait_for_trap()?;
    let mut steps = Steps {
        instructions: 0,
        arrivals: Vec::new(),
        exit_code: 0,
    };
    let mut before = tracee.rip()?;
    for _ in 0..STEP_LIMIT {
        if Some(before) == marker && (steps.arrivals.last() != Some(&steps.instructions)) {
            steps.arrivals.push(steps.instructions);
        }
        tracee.step()?;
        if let Some(exit_code) = tracee.wait_for_trap()? {
            steps.instructions += 1;
            steps.exit_code = exit_code;
            return Ok(steps);
        }
        let after = tracee.rip()?;
        // A step is one iteration of a `rep`, which has retired when RIP moves on. A branch to itself stays too.
        if after != before || !tracee.repeats_at(before)? {
            steps.instructions += 1;
        }
        before = after;
    }
    Err(format!("more than {STEP_LIMIT} steps"))
}

/// What was counted between markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spans {
    /// Instructions of each span.
    pub(crate) instructions: Vec<u64>,
    /// Address of each instruction of all spans.
    pub(crate) trace: Vec<u64>,
    /// RDI, RSI and RDX before each of them: what functions of the C library are given.
    pub(crate) operands: Vec<[u64; 3]>,
    /// What was mapped where at the end of the last span, as `/proc/PID/maps` shows it.
    pub(crate) maps: String,
}

/// The stack that a guest begins with: strings, auxiliary vector, environment, arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FirstStack {
    /// The stack pointer.
    pub(crate) pointer: u64,
    /// Everything from there to the top.
    pub(crate) content: Vec<u8>,
}

/// Lets a command start with addresses that are not randomised, as those of a guest are not, and with a descriptor
/// `device` to which it can write markers.
pub(crate) fn like_a_guest(command: &mut Command, device: i32) -> Result<(), String> {
    let sink = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/null")
        .map_err(|e| format!("/dev/null: {e}"))?;
    // SAFETY: plain system calls, allowed between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let done = libc::dup2(sink.as_raw_fd(), device) == device
                && libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) != -1;
            if done {
                Ok(())
            } else {
                Err(std::io::Error::last_os_error())
            }
        });
    }
    Ok(())
}

/// The instructions of each span of a program between a `write` of a marker `B` and one of `E` to the descriptor
/// `device`, the second `write` included. Between spans the program runs at full speed; its other threads do so always.
///
/// The caller says where its input and output go. With `stack`, the program begins with the first stack of a guest and
/// without the kernel's own functions (vDSO), which are mapped where a guest has libraries: what depends on addresses then
/// goes the same way on both sides.
pub(crate) fn spans(
    command: &mut Command,
    device: i32,
    longest: u64,
    stack: Option<&FirstStack>,
) -> Result<Spans, String> {
    like_a_guest(command, device)?;
    // SAFETY: a plain system call, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let _pinned = Pinned::new();
    let child = command.spawn().map_err(|e| e.to_string())?;
    let mut tracee = Tracee {
        pid: child.id() as i32,
        ended: false,
    };
    tracee.wait_for_trap()?;
    let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL;
    tracee.request(libc::PTRACE_SETOPTIONS, 0, options as u64)?;
    if let Some(stack) = stack {
        tracee.adopt(stack)?;
    }
    let mut spans = Spans::default();
    let mut signal = 0;
    while tracee.run_to_marker(b'B', &mut signal)? {
        let mut count = 0;
        let mut registers = tracee.registers()?;
        loop {
            let before = registers.rip;
            let operands = [registers.rdi, registers.rsi, registers.rdx];
            tracee.request(libc::PTRACE_SINGLESTEP, 0, signal)?;
            match tracee.wait()? {
                Event::Ended => return Err("the program ended in a span".to_owned()),
                Event::Stopped(stop) if stop & 0x7f == libc::SIGTRAP => signal = 0,
                Event::Stopped(stop) => {
                    // Its handler is run with the next step.
                    signal = stop as u64;
                    continue;
                }
            }
            registers = tracee.registers()?;
            if registers.rip != before || !tracee.repeats_at(before)? {
                count += 1;
                spans.trace.push(before);
                spans.operands.push(operands);
            }
            if tracee.is_marker(&registers, b'E')? {
                break;
            }
            if count > longest {
                return Err(format!("a span of more than {longest} instructions"));
            }
        }
        spans.instructions.push(count);
        let maps = format!("/proc/{}/maps", tracee.pid);
        spans.maps = std::fs::read_to_string(&maps).map_err(|e| format!("{maps}: {e}"))?;
    }
    Ok(spans)
}

impl FirstStack {
    /// What lies behind the pointers of arguments and environment.
    fn auxiliary_vector(&self) -> Option<&[u8]> {
        let (words, _) = self.content.as_chunks::<8>();
        let count = usize::try_from(u64::from_le_bytes(*words.first()?)).ok()?;
        let environment = count.checked_add(2)?;
        let end = words
            .get(environment..)?
            .iter()
            .position(|word| *word == [0; 8])?;
        self.content.get(8 * (environment + end + 1)..)
    }
}

/// The value of a key in an auxiliary vector.
fn entry(vector: &[u8], key: u64) -> Option<u64> {
    let (pairs, _) = vector.as_chunks::<16>();
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).ok();
    let mut pairs = pairs
        .iter()
        .map(|pair| (word(&pair[..8]), word(&pair[8..])));
    pairs
        .find(|(found, _)| *found == Some(key) || *found == Some(libc::AT_NULL))
        .filter(|(found, _)| *found == Some(key))
        .and_then(|(_, value)| value)
}

struct Tracee {
    pid: i32,
    ended: bool,
}

/// This thread and the children that it starts on one processor, which makes a step a switch instead of a message to
/// another processor; the old set of processors returns when this goes.
struct Pinned(libc::cpu_set_t);

impl Pinned {
    fn new() -> Option<Self> {
        // SAFETY: a set of bits, for which zero is a value; the calls read and write sets of our own.
        unsafe {
            let mut old: libc::cpu_set_t = std::mem::zeroed();
            let mut one: libc::cpu_set_t = std::mem::zeroed();
            let size = size_of::<libc::cpu_set_t>();
            if libc::sched_getaffinity(0, size, &raw mut old) != 0 {
                return None;
            }
            let now = usize::try_from(libc::sched_getcpu()).ok()?;
            libc::CPU_SET(now, &mut one);
            (libc::sched_setaffinity(0, size, &raw const one) == 0).then_some(Self(old))
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: reads a set of our own.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const self.0) };
    }
}

/// Why a tracee stands still.
enum Event {
    Ended,
    /// The signal, with bit 7 set at a system call.
    Stopped(i32),
}

impl Tracee {
    fn wait(&mut self) -> Result<Event, String> {
        let mut status = 0;
        // SAFETY: waits for our own child.
        if unsafe { libc::waitpid(self.pid, &raw mut status, 0) } != self.pid {
            return Err(format!("waitpid: {}", std::io::Error::last_os_error()));
        }
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            self.ended = true;
            return Ok(Event::Ended);
        }
        Ok(Event::Stopped(libc::WSTOPSIG(status)))
    }

    /// Runs to the end of the next `write` of a marker; false where the program ends before. `signal` is what it is to
    /// be given first.
    fn run_to_marker(&mut self, kind: u8, signal: &mut u64) -> Result<bool, String> {
        loop {
            self.request(libc::PTRACE_SYSCALL, 0, std::mem::take(signal))?;
            match self.wait()? {
                Event::Ended => return Ok(false),
                Event::Stopped(stop) if stop == libc::SIGTRAP | 0x80 => {
                    let registers = self.registers()?;
                    let entered = registers.rax == (-i64::from(libc::ENOSYS)) as u64;
                    if !entered && self.is_marker(&registers, kind)? {
                        return Ok(true);
                    }
                }
                Event::Stopped(libc::SIGTRAP) => {}
                Event::Stopped(stop) => *signal = stop as u64,
            }
        }
    }

    /// Whether a system call that has been made wrote this kind of marker, to whatever descriptor: a shell duplicates it.
    fn is_marker(&self, registers: &libc::user_regs_struct, kind: u8) -> Result<bool, String> {
        if registers.orig_rax != libc::SYS_write as u64 || registers.rdx != 17 {
            return Ok(false);
        }
        let word = self.request(libc::PTRACE_PEEKDATA, registers.rsi, 0)?;
        Ok(word.to_le_bytes() == [kind, b'0', b'1', b'2', b'3', b'4', b'5', b'6'])
    }

    /// Gives a program that stands at its first instruction the first stack of a guest, and takes the vDSO from it.
    fn adopt(&mut self, stack: &FirstStack) -> Result<(), String> {
        let vector = format!("/proc/{}/auxv", self.pid);
        let own = std::fs::read(&vector).map_err(|e| format!("{vector}: {e}"))?;
        let theirs = (stack.auxiliary_vector()).ok_or("the first stack has no auxiliary vector")?;
        // Program headers, interpreter and entry: files lie where they do in the guest.
        for key in [libc::AT_PHDR, libc::AT_BASE, libc::AT_ENTRY] {
            let (own, theirs) = (entry(&own, key), entry(theirs, key));
            if own != theirs {
                return Err(format!(
                    "the host loads the program elsewhere: {own:x?} instead of {theirs:x?}"
                ));
            }
        }
        let maps = format!("/proc/{}/maps", self.pid);
        let text = std::fs::read_to_string(&maps).map_err(|e| format!("{maps}: {e}"))?;
        for line in text.lines() {
            if !(line.ends_with("[vdso]") || line.contains("[vvar")) {
                continue;
            }
            let range = line.split([' ', '-']).take(2);
            let ends: Vec<_> = range
                .filter_map(|end| u64::from_str_radix(end, 16).ok())
                .collect();
            let [start, end] = ends[..] else {
                return Err(format!("{maps}: `{line}` has no range"));
            };
            self.call(libc::SYS_munmap, [start, end - start])?;
        }
        self.write(stack.pointer, &stack.content)?;
        let mut registers = self.registers()?;
        registers.rsp = stack.pointer;
        self.set_registers(&registers)
    }

    /// Makes a system call in the name of the tracee.
    fn call(&mut self, number: i64, arguments: [u64; 2]) -> Result<(), String> {
        const SYSCALL: [u8; 2] = [0x0f, 0x05];
        let before = self.registers()?;
        let code = self
            .request(libc::PTRACE_PEEKDATA, before.rip, 0)?
            .to_le_bytes();
        self.write(before.rip, &SYSCALL)?;
        let mut registers = before;
        registers.rax = number as u64;
        [registers.rdi, registers.rsi] = arguments;
        self.set_registers(&registers)?;
        self.step()?;
        let Event::Stopped(libc::SIGTRAP) = self.wait()? else {
            return Err("a system call in the name of the program did not return".to_owned());
        };
        let result = self.registers()?.rax as i64;
        self.write(before.rip, &code[..SYSCALL.len()])?;
        self.set_registers(&before)?;
        if result < 0 {
            return Err(format!("system call {number}: error {}", -result));
        }
        Ok(())
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let path = format!("/proc/{}/mem", self.pid);
        let file = std::fs::OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.write_all_at(bytes, address))
            .map_err(|e| format!("{path}: {e}"))
    }

    fn set_registers(&self, registers: &libc::user_regs_struct) -> Result<(), String> {
        let at: *const libc::user_regs_struct = registers;
        self.request(libc::PTRACE_SETREGS, 0, at as u64).map(|_| ())
    }

    fn registers(&self) -> Result<libc::user_regs_struct, String> {
        // SAFETY: integers all, for which zero is a value.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        self.request(libc::PTRACE_GETREGS, 0, (&raw mut registers) as u64)?;
        Ok(registers)
    }

    /// The exit code if the program has ended, nothing if it stands at its next instruction.
    fn wait_for_trap(&mut self) -> Result<Option<i32>, String> {
        let mut status = 0;
        // SAFETY: waits for our own child.
        if unsafe { libc::waitpid(self.pid, &raw mut status, 0) } != self.pid {
            return Err(format!("waitpid: {}", std::io::Error::last_os_error()));
        }
        if libc::WIFEXITED(status) {
            self.ended = true;
            return Ok(Some(libc::WEXITSTATUS(status)));
        }
        if libc::WIFSIGNALED(status) {
            self.ended = true;
            return Err(format!("killed by signal {}", libc::WTERMSIG(status)));
        }
        match libc::WSTOPSIG(status) {
            libc::SIGTRAP => Ok(None),
            signal => Err(format!("stopped by signal {signal}")),
        }
    }

    fn step(&self) -> Result<(), String> {
        self.request(libc::PTRACE_SINGLESTEP, 0, 0).map(|_| ())
    }

    fn rip(&self) -> Result<u64, String> {
        let at = std::mem::offset_of!(libc::user_regs_struct, rip) as u64;
        self.request(libc::PTRACE_PEEKUSER, at, 0)
            .map(|word| word as u64)
    }

    /// Whether the instruction at an address is a string instruction with a repeat prefix.
    fn repeats_at(&self, address: u64) -> Result<bool, String> {
        let mut bytes = [0; 16];
        for (i, chunk) in bytes.chunks_mut(8).enumerate() {
            // The second word may lie beyond the last page; a `rep` needs 5 bytes at most, which may straddle.
            match self.request(libc::PTRACE_PEEKDATA, address + 8 * i as u64, 0) {
                Ok(word) => chunk.copy_from_slice(&word.to_le_bytes()),
                Err(why) if i == 0 => return Err(why),
                Err(_) => {}
            }
        }
        let insn = Decoder::with_ip(64, &bytes, address, DecoderOptions::NONE).decode();
        Ok(insn.is_string_instruction() && (insn.has_rep_prefix() || insn.has_repne_prefix()))
    }

    fn request(&self, request: libc::c_uint, address: u64, data: u64) -> Result<i64, String> {
        // SAFETY: on our own stopped child. The C library returns peeked words and tells errors by `errno` alone.
        let (word, error) = unsafe {
            *libc::__errno_location() = 0;
            let word = libc::ptrace(request, self.pid, address, data);
            (word, *libc::__errno_location())
        };
        if error != 0 {
            return Err(format!(
                "ptrace request {request}: {}",
                std::io::Error::from_raw_os_error(error)
            ));
        }
        Ok(word)
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if !self.ended {
            // SAFETY: ends and reaps our own child, so that its number is not reused yet.
            unsafe {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, std::ptr::null_mut(), 0);
            }
        }
    }
}

/// A static program of one segment that may be read, written and executed, loaded at [`BASE`]; code starts at [`ENTRY`].
pub(crate) fn elf(code: &[u8], zeros: u64) -> Vec<u8> {
    let header = (ENTRY - BASE) as usize;
    let mut out = Vec::new();
    out.extend([0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Type, machine, version; entry; program headers at 64, no section headers; flags, sizes and counts.
    out.extend([2u16, 62].iter().flat_map(|v| v.to_le_bytes()));
    out.extend(1u32.to_le_bytes());
    out.extend([ENTRY, 64, 0].iter().flat_map(|v| v.to_le_bytes()));
    out.extend(0u32.to_le_bytes());
    out.extend(
        [64u16, 56, 1, 64, 0, 0]
            .iter()
            .flat_map(|v| v.to_le_bytes()),
    );
    // PT_LOAD, read, write, execute.
    out.extend([1u32, 7].iter().flat_map(|v| v.to_le_bytes()));
    let size = (header + code.len()) as u64;
    out.extend(
        [0, BASE, BASE, size, size + zeros, 0x1000]
            .iter()
            .flat_map(|v| v.to_le_bytes()),
    );
    assert_eq!(out.len(), header);
    out.extend(code);
    out
}

/// Where [`elf`] loads its file.
pub(crate) const BASE: u64 = 0x40_0000;
/// Where its code starts.
pub(crate) const ENTRY: u64 = BASE + 120;

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::code_asm::*;
    use std::os::unix::fs::PermissionsExt;

    /// Writes a program of its own name, steps it, removes it.
    fn step_program(name: &str, asm: &mut CodeAssembler, marker: Option<u64>) -> Steps {
        let code = asm.assemble(ENTRY).expect("the program assembles");
        let path = std::env::temp_dir().join(format!("tickmark-{}-{name}", std::process::id()));
        std::fs::write(&path, elf(&code, 0x1000)).expect("the temporary folder is writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .expect("our own file");
        let steps = single_step(&path, marker);
        std::fs::remove_file(&path).expect("our own file");
        steps.expect("the program can be stepped")
    }

    /// `exit(7)`: three instructions.
    fn exit(a: &mut CodeAssembler) -> Result<(), iced_x86::IcedError> {
        a.mov(edi, 7)?;
        a.mov(eax, 60)?;
        a.syscall()
    }

    #[test]
    fn a_loop_counts_every_iteration_and_the_last_system_call_counts()
    -> Result<(), iced_x86::IcedError> {
        let mut a = CodeAssembler::new(64)?;
        let mut again = a.create_label();
        a.mov(ecx, 10)?;
        a.set_label(&mut again)?;
        a.dec(ecx)?;
        a.jnz(again)?;
        exit(&mut a)?;
        let steps = step_program("loop", &mut a, None);
        assert_eq!(
            steps,
            Steps {
                instructions: 1 + 2 * 10 + 3,
                arrivals: vec![],
                exit_code: 7
            }
        );
        Ok(())
    }

    #[test]
    fn a_rep_counts_once_for_any_number_of_iterations() -> Result<(), iced_x86::IcedError> {
        for count in [0, 1, 50] {
            let mut a = CodeAssembler::new(64)?;
            a.mov(ecx, count)?;
            a.mov(edi, BASE as u32 + 0x800)?;
            a.rep().stosb()?;
            exit(&mut a)?;
            let steps = step_program(&format!("rep-{count}"), &mut a, None);
            assert_eq!(steps.instructions, 6, "{count} iterations");
        }
        Ok(())
    }

    #[test]
    fn a_branch_to_itself_is_no_rep() -> Result<(), iced_x86::IcedError> {
        let mut a = CodeAssembler::new(64)?;
        let mut same = a.create_label();
        a.mov(ecx, 5)?;
        a.set_label(&mut same)?;
        a.loop_(same)?;
        exit(&mut a)?;
        assert_eq!(step_program("self", &mut a, None).instructions, 1 + 5 + 3);
        Ok(())
    }

    #[test]
    fn arrivals_at_a_marker_delimit_what_lies_between() -> Result<(), iced_x86::IcedError> {
        // call mark; 3 x nop; rep stosb of 20; call mark; exit ... mark: ret
        let mut a = CodeAssembler::new(64)?;
        let mut mark = a.create_label();
        let mut start = a.create_label();
        a.jmp(start)?;
        a.set_label(&mut mark)?;
        a.ret()?;
        a.set_label(&mut start)?;
        a.call(mark)?;
        a.nop()?;
        a.nop()?;
        a.nop()?;
        a.mov(ecx, 20)?;
        a.mov(edi, BASE as u32 + 0x800)?;
        a.rep().stosb()?;
        a.call(mark)?;
        exit(&mut a)?;
        // The first instruction is a two-byte jump.
        let steps = step_program("marker", &mut a, Some(ENTRY + 2));
        assert_eq!(steps.arrivals, [2, 10]);
        assert_eq!(steps.instructions, 1 + 2 + 6 + 2 + 3);
        Ok(())
    }

    #[test]
    fn a_program_that_is_killed_is_an_error() -> Result<(), iced_x86::IcedError> {
        let mut a = CodeAssembler::new(64)?;
        a.xor(eax, eax)?;
        a.mov(eax, dword_ptr(rax))?;
        let code = a.assemble(ENTRY)?;
        let path = std::env::temp_dir().join(format!("tickmark-{}-killed", std::process::id()));
        std::fs::write(&path, elf(&code, 0)).expect("the temporary folder is writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .expect("our own file");
        let steps = single_step(&path, None);
        std::fs::remove_file(&path).expect("our own file");
        assert_eq!(steps, Err(format!("stopped by signal {}", libc::SIGSEGV)));
        Ok(())
    }
}
