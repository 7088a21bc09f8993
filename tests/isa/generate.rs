//! Instances: one instruction with its operands, registers, flags, memory and the places where control can leave it.
use super::host::EXIT_SIZE;
use super::image::{CODE, CODE_SIZE, DATA, DATA_END, DATA_SIZE, FLAGS, Image, PAGE};
use super::random::{Lanes, Random};
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, EncodingKind, FlowControl, Instruction, MemorySize,
    Mnemonic, OpCodeOperandKind, OpKind, Register,
};

/// Bytes of code area that one instance uses.
const SLOT: u64 = 256;

/// One run of one instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) insn: Instruction,
    pub(crate) bytes: Vec<u8>,
    pub(crate) image: Image,
    /// Data to be written on both sides before the run.
    pub(crate) writes: Vec<(u64, Vec<u8>)>,
    /// Where control can arrive: behind the instruction, at its branch target.
    pub(crate) exits: Vec<u64>,
    /// The address of the memory operand, where it has one.
    pub(crate) memory: Option<u64>,
}

const GPR8: [Register; 20] = [
    Register::AL,
    Register::CL,
    Register::DL,
    Register::BL,
    Register::SPL,
    Register::BPL,
    Register::SIL,
    Register::DIL,
    Register::R8L,
    Register::R9L,
    Register::R10L,
    Register::R11L,
    Register::R12L,
    Register::R13L,
    Register::R14L,
    Register::R15L,
    Register::AH,
    Register::CH,
    Register::DH,
    Register::BH,
];

pub(crate) fn gpr(size: u32, number: u64) -> Register {
    let first = match size {
        2 => Register::AX,
        4 => Register::EAX,
        _ => Register::RAX,
    };
    first + number as u32
}

fn number(register: Register) -> usize {
    if register.is_gpr8() && (Register::AH..=Register::BH).contains(&register) {
        return register as usize - Register::AH as usize;
    }
    register.full_register() as usize - Register::RAX as usize
}

/// Makes instances of one `Code`.
pub(crate) struct Generator {
    code: Code,
    kinds: &'static [OpCodeOperandKind],
    lanes: Vec<Lanes>,
    x87: bool,
    stack: bool,
    string: bool,
    /// Legacy SSE wants its 16-byte operands aligned, and some VEX moves want all of theirs.
    aligned: bool,
}

impl Generator {
    pub(crate) fn new(code: Code) -> Self {
        let mut probe = Instruction::default();
        probe.set_code(code);
        let info = code.op_code();
        let mnemonic = format!("{:?}", code.mnemonic()).to_lowercase();
        let kinds = info.op_kinds();
        use OpCodeOperandKind as K;
        Self {
            code,
            kinds,
            lanes: lanes_of(&mnemonic),
            x87: mnemonic.starts_with('f'),
            stack: probe.is_stack_instruction(),
            string: kinds.iter().any(|k| matches!(k, K::seg_rSI | K::es_rDI)),
            aligned: match code.encoding() {
                EncodingKind::Legacy => kinds
                    .iter()
                    .any(|k| matches!(k, K::xmm_or_mem | K::xmm_reg)),
                _ => ["vmovap", "vmovdqa", "vmovnt"]
                    .iter()
                    .any(|start| mnemonic.starts_with(start)),
            },
        }
    }

    /// An instance, or `None` where the drawn operands do not encode as this `Code`.
    pub(crate) fn instance(&self, rng: &mut Random, index: u64) -> Option<Instance> {
        let slot = CODE + index * SLOT % CODE_SIZE;
        let entry = slot + 96;
        let target = if rng.percent(50) { slot } else { slot + 160 };
        let mut draft = Draft {
            insn: Instruction::default(),
            fixed: [None; 16],
            memory: None,
            writes: Vec::new(),
            narrow: None,
            bit_offset: false,
            anchors: None,
        };
        draft.insn.set_code(self.code);
        self.fix_implicit(&mut draft, rng, target);
        let mut far_memory = false;
        for (i, &kind) in self.kinds.iter().enumerate() {
            far_memory |= self.set_operand(&mut draft, rng, i as u32, kind, target)?;
        }
        self.set_prefixes(&mut draft, rng);
        let mut bytes = encode(&draft.insn, entry)?;
        let mut insn = decode(&bytes, entry);
        if insn.code() != self.code || insn.len() != bytes.len() {
            return None;
        }
        if !self.string && rng.percent(6) {
            let more = with_idle_prefix(rng, &bytes);
            let again = decode(&more, entry);
            // AMD processors cut the target of a branch with prefix 0x66 to 16 bits.
            let cut = more[0] == 0x66 && insn.flow_control() != FlowControl::Next;
            if !cut
                && again.code() == self.code
                && again.len() == more.len()
                && same_operands(&insn, &again)
            {
                (bytes, insn) = (more, again);
            }
        }
        if self.goes_astray(&draft) {
            return None;
        }
        let mut image = self.registers(rng, &draft.fixed);
        if leaves_result_undefined(&insn, &mut image, &draft.fixed, rng) {
            return None;
        }
        if !far_memory {
            self.relate_operands(&mut draft, &insn, &mut image, rng);
        }
        debug_assert!(entry + bytes.len() as u64 + EXIT_SIZE <= slot + 160);
        Some(Instance {
            insn,
            image,
            writes: draft.writes,
            exits: vec![entry + bytes.len() as u64, target],
            memory: draft.memory,
            bytes,
        })
    }

