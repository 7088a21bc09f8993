//! Sequences of instructions that run as blocks: what one instruction leaves for the next, and where blocks end.
use super::campaign::{Pair, run_code, same_ending};
use super::catalog::{Standing, catalog};
use super::compare::{disassembly, hex, image_differences, rflags, shifts, undefined_flags};
use super::generate::{Anchors, Generator, decode, encode, gpr};
use super::guest::{GuestEnding, Path};
use super::host::EXIT_SIZE;
use super::image::{CODE, CODE_SIZE, DATA, DATA_SIZE, Ending, Image, Trap};
use super::random::Random;
use iced_x86::{
    Code, ConditionCode, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};
use std::fmt::Write;

const RSP: u8 = 4;
/// The flags that undefinedness is tracked for.
const STATUS: u64 = 0x8d5;

/// One instruction of a sequence.
#[derive(Clone, Copy, Debug)]
enum Item {
    /// Goes on with the next one.
    Plain(Instruction),
    /// A branch over this many of the following ones.
    Skip(Instruction, usize),
    /// A conditional branch back to the first one.
    Back(Instruction),
}

impl Item {
    fn instruction(&self) -> &Instruction {
        match self {
            Self::Plain(insn) | Self::Skip(insn, _) | Self::Back(insn) => insn,
        }
    }
}

/// Follows which flags are undefined along a sequence.
#[derive(Clone, Debug, Default)]
struct Undefined {
    now: u64,
    /// What arrives at later instructions from branches.
    arriving: Vec<(usize, u64)>,
}

impl Undefined {
    /// The flags that are undefined before instruction `i`.
    fn arrive(&mut self, i: usize) -> u64 {
        let now = &mut self.now;
        self.arriving.retain(|(at, bits)| {
            if *at == i {
                *now |= bits;
            }
            *at > i
        });
        self.now
    }

    /// False if instruction `i` would read an undefined flag.
    fn step(&mut self, i: usize, item: &Item) -> bool {
        let insn = item.instruction();
        if rflags(insn.rflags_read()) & self.arrive(i) != 0 {
            return false;
        }
        match item {
            Item::Skip(_, over) => self.arriving.push((i + 1 + over, self.now)),
            Item::Back(_) => {}
            Item::Plain(_) => {
                let counted = shifts(insn.mnemonic())
                    && insn.op_kind(insn.op_count() - 1) == OpKind::Register
                    && insn.op_register(insn.op_count() - 1) == Register::CL;
                if counted && insn.rflags_modified() != 0 {
                    // By CL: any count, hence all that some count leaves undefined, and nothing is surely written.
                    self.now |=
                        STATUS & rflags(insn.rflags_undefined() | insn.rflags_modified()) & 0x811;
                    return true;
                }
                if insn.is_string_instruction() {
                    // With a count of 0, a comparison writes nothing.
                    return true;
                }
                // The count is an immediate (or there is none): registers do not matter.
                let open = undefined_flags(insn, &Image::default());
                self.now = self.now & !rflags(insn.rflags_modified()) | open & STATUS;
            }
        }
        true
    }
}

/// A sequence with its inputs.
#[derive(Clone, Debug)]
struct Sequence {
    items: Vec<Item>,
    entry: u64,
    image: Image,
    data: Vec<u8>,
}

/// A sequence as bytes.
struct Assembled {
    bytes: Vec<u8>,
    instructions: Vec<Instruction>,
    /// Flags undefined before each instruction, and at the end.
    undefined: Vec<u64>,
}

