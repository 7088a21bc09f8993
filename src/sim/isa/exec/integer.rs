//! Integer instructions: moves, arithmetic, logic, shifts, bits, stack and control.
use super::{
    Answer, address, gpr_number, has_narrow_address, load_integer, read_integer, segment_base,
    sign_extend, store_integer, string, truncate, write_integer, write_register,
};
use crate::sim::isa::flags::{AF, CF, DF, OF, PF, Rule, SF, STATUS, ZF, pzs};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::state::{RAX, RBP, RBX, RCX, RDX, RSP};
use crate::sim::memory::Fault;
use iced_x86::{Code, Instruction, Mnemonic, OpKind, Register};

/// Bytes of an operand, for registers, memory and immediates of integer instructions.
fn size_of_operand(insn: &Instruction, operand: u32) -> u64 {
    match insn.op_kind(operand) {
        OpKind::Register => insn.op_register(operand).size() as u64,
        OpKind::Memory => insn.memory_size().size() as u64,
        _ => size_of_operand(insn, 0),
    }
}

/// log2 of 1, 2, 4 or 8 bytes.
pub(super) fn width(size: u64) -> u8 {
    size.trailing_zeros() as u8
}

fn set_bits(on: bool, bits: u64) -> u64 {
    if on { bits } else { 0 }
}

/// The condition code in the encoding of a `jcc`, `setcc` or `cmovcc`.
pub fn condition_number(insn: &Instruction) -> u8 {
    use iced_x86::ConditionCode as C;
    match insn.condition_code() {
        C::o => 0,
        C::no => 1,
        C::b => 2,
        C::ae => 3,
        C::e => 4,
        C::ne => 5,
        C::be => 6,
        C::a => 7,
        C::s => 8,
        C::ns => 9,
        C::p => 10,
        C::np => 11,
        C::l => 12,
        C::ge => 13,
        C::le => 14,
        C::g | C::None => 15,
    }
}

