//! Prefetches, fences and cache-line maintenance: nothing happens to values.
use super::super::{Answer, address};
use crate::sim::isa::op::{Context, Flow};
use iced_x86::{Code, Instruction};

/// Runs the instruction if it is a hint or a fence.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Code::*;
    match insn.code() {
        // A prefetch of an address that cannot be read is dropped, not faulted.
        Prefetchnta_m8 | Prefetcht0_m8 | Prefetcht1_m8 | Prefetcht2_m8 | Prefetch_m8
        | Prefetchw_m8 | Prefetchwt1_m8 | Prefetchreserved3_m8 | Prefetchreserved4_m8
        | Prefetchreserved5_m8 | Prefetchreserved6_m8 | Prefetchreserved7_m8 | Pause | Lfence
        | Lfence_E9 | Lfence_EA | Lfence_EB | Lfence_EC | Lfence_ED | Lfence_EE | Lfence_EF
        | Mfence | Mfence_F1 | Mfence_F2 | Mfence_F3 | Mfence_F4 | Mfence_F5 | Mfence_F6
        | Mfence_F7 | Sfence | Sfence_F9 | Sfence_FA | Sfence_FB | Sfence_FC | Sfence_FD
        | Sfence_FE | Sfence_FF => Some(Ok(Flow::Next)),
        // These fault as a load of the byte would, but load nothing: the access is not recorded.
        Clflush_m8 | Clflushopt_m8 | Clwb_m8 => {
            let at = address(cx, insn);
            Some(cx.mem.copy_out(at, &mut [0]).map(|()| Flow::Next))
        }
        _ => None,
    }
}