impl Sequence {
    /// `None` if an instruction reads an undefined flag or does not encode.
    fn assemble(&self) -> Option<Assembled> {
        let mut undefined = Undefined::default();
        let mut open = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            open.push(undefined.arrive(i));
            if !undefined.step(i, item) {
                return None;
            }
        }
        undefined
            .arriving
            .iter_mut()
            .for_each(|(at, _)| *at = self.items.len());
        open.push(undefined.arrive(self.items.len()));
        let mut starts = vec![self.entry];
        for item in &self.items {
            let at = *starts.last()?;
            let mut insn = *item.instruction();
            if !matches!(item, Item::Plain(_)) {
                insn.set_near_branch64(at);
            }
            starts.push(at + encode(&insn, at)?.len() as u64);
        }
        let mut bytes = Vec::new();
        let mut instructions = Vec::new();
        for (i, item) in self.items.iter().enumerate() {
            let mut insn = *item.instruction();
            match item {
                Item::Plain(_) => {}
                Item::Skip(_, over) => {
                    insn.set_near_branch64(starts[(i + 1 + over).min(self.items.len())])
                }
                Item::Back(_) => insn.set_near_branch64(self.entry),
            }
            let encoded = encode(&insn, starts[i])?;
            if encoded.len() as u64 != starts[i + 1] - starts[i] {
                return None;
            }
            instructions.push(decode(&encoded, starts[i]));
            bytes.extend(encoded);
        }
        Some(Assembled {
            bytes,
            instructions,
            undefined: open,
        })
    }
}

/// The codes that sequences are made of.
pub(crate) struct Composer {
    hot: Vec<Generator>,
    integer: Vec<Generator>,
    vector: Vec<Generator>,
    branches: Vec<Code>,
    factory: InstructionInfoFactory,
    /// Distinct codes.
    pub(crate) codes: usize,
}

impl Composer {
    /// Sequences of the codes that the simulator implements.
    pub(crate) fn new(pair: &mut Pair) -> Self {
        let mut out = Self {
            hot: Vec::new(),
            integer: Vec::new(),
            vector: Vec::new(),
            branches: Vec::new(),
            factory: InstructionInfoFactory::new(),
            codes: 0,
        };
        for (code, standing) in catalog() {
            if standing != Standing::Exact || !fits_sequences(code) {
                continue;
            }
            if run_code(pair, code, standing, 0, 2).unsupported > 0 {
                continue;
            }
            out.codes += 1;
            let mut probe = Instruction::default();
            probe.set_code(code);
            if probe.flow_control() == FlowControl::ConditionalBranch
                || code.mnemonic() == Mnemonic::Jmp
            {
                out.branches.push(code);
            } else if is_hot(&probe) {
                out.hot.push(Generator::new(code));
            } else if format!("{code:?}").contains("mm") {
                out.vector.push(Generator::new(code));
            } else {
                out.integer.push(Generator::new(code));
            }
        }
        out
    }