/// Runs the instruction if it is an integer instruction.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    use Mnemonic as M;
    let done = |r: Result<(), Fault>| Some(r.map(|()| Flow::Next));
    match insn.mnemonic() {
        M::Mov => {
            // Segment and control registers are not modelled.
            if !is_plain(insn) {
                return mov_segment(cx, insn);
            }
            done(mov(cx, insn))
        }
        M::Movzx => done(extend(cx, insn, |v, _| v)),
        M::Movsx | M::Movsxd => done(extend(cx, insn, sign_extend)),
        M::Lea => {
            let size = size_of_operand(insn, 0);
            // The segment base takes no part in an effective address.
            let value =
                address(cx, insn).wrapping_sub(super::segment_base(cx, insn.segment_prefix()));
            write_register(cx, insn.op0_register(), size, truncate(value, size));
            done(Ok(()))
        }
        M::Add | M::Sub | M::And | M::Or | M::Xor | M::Adc | M::Sbb => done(arithmetic(cx, insn)),
        M::Cmp | M::Test => done(compare(cx, insn)),
        M::Inc | M::Dec | M::Neg | M::Not => done(unary(cx, insn)),
        M::Shl | M::Sal | M::Shr | M::Sar | M::Rol | M::Ror | M::Rcl | M::Rcr => {
            done(shift(cx, insn))
        }
        M::Shld | M::Shrd => done(double_shift(cx, insn)),
        M::Mul => done(mul(cx, insn)),
        M::Imul => done(imul(cx, insn)),
        M::Div => done(div(cx, insn)),
        M::Idiv => done(idiv(cx, insn)),
        M::Cbw | M::Cwde | M::Cdqe => {
            let size = match insn.mnemonic() {
                M::Cbw => 2,
                M::Cwde => 4,
                _ => 8,
            };
            let value = sign_extend(truncate(cx.cpu.gpr[RAX], size / 2), size / 2);
            write_sized(cx, RAX, size, value);
            done(Ok(()))
        }
        M::Cwd | M::Cdq | M::Cqo => {
            let size = match insn.mnemonic() {
                M::Cwd => 2,
                M::Cdq => 4,
                _ => 8,
            };
            let sign = sign_extend(truncate(cx.cpu.gpr[RAX], size), size) as i64 >> 63;
            write_sized(cx, RDX, size, sign as u64);
            done(Ok(()))
        }
        M::Xchg => done(xchg(cx, insn)),
        M::Xadd => done(xadd(cx, insn)),
        M::Cmpxchg => done(cmpxchg(cx, insn)),
        M::Cmpxchg8b => done(cmpxchg8b(cx, insn)),
        M::Cmpxchg16b => done(cmpxchg16b(cx, insn)),
        M::Bsf | M::Bsr => done(bit_scan(cx, insn)),
        M::Popcnt => done(popcnt(cx, insn)),
        M::Bt | M::Bts | M::Btr | M::Btc => done(bit_test(cx, insn)),
        M::Bswap => {
            let size = size_of_operand(insn, 0);
            let value = cx.cpu.gpr[gpr_number(insn.op0_register())];
            let swapped = match size {
                // The 16-bit form is undefined; processors give 0.
                2 => 0,
                4 => u64::from((value as u32).swap_bytes()),
                _ => value.swap_bytes(),
            };
            write_register(cx, insn.op0_register(), size, swapped);
            done(Ok(()))
        }
        M::Push => done(push(cx, insn)),
        M::Pop => done(pop(cx, insn)),
        M::Pushf | M::Pushfq => {
            let size = if insn.mnemonic() == M::Pushf { 2 } else { 8 };
            let value = cx.cpu.flags.rflags();
            done(push_value(cx, size, value))
        }
        M::Popf | M::Popfq => {
            let size = if insn.mnemonic() == M::Popf { 2 } else { 8 };
            let rsp = cx.cpu.gpr[RSP];
            done(load_integer(cx, rsp, size).map(|v| {
                cx.cpu.gpr[RSP] = rsp.wrapping_add(size);
                let kept = if size == 2 {
                    cx.cpu.flags.rflags() & !0xffff
                } else {
                    0
                };
                cx.cpu.flags.set_rflags(v | kept);
            }))
        }
        M::Leave => {
            let size = if insn.code() == Code::Leavew { 2 } else { 8 };
            let rbp = cx.cpu.gpr[RBP];
            done(load_integer(cx, rbp, size).map(|v| {
                cx.cpu.gpr[RSP] = rbp.wrapping_add(size);
                write_sized(cx, RBP, size, v);
            }))
        }
        M::Enter => done(enter(cx, insn)),
        M::Clc => set_flag(cx, CF, 0),
        M::Stc => set_flag(cx, CF, CF),
        M::Cmc => {
            let carry = cx.cpu.flags.carry();
            set_flag(cx, CF, set_bits(!carry, CF))
        }
        M::Cld => {
            cx.cpu.flags.other &= !DF;
            done(Ok(()))
        }
        M::Std => {
            cx.cpu.flags.other |= DF;
            done(Ok(()))
        }
        M::Lahf => {
            let value = (cx.cpu.flags.status() | 2) & 0xff;
            write_register(cx, Register::AH, 1, value);
            done(Ok(()))
        }
        M::Sahf => {
            let ah = cx.cpu.gpr[RAX] >> 8;
            cx.cpu.flags.merge_status(SF | ZF | AF | PF | CF, ah);
            done(Ok(()))
        }
        // Without shadow stacks, reading their pointer does nothing: libgcc's unwinder relies on it.
        M::Nop | M::Endbr64 | M::Endbr32 | M::Reservednop | M::Rdsspd | M::Rdsspq => done(Ok(())),
        M::Xlatb => {
            let base = super::segment_base(cx, insn.segment_prefix());
            let mut offset = cx.cpu.gpr[RBX].wrapping_add(cx.cpu.gpr[RAX] & 0xff);
            if insn.memory_base() == Register::EBX {
                offset = (cx.cpu.gpr[RBX] as u32)
                    .wrapping_add(cx.cpu.gpr[RAX] as u32 & 0xff)
                    .into();
            }
            done(cx.mem.read::<u8>(base.wrapping_add(offset)).map(|v| {
                write_register(cx, Register::AL, 1, v.into());
            }))
        }
        M::Ud0 | M::Ud1 | M::Ud2 | M::INVALID => Some(Err(Fault::InvalidOpcode)),
        M::Int3 => Some(Err(Fault::Breakpoint)),
        M::Hlt
        | M::Cli
        | M::Sti
        | M::In
        | M::Out
        | M::Insb
        | M::Insw
        | M::Insd
        | M::Outsb
        | M::Outsw
        | M::Outsd
        | M::Rdmsr
        | M::Wrmsr
        | M::Rdpmc
        | M::Iretq
        | M::Iretd
        | M::Lgdt
        | M::Lidt
        | M::Invd
        | M::Wbinvd
        | M::Swapgs
        | M::Sysretq
        | M::Clts
        | M::Invlpg => Some(Err(Fault::GeneralProtection)),
        M::Cpuid => {
            let [a, b, c, d] = cx.cpu.cpuid(cx.cpu.gpr[RAX] as u32, cx.cpu.gpr[RCX] as u32);
            for (r, v) in [(RAX, a), (RBX, b), (RCX, c), (RDX, d)] {
                cx.cpu.gpr[r] = v.into();
            }
            done(Ok(()))
        }
        M::Rdtsc | M::Rdtscp => Some(Ok(Flow::Time)),
        M::Syscall => Some(Ok(Flow::Syscall)),
        // Without their CPUID bits these are undefined; the profile that has them decodes them.
        M::Rdrand
        | M::Rdseed
        | M::Rdpid
        | M::Rdfsbase
        | M::Rdgsbase
        | M::Wrfsbase
        | M::Wrgsbase
        | M::Xbegin
        | M::Xtest => Some(Err(Fault::InvalidOpcode)),
        M::Jmp => Some(jump(cx, insn)),
        M::Call => Some(call(cx, insn)),
        M::Ret => Some(ret(cx, insn)),
        M::Loop | M::Loope | M::Loopne | M::Jrcxz | M::Jecxz => Some(Ok(loop_branch(cx, insn))),
        _ if insn.is_jcc_short_or_near() => {
            let holds = cx.cpu.flags.condition(condition_number(insn));
            Some(Ok(if holds { Flow::Taken } else { Flow::NotTaken }))
        }
        _ if has_condition(insn, 1) => {
            let holds = cx.cpu.flags.condition(condition_number(insn));
            done(write_integer(cx, insn, 0, 1, holds.into()))
        }
        _ if has_condition(insn, 2) => {
            let size = size_of_operand(insn, 0);
            done(read_integer(cx, insn, 1, size).map(|v| {
                let old = cx.cpu.gpr[gpr_number(insn.op0_register())];
                // The write happens either way: a 32-bit destination is zero-extended even when the move is not made.
                let value = if cx.cpu.flags.condition(condition_number(insn)) {
                    v
                } else {
                    old
                };
                write_register(cx, insn.op0_register(), size, value);
            }))
        }
        _ => string::execute(cx, insn),
    }
}

