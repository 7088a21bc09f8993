//! Handlers of the hot forms, monomorphised by operation, width and register or memory operand.
//!
//! [`translate`] picks one for an instruction, or answers `None`, and then the complete path of `exec` serves. The file
//! is long because it is a table.
use super::exec::integer::{adc_flags, condition_number, quotient_steps, sbb_flags, shift_value};
use super::exec::sse_integer::table;
use super::exec::{gpr_number, is_high_byte, vec_number};
use super::fast_avx;
use super::flags::Rule;
use super::op::{Context, Flow, Handler, LaneOp, Op, SideTables};
use super::state::{BLOCK, FS, GS, RAX, RCX, RDX, RSP, ZERO};
use crate::sim::memory::{Fault, Recording, Scalar};
use iced_x86::{Code, EncodingKind, Instruction, Mnemonic, OpKind, Register};
use std::marker::PhantomData;

#[cold]
#[inline(never)]
pub(super) fn fault(cx: &mut Context, fault: Fault) -> Flow {
    cx.fault = fault;
    Flow::Fault
}

macro_rules! attempt {
    ($cx:ident, $e:expr) => {
        match $e {
            Ok(value) => value,
            Err(f) => return fault($cx, f),
        }
    };
}

/// After a store: go on, or end the block because code changed.
macro_rules! after_store {
    ($stale:expr) => {
        if $stale { Flow::Stop } else { Flow::Next }
    };
}

/// An operand width of general registers.
pub(crate) trait Int: Scalar + Ord {
    const WIDTH: u8;
    type Signed: Ord;
    fn from_u64(value: u64) -> Self;
    fn to_u64(self) -> u64;
    fn signed(self) -> Self::Signed;
    /// Writes a register by the rules of 64-bit mode.
    fn put(slot: &mut u64, value: Self);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn top(self) -> bool;
}

macro_rules! int {
    ($t:ty, $s:ty, $w:expr, $put:expr) => {
        impl Int for $t {
            const WIDTH: u8 = $w;
            type Signed = $s;
            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
            #[inline(always)]
            fn signed(self) -> $s {
                self as $s
            }
            #[inline(always)]
            fn put(slot: &mut u64, value: Self) {
                const PUT: fn(u64, $t) -> u64 = $put;
                *slot = PUT(*slot, value);
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn top(self) -> bool {
                (self as $s) < 0
            }
        }
    };
}
int!(u8, i8, 0, |old, v| old & !0xff | u64::from(v));
int!(u16, i16, 1, |old, v| old & !0xffff | u64::from(v));
int!(u32, i32, 2, |_, v| u64::from(v));
int!(u64, i64, 3, |_, v| v);

/// A two-operand operation.
pub(crate) trait Alu {
    /// Whether the result is written (`cmp` and `test` only set flags).
    const WRITES: bool;
    fn apply<T: Int>(cx: &mut Context, a: T, b: T) -> (T, Lazy);
    /// A condition evaluated on the operands and the result, for a branch fused to the operation.
    fn holds<T: Int, const CC: u8>(a: T, b: T, result: T) -> bool;
}

/// Flags to be set once nothing can fault any more.
#[derive(Clone, Copy)]
pub(crate) struct Lazy {
    rule: Rule,
    operand: u64,
}

impl Lazy {
    #[inline(always)]
    fn set<T: Int>(self, cx: &mut Context, result: T) {
        cx.cpu
            .flags
            .set(self.rule, T::WIDTH, result.to_u64(), self.operand);
    }
}

macro_rules! alu {
    ($name:ident, $writes:expr, |$cx:ident, $a:ident, $b:ident| $apply:expr, $holds:ident) => {
        #[derive(Clone, Copy)]
        struct $name;
        impl Alu for $name {
            const WRITES: bool = $writes;
            #[inline(always)]
            fn apply<T: Int>($cx: &mut Context, $a: T, $b: T) -> (T, Lazy) {
                $apply
            }
            #[inline(always)]
            fn holds<T: Int, const CC: u8>(a: T, b: T, result: T) -> bool {
                $holds::<T, CC>(a, b, result)
            }
        }
    };
}

#[inline(always)]
fn holds_sub<T: Int, const CC: u8>(a: T, b: T, result: T) -> bool {
    match CC {
        2 => a < b,
        3 => a >= b,
        4 => a == b,
        5 => a != b,
        6 => a <= b,
        7 => a > b,
        8 => result.top(),
        9 => !result.top(),
        12 => a.signed() < b.signed(),
        13 => a.signed() >= b.signed(),
        14 => a.signed() <= b.signed(),
        _ => a.signed() > b.signed(),
    }
}

#[inline(always)]
fn holds_logic<T: Int, const CC: u8>(_a: T, _b: T, result: T) -> bool {
    let zero = result.to_u64() == 0;
    match CC {
        2 => false,
        3 => true,
        4 | 6 => zero,
        5 | 7 => !zero,
        8 | 12 => result.top(),
        9 | 13 => !result.top(),
        14 => zero || result.top(),
        _ => !zero && !result.top(),
    }
}

#[inline(always)]
fn holds_add<T: Int, const CC: u8>(a: T, b: T, result: T) -> bool {
    let zero = result.to_u64() == 0;
    let carry = result < b;
    let overflow = a.top() == b.top() && a.top() != result.top();
    let less = result.top() != overflow;
    match CC {
        2 => carry,
        3 => !carry,
        4 => zero,
        5 => !zero,
        6 => carry || zero,
        7 => !carry && !zero,
        8 => result.top(),
        9 => !result.top(),
        12 => less,
        13 => !less,
        14 => zero || less,
        _ => !zero && !less,
    }
}

alu!(
    Add,
    true,
    |_cx, a, b| (
        a.add(b),
        Lazy {
            rule: Rule::Add,
            operand: b.to_u64()
        }
    ),
    holds_add
);
alu!(
    Sub,
    true,
    |_cx, a, b| (
        a.sub(b),
        Lazy {
            rule: Rule::Sub,
            operand: b.to_u64()
        }
    ),
    holds_sub
);
alu!(
    Cmp,
    false,
    |_cx, a, b| (
        a.sub(b),
        Lazy {
            rule: Rule::Sub,
            operand: b.to_u64()
        }
    ),
    holds_sub
);
alu!(
    And,
    true,
    |_cx, a, b| (
        T::from_u64(a.to_u64() & b.to_u64()),
        Lazy {
            rule: Rule::Logic,
            operand: 0
        }
    ),
    holds_logic
);
alu!(
    Test,
    false,
    |_cx, a, b| (
        T::from_u64(a.to_u64() & b.to_u64()),
        Lazy {
            rule: Rule::Logic,
            operand: 0
        }
    ),
    holds_logic
);
alu!(
    Or,
    true,
    |_cx, a, b| (
        T::from_u64(a.to_u64() | b.to_u64()),
        Lazy {
            rule: Rule::Logic,
            operand: 0
        }
    ),
    holds_logic
);
alu!(
    Xor,
    true,
    |_cx, a, b| (
        T::from_u64(a.to_u64() ^ b.to_u64()),
        Lazy {
            rule: Rule::Logic,
            operand: 0
        }
    ),
    holds_logic
);
alu!(
    Adc,
    true,
    |cx, a, b| {
        let carry = u64::from(cx.cpu.flags.carry());
        let r = a.add(b).add(T::from_u64(carry));
        let flags = adc_flags(a.to_u64(), b.to_u64(), carry, r.to_u64(), T::WIDTH);
        (
            r,
            Lazy {
                rule: Rule::Explicit,
                operand: flags,
            },
        )
    },
    holds_add
);
alu!(
    Sbb,
    true,
    |cx, a, b| {
        let carry = u64::from(cx.cpu.flags.carry());
        let r = a.sub(b).sub(T::from_u64(carry));
        let flags = sbb_flags(a.to_u64(), b.to_u64(), carry, r.to_u64(), T::WIDTH);
        (
            r,
            Lazy {
                rule: Rule::Explicit,
                operand: flags,
            },
        )
    },
    holds_sub
);

// ---- two-operand forms -----------------------------------------------------------------------------------------------

/// Where the operands of a two-operand form are.
pub(crate) trait Form {
    fn run<O: Alu, T: Int>(cx: &mut Context, op: &Op) -> Result<(T, T, T, Flow), Fault>;
}

struct RegReg;
struct RegImm;
struct RegMem<R>(PhantomData<R>);
struct MemReg<R>(PhantomData<R>);
struct MemImm<R>(PhantomData<R>);

#[inline(always)]
fn in_register<O: Alu, T: Int>(cx: &mut Context, op: &Op, b: T) -> (T, T, T, Flow) {
    let a = T::from_u64(cx.cpu.gpr[op.dst]);
    let (result, lazy) = O::apply(cx, a, b);
    if O::WRITES {
        T::put(&mut cx.cpu.gpr[op.dst], result);
    }
    lazy.set(cx, result);
    (a, b, result, Flow::Next)
}

#[inline(always)]
fn in_memory<O: Alu, T: Int, R: Recording>(
    cx: &mut Context,
    op: &Op,
    b: T,
) -> Result<(T, T, T, Flow), Fault> {
    let at = op.address(&cx.cpu);
    let a = cx.mem.load::<T, R>(at)?;
    let (result, lazy) = O::apply(cx, a, b);
    let mut stale = false;
    if O::WRITES {
        stale = cx.mem.store_checked::<T, R>(at, result)?;
    }
    lazy.set(cx, result);
    Ok((a, b, result, after_store!(stale)))
}

impl Form for RegReg {
    #[inline(always)]
    fn run<O: Alu, T: Int>(cx: &mut Context, op: &Op) -> Result<(T, T, T, Flow), Fault> {
        let b = T::from_u64(cx.cpu.gpr[op.base]);
        Ok(in_register::<O, T>(cx, op, b))
    }
}
impl Form for RegImm {
    #[inline(always)]
    fn run<O: Alu, T: Int>(cx: &mut Context, op: &Op) -> Result<(T, T, T, Flow), Fault> {
        Ok(in_register::<O, T>(cx, op, T::from_u64(op.imm as u64)))
    }
}
impl<R: Recording> Form for RegMem<R> {
    #[inline(always)]
    fn run<O: Alu, T: Int>(cx: &mut Context, op: &Op) -> Result<(T, T, T, Flow), Fault> {
        let at = op.address(&cx.cpu);
        let b = cx.mem.load::<T, R>(at)?;
        Ok(in_register::<O, T>(cx, op, b))
    }
}
impl<R: Recording> Form for MemReg<R> {
    #[inline(always)]
    fn run<O: Alu, T: Int>(cx: &mut Context, op: &Op) -> Result<(T, T, T, Flow), Fault> {
        let b = T::from_u64(cx.cpu.gpr[op.dst]);
        in_memory::<O, T, R>(cx, op, b)
    }
}
impl<R: Recording> Form for MemImm<R> {
    #[inline(always)]
    fn run<O: Alu, T: Int>(cx: &mut Context, op: &Op) -> Result<(T, T, T, Flow), Fault> {
        in_memory::<O, T, R>(cx, op, T::from_u64(op.imm as u64))
    }
}

fn alu<O: Alu, T: Int, F: Form>(cx: &mut Context, op: &Op) -> Flow {
    match F::run::<O, T>(cx, op) {
        Ok((.., flow)) => flow,
        Err(f) => fault(cx, f),
    }
}

/// A two-operand operation and the conditional branch behind it, as one.
fn alu_jcc<O: Alu, T: Int, F: Form, const CC: u8>(cx: &mut Context, op: &Op) -> Flow {
    match F::run::<O, T>(cx, op) {
        Ok((a, b, result, _)) => {
            if O::holds::<T, CC>(a, b, result) {
                Flow::Taken
            } else {
                Flow::NotTaken
            }
        }
        Err(f) => fault(cx, f),
    }
}

// ---- moves -----------------------------------------------------------------------------------------------------------

fn mov_rr<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let value = T::from_u64(cx.cpu.gpr[op.base]);
    T::put(&mut cx.cpu.gpr[op.dst], value);
    Flow::Next
}
fn mov_ri<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    T::put(&mut cx.cpu.gpr[op.dst], T::from_u64(op.imm as u64));
    Flow::Next
}
fn mov_rm<T: Int, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let value = attempt!(cx, cx.mem.load::<T, R>(at));
    T::put(&mut cx.cpu.gpr[op.dst], value);
    Flow::Next
}
fn mov_mr<T: Int, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let value = T::from_u64(cx.cpu.gpr[op.dst]);
    after_store!(attempt!(cx, cx.mem.store_checked::<T, R>(at, value)))
}
fn mov_mi<T: Int, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    after_store!(attempt!(
        cx,
        cx.mem.store_checked::<T, R>(at, T::from_u64(op.imm as u64))
    ))
}

