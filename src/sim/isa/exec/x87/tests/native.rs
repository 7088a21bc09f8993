//! The processor below, one instruction at a time.
#![expect(unsafe_code, reason = "runs single instructions on the host processor")]
use super::{F80, OPERAND_SIZE, State};

#[repr(C, align(64))]
struct Area([u8; 512]);
#[repr(C, align(64))]
struct Operand([u8; OPERAND_SIZE]);

/// Whether the processor is one of those whose choices the simulation follows.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(super) fn is_amd() -> bool {
    let leaf = std::arch::x86_64::__cpuid(0);
    let amd = [leaf.ebx, leaf.edx, leaf.ecx]
        == [b"Auth", b"enti", b"cAMD"].map(|part| u32::from_le_bytes(*part));
    if !amd {
        eprintln!("skipped: the reference is an AMD processor, and this is none");
    }
    amd
}

/// A page of code.
pub(super) struct Code(*mut u8);

impl Code {
    /// The code that loads the state, runs `instruction` (whose memory operand is `[rsi]`) and saves the state.
    pub(super) fn new(instruction: &[u8]) -> Self {
        let mut bytes = vec![
            0x48, 0x0f, 0xae, 0x02, // fxsave64 [rdx]
            0x48, 0x0f, 0xae, 0x0f, // fxrstor64 [rdi]
            0xff, 0x31, 0x9d, // push [rcx]; popfq
            0x48, 0x8b, 0x41, 0x08, // mov rax, [rcx+8]
        ];
        bytes.extend_from_slice(instruction);
        bytes.extend_from_slice(&[
            0x48, 0x89, 0x41, 0x08, // mov [rcx+8], rax
            0x9c, 0x8f, 0x01, // pushfq; pop [rcx]
            0x48, 0x0f, 0xae, 0x07, // fxsave64 [rdi]
            0x48, 0x0f, 0xae, 0x0a, // fxrstor64 [rdx]
            0xc3,
        ]);
        // SAFETY: a new private mapping, filled within its bounds before it becomes executable.
        unsafe {
            let page = libc::mmap(
                std::ptr::null_mut(),
                4096,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(page, libc::MAP_FAILED);
            let page = page.cast::<u8>();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), page, bytes.len());
            let changed = libc::mprotect(page.cast(), 4096, libc::PROT_READ | libc::PROT_EXEC);
            assert_eq!(changed, 0);
            Self(page)
        }
    }

    pub(super) fn run(&self, state: &State) -> State {
        let mut image = Area([0; 512]);
        image.0[0..2].copy_from_slice(&state.control.to_le_bytes());
        image.0[2..4].copy_from_slice(&state.status.to_le_bytes());
        image.0[4] = state.valid;
        image.0[24..28].copy_from_slice(&0x1f80u32.to_le_bytes());
        for (i, value) in state.stack.iter().enumerate() {
            image.0[32 + 16 * i..][..8].copy_from_slice(&value.significand.to_le_bytes());
            image.0[40 + 16 * i..][..2].copy_from_slice(&value.sign_exponent.to_le_bytes());
        }
        let mut operand = Operand([0; OPERAND_SIZE]);
        operand.0.copy_from_slice(&state.memory);
        let mut own = Area([0; 512]);
        let mut io = [state.flags, state.rax];
        // SAFETY: the page holds a function of this signature. It keeps to the areas it is given, restores the
        // floating-point state, and changes no register that the callee must save; the flags it loads are
        // arithmetic ones.
        unsafe {
            let function: extern "sysv64" fn(*mut u8, *mut u8, *mut u8, *mut u64) =
                std::mem::transmute(self.0);
            function(
                image.0.as_mut_ptr(),
                operand.0.as_mut_ptr(),
                own.0.as_mut_ptr(),
                io.as_mut_ptr(),
            );
        }
        let word = |at: usize| u16::from_le_bytes([image.0[at], image.0[at + 1]]);
        State {
            control: word(0),
            status: word(2),
            valid: image.0[4],
            stack: std::array::from_fn(|i| F80 {
                significand: u64::from_le_bytes(
                    image.0[32 + 16 * i..][..8].try_into().expect("eight bytes"),
                ),
                sign_exponent: word(40 + 16 * i),
            }),
            flags: io[0],
            rax: io[1],
            memory: operand.0.to_vec(),
        }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made, which nothing else refers to.
        unsafe { libc::munmap(self.0.cast(), 4096) };
    }
}
