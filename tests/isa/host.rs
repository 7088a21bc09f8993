//! The host processor: a stub that loads a whole register image, runs instruction bytes and stores the image back.
//!
//! The stub needs no register of its own while the bytes run: everything it saves lies at fixed addresses below 2 GiB.
//! Faults come back through a signal handler on its own stack, which copies the interrupted registers from the signal
//! frame and resumes in the stub's epilogue.
#![expect(
    unsafe_code,
    reason = "running arbitrary instructions on the host processor is the purpose of this file"
)]
use super::image::{
    CODE, CODE_SIZE, CONTROL, DATA, DATA_END, DATA_SIZE, Ending, FLAGS, Image, PAGE,
    READ_ONLY_SIZE, Trap,
};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const INPUT: u64 = CONTROL;
const OUTPUT: u64 = CONTROL + 0x400;
const HOST_RSP: u64 = CONTROL + 0x800;
const TARGET: u64 = CONTROL + 0x808;
/// The address of the exit that was reached, or 0.
const EXIT_ADDRESS: u64 = CONTROL + 0x810;
const HOST_MXCSR: u64 = CONTROL + 0x818;
const HOST_X87_CONTROL: u64 = CONTROL + 0x81c;
/// 1 while the bytes run: a signal at any other time is not ours.
const RUNNING: u64 = CONTROL + 0x820;
const TRAP_NUMBER: u64 = CONTROL + 0x828;
const TRAP_ADDRESS: u64 = CONTROL + 0x830;

std::arch::global_asm!(
    ".globl tickmark_test_enter",
    ".globl tickmark_test_exit",
    ".globl tickmark_test_recover",
    "tickmark_test_enter:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov qword ptr [{host_rsp}], rsp",
    "mov qword ptr [{target}], rdi",
    "stmxcsr dword ptr [{host_mxcsr}]",
    "fnstcw word ptr [{host_control}]",
    "mov dword ptr [{running}], 1",
    "mov ebx, {input}",
    "mov eax, 7",
    "xor edx, edx",
    "xrstor64 [rbx + 192]",
    "mov eax, {input}",
    "lea rsp, [rax + 128]",
    "popfq",
    "mov rcx, [rax + 8]",
    "mov rdx, [rax + 16]",
    "mov rbx, [rax + 24]",
    "mov rsp, [rax + 32]",
    "mov rbp, [rax + 40]",
    "mov rsi, [rax + 48]",
    "mov rdi, [rax + 56]",
    "mov r8, [rax + 64]",
    "mov r9, [rax + 72]",
    "mov r10, [rax + 80]",
    "mov r11, [rax + 88]",
    "mov r12, [rax + 96]",
    "mov r13, [rax + 104]",
    "mov r14, [rax + 112]",
    "mov r15, [rax + 120]",
    "mov rax, [rax]",
    "jmp qword ptr [{target}]",
    "tickmark_test_exit:",
    "mov qword ptr [{output} + 32], rsp",
    "mov rsp, {output} + 136",
    "pushfq",
    "mov qword ptr [{output}], rax",
    "mov eax, {output}",
    "mov [rax + 8], rcx",
    "mov [rax + 16], rdx",
    "mov [rax + 24], rbx",
    "mov [rax + 40], rbp",
    "mov [rax + 48], rsi",
    "mov [rax + 56], rdi",
    "mov [rax + 64], r8",
    "mov [rax + 72], r9",
    "mov [rax + 80], r10",
    "mov [rax + 88], r11",
    "mov [rax + 96], r12",
    "mov [rax + 104], r13",
    "mov [rax + 112], r14",
    "mov [rax + 120], r15",
    "mov ebx, eax",
    "mov eax, 7",
    "xor edx, edx",
    "xsave64 [rbx + 192]",
    "tickmark_test_recover:",
    "cld",
    "mov dword ptr [{running}], 0",
    "mov rsp, qword ptr [{host_rsp}]",
    "fninit",
    "fldcw word ptr [{host_control}]",
    "ldmxcsr dword ptr [{host_mxcsr}]",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
    input = const INPUT,
    output = const OUTPUT,
    host_rsp = const HOST_RSP,
    target = const TARGET,
    host_mxcsr = const HOST_MXCSR,
    host_control = const HOST_X87_CONTROL,
    running = const RUNNING,
);

unsafe extern "C" {
    fn tickmark_test_enter(code: u64);
    fn tickmark_test_exit();
    fn tickmark_test_recover();
}

fn pointer<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