/// Zero or sign extension from `F` to `T`.
#[inline(always)]
fn extend<F: Int, T: Int, const SIGNED: bool>(value: F) -> T {
    let v = value.to_u64();
    let shift = 64 - (8 << F::WIDTH);
    T::from_u64(if SIGNED {
        (((v << shift) as i64) >> shift) as u64
    } else {
        v
    })
}
fn movx_rr<F: Int, T: Int, const SIGNED: bool>(cx: &mut Context, op: &Op) -> Flow {
    let value = F::from_u64(cx.cpu.gpr[op.base]);
    T::put(&mut cx.cpu.gpr[op.dst], extend::<F, T, SIGNED>(value));
    Flow::Next
}
fn movx_rm<F: Int, T: Int, R: Recording, const SIGNED: bool>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let value = attempt!(cx, cx.mem.load::<F, R>(at));
    T::put(&mut cx.cpu.gpr[op.dst], extend::<F, T, SIGNED>(value));
    Flow::Next
}

fn lea<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let value = op.address(&cx.cpu);
    T::put(&mut cx.cpu.gpr[op.dst], T::from_u64(value));
    Flow::Next
}

fn nop(_cx: &mut Context, _op: &Op) -> Flow {
    Flow::Next
}

fn extend_accumulator<F: Int, T: Int>(cx: &mut Context, _op: &Op) -> Flow {
    let value = F::from_u64(cx.cpu.gpr[RAX]);
    T::put(&mut cx.cpu.gpr[RAX], extend::<F, T, true>(value));
    Flow::Next
}
fn sign_to_rdx<T: Int>(cx: &mut Context, _op: &Op) -> Flow {
    let sign = if T::from_u64(cx.cpu.gpr[RAX]).top() {
        u64::MAX
    } else {
        0
    };
    T::put(&mut cx.cpu.gpr[RDX], T::from_u64(sign));
    Flow::Next
}
fn xchg_rr<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let (a, b) = (
        T::from_u64(cx.cpu.gpr[op.dst]),
        T::from_u64(cx.cpu.gpr[op.base]),
    );
    T::put(&mut cx.cpu.gpr[op.dst], b);
    T::put(&mut cx.cpu.gpr[op.base], a);
    Flow::Next
}
fn bswap<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let shift = 64 - (8 << T::WIDTH);
    let value = T::from_u64(cx.cpu.gpr[op.dst]).to_u64().swap_bytes() >> shift;
    T::put(&mut cx.cpu.gpr[op.dst], T::from_u64(value));
    Flow::Next
}

// ---- one-operand arithmetic ------------------------------------------------------------------------------------------

/// inc (`UP`) or dec of a register.
fn step_r<T: Int, const UP: bool>(cx: &mut Context, op: &Op) -> Flow {
    let carry = u64::from(cx.cpu.flags.carry());
    let one = T::from_u64(1);
    let a = T::from_u64(cx.cpu.gpr[op.dst]);
    let result = if UP { a.add(one) } else { a.sub(one) };
    T::put(&mut cx.cpu.gpr[op.dst], result);
    cx.cpu.flags.set(
        if UP { Rule::Inc } else { Rule::Dec },
        T::WIDTH,
        result.to_u64(),
        carry,
    );
    Flow::Next
}
fn step_m<T: Int, R: Recording, const UP: bool>(cx: &mut Context, op: &Op) -> Flow {
    let carry = u64::from(cx.cpu.flags.carry());
    let at = op.address(&cx.cpu);
    let one = T::from_u64(1);
    let a = attempt!(cx, cx.mem.load::<T, R>(at));
    let result = if UP { a.add(one) } else { a.sub(one) };
    let stale = attempt!(cx, cx.mem.store_checked::<T, R>(at, result));
    cx.cpu.flags.set(
        if UP { Rule::Inc } else { Rule::Dec },
        T::WIDTH,
        result.to_u64(),
        carry,
    );
    after_store!(stale)
}
fn neg_r<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let a = T::from_u64(cx.cpu.gpr[op.dst]);
    let result = T::from_u64(0).sub(a);
    T::put(&mut cx.cpu.gpr[op.dst], result);
    cx.cpu
        .flags
        .set(Rule::Sub, T::WIDTH, result.to_u64(), a.to_u64());
    Flow::Next
}
fn not_r<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let a = T::from_u64(!cx.cpu.gpr[op.dst]);
    T::put(&mut cx.cpu.gpr[op.dst], a);
    Flow::Next
}

// ---- shifts ----------------------------------------------------------------------------------------------------------

const SHL: u8 = 0;
const SHR: u8 = 1;
const SAR: u8 = 2;
const ROL: u8 = 3;
const ROR: u8 = 4;

fn shift_mnemonic(kind: u8) -> Mnemonic {
    match kind {
        SHL => Mnemonic::Shl,
        SHR => Mnemonic::Shr,
        SAR => Mnemonic::Sar,
        ROL => Mnemonic::Rol,
        _ => Mnemonic::Ror,
    }
}

#[inline(always)]
fn shift_register<T: Int, const KIND: u8>(cx: &mut Context, op: &Op, count: u32) {
    let a = T::from_u64(cx.cpu.gpr[op.dst]).to_u64();
    if T::WIDTH >= 2 && KIND <= SAR {
        // The count is below the width, so that nothing needs more than 64 bits.
        let bits = 8u32 << T::WIDTH;
        let extended = ((a << (64 - bits)) as i64) >> (64 - bits);
        let (result, carry) = match KIND {
            SHL => (a << count, a >> (bits - count) & 1),
            SHR => (a >> count, a >> (count - 1) & 1),
            _ => (
                (extended >> count) as u64,
                (extended >> (count - 1)) as u64 & 1,
            ),
        };
        let result = T::from_u64(result);
        let overflow = match KIND {
            SHL => u64::from(result.top()) ^ carry,
            SHR => a >> (bits - 1) & 1,
            _ => 0,
        };
        T::put(&mut cx.cpu.gpr[op.dst], result);
        cx.cpu.flags.set(
            Rule::Partial,
            T::WIDTH,
            result.to_u64(),
            carry | overflow << 11,
        );
        return;
    }
    let old = if KIND >= ROL {
        cx.cpu.flags.status()
    } else {
        0
    };
    let (result, flags) = shift_value(shift_mnemonic(KIND), a, count, T::WIDTH, old);
    T::put(&mut cx.cpu.gpr[op.dst], T::from_u64(result));
    cx.cpu.flags.set_status(flags);
}
/// By an immediate that `translate` has masked and found not to be zero.
fn shift_ri<T: Int, const KIND: u8>(cx: &mut Context, op: &Op) -> Flow {
    shift_register::<T, KIND>(cx, op, op.imm as u32);
    Flow::Next
}
fn shift_rcl<T: Int, const KIND: u8>(cx: &mut Context, op: &Op) -> Flow {
    let count = cx.cpu.gpr[RCX] as u32 & if T::WIDTH == 3 { 63 } else { 31 };
    if count == 0 {
        let same = T::from_u64(cx.cpu.gpr[op.dst]);
        T::put(&mut cx.cpu.gpr[op.dst], same);
    } else {
        shift_register::<T, KIND>(cx, op, count);
    }
    Flow::Next
}

// ---- multiply and divide ---------------------------------------------------------------------------------------------