    /// An instruction for a sequence: its memory operand, if any, is made from the anchors.
    pub(crate) fn anchored(&self, rng: &mut Random, anchors: &Anchors) -> Option<Instruction> {
        let mut draft = Draft {
            insn: Instruction::default(),
            fixed: [None; 16],
            memory: None,
            writes: Vec::new(),
            narrow: None,
            bit_offset: false,
            anchors: Some(*anchors),
        };
        draft.insn.set_code(self.code);
        for (i, &kind) in self.kinds.iter().enumerate() {
            self.set_operand(&mut draft, rng, i as u32, kind, 0)?;
        }
        self.set_prefixes(&mut draft, rng);
        Some(draft.insn)
    }

    /// Registers that the instruction uses without naming them.
    fn fix_implicit(&self, draft: &mut Draft, rng: &mut Random, target: u64) {
        const RCX: usize = 1;
        const RSP: usize = 4;
        const RBP: usize = 5;
        const RSI: usize = 6;
        const RDI: usize = 7;
        if self.stack {
            let size = 8;
            let rsp = if rng.percent(4) {
                place_edge(rng, size)
            } else {
                (DATA + 0x400 + rng.below(DATA_SIZE - 0x800))
                    & if rng.percent(80) { !7 } else { !0 }
            };
            draft.fixed[RSP] = Some(rsp);
            match self.code.mnemonic() {
                Mnemonic::Ret => draft.write(rsp, &target.to_le_bytes()),
                Mnemonic::Popf | Mnemonic::Popfd | Mnemonic::Popfq => {
                    // Only flags without effect on the stub may be popped.
                    let rsp = if (DATA..DATA_END).contains(&rsp) {
                        rsp.min(DATA + DATA_SIZE - 8)
                    } else {
                        rsp
                    };
                    draft.fixed[RSP] = Some(rsp);
                    let flags = rng.next() & FLAGS | 2;
                    draft.write(rsp, &flags.to_le_bytes());
                }
                Mnemonic::Enter | Mnemonic::Leave => {
                    draft.fixed[RBP] = Some(if rng.percent(8) {
                        place_edge(rng, size)
                    } else {
                        DATA + 0x400 + rng.below(DATA_SIZE - 0x800)
                    });
                }
                _ => {}
            }
        }
        if self.string {
            let rsi = place(rng, 8, false);
            let rdi = if rng.percent(20) {
                rsi.wrapping_add(rng.below(64)).wrapping_sub(32)
            } else {
                place(rng, 8, false)
            };
            draft.fixed[RSI] = Some(rsi);
            draft.fixed[RDI] = Some(rdi);
            for at in [rsi, rdi] {
                // Few values, so that comparisons run on and scans find something.
                let bytes: Vec<u8> = (0..64)
                    .map(|_| rng.pick(&[0, 0, 0, 0, 0, 0, 0x80, 1]))
                    .collect();
                draft.write(at.wrapping_sub(32), &bytes);
            }
        }
        if matches!(
            self.code.mnemonic(),
            Mnemonic::Loop
                | Mnemonic::Loope
                | Mnemonic::Loopne
                | Mnemonic::Jcxz
                | Mnemonic::Jecxz
                | Mnemonic::Jrcxz
        ) {
            let low = rng.below(3);
            draft.fixed[RCX] = Some(match rng.below(3) {
                0 => low,
                1 => low | rng.next() << 32,
                _ => rng.integer(64),
            });
        }
    }

