//! What a signal handler finds on its stack, and the way back from it: the frame that Linux builds on x86-64.
//!
//! From the stack pointer down: the red zone (unless the handler goes to an alternate stack), the floating-point state,
//! then return address, `ucontext` and `siginfo`.
use super::signal::{Action, Alternate, Info, SA_ONSTACK, SA_RESTORER, SA_SIGINFO, SS_AUTODISARM};
use super::thread::Resume;
use super::user::{Record, take};
use super::{Answer, Kernel, Stop};
use crate::sim::isa::exec::xsave::{
    AREA_SIZE, FXSAVE_SIZE, fxsave_image, load_fxsave, load_xsave, xsave_image,
};
use crate::sim::isa::flags::{DF, TF};
use crate::sim::isa::state::{
    Cpu, MXCSR_RESET, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, Vector, X87,
};
use crate::sim::memory::{Fault, Memory};
use crate::sim::outcome::Exit;

/// Bytes below the stack pointer that belong to the interrupted function.
const RED_ZONE: u64 = 128;
/// Return address, `ucontext`, `siginfo`.
const FRAME_SIZE: u64 = 8 + CONTEXT_SIZE + 128;
const CONTEXT_SIZE: u64 = 304;
/// Offsets in the `ucontext`.
const STACK_AT: usize = 16;
const REGISTERS_AT: usize = 40;
const FLOAT_AT: usize = 224;
const MASK_AT: usize = 296;
/// The registers in the order of the `ucontext`; RIP and the flags follow.
const ORDER: [u8; 16] = [
    8, 9, 10, 11, 12, 13, 14, 15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP,
];
// uc_flags
const UC_FP_XSTATE: u64 = 1;
const UC_SIGCONTEXT_SS: u64 = 2;
const UC_STRICT_RESTORE_SS: u64 = 4;
/// CS, GS, FS and SS of a 64-bit program.
const SEGMENTS: u64 = 0x33 | 0x2b << 48;
/// Marks, in the bytes of the FXSAVE area that belong to software and behind the area, that it is an XSAVE area.
const MAGIC_1: u32 = 0x4650_5853;
const MAGIC_2: u32 = 0x4650_5845;
/// Offset of those bytes.
const SOFTWARE_AT: usize = 464;
/// x87, SSE and AVX.
const COMPONENTS: u64 = 7;

impl Kernel {
    /// Whether the guest's processor has XSAVE.
    fn has_xsave(&self) -> bool {
        self.profile.leaf(1, 0)[2] & 1 << 27 != 0
    }

    /// Builds the frame of a handler and sets the registers to enter it. On a fault nothing has changed but memory.
    pub(super) fn push_frame(
        &mut self,
        cpu: &mut Cpu,
        mem: &mut Memory,
        info: &Info,
        action: Action,
    ) -> Result<(), Fault> {
        let me = &self.threads.me;
        let alternate = me.alternate;
        let pointer = cpu.gpr[RSP];
        let mut at = pointer.wrapping_sub(RED_ZONE);
        let entering = action.flags & SA_ONSTACK != 0 && alternate.is_free(pointer);
        if entering {
            at = alternate.base.wrapping_add(alternate.size);
        }
        let float = self.float_image(cpu);
        let float_at = at.wrapping_sub(float.len() as u64) & !63;
        let frame = (float_at.wrapping_sub(FRAME_SIZE) & !15).wrapping_sub(8);
        // A handler on the alternate stack must fit there.
        let nested = alternate.size > 0 && alternate.in_use(pointer);
        if (entering || nested) && !alternate.holds(frame) {
            return Err(Fault::GeneralProtection);
        }
        // A handler that does not say how it returns cannot be run.
        if action.flags & SA_RESTORER == 0 {
            return Err(Fault::GeneralProtection);
        }
        let mask = me.saved_mask.unwrap_or(me.blocked);
        let flags = if self.has_xsave() { UC_FP_XSTATE } else { 0 };
        let mut record = Record::new()
            .u64(action.restorer)
            .u64(flags | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS)
            .u64(0)
            .u64(alternate.base)
            .u32(alternate.flags)
            .u32(0)
            .u64(alternate.size);
        for register in ORDER {
            record = record.u64(cpu.gpr[register]);
        }
        let [number, error, address] = me.trap;
        record = record
            .u64(cpu.rip)
            .u64(cpu.flags.rflags())
            .u64(SEGMENTS)
            .u64(error)
            .u64(number)
            .u64(mask)
            .u64(address)
            .u64(float_at)
            .zeros(64)
            .u64(mask);
        let mut bytes = record.bytes();
        if action.flags & SA_SIGINFO != 0 {
            bytes.extend(info.bytes());
        }
        mem.copy_in(float_at, &float)?;
        mem.copy_in(frame, &bytes)?;

        if alternate.flags & SS_AUTODISARM != 0 {
            self.threads.me.alternate = Alternate::default();
        }
        cpu.gpr[RDI] = info.signal.into();
        cpu.gpr[RSI] = frame + 8 + CONTEXT_SIZE;
        cpu.gpr[RDX] = frame + 8;
        cpu.gpr[RAX] = 0;
        cpu.gpr[RSP] = frame;
        cpu.rip = action.handler;
        cpu.flags.other &= !(DF | TF);
        reset_float(cpu);
        Ok(())
    }