#[inline(always)]
fn imul_result<T: Int>(cx: &mut Context, op: &Op, a: T, b: T) {
    use super::flags::{CF, OF};
    let shift = 64 - (8 << T::WIDTH);
    let signed = |v: T| ((v.to_u64() << shift) as i64) >> shift;
    let (result, overflow) = if T::WIDTH == 3 {
        let (low, overflow) = signed(a).overflowing_mul(signed(b));
        (low as u64, overflow)
    } else {
        let product = signed(a).wrapping_mul(signed(b));
        (
            product as u64,
            signed(T::from_u64(product as u64)) != product,
        )
    };
    T::put(&mut cx.cpu.gpr[op.dst], T::from_u64(result));
    let kept = cx.cpu.flags.status() & !(CF | OF);
    cx.cpu
        .flags
        .set_status(kept | if overflow { CF | OF } else { 0 });
}
fn imul_rr<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let (a, b) = (
        T::from_u64(cx.cpu.gpr[op.dst]),
        T::from_u64(cx.cpu.gpr[op.base]),
    );
    imul_result(cx, op, a, b);
    Flow::Next
}
fn imul_rm<T: Int, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let b = attempt!(cx, cx.mem.load::<T, R>(at));
    let a = T::from_u64(cx.cpu.gpr[op.dst]);
    imul_result(cx, op, a, b);
    Flow::Next
}
fn imul_rri<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let a = T::from_u64(cx.cpu.gpr[op.base]);
    imul_result(cx, op, a, T::from_u64(op.imm as u64));
    Flow::Next
}
fn imul_rmi<T: Int, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let a = attempt!(cx, cx.mem.load::<T, R>(at));
    imul_result(cx, op, a, T::from_u64(op.imm as u64));
    Flow::Next
}
fn mul_r<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    use super::flags::{CF, OF};
    let a = u128::from(T::from_u64(cx.cpu.gpr[RAX]).to_u64());
    let b = u128::from(T::from_u64(cx.cpu.gpr[op.dst]).to_u64());
    let product = a * b;
    let high = (product >> (8u32 << T::WIDTH)) as u64;
    T::put(&mut cx.cpu.gpr[RAX], T::from_u64(product as u64));
    T::put(&mut cx.cpu.gpr[RDX], T::from_u64(high));
    let kept = cx.cpu.flags.status() & !(CF | OF);
    cx.cpu
        .flags
        .set_status(kept | if high == 0 { 0 } else { CF | OF });
    Flow::Next
}
fn div32_r(cx: &mut Context, op: &Op) -> Flow {
    let divisor = cx.cpu.gpr[op.dst] & 0xffff_ffff;
    let dividend = cx.cpu.gpr[RDX] << 32 | cx.cpu.gpr[RAX] & 0xffff_ffff;
    if divisor == 0 || dividend >> 32 >= divisor {
        return fault(cx, Fault::Divide);
    }
    cx.cpu.gpr[RAX] = dividend / divisor;
    cx.cpu.gpr[RDX] = dividend % divisor;
    cx.mem.record_work(quotient_steps(cx.cpu.gpr[RAX]));
    Flow::Next
}
fn div64_r(cx: &mut Context, op: &Op) -> Flow {
    let divisor = cx.cpu.gpr[op.dst];
    let (high, low) = (cx.cpu.gpr[RDX], cx.cpu.gpr[RAX]);
    if high >= divisor {
        // Also division by zero.
        return fault(cx, Fault::Divide);
    }
    if high == 0 {
        cx.cpu.gpr[RAX] = low / divisor;
        cx.cpu.gpr[RDX] = low % divisor;
    } else {
        let dividend = u128::from(high) << 64 | u128::from(low);
        cx.cpu.gpr[RAX] = (dividend / u128::from(divisor)) as u64;
        cx.cpu.gpr[RDX] = (dividend % u128::from(divisor)) as u64;
    }
    cx.mem.record_work(quotient_steps(cx.cpu.gpr[RAX]));
    Flow::Next
}
fn idiv32_r(cx: &mut Context, op: &Op) -> Flow {
    let divisor = i64::from(cx.cpu.gpr[op.dst] as i32);
    let dividend = (cx.cpu.gpr[RDX] << 32 | cx.cpu.gpr[RAX] & 0xffff_ffff) as i64;
    let Some(quotient) = dividend
        .checked_div(divisor)
        .filter(|&q| i32::try_from(q).is_ok())
    else {
        return fault(cx, Fault::Divide);
    };
    cx.cpu.gpr[RAX] = quotient as u64 & 0xffff_ffff;
    cx.cpu.gpr[RDX] = dividend.wrapping_rem(divisor) as u64 & 0xffff_ffff;
    cx.mem.record_work(quotient_steps(quotient.unsigned_abs()));
    Flow::Next
}

// ---- conditions ------------------------------------------------------------------------------------------------------

fn jcc<const CC: u8>(cx: &mut Context, _op: &Op) -> Flow {
    if cx.cpu.flags.condition(CC) {
        Flow::Taken
    } else {
        Flow::NotTaken
    }
}
fn setcc_r<const CC: u8>(cx: &mut Context, op: &Op) -> Flow {
    let holds = cx.cpu.flags.condition(CC);
    u8::put(&mut cx.cpu.gpr[op.dst], u8::from(holds));
    Flow::Next
}
fn cmovcc_rr<T: Int, const CC: u8>(cx: &mut Context, op: &Op) -> Flow {
    let from = if cx.cpu.flags.condition(CC) {
        op.base
    } else {
        op.dst
    };
    let value = T::from_u64(cx.cpu.gpr[from]);
    T::put(&mut cx.cpu.gpr[op.dst], value);
    Flow::Next
}
fn cmovcc_rm<T: Int, R: Recording, const CC: u8>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let loaded = attempt!(cx, cx.mem.load::<T, R>(at));
    let value = if cx.cpu.flags.condition(CC) {
        loaded
    } else {
        T::from_u64(cx.cpu.gpr[op.dst])
    };
    T::put(&mut cx.cpu.gpr[op.dst], value);
    Flow::Next
}

// ---- stack and control -----------------------------------------------------------------------------------------------

#[inline(always)]
fn push<R: Recording>(cx: &mut Context, value: u64) -> Result<bool, Fault> {
    let rsp = cx.cpu.gpr[RSP].wrapping_sub(8);
    let stale = cx.mem.store_checked::<u64, R>(rsp, value)?;
    cx.cpu.gpr[RSP] = rsp;
    Ok(stale)
}
fn push_r<R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let value = cx.cpu.gpr[op.dst];
    after_store!(attempt!(cx, push::<R>(cx, value)))
}
fn push_i<R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    after_store!(attempt!(cx, push::<R>(cx, op.imm as u64)))
}
fn pop_r<R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let rsp = cx.cpu.gpr[RSP];
    let value = attempt!(cx, cx.mem.load::<u64, R>(rsp));
    cx.cpu.gpr[RSP] = rsp.wrapping_add(8);
    cx.cpu.gpr[op.dst] = value;
    Flow::Next
}
fn leave<R: Recording>(cx: &mut Context, _op: &Op) -> Flow {
    let rbp = cx.cpu.gpr[super::state::RBP];
    let value = attempt!(cx, cx.mem.load::<u64, R>(rbp));
    cx.cpu.gpr[RSP] = rbp.wrapping_add(8);
    cx.cpu.gpr[super::state::RBP] = value;
    Flow::Next
}
fn jmp(_cx: &mut Context, _op: &Op) -> Flow {
    Flow::Taken
}
fn jmp_r(cx: &mut Context, op: &Op) -> Flow {
    cx.cpu.rip = cx.cpu.gpr[op.dst];
    Flow::Indirect
}
fn jmp_m<R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    cx.cpu.rip = attempt!(cx, cx.mem.load::<u64, R>(at));
    Flow::Indirect
}
/// `op.imm` is the distance of the return address from the block's entry.
fn call<R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let back = cx.cpu.gpr[BLOCK].wrapping_add(op.imm as u64);
    attempt!(cx, push::<R>(cx, back));
    Flow::Taken
}
fn call_r<R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let target = cx.cpu.gpr[op.dst];
    let back = cx.cpu.gpr[BLOCK].wrapping_add(op.imm as u64);
    attempt!(cx, push::<R>(cx, back));
    cx.cpu.rip = target;
    Flow::Indirect
}
fn call_m<R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let target = attempt!(cx, cx.mem.load::<u64, R>(at));
    let back = cx.cpu.gpr[BLOCK].wrapping_add(op.imm as u64);
    attempt!(cx, push::<R>(cx, back));
    cx.cpu.rip = target;
    Flow::Indirect
}
fn ret<R: Recording>(cx: &mut Context, _op: &Op) -> Flow {
    let rsp = cx.cpu.gpr[RSP];
    cx.cpu.rip = attempt!(cx, cx.mem.load::<u64, R>(rsp));
    cx.cpu.gpr[RSP] = rsp.wrapping_add(8);
    Flow::Indirect
}

// ---- vector moves and logic ------------------------------------------------------------------------------------------

