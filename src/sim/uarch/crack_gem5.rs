//! The micro-op table `gem5`: from an instruction to the micro-ops that gem5's X86 decoder makes of it.
//!
//! Matched against gem5 24.0.0.1: which micro-ops there are, what unit each needs, what it reads and writes. Peculiar to
//! that decoder, and kept because programs' times follow from it: immediates and the instruction pointer are micro-ops
//! of their own; SSE registers are worked on by halves; writing a part of a register reads it; LEA and scalar SSE
//! operations read their destination; conditional micro-ops read every group of flags; the registers of the microcode
//! are renamed like any other, so that loads of a byte depend on the byte loaded before.
use super::micro::{
    Class, DIVISOR, DOUBLE_BITS, FLAGS, Micro, NONE, PRODUCT_HIGH, PRODUCT_LOW, QUOTIENT,
    REMAINDER, Reg, flags, float_temporary, low, stack, temporary, traits,
};
use crate::sim::isa::accesses::is_repeated;
use iced_x86::{FlowControl, Instruction, MemorySize, Mnemonic, OpKind, Register};

const RAX: Reg = 0;
const RCX: Reg = 1;
const RDX: Reg = 2;
const RBX: Reg = 3;
const RSP: Reg = 4;
const RBP: Reg = 5;
const RSI: Reg = 6;
const RDI: Reg = 7;
const T1: Reg = temporary(1);
const T2: Reg = temporary(2);
const T3: Reg = temporary(3);
const T4: Reg = temporary(4);
const T5: Reg = temporary(5);
const T6: Reg = temporary(6);
const T7: Reg = temporary(7);
const F1: Reg = float_temporary(1);
const F2: Reg = float_temporary(2);
const F3: Reg = float_temporary(3);
const F4: Reg = float_temporary(4);

/// Groups read and written by an operation that sets some flags: a group of which only some are set is read too.
#[derive(Clone, Copy)]
struct Sets(u8, u8);
const NOTHING: Sets = Sets(0, 0);
/// All of them: addition, logic.
const ARITHMETIC: Sets = Sets(0, flags::ZAPS | flags::CFOF);
/// Not CF: INC, DEC.
const ALL_BUT_CARRY: Sets = Sets(flags::CFOF, flags::ZAPS | flags::CFOF);
/// Not AF: shifts.
const ALL_BUT_AUXILIARY: Sets = Sets(flags::ZAPS, flags::ZAPS | flags::CFOF);
/// CF and OF: rotates, multiplications.
const CARRY_AND_OVERFLOW: Sets = Sets(0, flags::CFOF);
/// CF alone: bit tests.
const CARRY: Sets = Sets(flags::CFOF, flags::CFOF);
/// CF and OF, with CF among the operands: rotates through it.
const THROUGH_CARRY: Sets = Sets(flags::CFOF, flags::CFOF);
/// ZF alone: bit scans.
const ZERO: Sets = Sets(flags::ZAPS, flags::ZAPS);
const OWN_CARRY: Sets = Sets(0, flags::ECF);
const OWN_ZERO: Sets = Sets(0, flags::EZF);

/// How the micro-ops of an instruction repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// Once each.
    No,
    /// A `rep`: those from `body` to `tail` once an iteration; without any, the first `skip` and those from `tail` on.
    Iterations {
        /// First micro-op of the loop.
        body: u16,
        /// First micro-op behind it.
        tail: u16,
        /// Micro-ops before the loop when there is no iteration.
        skip: u16,
    },
    /// A divide: those from `body` to `tail` once for every `steps` steps of the quotient beyond the first.
    Steps {
        /// First micro-op of the loop.
        body: u16,
        /// First micro-op behind it.
        tail: u16,
        /// Steps of the divider in one pass.
        steps: u8,
    },
}

struct Builder<'a> {
    out: &'a mut Vec<Micro>,
    instruction: &'a Instruction,
    /// Registers of the memory operand.
    address: [Reg; 2],
    rip: bool,
    /// Bytes of the operation.
    size: u8,
}

/// Appends the micro-ops of `instruction`.
pub fn crack(instruction: &Instruction, out: &mut Vec<Micro>) -> Repeats {
    let start = out.len();
    let memory = has_memory(instruction);
    let mut builder = Builder {
        address: if memory {
            [
                register(instruction.memory_base()),
                register(instruction.memory_index()),
            ]
        } else {
            [NONE; 2]
        },
        rip: memory && instruction.is_ip_rel_memory_operand(),
        size: operand_size(instruction),
        out,
        instruction,
    };
    if builder.rip {
        builder.address = [T7, NONE];
    }
    let repeats = builder.instruction(start);
    if let Some(last) = out.last_mut() {
        last.traits |= traits::LAST;
    }
    repeats
}

fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory)
}

fn operand_size(instruction: &Instruction) -> u8 {
    if instruction.op_count() > 0 {
        for i in 0..instruction.op_count() {
            let register = instruction.op_register(i);
            if instruction.op_kind(i) == OpKind::Register && register.is_gpr() {
                return register.size() as u8;
            }
        }
        if has_memory(instruction) {
            return (instruction.memory_size().size() as u8).clamp(1, 64);
        }
    }
    8
}

fn register(register: Register) -> Reg {
    match register {
        r if r.is_gpr() => (r.full_register() as u32 - Register::RAX as u32) as Reg,
        r if r.is_vector_register() => low((r.number() & 15) as u8),
        r if r.is_st() || r.is_mm() => stack(r.number() as u8),
        _ => NONE,
    }
}

/// The high half that goes with a low one.
fn upper(lower: Reg) -> Reg {
    lower + 16
}