    /// Sequence number `index` of a seed.
    fn compose(&mut self, seed: u64, index: u64) -> Sequence {
        let mut rng = Random::derived(seed ^ 0x5e90_e4ce, index);
        let rng = &mut rng;
        // Three registers of the sixteen that are not RSP stay as they are, and a fourth counts iterations.
        let mut free: Vec<u8> = (0..16).filter(|&i| i != RSP).collect();
        let mut take = |rng: &mut Random| free.swap_remove(rng.below(free.len() as u64) as usize);
        let place = |rng: &mut Random| DATA + 0x800 + (rng.below(0x1800) & !15);
        let anchors = Anchors {
            bases: [(take(rng), place(rng)), (take(rng), place(rng))],
            index: (take(rng), rng.below(5) * 16),
            astray: if rng.percent(8) { 10 } else { 0 },
        };
        let counter = take(rng);
        let reserved = [
            anchors.bases[0].0,
            anchors.bases[1].0,
            anchors.index.0,
            counter,
            RSP,
        ];
        let length = 8 + rng.below(25) as usize;
        let looped = rng.percent(30);
        let mut items: Vec<Item> = Vec::new();
        let mut undefined = Undefined::default();
        let body = if looped { length - 2 } else { length };
        let mut refused = 0;
        while items.len() < body && refused < 1000 {
            let room = body - items.len();
            let Some(more) = self.draw(rng, &anchors, &reserved, room) else {
                refused += 1;
                continue;
            };
            let mut after = undefined.clone();
            if more
                .iter()
                .enumerate()
                .all(|(k, item)| after.step(items.len() + k, item))
            {
                undefined = after;
                items.extend(more);
            } else {
                refused += 1;
            }
        }
        if looped {
            // `sub` defines every flag, so that a second iteration starts like the first.
            let mut count = Instruction::default();
            count.set_code(Code::Sub_rm64_imm8);
            count.set_op0_kind(OpKind::Register);
            count.set_op0_register(gpr(8, counter.into()));
            count.set_op1_kind(OpKind::Immediate8to64);
            count.set_immediate8to64(1);
            items.push(Item::Plain(count));
            let mut back = Instruction::default();
            back.set_code(Code::Jne_rel32_64);
            back.set_op0_kind(OpKind::NearBranch64);
            items.push(Item::Back(back));
            // A branch over the end of the body must not leave the counter out.
            let end = items.len() - 2;
            for (i, item) in items[..end].iter_mut().enumerate() {
                if let Item::Skip(_, over) = item {
                    *over = (*over).min(end - i - 1);
                }
            }
        }
        let mut image = self.hot[0].registers(rng, &[None; 16]);
        for (register, value) in anchors.bases {
            image.gpr[usize::from(register)] = value;
        }
        image.gpr[usize::from(anchors.index.0)] = anchors.index.1;
        image.gpr[usize::from(counter)] = 1 + rng.below(4);
        image.gpr[usize::from(RSP)] = DATA + 0x1800 + (rng.below(0x100) & !7);
        if rng.percent(95) {
            image.set_mxcsr(image.mxcsr() | 0x1f80);
        }
        // Pending x87 exceptions would stop the first MMX instruction.
        image.set_control_word(image.control_word() | 0x3f);
        image.set_status_word(image.status_word() & !0x8080);
        let data = (0..DATA_SIZE / 8)
            .flat_map(|_| rng.next().to_le_bytes())
            .collect();
        Sequence {
            items,
            entry: CODE + rng.below(CODE_SIZE - 0x800),
            image,
            data,
        }
    }

    /// One to five instructions that belong together, or `None` if the draw does not fit.
    fn draw(
        &mut self,
        rng: &mut Random,
        anchors: &Anchors,
        reserved: &[u8],
        room: usize,
    ) -> Option<Vec<Item>> {
        let kind = rng.below(100);
        if kind < 3 && room >= 5 {
            return repeated_string(rng, anchors, reserved);
        }
        if kind < 15 && room >= 2 {
            // Often right behind a comparison, as compilers emit it, so that the two are fused.
            let mut out = Vec::new();
            if rng.percent(60) {
                let code = rng.pick(&[
                    Code::Cmp_rm64_r64,
                    Code::Cmp_rm32_r32,
                    Code::Cmp_rm8_imm8,
                    Code::Cmp_rm64_imm8,
                    Code::Test_rm64_r64,
                    Code::Test_rm32_r32,
                    Code::Test_rm8_r8,
                    Code::Sub_rm64_r64,
                    Code::And_rm32_imm8,
                    Code::Dec_rm32,
                ]);
                let insn = Generator::new(code).anchored(rng, anchors)?;
                out.push(Item::Plain(self.kept(insn, reserved)?));
            }
            let mut branch = Instruction::default();
            branch.set_code(rng.pick(&self.branches));
            branch.set_op0_kind(OpKind::NearBranch64);
            out.push(Item::Skip(branch, rng.below(4) as usize));
            return Some(out);
        }
        let pool = match kind {
            0..50 => &self.hot,
            50..75 => &self.integer,
            _ => &self.vector,
        };
        let generator = &pool[rng.below(pool.len() as u64) as usize];
        let insn = generator.anchored(rng, anchors)?;
        // Most divisions fault, which ends the sequence.
        if matches!(insn.mnemonic(), Mnemonic::Div | Mnemonic::Idiv) && !rng.percent(5) {
            return None;
        }
        Some(vec![Item::Plain(self.kept(insn, reserved)?)])
    }

