//! How many memory accesses an instruction makes, where its encoding alone fixes the number.
//!
//! The run loop hands the accesses of a run of instructions to the timing model as one flat list. The model can share
//! them out among the instructions only if each instruction but the last of a block makes a known number of them. So
//! the decoder ends a block behind every instruction for which [`fixed_access_count`] is `None`, and that instruction
//! takes what is left of the list.
//!
//! The counts are those of [`crate::sim::memory::Memory`]: one for each load or store of at most 16 bytes, however it
//! is aligned and whether or not it crosses a line or a page. A read-modify-write is a load, then a store. A 32-byte
//! operand is two accesses, an 80-bit one two as well (its 64-bit significand, then 16 bits).
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind};

/// The number of memory accesses that `instruction` makes whenever it retires; `None` if it depends on registers,
/// memory or masks, or is too large to be worth counting: such an instruction ends its block.
///
/// Makes a factory for each call: where many instructions are asked about, use [`fixed_access_count_with`].
pub fn fixed_access_count(instruction: &Instruction) -> Option<u8> {
    if !is_variable(instruction) && !names_memory(instruction) {
        return Some(works_by_value(instruction));
    }
    fixed_access_count_with(&mut InstructionInfoFactory::new(), instruction)
}

/// One for a divide, which records its work behind its load.
fn works_by_value(instruction: &Instruction) -> u8 {
    u8::from(matches!(
        instruction.mnemonic(),
        Mnemonic::Div | Mnemonic::Idiv
    ))
}

/// Whether any operand is memory or the stack: most instructions are answered without asking the factory.
fn names_memory(instruction: &Instruction) -> bool {
    let registers_only = (0..instruction.op_count())
        .map(|i| instruction.op_kind(i))
        .all(|kind| kind == OpKind::Register || kind <= OpKind::Immediate32to64);
    !registers_only || instruction.is_stack_instruction()
}

/// [`fixed_access_count`] with a factory that is used again and again.
pub fn fixed_access_count_with(
    factory: &mut InstructionInfoFactory,
    instruction: &Instruction,
) -> Option<u8> {
    if is_variable(instruction) {
        return None;
    }
    let mut count = works_by_value(instruction);
    if touches_no_data(instruction) || !names_memory(instruction) {
        return Some(count);
    }
    for memory in factory.info(instruction).used_memory() {
        let size = memory.memory_size().size() as u64;
        if size > 32 || size == 0 || memory.vsib_size() != 0 {
            return None;
        }
        // 10 bytes are moved as 8 and 2; everything else is a power of two.
        let parts = if size == 10 {
            2
        } else {
            size.div_ceil(16) as u8
        };
        count += match memory.access() {
            OpAccess::None | OpAccess::NoMemAccess => 0,
            OpAccess::Read | OpAccess::Write => parts,
            OpAccess::ReadWrite => 2 * parts,
            // The load of a conditional move happens whatever the condition, and may fault.
            OpAccess::CondRead if is_conditional_move(instruction.mnemonic()) => parts,
            OpAccess::CondRead | OpAccess::CondWrite | OpAccess::ReadCondWrite => return None,
        };
    }
    Some(count)
}

/// A string instruction under a REP, REPE or REPNE prefix (which means nothing on other instructions).
pub fn is_repeated(instruction: &Instruction) -> bool {
    instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
}

fn is_variable(instruction: &Instruction) -> bool {
    is_repeated(instruction) || has_variable_accesses(instruction.mnemonic())
}

fn is_conditional_move(mnemonic: Mnemonic) -> bool {
    use Mnemonic::*;
    matches!(
        mnemonic,
        Cmova
            | Cmovae
            | Cmovb
            | Cmovbe
            | Cmove
            | Cmovg
            | Cmovge
            | Cmovl
            | Cmovle
            | Cmovne
            | Cmovno
            | Cmovnp
            | Cmovns
            | Cmovo
            | Cmovp
            | Cmovs
    )
}

/// Instructions that iced lists with an address but that load and store nothing here: hints and cache control.
fn touches_no_data(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    matches!(
        instruction.mnemonic(),
        Lea | Nop
            | Reservednop
            | Prefetch
            | Prefetchw
            | Prefetchwt1
            | Prefetchnta
            | Prefetcht0
            | Prefetcht1
            | Prefetcht2
            | Prefetchit0
            | Prefetchit1
            | Clflush
            | Clflushopt
            | Clwb
            | Cldemote
            | Invlpg
            | Syscall
            | Ud0
            | Ud1
            | Ud2
            | Monitor
            | Monitorx
    )
}