impl Builder<'_> {
    fn push(&mut self, micro: Micro) {
        self.out.push(micro);
    }

    fn operand(&self, i: u32) -> Reg {
        if self.instruction.op_kind(i) == OpKind::Register {
            register(self.instruction.op_register(i))
        } else {
            NONE
        }
    }

    fn is_memory(&self, i: u32) -> bool {
        i < self.instruction.op_count() && self.instruction.op_kind(i) == OpKind::Memory
    }

    fn is_register(&self, i: u32) -> bool {
        i < self.instruction.op_count() && self.instruction.op_kind(i) == OpKind::Register
    }

    fn is_locked(&self) -> bool {
        self.instruction.has_lock_prefix()
    }

    /// An integer operation. A result of one or two bytes is merged into the register.
    fn alu(&mut self, to: Reg, from: &[Reg], sets: Sets) {
        let mut micro = Micro::new(Class::IntAlu).reads(from).writes(&[to]);
        if self.size < 4 {
            micro = micro.reads(&[to]);
        }
        self.push(micro.with_flags(sets.0, sets.1));
    }

    /// An integer operation on eight bytes, whatever the size of the instruction.
    fn alu8(&mut self, to: Reg, from: &[Reg], sets: Sets) {
        let micro = Micro::new(Class::IntAlu).reads(from).writes(&[to]);
        self.push(micro.with_flags(sets.0, sets.1));
    }

    /// A move that happens only under a condition: it reads the old value and every group of flags.
    fn conditional(&mut self, to: Reg, from: &[Reg]) {
        let micro = Micro::new(Class::IntAlu).reads(&[to]).reads(from);
        self.push(micro.writes(&[to]).with_flags(flags::ALL, 0));
    }

    fn immediate(&mut self, to: Reg) {
        self.alu(to, &[], NOTHING);
    }

    /// The instruction pointer, where the operand needs it.
    fn pointer(&mut self) {
        if self.rip {
            self.alu8(T7, &[], NOTHING);
        }
    }

    fn load_from(&mut self, to: Reg, address: &[Reg], access: u8, size: u8) {
        let mut micro = Micro::new(Class::MemRead).reads(address).writes(&[to]);
        if size < 4 {
            micro = micro.reads(&[to]);
        }
        micro.access = access;
        micro.size = size;
        self.push(micro.with(traits::LOAD));
    }

    fn load(&mut self, to: Reg) {
        self.load_from(to, &self.address.clone(), 0, self.size);
    }

    fn store_to(&mut self, from: Reg, address: &[Reg], access: u8, size: u8) {
        let mut micro = Micro::new(Class::MemWrite).reads(&[from]).reads(address);
        micro.access = access;
        micro.size = size;
        self.push(micro.with(traits::STORE));
    }

    fn store(&mut self, from: Reg, access: u8) {
        self.store_to(from, &self.address.clone(), access, self.size);
    }

    fn load_float(&mut self, to: Reg, access: u8, offset: u8, size: u8) {
        let mut micro = Micro::new(Class::FloatMemRead)
            .reads(&self.address)
            .writes(&[to]);
        micro.access = access;
        micro.offset = offset;
        micro.size = size;
        self.push(micro.with(traits::LOAD));
    }

    fn store_float(&mut self, from: Reg, access: u8, offset: u8, size: u8) {
        let mut micro = Micro::new(Class::FloatMemWrite)
            .reads(&[from])
            .reads(&self.address);
        micro.access = access;
        micro.offset = offset;
        micro.size = size;
        self.push(micro.with(traits::STORE));
    }

    /// A store that only checks an address.
    fn check_address(&mut self) {
        let micro = Micro::new(Class::MemWrite).reads(&self.address);
        self.push(micro.with(traits::STORE | traits::NO_ACCESS));
    }

    fn fence(&mut self) {
        self.push(Micro::new(Class::IntAlu).with(traits::FENCE));
    }

    fn nothing(&mut self) {
        self.push(Micro::new(Class::None));
    }

    fn branch_inside(&mut self) {
        let micro = Micro::new(Class::IntAlu).with_flags(flags::ALL, 0);
        self.push(micro.with(traits::MICRO_BRANCH));
    }

    fn branch_to(&mut self, from: &[Reg], conditional: bool) {
        let read = if conditional { flags::ALL } else { 0 };
        let micro = Micro::new(Class::IntAlu).reads(from).with_flags(read, 0);
        self.push(micro.with(traits::BRANCH));
    }

    fn serial(&mut self, micro: Micro) {
        self.push(micro.with(traits::SERIAL_AFTER | traits::NON_SPECULATIVE));
    }

    /// Reads memory, computes, writes back; locked if the instruction is.
    fn modify(&mut self, compute: impl FnOnce(&mut Self)) {
        let locked = self.is_locked();
        if locked {
            self.fence();
        }
        self.load(T1);
        if locked {
            self.mark(traits::NON_SPECULATIVE);
        }
        compute(self);
        self.store(T1, 1);
        if locked {
            self.fence();
        }
    }

    fn mark(&mut self, bits: u16) {
        if let Some(last) = self.out.last_mut() {
            last.traits |= bits;
        }
    }

    fn instruction(&mut self, start: usize) -> Repeats {
        use Mnemonic::*;
        let i = self.instruction;
        if i.is_string_instruction() {
            return self.string(start);
        }
        match i.mnemonic() {
            Div | Idiv => return self.divide(start),
            Add | Sub | And | Or | Xor => self.binary(ARITHMETIC, false, true),
            Adc | Sbb => self.binary(ARITHMETIC, true, true),
            Cmp | Test => self.binary(ARITHMETIC, false, false),
            Mov => self.mov(),
            Movnti => {
                self.pointer();
                self.store(self.operand(1), 0);
            }
            Movzx | Movsx | Movsxd => self.extend(),
            Lea => {
                self.pointer();
                let to = self.operand(0);
                let micro = Micro::new(Class::IntAlu).reads(&[to]).reads(&self.address);
                self.push(micro.writes(&[to]));
            }
            Inc | Dec => self.unary(ALL_BUT_CARRY),
            Neg => self.unary(ARITHMETIC),
            Not => {
                let (to, memory) = (self.operand(0), self.is_memory(0));
                if memory {
                    self.immediate(T1);
                    self.pointer();
                    self.modify_second();
                } else {
                    self.immediate(T1);
                    self.alu(to, &[to, T1], NOTHING);
                }
            }
            Shl | Sal | Shr | Sar => self.shift(ALL_BUT_AUXILIARY),
            Rol | Ror => self.shift(CARRY_AND_OVERFLOW),
            Rcl | Rcr => self.shift(THROUGH_CARRY),
            Shld | Shrd => self.double_shift(),
            Bt => self.bit_test(None),
            Bts | Btr | Btc => self.bit_test(Some(())),
            Bsf | Tzcnt => self.bit_scan(true),
            Bsr | Lzcnt => self.bit_scan(false),
            Popcnt => {
                let from = self.integer_source(1);
                self.push(
                    Micro::new(Class::IntAlu)
                        .reads(&[from, self.operand(0)])
                        .writes(&[self.operand(0)])
                        .with_flags(0, flags::ZAPS | flags::CFOF),
                );
            }
            Bswap => self.swap_bytes(),
            Imul => self.signed_multiply(),
            Mul => self.multiply_accumulator(),
            Cbw | Cwde | Cdqe => self.alu(RAX, &[RAX], NOTHING),
            Cwd | Cdq | Cqo => {
                self.alu(RDX, &[RAX], NOTHING);
                self.alu(RDX, &[RDX], NOTHING);
            }
            Push => self.push_instruction(),
            Pop => self.pop_instruction(),
            Pushfq | Pushf => {
                self.push(
                    Micro::new(Class::IntAlu)
                        .writes(&[T1])
                        .with_flags(flags::ALL, 0),
                );
                self.store_to(T1, &[RSP], 0, 8);
                self.alu8(RSP, &[RSP], NOTHING);
            }
            Popfq | Popf => {
                self.load_from(T1, &[RSP], 0, 8);
                self.alu8(RSP, &[RSP], NOTHING);
                let write = Micro::new(Class::IntAlu).reads(&[T1]);
                self.serial(write.with_flags(0, flags::ALL));
            }
            Leave => {
                self.alu8(T1, &[RBP], NOTHING);
                self.load_from(RBP, &[T1], 0, 8);
                self.alu8(RSP, &[T1], NOTHING);
                self.alu8(RSP, &[RSP], NOTHING);
            }
            Call => self.call(),
            Ret => {
                if i.op_count() > 0 {
                    self.alu8(T2, &[], NOTHING);
                }
                self.load_from(T1, &[RSP], 0, 8);
                self.alu8(RSP, &[RSP], NOTHING);
                if i.op_count() > 0 {
                    self.alu8(RSP, &[RSP, T2], NOTHING);
                }
                self.branch_to(&[T1], false);
            }
            Jmp => self.jump(),
            Loop | Loope | Loopne => {
                self.alu8(T1, &[], NOTHING);
                self.alu8(RCX, &[RCX], OWN_ZERO);
                self.branch_to(&[T1], true);
            }
            Jrcxz | Jecxz => {
                self.alu8(T1, &[], NOTHING);
                self.alu8(NONE, &[RCX], OWN_ZERO);
                self.branch_to(&[T1], true);
            }
            Xchg => self.exchange(),
            Xadd => self.exchange_add(),
            Cmpxchg => self.compare_exchange(),
            Cmpxchg8b | Cmpxchg16b => self.compare_exchange_pair(),
            Nop | Endbr64 | Endbr32 | Pause | Reservednop => self.push(Micro::new(Class::IntAlu)),
            Prefetchnta | Prefetcht0 | Prefetcht1 | Prefetcht2 | Prefetchw | Prefetch => {
                self.pointer();
                self.load_from(NONE, &self.address.clone(), 0, 1);
                self.mark(traits::PREFETCH | traits::NO_ACCESS);
            }
            Mfence | Lfence | Sfence => self.fence(),
            Cld | Std | Clc => {
                self.read_flags(T1);
                self.alu8(T2, &[], NOTHING);
                self.alu8(T1, &[T1, T2], NOTHING);
                self.write_flags(T1);
            }
            Stc => {
                self.read_flags(T1);
                self.alu8(T1, &[T1], NOTHING);
                self.write_flags(T1);
            }
            Cmc => {
                self.read_flags(T1);
                self.write_flags(T1);
            }
            Sahf => {
                self.read_flags(T1);
                self.alu8(T1, &[T1, RAX], NOTHING);
                self.write_flags(T1);
            }
            Lahf => {
                self.read_flags(T1);
                self.alu8(RAX, &[RAX, T1], NOTHING);
            }
            Cpuid => self.push(
                Micro::new(Class::IntAlu)
                    .reads(&[RAX, RCX])
                    .writes(&[RAX, RBX, RCX])
                    .with(traits::SERIAL_AFTER),
            ),
            Syscall => {
                self.push(Micro::new(Class::IntAlu).with(traits::SYSCALL));
            }
            Rdtsc | Rdtscp => {
                self.push(
                    Micro::new(Class::IntAlu)
                        .writes(&[T1])
                        .with(traits::SERIAL_BEFORE),
                );
                self.alu8(RAX, &[T1], NOTHING);
                self.alu8(RDX, &[T1], NOTHING);
            }
            Ldmxcsr | Fldcw | Vldmxcsr => {
                self.pointer();
                self.load(T1);
                self.serial(Micro::new(Class::IntAlu).reads(&[T1]));
            }
            Stmxcsr | Fnstcw | Vstmxcsr => {
                self.pointer();
                self.alu8(T1, &[], NOTHING);
                self.store(T1, 0);
            }
            _ if i.is_jcc_short_or_near() => {
                self.alu8(T1, &[], NOTHING);
                self.alu8(T2, &[], NOTHING);
                self.branch_to(&[T1, T2], true);
            }
            _ if i.condition_code() != iced_x86::ConditionCode::None => {
                if i.op_count() == 1 {
                    self.set_on_condition();
                } else {
                    self.move_on_condition();
                }
            }
            _ if is_x87(i) => self.x87(),
            _ => self.vector(),
        }
        Repeats::No
    }

    fn read_flags(&mut self, to: Reg) {
        self.push(
            Micro::new(Class::IntAlu)
                .writes(&[to])
                .with_flags(flags::ALL, 0),
        );
    }

    fn write_flags(&mut self, from: Reg) {
        self.push(
            Micro::new(Class::IntAlu)
                .reads(&[from])
                .with_flags(0, flags::ALL),
        );
    }

    /// The NOT of a memory operand computes in the second micro-register.
    fn modify_second(&mut self) {
        let locked = self.is_locked();
        if locked {
            self.fence();
        }
        self.load(T2);
        if locked {
            self.mark(traits::NON_SPECULATIVE);
        }
        self.alu(T2, &[T2, T1], NOTHING);
        self.store(T2, 1);
        if locked {
            self.fence();
        }
    }

    /// Two operands: the result goes to the first, unless only flags are wanted.
    fn binary(&mut self, sets: Sets, carry: bool, writes: bool) {
        let sets = if carry {
            Sets(sets.0 | flags::CFOF, sets.1)
        } else {
            sets
        };
        let immediate = !self.is_register(1) && !self.is_memory(1);
        let (first, second) = (self.operand(0), self.operand(1));
        if self.is_memory(0) {
            self.pointer();
            if immediate {
                self.immediate(T2);
            }
            let second = if immediate { T2 } else { second };
            if writes {
                self.modify(|b| b.alu(T1, &[T1, second], sets));
            } else {
                self.load(T1);
                self.alu(NONE, &[T1, second], sets);
            }
            return;
        }
        let second = if self.is_memory(1) {
            self.pointer();
            self.load(T1);
            T1
        } else if immediate {
            self.immediate(T1);
            T1
        } else {
            second
        };
        let to = if writes { first } else { NONE };
        self.alu(to, &[first, second], sets);
    }

    fn mov(&mut self) {
        let immediate = !self.is_register(1) && !self.is_memory(1);
        if self.is_memory(0) {
            self.pointer();
            if immediate {
                self.immediate(T1);
                self.store(T1, 0);
            } else {
                self.store(self.operand(1), 0);
            }
        } else if self.is_memory(1) {
            self.pointer();
            self.load(self.operand(0));
        } else if immediate {
            self.immediate(self.operand(0));
        } else {
            self.alu(self.operand(0), &[self.operand(1)], NOTHING);
        }
    }

    fn extend(&mut self) {
        let to = self.operand(0);
        let from = if self.is_memory(1) {
            self.instruction.memory_size().size() as u8
        } else {
            self.instruction.op_register(1).size() as u8
        };
        // A sign-extended word is loaded into the destination itself.
        let via = if from == 2 && self.instruction.mnemonic() == Mnemonic::Movsx {
            to
        } else {
            T1
        };
        if self.is_memory(1) {
            self.pointer();
            self.load_from(via, &self.address.clone(), 0, from);
            self.alu(to, &[via], NOTHING);
        } else if from == 1 {
            // The byte is merged into the micro-register first.
            self.push(
                Micro::new(Class::IntAlu)
                    .reads(&[self.operand(1), T1])
                    .writes(&[T1]),
            );
            self.alu(to, &[T1], NOTHING);
        } else {
            self.alu(to, &[self.operand(1)], NOTHING);
        }
    }

    fn unary(&mut self, sets: Sets) {
        if self.is_memory(0) {
            self.pointer();
            self.modify(|b| b.alu(T1, &[T1], sets));
        } else {
            let to = self.operand(0);
            self.alu(to, &[to], sets);
        }
    }

    /// Shifts and rotates.
    fn shift(&mut self, sets: Sets) {
        let by = if self.is_register(1) { RCX } else { NONE };
        if self.is_memory(0) {
            self.pointer();
            self.modify(|b| b.alu(T1, &[T1, by], sets));
        } else {
            let to = self.operand(0);
            self.alu(to, &[to, by], sets);
        }
    }

    fn double_shift(&mut self) {
        let by = if self.is_register(2) { RCX } else { NONE };
        let second = self.operand(1);
        if self.is_memory(0) {
            self.pointer();
            self.modify(|b| {
                b.alu8(DOUBLE_BITS, &[second], NOTHING);
                b.alu(T1, &[T1, by, DOUBLE_BITS], ALL_BUT_AUXILIARY);
            });
        } else {
            let to = self.operand(0);
            self.alu8(DOUBLE_BITS, &[second], NOTHING);
            self.alu(to, &[to, by, DOUBLE_BITS], ALL_BUT_AUXILIARY);
        }
    }

    fn bit_test(&mut self, changes: Option<()>) {
        let by = self.operand(1);
        if !self.is_memory(0) {
            let to = self.operand(0);
            self.alu(NONE, &[to, by], CARRY);
            if changes.is_some() {
                self.immediate(T1);
                self.alu(T1, &[T1, by], NOTHING);
                self.alu(to, &[to, T1], NOTHING);
            }
            return;
        }
        self.pointer();
        let immediate = by == NONE;
        if immediate {
            self.immediate(T1);
        } else {
            self.alu8(T2, &[by], NOTHING);
            self.alu8(T3, &[T2], NOTHING);
            self.alu8(T3, &[T3, self.address[0]], NOTHING);
        }
        if changes.is_none() {
            self.load(T1);
            self.alu(NONE, &[T1, by], CARRY);
            return;
        }
        if !immediate {
            self.immediate(T4);
            self.alu(T4, &[T4, by], NOTHING);
        }
        self.modify(|b| {
            b.alu(NONE, &[T1, by], CARRY);
            b.alu(T1, &[T1, T4], NOTHING);
        });
    }

    /// A search by halves: three micro-ops a half and a move of what is left to search.
    fn bit_scan(&mut self, forward: bool) {
        let to = self.operand(0);
        self.pointer();
        self.alu8(T1, &[], NOTHING);
        let from = if self.is_memory(1) {
            self.load(T1);
            T1
        } else {
            self.operand(1)
        };
        self.alu(T1, &[from], ZERO);
        self.branch_inside();
        self.push(Micro::new(Class::IntAlu).reads(&[to]).writes(&[to]));
        if forward {
            self.alu(T2, &[T1], NOTHING);
            self.alu(T1, &[T1, T2], NOTHING);
        }
        for left in (0..6).rev() {
            self.alu8(T3, &[T1], OWN_ZERO);
            self.alu(T4, &[to], NOTHING);
            self.conditional(to, &[T4]);
            if left > 0 {
                self.conditional(T1, &[T3]);
            }
        }
        self.nothing();
    }

    fn swap_bytes(&mut self) {
        let to = self.operand(0);
        let steps: &[(Reg, Reg)] = if self.size == 8 {
            &[
                (to, to),
                (T1, to),
                (T1, T1),
                (T1, T1),
                (T2, to),
                (T2, T2),
                (T2, T2),
                (T2, T2),
            ]
        } else {
            &[(to, to), (to, to), (to, to)]
        };
        for &(result, from) in steps {
            self.push(
                Micro::new(Class::IntAlu)
                    .reads(&[from, result])
                    .writes(&[result]),
            );
        }
        if self.size == 8 {
            self.alu8(to, &[T1, T2], NOTHING);
        }
    }

    /// Its flags are computed from the product, which thereby counts as read: multiplications follow each other.
    fn multiply(&mut self, a: Reg, b: Reg) {
        self.push(
            Micro::new(Class::IntMult)
                .reads(&[a, b, PRODUCT_LOW, PRODUCT_HIGH])
                .writes(&[PRODUCT_LOW, PRODUCT_HIGH])
                .with_flags(0, flags::CFOF),
        );
    }

    fn product(&mut self, to: Reg, half: Reg) {
        self.alu(to, &[half], NOTHING);
    }

    fn integer_source(&mut self, i: u32) -> Reg {
        if self.is_memory(i) {
            self.pointer();
            self.load(T1);
            T1
        } else {
            self.operand(i)
        }
    }

    fn multiply_accumulator(&mut self) {
        let from = self.integer_source(0);
        self.multiply(RAX, from);
        self.product(RAX, PRODUCT_LOW);
        self.product(if self.size == 1 { RAX } else { RDX }, PRODUCT_HIGH);
    }

    fn signed_multiply(&mut self) {
        match self.instruction.op_count() {
            1 => self.multiply_accumulator(),
            2 => {
                let to = self.operand(0);
                let from = self.integer_source(1);
                self.multiply(to, from);
                self.product(to, PRODUCT_LOW);
                self.product(NONE, PRODUCT_HIGH);
            }
            _ => {
                let to = self.operand(0);
                if self.is_memory(1) {
                    self.pointer();
                    self.immediate(T1);
                    self.load(T2);
                    self.multiply(T2, T1);
                } else {
                    self.immediate(T1);
                    self.multiply(self.operand(1), T1);
                }
                self.product(to, PRODUCT_LOW);
                self.product(NONE, PRODUCT_HIGH);
            }
        }
    }

    fn divide_step(&mut self, rest: Reg, from: Reg, ends: bool) {
        let micro = Micro::new(Class::IntDiv)
            .reads(&[REMAINDER, DIVISOR, QUOTIENT, from, rest])
            .writes(&[rest, REMAINDER, QUOTIENT]);
        self.push(micro.with_flags(0, if ends { flags::EZF } else { 0 }));
    }

    fn divide(&mut self, start: usize) -> Repeats {
        let signed = self.instruction.mnemonic() == Mnemonic::Idiv;
        let upper_half = if self.size == 1 { RAX } else { RDX };
        let divisor_in_memory = self.is_memory(0);
        let divisor = if divisor_in_memory {
            T2
        } else {
            self.operand(0)
        };
        let (high_part, by, low_part, rest) = if signed {
            self.alu(T1, &[RAX], OWN_CARRY);
            self.push(
                Micro::new(Class::IntAlu)
                    .writes(&[T4])
                    .with_flags(flags::ALL, flags::EZF),
            );
            self.alu(T2, &[upper_half], NOTHING);
            self.alu(T2, &[T2, T4], NOTHING);
            let divisor = if divisor_in_memory {
                self.pointer();
                self.load(temporary(8 - 1));
                T7
            } else {
                divisor
            };
            self.alu(NONE, &[divisor], OWN_CARRY);
            self.alu(T3, &[divisor], NOTHING);
            self.conditional(T3, &[divisor]);
            self.alu(NONE, &[upper_half], OWN_CARRY);
            self.conditional(T1, &[RAX]);
            self.conditional(T2, &[upper_half]);
            (T2, T3, T1, T4)
        } else {
            if divisor_in_memory {
                self.pointer();
                self.load(T2);
            }
            (upper_half, divisor, RAX, T1)
        };
        self.push(
            Micro::new(Class::IntDiv)
                .reads(&[high_part, by])
                .writes(&[REMAINDER, QUOTIENT, DIVISOR]),
        );
        let steps = if self.size == 1 { 2 } else { 4 };
        self.push(
            Micro::new(Class::IntDiv)
                .reads(&[REMAINDER, DIVISOR, QUOTIENT, low_part])
                .writes(&[rest, REMAINDER, QUOTIENT]),
        );
        self.divide_step(rest, low_part, false);
        let body = (self.out.len() - start) as u16;
        for step in 1..=steps {
            self.divide_step(rest, low_part, step == steps);
        }
        self.branch_inside();
        let tail = (self.out.len() - start) as u16;
        if signed {
            self.alu(T5, &[QUOTIENT], NOTHING);
            self.alu(T6, &[REMAINDER], NOTHING);
            self.alu(T4, &[T6], NOTHING);
            self.conditional(upper_half, &[T4]);
            self.conditional(upper_half, &[T6]);
            self.alu(T4, &[T5], NOTHING);
            self.conditional(T5, &[T4]);
            self.alu(NONE, &[divisor], OWN_CARRY);
            self.alu(T4, &[T5], NOTHING);
            self.conditional(RAX, &[T4]);
            self.conditional(RAX, &[T5]);
        } else {
            self.alu(RAX, &[QUOTIENT], NOTHING);
            self.alu(upper_half, &[REMAINDER], NOTHING);
        }
        Repeats::Steps { body, tail, steps }
    }

    fn push_instruction(&mut self) {
        let size = if self.instruction.stack_pointer_increment() == -2 {
            2
        } else {
            8
        };
        let from = if self.is_memory(0) {
            self.pointer();
            self.load(T1);
            T1
        } else if self.is_register(0) && self.operand(0) != NONE {
            self.operand(0)
        } else {
            self.alu8(T1, &[], NOTHING);
            T1
        };
        let access = u8::from(self.is_memory(0));
        self.store_to(from, &[RSP], access, size);
        self.alu8(RSP, &[RSP], NOTHING);
    }

    fn pop_instruction(&mut self) {
        self.load_from(T1, &[RSP], 0, 8);
        if self.is_memory(0) {
            self.pointer();
            self.check_address();
            self.alu8(RSP, &[RSP], NOTHING);
            self.store(T1, 1);
        } else {
            self.alu8(RSP, &[RSP], NOTHING);
            self.alu8(self.operand(0), &[T1], NOTHING);
        }
    }

    fn call(&mut self) {
        if self.is_memory(0) {
            // The return address, and base of the operand if it is relative to it.
            self.alu8(T7, &[], NOTHING);
            self.load_from(T1, &self.address.clone(), 0, 8);
            self.store_to(T7, &[RSP], 1, 8);
            self.alu8(RSP, &[RSP], NOTHING);
            self.branch_to(&[T1], false);
        } else if self.is_register(0) {
            self.alu8(T1, &[], NOTHING);
            self.store_to(T1, &[RSP], 0, 8);
            self.alu8(RSP, &[RSP], NOTHING);
            self.branch_to(&[self.operand(0)], false);
        } else {
            self.alu8(T1, &[], NOTHING);
            self.alu8(T7, &[], NOTHING);
            self.store_to(T7, &[RSP], 0, 8);
            self.alu8(RSP, &[RSP], NOTHING);
            self.branch_to(&[T7, T1], false);
        }
    }

    fn jump(&mut self) {
        if self.is_memory(0) {
            self.pointer();
            self.load_from(T1, &self.address.clone(), 0, 8);
            self.branch_to(&[T1], false);
        } else if self.is_register(0) {
            self.branch_to(&[self.operand(0)], false);
        } else {
            self.alu8(T1, &[], NOTHING);
            self.alu8(T2, &[], NOTHING);
            self.branch_to(&[T1, T2], false);
        }
    }

    fn exchange(&mut self) {
        let (a, b) = (self.operand(0), self.operand(1));
        if !self.is_memory(0) && !self.is_memory(1) {
            self.alu(a, &[a, b], NOTHING);
            self.alu(b, &[b, a], NOTHING);
            self.alu(a, &[a, b], NOTHING);
            return;
        }
        let register = if self.is_memory(0) { b } else { a };
        self.pointer();
        self.fence();
        self.load(T1);
        self.mark(traits::NON_SPECULATIVE);
        self.store(register, 1);
        self.fence();
        self.alu(register, &[T1], NOTHING);
    }

    fn exchange_add(&mut self) {
        let (a, b) = (self.operand(0), self.operand(1));
        if !self.is_memory(0) {
            self.alu(T2, &[a, b], ARITHMETIC);
            self.alu(a, &[b], NOTHING);
            self.alu(b, &[T2], NOTHING);
            return;
        }
        let locked = self.is_locked();
        self.pointer();
        if locked {
            self.fence();
        }
        self.load(T1);
        if locked {
            self.mark(traits::NON_SPECULATIVE);
        }
        self.alu(T2, &[T1, b], ARITHMETIC);
        self.store(T2, 1);
        if locked {
            self.fence();
        }
        self.alu(b, &[T1], NOTHING);
    }

    fn compare_exchange(&mut self) {
        let (a, b) = (self.operand(0), self.operand(1));
        if !self.is_memory(0) {
            self.alu(NONE, &[RAX, a], ARITHMETIC);
            self.conditional(a, &[b]);
            self.conditional(RAX, &[a]);
            return;
        }
        self.pointer();
        self.modify(|s| {
            s.alu(NONE, &[RAX, T1], ARITHMETIC);
            s.conditional(T1, &[b]);
        });
        self.conditional(RAX, &[T1]);
    }

    fn compare_exchange_pair(&mut self) {
        let locked = self.is_locked();
        self.pointer();
        if locked {
            self.fence();
        }
        self.alu8(T1, &self.address.clone(), NOTHING);
        let mut load = Micro::new(Class::MemRead).reads(&[T1]).writes(&[T2, T3]);
        load.size = self.size;
        self.push(load.with(traits::LOAD));
        if locked {
            self.mark(traits::NON_SPECULATIVE);
        }
        self.alu8(NONE, &[RAX, T2], ZERO);
        self.branch_inside();
        self.alu8(NONE, &[RDX, T3], ZERO);
        self.conditional(T2, &[RBX]);
        self.conditional(T3, &[RCX]);
        self.conditional(RAX, &[T2]);
        self.conditional(RDX, &[T3]);
        let mut store = Micro::new(Class::MemWrite).reads(&[T2, T3, T1]);
        store.access = 1;
        store.size = self.size;
        self.push(store.with(traits::STORE));
        if locked {
            self.fence();
        }
    }

    fn set_on_condition(&mut self) {
        self.pointer();
        let to = if self.is_memory(0) {
            T1
        } else {
            self.operand(0)
        };
        self.conditional(to, &[]);
        self.conditional(to, &[]);
        if self.is_memory(0) {
            self.store(T1, 0);
        }
    }

    fn move_on_condition(&mut self) {
        let to = self.operand(0);
        let from = self.integer_source(1);
        self.conditional(to, &[]);
        self.conditional(to, &[from]);
    }

    /// String instructions, with what makes their step of the direction flag.
    fn string(&mut self, start: usize) -> Repeats {
        use Mnemonic::*;
        let (loads, stores, compares): (&[Reg], bool, bool) = match self.instruction.mnemonic() {
            Movsb | Movsw | Movsd | Movsq => (&[RSI], true, false),
            Stosb | Stosw | Stosd | Stosq => (&[], true, false),
            Lodsb | Lodsw | Lodsd | Lodsq => (&[RSI], false, false),
            Scasb | Scasw | Scasd | Scasq => (&[RDI], false, true),
            Cmpsb | Cmpsw | Cmpsd | Cmpsq => (&[RSI, RDI], false, true),
            _ => {
                self.nothing();
                return Repeats::No;
            }
        };
        self.size = match self.instruction.memory_size() {
            MemorySize::UInt8 | MemorySize::Int8 => 1,
            MemorySize::UInt16 | MemorySize::Int16 => 2,
            MemorySize::UInt32 | MemorySize::Int32 => 4,
            _ => 8,
        };
        let repeated = is_repeated(self.instruction);
        let scan = compares && loads.len() == 1;
        let (step, other) = if scan { (T2, T3) } else { (T3, T4) };
        if repeated {
            self.alu8(NONE, &[RCX], OWN_ZERO);
            self.branch_inside();
        }
        self.push(Micro::new(Class::IntAlu).with_flags(flags::ALL, flags::EZF));
        self.conditional(step, &[]);
        self.alu8(other, &[], NOTHING);
        self.conditional(step, &[other]);
        let body = (self.out.len() - start) as u16;
        let lods = loads.len() == 1 && !stores && !compares;
        for (access, &address) in loads.iter().enumerate() {
            let to = if lods { RAX } else { [T1, T2][access] };
            self.load_from(to, &[address], access as u8, self.size);
        }
        if compares {
            let sources = if scan { [RAX, T1] } else { [T1, T2] };
            self.alu8(NONE, &sources, ARITHMETIC);
        }
        if stores {
            let from = if loads.is_empty() { RAX } else { T1 };
            self.store_to(from, &[RDI], loads.len() as u8, self.size);
        }
        if repeated {
            self.alu8(RCX, &[RCX], OWN_ZERO);
        }
        if stores || compares {
            self.alu8(RDI, &[RDI, step], NOTHING);
        }
        if loads.contains(&RSI) {
            self.alu8(RSI, &[RSI, step], NOTHING);
        }
        if !repeated {
            return Repeats::No;
        }
        self.branch_inside();
        let tail = (self.out.len() - start) as u16;
        self.nothing();
        Repeats::Iterations {
            body,
            tail,
            skip: 2,
        }
    }

    // ---- vectors ---------------------------------------------------------------------------------------------------

    /// A floating or vector operation.
    fn media(&mut self, class: Class, to: Reg, from: &[Reg]) {
        self.push(Micro::new(class).reads(from).writes(&[to]));
    }

    /// One that keeps what it does not write of its destination.
    fn merging(&mut self, class: Class, to: Reg, from: &[Reg]) {
        self.media(class, to, &[from, &[to]].concat());
    }

    fn zero(&mut self, to: Reg) {
        self.push(Micro::new(Class::FloatAdd).writes(&[to]));
    }

    fn copy(&mut self, to: Reg, from: Reg) {
        self.media(Class::IntAlu, to, &[from]);
    }

    /// Both halves of a memory operand in the first two floating micro-registers.
    fn load_halves(&mut self, first: Reg, second: Reg) {
        self.load_float(first, 0, 0, 8);
        self.load_float(second, 0, 8, 8);
    }

    /// Halves of the source operand `i`, loaded if need be.
    fn halves(&mut self, i: u32) -> (Reg, Reg) {
        if self.is_memory(i) {
            self.load_halves(F1, F2);
            (F1, F2)
        } else {
            let from = self.operand(i);
            (
                from,
                if from < low(0) + 16 {
                    upper(from)
                } else {
                    from
                },
            )
        }
    }

    /// The low half of the source operand `i`, loaded if need be.
    fn scalar(&mut self, i: u32, size: u8) -> Reg {
        if self.is_memory(i) {
            self.load_float(F1, 0, 0, size);
            F1
        } else {
            self.operand(i)
        }
    }

    /// An operation on both halves; on MMX registers there is one.
    fn packed(&mut self, class: Class, reads_first: bool) {
        let to = self.operand(0);
        self.pointer();
        if to >= stack(0) {
            let from = self.scalar(1, 8);
            self.merging(class, to, &[from]);
            return;
        }
        let (a, b) = self.halves(1);
        if reads_first {
            self.merging(class, to, &[a]);
            self.merging(class, upper(to), &[b]);
        } else {
            self.media(class, to, &[a]);
            self.media(class, upper(to), &[b]);
        }
    }

    /// Logic with memory computes the address first.
    fn logic(&mut self) {
        let to = self.operand(0);
        if self.is_memory(1) && to < stack(0) {
            self.pointer();
            let lea = Micro::new(Class::IntAlu).reads(&self.address).reads(&[T1]);
            self.push(lea.writes(&[T1]));
            self.address = [T1, NONE];
            self.load_halves(F1, F2);
            self.merging(Class::SimdAlu, to, &[F1]);
            self.merging(Class::SimdAlu, upper(to), &[F2]);
        } else {
            self.packed(Class::SimdAlu, true);
        }
    }

    fn single(&mut self, class: Class) {
        let to = self.operand(0);
        self.pointer();
        let from = self.scalar(1, 8);
        self.merging(class, to, &[from]);
    }

    fn vector(&mut self) {
        use Class::*;
        use Mnemonic as M;
        let i = self.instruction;
        let to = self.operand(0);
        let from = if i.op_count() > 1 {
            self.operand(1)
        } else {
            NONE
        };
        let to_memory = self.is_memory(0);
        let from_memory = self.is_memory(1);
        match i.mnemonic() {
            M::Addss | M::Addsd | M::Subss | M::Subsd => self.single(SimdFloatAdd),
            M::Mulss | M::Mulsd => self.single(SimdFloatMult),
            M::Divss | M::Divsd => self.single(SimdFloatDiv),
            M::Sqrtss | M::Sqrtsd => self.single(SimdFloatSqrt),
            M::Minss | M::Minsd | M::Maxss | M::Maxsd => self.single(SimdFloatCmp),
            M::Rcpss | M::Rsqrtss => self.single(SimdFloatAlu),
            M::Cmpss | M::Cmpsd if !i.is_string_instruction() => self.single(SimdFloatCvt),
            M::Cvtss2sd | M::Cvtsd2ss => self.single(SimdFloatCvt),
            M::Addps | M::Addpd | M::Subps | M::Subpd | M::Addsubpd | M::Addsubps => {
                self.packed(SimdFloatAdd, true);
            }
            M::Mulps | M::Mulpd => self.packed(SimdFloatMult, true),
            M::Divps | M::Divpd => self.packed(SimdFloatDiv, true),
            M::Sqrtps | M::Sqrtpd => self.packed(SimdFloatSqrt, true),
            M::Rcpps | M::Rsqrtps => self.packed(SimdFloatAlu, true),
            M::Minps | M::Minpd | M::Maxps | M::Maxpd => self.packed(SimdFloatCmp, true),
            M::Cmpps | M::Cmppd | M::Cvtps2dq | M::Cvttps2dq | M::Cvtdq2ps => {
                self.packed(SimdFloatCvt, true);
            }
            M::Comiss | M::Comisd | M::Ucomiss | M::Ucomisd => {
                self.pointer();
                let from = self.scalar(1, 8);
                let compare = Micro::new(SimdFloatCvt).reads(&[to, from]);
                self.push(compare.with_flags(0, flags::ZAPS | flags::CFOF));
            }
            M::Cvtsi2sd | M::Cvtsi2ss => {
                self.pointer();
                if from_memory {
                    self.load_float(F1, 0, 0, 8);
                } else {
                    self.merging(SimdMisc, F1, &[from]);
                }
                self.merging(SimdFloatCvt, to, &[F1]);
            }
            M::Cvtsd2si | M::Cvttsd2si | M::Cvtss2si | M::Cvttss2si => {
                self.pointer();
                let from = self.scalar(1, 8);
                self.merging(SimdFloatCvt, F1, &[from]);
                self.merging(SimdMisc, to, &[F1]);
            }
            M::Cvtps2pd | M::Cvtdq2pd => {
                self.pointer();
                let from = self.scalar(1, 8);
                self.merging(SimdFloatCvt, upper(to), &[from]);
                self.merging(SimdFloatCvt, to, &[from]);
            }
            M::Cvtpd2ps | M::Cvtpd2dq | M::Cvttpd2dq => {
                self.pointer();
                let (a, b) = self.halves(1);
                self.merging(SimdFloatCvt, to, &[a]);
                self.merging(SimdFloatCvt, to, &[b]);
                self.zero(upper(to));
            }
            M::Haddpd | M::Hsubpd => {
                self.pointer();
                let (a, b) = self.halves(1);
                self.merging(SimdFloatAdd, F1, &[to, upper(to)]);
                self.merging(SimdFloatAdd, upper(to), &[a, b]);
                self.copy(to, F1);
            }
            M::Haddps | M::Hsubps => {
                self.pointer();
                let (a, b) = self.halves(1);
                self.media(SimdMisc, F3, &[to, upper(to)]);
                self.media(SimdMisc, F4, &[to, upper(to)]);
                self.media(SimdMisc, F1, &[a, b]);
                self.media(SimdMisc, F2, &[a, b]);
                self.merging(SimdFloatAdd, to, &[F3, F4]);
                self.merging(SimdFloatAdd, upper(to), &[F1, F2]);
            }
            M::Andps | M::Andpd | M::Andnps | M::Andnpd | M::Orps | M::Orpd => self.logic(),
            M::Xorps | M::Xorpd | M::Pand | M::Pandn | M::Por | M::Pxor => self.logic(),
            M::Paddb | M::Paddw | M::Paddd | M::Paddq | M::Paddsb | M::Paddsw | M::Paddusb => {
                self.packed(SimdAdd, true);
            }
            M::Paddusw | M::Psubb | M::Psubw | M::Psubd | M::Psubq | M::Psubsb | M::Psubsw => {
                self.packed(SimdAdd, true);
            }
            M::Psubusb | M::Psubusw | M::Pavgb | M::Pavgw => self.packed(SimdAdd, true),
            M::Psadbw => {
                self.pointer();
                let (a, b) = self.halves(1);
                self.media(SimdAdd, to, &[to, a]);
                if to < stack(0) {
                    self.media(SimdAdd, upper(to), &[upper(to), b]);
                }
            }
            M::Pmullw | M::Pmulhw | M::Pmulhuw | M::Pmuludq | M::Pmulld | M::Pmuldq => {
                self.packed(SimdMult, true);
            }
            M::Pmaddwd => {
                self.pointer();
                let (a, b) = self.halves(1);
                for (half, with) in [(to, a), (upper(to), b)] {
                    self.merging(SimdMult, F3, &[half, with]);
                    self.merging(SimdMult, F4, &[half, with]);
                    self.merging(SimdAdd, half, &[F3, F4]);
                }
            }
            M::Pcmpeqb | M::Pcmpeqw | M::Pcmpeqd | M::Pcmpgtb | M::Pcmpgtw | M::Pcmpgtd => {
                self.packed(SimdCvt, true);
            }
            M::Pcmpeqq | M::Pcmpgtq => self.packed(SimdCvt, true),
            M::Pminub | M::Pminuw | M::Pminud | M::Pminsb | M::Pminsw | M::Pminsd => {
                self.packed(SimdCmp, true);
            }
            M::Pmaxub | M::Pmaxuw | M::Pmaxud | M::Pmaxsb | M::Pmaxsw | M::Pmaxsd => {
                self.packed(SimdCmp, true);
            }
            M::Pabsb | M::Pabsw | M::Pabsd => self.packed(SimdMisc, true),
            M::Psllw | M::Pslld | M::Psllq | M::Psrlw | M::Psrld | M::Psrlq => self.vector_shift(),
            M::Psraw | M::Psrad => self.vector_shift(),
            M::Pslldq | M::Psrldq => self.byte_shift(),
            M::Pshufd | M::Shufps | M::Shufpd => {
                self.pointer();
                let two = i.mnemonic() != M::Pshufd;
                let (a, b) = self.halves(1);
                let first = if two { (to, upper(to)) } else { (a, b) };
                if from_memory {
                    self.media(SimdMisc, to, &[first.0, first.1]);
                    self.media(SimdMisc, upper(to), &[a, b]);
                } else {
                    self.media(SimdMisc, F1, &[first.0, first.1]);
                    self.media(SimdMisc, upper(to), &[a, b]);
                    self.copy(to, F1);
                }
            }
            M::Pshuflw => {
                self.pointer();
                let from = self.scalar(1, 8);
                self.media(SimdMisc, to, &[from]);
            }
            M::Pshufhw => {
                self.pointer();
                let from = if from_memory {
                    self.load_float(F1, 0, 8, 8);
                    F1
                } else {
                    upper(from)
                };
                self.media(SimdMisc, upper(to), &[from]);
            }
            M::Pshufb => {
                self.pointer();
                if from_memory {
                    self.load_halves(F1, F2);
                } else {
                    self.copy(F1, from);
                    self.copy(F2, upper(from));
                }
                self.merging(SimdMisc, F1, &[to, upper(to)]);
                self.merging(SimdMisc, F2, &[to, upper(to)]);
                self.copy(to, F1);
                self.copy(upper(to), F2);
            }
            M::Packssdw | M::Packsswb | M::Packusdw | M::Packuswb => {
                self.pointer();
                let (a, b) = self.halves(1);
                if from_memory {
                    self.media(SimdMisc, to, &[to, upper(to)]);
                    self.media(SimdMisc, upper(to), &[a, b]);
                } else {
                    self.media(SimdMisc, F1, &[to, upper(to)]);
                    self.media(SimdMisc, upper(to), &[a, b]);
                    self.copy(to, F1);
                }
            }
            M::Punpcklbw | M::Punpcklwd | M::Punpckldq | M::Unpcklps => {
                self.pointer();
                let from = self.scalar(1, 8);
                if to < stack(0) {
                    self.media(SimdMisc, upper(to), &[to, from]);
                }
                self.media(SimdMisc, to, &[to, from]);
            }
            M::Punpckhbw | M::Punpckhwd | M::Punpckhdq | M::Unpckhps => {
                if to >= stack(0) {
                    self.pointer();
                    let from = self.scalar(1, 8);
                    self.media(SimdMisc, to, &[to, from]);
                    return;
                }
                let from = self.upper_source(from);
                self.media(SimdMisc, to, &[upper(to), from]);
                self.media(SimdMisc, upper(to), &[upper(to), from]);
            }
            M::Punpcklqdq | M::Unpcklpd => {
                self.pointer();
                if from_memory {
                    self.load_float(upper(to), 0, 0, 8);
                } else {
                    self.copy(upper(to), from);
                }
            }
            M::Punpckhqdq | M::Unpckhpd => {
                let from = self.upper_source(from);
                self.copy(to, upper(to));
                self.copy(upper(to), from);
            }
            M::Palignr => {
                self.pointer();
                if from_memory {
                    self.load_halves(F2, F3);
                }
                let (a, b) = if from_memory {
                    (F2, F3)
                } else {
                    (from, upper(from))
                };
                self.copy(F1, to);
                self.merging(SimdMisc, to, &[upper(to), a, b]);
                self.merging(SimdMisc, upper(to), &[F1, a, b]);
            }
            M::Movaps | M::Movapd | M::Movups | M::Movupd | M::Movdqa | M::Movdqu | M::Lddqu => {
                self.pointer();
                let high_first = i.mnemonic() == M::Movaps;
                if to_memory {
                    let halves = [(from, 0), (upper(from), 8)];
                    for k in if high_first { [1, 0] } else { [0, 1] } {
                        self.store_float(halves[k].0, 0, halves[k].1, 8);
                    }
                } else if from_memory {
                    let halves = [(to, 0), (upper(to), 8)];
                    for k in if high_first { [1, 0] } else { [0, 1] } {
                        self.load_float(halves[k].0, 0, halves[k].1, 8);
                    }
                } else {
                    self.copy(to, from);
                    self.copy(upper(to), upper(from));
                }
            }
            M::Movntps | M::Movntpd | M::Movntdq => {
                self.pointer();
                self.check_address();
                self.store_float(from, 0, 0, 8);
                self.store_float(upper(from), 0, 8, 8);
            }
            M::Movss | M::Movsd => {
                self.pointer();
                let size = if i.mnemonic() == M::Movss { 4 } else { 8 };
                if to_memory {
                    self.store_float(from, 0, 0, size);
                } else if from_memory {
                    if size == 4 {
                        self.zero(to);
                    }
                    self.zero(upper(to));
                    self.load_float(to, 0, 0, size);
                } else if size == 4 {
                    self.merging(IntAlu, to, &[from]);
                } else {
                    self.copy(to, from);
                }
            }
            M::Movq | M::Movd => self.transfer(),
            M::Movdq2q => self.copy(to, from),
            M::Movq2dq => {
                self.copy(to, from);
                self.zero(upper(to));
            }
            M::Movhps | M::Movhpd | M::Movlps | M::Movlpd => {
                self.pointer();
                let second = matches!(i.mnemonic(), M::Movhps | M::Movhpd);
                let half = |r: Reg| if second { upper(r) } else { r };
                if to_memory {
                    self.store_float(half(from), 0, 0, 8);
                } else {
                    self.load_float(half(to), 0, 0, 8);
                }
            }
            M::Movhlps => self.copy(to, upper(from)),
            M::Movlhps => self.copy(upper(to), from),
            M::Movddup => {
                self.pointer();
                if from_memory {
                    self.load_float(to, 0, 0, 8);
                    self.copy(upper(to), to);
                } else {
                    self.copy(upper(to), from);
                    self.copy(to, from);
                }
            }
            M::Pmovmskb | M::Movmskps | M::Movmskpd => {
                self.push(Micro::new(IntAlu).writes(&[to]));
                self.merging(SimdMisc, to, &[from]);
                if from < stack(0) {
                    self.merging(SimdMisc, to, &[upper(from)]);
                }
            }
            M::Pinsrb | M::Pinsrw | M::Pinsrd | M::Pinsrq => {
                self.pointer();
                let from = if from_memory {
                    self.load(T1);
                    T1
                } else {
                    from
                };
                self.merging(SimdMisc, to, &[from]);
                if to < stack(0) {
                    self.merging(SimdMisc, upper(to), &[from]);
                }
            }
            M::Pextrb | M::Pextrw | M::Pextrd | M::Pextrq | M::Extractps => {
                self.pointer();
                let result = if to_memory { T1 } else { to };
                self.merging(SimdMisc, result, &[from]);
                if from < stack(0) {
                    self.merging(SimdMisc, result, &[upper(from)]);
                }
                if to_memory {
                    self.store(T1, 0);
                }
            }
            M::Emms | M::Femms => self.serial(Micro::new(FloatMisc)),
            _ => self.other_vector(),
        }
    }

    /// The high half of a source, or of memory through an address computed first.
    fn upper_source(&mut self, from: Reg) -> Reg {
        if !self.is_memory(1) {
            return upper(from);
        }
        self.pointer();
        let lea = Micro::new(Class::IntAlu).reads(&self.address).reads(&[T1]);
        self.push(lea.writes(&[T1]));
        self.address = [T1, NONE];
        self.load_float(F1, 0, 8, 8);
        F1
    }

    fn vector_shift(&mut self) {
        let to = self.operand(0);
        self.pointer();
        let by = if self.is_memory(1) {
            self.load_float(F1, 0, 0, 8);
            F1
        } else {
            self.operand(1)
        };
        if to >= stack(0) {
            self.merging(Class::SimdShift, to, &[by]);
        } else {
            self.merging(Class::SimdShift, upper(to), &[by]);
            self.merging(Class::SimdShift, to, &[by]);
        }
    }

    /// Whole-register shifts: the microcode branches on how far.
    fn byte_shift(&mut self) {
        let to = self.operand(0);
        let left = self.instruction.mnemonic() == Mnemonic::Pslldq;
        let (near, far) = if left {
            (to, upper(to))
        } else {
            (upper(to), to)
        };
        let by = self.instruction.immediate8();
        self.size = 1;
        self.alu8(T2, &[], NOTHING);
        self.alu(T1, &[T2], OWN_CARRY);
        self.branch_inside();
        if by <= 8 {
            self.mark(traits::TAKEN);
            self.merging(Class::SimdShift, F1, &[near]);
            self.merging(Class::SimdShift, far, &[]);
            self.merging(Class::SimdShift, near, &[]);
            self.merging(Class::SimdAlu, far, &[F1]);
        } else {
            self.alu8(T2, &[], NOTHING);
            self.alu(T1, &[T2], OWN_CARRY);
            self.branch_inside();
            if by <= 16 {
                self.mark(traits::TAKEN);
                self.merging(Class::SimdShift, far, &[near]);
            } else {
                self.zero(far);
            }
            self.zero(near);
            self.branch_inside();
            self.mark(traits::TAKEN);
        }
        self.nothing();
    }

    /// MOVD and MOVQ between all kinds of places.
    fn transfer(&mut self) {
        let (to, from) = (self.operand(0), self.operand(1));
        let vector = |r: Reg| (32..NONE).contains(&r);
        let xmm = |r: Reg| (32..64).contains(&r);
        let size = self.instruction.memory_size().size() as u8;
        self.pointer();
        if self.is_memory(0) {
            self.store_float(from, 0, 0, size);
        } else if self.is_memory(1) {
            self.load_float(to, 0, 0, size);
            if xmm(to) {
                self.zero(upper(to));
            }
        } else if !vector(to) {
            self.merging(Class::SimdMisc, to, &[from]);
        } else {
            if vector(from) {
                self.copy(to, from);
            } else {
                self.merging(Class::SimdMisc, to, &[from]);
            }
            if xmm(to) {
                self.zero(upper(to));
            }
        }
    }

    /// What gem5 has no microcode for, or no program needs exactly: one micro-op a half, and the accesses.
    fn other_vector(&mut self) {
        let to = self.operand(0);
        self.pointer();
        if self.is_memory(0) {
            let from = self.operand(1);
            self.store_float(from, 0, 0, 8);
            return;
        }
        let mut sources = vec![to];
        for i in 1..self.instruction.op_count() {
            if self.is_memory(i) {
                self.load_float(F1, 0, 0, 8);
                sources.push(F1);
            } else {
                sources.push(self.operand(i));
            }
        }
        if (32..64).contains(&to) {
            self.media(Class::SimdMisc, to, &sources);
            self.merging(Class::SimdMisc, upper(to), &sources);
        } else {
            self.media(Class::IntAlu, to, &sources);
        }
    }

    // ---- x87 -------------------------------------------------------------------------------------------------------

    /// Every x87 operation that moves the top of the stack serialises the core.
    fn x87(&mut self) {
        use Mnemonic::*;
        let i = self.instruction;
        let top = stack(0);
        let mnemonic = i.mnemonic();
        let class = match mnemonic {
            Fadd | Faddp | Fiadd | Fsub | Fsubp | Fisub | Fsubr | Fsubrp | Fisubr => {
                Class::FloatAdd
            }
            Fmul | Fmulp | Fimul => Class::FloatMult,
            Fdiv | Fdivp | Fidiv | Fdivr | Fdivrp | Fidivr | Fprem | Fprem1 => Class::FloatDiv,
            Fsqrt | Fsin | Fcos | Fsincos | Fptan | Fpatan | Fyl2x | F2xm1 => Class::FloatSqrt,
            Fcomi | Fcomip | Fucomi | Fucomip | Fcom | Fcomp | Fucom | Fucomp | Fucompp => {
                Class::FloatCmp
            }
            Fabs | Fchs => Class::FloatAdd,
            _ => Class::IntAlu,
        };
        self.pointer();
        let memory = has_memory(i);
        let stores = matches!(
            mnemonic,
            Fst | Fstp | Fist | Fistp | Fisttp | Fnstsw | Fnstenv | Fnsave
        );
        let size = (i.memory_size().size() as u8).min(8);
        if memory && !stores {
            self.load_float(F1, 0, 0, size);
        }
        let sources = [top, if memory { F1 } else { stack(1) }];
        let micro = Micro::new(class).reads(&sources).writes(&[top]);
        let flags_written = if class == Class::FloatCmp {
            flags::ZAPS | flags::CFOF
        } else {
            0
        };
        let micro = micro.with_flags(0, flags_written);
        if i.fpu_stack_increment_info().increment() != 0 {
            self.serial(micro);
        } else {
            self.push(micro);
        }
        if memory && stores {
            self.store_float(top, 0, 0, size);
        }
    }
}

