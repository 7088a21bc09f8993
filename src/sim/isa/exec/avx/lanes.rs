//! The lane operations: from the VEX form to the legacy opcode whose operation it is.
use super::{is_wide, read, sources, write};
use crate::sim::isa::exec::sse_integer::table::{self, Form};
use crate::sim::isa::op::Context;
use crate::sim::isa::state::Vector;
use crate::sim::memory::Fault;
use iced_x86::{Code, Instruction, Mnemonic, OpKind};

/// The lane operation of an instruction, if it is one.
pub fn form(insn: &Instruction) -> Option<Form> {
    let by_immediate = insn.op_count() == 3 && insn.op2_kind() == OpKind::Immediate8;
    let code = if by_immediate {
        shift(insn.mnemonic()).or_else(|| legacy(insn.mnemonic()))
    } else {
        legacy(insn.mnemonic())
    };
    table::form(code?)
}

/// Runs a lane operation.
///
/// # Errors
/// The fault of the load.
pub(super) fn run(cx: &mut Context, insn: &Instruction, form: Form) -> Result<(), Fault> {
    let wide = is_wide(insn, 0);
    let result = match form {
        Form::Xmm(f) => {
            let (a, mut b) = sources(cx, insn)?;
            if wide && !is_wide(insn, insn.op_count() - 1) {
                // One shift count for both halves.
                b[1] = b[0];
            }
            halves(wide, a, |i, d| f(d, &b[i]))
        }
        Form::XmmImmediate(f) => {
            let (a, b) = sources(cx, insn)?;
            let imm = immediates(insn);
            halves(wide, a, |i, d| f(d, &b[i], imm[i]))
        }
        Form::XmmCount(f) => {
            let a = read(cx, insn, 1)?;
            let count = u128::from(insn.immediate8());
            halves(wide, a, |_, d| f(d, &count))
        }
        Form::XmmMasked(f) => {
            let (a, b) = sources(cx, insn)?;
            let mask = read(cx, insn, 3)?;
            halves(wide, a, |i, d| f(d, &b[i], &mask[i]))
        }
        Form::XmmLow64(f) => {
            let b = read(cx, insn, 1)?;
            // The one form here that does not widen: each half has its own source.
            let high = if insn.mnemonic() == Mnemonic::Vmovddup {
                b[1]
            } else {
                b[0] >> 64
            };
            halves(wide, [0; 2], |i, d| f(d, &[b[0], high][i]))
        }
        Form::XmmLow32(f) => {
            let b = read(cx, insn, 1)?;
            halves(wide, [0; 2], |i, d| f(d, &(b[0] >> (32 * i))))
        }
        Form::XmmLow16(f) => {
            let b = read(cx, insn, 1)?;
            halves(wide, [0; 2], |i, d| f(d, &(b[0] >> (16 * i))))
        }
        // MMX forms have no VEX encoding, and `legacy` names none.
        Form::Mmx(_)
        | Form::MmxPair(_)
        | Form::MmxLow(_)
        | Form::MmxHigh(_)
        | Form::MmxImmediate(_)
        | Form::MmxCount(_) => return Err(Fault::Unsupported),
    };
    write(cx, insn, result);
    Ok(())
}

/// Applies an operation in place to the halves that count.
fn halves(wide: bool, mut a: Vector, f: impl Fn(usize, &mut u128)) -> Vector {
    f(0, &mut a[0]);
    if wide {
        f(1, &mut a[1]);
    }
    a
}

/// The immediate as each half sees it: where there is one bit a lane, the upper half has its own bits.
pub(in crate::sim::isa) fn immediates(insn: &Instruction) -> [u8; 2] {
    let imm = insn.immediate8();
    let upper = match insn.mnemonic() {
        Mnemonic::Vblendps => imm >> 4,
        Mnemonic::Vblendpd | Mnemonic::Vshufpd => imm >> 2,
        Mnemonic::Vmpsadbw => imm >> 3,
        _ => imm,
    };
    [imm, upper]
}

/// The legacy shift by an immediate.
fn shift(mnemonic: Mnemonic) -> Option<Code> {
    use Code::*;
    use Mnemonic as M;
    Some(match mnemonic {
        M::Vpsllw => Psllw_xmm_imm8,
        M::Vpslld => Pslld_xmm_imm8,
        M::Vpsllq => Psllq_xmm_imm8,
        M::Vpsrlw => Psrlw_xmm_imm8,
        M::Vpsrld => Psrld_xmm_imm8,
        M::Vpsrlq => Psrlq_xmm_imm8,
        M::Vpsraw => Psraw_xmm_imm8,
        M::Vpsrad => Psrad_xmm_imm8,
        M::Vpslldq => Pslldq_xmm_imm8,
        M::Vpsrldq => Psrldq_xmm_imm8,
        _ => return None,
    })
}

