//! The table from opcode to lane operation and to the shape of its operands.
use super::arithmetic::*;
use super::lane::{Binary, BinaryImmediate, Masked, apply, view};
use super::shift::*;
use super::shuffle::*;
use iced_x86::Code;

/// Where the operands of a lane operation come from. The destination is always a register and the first source.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// XMM; the source is XMM or 16 aligned bytes.
    Xmm(Binary),
    /// As [`Form::Xmm`], with an immediate.
    XmmImmediate(BinaryImmediate),
    /// XMM; the source is the immediate.
    XmmCount(Binary),
    /// As [`Form::Xmm`], with XMM0 as mask.
    XmmMasked(Masked),
    /// XMM; the source is XMM or 8 bytes.
    XmmLow64(Binary),
    /// XMM; the source is XMM or 4 bytes.
    XmmLow32(Binary),
    /// XMM; the source is XMM or 2 bytes.
    XmmLow16(Binary),
    /// MMX; the source is MMX or 8 bytes; the result is the low half.
    Mmx(Binary),
    /// MMX; the operation is on one value, destination below source, and the result is its low half.
    MmxPair(Binary),
    /// MMX; the source is MMX or 4 bytes.
    MmxLow(Binary),
    /// As [`Form::Mmx`], but the result is the high half.
    MmxHigh(Binary),
    /// As [`Form::Mmx`], with an immediate.
    MmxImmediate(BinaryImmediate),
    /// MMX; the source is the immediate.
    MmxCount(Binary),
}

macro_rules! two {
    ($f:ident) => {
        |d, s| apply(d, s, $f)
    };
}
macro_rules! one {
    ($f:ident) => {
        |d, s| apply(d, s, |_: u128, s| $f(s))
    };
}
macro_rules! two_immediate {
    ($f:ident) => {
        |d, s, imm| apply(d, s, |a, b| $f(a, b, imm))
    };
}
macro_rules! one_immediate {
    ($f:ident) => {
        |d, s, imm| apply(d, s, |_: u128, b| $f(b, imm))
    };
}
macro_rules! masked {
    ($f:ident) => {
        |d, s, mask| apply(d, s, |a, b| $f(a, b, view(mask)))
    };
}
macro_rules! forms {
    ($code:expr; $($form:ident($shape:ident): { $($($c:ident)|+ => $f:ident,)* })*) => {
        match $code {
            $($($(Code::$c)|+ => Form::$form($shape!($f)),)*)*
            _ => return None,
        }
    };
}