/// Setcc (one operand) or cmovcc (two): what has a condition code and is no branch.
fn has_condition(insn: &Instruction, operands: u32) -> bool {
    insn.condition_code() != iced_x86::ConditionCode::None
        && insn.op_count() == operands
        && insn.op0_kind() != OpKind::NearBranch64
        && (insn.op0_register().is_gpr() || insn.op0_kind() == OpKind::Memory)
}

fn is_plain(insn: &Instruction) -> bool {
    (0..insn.op_count())
        .filter(|&i| insn.op_kind(i) == OpKind::Register)
        .all(|i| insn.op_register(i).is_gpr())
}

/// `mov` from a segment register gives the selectors of a Linux user process; into one it is unsupported.
fn mov_segment(cx: &mut Context, insn: &Instruction) -> Answer {
    let source = insn.op1_register();
    if insn.op1_kind() != OpKind::Register || !source.is_segment_register() {
        return if insn.op0_register().is_segment_register() {
            None
        } else {
            Some(Err(Fault::GeneralProtection))
        };
    }
    let selector = match source {
        Register::CS => 0x33,
        Register::SS => 0x2b,
        _ => 0,
    };
    let size = if insn.op0_kind() == OpKind::Register {
        size_of_operand(insn, 0)
    } else {
        2
    };
    Some(write_integer(cx, insn, 0, size, selector).map(|()| Flow::Next))
}

fn write_sized(cx: &mut Context, number: u8, size: u64, value: u64) {
    let slot = &mut cx.cpu.gpr[number];
    *slot = match size {
        1 => *slot & !0xff | value & 0xff,
        2 => *slot & !0xffff | value & 0xffff,
        4 => value & 0xffff_ffff,
        _ => value,
    };
}

fn set_flag(cx: &mut Context, mask: u64, bits: u64) -> Answer {
    cx.cpu.flags.merge_status(mask, bits);
    Some(Ok(Flow::Next))
}

fn mov(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let value = read_integer(cx, insn, 1, size)?;
    write_integer(cx, insn, 0, size, value)
}

fn extend(cx: &mut Context, insn: &Instruction, f: impl Fn(u64, u64) -> u64) -> Result<(), Fault> {
    let from = size_of_operand(insn, 1);
    let value = read_integer(cx, insn, 1, from)?;
    write_register(
        cx,
        insn.op0_register(),
        size_of_operand(insn, 0),
        f(value, from),
    );
    Ok(())
}

