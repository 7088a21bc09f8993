//! Which instructions are compared with the host processor, which are not, and why.
use iced_x86::{Code, CpuidFeature, EncodingKind, Mnemonic, OpCodeOperandKind};

/// How the results of an instruction are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Every defined bit must agree.
    Exact,
    /// Processors differ in the value: everything but the value must agree, and the reason why.
    ValueExempt(&'static str),
    /// Not run, and why.
    Excluded(&'static str),
}

/// The optional instruction sets, which are compared where the host has them: those of `x86-64-v3`, and some beside.
fn is_optional(feature: CpuidFeature) -> bool {
    use CpuidFeature as F;
    match feature {
        F::AVX => std::is_x86_feature_detected!("avx"),
        F::AVX2 => std::is_x86_feature_detected!("avx2"),
        F::FMA => std::is_x86_feature_detected!("fma"),
        F::F16C => std::is_x86_feature_detected!("f16c"),
        F::BMI1 => std::is_x86_feature_detected!("bmi1"),
        F::BMI2 => std::is_x86_feature_detected!("bmi2"),
        F::LZCNT => std::is_x86_feature_detected!("lzcnt"),
        F::MOVBE => std::is_x86_feature_detected!("movbe"),
        F::AES => std::is_x86_feature_detected!("aes"),
        F::PCLMULQDQ => std::is_x86_feature_detected!("pclmulqdq"),
        F::SHA => std::is_x86_feature_detected!("sha"),
        F::VAES => std::is_x86_feature_detected!("vaes"),
        F::VPCLMULQDQ => std::is_x86_feature_detected!("vpclmulqdq"),
        _ => false,
    }
}

/// The instruction sets of the guest profile `x86-64-v2`.
const FEATURES: &[CpuidFeature] = &[
    CpuidFeature::INTEL8086,
    CpuidFeature::INTEL186,
    CpuidFeature::INTEL286,
    CpuidFeature::INTEL386,
    CpuidFeature::INTEL486,
    CpuidFeature::X64,
    CpuidFeature::CET_IBT,
    CpuidFeature::CLFSH,
    CpuidFeature::CMOV,
    CpuidFeature::CMPXCHG16B,
    CpuidFeature::CPUID,
    CpuidFeature::CX8,
    CpuidFeature::FPU,
    CpuidFeature::FPU287,
    CpuidFeature::FPU387,
    CpuidFeature::FXSR,
    CpuidFeature::MMX,
    CpuidFeature::MULTIBYTENOP,
    CpuidFeature::PAUSE,
    CpuidFeature::POPCNT,
    CpuidFeature::PREFETCHW,
    CpuidFeature::SSE,
    CpuidFeature::SSE2,
    CpuidFeature::SSE3,
    CpuidFeature::SSSE3,
    CpuidFeature::SSE4_1,
    CpuidFeature::SSE4_2,
    CpuidFeature::SYSCALL,
    CpuidFeature::TSC,
];

/// Every instruction of the profile in 64-bit mode, in the order of iced's numbers.
pub(crate) fn catalog() -> Vec<(Code, Standing)> {
    Code::values()
        .filter_map(|code| standing(code).map(|s| (code, s)))
        .collect()
}

/// `None` for instructions outside the profile.
fn standing(code: Code) -> Option<Standing> {
    let info = code.op_code();
    let in_profile = info.is_instruction()
        && info.mode64()
        && matches!(code.encoding(), EncodingKind::Legacy | EncodingKind::VEX)
        && !info.is_privileged()
        && code
            .cpuid_features()
            .iter()
            .all(|f| FEATURES.contains(f) || is_optional(*f));
    if !in_profile {
        return None;
    }
    let kinds = info.op_kinds();
    let has = |wanted: &[OpCodeOperandKind]| kinds.iter().any(|k| wanted.contains(k));
    use OpCodeOperandKind as K;
    if has(&[K::br16_1, K::br16_2, K::brdisp_2, K::brdisp_4]) {
        return Some(Standing::Excluded(
            "16-bit branches: vendors differ in whether RIP is cut",
        ));
    }
    if matches!(
        code,
        Code::Jmp_rm16 | Code::Call_rm16 | Code::Retnw | Code::Retnw_imm16
    ) {
        return Some(Standing::Excluded(
            "16-bit branches: vendors differ in whether RIP is cut",
        ));
    }
    if has(&[K::cr_reg, K::dr_reg, K::tr_reg]) {
        return None;
    }
    if matches!(
        code,
        Code::Mov_Sreg_rm16 | Code::Mov_Sreg_r32m16 | Code::Mov_Sreg_r64m16
    ) || matches!(
        code,
        Code::Popw_FS | Code::Popq_FS | Code::Popw_GS | Code::Popq_GS
    ) {
        return Some(Standing::Excluded("loads a segment register"));
    }
    if info.is_input_output() || matches!(code.mnemonic(), Mnemonic::Cli | Mnemonic::Sti) {
        return Some(Standing::Excluded("privileged at this I/O privilege level"));
    }
    if matches!(
        code,
        Code::Reservednop_rm16_r16_0F0D
            | Code::Reservednop_rm32_r32_0F0D
            | Code::Reservednop_rm64_r64_0F0D
    ) {
        return Some(Standing::Excluded(
            "a prefetch with a register operand: vendors differ in whether it is #UD",
        ));
    }
    if info.fwait() {
        return Some(Standing::Excluded(
            "two instructions: the decoder gives WAIT and the other one",
        ));
    }
    if code == Code::Ud0 {
        return Some(Standing::Excluded(
            "the decoder gives the forms of UD0 that have operands",
        ));
    }
    if code == Code::Movsxd_r16_rm16 {
        return Some(Standing::Excluded(
            "vendors differ in the width of the memory operand",
        ));
    }
    if has(&[
        K::mem_vsib32x,
        K::mem_vsib32y,
        K::mem_vsib64x,
        K::mem_vsib64y,
    ]) {
        return Some(Standing::Excluded(
            "gathers: their addresses stand in a vector register; the unit tests compare them",
        ));
    }
    if matches!(code, Code::Bswap_r16) {
        return Some(Standing::Excluded("undefined result"));
    }
    use Mnemonic as M;
    Some(match code.mnemonic() {
        M::Syscall
        | M::Sysret
        | M::Sysenter
        | M::Sysexit
        | M::Int
        | M::Int1
        | M::Into
        | M::Iret
        | M::Iretd
        | M::Iretq => Standing::Excluded("enters the kernel"),
        M::Cpuid | M::Rdtsc | M::Rdtscp => Standing::Excluded("the guest has answers of its own"),
        M::Retf | M::Lss | M::Lfs | M::Lgs | M::Lds | M::Les => {
            Standing::Excluded("loads a segment register")
        }
        M::Jmp | M::Call if has(&[K::mem, K::farbr2_2, K::farbr4_2]) => {
            Standing::Excluded("loads a segment register")
        }
        M::Sgdt | M::Sidt | M::Sldt | M::Str | M::Smsw | M::Verr | M::Verw | M::Lar | M::Lsl => {
            Standing::Excluded("shows tables of the kernel")
        }
        M::Rcpps
        | M::Rcpss
        | M::Rsqrtps
        | M::Rsqrtss
        | M::Vrcpps
        | M::Vrcpss
        | M::Vrsqrtps
        | M::Vrsqrtss => Standing::ValueExempt("an approximation: vendors differ"),
        M::Fsin
        | M::Fcos
        | M::Fsincos
        | M::Fptan
        | M::Fpatan
        | M::F2xm1
        | M::Fyl2x
        | M::Fyl2xp1 => Standing::ValueExempt("a transcendental: vendors differ in the last bits"),
        _ => Standing::Exact,
    })
}