fn vmov_rr(cx: &mut Context, op: &Op) -> Flow {
    cx.cpu.vec[op.dst][0] = cx.cpu.vec[op.base][0];
    Flow::Next
}
fn vmov_rm<R: Recording, const ALIGNED: bool>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    if ALIGNED && at & 15 != 0 {
        return fault(cx, Fault::GeneralProtection);
    }
    cx.cpu.vec[op.dst][0] = attempt!(cx, cx.mem.load::<u128, R>(at));
    Flow::Next
}
fn vmov_mr<R: Recording, const ALIGNED: bool>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    if ALIGNED && at & 15 != 0 {
        return fault(cx, Fault::GeneralProtection);
    }
    let value = cx.cpu.vec[op.dst][0];
    after_store!(attempt!(cx, cx.mem.store_checked::<u128, R>(at, value)))
}
/// `movss`, `movsd`, `movd`, `movq` from memory: the rest of the register becomes zero.
fn vload_low<T: Int, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let value = attempt!(cx, cx.mem.load::<T, R>(at));
    cx.cpu.vec[op.dst][0] = u128::from(value.to_u64());
    Flow::Next
}
fn vstore_low<T: Int, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let value = T::from_u64(cx.cpu.vec[op.dst][0] as u64);
    after_store!(attempt!(cx, cx.mem.store_checked::<T, R>(at, value)))
}
fn vmov_gpr_to_xmm<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    cx.cpu.vec[op.dst][0] = u128::from(T::from_u64(cx.cpu.gpr[op.base]).to_u64());
    Flow::Next
}
fn vmov_xmm_to_gpr<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let value = T::from_u64(cx.cpu.vec[op.base][0] as u64);
    T::put(&mut cx.cpu.gpr[op.dst], value);
    Flow::Next
}
fn vmovq_rr(cx: &mut Context, op: &Op) -> Flow {
    cx.cpu.vec[op.dst][0] = u128::from(cx.cpu.vec[op.base][0] as u64);
    Flow::Next
}
/// `movsd`/`movss` between registers: only the low part moves.
fn vmov_low_rr<T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let mask = u128::from(u64::MAX >> (64 - (8 << T::WIDTH)));
    let source = cx.cpu.vec[op.base][0];
    let slot = &mut cx.cpu.vec[op.dst][0];
    *slot = *slot & !mask | source & mask;
    Flow::Next
}

/// A pure operation on two 128-bit values.
pub(crate) trait VectorOp {
    fn apply(a: u128, b: u128) -> u128;
}
fn vec_rr<O: VectorOp>(cx: &mut Context, op: &Op) -> Flow {
    let (a, b) = (cx.cpu.vec[op.dst][0], cx.cpu.vec[op.base][0]);
    cx.cpu.vec[op.dst][0] = O::apply(a, b);
    Flow::Next
}
fn vec_rm<O: VectorOp, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    if at & 15 != 0 {
        return fault(cx, Fault::GeneralProtection);
    }
    let b = attempt!(cx, cx.mem.load::<u128, R>(at));
    let a = cx.cpu.vec[op.dst][0];
    cx.cpu.vec[op.dst][0] = O::apply(a, b);
    Flow::Next
}

macro_rules! vector_ops {
    ($($name:ident => |$a:ident, $b:ident| $e:expr;)*) => {$(
        struct $name;
        impl VectorOp for $name {
            #[inline(always)]
            fn apply($a: u128, $b: u128) -> u128 { $e }
        }
    )*};
}
vector_ops! {
    VAnd => |a, b| a & b;
    VOr => |a, b| a | b;
    VXor => |a, b| a ^ b;
    VAndNot => |a, b| !a & b;
    VUnpackLowQ => |a, b| a & u128::from(u64::MAX) | b << 64;
    VUnpackHighQ => |a, b| a >> 64 | b & !u128::from(u64::MAX);
}

/// A lane operation from the table; `IMMEDIATE` only tells which kind the table entry is.
#[inline(always)]
fn apply_lane<const IMMEDIATE: bool>(cx: &mut Context, op: &Op, source: u128) {
    let destination = &mut cx.cpu.vec[op.dst][0];
    match cx.side.lanes[op.imm as usize] {
        LaneOp::Binary(f) if !IMMEDIATE => f(destination, &source),
        LaneOp::Immediate(f, immediate) if IMMEDIATE => f(destination, &source, immediate),
        LaneOp::Constant(f, constant) => f(destination, &constant),
        LaneOp::Binary(_) | LaneOp::Immediate(..) => {
            debug_assert!(false, "translate pairs handler and entry")
        }
    }
}
fn lane_rr<const IMMEDIATE: bool>(cx: &mut Context, op: &Op) -> Flow {
    let source = cx.cpu.vec[op.base][0];
    apply_lane::<IMMEDIATE>(cx, op, source);
    Flow::Next
}
fn lane_rm<R: Recording, const IMMEDIATE: bool>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    if at & 15 != 0 {
        return fault(cx, Fault::GeneralProtection);
    }
    let source = attempt!(cx, cx.mem.load::<u128, R>(at));
    apply_lane::<IMMEDIATE>(cx, op, source);
    Flow::Next
}
fn lane_constant(cx: &mut Context, op: &Op) -> Flow {
    apply_lane::<false>(cx, op, 0);
    Flow::Next
}
fn pmovmskb(cx: &mut Context, op: &Op) -> Flow {
    cx.cpu.gpr[op.dst] = super::exec::sse_integer::arithmetic::pmovmskb(cx.cpu.vec[op.base][0]);
    Flow::Next
}

// ---- scalar floating point -------------------------------------------------------------------------------------------

/// A floating-point width that the host computes exactly as the guest when nothing unusual is involved.
pub(crate) trait Float: Copy {
    type Bits: Int;
    fn from_bits(bits: Self::Bits) -> Self;
    fn to_bits(self) -> Self::Bits;
    /// Neither denormal, infinity nor NaN; zero counts as plain.
    fn is_plain(self) -> bool;
    /// Beyond the smallest normal number and finite: a rounded result that cannot have raised underflow or overflow.
    fn is_safe_result(self) -> bool;
    fn is_zero(self) -> bool;
    fn compute<const OP: u8>(self, other: Self) -> Self;
    /// `self * b + c`, rounded once.
    fn fused(self, b: Self, c: Self) -> Self;
    fn negative(self) -> Self;
    fn less(self, other: Self) -> bool;
    fn equal(self, other: Self) -> bool;
    fn from_i64(value: i64) -> Self;
    /// Truncated; only for values known to fit.
    fn to_i64(self) -> i64;
    fn to_f64(self) -> f64;
}

pub(super) const FADD: u8 = 0;
pub(super) const FSUB: u8 = 1;
pub(super) const FMUL: u8 = 2;
pub(super) const FDIV: u8 = 3;

