//! Bytes to a decoded block: where it ends, and which handler runs each instruction.
use super::fast;
use super::op::{Context, Op};
use super::state::{CpuidLeaf, answer};
use crate::sim::memory::{Fault, Memory, PAGE_SIZE, Recording};
use iced_x86::{Code, CpuidFeature, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

/// Instructions a block has at most.
const MAX_INSTRUCTIONS: usize = 64;
/// Bytes an instruction has at most.
const MAX_LENGTH: usize = 15;

/// A block before the timing model has seen it.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) ops: Vec<Op>,
    /// For every operation, the index of its first instruction.
    pub(crate) first_instruction: Vec<u8>,
    /// Target of the branch at the end, if it is a direct one.
    pub(crate) target: u64,
    /// Address behind the block.
    pub(crate) end: u64,
}

/// Which optional instruction sets the guest's processor has, beyond x86-64-v2 (the default). An instruction of a set
/// that it lacks is no instruction there: #UD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features(u32);

/// The optional sets, and where CPUID tells of each: leaf, register (EAX to EDX), bit. XSAVE is told by OSXSAVE, and
/// what works on YMM registers demands that too.
const OPTIONAL: [(CpuidFeature, u32, usize, u32); 17] = [
    (CpuidFeature::XSAVE, 1, 2, 27),
    (CpuidFeature::AVX, 1, 2, 28),
    (CpuidFeature::F16C, 1, 2, 29),
    (CpuidFeature::FMA, 1, 2, 12),
    (CpuidFeature::MOVBE, 1, 2, 22),
    (CpuidFeature::AES, 1, 2, 25),
    (CpuidFeature::PCLMULQDQ, 1, 2, 1),
    (CpuidFeature::AVX2, 7, 1, 5),
    (CpuidFeature::BMI1, 7, 1, 3),
    (CpuidFeature::BMI2, 7, 1, 8),
    (CpuidFeature::SHA, 7, 1, 29),
    (CpuidFeature::VAES, 7, 2, 9),
    (CpuidFeature::VPCLMULQDQ, 7, 2, 10),
    (CpuidFeature::LZCNT, 0x8000_0001, 2, 5),
    (CpuidFeature::XSAVEOPT, 0xd, 0, 0),
    (CpuidFeature::XSAVEC, 0xd, 0, 1),
    (CpuidFeature::XSAVES, 0xd, 0, 3),
];

impl Features {
    /// Every optional set, also those that no profile has.
    pub const ALL: Self = Self(u32::MAX);

    /// The sets of a processor that answers CPUID so.
    pub fn from_cpuid(table: &[CpuidLeaf]) -> Self {
        let told = |leaf: u32, register: usize, bit: u32| {
            // Leaf 0xd tells of its instructions in subleaf 1.
            let subleaf = u32::from(leaf == 0xd);
            answer(table, leaf, subleaf)[register] >> bit & 1 != 0
        };
        let extended = told(1, 2, 27);
        let bits = (0..)
            .zip(OPTIONAL)
            .filter(|&(_, (feature, leaf, register, bit))| {
                use CpuidFeature::{AVX, AVX2, F16C, FMA, VAES, VPCLMULQDQ};
                let wide = matches!(feature, AVX | AVX2 | F16C | FMA | VAES | VPCLMULQDQ);
                told(leaf, register, bit) && (extended || !wide)
            });
        Self(bits.fold(0, |set, (i, _)| set | 1 << i))
    }

    fn has(self, feature: CpuidFeature) -> bool {
        let number = OPTIONAL.iter().position(|o| o.0 == feature);
        number.is_none_or(|i| self.0 >> i & 1 != 0)
    }

    /// The instruction, or the invalid one in its place. What belongs to no optional set is let through, also where
    /// nothing implements it: then the run stops with its name.
    fn admit(self, insn: Instruction) -> Instruction {
        if insn.cpuid_features().iter().all(|&f| self.has(f)) {
            return insn;
        }
        let mut none = Instruction::default();
        none.set_len(insn.len());
        none.set_next_ip(insn.next_ip());
        none
    }

    /// Without BMI1, `tzcnt` is `bsf` with a meaningless prefix; without LZCNT, `lzcnt` is `bsr`.
    fn options(self) -> u32 {
        let unless =
            |feature: CpuidFeature, option: u32| if self.has(feature) { 0 } else { option };
        unless(CpuidFeature::BMI1, DecoderOptions::NO_MPFX_0FBC)
            | unless(CpuidFeature::LZCNT, DecoderOptions::NO_MPFX_0FBD)
    }
}