fn arithmetic(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let w = width(size);
    let a = read_integer(cx, insn, 0, size)?;
    let b = read_integer(cx, insn, 1, size)?;
    let carry = u64::from(cx.cpu.flags.carry());
    let result = truncate(
        match insn.mnemonic() {
            Mnemonic::Add => a.wrapping_add(b),
            Mnemonic::Sub => a.wrapping_sub(b),
            Mnemonic::And => a & b,
            Mnemonic::Or => a | b,
            Mnemonic::Xor => a ^ b,
            Mnemonic::Adc => a.wrapping_add(b).wrapping_add(carry),
            _ => a.wrapping_sub(b).wrapping_sub(carry),
        },
        size,
    );
    write_integer(cx, insn, 0, size, result)?;
    match insn.mnemonic() {
        Mnemonic::Add => cx.cpu.flags.set(Rule::Add, w, result, b),
        Mnemonic::Sub => cx.cpu.flags.set(Rule::Sub, w, result, b),
        Mnemonic::Adc => cx.cpu.flags.set_status(adc_flags(a, b, carry, result, w)),
        Mnemonic::Sbb => cx.cpu.flags.set_status(sbb_flags(a, b, carry, result, w)),
        _ => cx.cpu.flags.set(Rule::Logic, w, result, 0),
    }
    Ok(())
}

/// The flags of `a + b + carry`.
pub(crate) fn adc_flags(a: u64, b: u64, carry: u64, result: u64, w: u8) -> u64 {
    let top = (8u32 << w) - 1;
    let carry_out = (u128::from(a) + u128::from(b) + u128::from(carry)) >> (top + 1) != 0;
    set_bits(carry_out, CF)
        | set_bits((a ^ result) & (b ^ result) & 1 << top != 0, OF)
        | (a ^ b ^ result) & 0x10
        | pzs(result, w)
}

/// The flags of `a - b - carry`.
pub(crate) fn sbb_flags(a: u64, b: u64, carry: u64, result: u64, w: u8) -> u64 {
    let top = (8u32 << w) - 1;
    set_bits(u128::from(a) < u128::from(b) + u128::from(carry), CF)
        | set_bits((a ^ b) & (a ^ result) & 1 << top != 0, OF)
        | (a ^ b ^ result) & 0x10
        | pzs(result, w)
}

fn compare(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let a = read_integer(cx, insn, 0, size)?;
    let b = read_integer(cx, insn, 1, size)?;
    if insn.mnemonic() == Mnemonic::Cmp {
        cx.cpu
            .flags
            .set(Rule::Sub, width(size), truncate(a.wrapping_sub(b), size), b);
    } else {
        cx.cpu.flags.set(Rule::Logic, width(size), a & b, 0);
    }
    Ok(())
}

fn unary(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let w = width(size);
    let a = read_integer(cx, insn, 0, size)?;
    let carry = u64::from(cx.cpu.flags.carry());
    let (result, flags) = match insn.mnemonic() {
        Mnemonic::Inc => (a.wrapping_add(1), Some((Rule::Inc, carry))),
        Mnemonic::Dec => (a.wrapping_sub(1), Some((Rule::Dec, carry))),
        Mnemonic::Neg => (a.wrapping_neg(), Some((Rule::Sub, a))),
        _ => (!a, None),
    };
    let result = truncate(result, size);
    write_integer(cx, insn, 0, size, result)?;
    if let Some((rule, operand)) = flags {
        cx.cpu.flags.set(rule, w, result, operand);
    }
    Ok(())
}

/// Result and flags of a shift or rotate by a count that is already masked to 5 or 6 bits and not zero. Flags that the
/// manual leaves undefined follow the formula of count 1 (OF) or are cleared (AF), the same on every host.
pub(crate) fn shift_value(mnemonic: Mnemonic, a: u64, count: u32, w: u8, old: u64) -> (u64, u64) {
    let bits = 8u32 << w;
    let mask = u64::MAX >> (64 - bits);
    let top = bits - 1;
    let bit = |v: u64, i: u32| v >> i & 1 != 0;
    let wide = u128::from(a);
    match mnemonic {
        Mnemonic::Shl | Mnemonic::Sal => {
            let full = wide << count;
            let result = full as u64 & mask;
            let carry = count <= bits && full >> bits & 1 != 0;
            (
                result,
                set_bits(carry, CF) | set_bits(bit(result, top) != carry, OF) | pzs(result, w),
            )
        }
        Mnemonic::Shr => {
            let result = (wide >> count) as u64;
            let carry = wide >> (count - 1) & 1 != 0;
            (
                result,
                set_bits(carry, CF) | set_bits(bit(a, top), OF) | pzs(result, w),
            )
        }
        Mnemonic::Sar => {
            let signed = sign_extend(a, u64::from(bits / 8)) as i64;
            let result = (signed >> count.min(63)) as u64 & mask;
            let carry = (signed >> (count - 1).min(63)) & 1 != 0;
            (result, set_bits(carry, CF) | pzs(result, w))
        }
        Mnemonic::Rol => {
            let c = count % bits;
            let result = (wide << c | wide >> (bits - c)) as u64 & mask;
            let carry = bit(result, 0);
            (
                result,
                old & !(CF | OF) | set_bits(carry, CF) | set_bits(bit(result, top) != carry, OF),
            )
        }
        Mnemonic::Ror => {
            let c = count % bits;
            let result = (wide >> c | wide << (bits - c)) as u64 & mask;
            let carry = bit(result, top);
            (
                result,
                old & !(CF | OF)
                    | set_bits(carry, CF)
                    | set_bits(carry != bit(result, top - 1), OF),
            )
        }
        Mnemonic::Rcl | Mnemonic::Rcr => {
            // A rotation of bits + 1 positions, with CF as the top bit.
            let c = count % (bits + 1);
            let joined = wide | u128::from(old & CF) << bits;
            let span = bits + 1;
            let full_mask = (1u128 << span) - 1;
            let rotated = if c == 0 {
                joined
            } else if mnemonic == Mnemonic::Rcl {
                (joined << c | joined >> (span - c)) & full_mask
            } else {
                (joined >> c | joined << (span - c)) & full_mask
            };
            let result = rotated as u64 & mask;
            let carry = rotated >> bits & 1 != 0;
            let overflow = if mnemonic == Mnemonic::Rcl {
                bit(result, top) != carry
            } else {
                bit(result, top) != bit(result, top - 1)
            };
            (
                result,
                old & !(CF | OF) | set_bits(carry, CF) | set_bits(overflow, OF),
            )
        }
        _ => (a, old),
    }
}