    /// The instruction, if it leaves the reserved registers alone and its result is defined.
    fn kept(&mut self, insn: Instruction, reserved: &[u8]) -> Option<Instruction> {
        if matches!(
            insn.code(),
            Code::Shld_rm16_r16_imm8 | Code::Shrd_rm16_r16_imm8
        ) && insn.immediate8() & 31 > 16
        {
            return None;
        }
        if decode(&encode(&insn, CODE)?, CODE).code() != insn.code() {
            return None;
        }
        let stack = insn.is_stack_instruction();
        // `pop` into the stack pointer.
        if stack
            && insn.op_count() > 0
            && insn.op0_kind() == OpKind::Register
            && insn.op0_register().full_register() == Register::RSP
        {
            return None;
        }
        let writes = |access| {
            matches!(
                access,
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            )
        };
        let bad = self
            .factory
            .info(&insn)
            .used_registers()
            .iter()
            .any(|used| {
                let full = used.register().full_register();
                full.is_gpr64()
                    && writes(used.access())
                    && !(stack && full == Register::RSP)
                    && reserved.contains(&((full as u32 - Register::RAX as u32) as u8))
            });
        (!bad).then_some(insn)
    }
}

/// `mov ecx, n; lea rdi, ..; lea rsi, ..; [cld;] rep op`
fn repeated_string(rng: &mut Random, anchors: &Anchors, reserved: &[u8]) -> Option<Vec<Item>> {
    if [0, 1, 6, 7].iter().any(|r| reserved.contains(r)) {
        return None;
    }
    let quiet = Anchors {
        astray: 0,
        ..*anchors
    };
    let mut out = Vec::new();
    let mut count = Instruction::default();
    count.set_code(Code::Mov_r32_imm32);
    count.set_op0_kind(OpKind::Register);
    count.set_op0_register(Register::ECX);
    count.set_op1_kind(OpKind::Immediate32);
    count.set_immediate32(rng.below(21) as u32);
    out.push(Item::Plain(count));
    for register in [Register::RDI, Register::RSI] {
        let mut insn = Generator::new(Code::Lea_r64_m).anchored(rng, &quiet)?;
        insn.set_op0_register(register);
        out.push(Item::Plain(insn));
    }
    if rng.percent(30) {
        let mut insn = Instruction::default();
        insn.set_code(rng.pick(&[Code::Cld, Code::Std]));
        out.push(Item::Plain(insn));
    }
    let code = rng.pick(&[
        Code::Movsb_m8_m8,
        Code::Movsw_m16_m16,
        Code::Movsd_m32_m32,
        Code::Movsq_m64_m64,
        Code::Stosb_m8_AL,
        Code::Stosw_m16_AX,
        Code::Stosd_m32_EAX,
        Code::Stosq_m64_RAX,
        Code::Lodsb_AL_m8,
        Code::Lodsq_RAX_m64,
        Code::Scasb_AL_m8,
        Code::Scasq_RAX_m64,
        Code::Cmpsb_m8_m8,
        Code::Cmpsd_m32_m32,
    ]);
    let mut insn = Generator::new(code).anchored(rng, &quiet)?;
    // A drawn prefix stays; comparisons keep their choice of two. RCX is counted down in any case.
    if !insn.has_rep_prefix() && !insn.has_repne_prefix() {
        insn.set_has_rep_prefix(true);
    }
    out.push(Item::Plain(insn));
    Some(out)
}