/// Whether nothing may follow this instruction in its block.
fn ends_block(insn: &Instruction) -> bool {
    if insn.flow_control() != FlowControl::Next {
        return true;
    }
    match insn.mnemonic() {
        // The run loop supplies the time, or the kernel answers.
        Mnemonic::Rdtsc | Mnemonic::Rdtscp | Mnemonic::Syscall => true,
        // Whatever accesses memory a number of times that its encoding does not tell.
        _ => insn.is_string_instruction() || super::accesses::fixed_access_count(insn).is_none(),
    }
}

/// Decodes the block at `entry`: it ends with a branch, at the end of its page, or after `limit` instructions. Its
/// extent depends on nothing else.
///
/// # Errors
/// The fetch fault of the first instruction.
pub(crate) fn decode<R: Recording>(
    cx: &mut Context,
    entry: u64,
    features: Features,
    limit: usize,
) -> Result<Decoded, Fault> {
    let instructions = fetch(&mut cx.mem, entry, features, limit.min(MAX_INSTRUCTIONS))?;
    let mut ops = Vec::with_capacity(instructions.len());
    let mut first_instruction = Vec::with_capacity(instructions.len());
    let mut i = 0;
    while i < instructions.len() {
        let insn = &instructions[i];
        first_instruction.push(i as u8);
        if let Some(op) = instructions
            .get(i + 1)
            .and_then(|next| fast::fuse::<R>(insn, next, entry))
        {
            ops.push(op);
            i += 2;
            continue;
        }
        ops.push(fast::translate::<R>(insn, entry, &mut cx.side));
        i += 1;
    }
    let last = instructions
        .last()
        .expect("fetch gives at least one instruction");
    let target = if last.op0_kind() == iced_x86::OpKind::NearBranch64 {
        last.near_branch64()
    } else {
        0
    };
    Ok(Decoded {
        target,
        end: last.next_ip(),
        instructions,
        ops,
        first_instruction,
    })
}

fn fetch(
    mem: &mut Memory,
    entry: u64,
    features: Features,
    limit: usize,
) -> Result<Vec<Instruction>, Fault> {
    let number = entry / PAGE_SIZE;
    let offset = (entry % PAGE_SIZE) as usize;
    let page = mem.code_page(number).map_err(|f| at_entry(f, entry))?;
    let mut instructions = Vec::new();
    let mut decoder = Decoder::with_ip(64, &page.bytes()[offset..], entry, features.options());
    while instructions.len() < limit {
        let start = decoder.position();
        if offset + start >= PAGE_SIZE as usize {
            return Ok(instructions);
        }
        let insn = features.admit(decoder.decode());
        if insn.is_invalid() && decoder.last_error() == iced_x86::DecoderError::NoMoreBytes {
            // The instruction crosses into the next page: it is a block of its own, so that the page is touched when it
            // runs and not before.
            if instructions.is_empty() {
                let crossing = straddling(mem, page.bytes(), number, offset + start, features)?;
                instructions.push(crossing);
            }
            return Ok(instructions);
        }
        let rest = &page.bytes()[offset + start..];
        instructions.push(unless_too_long(insn, rest, entry + start as u64));
        if insn.is_invalid() || ends_block(&insn) {
            break;
        }
    }
    Ok(instructions)
}

/// An encoding beyond 15 bytes is #GP, not #UD: an instruction of the kernel, which faults alike, stands in for it.
/// Only prefixes make an instruction that long.
fn unless_too_long(insn: Instruction, bytes: &[u8], ip: u64) -> Instruction {
    let prefix = |b: &u8| {
        let legacy = [
            0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65,
        ];
        legacy.contains(b) || b & 0xf0 == 0x40
    };
    if !insn.is_invalid()
        || !bytes
            .get(..MAX_LENGTH)
            .is_some_and(|b| b.iter().all(prefix))
    {
        return insn;
    }
    let mut too_long = Instruction::with(Code::Hlt);
    too_long.set_ip(ip);
    too_long.set_len(1);
    too_long
}

