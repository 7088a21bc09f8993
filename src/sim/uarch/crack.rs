//! The micro-op table `hardware`: from an instruction to its micro-ops.
//!
//! The rule is plain, and ours: one micro-op for each memory operand loaded, one for each memory operand stored, one for
//! the change of control, and one for the computation, if there is any beyond moving the operand. So `add [m], r` is
//! three, `add r, [m]` two, `mov r, [m]` one, `push r` one, `call [m]` three. It follows what the decoders of current
//! processors deliver for the instructions that compilers emit (Intel's optimisation manual counts the same before
//! fusion, with address and data of a store fused); it does not follow the microcode of rare ones, which count as one.
//! The rules beyond it:
//!
//! - The stack pointer of PUSH, POP, CALL and RET is updated on the way (the stack engine of every current core).
//! - Operands above 64 bytes (FXSAVE, XSAVE, FNSAVE) are one micro-op for each 16 bytes; a gather is one load an element.
//! - `rep` is one micro-op, and for each iteration one for each load, store and comparison; pointers and the count are
//!   updated on the way. Without `rep`, a string instruction is its loads and stores and one computation.
//! - LOOP is a decrement and a branch. CMPXCHG counts its store whether or not the exchange succeeds.
use super::uop::{self, Uop, UopKind, flag_group};
use crate::sim::isa::accesses::is_repeated;
use iced_x86::{
    Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
    RflagsBits,
};
use std::sync::OnceLock;

/// Appends the micro-ops of `instruction`, the `index`-th of its block: to `once` those that happen when it retires, to
/// `each` those of one iteration of a `rep`.
pub fn crack(
    factory: &mut InstructionInfoFactory,
    instruction: &Instruction,
    index: u16,
    once: &mut Vec<Uop>,
    each: &mut Vec<Uop>,
) {
    let repeated = is_repeated(instruction);
    let kind = kind_of(instruction);
    let info = factory.info(instruction);
    let parts = Parts::of(instruction, info);
    let out = if repeated {
        let mut count = Uop::new(UopKind::IntAlu, 8, index);
        count.read(uop::gpr(1));
        count.write(uop::gpr(1));
        once.push(count);
        &mut *each
    } else {
        &mut *once
    };
    let moves_only = is_plain_move(instruction);
    let branch = kind == UopKind::Branch;
    let start = out.len();
    let mut temporaries = 0;

    for memory in info.used_memory() {
        if !reads(memory.access()) || kind == UopKind::Nop {
            continue;
        }
        let (count, width) = pieces(instruction, memory.memory_size().size(), is_gather(memory));
        for _ in 0..count {
            let mut load = Uop::new(UopKind::Load, width, index);
            address(&mut load, memory);
            // Loaded values meet in the computation through at most four names; images larger than that are one lump.
            load.write(uop::temporary(temporaries.min(3)));
            temporaries = (temporaries + 1).min(4);
            out.push(load);
        }
    }
    let loads = out.len() - start;
    let stores = info.used_memory().iter().any(|m| writes(m.access()));

    let compares = matches!(
        instruction.mnemonic(),
        Mnemonic::Scasb
            | Mnemonic::Scasw
            | Mnemonic::Scasd
            | Mnemonic::Scasq
            | Mnemonic::Cmpsb
            | Mnemonic::Cmpsw
            | Mnemonic::Cmpsd
            | Mnemonic::Cmpsq
    );
    let computes = if repeated {
        compares
    } else if branch {
        matches!(
            instruction.mnemonic(),
            Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne
        )
    } else {
        !(moves_only && (loads > 0 || stores))
    };
    let mut result = None;
    if computes {
        let work = if branch { UopKind::IntAlu } else { kind };
        let mut compute = Uop::new(work, parts.width, index);
        for i in 0..temporaries {
            compute.read(uop::temporary(i));
        }
        parts.data_sources.iter().for_each(|&r| compute.read(r));
        parts.destinations.iter().for_each(|&r| compute.write(r));
        compute.flags_read = parts.flags_read;
        compute.flags_written = parts.flags_written;
        if stores {
            compute.write(uop::temporary(3));
            result = Some(uop::temporary(3));
        }
        out.push(compute);
    }
    for memory in info.used_memory() {
        if !writes(memory.access()) || kind == UopKind::Nop {
            continue;
        }
        let (count, width) = pieces(instruction, memory.memory_size().size(), false);
        for _ in 0..count {
            let mut store = Uop::new(UopKind::Store, width, index);
            match result {
                Some(value) => store.read(value),
                None if loads > 0 => store.read(uop::temporary(0)),
                // A CALL stores the return address, which no register holds; its operand belongs to the branch.
                None if branch => {}
                None => parts.data_sources.iter().for_each(|&r| store.read(r)),
            }
            address(&mut store, memory);
            out.push(store);
        }
    }
    if branch {
        let mut jump = Uop::new(UopKind::Branch, 8, index);
        (0..temporaries).for_each(|i| jump.read(uop::temporary(i)));
        parts.data_sources.iter().for_each(|&r| jump.read(r));
        jump.flags_read = parts.flags_read;
        out.push(jump);
    }
    // Without a computation the last access writes the registers: the load of a move its destination, a push or a call
    // the stack pointer, which is updated on the way.
    let access = out[start..].iter_mut().rfind(|u| u.kind != UopKind::Branch);
    if !computes
        && !repeated
        && let Some(last) = access
    {
        if last.kind == UopKind::Load && !branch {
            last.destinations = [uop::NONE; 3];
        }
        parts.destinations.iter().for_each(|&r| last.write(r));
        last.flags_written = parts.flags_written;
    }
}