    /// Draws operand `i`. True if the operand is an address that nothing is read from (`lea`).
    fn set_operand(
        &self,
        draft: &mut Draft,
        rng: &mut Random,
        i: u32,
        kind: OpCodeOperandKind,
        target: u64,
    ) -> Option<bool> {
        use OpCodeOperandKind as K;
        let any = rng.below(16);
        let register = match kind {
            K::mem | K::mem_mib => {
                self.set_memory(draft, rng, i)?;
                return Some(matches!(self.code.mnemonic(), Mnemonic::Lea));
            }
            K::r8_or_mem
            | K::r16_or_mem
            | K::r32_or_mem
            | K::r64_or_mem
            | K::mm_or_mem
            | K::xmm_or_mem
            | K::ymm_or_mem
                if rng.percent(55) =>
            {
                self.set_memory(draft, rng, i)?;
                if matches!(self.code, Code::Jmp_rm64 | Code::Call_rm64) {
                    draft.write(draft.memory?, &target.to_le_bytes());
                }
                return Some(false);
            }
            K::mem_offs => {
                let at = match draft.anchors {
                    Some(_) => DATA + rng.below(DATA_SIZE - 8),
                    None => place(rng, self.memory_size(draft).max(1), false),
                };
                draft.memory = Some(at);
                draft.insn.set_op_kind(i, OpKind::Memory);
                draft.insn.set_memory_displ_size(8);
                draft.insn.set_memory_displacement64(at);
                self.fill_memory(draft, rng, at);
                return Some(false);
            }
            K::r8_or_mem | K::r8_reg | K::r8_opcode => rng.pick(&GPR8),
            K::r16_or_mem | K::r16_reg | K::r16_reg_mem | K::r16_rm | K::r16_opcode => gpr(2, any),
            K::r32_or_mem | K::r32_reg | K::r32_reg_mem | K::r32_rm | K::r32_opcode => gpr(4, any),
            K::r64_or_mem | K::r64_reg | K::r64_reg_mem | K::r64_rm | K::r64_opcode => {
                if matches!(self.code, Code::Jmp_rm64 | Code::Call_rm64) {
                    let any = if any == 4 { 0 } else { any };
                    draft.fixed[any as usize] = Some(target);
                    gpr(8, any)
                } else {
                    gpr(8, any)
                }
            }
            K::mm_or_mem | K::mm_reg | K::mm_rm => Register::MM0 + (any as u32 & 7),
            K::xmm_or_mem | K::xmm_reg | K::xmm_rm | K::xmm_vvvv | K::xmm_is4 => {
                Register::XMM0 + any as u32
            }
            K::ymm_or_mem | K::ymm_reg | K::ymm_rm | K::ymm_vvvv | K::ymm_is4 => {
                Register::YMM0 + any as u32
            }
            K::r32_vvvv => gpr(4, any),
            K::r64_vvvv => gpr(8, any),
            K::seg_reg => rng.pick(&[
                Register::ES,
                Register::CS,
                Register::SS,
                Register::DS,
                Register::FS,
                Register::GS,
            ]),
            K::es => Register::ES,
            K::cs => Register::CS,
            K::ss => Register::SS,
            K::ds => Register::DS,
            K::fs => Register::FS,
            K::gs => Register::GS,
            K::al => Register::AL,
            K::cl => Register::CL,
            K::ax => Register::AX,
            K::dx => Register::DX,
            K::eax => Register::EAX,
            K::rax => Register::RAX,
            K::st0 => Register::ST0,
            K::sti_opcode => Register::ST0 + (any as u32 & 7),
            K::seg_rSI | K::es_rDI => {
                let narrow = draft.narrow_strings(rng);
                draft.insn.set_op_kind(
                    i,
                    match (kind, narrow) {
                        (K::seg_rSI, false) => OpKind::MemorySegRSI,
                        (K::seg_rSI, true) => OpKind::MemorySegESI,
                        (_, false) => OpKind::MemoryESRDI,
                        (_, true) => OpKind::MemoryESEDI,
                    },
                );
                return Some(false);
            }
            K::seg_rDI => {
                // Bytes that the mask leaves out may or may not fault: stay inside.
                let at = DATA + 64 + rng.below(DATA_SIZE - 128);
                draft.fixed[7] = Some(at);
                draft.memory = Some(at);
                draft.insn.set_op_kind(i, OpKind::MemorySegRDI);
                return Some(false);
            }
            K::seg_rBX_al => {
                let al = rng.integer(64);
                let at = place(rng, 1, false);
                draft.fixed[0] = Some(al);
                draft.fixed[3] = Some(at.wrapping_sub(al & 0xff));
                draft.memory = Some(at);
                draft.insn.set_op_kind(i, OpKind::Memory);
                draft.insn.set_memory_base(Register::RBX);
                draft.insn.set_memory_index(Register::AL);
                return Some(false);
            }
            K::imm4_m2z | K::imm8 | K::imm8_const_1 => {
                let value = match kind {
                    K::imm8_const_1 => 1,
                    // Nesting levels of `enter`.
                    _ if i == 1 && self.code.mnemonic() == Mnemonic::Enter => {
                        if rng.percent(80) {
                            rng.below(4)
                        } else {
                            rng.below(256)
                        }
                    }
                    _ => rng.integer(8),
                };
                if i == 1 && self.kinds[0] == K::imm16 {
                    draft.insn.set_op_kind(i, OpKind::Immediate8_2nd);
                    draft.insn.set_immediate8_2nd(value as u8);
                } else {
                    draft.insn.set_op_kind(i, OpKind::Immediate8);
                    draft.insn.set_immediate8(value as u8);
                }
                return Some(false);
            }
            K::imm8sex16 | K::imm8sex32 | K::imm8sex64 => {
                draft.insn.set_op_kind(
                    i,
                    match kind {
                        K::imm8sex16 => OpKind::Immediate8to16,
                        K::imm8sex32 => OpKind::Immediate8to32,
                        _ => OpKind::Immediate8to64,
                    },
                );
                draft.insn.set_immediate_i64(i, rng.integer(8) as i8 as i64);
                return Some(false);
            }
            K::imm16 => {
                let value = match self.code.mnemonic() {
                    Mnemonic::Enter | Mnemonic::Ret if rng.percent(80) => rng.below(64),
                    _ => rng.integer(16),
                };
                draft.insn.set_op_kind(i, OpKind::Immediate16);
                draft.insn.set_immediate16(value as u16);
                return Some(false);
            }
            K::imm32 => {
                draft.insn.set_op_kind(i, OpKind::Immediate32);
                draft.insn.set_immediate32(rng.integer(32) as u32);
                return Some(false);
            }
            K::imm32sex64 => {
                draft.insn.set_op_kind(i, OpKind::Immediate32to64);
                draft
                    .insn
                    .set_immediate32to64(i64::from(rng.integer(32) as i32));
                return Some(false);
            }
            K::imm64 => {
                draft.insn.set_op_kind(i, OpKind::Immediate64);
                draft.insn.set_immediate64(rng.integer(64));
                return Some(false);
            }
            K::br64_1 | K::br64_4 => {
                draft.insn.set_op_kind(i, OpKind::NearBranch64);
                draft.insn.set_near_branch64(target);
                return Some(false);
            }
            _ => return None,
        };
        draft.insn.set_op_kind(i, OpKind::Register);
        draft.insn.set_op_register(i, register);
        Some(false)
    }