macro_rules! float {
    ($t:ty, $b:ty, $min:expr, $inf:expr) => {
        impl Float for $t {
            type Bits = $b;
            #[inline(always)]
            fn from_bits(bits: $b) -> Self {
                <$t>::from_bits(bits)
            }
            #[inline(always)]
            fn to_bits(self) -> $b {
                <$t>::to_bits(self)
            }
            #[inline(always)]
            fn is_plain(self) -> bool {
                let magnitude = <$t>::to_bits(self) & (<$b>::MAX >> 1);
                magnitude.wrapping_sub($min) < $inf - $min || magnitude == 0
            }
            #[inline(always)]
            fn is_safe_result(self) -> bool {
                let magnitude = <$t>::to_bits(self) & (<$b>::MAX >> 1);
                magnitude.wrapping_sub($min + 1) < $inf - $min - 1
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                <$t>::to_bits(self) << 1 == 0
            }
            #[inline(always)]
            fn compute<const OP: u8>(self, other: Self) -> Self {
                match OP {
                    FADD => self + other,
                    FSUB => self - other,
                    FMUL => self * other,
                    _ => self / other,
                }
            }
            #[inline(always)]
            fn fused(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn negative(self) -> Self {
                -self
            }
            #[inline(always)]
            fn less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn equal(self, other: Self) -> bool {
                self == other
            }
            #[inline(always)]
            fn from_i64(value: i64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
    };
}
float!(f32, u32, 0x0080_0000, 0x7f80_0000);
float!(f64, u64, 0x0010_0000_0000_0000, 0x7ff0_0000_0000_0000);

/// The result where host arithmetic is known to be what the guest's processor gives, flags included: operands and
/// result are plain, MXCSR is in its usual state (`fp_fast`).
#[inline(always)]
pub(super) fn exact<F: Float, const OP: u8>(a: F, b: F) -> Option<F> {
    if !(a.is_plain() && b.is_plain()) {
        return None;
    }
    let r = a.compute::<OP>(b);
    let fine = match OP {
        // Sums of plain numbers are exact where they are tiny, so a plain sum (zero included) raised nothing.
        FADD | FSUB => r.is_plain(),
        FMUL => r.is_safe_result() || r.is_zero() && (a.is_zero() || b.is_zero()),
        _ => !b.is_zero() && (r.is_safe_result() || r.is_zero() && a.is_zero()),
    };
    fine.then_some(r)
}

#[inline(always)]
pub(super) fn low<F: Float>(v: u128) -> F {
    F::from_bits(F::Bits::from_u64(v as u64))
}

#[inline(always)]
pub(super) fn set_low<F: Float>(slot: &mut u128, value: F) {
    let mask = u128::from(u64::MAX >> (64 - (8 << F::Bits::WIDTH)));
    *slot = *slot & !mask | u128::from(value.to_bits().to_u64());
}

fn fp_rr<F: Float, const OP: u8>(cx: &mut Context, op: &Op) -> Flow {
    if cx.cpu.fp_fast {
        let (a, b) = (
            low::<F>(cx.cpu.vec[op.dst][0]),
            low::<F>(cx.cpu.vec[op.base][0]),
        );
        if let Some(r) = exact::<F, OP>(a, b) {
            set_low(&mut cx.cpu.vec[op.dst][0], r);
            return Flow::Next;
        }
    }
    slow(cx, op)
}
fn fp_rm<F: Float, R: Recording, const OP: u8>(cx: &mut Context, op: &Op) -> Flow {
    if cx.cpu.fp_fast {
        let at = op.address(&cx.cpu);
        // Unrecorded: the complete path would record the same load again.
        let b = F::from_bits(attempt!(
            cx,
            cx.mem.load::<F::Bits, crate::sim::memory::Silent>(at)
        ));
        if let Some(r) = exact::<F, OP>(low(cx.cpu.vec[op.dst][0]), b) {
            set_low(&mut cx.cpu.vec[op.dst][0], r);
            if R::ON {
                cx.mem.record_load(at, F::Bits::SIZE as u8);
            }
            return Flow::Next;
        }
    }
    slow(cx, op)
}
fn fsqrt_rr<F: Float>(cx: &mut Context, op: &Op) -> Flow {
    let a = low::<F>(cx.cpu.vec[op.base][0]);
    if cx.cpu.fp_fast && a.is_plain() && !a.is_zero() && !a.to_bits().top() {
        // IEEE 754 square roots are correctly rounded, and computing an f32 one through f64 is innocuous.
        let r = a.to_f64().sqrt();
        let bits = if F::Bits::WIDTH == 2 {
            u64::from((r as f32).to_bits())
        } else {
            r.to_bits()
        };
        set_low(
            &mut cx.cpu.vec[op.dst][0],
            F::from_bits(F::Bits::from_u64(bits)),
        );
        return Flow::Next;
    }
    slow(cx, op)
}

macro_rules! lanes {
    ($name:ident, $f:ty, $n:expr) => {
        #[inline(always)]
        pub(super) fn $name<const OP: u8>(a: u128, b: u128) -> Option<u128> {
            let bits = 128 / $n;
            let mut out = 0u128;
            for i in 0..$n {
                let r = exact::<$f, OP>(low(a >> (i * bits)), low(b >> (i * bits)))?;
                out |= u128::from(r.to_bits()) << (i * bits);
            }
            Some(out)
        }
    };
}
lanes!(lanes_f32, f32, 4);
lanes!(lanes_f64, f64, 2);

fn fpack_rr<const DOUBLE: bool, const OP: u8>(cx: &mut Context, op: &Op) -> Flow {
    if cx.cpu.fp_fast {
        let (a, b) = (cx.cpu.vec[op.dst][0], cx.cpu.vec[op.base][0]);
        let r = if DOUBLE {
            lanes_f64::<OP>(a, b)
        } else {
            lanes_f32::<OP>(a, b)
        };
        if let Some(r) = r {
            cx.cpu.vec[op.dst][0] = r;
            return Flow::Next;
        }
    }
    slow(cx, op)
}
fn fpack_rm<R: Recording, const DOUBLE: bool, const OP: u8>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    if cx.cpu.fp_fast && at & 15 == 0 {
        let b = attempt!(cx, cx.mem.load::<u128, crate::sim::memory::Silent>(at));
        let a = cx.cpu.vec[op.dst][0];
        let r = if DOUBLE {
            lanes_f64::<OP>(a, b)
        } else {
            lanes_f32::<OP>(a, b)
        };
        if let Some(r) = r {
            cx.cpu.vec[op.dst][0] = r;
            if R::ON {
                cx.mem.record_load(at, 16);
            }
            return Flow::Next;
        }
    }
    slow(cx, op)
}

#[inline(always)]
fn compare_flags<F: Float>(cx: &mut Context, a: F, b: F) {
    use super::flags::{CF, ZF};
    let bits = if a.equal(b) {
        ZF
    } else if a.less(b) {
        CF
    } else {
        0
    };
    cx.cpu.flags.set_status(bits);
}
/// `comiss`, `ucomisd` and the like: plain operands raise nothing whatever MXCSR says.
pub(super) fn fcomi_rr<F: Float>(cx: &mut Context, op: &Op) -> Flow {
    let (a, b) = (
        low::<F>(cx.cpu.vec[op.dst][0]),
        low::<F>(cx.cpu.vec[op.base][0]),
    );
    if a.is_plain() && b.is_plain() {
        compare_flags(cx, a, b);
        return Flow::Next;
    }
    slow(cx, op)
}
pub(super) fn fcomi_rm<F: Float, R: Recording>(cx: &mut Context, op: &Op) -> Flow {
    let at = op.address(&cx.cpu);
    let b = F::from_bits(attempt!(
        cx,
        cx.mem.load::<F::Bits, crate::sim::memory::Silent>(at)
    ));
    let a = low::<F>(cx.cpu.vec[op.dst][0]);
    if a.is_plain() && b.is_plain() {
        compare_flags(cx, a, b);
        if R::ON {
            cx.mem.record_load(at, F::Bits::SIZE as u8);
        }
        return Flow::Next;
    }
    slow(cx, op)
}
fn cvt_int_to_float<T: Int, F: Float>(cx: &mut Context, op: &Op) -> Flow {
    if cx.cpu.fp_fast {
        let shift = 64 - (8 << T::WIDTH);
        let value = ((T::from_u64(cx.cpu.gpr[op.base]).to_u64() << shift) as i64) >> shift;
        set_low(&mut cx.cpu.vec[op.dst][0], F::from_i64(value));
        return Flow::Next;
    }
    slow(cx, op)
}
pub(super) fn cvtt_float_to_int<F: Float, T: Int>(cx: &mut Context, op: &Op) -> Flow {
    let a = low::<F>(cx.cpu.vec[op.base][0]);
    if cx.cpu.fp_fast && a.is_plain() {
        let wide = a.to_f64();
        let limit = if T::WIDTH == 3 {
            9_223_372_036_854_775_808.0
        } else {
            2_147_483_648.0
        };
        if wide < limit && wide > -limit {
            T::put(&mut cx.cpu.gpr[op.dst], T::from_u64(a.to_i64() as u64));
            return Flow::Next;
        }
    }
    slow(cx, op)
}
fn cvt_single_to_double(cx: &mut Context, op: &Op) -> Flow {
    let a = low::<f32>(cx.cpu.vec[op.base][0]);
    if a.is_plain() {
        set_low(&mut cx.cpu.vec[op.dst][0], f64::from(a));
        return Flow::Next;
    }
    slow(cx, op)
}
fn cvt_double_to_single(cx: &mut Context, op: &Op) -> Flow {
    let a = low::<f64>(cx.cpu.vec[op.base][0]);
    if cx.cpu.fp_fast && a.is_plain() {
        let r = a as f32;
        if Float::is_safe_result(r) || a.is_zero() {
            set_low(&mut cx.cpu.vec[op.dst][0], r);
            return Flow::Next;
        }
    }
    slow(cx, op)
}

// ---- everything else -------------------------------------------------------------------------------------------------

/// The complete path: `op.imm` indexes [`SideTables::slow`].
pub(crate) fn slow(cx: &mut Context, op: &Op) -> Flow {
    let insn = cx.side.slow[op.imm as usize];
    cx.cpu.rip = insn.next_ip();
    match super::exec::execute(cx, &insn) {
        Ok(Flow::Next) if cx.mem.has_stale_code() => Flow::Stop,
        Ok(flow) => flow,
        Err(f) => fault(cx, f),
    }
}

// ---- translation -----------------------------------------------------------------------------------------------------

/// Fills the address fields; false for addresses that only the complete path computes.
pub(super) fn set_address(op: &mut Op, insn: &Instruction, entry: u64) -> bool {
    let (base, index) = (insn.memory_base(), insn.memory_index());
    if base.is_gpr32() || index.is_gpr32() || base == Register::EIP {
        return false;
    }
    if base == Register::None
        && index == Register::None
        && insn.memory_displ_size() == 4
        && insn.memory_displacement64() > i32::MAX as u64
    {
        return false;
    }
    op.index = ZERO;
    op.scale = 0;
    let displacement = if base == Register::RIP {
        op.base = BLOCK;
        insn.memory_displacement64().wrapping_sub(entry) as i64
    } else {
        op.base = if base == Register::None {
            ZERO
        } else {
            gpr_number(base)
        };
        insn.memory_displacement64() as i64
    };
    let Ok(displacement) = i32::try_from(displacement) else {
        return false;
    };
    op.disp = displacement;
    if index != Register::None {
        op.index = gpr_number(index);
        op.scale = insn.memory_index_scale().trailing_zeros() as u8;
    }
    let segment = match insn.segment_prefix() {
        Register::FS => FS,
        Register::GS => GS,
        _ => return true,
    };
    if op.index != ZERO {
        return false;
    }
    op.index = segment;
    true
}

macro_rules! by_width {
    ($size:expr, $T:ident => $h:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $h as Handler
            }
            2 => {
                type $T = u16;
                $h as Handler
            }
            4 => {
                type $T = u32;
                $h as Handler
            }
            _ => {
                type $T = u64;
                $h as Handler
            }
        }
    };
}
macro_rules! by_wide {
    ($size:expr, $T:ident => $h:expr) => {
        match $size {
            4 => {
                type $T = u32;
                $h as Handler
            }
            8 => {
                type $T = u64;
                $h as Handler
            }
            _ => return None,
        }
    };
}
macro_rules! by_condition {
    ($cc:expr, $CC:ident => $h:expr) => {
        match $cc {
            0 => {
                const $CC: u8 = 0;
                $h as Handler
            }
            1 => {
                const $CC: u8 = 1;
                $h as Handler
            }
            2 => {
                const $CC: u8 = 2;
                $h as Handler
            }
            3 => {
                const $CC: u8 = 3;
                $h as Handler
            }
            4 => {
                const $CC: u8 = 4;
                $h as Handler
            }
            5 => {
                const $CC: u8 = 5;
                $h as Handler
            }
            6 => {
                const $CC: u8 = 6;
                $h as Handler
            }
            7 => {
                const $CC: u8 = 7;
                $h as Handler
            }
            8 => {
                const $CC: u8 = 8;
                $h as Handler
            }
            9 => {
                const $CC: u8 = 9;
                $h as Handler
            }
            10 => {
                const $CC: u8 = 10;
                $h as Handler
            }
            11 => {
                const $CC: u8 = 11;
                $h as Handler
            }
            12 => {
                const $CC: u8 = 12;
                $h as Handler
            }
            13 => {
                const $CC: u8 = 13;
                $h as Handler
            }
            14 => {
                const $CC: u8 = 14;
                $h as Handler
            }
            _ => {
                const $CC: u8 = 15;
                $h as Handler
            }
        }
    };
}
/// The conditions that a fused branch evaluates: all but overflow and parity.
macro_rules! by_fused_condition {
    ($cc:expr, $CC:ident => $h:expr) => {
        match $cc {
            2 => {
                const $CC: u8 = 2;
                $h as Handler
            }
            3 => {
                const $CC: u8 = 3;
                $h as Handler
            }
            4 => {
                const $CC: u8 = 4;
                $h as Handler
            }
            5 => {
                const $CC: u8 = 5;
                $h as Handler
            }
            6 => {
                const $CC: u8 = 6;
                $h as Handler
            }
            7 => {
                const $CC: u8 = 7;
                $h as Handler
            }
            8 => {
                const $CC: u8 = 8;
                $h as Handler
            }
            9 => {
                const $CC: u8 = 9;
                $h as Handler
            }
            12 => {
                const $CC: u8 = 12;
                $h as Handler
            }
            13 => {
                const $CC: u8 = 13;
                $h as Handler
            }
            14 => {
                const $CC: u8 = 14;
                $h as Handler
            }
            15 => {
                const $CC: u8 = 15;
                $h as Handler
            }
            _ => return None,
        }
    };
}