/// A few registers, each once. More than eight are cut: only CPUID, FXSAVE and the like have so many.
#[derive(Default)]
struct List {
    registers: [uop::Reg; 8],
    len: usize,
}

impl List {
    fn push(&mut self, register: uop::Reg) {
        if self.len < self.registers.len() && !self.iter().any(|&r| r == register) {
            self.registers[self.len] = register;
            self.len += 1;
        }
    }

    fn iter(&self) -> std::slice::Iter<'_, uop::Reg> {
        self.registers[..self.len].iter()
    }
}

/// What an instruction reads and writes besides memory and the registers of its addresses.
struct Parts {
    data_sources: List,
    destinations: List,
    flags_read: u8,
    flags_written: u8,
    width: u8,
}

impl Parts {
    fn of(instruction: &Instruction, info: &InstructionInfo) -> Self {
        let in_address = |register: Register| {
            info.used_memory()
                .iter()
                .filter(|m| reads(m.access()) || writes(m.access()))
                .flat_map(|m| [m.base(), m.index()])
                .any(|part| uop::number(part) == uop::number(register))
        };
        let explicit = |register: Register| {
            (0..instruction.op_count()).any(|i| {
                instruction.op_kind(i) == OpKind::Register
                    && reads(info.op_access(i))
                    && uop::number(instruction.op_register(i)) == uop::number(register)
            })
        };
        let mut parts = Self {
            data_sources: List::default(),
            destinations: List::default(),
            flags_read: groups(instruction.rflags_read()),
            flags_written: groups(instruction.rflags_modified()),
            width: width(instruction),
        };
        for used in info.used_registers() {
            let Some(number) = uop::number(used.register()) else {
                continue;
            };
            // A register that is merged into (8- and 16-bit writes, conditional ones) is a source by iced's access too.
            let wanted = explicit(used.register()) || !in_address(used.register());
            if reads(used.access()) && wanted {
                parts.data_sources.push(number);
            }
            if writes(used.access()) {
                parts.destinations.push(number);
            }
        }
        parts
    }
}

fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn address(micro_op: &mut Uop, memory: &iced_x86::UsedMemory) {
    for register in [memory.base(), memory.index()] {
        if let Some(number) = uop::number(register) {
            micro_op.read(number);
        }
    }
    if matches!(memory.segment(), Register::FS | Register::GS)
        && let Some(number) = uop::number(memory.segment())
    {
        micro_op.read(number);
    }
}

fn is_gather(memory: &iced_x86::UsedMemory) -> bool {
    memory.vsib_size() != 0
}

/// How many micro-ops move a memory operand, and their width in bytes.
fn pieces(instruction: &Instruction, size: usize, gather: bool) -> (usize, u8) {
    if gather {
        let elements = usize::from(width(instruction)) / size.max(1);
        return (elements.max(1), size as u8);
    }
    match size {
        // iced gives no size where the count decides: an iteration moves one element.
        0 if instruction.is_string_instruction() => (1, instruction.memory_size().size() as u8),
        // Nor for images: the legacy region and the header of XSAVE are 576 bytes.
        0 => (36, 16),
        1..=64 => (1, size as u8),
        _ => (size.div_ceil(16), 16),
    }
}