    /// An indirect branch whose target is not the one that was written, but arbitrary bytes.
    fn goes_astray(&self, draft: &Draft) -> bool {
        let slot = match self.code {
            Code::Jmp_rm64 | Code::Call_rm64 => draft.memory,
            Code::Retnq | Code::Retnq_imm16 => draft.fixed[4],
            _ => None,
        };
        slot.is_some_and(|at| {
            let readable = (DATA..=DATA_END - 8).contains(&at);
            let written = (DATA..=DATA + DATA_SIZE - 8).contains(&at);
            readable && !written
        })
    }

    fn memory_size(&self, draft: &Draft) -> u64 {
        match draft.insn.memory_size() {
            MemorySize::Unknown => 1,
            size => size.size() as u64,
        }
    }

    /// Draws an address in the data, then a form of operand that gives it.
    fn set_memory(&self, draft: &mut Draft, rng: &mut Random, i: u32) -> Option<()> {
        let size = self.memory_size(draft).max(1);
        if let Some(anchors) = draft.anchors {
            draft.insn.set_op_kind(i, OpKind::Memory);
            let aligned =
                self.aligned && matches!(size, 16 | 32) || self.code == Code::Cmpxchg16b_m128;
            draft.anchored(rng, &anchors, size, aligned);
            return Some(());
        }
        let at = match self.code.mnemonic() {
            Mnemonic::Lea => rng.integer(64),
            // A register offset reaches some pages around the operand.
            Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc if rng.percent(80) => {
                DATA + PAGE + rng.below(PAGE)
            }
            _ => place(
                rng,
                size,
                self.aligned && matches!(size, 16 | 32) || size >= 512,
            ),
        };
        draft.memory = Some(at);
        draft.insn.set_op_kind(i, OpKind::Memory);
        draft.address(rng, at)?;
        if matches!(
            self.code.mnemonic(),
            Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
        ) && self.kinds[1] != OpCodeOperandKind::imm8
        {
            draft.bit_offset = true;
        }
        self.fill_memory(draft, rng, at);
        Some(())
    }

    /// Writes an operand value of the right kind.
    fn fill_memory(&self, draft: &mut Draft, rng: &mut Random, at: u64) {
        let bytes: Vec<u8> = match draft.insn.memory_size() {
            MemorySize::Unknown => return,
            MemorySize::Float32 if self.x87 => rng.float32().to_le_bytes().into(),
            MemorySize::Float64 if self.x87 => rng.float64().to_le_bytes().into(),
            MemorySize::Float80 => float80_bytes(rng.float80()),
            MemorySize::Bcd => {
                let digit = |rng: &mut Random| (rng.below(10) | rng.below(10) << 4) as u8;
                let mut bytes: Vec<u8> = (0..9).map(|_| digit(rng)).collect();
                if rng.percent(30) {
                    bytes.iter_mut().skip(2).for_each(|b| *b = 0);
                }
                bytes.push(rng.pick(&[0, 0x80]));
                bytes
            }
            MemorySize::FpuEnv14 | MemorySize::FpuState94 => environment(rng, 2),
            MemorySize::FpuEnv28 | MemorySize::FpuState108 => environment(rng, 4),
            MemorySize::Fxsave_512Byte | MemorySize::Fxsave64_512Byte => {
                let mut image = self.registers(rng, &[None; 16]);
                if rng.percent(5) {
                    image.set_mxcsr(rng.next() as u32 & !(1 << 17));
                }
                image.fx.into()
            }
            // Bit 17 is left out: AMD processors have a mode there that the guest's profile has not.
            size if matches!(self.code.mnemonic(), Mnemonic::Ldmxcsr | Mnemonic::Vldmxcsr) => {
                debug_assert_eq!(size.size(), 4);
                let illegal = if rng.percent(10) {
                    rng.pick(&[1 << 16, 1 << 18, 1 << 24, 1 << 31])
                } else {
                    0
                };
                (mxcsr(rng) | illegal).to_le_bytes().into()
            }
            size => match size.size() {
                n @ (1 | 2 | 4 | 8) if self.lanes.is_empty() => {
                    rng.integer(8 * n as u32).to_le_bytes()[..n].into()
                }
                n @ 1..=16 => {
                    let lanes = self.draw_lanes(rng);
                    rng.vector(lanes).to_le_bytes()[..n].into()
                }
                32 => {
                    let lanes = self.draw_lanes(rng);
                    let halves = [rng.vector(lanes), rng.vector(lanes)];
                    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
                }
                _ => return,
            },
        };
        draft.write(at, &bytes);
    }