fn is_simple_gpr(register: Register) -> bool {
    register.is_gpr() && !is_high_byte(register)
}

/// Operand kinds of a two-operand form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    RegReg,
    RegImm,
    RegMem,
    MemReg,
    MemImm,
}

/// Shape and operand size; `None` if a high-byte or non-general register takes part.
fn shape(insn: &Instruction) -> Option<(Shape, u32)> {
    let register = |i: u32| insn.op_kind(i) == OpKind::Register;
    let simple = |i: u32| is_simple_gpr(insn.op_register(i));
    let memory = |i: u32| insn.op_kind(i) == OpKind::Memory;
    let size = if register(0) {
        insn.op0_register().size()
    } else {
        insn.memory_size().size()
    } as u32;
    let shape = if register(0) && simple(0) {
        if register(1) && simple(1) {
            Shape::RegReg
        } else if memory(1) {
            Shape::RegMem
        } else if register(1) {
            return None;
        } else {
            Shape::RegImm
        }
    } else if memory(0) {
        if register(1) && simple(1) {
            Shape::MemReg
        } else if register(1) {
            return None;
        } else {
            Shape::MemImm
        }
    } else {
        return None;
    };
    Some((shape, size))
}

/// Fills the operand fields for a shape; false if the address needs the complete path.
fn set_operands(op: &mut Op, insn: &Instruction, shape: Shape, entry: u64) -> bool {
    match shape {
        Shape::RegReg => {
            op.dst = gpr_number(insn.op0_register());
            op.base = gpr_number(insn.op1_register());
            true
        }
        Shape::RegImm => {
            op.dst = gpr_number(insn.op0_register());
            op.imm = insn.immediate(1) as i64;
            true
        }
        Shape::RegMem => {
            op.dst = gpr_number(insn.op0_register());
            set_address(op, insn, entry)
        }
        Shape::MemReg => {
            op.dst = gpr_number(insn.op1_register());
            set_address(op, insn, entry)
        }
        Shape::MemImm => {
            op.imm = insn.immediate(1) as i64;
            set_address(op, insn, entry)
        }
    }
}

fn alu_handler<O: Alu, R: Recording>(shape: Shape, size: u32) -> Handler {
    match shape {
        Shape::RegReg => by_width!(size, T => alu::<O, T, RegReg>),
        Shape::RegImm => by_width!(size, T => alu::<O, T, RegImm>),
        Shape::RegMem => by_width!(size, T => alu::<O, T, RegMem<R>>),
        Shape::MemReg => by_width!(size, T => alu::<O, T, MemReg<R>>),
        Shape::MemImm => by_width!(size, T => alu::<O, T, MemImm<R>>),
    }
}

fn fused_by_shape<O: Alu, T: Int, R: Recording>(shape: Shape, cc: u8) -> Option<Handler> {
    Some(match shape {
        Shape::RegReg => by_fused_condition!(cc, CC => alu_jcc::<O, T, RegReg, CC>),
        Shape::RegImm => by_fused_condition!(cc, CC => alu_jcc::<O, T, RegImm, CC>),
        Shape::RegMem if !O::WRITES => {
            by_fused_condition!(cc, CC => alu_jcc::<O, T, RegMem<R>, CC>)
        }
        Shape::MemReg if !O::WRITES => {
            by_fused_condition!(cc, CC => alu_jcc::<O, T, MemReg<R>, CC>)
        }
        Shape::MemImm if !O::WRITES => {
            by_fused_condition!(cc, CC => alu_jcc::<O, T, MemImm<R>, CC>)
        }
        _ => return None,
    })
}

fn fused_by_width<O: Alu, R: Recording>(shape: Shape, size: u32, cc: u8) -> Option<Handler> {
    match size {
        1 => fused_by_shape::<O, u8, R>(shape, cc),
        4 => fused_by_shape::<O, u32, R>(shape, cc),
        8 => fused_by_shape::<O, u64, R>(shape, cc),
        _ => None,
    }
}

/// One operation for `first` and the conditional branch `branch` behind it, where there is one.
pub(crate) fn fuse<R: Recording>(
    first: &Instruction,
    branch: &Instruction,
    entry: u64,
) -> Option<Op> {
    if !branch.is_jcc_short_or_near() || first.has_lock_prefix() {
        return None;
    }
    let cc = condition_number(branch);
    let mut op = empty(slow);
    if first.op_count() != 2 {
        return None;
    }
    let (shape, size) = shape(first)?;
    op.handler = match first.mnemonic() {
        Mnemonic::Cmp => fused_by_width::<Cmp, R>(shape, size, cc)?,
        Mnemonic::Test => fused_by_width::<Test, R>(shape, size, cc)?,
        Mnemonic::Sub => fused_by_width::<Sub, R>(shape, size, cc)?,
        Mnemonic::Add => fused_by_width::<Add, R>(shape, size, cc)?,
        Mnemonic::And => fused_by_width::<And, R>(shape, size, cc)?,
        _ => return None,
    };
    set_operands(&mut op, first, shape, entry).then_some(op)
}

pub(super) fn empty(handler: Handler) -> Op {
    Op {
        handler,
        dst: 0,
        base: 0,
        index: ZERO,
        scale: 0,
        disp: 0,
        imm: 0,
    }
}

/// The operation of an instruction in a block that begins at `entry`.
pub(crate) fn translate<R: Recording>(insn: &Instruction, entry: u64, side: &mut SideTables) -> Op {
    let slot = side.slow.len();
    if insn.encoding() == EncodingKind::VEX {
        side.slow.push(*insn);
        return fast_avx::translate::<R>(insn, entry, slot, &mut side.lanes).unwrap_or(Op {
            imm: slot as i64,
            ..empty(slow)
        });
    }
    if let Some((op, needs_slot)) = translate_vector::<R>(insn, entry, slot) {
        if needs_slot {
            side.slow.push(*insn);
        }
        return op;
    }
    if let Some(op) =
        translate_lanes::<R>(insn, entry, side).or_else(|| translate_integer::<R>(insn, entry))
    {
        return op;
    }
    side.slow.push(*insn);
    Op {
        imm: slot as i64,
        ..empty(slow)
    }
}

/// Packed integer operations: the table of the complete path gives the function.
fn translate_lanes<R: Recording>(
    insn: &Instruction,
    entry: u64,
    side: &mut SideTables,
) -> Option<Op> {
    let mut op = empty(nop);
    if matches!(insn.code(), Code::Pmovmskb_r32_xmm | Code::Pmovmskb_r64_xmm) {
        op.dst = gpr_number(insn.op0_register());
        op.base = vec_number(insn.op1_register());
        op.handler = pmovmskb;
        return Some(op);
    }
    let immediate = |i: u32| insn.immediate(i) as u8;
    let lane = match table::form(insn.code())? {
        table::Form::Xmm(f) => LaneOp::Binary(f),
        table::Form::XmmImmediate(f) => LaneOp::Immediate(f, immediate(2)),
        table::Form::XmmCount(f) => {
            op.dst = vec_number(insn.op0_register());
            op.handler = lane_constant;
            op.imm = side.lanes.len() as i64;
            side.lanes
                .push(LaneOp::Constant(f, u128::from(immediate(1))));
            return Some(op);
        }
        _ => return None,
    };
    let shape = vector_shape(&mut op, insn, entry)?;
    op.handler = match (shape, lane) {
        (Shape::RegReg, LaneOp::Binary(_)) => lane_rr::<false>,
        (Shape::RegReg, _) => lane_rr::<true>,
        (Shape::RegMem, LaneOp::Binary(_)) => lane_rm::<R, false>,
        (Shape::RegMem, _) => lane_rm::<R, true>,
        _ => return None,
    };
    op.imm = side.lanes.len() as i64;
    side.lanes.push(lane);
    Some(op)
}