fn shift(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let a = read_integer(cx, insn, 0, size)?;
    let count = read_integer(cx, insn, 1, 1)? as u32 & if size == 8 { 63 } else { 31 };
    if count == 0 {
        // No flag changes, but the write (and the zero extension of a 32-bit register) happens.
        return write_integer(cx, insn, 0, size, a);
    }
    let old = cx.cpu.flags.status();
    let (result, flags) = shift_value(insn.mnemonic(), a, count, width(size), old);
    write_integer(cx, insn, 0, size, result)?;
    cx.cpu.flags.set_status(flags);
    Ok(())
}

fn double_shift(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let bits = 8 * size as u32;
    let w = width(size);
    let a = read_integer(cx, insn, 0, size)?;
    let b = read_integer(cx, insn, 1, size)?;
    let count = read_integer(cx, insn, 2, 1)? as u32 & if size == 8 { 63 } else { 31 };
    if count == 0 {
        return write_integer(cx, insn, 0, size, a);
    }
    let left = insn.mnemonic() == Mnemonic::Shld;
    // Counts beyond 16 of the 16-bit form are undefined; processors shift through destination, source, destination.
    let (a128, b128) = (u128::from(a), u128::from(b));
    let (result, carry) = if left {
        let joined = if bits == 16 {
            a128 << 32 | b128 << 16 | a128
        } else {
            a128 << bits | b128
        };
        let span = if bits == 16 { 48 } else { 2 * bits };
        let result = truncate((joined >> (span - bits).saturating_sub(count)) as u64, size);
        (result, joined >> (span - count) & 1 != 0)
    } else {
        let joined = if bits == 16 {
            a128 << 32 | b128 << 16 | a128
        } else {
            b128 << bits | a128
        };
        (
            truncate((joined >> count) as u64, size),
            joined >> (count - 1) & 1 != 0,
        )
    };
    write_integer(cx, insn, 0, size, result)?;
    let top = bits - 1;
    let flags = set_bits(carry, CF) | set_bits((a ^ result) >> top & 1 != 0, OF) | pzs(result, w);
    cx.cpu.flags.set_status(flags);
    Ok(())
}

fn mul(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let b = read_integer(cx, insn, 0, size)?;
    let product = u128::from(truncate(cx.cpu.gpr[RAX], size)) * u128::from(b);
    write_product(cx, size, product);
    let high = product >> (8 * size) != 0;
    cx.cpu.flags.merge_status(CF | OF, set_bits(high, CF | OF));
    Ok(())
}

fn write_product(cx: &mut Context, size: u64, product: u128) {
    if size == 1 {
        write_sized(cx, RAX, 2, product as u64);
    } else {
        write_sized(cx, RAX, size, product as u64);
        write_sized(cx, RDX, size, (product >> (8 * size)) as u64);
    }
}

fn imul(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let signed = |v: u64| i128::from(sign_extend(v, size) as i64);
    let product;
    if insn.op_count() == 1 {
        let b = read_integer(cx, insn, 0, size)?;
        product = signed(truncate(cx.cpu.gpr[RAX], size)) * signed(b);
        write_product(cx, size, product as u128);
    } else {
        let (x, y) = if insn.op_count() == 2 { (0, 1) } else { (1, 2) };
        let a = read_integer(cx, insn, x, size)?;
        let b = read_integer(cx, insn, y, size)?;
        product = signed(a) * signed(b);
        write_register(
            cx,
            insn.op0_register(),
            size,
            truncate(product as u64, size),
        );
    }
    let fits = signed(truncate(product as u64, size)) == product;
    cx.cpu.flags.merge_status(CF | OF, set_bits(!fits, CF | OF));
    Ok(())
}