    fn draw_lanes(&self, rng: &mut Random) -> Lanes {
        if self.lanes.is_empty() || rng.percent(20) {
            return Lanes::Any;
        }
        rng.pick(&self.lanes)
    }

    fn set_prefixes(&self, draft: &mut Draft, rng: &mut Random) {
        let info = self.code.op_code();
        if info.can_use_lock_prefix() && draft.insn.op0_kind() == OpKind::Memory && rng.percent(30)
        {
            draft.insn.set_has_lock_prefix(true);
        }
        if !self.string {
            return;
        }
        let repe = info.can_use_rep_prefix() && rng.percent(45);
        let repne = !repe && info.can_use_repne_prefix() && rng.percent(60);
        draft.insn.set_has_rep_prefix(repe);
        draft.insn.set_has_repne_prefix(repne);
        if repe || repne {
            let narrow = draft.narrow == Some(true);
            let garbage = if narrow { rng.next() << 32 } else { 0 };
            draft.fixed[1] = Some(rng.below(21) | garbage);
        }
    }

    /// All registers: fixed ones as they must be, the others stratified.
    pub(crate) fn registers(&self, rng: &mut Random, fixed: &[Option<u64>; 16]) -> Image {
        let mut image = Image::default();
        for (i, slot) in image.gpr.iter_mut().enumerate() {
            let bits = rng.pick(&[8, 16, 32, 64, 64]);
            *slot = fixed[i].unwrap_or_else(|| rng.integer(bits));
        }
        let direction = rng.percent(if self.string { 50 } else { 20 });
        image.rflags = 0x202 | rng.next() & FLAGS & !0x400 | if direction { 0x400 } else { 0 };
        for i in 0..16 {
            let lanes = self.draw_lanes(rng);
            image.set_xmm(i, rng.vector(lanes));
            image.upper[i] = rng.vector(lanes);
        }
        image.set_mxcsr(mxcsr(rng));
        x87_state(rng, &mut image);
        image
    }

    /// Values that only matter in relation to each other: comparands, dividends, bit offsets.
    fn relate_operands(
        &self,
        draft: &mut Draft,
        insn: &Instruction,
        image: &mut Image,
        rng: &mut Random,
    ) {
        const RAX: usize = 0;
        const RDX: usize = 2;
        let fixed = draft.fixed;
        match self.code.mnemonic() {
            Mnemonic::Cmpxchg if rng.percent(50) => {
                if insn.op0_kind() == OpKind::Register {
                    if fixed[RAX].is_none() {
                        image.gpr[RAX] = image.gpr[number(insn.op0_register())];
                    }
                } else if let Some(at) = draft.memory {
                    let size = insn.memory_size().size();
                    draft.write(at, &image.gpr[RAX].to_le_bytes()[..size]);
                }
            }
            Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b if rng.percent(50) => {
                if let Some(at) = draft.memory {
                    let half = insn.memory_size().size() / 2;
                    draft.write(at, &image.gpr[RAX].to_le_bytes()[..half]);
                    draft.write(
                        at.wrapping_add(half as u64),
                        &image.gpr[RDX].to_le_bytes()[..half],
                    );
                }
            }
            Mnemonic::Div | Mnemonic::Idiv => {
                let signed = self.code.mnemonic() == Mnemonic::Idiv;
                let byte = matches!(self.code, Code::Div_rm8 | Code::Idiv_rm8);
                let rax = image.gpr[RAX];
                if byte && fixed[RAX].is_none() && rng.percent(60) {
                    let high = if signed {
                        rax as i8 as i64 as u64 & 0xff00
                    } else {
                        0
                    };
                    let high = if rng.percent(50) {
                        high
                    } else {
                        rng.below(4) << 8
                    };
                    image.gpr[RAX] = rax & !0xff00 | high;
                } else if !byte && fixed[RDX].is_none() && rng.percent(70) {
                    let bits = match self.code {
                        Code::Div_rm16 | Code::Idiv_rm16 => 16,
                        Code::Div_rm32 | Code::Idiv_rm32 => 32,
                        _ => 64,
                    };
                    let sign = if signed && rax >> (bits - 1) & 1 == 1 {
                        u64::MAX
                    } else {
                        0
                    };
                    image.gpr[RDX] = if rng.percent(60) {
                        sign
                    } else {
                        rng.below(300)
                    };
                }
            }
            Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc if draft.bit_offset => {
                let offset = number(insn.op1_register());
                if fixed[offset].is_none() && rng.percent(85) {
                    image.gpr[offset] = rng.below(0xe000).wrapping_sub(0x7000);
                }
            }
            Mnemonic::Pcmpestri
            | Mnemonic::Pcmpestrm
            | Mnemonic::Pcmpestri64
            | Mnemonic::Pcmpestrm64
            | Mnemonic::Vpcmpestri
            | Mnemonic::Vpcmpestrm
            | Mnemonic::Vpcmpestri64
            | Mnemonic::Vpcmpestrm64
                if rng.percent(70) =>
            {
                for register in [RAX, RDX] {
                    if fixed[register].is_none() {
                        image.gpr[register] = rng.below(48).wrapping_sub(24);
                    }
                }
            }
            _ => {}
        }
    }
}