extern "C" fn on_signal(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes valid pointers to the frame of this signal; the control area is mapped before the
    // handler is installed, and only the thread that holds the lock of `Host` has RUNNING set.
    unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        let registers = &mut context.uc_mcontext.gregs;
        if pointer::<u32>(RUNNING).read_volatile() != 1 {
            // Not ours: let it act as it would have, on return.
            libc::signal(signal, libc::SIG_DFL);
            return;
        }
        let output = &mut *pointer::<Image>(OUTPUT);
        let order = [
            libc::REG_RAX,
            libc::REG_RCX,
            libc::REG_RDX,
            libc::REG_RBX,
            libc::REG_RSP,
            libc::REG_RBP,
            libc::REG_RSI,
            libc::REG_RDI,
            libc::REG_R8,
            libc::REG_R9,
            libc::REG_R10,
            libc::REG_R11,
            libc::REG_R12,
            libc::REG_R13,
            libc::REG_R14,
            libc::REG_R15,
        ];
        for (slot, register) in output.gpr.iter_mut().zip(order) {
            *slot = registers[register as usize] as u64;
        }
        output.rflags = registers[libc::REG_EFL as usize] as u64;
        let frame = context.uc_mcontext.fpregs.cast::<u8>();
        std::ptr::copy_nonoverlapping(frame, output.fx.as_mut_ptr(), 512);
        // Behind it the frame has an XSAVE area in standard form.
        let present = frame.add(512).cast::<u64>().read_unaligned();
        output.upper = if present & 4 != 0 {
            frame.add(576).cast::<[u128; 16]>().read_unaligned()
        } else {
            [0; 16]
        };
        pointer::<u64>(TRAP_NUMBER).write(registers[libc::REG_TRAPNO as usize] as u64);
        pointer::<u64>(TRAP_ADDRESS).write((*info).si_addr() as u64);
        pointer::<u64>(EXIT_ADDRESS).write(registers[libc::REG_RIP as usize] as u64);
        registers[libc::REG_RIP as usize] = tickmark_test_recover as *const () as i64;
        registers[libc::REG_RSP as usize] = pointer::<i64>(HOST_RSP).read();
        registers[libc::REG_EFL as usize] = 0x202;
    }
}

static LOCK: Mutex<()> = Mutex::new(());
static AREAS: OnceLock<Result<(), String>> = OnceLock::new();