fn width(instruction: &Instruction) -> u8 {
    let size = match instruction.op_count() {
        0 => 8,
        _ if instruction.op0_kind() == OpKind::Register => instruction.op0_register().size(),
        _ => instruction.memory_size().size(),
    };
    size.min(64) as u8
}

fn groups(rflags: u32) -> u8 {
    let mut mask = 0;
    if rflags & (RflagsBits::ZF | RflagsBits::AF | RflagsBits::PF | RflagsBits::SF) != 0 {
        mask |= flag_group::ZAPS;
    }
    for (bit, group) in [
        (RflagsBits::CF, flag_group::CF),
        (RflagsBits::OF, flag_group::OF),
        (RflagsBits::DF, flag_group::DF),
    ] {
        if rflags & bit != 0 {
            mask |= group;
        }
    }
    mask
}

/// Moves of an operand, whose load or store is the whole work.
fn is_plain_move(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    if instruction.is_string_instruction() {
        return false;
    }
    matches!(
        instruction.mnemonic(),
        Mov | Movzx
            | Movsx
            | Movsxd
            | Movnti
            | Push
            | Pop
            | Xlatb
            | Movaps
            | Movapd
            | Movups
            | Movupd
            | Movdqa
            | Movdqu
            | Lddqu
            | Movd
            | Movq
            | Movss
            | Movsd
            | Movntdq
            | Movntdqa
            | Movntps
            | Movntpd
            | Movntq
            | Movddup
            | Movshdup
            | Movsldup
            | Movlps
            | Movlpd
            | Movhps
            | Movhpd
            | Vmovaps
            | Vmovapd
            | Vmovups
            | Vmovupd
            | Vmovdqa
            | Vmovdqu
            | Vlddqu
            | Vmovd
            | Vmovq
            | Vmovss
            | Vmovsd
            | Vmovntdq
            | Vmovntdqa
            | Vmovntps
            | Vmovntpd
            | Vmovddup
            | Vmovshdup
            | Vmovsldup
            | Vbroadcastss
            | Vbroadcastsd
            | Vbroadcastf128
            | Vbroadcasti128
            | Fld
            | Fst
            | Fstp
    ) && !merges_half(instruction)
}

/// MOVLPS and MOVHPS from memory keep the other half of the register: a load and a blend.
fn merges_half(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    matches!(instruction.mnemonic(), Movlps | Movlpd | Movhps | Movhpd)
        && instruction.op0_kind() == OpKind::Register
}

/// Near branches: what the predictor sees. SYSCALL, INT and far transfers are not among them.
pub fn is_branch(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    instruction.is_jcc_short_or_near()
        || matches!(
            instruction.mnemonic(),
            Jmp | Call | Ret | Loop | Loope | Loopne | Jrcxz | Jecxz | Jcxz
        ) && !instruction.is_jmp_far()
            && !instruction.is_jmp_far_indirect()
            && !instruction.is_call_far()
            && !instruction.is_call_far_indirect()
}

/// The kind of the computation of an instruction; [`UopKind::Branch`] for branches.
fn kind_of(instruction: &Instruction) -> UopKind {
    if is_branch(instruction) {
        return UopKind::Branch;
    }
    if instruction.is_string_instruction() {
        return UopKind::IntAlu;
    }
    static KINDS: OnceLock<Vec<UopKind>> = OnceLock::new();
    let kinds = KINDS.get_or_init(|| {
        Mnemonic::values()
            .map(|mnemonic| classify(&format!("{mnemonic:?}").to_lowercase()))
            .collect()
    });
    kinds[instruction.mnemonic() as usize]
}