fn is_x87(instruction: &Instruction) -> bool {
    use iced_x86::CpuidFeature::{FPU, FPU287, FPU387};
    (instruction.code().cpuid_features().iter())
        .any(|feature| matches!(feature, FPU | FPU287 | FPU387))
}

/// What kind of branch an instruction is, as a predictor sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchKind {
    /// None.
    None,
    /// Conditional, to a fixed target.
    Conditional,
    /// Unconditional, to a fixed target.
    Jump,
    /// To a target in a register or in memory.
    Indirect,
    /// A call of a fixed target.
    Call,
    /// A call of a target in a register or in memory.
    IndirectCall,
    /// A return.
    Return,
}

/// The kind of branch that an instruction is.
pub fn branch_kind(instruction: &Instruction) -> BranchKind {
    if !super::crack::is_branch(instruction) {
        return BranchKind::None;
    }
    match instruction.flow_control() {
        FlowControl::ConditionalBranch => BranchKind::Conditional,
        FlowControl::IndirectBranch => BranchKind::Indirect,
        FlowControl::Call => BranchKind::Call,
        FlowControl::IndirectCall => BranchKind::IndirectCall,
        FlowControl::Return => BranchKind::Return,
        _ => BranchKind::Jump,
    }
}

const _: () = assert!(FLAGS + 5 == NONE);

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn cracked(bytes: &[u8]) -> (Vec<Micro>, Repeats) {
        let instruction = Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE).decode();
        assert!(!instruction.is_invalid(), "{bytes:02x?}");
        let mut micros = Vec::new();
        let repeats = crack(&instruction, &mut micros);
        (micros, repeats)
    }
    fn count(bytes: &[u8]) -> usize {
        cracked(bytes).0.len()
    }
    fn classes(bytes: &[u8]) -> Vec<Class> {
        cracked(bytes).0.iter().map(|m| m.class).collect()
    }

    #[test]
    fn immediates_and_the_instruction_pointer_are_micro_ops() {
        assert_eq!(count(&[0x48, 0x01, 0xc8]), 1, "add rax,rcx");
        assert_eq!(count(&[0x48, 0x83, 0xc0, 1]), 2, "add rax,1");
        assert_eq!(count(&[0x48, 0x01, 0x07]), 3, "add [rdi],rax");
        assert_eq!(count(&[0x48, 0x83, 0x07, 1]), 4, "add qword [rdi],1");
        assert_eq!(count(&[0x48, 0x8b, 0x07]), 1, "mov rax,[rdi]");
        assert_eq!(count(&[0x48, 0x8b, 0x05, 0, 0, 0, 0]), 2, "mov rax,[rip]");
        assert_eq!(
            count(&[0x48, 0xc7, 0x07, 1, 0, 0, 0]),
            2,
            "mov qword [rdi],1"
        );
        assert_eq!(count(&[0x50]), 2, "push rax");
        assert_eq!(count(&[0x58]), 3, "pop rax");
        assert_eq!(count(&[0x75, 0]), 3, "jne");
        assert_eq!(count(&[0xe8, 0, 0, 0, 0]), 5, "call");
        assert_eq!(count(&[0xc3]), 3, "ret");
        assert_eq!(
            count(&[0xf0, 0x48, 0x83, 0x07, 1]),
            6,
            "lock add qword [rdi],1"
        );
    }

    #[test]
    fn vectors_are_worked_on_by_halves() {
        use Class::*;
        assert_eq!(classes(&[0xf2, 0x0f, 0x58, 0xc1]), [SimdFloatAdd], "addsd");
        assert_eq!(
            classes(&[0x0f, 0x59, 0xc1]),
            [SimdFloatMult, SimdFloatMult],
            "mulps"
        );
        assert_eq!(
            classes(&[0xf2, 0x0f, 0x10, 0x07]),
            [FloatAdd, FloatMemRead],
            "movsd xmm0,[rdi] clears the high half"
        );
        assert_eq!(
            classes(&[0x66, 0x0f, 0xef, 0x07]),
            [IntAlu, FloatMemRead, FloatMemRead, SimdAlu, SimdAlu],
            "pxor xmm0,[rdi] computes its address first"
        );
    }

    #[test]
    fn partial_results_read_what_they_keep() {
        let (byte, _) = cracked(&[0x00, 0xc8]); // add al,cl
        assert_eq!(byte[0].sources[..2], [RAX, RCX]);
        let (load, _) = cracked(&[0x8a, 0x07]); // mov al,[rdi]
        assert!(load[0].sources.contains(&RAX));
        let (lea, _) = cracked(&[0x48, 0x8d, 0x07]); // lea rax,[rdi]
        assert!(lea[0].sources.contains(&RAX));
        let (inc, _) = cracked(&[0x48, 0xff, 0xc0]); // inc rax keeps CF
        assert_eq!(inc[0].flags_read, flags::CFOF);
        let (add, _) = cracked(&[0x48, 0x01, 0xc8]);
        assert_eq!(add[0].flags_read, 0);
        let (jump, _) = cracked(&[0x75, 0]);
        assert_eq!(jump[2].flags_read, flags::ALL);
    }

    #[test]
    fn loops_of_the_microcode_are_marked() {
        let (micros, repeats) = cracked(&[0xf3, 0xa4]); // rep movsb
        assert_eq!(micros.len(), 13);
        assert_eq!(
            repeats,
            Repeats::Iterations {
                body: 6,
                tail: 12,
                skip: 2
            }
        );
        let (micros, repeats) = cracked(&[0x48, 0xf7, 0xf3]); // div rbx
        assert_eq!(micros.len(), 10);
        assert_eq!(
            repeats,
            Repeats::Steps {
                body: 3,
                tail: 8,
                steps: 4
            }
        );
    }
}