/// An instruction in the making.
struct Draft {
    insn: Instruction,
    /// Registers whose value is decided.
    fixed: [Option<u64>; 16],
    memory: Option<u64>,
    writes: Vec<(u64, Vec<u8>)>,
    narrow: Option<bool>,
    bit_offset: bool,
    anchors: Option<Anchors>,
}

/// Registers that a sequence leaves alone, so that memory operands made from them stay in the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchors {
    /// Two base registers and their values, multiples of 16.
    pub(crate) bases: [(u8, u64); 2],
    /// An index register and its value, a small multiple of 16.
    pub(crate) index: (u8, u64),
    /// Per cent of memory operands that may lie out of bounds.
    pub(crate) astray: u64,
}

impl Draft {
    /// Notes bytes for the data, cut to the writable pages.
    fn write(&mut self, at: u64, bytes: &[u8]) {
        let end = at.saturating_add(bytes.len() as u64).min(DATA + DATA_SIZE);
        let start = at.max(DATA);
        if start < end {
            let from = (start - at) as usize;
            let to = (end - at) as usize;
            self.writes.push((start, bytes[from..to].to_vec()));
        }
    }

    /// Whether the string operands use 32-bit addresses: drawn once an instruction.
    fn narrow_strings(&mut self, rng: &mut Random) -> bool {
        if let Some(narrow) = self.narrow {
            return narrow;
        }
        let narrow = rng.percent(15);
        self.narrow = Some(narrow);
        if narrow {
            for register in [6, 7] {
                if let Some(value) = &mut self.fixed[register] {
                    *value |= rng.next() << 32;
                }
            }
        }
        narrow
    }

    /// A form of memory operand made from the anchors.
    fn anchored(&mut self, rng: &mut Random, anchors: &Anchors, size: u64, aligned: bool) {
        let insn = &mut self.insn;
        let displacement = match rng.below(3) {
            0 => 0,
            1 => rng.below(0x80),
            _ => rng.below(0x400),
        };
        let displacement = displacement as i64 - if rng.percent(30) { 0x100 } else { 0 };
        let displacement = if aligned {
            displacement & !15
        } else {
            displacement
        };
        if rng.percent(anchors.astray) {
            insn.set_memory_displ_size(8);
            insn.set_memory_displacement64(place_edge(rng, size) & 0x3fff_ffff);
            return;
        }
        let form = rng.below(20);
        if form < 2 {
            let at = DATA + rng.below(DATA_SIZE - 0x100);
            if form == 0 {
                insn.set_memory_base(Register::RIP);
            }
            insn.set_memory_displ_size(8);
            insn.set_memory_displacement64(if aligned { at & !15 } else { at });
            return;
        }
        let width = if form == 2 { 4 } else { 8 };
        let (base, _) = anchors.bases[rng.below(2) as usize];
        let base = if form < 5 && !aligned { 4 } else { base };
        insn.set_memory_base(gpr(width, base.into()));
        if form > 14 {
            insn.set_memory_index(gpr(width, anchors.index.0.into()));
            insn.set_memory_index_scale(rng.pick(&[1, 2, 4, 8]));
        }
        insn.set_memory_displacement64(displacement as u64);
        insn.set_memory_displ_size(if displacement == 0 { 0 } else { 1 });
    }