fn dividend(cx: &Context, size: u64) -> u128 {
    if size == 1 {
        return u128::from(cx.cpu.gpr[RAX] & 0xffff);
    }
    u128::from(truncate(cx.cpu.gpr[RDX], size)) << (8 * size)
        | u128::from(truncate(cx.cpu.gpr[RAX], size))
}

fn write_quotient(cx: &mut Context, size: u64, quotient: u64, remainder: u64) {
    if size == 1 {
        write_sized(cx, RAX, 2, quotient & 0xff | (remainder & 0xff) << 8);
    } else {
        write_sized(cx, RAX, size, quotient);
        write_sized(cx, RDX, size, remainder);
    }
}

/// Steps of a divider that finds one set bit of the quotient at a time, and needs one more for the zeros at its end: the
/// work of a divide as [`crate::sim::memory::Memory::record_work`] takes it.
pub(in crate::sim::isa) fn quotient_steps(quotient: u64) -> u64 {
    u64::from(quotient.count_ones()) + u64::from(quotient & 1 == 0)
}

fn div(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let divisor = u128::from(read_integer(cx, insn, 0, size)?);
    let dividend = dividend(cx, size);
    if divisor == 0 || dividend >> (8 * size) >= divisor {
        return Err(Fault::Divide);
    }
    // 128-bit division is slow on the host, and most dividends fit in 64 bits.
    let (q, r) = match u64::try_from(dividend) {
        Ok(d) => (d / divisor as u64, d % divisor as u64),
        Err(_) => ((dividend / divisor) as u64, (dividend % divisor) as u64),
    };
    write_quotient(cx, size, q, r);
    cx.mem.record_work(quotient_steps(q));
    Ok(())
}

fn idiv(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let divisor = i128::from(sign_extend(read_integer(cx, insn, 0, size)?, size) as i64);
    let shift = 128 - 16 * size as u32;
    let dividend = (dividend(cx, size) << shift) as i128 >> shift;
    if divisor == 0 {
        return Err(Fault::Divide);
    }
    let (q, r) = match (i64::try_from(dividend), divisor as i64) {
        (Ok(a), b) if b != -1 => (i128::from(a / b), i128::from(a % b)),
        _ => (
            dividend.wrapping_div(divisor),
            dividend.wrapping_rem(divisor),
        ),
    };
    let limit = 1i128 << (8 * size - 1);
    if q < -limit || q >= limit || dividend == i128::MIN {
        return Err(Fault::Divide);
    }
    write_quotient(cx, size, q as u64, r as u64);
    cx.mem.record_work(quotient_steps(q.unsigned_abs() as u64));
    Ok(())
}

fn xchg(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    // The memory operand, if any, may be either one: the store comes first, as it may fault.
    let (first, second) = if insn.op1_kind() == OpKind::Memory {
        (1, 0)
    } else {
        (0, 1)
    };
    let a = read_integer(cx, insn, first, size)?;
    let b = read_integer(cx, insn, second, size)?;
    write_integer(cx, insn, first, size, b)?;
    write_integer(cx, insn, second, size, a)
}

fn xadd(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let a = read_integer(cx, insn, 0, size)?;
    let b = read_integer(cx, insn, 1, size)?;
    let sum = truncate(a.wrapping_add(b), size);
    if insn.op0_kind() == OpKind::Memory {
        write_integer(cx, insn, 0, size, sum)?;
        write_integer(cx, insn, 1, size, a)?;
    } else {
        // With one register twice, the sum is written last.
        write_integer(cx, insn, 1, size, a)?;
        write_integer(cx, insn, 0, size, sum)?;
    }
    cx.cpu.flags.set(Rule::Add, width(size), sum, b);
    Ok(())
}

fn cmpxchg(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let found = read_integer(cx, insn, 0, size)?;
    let expected = truncate(cx.cpu.gpr[RAX], size);
    let new = read_integer(cx, insn, 1, size)?;
    if found == expected {
        write_integer(cx, insn, 0, size, new)?;
    } else {
        if insn.op0_kind() == OpKind::Memory {
            // The processor writes the old value back: a read-only page faults either way.
            write_integer(cx, insn, 0, size, found)?;
        } else if size == 4 {
            // The destination register is not written on a mismatch (checked on AMD), nor zero-extended.
        }
        write_sized(cx, RAX, size, found);
    }
    cx.cpu.flags.set(
        Rule::Sub,
        width(size),
        truncate(expected.wrapping_sub(found), size),
        found,
    );
    Ok(())
}