/// The lane operation of an opcode, if it is one.
pub fn form(code: Code) -> Option<Form> {
    Some(forms! { code;
        Xmm(two): {
            Paddb_xmm_xmmm128 => paddb,
            Paddw_xmm_xmmm128 => paddw,
            Paddd_xmm_xmmm128 => paddd,
            Paddq_xmm_xmmm128 => paddq,
            Paddsb_xmm_xmmm128 => paddsb,
            Paddsw_xmm_xmmm128 => paddsw,
            Paddusb_xmm_xmmm128 => paddusb,
            Paddusw_xmm_xmmm128 => paddusw,
            Psubb_xmm_xmmm128 => psubb,
            Psubw_xmm_xmmm128 => psubw,
            Psubd_xmm_xmmm128 => psubd,
            Psubq_xmm_xmmm128 => psubq,
            Psubsb_xmm_xmmm128 => psubsb,
            Psubsw_xmm_xmmm128 => psubsw,
            Psubusb_xmm_xmmm128 => psubusb,
            Psubusw_xmm_xmmm128 => psubusw,
            Pmullw_xmm_xmmm128 => pmullw,
            Pmulld_xmm_xmmm128 => pmulld,
            Pmulhw_xmm_xmmm128 => pmulhw,
            Pmulhuw_xmm_xmmm128 => pmulhuw,
            Pmulhrsw_xmm_xmmm128 => pmulhrsw,
            Pmuludq_xmm_xmmm128 => pmuludq,
            Pmuldq_xmm_xmmm128 => pmuldq,
            Pmaddwd_xmm_xmmm128 => pmaddwd,
            Pmaddubsw_xmm_xmmm128 => pmaddubsw,
            Pavgb_xmm_xmmm128 => pavgb,
            Pavgw_xmm_xmmm128 => pavgw,
            Psadbw_xmm_xmmm128 => psadbw,
            Psignb_xmm_xmmm128 => psignb,
            Psignw_xmm_xmmm128 => psignw,
            Psignd_xmm_xmmm128 => psignd,
            Pminub_xmm_xmmm128 => pminub,
            Pminuw_xmm_xmmm128 => pminuw,
            Pminud_xmm_xmmm128 => pminud,
            Pminsb_xmm_xmmm128 => pminsb,
            Pminsw_xmm_xmmm128 => pminsw,
            Pminsd_xmm_xmmm128 => pminsd,
            Pmaxub_xmm_xmmm128 => pmaxub,
            Pmaxuw_xmm_xmmm128 => pmaxuw,
            Pmaxud_xmm_xmmm128 => pmaxud,
            Pmaxsb_xmm_xmmm128 => pmaxsb,
            Pmaxsw_xmm_xmmm128 => pmaxsw,
            Pmaxsd_xmm_xmmm128 => pmaxsd,
            Pcmpeqb_xmm_xmmm128 => pcmpeqb,
            Pcmpeqw_xmm_xmmm128 => pcmpeqw,
            Pcmpeqd_xmm_xmmm128 => pcmpeqd,
            Pcmpeqq_xmm_xmmm128 => pcmpeqq,
            Pcmpgtb_xmm_xmmm128 => pcmpgtb,
            Pcmpgtw_xmm_xmmm128 => pcmpgtw,
            Pcmpgtd_xmm_xmmm128 => pcmpgtd,
            Pcmpgtq_xmm_xmmm128 => pcmpgtq,
            Phaddw_xmm_xmmm128 => phaddw,
            Phaddd_xmm_xmmm128 => phaddd,
            Phaddsw_xmm_xmmm128 => phaddsw,
            Phsubw_xmm_xmmm128 => phsubw,
            Phsubd_xmm_xmmm128 => phsubd,
            Phsubsw_xmm_xmmm128 => phsubsw,
            Packsswb_xmm_xmmm128 => packsswb,
            Packssdw_xmm_xmmm128 => packssdw,
            Packuswb_xmm_xmmm128 => packuswb,
            Packusdw_xmm_xmmm128 => packusdw,
            Pshufb_xmm_xmmm128 => pshufb,
            Psllw_xmm_xmmm128 => psllw,
            Pslld_xmm_xmmm128 => pslld,
            Psllq_xmm_xmmm128 => psllq,
            Psrlw_xmm_xmmm128 => psrlw,
            Psrld_xmm_xmmm128 => psrld,
            Psrlq_xmm_xmmm128 => psrlq,
            Psraw_xmm_xmmm128 => psraw,
            Psrad_xmm_xmmm128 => psrad,
            Pand_xmm_xmmm128 | Andps_xmm_xmmm128 | Andpd_xmm_xmmm128 => pand,
            Pandn_xmm_xmmm128 | Andnps_xmm_xmmm128 | Andnpd_xmm_xmmm128 => pandn,
            Por_xmm_xmmm128 | Orps_xmm_xmmm128 | Orpd_xmm_xmmm128 => por,
            Pxor_xmm_xmmm128 | Xorps_xmm_xmmm128 | Xorpd_xmm_xmmm128 => pxor,
            Punpcklbw_xmm_xmmm128 => punpcklbw,
            Punpcklwd_xmm_xmmm128 => punpcklwd,
            Punpckldq_xmm_xmmm128 | Unpcklps_xmm_xmmm128 => punpckldq,
            Punpcklqdq_xmm_xmmm128 | Unpcklpd_xmm_xmmm128 => punpcklqdq,
            Punpckhbw_xmm_xmmm128 => punpckhbw,
            Punpckhwd_xmm_xmmm128 => punpckhwd,
            Punpckhdq_xmm_xmmm128 | Unpckhps_xmm_xmmm128 => punpckhdq,
            Punpckhqdq_xmm_xmmm128 | Unpckhpd_xmm_xmmm128 => punpckhqdq,
        }
        Xmm(one): {
            Pabsb_xmm_xmmm128 => pabsb,
            Pabsw_xmm_xmmm128 => pabsw,
            Pabsd_xmm_xmmm128 => pabsd,
            Phminposuw_xmm_xmmm128 => phminposuw,
            Movshdup_xmm_xmmm128 => movshdup,
            Movsldup_xmm_xmmm128 => movsldup,
        }
        XmmImmediate(two_immediate): {
            Shufps_xmm_xmmm128_imm8 => shufps,
            Shufpd_xmm_xmmm128_imm8 => shufpd,
            Palignr_xmm_xmmm128_imm8 => palignr,
            Blendps_xmm_xmmm128_imm8 => blendps,
            Blendpd_xmm_xmmm128_imm8 => blendpd,
            Pblendw_xmm_xmmm128_imm8 => pblendw,
            Mpsadbw_xmm_xmmm128_imm8 => mpsadbw,
        }
        XmmImmediate(one_immediate): {
            Pshufd_xmm_xmmm128_imm8 => pshufd,
            Pshuflw_xmm_xmmm128_imm8 => pshuflw,
            Pshufhw_xmm_xmmm128_imm8 => pshufhw,
        }
        XmmCount(two): {
            Psllw_xmm_imm8 => psllw,
            Pslld_xmm_imm8 => pslld,
            Psllq_xmm_imm8 => psllq,
            Psrlw_xmm_imm8 => psrlw,
            Psrld_xmm_imm8 => psrld,
            Psrlq_xmm_imm8 => psrlq,
            Psraw_xmm_imm8 => psraw,
            Psrad_xmm_imm8 => psrad,
            Pslldq_xmm_imm8 => pslldq,
            Psrldq_xmm_imm8 => psrldq,
        }
        XmmMasked(masked): {
            Pblendvb_xmm_xmmm128 => pblendvb,
            Blendvps_xmm_xmmm128 => blendvps,
            Blendvpd_xmm_xmmm128 => blendvpd,
        }
        XmmLow64(one): {
            Pmovsxbw_xmm_xmmm64 => pmovsxbw,
            Pmovsxwd_xmm_xmmm64 => pmovsxwd,
            Pmovsxdq_xmm_xmmm64 => pmovsxdq,
            Pmovzxbw_xmm_xmmm64 => pmovzxbw,
            Pmovzxwd_xmm_xmmm64 => pmovzxwd,
            Pmovzxdq_xmm_xmmm64 => pmovzxdq,
            Movddup_xmm_xmmm64 => movddup,
        }
        XmmLow32(one): {
            Pmovsxbd_xmm_xmmm32 => pmovsxbd,
            Pmovsxwq_xmm_xmmm32 => pmovsxwq,
            Pmovzxbd_xmm_xmmm32 => pmovzxbd,
            Pmovzxwq_xmm_xmmm32 => pmovzxwq,
        }
        XmmLow16(one): {
            Pmovsxbq_xmm_xmmm16 => pmovsxbq,
            Pmovzxbq_xmm_xmmm16 => pmovzxbq,
        }
        Mmx(two): {
            Paddb_mm_mmm64 => paddb,
            Paddw_mm_mmm64 => paddw,
            Paddd_mm_mmm64 => paddd,
            Paddq_mm_mmm64 => paddq,
            Paddsb_mm_mmm64 => paddsb,
            Paddsw_mm_mmm64 => paddsw,
            Paddusb_mm_mmm64 => paddusb,
            Paddusw_mm_mmm64 => paddusw,
            Psubb_mm_mmm64 => psubb,
            Psubw_mm_mmm64 => psubw,
            Psubd_mm_mmm64 => psubd,
            Psubq_mm_mmm64 => psubq,
            Psubsb_mm_mmm64 => psubsb,
            Psubsw_mm_mmm64 => psubsw,
            Psubusb_mm_mmm64 => psubusb,
            Psubusw_mm_mmm64 => psubusw,
            Pmullw_mm_mmm64 => pmullw,
            Pmulhw_mm_mmm64 => pmulhw,
            Pmulhuw_mm_mmm64 => pmulhuw,
            Pmulhrsw_mm_mmm64 => pmulhrsw,
            Pmuludq_mm_mmm64 => pmuludq,
            Pmaddwd_mm_mmm64 => pmaddwd,
            Pmaddubsw_mm_mmm64 => pmaddubsw,
            Pavgb_mm_mmm64 => pavgb,
            Pavgw_mm_mmm64 => pavgw,
            Psadbw_mm_mmm64 => psadbw,
            Psignb_mm_mmm64 => psignb,
            Psignw_mm_mmm64 => psignw,
            Psignd_mm_mmm64 => psignd,
            Pminub_mm_mmm64 => pminub,
            Pminsw_mm_mmm64 => pminsw,
            Pmaxub_mm_mmm64 => pmaxub,
            Pmaxsw_mm_mmm64 => pmaxsw,
            Pcmpeqb_mm_mmm64 => pcmpeqb,
            Pcmpeqw_mm_mmm64 => pcmpeqw,
            Pcmpeqd_mm_mmm64 => pcmpeqd,
            Pcmpgtb_mm_mmm64 => pcmpgtb,
            Pcmpgtw_mm_mmm64 => pcmpgtw,
            Pcmpgtd_mm_mmm64 => pcmpgtd,
            Psllw_mm_mmm64 => psllw,
            Pslld_mm_mmm64 => pslld,
            Psllq_mm_mmm64 => psllq,
            Psrlw_mm_mmm64 => psrlw,
            Psrld_mm_mmm64 => psrld,
            Psrlq_mm_mmm64 => psrlq,
            Psraw_mm_mmm64 => psraw,
            Psrad_mm_mmm64 => psrad,
            Pand_mm_mmm64 => pand,
            Pandn_mm_mmm64 => pandn,
            Por_mm_mmm64 => por,
            Pxor_mm_mmm64 => pxor,
            Pshufb_mm_mmm64 => pshufb_mmx,
        }
        Mmx(one): {
            Pabsb_mm_mmm64 => pabsb,
            Pabsw_mm_mmm64 => pabsw,
            Pabsd_mm_mmm64 => pabsd,
        }
        MmxPair(two): {
            Phaddw_mm_mmm64 => phaddw,
            Phaddd_mm_mmm64 => phaddd,
            Phaddsw_mm_mmm64 => phaddsw,
            Phsubw_mm_mmm64 => phsubw,
            Phsubd_mm_mmm64 => phsubd,
            Phsubsw_mm_mmm64 => phsubsw,
            Packsswb_mm_mmm64 => packsswb,
            Packssdw_mm_mmm64 => packssdw,
            Packuswb_mm_mmm64 => packuswb,
        }
        MmxLow(two): {
            Punpcklbw_mm_mmm32 => punpcklbw,
            Punpcklwd_mm_mmm32 => punpcklwd,
            Punpckldq_mm_mmm32 => punpckldq,
        }
        MmxHigh(two): {
            Punpckhbw_mm_mmm64 => punpcklbw,
            Punpckhwd_mm_mmm64 => punpcklwd,
            Punpckhdq_mm_mmm64 => punpckldq,
        }
        MmxImmediate(two_immediate): {
            Palignr_mm_mmm64_imm8 => palignr_mmx,
        }
        MmxImmediate(one_immediate): {
            Pshufw_mm_mmm64_imm8 => pshuflw,
        }
        MmxCount(two): {
            Psllw_mm_imm8 => psllw,
            Pslld_mm_imm8 => pslld,
            Psllq_mm_imm8 => psllq,
            Psrlw_mm_imm8 => psrlw,
            Psrld_mm_imm8 => psrld,
            Psrlq_mm_imm8 => psrlq,
            Psraw_mm_imm8 => psraw,
            Psrad_mm_imm8 => psrad,
        }
    })
}