fn translate_integer<R: Recording>(insn: &Instruction, entry: u64) -> Option<Op> {
    use Mnemonic as M;
    let mut op = empty(nop);
    let back = insn.next_ip().wrapping_sub(entry) as i64;
    match insn.mnemonic() {
        M::Nop | M::Endbr64 => return Some(op),
        M::Jmp if insn.op0_kind() == OpKind::NearBranch64 => {
            op.handler = jmp;
            return Some(op);
        }
        M::Jmp | M::Call => return translate_branch::<R>(insn, entry, back),
        M::Ret if insn.code() == Code::Retnq => {
            op.handler = ret::<R>;
            return Some(op);
        }
        M::Leave if insn.code() == Code::Leaveq => {
            op.handler = leave::<R>;
            return Some(op);
        }
        M::Push => {
            match insn.code() {
                Code::Push_r64 => {
                    op.dst = gpr_number(insn.op0_register());
                    op.handler = push_r::<R>;
                }
                Code::Pushq_imm8 | Code::Pushq_imm32 => {
                    op.imm = insn.immediate(0) as i64;
                    op.handler = push_i::<R>;
                }
                _ => return None,
            }
            return Some(op);
        }
        M::Pop if insn.code() == Code::Pop_r64 => {
            op.dst = gpr_number(insn.op0_register());
            op.handler = pop_r::<R>;
            return Some(op);
        }
        M::Cdqe => return Some(empty(extend_accumulator::<u32, u64>)),
        M::Cwde => return Some(empty(extend_accumulator::<u16, u32>)),
        M::Cdq => return Some(empty(sign_to_rdx::<u32>)),
        M::Cqo => return Some(empty(sign_to_rdx::<u64>)),
        _ => {}
    }
    if insn.is_jcc_short_or_near() {
        op.handler = by_condition!(condition_number(insn), CC => jcc::<CC>);
        return Some(op);
    }
    let op0_simple = insn.op0_kind() == OpKind::Register && is_simple_gpr(insn.op0_register());
    if op0_simple {
        op.dst = gpr_number(insn.op0_register());
    }
    let size0 = insn.op0_register().size() as u32;
    match insn.mnemonic() {
        M::Mov => {
            let (shape, size) = shape(insn)?;
            if !set_operands(&mut op, insn, shape, entry) {
                return None;
            }
            op.handler = match shape {
                Shape::RegReg => by_width!(size, T => mov_rr::<T>),
                Shape::RegImm => by_width!(size, T => mov_ri::<T>),
                Shape::RegMem => by_width!(size, T => mov_rm::<T, R>),
                Shape::MemReg => by_width!(size, T => mov_mr::<T, R>),
                Shape::MemImm => by_width!(size, T => mov_mi::<T, R>),
            };
        }
        M::Add | M::Sub | M::Cmp | M::And | M::Test | M::Or | M::Xor | M::Adc | M::Sbb => {
            let (shape, size) = shape(insn)?;
            if !set_operands(&mut op, insn, shape, entry) {
                return None;
            }
            op.handler = match insn.mnemonic() {
                M::Add => alu_handler::<Add, R>(shape, size),
                M::Sub => alu_handler::<Sub, R>(shape, size),
                M::Cmp => alu_handler::<Cmp, R>(shape, size),
                M::And => alu_handler::<And, R>(shape, size),
                M::Test => alu_handler::<Test, R>(shape, size),
                M::Or => alu_handler::<Or, R>(shape, size),
                M::Xor => alu_handler::<Xor, R>(shape, size),
                M::Adc => alu_handler::<Adc, R>(shape, size),
                _ => alu_handler::<Sbb, R>(shape, size),
            };
        }
        M::Movzx | M::Movsx | M::Movsxd if op0_simple => {
            let memory = insn.op1_kind() == OpKind::Memory;
            let from = if memory {
                if !set_address(&mut op, insn, entry) {
                    return None;
                }
                insn.memory_size().size()
            } else {
                if !is_simple_gpr(insn.op1_register()) {
                    return None;
                }
                op.base = gpr_number(insn.op1_register());
                insn.op1_register().size()
            };
            let signed = insn.mnemonic() != M::Movzx;
            op.handler = match (from, size0, signed, memory) {
                (1, 4, false, false) => movx_rr::<u8, u32, false>,
                (1, 8, false, false) => movx_rr::<u8, u64, false>,
                (2, 4, false, false) => movx_rr::<u16, u32, false>,
                (2, 8, false, false) => movx_rr::<u16, u64, false>,
                (1, 4, true, false) => movx_rr::<u8, u32, true>,
                (1, 8, true, false) => movx_rr::<u8, u64, true>,
                (2, 4, true, false) => movx_rr::<u16, u32, true>,
                (2, 8, true, false) => movx_rr::<u16, u64, true>,
                (4, 8, true, false) => movx_rr::<u32, u64, true>,
                (1, 4, false, true) => movx_rm::<u8, u32, R, false>,
                (1, 8, false, true) => movx_rm::<u8, u64, R, false>,
                (2, 4, false, true) => movx_rm::<u16, u32, R, false>,
                (2, 8, false, true) => movx_rm::<u16, u64, R, false>,
                (1, 4, true, true) => movx_rm::<u8, u32, R, true>,
                (1, 8, true, true) => movx_rm::<u8, u64, R, true>,
                (2, 4, true, true) => movx_rm::<u16, u32, R, true>,
                (2, 8, true, true) => movx_rm::<u16, u64, R, true>,
                (4, 8, true, true) => movx_rm::<u32, u64, R, true>,
                _ => return None,
            };
        }
        M::Lea if op0_simple && insn.segment_prefix() == Register::None => {
            if !set_address(&mut op, insn, entry) {
                return None;
            }
            op.handler = by_wide!(size0, T => lea::<T>);
        }
        M::Xchg
            if op0_simple
                && insn.op1_kind() == OpKind::Register
                && is_simple_gpr(insn.op1_register()) =>
        {
            op.base = gpr_number(insn.op1_register());
            op.handler = by_width!(size0, T => xchg_rr::<T>);
        }
        M::Bswap if op0_simple => op.handler = by_wide!(size0, T => bswap::<T>),
        M::Inc if op0_simple => op.handler = by_width!(size0, T => step_r::<T, true>),
        M::Dec if op0_simple => op.handler = by_width!(size0, T => step_r::<T, false>),
        M::Inc | M::Dec if insn.op0_kind() == OpKind::Memory => {
            if !set_address(&mut op, insn, entry) {
                return None;
            }
            let size = insn.memory_size().size();
            op.handler = if insn.mnemonic() == M::Inc {
                by_width!(size, T => step_m::<T, R, true>)
            } else {
                by_width!(size, T => step_m::<T, R, false>)
            };
        }
        M::Neg if op0_simple => op.handler = by_width!(size0, T => neg_r::<T>),
        M::Not if op0_simple => op.handler = by_width!(size0, T => not_r::<T>),
        M::Shl | M::Shr | M::Sar | M::Rol | M::Ror if op0_simple => {
            let by_cl = insn.op1_kind() == OpKind::Register;
            if !by_cl {
                op.imm = (insn.immediate(1) & if size0 == 8 { 63 } else { 31 }) as i64;
                if op.imm == 0 {
                    op.base = op.dst;
                    op.handler = by_width!(size0, T => mov_rr::<T>);
                    return Some(op);
                }
            }
            op.handler = match (insn.mnemonic(), by_cl) {
                (M::Shl, false) => by_width!(size0, T => shift_ri::<T, SHL>),
                (M::Shr, false) => by_width!(size0, T => shift_ri::<T, SHR>),
                (M::Sar, false) => by_width!(size0, T => shift_ri::<T, SAR>),
                (M::Rol, false) => by_width!(size0, T => shift_ri::<T, ROL>),
                (_, false) => by_width!(size0, T => shift_ri::<T, ROR>),
                (M::Shl, true) => by_width!(size0, T => shift_rcl::<T, SHL>),
                (M::Shr, true) => by_width!(size0, T => shift_rcl::<T, SHR>),
                (M::Sar, true) => by_width!(size0, T => shift_rcl::<T, SAR>),
                (M::Rol, true) => by_width!(size0, T => shift_rcl::<T, ROL>),
                (_, true) => by_width!(size0, T => shift_rcl::<T, ROR>),
            };
        }
        M::Imul if op0_simple && insn.op_count() >= 2 => {
            let memory = insn.op1_kind() == OpKind::Memory;
            if memory {
                if !set_address(&mut op, insn, entry) {
                    return None;
                }
            } else {
                op.base = gpr_number(insn.op1_register());
            }
            if insn.op_count() == 3 {
                op.imm = insn.immediate(2) as i64;
                op.handler = if memory {
                    by_wide!(size0, T => imul_rmi::<T, R>)
                } else {
                    by_wide!(size0, T => imul_rri::<T>)
                };
            } else {
                op.handler = if memory {
                    by_wide!(size0, T => imul_rm::<T, R>)
                } else {
                    by_wide!(size0, T => imul_rr::<T>)
                };
            }
        }
        M::Mul if op0_simple => op.handler = by_wide!(size0, T => mul_r::<T>),
        M::Div if op0_simple && size0 == 4 => op.handler = div32_r,
        M::Div if op0_simple && size0 == 8 => op.handler = div64_r,
        M::Idiv if op0_simple && size0 == 4 => op.handler = idiv32_r,
        _ if insn.condition_code() != iced_x86::ConditionCode::None && op0_simple => {
            let cc = condition_number(insn);
            if insn.op_count() == 1 {
                op.handler = by_condition!(cc, CC => setcc_r::<CC>);
            } else if insn.op1_kind() == OpKind::Register {
                op.base = gpr_number(insn.op1_register());
                op.handler = match size0 {
                    4 => by_condition!(cc, CC => cmovcc_rr::<u32, CC>),
                    8 => by_condition!(cc, CC => cmovcc_rr::<u64, CC>),
                    _ => return None,
                };
            } else {
                if !set_address(&mut op, insn, entry) {
                    return None;
                }
                op.handler = match size0 {
                    4 => by_condition!(cc, CC => cmovcc_rm::<u32, R, CC>),
                    8 => by_condition!(cc, CC => cmovcc_rm::<u64, R, CC>),
                    _ => return None,
                };
            }
        }
        _ => return None,
    }
    Some(op)
}

fn translate_branch<R: Recording>(insn: &Instruction, entry: u64, back: i64) -> Option<Op> {
    let mut op = empty(nop);
    let is_call = insn.mnemonic() == Mnemonic::Call;
    if is_call {
        op.imm = back;
    }
    match insn.op0_kind() {
        OpKind::NearBranch64 if is_call => op.handler = call::<R>,
        OpKind::Register if insn.op0_register().is_gpr64() => {
            op.dst = gpr_number(insn.op0_register());
            op.handler = if is_call { call_r::<R> } else { jmp_r };
        }
        OpKind::Memory if insn.memory_size().size() == 8 => {
            if !set_address(&mut op, insn, entry) {
                return None;
            }
            op.handler = if is_call { call_m::<R> } else { jmp_m::<R> };
        }
        _ => return None,
    }
    Some(op)
}

/// The shape of a vector instruction: destination and source registers, or the address.
fn vector_shape(op: &mut Op, insn: &Instruction, entry: u64) -> Option<Shape> {
    let is_vector = |r: Register| r.is_xmm();
    match (insn.op0_kind(), insn.op1_kind()) {
        (OpKind::Register, OpKind::Register)
            if is_vector(insn.op0_register()) && is_vector(insn.op1_register()) =>
        {
            op.dst = vec_number(insn.op0_register());
            op.base = vec_number(insn.op1_register());
            Some(Shape::RegReg)
        }
        (OpKind::Register, OpKind::Memory) if is_vector(insn.op0_register()) => {
            op.dst = vec_number(insn.op0_register());
            set_address(op, insn, entry).then_some(Shape::RegMem)
        }
        (OpKind::Memory, OpKind::Register) if is_vector(insn.op1_register()) => {
            op.dst = vec_number(insn.op1_register());
            set_address(op, insn, entry).then_some(Shape::MemReg)
        }
        _ => None,
    }
}