fn cmpxchg8b(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let at = address(cx, insn);
    let found = cx.mem.read::<u64>(at)?;
    let low = |r: u8, cx: &Context| cx.cpu.gpr[r] & 0xffff_ffff;
    let expected = low(RDX, cx) << 32 | low(RAX, cx);
    let equal = found == expected;
    let new = if equal {
        low(RCX, cx) << 32 | low(RBX, cx)
    } else {
        found
    };
    cx.mem.write(at, new)?;
    if !equal {
        cx.cpu.gpr[RAX] = found & 0xffff_ffff;
        cx.cpu.gpr[RDX] = found >> 32;
    }
    cx.cpu.flags.merge_status(ZF, set_bits(equal, ZF));
    Ok(())
}

fn cmpxchg16b(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let at = address(cx, insn);
    if at & 15 != 0 {
        return Err(Fault::GeneralProtection);
    }
    let found = cx.mem.read::<u128>(at)?;
    let pair = |high: u8, low: u8, cx: &Context| {
        u128::from(cx.cpu.gpr[high]) << 64 | u128::from(cx.cpu.gpr[low])
    };
    let equal = found == pair(RDX, RAX, cx);
    let new = if equal { pair(RCX, RBX, cx) } else { found };
    cx.mem.write(at, new)?;
    if !equal {
        cx.cpu.gpr[RAX] = found as u64;
        cx.cpu.gpr[RDX] = (found >> 64) as u64;
    }
    cx.cpu.flags.merge_status(ZF, set_bits(equal, ZF));
    Ok(())
}

fn bit_scan(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let value = read_integer(cx, insn, 1, size)?;
    // ZF is the defined flag. A zero source leaves the destination alone, in the manual for AMD and in fact for Intel.
    cx.cpu.flags.merge_status(ZF, set_bits(value == 0, ZF));
    if value != 0 {
        let index = if insn.mnemonic() == Mnemonic::Bsf {
            value.trailing_zeros()
        } else {
            63 - value.leading_zeros()
        };
        write_register(cx, insn.op0_register(), size, index.into());
    }
    Ok(())
}

fn popcnt(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let value = read_integer(cx, insn, 1, size)?;
    write_register(cx, insn.op0_register(), size, value.count_ones().into());
    cx.cpu.flags.merge_status(STATUS, set_bits(value == 0, ZF));
    Ok(())
}

fn bit_test(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size = size_of_operand(insn, 0);
    let bits = 8 * size;
    let index = read_integer(
        cx,
        insn,
        1,
        if insn.op1_kind() == OpKind::Register {
            size
        } else {
            1
        },
    )?;
    let bit = index & (bits - 1);
    let memory = insn.op0_kind() == OpKind::Memory;
    // With a register index, memory is a bit string: the index reaches beyond the operand, in both directions.
    let at = memory.then(|| {
        let base = address(cx, insn);
        if insn.op1_kind() == OpKind::Register {
            let element = sign_extend(index, size) as i64 >> bits.trailing_zeros();
            let distance = (element as u64).wrapping_mul(size);
            if has_narrow_address(insn) {
                // The sum wraps at 32 bits as any address does; the segment base is added behind that.
                let segment = segment_base(cx, insn.segment_prefix());
                let offset = base.wrapping_sub(segment).wrapping_add(distance);
                segment.wrapping_add(truncate(offset, 4))
            } else {
                base.wrapping_add(distance)
            }
        } else {
            base
        }
    });
    let value = match at {
        Some(at) => load_integer(cx, at, size)?,
        None => read_integer(cx, insn, 0, size)?,
    };
    let carry = value >> bit & 1 != 0;
    let result = match insn.mnemonic() {
        Mnemonic::Bts => value | 1 << bit,
        Mnemonic::Btr => value & !(1 << bit),
        Mnemonic::Btc => value ^ 1 << bit,
        _ => value,
    };
    if insn.mnemonic() != Mnemonic::Bt {
        match at {
            Some(at) => store_integer(cx, at, size, result)?,
            None => write_register(cx, insn.op0_register(), size, result),
        }
    }
    cx.cpu.flags.merge_status(CF, set_bits(carry, CF));
    Ok(())
}

/// Pushes `size` bytes; RSP moves only if the store succeeds.
pub(crate) fn push_value(cx: &mut Context, size: u64, value: u64) -> Result<(), Fault> {
    let rsp = cx.cpu.gpr[RSP].wrapping_sub(size);
    store_integer(cx, rsp, size, value)?;
    cx.cpu.gpr[RSP] = rsp;
    Ok(())
}