fn at_entry(fault: Fault, entry: u64) -> Fault {
    match fault {
        Fault::Page { kind, mapped, .. } => Fault::Page {
            addr: entry,
            kind,
            mapped,
        },
        other => other,
    }
}

fn straddling(
    mem: &mut Memory,
    page: &[u8; PAGE_SIZE as usize],
    number: u64,
    offset: usize,
    features: Features,
) -> Result<Instruction, Fault> {
    let mut bytes = page[offset..].to_vec();
    let next = mem.code_page(number + 1)?;
    bytes.extend_from_slice(&next.bytes()[..MAX_LENGTH]);
    let ip = number * PAGE_SIZE + offset as u64;
    let insn = Decoder::with_ip(64, &bytes, ip, features.options()).decode();
    Ok(unless_too_long(features.admit(insn), &bytes, ip))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::guest::profile::Profile;

    #[test]
    fn too_many_prefixes_are_a_general_protection_fault_and_other_nonsense_is_none() {
        let judged = |bytes: &[u8]| {
            let insn = decoded(Features::default(), bytes);
            unless_too_long(insn, bytes, 0x1000).code()
        };
        assert_eq!(judged(&[0x66; 16]), Code::Hlt);
        assert_eq!(judged(&[0x66, 0x48, 0x66, 0x90]), Code::Nopw);
        assert_eq!(judged(&[0x06; 16]), Code::INVALID);
    }

    /// What the bytes are on a processor with these features.
    fn decoded(features: Features, bytes: &[u8]) -> Instruction {
        let mut decoder = Decoder::with_ip(64, bytes, 0x1000, features.options());
        features.admit(decoder.decode())
    }

    #[test]
    fn an_instruction_of_a_set_that_the_processor_lacks_is_no_instruction() {
        let v3 = Features::from_cpuid(&Profile::x86_64_v3().cpuid);
        assert_eq!(
            Features::from_cpuid(&Profile::x86_64_v2().cpuid),
            Features::default()
        );
        let optional: [(&[u8], Code); 8] = [
            (&[0xc5, 0xfc, 0x58, 0xc1], Code::VEX_Vaddps_ymm_ymm_ymmm256),
            (&[0xc4, 0xe2, 0x78, 0xf2, 0xc1], Code::VEX_Andn_r32_r32_rm32),
            (&[0x0f, 0x38, 0xf0, 0x07], Code::Movbe_r32_m32),
            (&[0x66, 0x0f, 0x38, 0xdc, 0xc1], Code::Aesenc_xmm_xmmm128),
            (&[0x0f, 0x38, 0xc8, 0xc1], Code::Sha1nexte_xmm_xmmm128),
            (&[0x0f, 0x01, 0xd0], Code::Xgetbv),
            (&[0x0f, 0xae, 0x27], Code::Xsave_mem),
            (&[0x0f, 0xc7, 0x27], Code::Xsavec_mem),
        ];
        for (bytes, code) in optional {
            assert_eq!(decoded(v3, bytes).code(), code);
            let none = decoded(Features::default(), bytes);
            assert!(none.is_invalid(), "{code:?}");
            assert_eq!(none.next_ip(), 0x1000 + bytes.len() as u64);
        }
        // VAESENC on YMM registers is a later extension.
        assert!(decoded(v3, &[0xc4, 0xe2, 0x7d, 0xdc, 0xc1]).is_invalid());
        // AVX-512 is let through on both, to be named as not implemented.
        for features in [v3, Features::default()] {
            let wide = decoded(features, &[0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1]);
            assert_eq!(wide.code(), Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er);
        }
    }

    #[test]
    fn bit_counts_are_bit_scans_on_processors_without_them() {
        let v3 = Features::from_cpuid(&Profile::x86_64_v3().cpuid);
        let (tzcnt, lzcnt) = ([0xf3, 0x0f, 0xbc, 0xc1], [0xf3, 0x0f, 0xbd, 0xc1]);
        assert_eq!(decoded(v3, &tzcnt).mnemonic(), Mnemonic::Tzcnt);
        assert_eq!(decoded(v3, &lzcnt).mnemonic(), Mnemonic::Lzcnt);
        assert_eq!(
            decoded(Features::default(), &tzcnt).mnemonic(),
            Mnemonic::Bsf
        );
        assert_eq!(
            decoded(Features::default(), &lzcnt).mnemonic(),
            Mnemonic::Bsr
        );
    }
}