fn translate_vector<R: Recording>(
    insn: &Instruction,
    entry: u64,
    slot: usize,
) -> Option<(Op, bool)> {
    use Code as C;
    let mut op = empty(nop);
    let plain = |op: Op| Some((op, false));
    macro_rules! vector {
        ($O:ty) => {{
            op.handler = match vector_shape(&mut op, insn, entry)? {
                Shape::RegReg => vec_rr::<$O>,
                _ => vec_rm::<$O, R>,
            };
            return plain(op);
        }};
    }
    macro_rules! arithmetic {
        ($rr:expr, $rm:expr) => {{
            op.handler = match vector_shape(&mut op, insn, entry)? {
                Shape::RegReg => $rr,
                _ => $rm,
            };
            op.imm = slot as i64;
            return Some((op, true));
        }};
    }
    macro_rules! convert {
        ($handler:expr) => {{
            if insn.op0_kind() != OpKind::Register || insn.op1_kind() != OpKind::Register {
                return None;
            }
            op.dst = if insn.op0_register().is_gpr() {
                gpr_number(insn.op0_register())
            } else {
                vec_number(insn.op0_register())
            };
            op.base = if insn.op1_register().is_gpr() {
                gpr_number(insn.op1_register())
            } else {
                vec_number(insn.op1_register())
            };
            op.handler = $handler;
            op.imm = slot as i64;
            return Some((op, true));
        }};
    }
    match insn.code() {
        C::Movaps_xmm_xmmm128
        | C::Movapd_xmm_xmmm128
        | C::Movdqa_xmm_xmmm128
        | C::Movaps_xmmm128_xmm
        | C::Movapd_xmmm128_xmm
        | C::Movdqa_xmmm128_xmm => {
            op.handler = match vector_shape(&mut op, insn, entry)? {
                Shape::RegReg => vmov_rr,
                Shape::RegMem => vmov_rm::<R, true>,
                _ => vmov_mr::<R, true>,
            };
            plain(op)
        }
        C::Movups_xmm_xmmm128
        | C::Movupd_xmm_xmmm128
        | C::Movdqu_xmm_xmmm128
        | C::Movups_xmmm128_xmm
        | C::Movupd_xmmm128_xmm
        | C::Movdqu_xmmm128_xmm => {
            op.handler = match vector_shape(&mut op, insn, entry)? {
                Shape::RegReg => vmov_rr,
                Shape::RegMem => vmov_rm::<R, false>,
                _ => vmov_mr::<R, false>,
            };
            plain(op)
        }
        C::Movss_xmm_xmmm32 | C::Movss_xmmm32_xmm => {
            op.handler = match vector_shape(&mut op, insn, entry)? {
                Shape::RegReg => vmov_low_rr::<u32>,
                Shape::RegMem => vload_low::<u32, R>,
                _ => vstore_low::<u32, R>,
            };
            plain(op)
        }
        C::Movsd_xmm_xmmm64 | C::Movsd_xmmm64_xmm => {
            op.handler = match vector_shape(&mut op, insn, entry)? {
                Shape::RegReg => vmov_low_rr::<u64>,
                Shape::RegMem => vload_low::<u64, R>,
                _ => vstore_low::<u64, R>,
            };
            plain(op)
        }
        C::Movq_xmm_xmmm64 | C::Movq_xmmm64_xmm => {
            op.handler = match vector_shape(&mut op, insn, entry)? {
                Shape::RegReg => vmovq_rr,
                Shape::RegMem => vload_low::<u64, R>,
                _ => vstore_low::<u64, R>,
            };
            plain(op)
        }
        C::Movd_xmm_rm32 | C::Movq_xmm_rm64 => {
            let wide = insn.code() == C::Movq_xmm_rm64;
            op.dst = vec_number(insn.op0_register());
            if insn.op1_kind() == OpKind::Register {
                op.base = gpr_number(insn.op1_register());
                op.handler = if wide {
                    vmov_gpr_to_xmm::<u64>
                } else {
                    vmov_gpr_to_xmm::<u32>
                };
            } else {
                if !set_address(&mut op, insn, entry) {
                    return None;
                }
                op.handler = if wide {
                    vload_low::<u64, R>
                } else {
                    vload_low::<u32, R>
                };
            }
            plain(op)
        }
        C::Movd_rm32_xmm | C::Movq_rm64_xmm => {
            let wide = insn.code() == C::Movq_rm64_xmm;
            if insn.op0_kind() == OpKind::Register {
                op.dst = gpr_number(insn.op0_register());
                op.base = vec_number(insn.op1_register());
                op.handler = if wide {
                    vmov_xmm_to_gpr::<u64>
                } else {
                    vmov_xmm_to_gpr::<u32>
                };
            } else {
                op.dst = vec_number(insn.op1_register());
                if !set_address(&mut op, insn, entry) {
                    return None;
                }
                op.handler = if wide {
                    vstore_low::<u64, R>
                } else {
                    vstore_low::<u32, R>
                };
            }
            plain(op)
        }
        C::Pxor_xmm_xmmm128 | C::Xorps_xmm_xmmm128 | C::Xorpd_xmm_xmmm128 => vector!(VXor),
        C::Pand_xmm_xmmm128 | C::Andps_xmm_xmmm128 | C::Andpd_xmm_xmmm128 => vector!(VAnd),
        C::Por_xmm_xmmm128 | C::Orps_xmm_xmmm128 | C::Orpd_xmm_xmmm128 => vector!(VOr),
        C::Pandn_xmm_xmmm128 | C::Andnps_xmm_xmmm128 | C::Andnpd_xmm_xmmm128 => vector!(VAndNot),
        C::Punpcklqdq_xmm_xmmm128 | C::Unpcklpd_xmm_xmmm128 => vector!(VUnpackLowQ),
        C::Punpckhqdq_xmm_xmmm128 | C::Unpckhpd_xmm_xmmm128 => vector!(VUnpackHighQ),
        C::Addsd_xmm_xmmm64 => arithmetic!(fp_rr::<f64, FADD>, fp_rm::<f64, R, FADD>),
        C::Subsd_xmm_xmmm64 => arithmetic!(fp_rr::<f64, FSUB>, fp_rm::<f64, R, FSUB>),
        C::Mulsd_xmm_xmmm64 => arithmetic!(fp_rr::<f64, FMUL>, fp_rm::<f64, R, FMUL>),
        C::Divsd_xmm_xmmm64 => arithmetic!(fp_rr::<f64, FDIV>, fp_rm::<f64, R, FDIV>),
        C::Addss_xmm_xmmm32 => arithmetic!(fp_rr::<f32, FADD>, fp_rm::<f32, R, FADD>),
        C::Subss_xmm_xmmm32 => arithmetic!(fp_rr::<f32, FSUB>, fp_rm::<f32, R, FSUB>),
        C::Mulss_xmm_xmmm32 => arithmetic!(fp_rr::<f32, FMUL>, fp_rm::<f32, R, FMUL>),
        C::Divss_xmm_xmmm32 => arithmetic!(fp_rr::<f32, FDIV>, fp_rm::<f32, R, FDIV>),
        C::Addpd_xmm_xmmm128 => arithmetic!(fpack_rr::<true, FADD>, fpack_rm::<R, true, FADD>),
        C::Subpd_xmm_xmmm128 => arithmetic!(fpack_rr::<true, FSUB>, fpack_rm::<R, true, FSUB>),
        C::Mulpd_xmm_xmmm128 => arithmetic!(fpack_rr::<true, FMUL>, fpack_rm::<R, true, FMUL>),
        C::Divpd_xmm_xmmm128 => arithmetic!(fpack_rr::<true, FDIV>, fpack_rm::<R, true, FDIV>),
        C::Addps_xmm_xmmm128 => arithmetic!(fpack_rr::<false, FADD>, fpack_rm::<R, false, FADD>),
        C::Subps_xmm_xmmm128 => arithmetic!(fpack_rr::<false, FSUB>, fpack_rm::<R, false, FSUB>),
        C::Mulps_xmm_xmmm128 => arithmetic!(fpack_rr::<false, FMUL>, fpack_rm::<R, false, FMUL>),
        C::Divps_xmm_xmmm128 => arithmetic!(fpack_rr::<false, FDIV>, fpack_rm::<R, false, FDIV>),
        C::Comisd_xmm_xmmm64 | C::Ucomisd_xmm_xmmm64 => {
            arithmetic!(fcomi_rr::<f64>, fcomi_rm::<f64, R>)
        }
        C::Comiss_xmm_xmmm32 | C::Ucomiss_xmm_xmmm32 => {
            arithmetic!(fcomi_rr::<f32>, fcomi_rm::<f32, R>)
        }
        C::Sqrtsd_xmm_xmmm64 => convert!(fsqrt_rr::<f64>),
        C::Sqrtss_xmm_xmmm32 => convert!(fsqrt_rr::<f32>),
        C::Cvtsi2sd_xmm_rm32 => convert!(cvt_int_to_float::<u32, f64>),
        C::Cvtsi2sd_xmm_rm64 => convert!(cvt_int_to_float::<u64, f64>),
        C::Cvtsi2ss_xmm_rm32 => convert!(cvt_int_to_float::<u32, f32>),
        C::Cvtsi2ss_xmm_rm64 => convert!(cvt_int_to_float::<u64, f32>),
        C::Cvttsd2si_r32_xmmm64 => convert!(cvtt_float_to_int::<f64, u32>),
        C::Cvttsd2si_r64_xmmm64 => convert!(cvtt_float_to_int::<f64, u64>),
        C::Cvttss2si_r32_xmmm32 => convert!(cvtt_float_to_int::<f32, u32>),
        C::Cvttss2si_r64_xmmm32 => convert!(cvtt_float_to_int::<f32, u64>),
        C::Cvtss2sd_xmm_xmmm32 => convert!(cvt_single_to_double),
        C::Cvtsd2ss_xmm_xmmm64 => convert!(cvt_double_to_single),
        _ => None,
    }
}