    /// The floating-point state as a frame holds it.
    fn float_image(&self, cpu: &Cpu) -> Vec<u8> {
        if !self.has_xsave() {
            return fxsave_image(cpu).to_vec();
        }
        let mut bytes = xsave_image(cpu).to_vec();
        let software = Record::new()
            .u32(MAGIC_1)
            .u32(AREA_SIZE as u32 + 4)
            .u64(COMPONENTS)
            .u32(AREA_SIZE as u32)
            .bytes();
        bytes[SOFTWARE_AT..SOFTWARE_AT + software.len()].copy_from_slice(&software);
        bytes.extend(MAGIC_2.to_le_bytes());
        bytes
    }

    /// `rt_sigreturn`: back to what a frame says. A frame that makes no sense kills, as on Linux.
    pub(super) fn rt_sigreturn(&mut self, cpu: &mut Cpu, mem: &mut Memory) -> Answer {
        let rip = cpu.rip;
        match self.pop_frame(cpu, mem) {
            Some(()) => Err(Stop::Return),
            None => Err(Stop::Exit(Exit::Signaled {
                signal: super::abi::SIGSEGV,
                rip,
                address: None,
                function: self.symbolize(mem, rip),
            })),
        }
    }

    fn pop_frame(&mut self, cpu: &mut Cpu, mem: &mut Memory) -> Option<()> {
        // The handler's return has taken the return address.
        let context: [u8; CONTEXT_SIZE as usize] = take(mem, cpu.gpr[RSP]).ok()?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| context[at + i]));
        self.load_float(cpu, mem, word(FLOAT_AT))?;
        for (i, register) in ORDER.into_iter().enumerate() {
            cpu.gpr[register] = word(REGISTERS_AT + 8 * i);
        }
        cpu.rip = word(REGISTERS_AT + 128);
        cpu.flags.set_rflags(word(REGISTERS_AT + 136));
        self.set_blocked(word(MASK_AT));
        let alternate = Alternate {
            base: word(STACK_AT),
            flags: word(STACK_AT + 8) as u32,
            size: word(STACK_AT + 16),
        };
        // What cannot be restored stays as it is.
        let _ = self.set_alternate(cpu.gpr[RSP], alternate);
        self.threads.me.resume = Resume::Run;
        Some(())
    }

    fn load_float(&self, cpu: &mut Cpu, mem: &mut Memory, at: u64) -> Option<()> {
        if at == 0 {
            reset_float(cpu);
            return Some(());
        }
        let legacy: [u8; FXSAVE_SIZE] = take(mem, at).ok()?;
        if self.has_xsave() {
            let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|j| legacy[i + j]));
            let marked = word(SOFTWARE_AT) == MAGIC_1 && word(SOFTWARE_AT + 16) == AREA_SIZE as u32;
            let end: Option<[u8; 4]> = take(mem, at.wrapping_add(AREA_SIZE as u64)).ok();
            if marked && end == Some(MAGIC_2.to_le_bytes()) {
                let area: [u8; AREA_SIZE] = take(mem, at).ok()?;
                return load_xsave(cpu, &area);
            }
            // Only the old part counts; the new part stands as after reset.
            for vector in &mut cpu.vec.0[..16] {
                vector[1] = 0;
            }
        }
        load_fxsave(cpu, &legacy)
    }
}

/// The floating-point state in which a handler begins.
fn reset_float(cpu: &mut Cpu) {
    cpu.x87 = X87::default();
    cpu.vec.0[..16].fill(Vector::default());
    cpu.set_mxcsr(MXCSR_RESET);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offsets_are_those_of_the_structure() {
        assert_eq!(REGISTERS_AT + 8 * 16 + 3 * 8 + 4 * 8, FLOAT_AT);
        assert_eq!(FLOAT_AT + 8 + 64, MASK_AT);
        assert_eq!(MASK_AT as u64 + 8, CONTEXT_SIZE);
    }
}