fn push(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let (size, value) = match insn.op0_kind() {
        OpKind::Register if insn.op0_register().is_segment_register() => (
            if insn.code() == Code::Pushw_FS || insn.code() == Code::Pushw_GS {
                2
            } else {
                8
            },
            0,
        ),
        OpKind::Register | OpKind::Memory => {
            let size = size_of_operand(insn, 0);
            (size, read_integer(cx, insn, 0, size)?)
        }
        _ => (
            if insn.stack_pointer_increment() == -2 {
                2
            } else {
                8
            },
            insn.immediate(0),
        ),
    };
    push_value(cx, size, value)
}

fn pop(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    if insn.op0_register().is_segment_register() {
        return Err(Fault::Unsupported);
    }
    let size = size_of_operand(insn, 0);
    let rsp = cx.cpu.gpr[RSP];
    let value = load_integer(cx, rsp, size)?;
    // The address of a memory destination is computed with the new RSP.
    cx.cpu.gpr[RSP] = rsp.wrapping_add(size);
    let written = write_integer(cx, insn, 0, size, value);
    if written.is_err() {
        cx.cpu.gpr[RSP] = rsp;
    }
    written
}

fn enter(cx: &mut Context, insn: &Instruction) -> Result<(), Fault> {
    let size: u64 = if insn.code() == Code::Enterw_imm16_imm8 {
        2
    } else {
        8
    };
    let locals = u64::from(insn.immediate16());
    let level = u64::from(insn.immediate8_2nd()) & 31;
    let rbp = cx.cpu.gpr[RBP];
    let rsp = cx.cpu.gpr[RSP];
    let frame = rsp.wrapping_sub(size);
    let span = size * (level + 1);
    cx.mem.probe_write(rsp.wrapping_sub(span), span)?;
    store_integer(cx, frame, size, rbp)?;
    let mut at = frame;
    for i in 1..level {
        let value = load_integer(cx, rbp.wrapping_sub(i * size), size)?;
        at = at.wrapping_sub(size);
        store_integer(cx, at, size, value)?;
    }
    if level > 0 {
        at = at.wrapping_sub(size);
        store_integer(cx, at, size, frame)?;
    }
    // The processor tests that the end of the frame could be written, after the stores and though it writes nothing there.
    let end = at.wrapping_sub(locals);
    cx.mem.probe_write(end, size)?;
    write_sized(cx, RBP, size, frame);
    cx.cpu.gpr[RSP] = end;
    Ok(())
}

fn jump(cx: &mut Context, insn: &Instruction) -> Result<Flow, Fault> {
    match insn.op0_kind() {
        OpKind::NearBranch64 => Ok(Flow::Taken),
        OpKind::Register | OpKind::Memory if size_of_operand(insn, 0) == 8 => {
            cx.cpu.rip = read_integer(cx, insn, 0, 8)?;
            Ok(Flow::Indirect)
        }
        _ => Err(Fault::Unsupported),
    }
}

fn call(cx: &mut Context, insn: &Instruction) -> Result<Flow, Fault> {
    let back = insn.next_ip();
    match insn.op0_kind() {
        OpKind::NearBranch64 => push_value(cx, 8, back).map(|()| Flow::Taken),
        OpKind::Register | OpKind::Memory if size_of_operand(insn, 0) == 8 => {
            let target = read_integer(cx, insn, 0, 8)?;
            push_value(cx, 8, back)?;
            cx.cpu.rip = target;
            Ok(Flow::Indirect)
        }
        _ => Err(Fault::Unsupported),
    }
}

fn ret(cx: &mut Context, insn: &Instruction) -> Result<Flow, Fault> {
    let extra = match insn.code() {
        Code::Retnq => 0,
        Code::Retnq_imm16 => u64::from(insn.immediate16()),
        _ => return Err(Fault::Unsupported),
    };
    let rsp = cx.cpu.gpr[RSP];
    cx.cpu.rip = cx.mem.read(rsp)?;
    cx.cpu.gpr[RSP] = rsp.wrapping_add(8 + extra);
    Ok(Flow::Indirect)
}

fn loop_branch(cx: &mut Context, insn: &Instruction) -> Flow {
    let narrow = matches!(
        insn.code(),
        Code::Loop_rel8_64_ECX
            | Code::Loope_rel8_64_ECX
            | Code::Loopne_rel8_64_ECX
            | Code::Jecxz_rel8_64
    );
    let size = if narrow { 4 } else { 8 };
    let mut count = truncate(cx.cpu.gpr[RCX], size);
    let taken = match insn.mnemonic() {
        Mnemonic::Jrcxz | Mnemonic::Jecxz => count == 0,
        mnemonic => {
            count = truncate(count.wrapping_sub(1), size);
            write_sized(cx, RCX, size, count);
            let zero = cx.cpu.flags.zero();
            count != 0
                && match mnemonic {
                    Mnemonic::Loope => zero,
                    Mnemonic::Loopne => !zero,
                    _ => true,
                }
        }
    };
    if taken { Flow::Taken } else { Flow::NotTaken }
}