/// The legacy opcode with the same lane operation.
fn legacy(mnemonic: Mnemonic) -> Option<Code> {
    use Code::*;
    use Mnemonic as M;
    Some(match mnemonic {
        M::Vpaddb => Paddb_xmm_xmmm128,
        M::Vpaddw => Paddw_xmm_xmmm128,
        M::Vpaddd => Paddd_xmm_xmmm128,
        M::Vpaddq => Paddq_xmm_xmmm128,
        M::Vpaddsb => Paddsb_xmm_xmmm128,
        M::Vpaddsw => Paddsw_xmm_xmmm128,
        M::Vpaddusb => Paddusb_xmm_xmmm128,
        M::Vpaddusw => Paddusw_xmm_xmmm128,
        M::Vpsubb => Psubb_xmm_xmmm128,
        M::Vpsubw => Psubw_xmm_xmmm128,
        M::Vpsubd => Psubd_xmm_xmmm128,
        M::Vpsubq => Psubq_xmm_xmmm128,
        M::Vpsubsb => Psubsb_xmm_xmmm128,
        M::Vpsubsw => Psubsw_xmm_xmmm128,
        M::Vpsubusb => Psubusb_xmm_xmmm128,
        M::Vpsubusw => Psubusw_xmm_xmmm128,
        M::Vpmullw => Pmullw_xmm_xmmm128,
        M::Vpmulld => Pmulld_xmm_xmmm128,
        M::Vpmulhw => Pmulhw_xmm_xmmm128,
        M::Vpmulhuw => Pmulhuw_xmm_xmmm128,
        M::Vpmulhrsw => Pmulhrsw_xmm_xmmm128,
        M::Vpmuludq => Pmuludq_xmm_xmmm128,
        M::Vpmuldq => Pmuldq_xmm_xmmm128,
        M::Vpmaddwd => Pmaddwd_xmm_xmmm128,
        M::Vpmaddubsw => Pmaddubsw_xmm_xmmm128,
        M::Vpavgb => Pavgb_xmm_xmmm128,
        M::Vpavgw => Pavgw_xmm_xmmm128,
        M::Vpsadbw => Psadbw_xmm_xmmm128,
        M::Vpsignb => Psignb_xmm_xmmm128,
        M::Vpsignw => Psignw_xmm_xmmm128,
        M::Vpsignd => Psignd_xmm_xmmm128,
        M::Vpminub => Pminub_xmm_xmmm128,
        M::Vpminuw => Pminuw_xmm_xmmm128,
        M::Vpminud => Pminud_xmm_xmmm128,
        M::Vpminsb => Pminsb_xmm_xmmm128,
        M::Vpminsw => Pminsw_xmm_xmmm128,
        M::Vpminsd => Pminsd_xmm_xmmm128,
        M::Vpmaxub => Pmaxub_xmm_xmmm128,
        M::Vpmaxuw => Pmaxuw_xmm_xmmm128,
        M::Vpmaxud => Pmaxud_xmm_xmmm128,
        M::Vpmaxsb => Pmaxsb_xmm_xmmm128,
        M::Vpmaxsw => Pmaxsw_xmm_xmmm128,
        M::Vpmaxsd => Pmaxsd_xmm_xmmm128,
        M::Vpcmpeqb => Pcmpeqb_xmm_xmmm128,
        M::Vpcmpeqw => Pcmpeqw_xmm_xmmm128,
        M::Vpcmpeqd => Pcmpeqd_xmm_xmmm128,
        M::Vpcmpeqq => Pcmpeqq_xmm_xmmm128,
        M::Vpcmpgtb => Pcmpgtb_xmm_xmmm128,
        M::Vpcmpgtw => Pcmpgtw_xmm_xmmm128,
        M::Vpcmpgtd => Pcmpgtd_xmm_xmmm128,
        M::Vpcmpgtq => Pcmpgtq_xmm_xmmm128,
        M::Vphaddw => Phaddw_xmm_xmmm128,
        M::Vphaddd => Phaddd_xmm_xmmm128,
        M::Vphaddsw => Phaddsw_xmm_xmmm128,
        M::Vphsubw => Phsubw_xmm_xmmm128,
        M::Vphsubd => Phsubd_xmm_xmmm128,
        M::Vphsubsw => Phsubsw_xmm_xmmm128,
        M::Vpacksswb => Packsswb_xmm_xmmm128,
        M::Vpackssdw => Packssdw_xmm_xmmm128,
        M::Vpackuswb => Packuswb_xmm_xmmm128,
        M::Vpackusdw => Packusdw_xmm_xmmm128,
        M::Vpshufb => Pshufb_xmm_xmmm128,
        M::Vpsllw => Psllw_xmm_xmmm128,
        M::Vpslld => Pslld_xmm_xmmm128,
        M::Vpsllq => Psllq_xmm_xmmm128,
        M::Vpsrlw => Psrlw_xmm_xmmm128,
        M::Vpsrld => Psrld_xmm_xmmm128,
        M::Vpsrlq => Psrlq_xmm_xmmm128,
        M::Vpsraw => Psraw_xmm_xmmm128,
        M::Vpsrad => Psrad_xmm_xmmm128,
        M::Vpand => Pand_xmm_xmmm128,
        M::Vandps => Andps_xmm_xmmm128,
        M::Vandpd => Andpd_xmm_xmmm128,
        M::Vpandn => Pandn_xmm_xmmm128,
        M::Vandnps => Andnps_xmm_xmmm128,
        M::Vandnpd => Andnpd_xmm_xmmm128,
        M::Vpor => Por_xmm_xmmm128,
        M::Vorps => Orps_xmm_xmmm128,
        M::Vorpd => Orpd_xmm_xmmm128,
        M::Vpxor => Pxor_xmm_xmmm128,
        M::Vxorps => Xorps_xmm_xmmm128,
        M::Vxorpd => Xorpd_xmm_xmmm128,
        M::Vpunpcklbw => Punpcklbw_xmm_xmmm128,
        M::Vpunpcklwd => Punpcklwd_xmm_xmmm128,
        M::Vpunpckldq => Punpckldq_xmm_xmmm128,
        M::Vunpcklps => Unpcklps_xmm_xmmm128,
        M::Vpunpcklqdq => Punpcklqdq_xmm_xmmm128,
        M::Vunpcklpd => Unpcklpd_xmm_xmmm128,
        M::Vpunpckhbw => Punpckhbw_xmm_xmmm128,
        M::Vpunpckhwd => Punpckhwd_xmm_xmmm128,
        M::Vpunpckhdq => Punpckhdq_xmm_xmmm128,
        M::Vunpckhps => Unpckhps_xmm_xmmm128,
        M::Vpunpckhqdq => Punpckhqdq_xmm_xmmm128,
        M::Vunpckhpd => Unpckhpd_xmm_xmmm128,
        M::Vpabsb => Pabsb_xmm_xmmm128,
        M::Vpabsw => Pabsw_xmm_xmmm128,
        M::Vpabsd => Pabsd_xmm_xmmm128,
        M::Vphminposuw => Phminposuw_xmm_xmmm128,
        M::Vmovshdup => Movshdup_xmm_xmmm128,
        M::Vmovsldup => Movsldup_xmm_xmmm128,
        M::Vshufps => Shufps_xmm_xmmm128_imm8,
        M::Vshufpd => Shufpd_xmm_xmmm128_imm8,
        M::Vpalignr => Palignr_xmm_xmmm128_imm8,
        M::Vblendps => Blendps_xmm_xmmm128_imm8,
        M::Vblendpd => Blendpd_xmm_xmmm128_imm8,
        M::Vpblendw => Pblendw_xmm_xmmm128_imm8,
        M::Vmpsadbw => Mpsadbw_xmm_xmmm128_imm8,
        M::Vpshufd => Pshufd_xmm_xmmm128_imm8,
        M::Vpshuflw => Pshuflw_xmm_xmmm128_imm8,
        M::Vpshufhw => Pshufhw_xmm_xmmm128_imm8,
        M::Vpblendvb => Pblendvb_xmm_xmmm128,
        M::Vblendvps => Blendvps_xmm_xmmm128,
        M::Vblendvpd => Blendvpd_xmm_xmmm128,
        M::Vpmovsxbw => Pmovsxbw_xmm_xmmm64,
        M::Vpmovsxwd => Pmovsxwd_xmm_xmmm64,
        M::Vpmovsxdq => Pmovsxdq_xmm_xmmm64,
        M::Vpmovzxbw => Pmovzxbw_xmm_xmmm64,
        M::Vpmovzxwd => Pmovzxwd_xmm_xmmm64,
        M::Vpmovzxdq => Pmovzxdq_xmm_xmmm64,
        M::Vmovddup => Movddup_xmm_xmmm64,
        M::Vpmovsxbd => Pmovsxbd_xmm_xmmm32,
        M::Vpmovsxwq => Pmovsxwq_xmm_xmmm32,
        M::Vpmovzxbd => Pmovzxbd_xmm_xmmm32,
        M::Vpmovzxwq => Pmovzxwq_xmm_xmmm32,
        M::Vpmovsxbq => Pmovsxbq_xmm_xmmm16,
        M::Vpmovzxbq => Pmovzxbq_xmm_xmmm16,
        _ => return None,
    })
}