fn is_hot(insn: &Instruction) -> bool {
    use Mnemonic as M;
    matches!(
        insn.mnemonic(),
        M::Mov
            | M::Movzx
            | M::Movsx
            | M::Movsxd
            | M::Lea
            | M::Add
            | M::Sub
            | M::Adc
            | M::Sbb
            | M::Cmp
            | M::Test
            | M::And
            | M::Or
            | M::Xor
            | M::Not
            | M::Neg
            | M::Inc
            | M::Dec
            | M::Shl
            | M::Shr
            | M::Sar
            | M::Imul
            | M::Push
            | M::Pop
    ) || insn.condition_code() != ConditionCode::None && insn.flow_control() == FlowControl::Next
}

/// Whether a code can stand anywhere in a sequence: no faults wanted, no state that only single runs control.
fn fits_sequences(code: Code) -> bool {
    use Mnemonic as M;
    let mut probe = Instruction::default();
    probe.set_code(code);
    let name = format!("{:?}", code.mnemonic());
    // x87: undefined condition bits would have to be followed like flags.
    if name.starts_with('F') || probe.is_string_instruction() {
        return false;
    }
    if matches!(probe.flow_control(), FlowControl::ConditionalBranch) {
        return probe.is_jcc_short_or_near();
    }
    if matches!(code, Code::Jmp_rel8_64 | Code::Jmp_rel32_64) {
        return true;
    }
    if probe.flow_control() != FlowControl::Next {
        return false;
    }
    // The address of the bit depends on a register that changes.
    if matches!(probe.mnemonic(), M::Bt | M::Bts | M::Btr | M::Btc) {
        return code.op_code().op1_kind() == iced_x86::OpCodeOperandKind::imm8;
    }
    !matches!(
        probe.mnemonic(),
        M::Popf
            | M::Popfd
            | M::Popfq
            | M::Ldmxcsr
            | M::Vldmxcsr
            | M::Enter
            | M::Leave
            | M::Xlatb
            | M::Maskmovq
            | M::Maskmovdqu
            | M::Vmaskmovdqu
            | M::Wait
            | M::Ud0
            | M::Ud1
            | M::Ud2
            | M::Int3
    ) && !matches!(code, Code::Shld_rm16_r16_CL | Code::Shrd_rm16_r16_CL)
}

/// What became of the sequences.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) run: u64,
    pub(crate) instructions: u64,
    pub(crate) looped: u64,
    pub(crate) trapped: u64,
    pub(crate) mismatches: u64,
    pub(crate) codes: usize,
    pub(crate) examples: Vec<String>,
}

impl Outcome {
    pub(crate) fn report(&self) -> String {
        let mut out = String::new();
        for example in &self.examples {
            let _ = writeln!(out, "MISMATCH {example}");
        }
        let _ = writeln!(
            out,
            "sequences: {} of {} instructions over {} codes, {} with a loop, {} that faulted; mismatches: {}",
            self.run, self.instructions, self.codes, self.looped, self.trapped, self.mismatches
        );
        out
    }
}

/// The differences, if the two sides disagree, and how the host ended.
fn run(pair: &mut Pair, sequence: &Sequence, assembled: &Assembled) -> (Ending, Vec<String>) {
    pair.write(DATA, &sequence.data);
    let end = sequence.entry + assembled.bytes.len() as u64;
    let (ending, host) = pair
        .host
        .run(sequence.entry, &assembled.bytes, &[end], &sequence.image);
    let at = assembled
        .instructions
        .iter()
        .position(|i| i.ip() == host.rip);
    let open = assembled.undefined[at.unwrap_or(assembled.instructions.len())];
    let mut found = Vec::new();
    let mut counts = Vec::new();
    for path in [Path::Fast, Path::Recorded] {
        pair.guest.write_data(DATA, &sequence.data);
        let (guest_ending, guest, retired) = pair.guest.run_blocks(
            path,
            sequence.entry,
            &assembled.bytes,
            &[end],
            &sequence.image,
        );
        counts.push(retired);
        let mut lines = Vec::new();
        match &guest_ending {
            GuestEnding::Ending(e)
                if same_ending(ending, *e, at.map(|i| &assembled.instructions[i])) =>
            {
                if matches!(ending, Ending::Trap(_)) && host.rip != guest.rip {
                    lines.push(format!("a fault at {:#x}, not {:#x}", host.rip, guest.rip));
                }
                let simd = ending == Ending::Trap(Trap::SimdFloat);
                lines.extend(image_differences(&host, &guest, open, simd));
            }
            other => lines.push(format!(
                "ending: {ending:x?} at {:#x}, not {other:x?}",
                host.rip
            )),
        }
        lines.extend(pair.compare_memory());
        found.extend(
            lines
                .into_iter()
                .map(|line| format!("{path:?}: host has {line}")),
        );
    }
    if counts[0] != counts[1] {
        found.push(format!(
            "retired: {} fast, {} recorded",
            counts[0], counts[1]
        ));
    }
    (ending, found)
}