/// The kind by the mnemonic: AMD and Intel name instructions so regularly that rules on names are shorter, and easier to
/// check, than a table of two thousand rows.
fn classify(name: &str) -> UopKind {
    use UopKind::*;
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    match name {
        "nop" | "reservednop" | "endbr64" | "endbr32" => return Nop,
        "mfence" | "lfence" | "sfence" | "pause" => return Fence,
        "mul" | "imul" | "mulx" => return IntMultiply,
        "div" | "idiv" => return IntDivide,
        "bsf" | "bsr" | "lzcnt" | "tzcnt" | "popcnt" | "crc32" | "pdep" | "pext" => return IntBits,
        "shl" | "shr" | "sal" | "sar" | "rol" | "ror" | "rcl" | "rcr" | "shld" | "shrd"
        | "shlx" | "shrx" | "sarx" | "rorx" => return IntShift,
        "cpuid" | "syscall" | "rdtsc" | "rdtscp" | "rdpmc" | "xgetbv" | "ldmxcsr" | "stmxcsr"
        | "vldmxcsr" | "vstmxcsr" | "rdrand" | "rdseed" | "rdfsbase" | "rdgsbase" | "wrfsbase"
        | "wrgsbase" | "emms" => {
            return System;
        }
        "push" | "pop" | "pushfq" | "popfq" | "pushf" | "popf" => return IntAlu,
        _ => {}
    }
    if starts(&["prefetch", "clflush", "clwb", "cldemote"]) {
        return Nop;
    }
    if starts(&[
        "fxsave", "fxrstor", "xsave", "xrstor", "fnsave", "frstor", "fnstenv", "fldenv", "fldcw",
        "fnstcw",
    ]) {
        return System;
    }
    if name.starts_with('f') {
        return x87_kind(name);
    }
    let vex = name.starts_with('v') && !starts(&["ver", "vm"])
        || starts(&["vmov", "vmask", "vmul", "vmin", "vmax", "vmpsadbw"]);
    let name = if vex { &name[1..] } else { name };
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if starts(&["pcmpestr", "pcmpistr"]) {
        return VectorString;
    }
    if starts(&["fmadd", "fmsub", "fnmadd", "fnmsub"]) {
        return FloatMultiplyAdd;
    }
    let float = ["ps", "pd", "ss", "sd"]
        .iter()
        .any(|suffix| name.ends_with(suffix));
    if starts(&["cvt"]) {
        return FloatConvert;
    }
    if float && !starts(&["p", "movs", "mova", "movu"]) {
        let kind = if starts(&[
            "add", "sub", "hadd", "hsub", "max", "min", "cmp", "comi", "ucomi", "round", "dpp",
        ]) {
            FloatAdd
        } else if starts(&["mul", "rcp", "rsqrt"]) {
            FloatMultiply
        } else if starts(&["div"]) {
            FloatDivide
        } else if starts(&["sqrt"]) {
            FloatSqrt
        } else if starts(&["and", "or", "xor", "test"]) {
            VectorAlu
        } else if starts(&[
            "unpck",
            "shuf",
            "blend",
            "insert",
            "extract",
            "perm",
            "broadcast",
            "movhl",
            "movlh",
        ]) {
            VectorShuffle
        } else if starts(&["mov", "maskmov"]) {
            VectorMove
        } else {
            IntAlu
        };
        return kind;
    }
    if starts(&[
        "pmul", "pmadd", "psadbw", "pclmul", "aes", "sha", "mpsadbw", "phminpos",
    ]) {
        return VectorMultiply;
    }
    if starts(&[
        "pshuf",
        "punpck",
        "pack",
        "palignr",
        "pinsr",
        "pextr",
        "pblend",
        "perm",
        "pmovsx",
        "pmovzx",
        "pslldq",
        "psrldq",
        "insert",
        "extract",
        "broadcast",
        "pbroadcast",
        "movddup",
        "movshdup",
        "movsldup",
    ]) {
        return VectorShuffle;
    }
    if starts(&[
        "mova", "movu", "movd", "movq", "movss", "movsd", "movnt", "lddqu", "pmovmskb", "maskmov",
    ]) && !starts(&["movsx"])
    {
        return VectorMove;
    }
    if name.starts_with('p') {
        return VectorAlu;
    }
    IntAlu
}