fn has_variable_accesses(mnemonic: Mnemonic) -> bool {
    use Mnemonic::*;
    matches!(
        mnemonic,
        // Frames of as many pointers as an immediate says.
        Enter
        // State images of up to some kilobytes, in pieces of the implementation's choice.
        | Fxsave | Fxsave64 | Fxrstor | Fxrstor64 | Fnsave | Fsave | Frstor | Fnstenv | Fstenv | Fldenv
        | Xsave | Xsave64 | Xsavec | Xsavec64 | Xsaveopt | Xsaveopt64 | Xsaves | Xsaves64 | Xrstor | Xrstor64
        | Xrstors | Xrstors64
        // Byte masks in a register.
        | Maskmovq | Maskmovdqu | Vmaskmovdqu | Vmaskmovps | Vmaskmovpd | Vpmaskmovd | Vpmaskmovq
        // The store may depend on the comparison.
        | Cmpxchg | Cmpxchg8b | Cmpxchg16b
        // Segment loads and far transfers read descriptors; port strings fault in user mode.
        | Iret | Iretd | Iretq | Retf | Insb | Insd | Insw | Outsb | Outsd | Outsw
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn count(bytes: &[u8]) -> Option<u8> {
        let mut decoder = Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE);
        let instruction = decoder.decode();
        assert!(
            !instruction.is_invalid() && decoder.position() == bytes.len(),
            "{bytes:02x?} is one instruction"
        );
        fixed_access_count(&instruction)
    }

    #[test]
    fn loads_and_stores_count_once_whatever_their_width_up_to_16_bytes() {
        assert_eq!(count(&[0x8a, 0x07]), Some(1), "mov al,[rdi]");
        assert_eq!(count(&[0x48, 0x8b, 0x07]), Some(1), "mov rax,[rdi]");
        assert_eq!(count(&[0x48, 0x89, 0x07]), Some(1), "mov [rdi],rax");
        assert_eq!(
            count(&[0xc7, 0x07, 1, 0, 0, 0]),
            Some(1),
            "mov dword [rdi],1"
        );
        assert_eq!(count(&[0x0f, 0x10, 0x07]), Some(1), "movups xmm0,[rdi]");
        assert_eq!(
            count(&[0xf2, 0x0f, 0x10, 0x07]),
            Some(1),
            "movsd xmm0,[rdi]"
        );
        assert_eq!(count(&[0x0f, 0xae, 0x17]), Some(1), "ldmxcsr [rdi]");
        assert_eq!(
            count(&[0xc5, 0xfc, 0x10, 0x07]),
            Some(2),
            "vmovups ymm0,[rdi]"
        );
        assert_eq!(count(&[0xd7]), Some(1), "xlatb");
        assert_eq!(count(&[0x48, 0x8b, 0xc7]), Some(0), "mov rax,rdi");
    }

    #[test]
    fn read_modify_writes_count_twice() {
        assert_eq!(count(&[0x48, 0x01, 0x07]), Some(2), "add [rdi],rax");
        assert_eq!(
            count(&[0xf0, 0x48, 0x0f, 0xc1, 0x07]),
            Some(2),
            "lock xadd [rdi],rax"
        );
        assert_eq!(count(&[0x48, 0x87, 0x07]), Some(2), "xchg [rdi],rax");
        assert_eq!(count(&[0x48, 0x0f, 0xab, 0x07]), Some(2), "bts [rdi],rax");
        assert_eq!(count(&[0x48, 0x0f, 0xa3, 0x07]), Some(1), "bt [rdi],rax");
        assert_eq!(count(&[0x48, 0xd3, 0x27]), Some(2), "shl qword [rdi],cl");
        assert_eq!(count(&[0x48, 0x39, 0x07]), Some(1), "cmp [rdi],rax");
        assert_eq!(count(&[0x0f, 0x94, 0x07]), Some(1), "sete [rdi]");
    }

    #[test]
    fn the_stack_counts_as_memory() {
        assert_eq!(count(&[0x50]), Some(1), "push rax");
        assert_eq!(count(&[0x58]), Some(1), "pop rax");
        assert_eq!(count(&[0xff, 0x37]), Some(2), "push qword [rdi]");
        assert_eq!(count(&[0x8f, 0x07]), Some(2), "pop qword [rdi]");
        assert_eq!(count(&[0xe8, 0, 0, 0, 0]), Some(1), "call rel32");
        assert_eq!(count(&[0xff, 0xd0]), Some(1), "call rax");
        assert_eq!(count(&[0xff, 0x17]), Some(2), "call [rdi]");
        assert_eq!(count(&[0xff, 0x27]), Some(1), "jmp [rdi]");
        assert_eq!(count(&[0xc3]), Some(1), "ret");
        assert_eq!(count(&[0xc2, 8, 0]), Some(1), "ret 8");
        assert_eq!(count(&[0xc9]), Some(1), "leave");
        assert_eq!(count(&[0x9c]), Some(1), "pushfq");
        assert_eq!(count(&[0x9d]), Some(1), "popfq");
        assert_eq!(count(&[0xc8, 0, 0, 0]), None, "enter 0,0");
    }

    #[test]
    fn conditional_moves_always_load_and_exchanges_may_not_store() {
        assert_eq!(count(&[0x48, 0x0f, 0x44, 0x07]), Some(1), "cmove rax,[rdi]");
        assert_eq!(count(&[0x48, 0x0f, 0x4f, 0x07]), Some(1), "cmovg rax,[rdi]");
        assert_eq!(count(&[0x0f, 0x4c, 0x07]), Some(1), "cmovl eax,[rdi]");
        assert_eq!(count(&[0x48, 0x0f, 0xb1, 0x0f]), None, "cmpxchg [rdi],rcx");
        assert_eq!(
            count(&[0x48, 0x0f, 0xb1, 0xcf]),
            None,
            "cmpxchg rdi,rcx ends a block too: rare, and the rule is plain"
        );
    }

    #[test]
    fn string_instructions_are_fixed_until_they_repeat() {
        assert_eq!(count(&[0xa4]), Some(2), "movsb");
        assert_eq!(count(&[0xaa]), Some(1), "stosb");
        assert_eq!(count(&[0xac]), Some(1), "lodsb");
        assert_eq!(count(&[0xae]), Some(1), "scasb");
        assert_eq!(count(&[0xa6]), Some(2), "cmpsb");
        assert_eq!(count(&[0xf3, 0xa4]), None, "rep movsb");
        assert_eq!(count(&[0xf3, 0x48, 0xab]), None, "rep stosq");
        assert_eq!(count(&[0xf2, 0xae]), None, "repne scasb");
        assert_eq!(count(&[0xf3, 0xa6]), None, "repe cmpsb");
        assert_eq!(count(&[0xf3, 0xc3]), Some(1), "rep ret is a ret");
    }

    #[test]
    fn eighty_bit_operands_are_two_accesses() {
        assert_eq!(count(&[0xdb, 0x2f]), Some(2), "fld tbyte [rdi]");
        assert_eq!(count(&[0xdb, 0x3f]), Some(2), "fstp tbyte [rdi]");
        assert_eq!(count(&[0xdd, 0x07]), Some(1), "fld qword [rdi]");
        assert_eq!(count(&[0xdb, 0x07]), Some(1), "fild dword [rdi]");
        assert_eq!(count(&[0xdf, 0x3f]), Some(1), "fistp qword [rdi]");
        assert_eq!(count(&[0xd9, 0x2f]), Some(1), "fldcw [rdi]");
        assert_eq!(count(&[0xd9, 0x3f]), Some(1), "fnstcw [rdi]");
    }

    #[test]
    fn hints_and_addresses_touch_nothing() {
        assert_eq!(count(&[0x48, 0x8d, 0x07]), Some(0), "lea rax,[rdi]");
        assert_eq!(count(&[0x0f, 0x1f, 0x07]), Some(0), "nop [rdi]");
        assert_eq!(count(&[0x0f, 0x18, 0x0f]), Some(0), "prefetcht0 [rdi]");
        assert_eq!(count(&[0x0f, 0xae, 0x3f]), Some(0), "clflush [rdi]");
        assert_eq!(count(&[0xf3, 0x0f, 0x1e, 0xfa]), Some(0), "endbr64");
        assert_eq!(count(&[0x0f, 0x05]), Some(0), "syscall");
        assert_eq!(count(&[0x0f, 0xae, 0xf0]), Some(0), "mfence");
    }

    #[test]
    fn images_masks_and_gathers_are_variable() {
        assert_eq!(count(&[0x0f, 0xae, 0x07]), None, "fxsave [rdi]");
        assert_eq!(count(&[0xdd, 0x37]), None, "fnsave [rdi]");
        assert_eq!(count(&[0xd9, 0x37]), None, "fnstenv [rdi]");
        assert_eq!(
            count(&[0x66, 0x0f, 0xf7, 0xc1]),
            None,
            "maskmovdqu xmm0,xmm1"
        );
        assert_eq!(
            count(&[0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x0f]),
            None,
            "vpgatherdd ymm0,[rdi+ymm1],ymm2"
        );
    }

    /// What the timing model shares out must be what the handlers record: random instructions, run for real.
    #[test]
    fn handlers_record_as_many_accesses_as_stated() {
        use crate::sim::isa::decode::{Features, decode};
        use crate::sim::isa::op::{Context, Flow};
        use crate::sim::isa::state::Cpu;
        use crate::sim::memory::{Backing, Memory, Protection, Purpose, Recorded};
        use std::collections::BTreeMap;

        const CODE: u64 = 0x10_0000;
        const DATA: u64 = 0x4000_0000;
        let mut mem = Memory::new(1 << 28);
        let all = Protection::READ_WRITE.union(Protection::EXECUTE);
        mem.map(CODE, 0x1000, all, Backing::Anonymous, Purpose::Anonymous);
        mem.map(
            DATA - 0x8_0000,
            0x10_0000,
            Protection::READ_WRITE,
            Backing::Anonymous,
            Purpose::Anonymous,
        );
        mem.set_recording(true);
        let mut cx = Context::new(Cpu::new(std::sync::Arc::new([])), mem);
        let mut seed = 0x2545_f491_4f6c_dd1du64;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let mut agreed: BTreeMap<String, u32> = BTreeMap::new();
        for _ in 0..300_000 {
            // A random opcode in each map, with the prefixes that choose among its forms, on a base register alone.
            let r = next();
            let mut bytes: Vec<u8> = Vec::new();
            bytes.extend([&[][..], &[0x66], &[0xf2], &[0xf3]][(r & 3) as usize]);
            bytes.extend([&[][..], &[0x48]][(r >> 2 & 1) as usize]);
            bytes.extend(
                [&[][..], &[0x0f], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]][(r >> 8) as usize % 5],
            );
            bytes.push((r >> 16) as u8);
            // ModRM: memory at [rsi] or [rdi] and any middle field, or registers.
            bytes.push(
                (r >> 24) as u8 & 0xf8 & if r >> 3 & 3 == 0 { 0xff } else { 0x3f }
                    | 6
                    | (r >> 32) as u8 & 1,
            );
            bytes.extend([0; 8]);
            let Some(instruction) = Decoder::with_ip(64, &bytes, CODE, DecoderOptions::NONE)
                .iter()
                .next()
            else {
                continue;
            };
            let Some(expected) = fixed_access_count(&instruction) else {
                continue;
            };
            if instruction.is_invalid() {
                continue;
            }
            cx.mem
                .copy_in(CODE, &bytes)
                .expect("the code page is mapped");
            for register in 0..16 {
                cx.cpu.gpr[register] = DATA + 16 * u64::from(register);
            }
            // Small, so that divisions do not overflow and bit offsets stay near.
            (cx.cpu.gpr[0], cx.cpu.gpr[2]) = (5, 0);
            cx.mem
                .copy_in(DATA + 16 * 6, &[3; 64])
                .expect("the data is mapped");
            cx.cpu.x87 = Default::default();
            cx.cpu.rip = CODE;
            let Ok(block) = decode::<Recorded>(&mut cx, CODE, Features::default(), 1) else {
                continue;
            };
            cx.mem.clear_accesses();
            let op = block.ops[0];
            if (op.handler)(&mut cx, &op) == Flow::Fault {
                continue;
            }
            assert_eq!(
                cx.mem.accesses().len(),
                usize::from(expected),
                "{instruction} ({:?}): {:x?}",
                instruction.code(),
                cx.mem.accesses()
            );
            if expected > 0 {
                *agreed
                    .entry(format!("{:?}", instruction.code()))
                    .or_default() += 1;
            }
        }
        assert!(
            agreed.len() > 300,
            "only {} codes with accesses ran",
            agreed.len()
        );
    }
}
