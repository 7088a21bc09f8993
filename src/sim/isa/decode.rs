//! Bytes to a decoded block: where it ends, and which handler runs each instruction.
use super::fast;
use super::op::{Context, Op};
use crate::sim::memory::{Fault, Memory, PAGE_SIZE, Recording};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};

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

/// Which optional encodings the guest's processor has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Without BMI1, `tzcnt` is `bsf` with a meaningless prefix; without ABM, `lzcnt` is `bsr`.
    pub bit_counts: bool,
}

fn options(features: Features) -> u32 {
    if features.bit_counts {
        DecoderOptions::NONE
    } else {
        DecoderOptions::NO_MPFX_0FBC | DecoderOptions::NO_MPFX_0FBD
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
/// The fetch fault of the first instruction. A later one that cannot be fetched ends the block before it.
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
    let mut decoder = Decoder::with_ip(64, &page.bytes()[offset..], entry, options(features));
    while instructions.len() < limit {
        let start = decoder.position();
        if offset + start >= PAGE_SIZE as usize {
            return Ok(instructions);
        }
        let insn = decoder.decode();
        if insn.is_invalid() && decoder.last_error() == iced_x86::DecoderError::NoMoreBytes {
            // The instruction crosses into the next page: it ends the block.
            match straddling(mem, page.bytes(), number, offset + start, features) {
                Ok(insn) => instructions.push(insn),
                Err(fault) if instructions.is_empty() => return Err(fault),
                Err(_) => {}
            }
            return Ok(instructions);
        }
        instructions.push(insn);
        if insn.is_invalid() || ends_block(&insn) {
            break;
        }
    }
    Ok(instructions)
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
    Ok(Decoder::with_ip(64, &bytes, ip, options(features)).decode())
}