fn x87_kind(name: &str) -> UopKind {
    use UopKind::*;
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if starts(&[
        "fsin", "fcos", "fptan", "fpatan", "f2xm1", "fyl2x", "fprem", "fbld", "fbstp", "fscale",
        "fxtract",
    ]) {
        Transcendental
    } else if starts(&["fdiv", "fidiv"]) {
        FloatDivide
    } else if starts(&["fsqrt"]) {
        FloatSqrt
    } else if starts(&["fmul", "fimul"]) {
        FloatMultiply
    } else if starts(&["fild", "fist", "frndint"]) {
        FloatConvert
    } else if starts(&[
        "fadd", "fiadd", "fsub", "fisub", "fcom", "fucom", "ficom", "ftst", "fxam",
    ]) {
        FloatAdd
    } else {
        VectorMove
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use UopKind::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn cracked(bytes: &[u8]) -> (Vec<Uop>, Vec<Uop>) {
        let mut decoder = Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE);
        let instruction = decoder.decode();
        assert!(
            !instruction.is_invalid() && decoder.position() == bytes.len(),
            "{bytes:02x?}"
        );
        let (mut once, mut each) = (Vec::new(), Vec::new());
        crack(
            &mut InstructionInfoFactory::new(),
            &instruction,
            3,
            &mut once,
            &mut each,
        );
        (once, each)
    }
    fn kinds(bytes: &[u8]) -> Vec<UopKind> {
        cracked(bytes).0.iter().map(|u| u.kind).collect()
    }

    #[test]
    fn an_instruction_is_its_loads_its_computation_and_its_stores() {
        assert_eq!(kinds(&[0x48, 0x01, 0xc8]), [IntAlu], "add rax,rcx");
        assert_eq!(kinds(&[0x48, 0x03, 0x07]), [Load, IntAlu], "add rax,[rdi]");
        assert_eq!(
            kinds(&[0x48, 0x01, 0x07]),
            [Load, IntAlu, Store],
            "add [rdi],rax"
        );
        assert_eq!(kinds(&[0x48, 0x8b, 0x07]), [Load], "mov rax,[rdi]");
        assert_eq!(kinds(&[0x48, 0x89, 0x07]), [Store], "mov [rdi],rax");
        assert_eq!(kinds(&[0x48, 0x89, 0xc7]), [IntAlu], "mov rdi,rax");
        assert_eq!(kinds(&[0x0f, 0xb6, 0x07]), [Load], "movzx eax,byte [rdi]");
        assert_eq!(kinds(&[0x48, 0x39, 0x07]), [Load, IntAlu], "cmp [rdi],rax");
        assert_eq!(
            kinds(&[0x48, 0x87, 0x07]),
            [Load, IntAlu, Store],
            "xchg [rdi],rax"
        );
        assert_eq!(kinds(&[0x0f, 0x94, 0x07]), [IntAlu, Store], "sete [rdi]");
        assert_eq!(kinds(&[0x48, 0x8d, 0x07]), [IntAlu], "lea rax,[rdi]");
        assert_eq!(kinds(&[0x0f, 0x1f, 0x07]), [Nop], "nop [rdi]");
        assert_eq!(
            kinds(&[0x48, 0x0f, 0x44, 0x07]),
            [Load, IntAlu],
            "cmove rax,[rdi]"
        );
    }

    #[test]
    fn the_stack_and_branches() {
        assert_eq!(kinds(&[0x50]), [Store], "push rax");
        assert_eq!(kinds(&[0x58]), [Load], "pop rax");
        assert_eq!(kinds(&[0xff, 0x37]), [Load, Store], "push qword [rdi]");
        assert_eq!(kinds(&[0xe8, 0, 0, 0, 0]), [Store, Branch], "call rel32");
        assert_eq!(kinds(&[0xff, 0x17]), [Load, Store, Branch], "call [rdi]");
        assert_eq!(kinds(&[0xff, 0xe0]), [Branch], "jmp rax");
        assert_eq!(kinds(&[0xff, 0x27]), [Load, Branch], "jmp [rdi]");
        assert_eq!(kinds(&[0xc3]), [Load, Branch], "ret");
        assert_eq!(kinds(&[0xc9]), [Load, IntAlu], "leave");
        assert_eq!(kinds(&[0x75, 0]), [Branch], "jne");
        assert_eq!(kinds(&[0xe2, 0]), [IntAlu, Branch], "loop");
        assert_eq!(kinds(&[0xe3, 0]), [Branch], "jrcxz");
        assert_eq!(kinds(&[0x0f, 0x05]), [System], "syscall");
    }

    #[test]
    fn a_repeat_costs_by_iteration() {
        let of = |bytes: &[u8]| -> (usize, Vec<UopKind>) {
            let (once, each) = cracked(bytes);
            (once.len(), each.iter().map(|u| u.kind).collect())
        };
        assert_eq!(of(&[0xf3, 0xa4]), (1, vec![Load, Store]), "rep movsb");
        assert_eq!(of(&[0xf3, 0x48, 0xab]), (1, vec![Store]), "rep stosq");
        assert_eq!(of(&[0xf2, 0xae]), (1, vec![Load, IntAlu]), "repne scasb");
        assert_eq!(
            of(&[0xf3, 0xa6]),
            (1, vec![Load, Load, IntAlu]),
            "repe cmpsb"
        );
        assert_eq!(of(&[0xa4]), (3, vec![]), "movsb: load, pointers, store");
        assert_eq!(of(&[0xaa]), (2, vec![]), "stosb");
    }

    #[test]
    fn kinds_of_work() {
        assert_eq!(kinds(&[0x48, 0xf7, 0xf1]), [IntDivide], "div rcx");
        assert_eq!(
            kinds(&[0x48, 0x0f, 0xaf, 0xc1]),
            [IntMultiply],
            "imul rax,rcx"
        );
        assert_eq!(kinds(&[0x48, 0xd3, 0xe0]), [IntShift], "shl rax,cl");
        assert_eq!(
            kinds(&[0xf3, 0x48, 0x0f, 0xb8, 0xc1]),
            [IntBits],
            "popcnt rax,rcx"
        );
        assert_eq!(
            kinds(&[0xf2, 0x0f, 0x58, 0x07]),
            [Load, FloatAdd],
            "addsd xmm0,[rdi]"
        );
        assert_eq!(kinds(&[0xf2, 0x0f, 0x59, 0xc1]), [FloatMultiply], "mulsd");
        assert_eq!(kinds(&[0xf2, 0x0f, 0x5e, 0xc1]), [FloatDivide], "divsd");
        assert_eq!(kinds(&[0x0f, 0x51, 0xc1]), [FloatSqrt], "sqrtps");
        assert_eq!(kinds(&[0x66, 0x0f, 0x2e, 0xc1]), [FloatAdd], "ucomisd");
        assert_eq!(
            kinds(&[0xf2, 0x48, 0x0f, 0x2a, 0xc1]),
            [FloatConvert],
            "cvtsi2sd"
        );
        assert_eq!(
            kinds(&[0x66, 0x0f, 0x6f, 0x07]),
            [Load],
            "movdqa xmm0,[rdi]"
        );
        assert_eq!(
            kinds(&[0x66, 0x0f, 0x6f, 0xc1]),
            [VectorMove],
            "movdqa xmm0,xmm1"
        );
        assert_eq!(kinds(&[0x66, 0x0f, 0xd7, 0xc1]), [VectorMove], "pmovmskb");
        assert_eq!(kinds(&[0x66, 0x0f, 0xfe, 0xc1]), [VectorAlu], "paddd");
        assert_eq!(kinds(&[0x66, 0x0f, 0xef, 0xc1]), [VectorAlu], "pxor");
        assert_eq!(kinds(&[0x0f, 0x57, 0xc1]), [VectorAlu], "xorps");
        assert_eq!(
            kinds(&[0x66, 0x0f, 0x70, 0xc1, 0]),
            [VectorShuffle],
            "pshufd"
        );
        assert_eq!(
            kinds(&[0x66, 0x0f, 0xf4, 0xc1]),
            [VectorMultiply],
            "pmuludq"
        );
        assert_eq!(
            kinds(&[0x66, 0x0f, 0x3a, 0x63, 0xc1, 0]),
            [VectorString],
            "pcmpistri"
        );
        assert_eq!(kinds(&[0xd9, 0xfe]), [Transcendental], "fsin");
        assert_eq!(kinds(&[0xdc, 0x07]), [Load, FloatAdd], "fadd qword [rdi]");
        assert_eq!(kinds(&[0xde, 0xf9]), [FloatDivide], "fdivp");
        assert_eq!(kinds(&[0xdd, 0x07]), [Load], "fld qword [rdi]");
        assert_eq!(
            kinds(&[0xdf, 0x2f]),
            [Load, FloatConvert],
            "fild qword [rdi]"
        );
        assert_eq!(kinds(&[0x0f, 0xa2]), [System], "cpuid");
        assert_eq!(kinds(&[0x0f, 0xae, 0xf0]), [Fence], "mfence");
        assert_eq!(
            kinds(&[0x0f, 0x16, 0x07]),
            [Load, VectorMove],
            "movhps xmm0,[rdi]"
        );
        assert_eq!(kinds(&[0x0f, 0x17, 0x07]), [Store], "movhps [rdi],xmm0");
        let image = kinds(&[0x0f, 0xae, 0x07]);
        assert_eq!(
            image.iter().filter(|&&k| k == Store).count(),
            32,
            "fxsave: 512 bytes"
        );
    }

    #[test]
    fn values_flow_from_load_to_computation_to_store() {
        let (uops, _) = cracked(&[0x48, 0x11, 0x44, 0x37, 8]); // adc [rdi+rsi+8],rax
        let [load, compute, store] = uops[..] else {
            panic!("three micro-ops: {uops:?}");
        };
        assert_eq!(
            load.sources,
            [uop::gpr(7), uop::gpr(6), uop::NONE, uop::NONE]
        );
        assert_eq!(load.destinations, [uop::temporary(0), uop::NONE, uop::NONE]);
        assert_eq!(
            compute.sources,
            [uop::temporary(0), uop::gpr(0), uop::NONE, uop::NONE]
        );
        assert_eq!(
            compute.destinations,
            [uop::temporary(3), uop::NONE, uop::NONE]
        );
        assert_eq!(compute.flags_read, flag_group::CF);
        assert_eq!(
            compute.flags_written,
            flag_group::ZAPS | flag_group::CF | flag_group::OF
        );
        assert_eq!(
            store.sources,
            [uop::temporary(3), uop::gpr(7), uop::gpr(6), uop::NONE]
        );
        assert_eq!((load.width, store.width, load.instruction), (8, 8, 3));
    }

    #[test]
    fn moves_name_their_registers_and_the_stack_pointer() {
        let (uops, _) = cracked(&[0x48, 0x8b, 0x07]); // mov rax,[rdi]
        assert_eq!(uops[0].sources[..2], [uop::gpr(7), uop::NONE]);
        assert_eq!(uops[0].destinations[..2], [uop::gpr(0), uop::NONE]);
        let (uops, _) = cracked(&[0x50]); // push rax
        assert_eq!(uops[0].sources[..3], [uop::gpr(0), uop::gpr(4), uop::NONE]);
        assert_eq!(uops[0].destinations[..2], [uop::gpr(4), uop::NONE]);
        let (uops, _) = cracked(&[0x5b]); // pop rbx
        assert_eq!(uops[0].sources[..2], [uop::gpr(4), uop::NONE]);
        let mut written = uops[0].destinations;
        written.sort_unstable();
        assert_eq!(written, [uop::gpr(3), uop::gpr(4), uop::NONE]);
        let (uops, _) = cracked(&[0x48, 0x8d, 0x04, 0x37]); // lea rax,[rdi+rsi]
        assert_eq!(uops[0].sources[..3], [uop::gpr(7), uop::gpr(6), uop::NONE]);
        let (uops, _) = cracked(&[0xff, 0xd0]); // call rax
        assert_eq!(uops[0].destinations[..2], [uop::gpr(4), uop::NONE]);
        assert_eq!(uops[0].sources[..2], [uop::gpr(4), uop::NONE]);
        assert_eq!(uops[1].destinations[0], uop::NONE);
        let (uops, _) = cracked(&[0xc3]); // ret
        assert_eq!(uops[0].destinations[..2], [uop::temporary(0), uop::gpr(4)]);
        assert_eq!(uops[1].sources[0], uop::temporary(0));
        let (uops, _) = cracked(&[0x31, 0xc0]); // xor eax,eax depends on nothing
        assert_eq!(uops[0].sources[0], uop::NONE);
        let (uops, _) = cracked(&[0x48, 0xf7, 0xe1]); // mul rcx
        let mut written = uops[0].destinations;
        written.sort_unstable();
        assert_eq!(written, [uop::gpr(0), uop::gpr(2), uop::NONE]);
    }
}