/// Leaves out instructions as long as the sides still disagree. A removal changes what branches skip, so one pass is not
/// enough.
fn shrink(pair: &mut Pair, sequence: &Sequence) -> Sequence {
    let mut best = sequence.clone();
    loop {
        let before = best.items.len();
        for i in (0..before).rev() {
            let counter = best.items.len().checked_sub(2) == Some(i)
                && best.items.iter().any(|item| matches!(item, Item::Back(_)));
            // Without its counter, a loop might have no end.
            if counter || best.items.len() == 1 || i >= best.items.len() {
                continue;
            }
            let mut less = best.clone();
            less.items.remove(i);
            if let Some(assembled) = less.assemble()
                && !run(pair, &less, &assembled).1.is_empty()
            {
                best = less;
            }
        }
        if best.items.len() == before {
            return best;
        }
    }
}

fn show(pair: &mut Pair, sequence: &Sequence) -> String {
    let mut out = String::new();
    let Some(assembled) = sequence.assemble() else {
        return "does not assemble".into();
    };
    for insn in &assembled.instructions {
        let offset = (insn.ip() - sequence.entry) as usize;
        let bytes = &assembled.bytes[offset..offset + insn.len()];
        let _ = writeln!(
            out,
            "  {:#x}: {:<44} {}",
            insn.ip(),
            hex(bytes),
            disassembly(insn)
        );
    }
    for (i, value) in sequence.image.gpr.iter().enumerate() {
        let _ = write!(out, "  {:?}={value:#x}", Register::RAX + i as u32);
    }
    let _ = writeln!(
        out,
        "\n  RFLAGS={:#x} MXCSR={:#x}",
        sequence.image.rflags,
        sequence.image.mxcsr()
    );
    for line in run(pair, sequence, &assembled).1 {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// Compares sequences `0..count` of a seed.
pub(crate) fn run_sequences(seed: u64, first: u64, count: u64) -> Result<Outcome, String> {
    let mut pair = Pair::new()?;
    let mut composer = Composer::new(&mut pair);
    let mut outcome = Outcome {
        codes: composer.codes,
        ..Outcome::default()
    };
    for index in first..first + count {
        let sequence = composer.compose(seed, index);
        let Some(assembled) = sequence.assemble() else {
            continue;
        };
        debug_assert!(assembled.bytes.len() as u64 + EXIT_SIZE < 0x800);
        let (ending, found) = run(&mut pair, &sequence, &assembled);
        outcome.run += 1;
        outcome.instructions += sequence.items.len() as u64;
        outcome.looped += u64::from(matches!(sequence.items.last(), Some(Item::Back(_))));
        outcome.trapped += u64::from(matches!(ending, Ending::Trap(_)));
        if !found.is_empty() {
            outcome.mismatches += 1;
            if outcome.examples.len() < 10 {
                let small = shrink(&mut pair, &sequence);
                let text = show(&mut pair, &small);
                outcome
                    .examples
                    .push(format!("seed {seed}, sequence {index}:\n{text}"));
            }
        }
    }
    Ok(outcome)
}