    /// A form of memory operand with the effective address `at`; fixes its registers.
    fn address(&mut self, rng: &mut Random, at: u64) -> Option<()> {
        let fits = at <= u64::from(u32::MAX);
        let narrow = fits && rng.percent(12);
        let size = if narrow { 4 } else { 8 };
        let cut = |v: u64| if narrow { v & 0xffff_ffff } else { v };
        let displacement = match rng.below(4) {
            0 => 0,
            1 => rng.integer(8) as i8 as i64 as u64,
            _ => rng.integer(32) as i32 as i64 as u64,
        };
        let form = rng.below(20);
        let insn = &mut self.insn;
        if form == 0 && at < 0x8000_0000 {
            insn.set_memory_displ_size(if narrow { 4 } else { 8 });
            insn.set_memory_displacement64(at);
            return Some(());
        }
        if form <= 2 && at < 0x7000_0000 {
            insn.set_memory_base(if narrow { Register::EIP } else { Register::RIP });
            insn.set_memory_displ_size(if narrow { 4 } else { 8 });
            insn.set_memory_displacement64(at);
            return Some(());
        }
        let base = (form < 17).then(|| rng.below(16));
        let index = (form > 9)
            .then(|| rng.below(15))
            .map(|i| if i >= 4 { i + 1 } else { i });
        let scale = rng.pick(&[1u64, 2, 4, 8]);
        let mut rest = at.wrapping_sub(displacement);
        if let Some(index) = index {
            let value = match self.fixed[index as usize] {
                Some(value) => value,
                // The one register is base and index: its value must divide the rest.
                None if base == Some(index) => {
                    let value = rng.below(0x0400_0000);
                    self.fixed[index as usize] = Some(value);
                    value
                }
                None => {
                    let value = if base.is_none() && !narrow {
                        // Only the displacement can reach the address then.
                        rng.below(0x0400_0000)
                    } else {
                        rng.integer(64)
                    };
                    self.fixed[index as usize] = Some(value);
                    value
                }
            };
            rest = rest.wrapping_sub(cut(value).wrapping_mul(scale));
            insn.set_memory_index(gpr(size, index));
            insn.set_memory_index_scale(scale as u32);
        }
        let mut displacement = displacement;
        match base {
            Some(base) => {
                insn.set_memory_base(gpr(size, base));
                match self.fixed[base as usize] {
                    Some(value) => {
                        displacement = displacement.wrapping_add(rest.wrapping_sub(cut(value)))
                    }
                    None => {
                        let garbage = if narrow { rng.next() << 32 } else { 0 };
                        self.fixed[base as usize] = Some(cut(rest) | garbage);
                    }
                }
            }
            None => displacement = displacement.wrapping_add(rest),
        }
        let displacement = if narrow {
            i64::from(displacement as i32)
        } else {
            displacement as i64
        };
        i32::try_from(displacement).ok()?;
        insn.set_memory_displacement64(displacement as u64);
        insn.set_memory_displ_size(match displacement {
            0 if base.is_some() => 0,
            _ if base.is_none() => size,
            -128..=127 if rng.percent(80) => 1,
            _ => size,
        });
        Some(())
    }
}

/// The bytes with a prefix that should change nothing: a segment with base 0, an operand size that REX.W overrules, a
/// repetition where nothing repeats, an empty REX.
fn with_idle_prefix(rng: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let prefix = rng.pick(&[0x26, 0x2e, 0x36, 0x3e, 0x65, 0x66, 0xf2, 0xf3, 0x40, 0x40]);
    let legacy = [
        0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3,
    ];
    let at = match prefix {
        // Anywhere else, REX would not count.
        0x40 => bytes.iter().take_while(|b| legacy.contains(b)).count(),
        _ => 0,
    };
    let mut out = bytes.to_vec();
    out.insert(at, prefix);
    out
}

fn same_operands(a: &Instruction, b: &Instruction) -> bool {
    // RIP-relative operands move with the length, and REX makes SPL of AH.
    a.memory_displacement64() == b.memory_displacement64()
        && (0..a.op_count())
            .all(|i| a.op_kind(i) == b.op_kind(i) && a.op_register(i) == b.op_register(i))
        && a.op_count() > 0
        && a.op0_kind() != OpKind::NearBranch64
}

/// 16-bit double shifts by more than 16: the count register is drawn again where it is free.
fn leaves_result_undefined(
    insn: &Instruction,
    image: &mut Image,
    fixed: &[Option<u64>; 16],
    rng: &mut Random,
) -> bool {
    match insn.code() {
        Code::Shld_rm16_r16_imm8 | Code::Shrd_rm16_r16_imm8 => insn.immediate8() & 31 > 16,
        Code::Shld_rm16_r16_CL | Code::Shrd_rm16_r16_CL if fixed[1].is_none() => {
            image.gpr[1] = image.gpr[1] & !31 | rng.below(17);
            false
        }
        Code::Shld_rm16_r16_CL | Code::Shrd_rm16_r16_CL => image.gpr[1] & 31 > 16,
        _ => false,
    }
}