fn map_at(address: u64, len: u64, protection: i32) -> Result<(), String> {
    // SAFETY: MAP_FIXED_NOREPLACE never replaces a mapping of this process.
    let got = unsafe {
        libc::mmap(
            pointer(address),
            len as usize,
            protection,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    if got as u64 == address {
        return Ok(());
    }
    Err(format!(
        "cannot map {len:#x} bytes at {address:#x}: {}",
        std::io::Error::last_os_error()
    ))
}

fn map_areas() -> Result<(), String> {
    let read_write = libc::PROT_READ | libc::PROT_WRITE;
    map_at(CONTROL, PAGE, read_write)?;
    map_at(CODE, CODE_SIZE, read_write | libc::PROT_EXEC)?;
    map_at(DATA - PAGE, PAGE, libc::PROT_NONE)?;
    map_at(DATA, DATA_SIZE, read_write)?;
    map_at(DATA + DATA_SIZE, READ_ONLY_SIZE, libc::PROT_READ)?;
    map_at(DATA_END, PAGE, libc::PROT_NONE)
}

/// The host processor, held by one thread at a time because its areas have fixed addresses.
pub(crate) struct Host {
    _lock: MutexGuard<'static, ()>,
    old_stack: libc::stack_t,
    _signal_stack: Vec<u8>,
    old_actions: Vec<(i32, libc::sigaction)>,
}

impl Host {
    /// Waits for the host processor, maps the areas and installs the signal handlers until it is dropped.
    pub(crate) fn acquire() -> Result<Self, String> {
        if !std::is_x86_feature_detected!("avx") {
            return Err("this processor has no AVX registers to compare".into());
        }
        let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        AREAS.get_or_init(map_areas).clone()?;
        let mut signal_stack = vec![0u8; 1 << 17];
        // SAFETY: plain system calls; the stack lives as long as the registration (see `drop`).
        unsafe {
            let mut old_stack: libc::stack_t = std::mem::zeroed();
            let stack = libc::stack_t {
                ss_sp: signal_stack.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: signal_stack.len(),
            };
            if libc::sigaltstack(&stack, &mut old_stack) != 0 {
                return Err(format!("sigaltstack: {}", std::io::Error::last_os_error()));
            }
            let mut old_actions = Vec::new();
            for signal in [
                libc::SIGSEGV,
                libc::SIGBUS,
                libc::SIGFPE,
                libc::SIGILL,
                libc::SIGTRAP,
            ] {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                let mut old: libc::sigaction = std::mem::zeroed();
                if libc::sigaction(signal, &action, &mut old) != 0 {
                    return Err(format!("sigaction: {}", std::io::Error::last_os_error()));
                }
                old_actions.push((signal, old));
            }
            Ok(Self {
                _lock: lock,
                old_stack,
                _signal_stack: signal_stack,
                old_actions,
            })
        }
    }

    /// The data, writable pages and read-only page.
    pub(crate) fn data(&self) -> &[u8] {
        // SAFETY: mapped readable for good; written only through `&mut self`.
        unsafe { std::slice::from_raw_parts(pointer(DATA), (DATA_END - DATA) as usize) }
    }

    /// The writable pages of the data.
    pub(crate) fn data_mut(&mut self) -> &mut [u8] {
        // SAFETY: mapped writable for good, and `&mut self` is the only way to it.
        unsafe { std::slice::from_raw_parts_mut(pointer(DATA), DATA_SIZE as usize) }
    }

    /// Fills the read-only page.
    pub(crate) fn set_read_only(&mut self, bytes: &[u8]) {
        assert_eq!(bytes.len() as u64, READ_ONLY_SIZE);
        let at = pointer::<libc::c_void>(DATA + DATA_SIZE);
        // SAFETY: the page is ours; it is writable between the two calls.
        unsafe {
            libc::mprotect(at, PAGE as usize, libc::PROT_READ | libc::PROT_WRITE);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), at.cast(), bytes.len());
            libc::mprotect(at, PAGE as usize, libc::PROT_READ);
        }
    }

    /// Runs `code` at `entry` until it reaches one of `exits` or faults. Exits must not overlap the code.
    pub(crate) fn run(
        &mut self,
        entry: u64,
        code: &[u8],
        exits: &[u64],
        input: &Image,
    ) -> (Ending, Image) {
        self.write_code(entry, code);
        for &exit in exits {
            self.write_code(exit, &exit_code(exit));
        }
        // SAFETY: the areas are mapped; the bytes run with the image's registers, and every way out (an exit, or a
        // fault of any kind) leads to the epilogue, which restores the callee-saved registers and the stack pointer.
        unsafe {
            pointer::<Image>(INPUT).write(input.clone());
            pointer::<u64>(EXIT_ADDRESS).write(0);
            pointer::<u64>(TRAP_NUMBER).write(u64::MAX);
            tickmark_test_enter(entry);
            let mut output = pointer::<Image>(OUTPUT).read();
            output.rflags &= FLAGS;
            output.rip = pointer::<u64>(EXIT_ADDRESS).read();
            let ending = match pointer::<u64>(TRAP_NUMBER).read() {
                u64::MAX => Ending::Exit(output.rip),
                number => Ending::Trap(trap(number, pointer::<u64>(TRAP_ADDRESS).read())),
            };
            (ending, output)
        }
    }

    fn write_code(&mut self, at: u64, code: &[u8]) {
        assert!(at >= CODE && at + code.len() as u64 <= CODE + CODE_SIZE);
        // SAFETY: in the code area, by the assertion, which is mapped writable for good.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), pointer(at), code.len()) };
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SAFETY: puts back what `acquire` found, before the signal stack is freed.
        unsafe {
            for (signal, action) in &self.old_actions {
                libc::sigaction(*signal, action, std::ptr::null_mut());
            }
            libc::sigaltstack(&self.old_stack, std::ptr::null_mut());
        }
    }
}

/// Bytes of an exit.
pub(crate) const EXIT_SIZE: u64 = 26;

/// Notes where control arrived and leaves for the stub, without touching a register or a flag.
fn exit_code(at: u64) -> [u8; EXIT_SIZE as usize] {
    let mut code = [0x90; EXIT_SIZE as usize];
    // mov qword ptr [EXIT_ADDRESS], at
    code[..4].copy_from_slice(&[0x48, 0xc7, 0x04, 0x25]);
    code[4..8].copy_from_slice(&(EXIT_ADDRESS as u32).to_le_bytes());
    code[8..12].copy_from_slice(&(at as u32).to_le_bytes());
    // jmp qword ptr [rip + 0]; the address follows
    code[12..18].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
    code[18..26].copy_from_slice(&(tickmark_test_exit as *const () as u64).to_le_bytes());
    code
}

/// From the number of the exception vector.
fn trap(number: u64, address: u64) -> Trap {
    match number {
        0 => Trap::Divide,
        3 => Trap::Breakpoint,
        6 => Trap::InvalidOpcode,
        12 | 13 => Trap::Protection,
        14 => Trap::Page(address & !(PAGE - 1)),
        16 => Trap::X87Float,
        19 => Trap::SimdFloat,
        other => Trap::Other(other),
    }
}