/// An address for an operand of `size` bytes: mostly inside the data, sometimes across pages, on an edge or nowhere.
fn place(rng: &mut Random, size: u64, aligned: bool) -> u64 {
    let inside = DATA + rng.below(DATA_SIZE.saturating_sub(size).max(1));
    match rng.below(100) {
        0..=3 => place_edge(rng, size),
        4..=13 if !aligned && size > 1 => {
            DATA + PAGE * (1 + rng.below(2)) - 1 - rng.below(size.min(64) - 1)
        }
        _ if aligned => {
            let skew = if rng.percent(4) { 1 + rng.below(15) } else { 0 };
            (inside & !15) + skew
        }
        14..=60 => inside & !(size.min(16).next_power_of_two() - 1),
        _ => inside,
    }
}

/// An address that is, or nearly is, out of bounds.
fn place_edge(rng: &mut Random, size: u64) -> u64 {
    let near = rng.below(2 * size + 1);
    match rng.below(10) {
        0 | 1 => DATA - size + near,
        2 | 3 => DATA + DATA_SIZE - size + near,
        4 | 5 => DATA + DATA_SIZE + near,
        6 | 7 => DATA_END - 2 * size + near,
        8 => rng.below(PAGE),
        _ => 0x0000_9000_0000_0000 | rng.next() >> 18,
    }
}

/// What the vector operands of a mnemonic hold, most fitting kinds only.
fn lanes_of(mnemonic: &str) -> Vec<Lanes> {
    let m = mnemonic.strip_prefix('v').unwrap_or(mnemonic);
    if m.starts_with("pcmpestr") || m.starts_with("pcmpistr") {
        return vec![Lanes::Text];
    }
    if m.starts_with("cvt") {
        return vec![
            Lanes::Float32,
            Lanes::Float64,
            Lanes::Integer(32),
            Lanes::Integer(64),
        ];
    }
    if m.ends_with("ps") || m.ends_with("ss") {
        return vec![Lanes::Float32];
    }
    if m.ends_with("pd") || m.ends_with("sd") {
        return vec![Lanes::Float64];
    }
    if m.starts_with('p') && !m.starts_with("push") && !m.starts_with("pop") {
        return vec![
            Lanes::Integer(8),
            Lanes::Integer(16),
            Lanes::Integer(32),
            Lanes::Integer(64),
        ];
    }
    Vec::new()
}

/// MXCSR: half the time as programs have it, else with any rounding, DAZ, FTZ, flags, and sometimes unmasked.
fn mxcsr(rng: &mut Random) -> u32 {
    let any = rng.next() as u32;
    match rng.below(10) {
        0..=2 => 0x1f80,
        3 | 4 => 0x1fa0,
        5..=8 => 0x1f80 | any & 0xe07f,
        _ => any & 0xffff,
    }
}

fn x87_state(rng: &mut Random, image: &mut Image) {
    let any = rng.next();
    let precision = rng.pick(&[3, 3, 3, 3, 2, 0]) << 8;
    let rounding = rng.pick(&[0, 0, 0, 1, 2, 3]) << 10;
    let masks = if rng.percent(92) {
        0x3f
    } else {
        (any & 0x3f) as u16
    };
    image.set_control_word(0x40 | masks | precision | rounding);
    let sticky = if rng.percent(50) {
        0
    } else {
        (any >> 8 & 0x7f) as u16
    };
    let pending = if sticky & !masks & 0x3f != 0 {
        0x8080
    } else {
        0
    };
    let conditions = (any >> 16 & 0x4700) as u16;
    let top = (any >> 32 & 7) as u16;
    image.set_status_word(sticky | pending | conditions | top << 11);
    image.set_valid(match rng.below(10) {
        0..=6 => 0xff,
        7 => 0,
        _ => (any >> 40) as u8,
    });
    for i in 0..8 {
        let value = rng.float80();
        image.set_st(i, value);
    }
}

fn float80_bytes((sign_exponent, significand): (u16, u64)) -> Vec<u8> {
    let mut bytes = significand.to_le_bytes().to_vec();
    bytes.extend(sign_exponent.to_le_bytes());
    bytes
}

/// An x87 environment and eight registers behind it, with fields of `size` bytes.
fn environment(rng: &mut Random, size: usize) -> Vec<u8> {
    let mut image = Image::default();
    x87_state(rng, &mut image);
    let mut bytes = Vec::new();
    let mut field = |value: u64| bytes.extend(&value.to_le_bytes()[..size]);
    field(u64::from(image.control_word()));
    field(u64::from(image.status_word()));
    field(rng.next());
    (0..4).for_each(|_| field(rng.next()));
    for i in 0..8 {
        bytes.extend(float80_bytes(image.st(i)));
    }
    bytes
}

pub(crate) fn encode(insn: &Instruction, at: u64) -> Option<Vec<u8>> {
    let mut encoder = Encoder::new(64);
    encoder.encode(insn, at).ok()?;
    Some(encoder.take_buffer())
}

pub(crate) fn decode(bytes: &[u8], at: u64) -> Instruction {
    Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode()
}
