//! The x87 unit: 80-bit arithmetic on a stack of eight registers, in integers only.
//!
//! Where the manuals leave a choice, this does what AMD's Zen 4 does (condition codes that are "undefined", the steps of
//! FPREM, FLD of a denormal). The last instruction and data addresses are kept without their selectors and opcode.
//! XSAVE and its relatives stand in [`xsave`](super::xsave).
use super::{Answer, address, write_register};
use crate::sim::isa::op::{Context, Flow};
use crate::sim::isa::softfloat::{Env, F32, F64, Format as _, Rounding, extended};
use crate::sim::isa::state::{F80, X87};
use crate::sim::memory::Fault;
use arithmetic::{Operation, Source};
use environment::Form;
use iced_x86::{Code, Instruction, OpKind, Register};
use transcendental::{Function, Trigonometric};
use transfer::Format;

mod arithmetic;
pub(super) mod environment;
mod stack;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
mod transcendental;
mod transfer;
mod wide;

/// Runs the instruction if it belongs to this family.
pub fn execute(cx: &mut Context, insn: &Instruction) -> Answer {
    let code = insn.code();
    if !belongs_here(code) {
        return None;
    }
    let done = control(cx, insn, code).unwrap_or_else(|| waiting(cx, insn, code));
    Some(done.map(|()| Flow::Next))
}

fn belongs_here(code: Code) -> bool {
    match code {
        Code::Wait
        | Code::Emms
        | Code::Fxsave_m512byte
        | Code::Fxsave64_m512byte
        | Code::Fxrstor_m512byte
        | Code::Fxrstor64_m512byte => true,
        // Instructions that only processors of the past know, and names for two instructions in one.
        Code::Fstdw_AX
        | Code::Fstsg_AX
        | Code::Frstpm
        | Code::Feni
        | Code::Fdisi
        | Code::Fsetpm
        | Code::Fclex
        | Code::Finit
        | Code::Fstcw_m2byte
        | Code::Fstenv_m14byte
        | Code::Fstenv_m28byte
        | Code::Fsave_m94byte
        | Code::Fsave_m108byte
        | Code::Fstsw_m2byte
        | Code::Fstsw_AX => false,
        _ => (Code::Fadd_m32fp as u32..=Code::Fcomip_st0_sti as u32).contains(&(code as u32)),
    }
}

/// The instructions that do not look at pending exceptions, nor become the "last instruction".
fn control(cx: &mut Context, insn: &Instruction, code: Code) -> Option<Result<(), Fault>> {
    let at = address(cx, insn);
    let x = &mut cx.cpu.x87;
    Some(match code {
        Code::Fninit => {
            x.initialise();
            Ok(())
        }
        Code::Fnclex => {
            x.clear_exceptions();
            Ok(())
        }
        // Without effect since the 80387.
        Code::Fneni | Code::Fndisi | Code::Fnsetpm => Ok(()),
        Code::Fnstcw_m2byte => cx.mem.write(at, x.control),
        Code::Fnstsw_m2byte => cx.mem.write(at, x.status_word()),
        Code::Fnstsw_AX => {
            let value = x.status_word();
            write_register(cx, Register::AX, 2, value.into());
            Ok(())
        }
        Code::Fnstenv_m14byte => environment::store_environment(cx, at, Form::Short),
        Code::Fnstenv_m28byte => environment::store_environment(cx, at, Form::Long),
        Code::Fnsave_m94byte => environment::save(cx, at, Form::Short),
        Code::Fnsave_m108byte => environment::save(cx, at, Form::Long),
        Code::Fxsave_m512byte => environment::fxsave(cx, at, false),
        Code::Fxsave64_m512byte => environment::fxsave(cx, at, true),
        Code::Fxrstor_m512byte => environment::fxrstor(cx, at, false),
        Code::Fxrstor64_m512byte => environment::fxrstor(cx, at, true),
        _ => return None,
    })
}

/// The instructions that an earlier exception may stop.
fn waiting(cx: &mut Context, insn: &Instruction, code: Code) -> Result<(), Fault> {
    cx.cpu.x87.wait()?;
    let at = address(cx, insn);
    // Control instructions leave the last-instruction pointers alone.
    match code {
        Code::Wait => return Ok(()),
        Code::Emms => {
            cx.cpu.x87.valid = 0;
            cx.cpu.x87.top = 0;
            return Ok(());
        }
        Code::Fldcw_m2byte => {
            let value = cx.mem.read(at)?;
            cx.cpu.x87.set_control(value);
            return Ok(());
        }
        Code::Fldenv_m14byte => return environment::load_environment(cx, at, Form::Short),
        Code::Fldenv_m28byte => return environment::load_environment(cx, at, Form::Long),
        Code::Frstor_m94byte => return environment::restore(cx, at, Form::Short),
        Code::Frstor_m108byte => return environment::restore(cx, at, Form::Long),
        _ => {}
    }
    if let Some((format, pop)) = store_form(code) {
        transfer::store(cx, at, format, pop)?;
    } else if let Some(source) = memory_source(cx, code, at)? {
        with_memory(&mut cx.cpu.x87, code, source);
    } else if !load(cx, code, at)? {
        on_registers(cx, insn, code)?;
    }
    let x = &mut cx.cpu.x87;
    x.last_instruction = insn.ip();
    if insn.op_count() > 0 && (0..insn.op_count()).any(|i| insn.op_kind(i) == OpKind::Memory) {
        x.last_data = at;
    }
    Ok(())
}

/// Stores to memory: the format and whether they pop.
fn store_form(code: Code) -> Option<(Format, bool)> {
    const ROUND: bool = false;
    const TRUNCATE: bool = true;
    let i16 = |truncate| Format::I16 { truncate };
    let i32 = |truncate| Format::I32 { truncate };
    let i64 = |truncate| Format::I64 { truncate };
    Some(match code {
        Code::Fst_m32fp => (Format::F32, false),
        Code::Fstp_m32fp => (Format::F32, true),
        Code::Fst_m64fp => (Format::F64, false),
        Code::Fstp_m64fp => (Format::F64, true),
        Code::Fstp_m80fp => (Format::F80, true),
        Code::Fist_m16int => (i16(ROUND), false),
        Code::Fistp_m16int => (i16(ROUND), true),
        Code::Fisttp_m16int => (i16(TRUNCATE), true),
        Code::Fist_m32int => (i32(ROUND), false),
        Code::Fistp_m32int => (i32(ROUND), true),
        Code::Fisttp_m32int => (i32(TRUNCATE), true),
        Code::Fistp_m64int => (i64(ROUND), true),
        Code::Fisttp_m64int => (i64(TRUNCATE), true),
        Code::Fbstp_m80bcd => (Format::Decimal, true),
        _ => return None,
    })
}

/// Loads to the stack. `false` if the instruction is not one.
fn load(cx: &mut Context, code: Code, at: u64) -> Result<bool, Fault> {
    let mut env = Env::from_x87_control(cx.cpu.x87.control);
    let value = match code {
        Code::Fld_m32fp => extended::f80_from_f32(cx.mem.read(at)?, &mut env),
        Code::Fld_m64fp => extended::f80_from_f64(cx.mem.read(at)?, &mut env),
        Code::Fld_m80fp => environment::read_f80(&mut cx.mem, at)?,
        Code::Fild_m16int => integer(cx.mem.read::<u16>(at)? as i16),
        Code::Fild_m32int => integer(cx.mem.read::<u32>(at)? as i32),
        Code::Fild_m64int => integer(cx.mem.read::<u64>(at)? as i64),
        Code::Fbld_m80bcd => transfer::from_decimal(environment::read_f80(&mut cx.mem, at)?),
        _ => return Ok(false),
    };
    cx.cpu.x87.load(value, env.flags.into());
    Ok(true)
}

fn integer(value: impl Into<i64>) -> F80 {
    extended::f80_from_i64(value.into(), &mut Env::default())
}

/// The memory operand of a sum or comparison.
fn memory_source(cx: &mut Context, code: Code, at: u64) -> Result<Option<Source>, Fault> {
    Ok(Some(match code {
        Code::Fadd_m32fp
        | Code::Fmul_m32fp
        | Code::Fcom_m32fp
        | Code::Fcomp_m32fp
        | Code::Fsub_m32fp
        | Code::Fsubr_m32fp
        | Code::Fdiv_m32fp
        | Code::Fdivr_m32fp => Source::Memory(F32(cx.mem.read(at)?).unpack()),
        Code::Fadd_m64fp
        | Code::Fmul_m64fp
        | Code::Fcom_m64fp
        | Code::Fcomp_m64fp
        | Code::Fsub_m64fp
        | Code::Fsubr_m64fp
        | Code::Fdiv_m64fp
        | Code::Fdivr_m64fp => Source::Memory(F64(cx.mem.read(at)?).unpack()),
        Code::Fiadd_m32int
        | Code::Fimul_m32int
        | Code::Ficom_m32int
        | Code::Ficomp_m32int
        | Code::Fisub_m32int
        | Code::Fisubr_m32int
        | Code::Fidiv_m32int
        | Code::Fidivr_m32int => Source::integer((cx.mem.read::<u32>(at)? as i32).into()),
        Code::Fiadd_m16int
        | Code::Fimul_m16int
        | Code::Ficom_m16int
        | Code::Ficomp_m16int
        | Code::Fisub_m16int
        | Code::Fisubr_m16int
        | Code::Fidiv_m16int
        | Code::Fidivr_m16int => Source::integer((cx.mem.read::<u16>(at)? as i16).into()),
        _ => return Ok(None),
    }))
}

/// ST(0) with a memory operand.
fn with_memory(x: &mut X87, code: Code, source: Source) {
    let operation = match code {
        Code::Fadd_m32fp | Code::Fadd_m64fp | Code::Fiadd_m32int | Code::Fiadd_m16int => {
            Operation::Add
        }
        Code::Fmul_m32fp | Code::Fmul_m64fp | Code::Fimul_m32int | Code::Fimul_m16int => {
            Operation::Multiply
        }
        Code::Fsub_m32fp | Code::Fsub_m64fp | Code::Fisub_m32int | Code::Fisub_m16int => {
            Operation::Subtract
        }
        Code::Fsubr_m32fp | Code::Fsubr_m64fp | Code::Fisubr_m32int | Code::Fisubr_m16int => {
            Operation::SubtractReverse
        }
        Code::Fdiv_m32fp | Code::Fdiv_m64fp | Code::Fidiv_m32int | Code::Fidiv_m16int => {
            Operation::Divide
        }
        Code::Fdivr_m32fp | Code::Fdivr_m64fp | Code::Fidivr_m32int | Code::Fidivr_m16int => {
            Operation::DivideReverse
        }
        Code::Fcomp_m32fp | Code::Fcomp_m64fp | Code::Ficomp_m32int | Code::Ficomp_m16int => {
            return arithmetic::compare(x, source, true, 1);
        }
        _ => return arithmetic::compare(x, source, true, 0),
    };
    arithmetic::binary(x, operation, 0, source, false);
}

/// The number of a stack register operand; 0 if there is none.
fn stack_operand(insn: &Instruction, operand: u32) -> u8 {
    if operand < insn.op_count() && insn.op_kind(operand) == OpKind::Register {
        insn.op_register(operand).number() as u8
    } else {
        0
    }
}

/// The forms without a memory operand.
fn on_registers(cx: &mut Context, insn: &Instruction, code: Code) -> Result<(), Fault> {
    let (first, second) = (stack_operand(insn, 0), stack_operand(insn, 1));
    let source = Source::Stack(second);
    if let Some((operation, pop)) = register_operation(code) {
        // `fadd st0, sti` and `fadd sti, st0`: iced names the destination first.
        arithmetic::binary(&mut cx.cpu.x87, operation, first, source, pop);
        return Ok(());
    }
    if let Some(condition) = move_condition(code) {
        let holds = cx.cpu.flags.condition(condition);
        arithmetic::conditional_move(&mut cx.cpu.x87, second, holds);
        return Ok(());
    }
    let x = &mut cx.cpu.x87;
    match code {
        Code::Fld_sti => transfer::load_register(x, first),
        Code::Fst_sti => transfer::store_register(x, first, false),
        Code::Fstp_sti | Code::Fstp_sti_DFD0 | Code::Fstp_sti_DFD8 => {
            transfer::store_register(x, first, true);
        }
        // The form without stack faults: an empty register is not stored, only popped.
        Code::Fstpnce_sti if x.empty(0) => {
            x.raise(0, false);
            x.pop();
        }
        Code::Fstpnce_sti => transfer::store_register(x, first, true),
        Code::Fxch_st0_sti | Code::Fxch_st0_sti_DDC8 | Code::Fxch_st0_sti_DFC8 => {
            arithmetic::exchange(x, second);
        }
        Code::Fnop => {}
        Code::Fchs => arithmetic::sign(x, |s| s ^ 0x8000),
        Code::Fabs => arithmetic::sign(x, |s| s & 0x7fff),
        Code::Ftst => arithmetic::test(x),
        Code::Fxam => arithmetic::examine(x),
        Code::Fld1 | Code::Fldz => {
            x.load(
                if code == Code::Fld1 {
                    stack::ONE
                } else {
                    stack::zero(false)
                },
                0,
            );
        }
        Code::Fldl2t | Code::Fldl2e | Code::Fldpi | Code::Fldlg2 | Code::Fldln2 => {
            let value = constant(code, Env::from_x87_control(x.control).rounding);
            x.load(value, 0);
        }
        Code::Fcom_st0_sti | Code::Fcom_st0_sti_DCD0 => arithmetic::compare(x, source, true, 0),
        Code::Fcomp_st0_sti | Code::Fcomp_st0_sti_DCD8 | Code::Fcomp_st0_sti_DED0 => {
            arithmetic::compare(x, source, true, 1);
        }
        Code::Fcompp => arithmetic::compare(x, Source::Stack(1), true, 2),
        Code::Fucom_st0_sti => arithmetic::compare(x, source, false, 0),
        Code::Fucomp_st0_sti => arithmetic::compare(x, source, false, 1),
        Code::Fucompp => arithmetic::compare(x, Source::Stack(1), false, 2),
        Code::Fcomi_st0_sti | Code::Fcomip_st0_sti => {
            let pops = u8::from(code == Code::Fcomip_st0_sti);
            arithmetic::compare_flags(x, &mut cx.cpu.flags, source, true, pops);
        }
        Code::Fucomi_st0_sti | Code::Fucomip_st0_sti => {
            let pops = u8::from(code == Code::Fucomip_st0_sti);
            arithmetic::compare_flags(x, &mut cx.cpu.flags, source, false, pops);
        }
        Code::Fsqrt => arithmetic::unary(x, extended::f80_sqrt),
        Code::Frndint => arithmetic::unary(x, extended::f80_round_to_int),
        Code::Fscale => arithmetic::scale(x),
        Code::Fprem => arithmetic::remainder(x, false),
        Code::Fprem1 => arithmetic::remainder(x, true),
        Code::Fxtract => arithmetic::extract(x),
        Code::F2xm1 => transcendental::exponential(x),
        Code::Fyl2x => transcendental::binary(x, Function::Logarithm),
        Code::Fyl2xp1 => transcendental::binary(x, Function::LogarithmOnePlus),
        Code::Fpatan => transcendental::binary(x, Function::Arctangent),
        Code::Fptan => transcendental::trigonometric(x, Trigonometric::Tangent),
        Code::Fsin => transcendental::trigonometric(x, Trigonometric::Sine),
        Code::Fcos => transcendental::trigonometric(x, Trigonometric::Cosine),
        Code::Fsincos => transcendental::trigonometric(x, Trigonometric::Both),
        Code::Fincstp | Code::Fdecstp => {
            x.raise(0, false);
            x.rotate(if code == Code::Fincstp { 1 } else { 7 });
        }
        Code::Ffree_sti | Code::Ffreep_sti => {
            x.raise(0, false);
            x.free(first);
            if code == Code::Ffreep_sti {
                x.pop();
            }
        }
        _ => return Err(Fault::Unsupported),
    }
    Ok(())
}

/// Sums between registers, and whether they pop.
fn register_operation(code: Code) -> Option<(Operation, bool)> {
    Some(match code {
        Code::Fadd_st0_sti | Code::Fadd_sti_st0 => (Operation::Add, false),
        Code::Faddp_sti_st0 => (Operation::Add, true),
        Code::Fmul_st0_sti | Code::Fmul_sti_st0 => (Operation::Multiply, false),
        Code::Fmulp_sti_st0 => (Operation::Multiply, true),
        Code::Fsub_st0_sti | Code::Fsub_sti_st0 => (Operation::Subtract, false),
        Code::Fsubp_sti_st0 => (Operation::Subtract, true),
        Code::Fsubr_st0_sti | Code::Fsubr_sti_st0 => (Operation::SubtractReverse, false),
        Code::Fsubrp_sti_st0 => (Operation::SubtractReverse, true),
        Code::Fdiv_st0_sti | Code::Fdiv_sti_st0 => (Operation::Divide, false),
        Code::Fdivp_sti_st0 => (Operation::Divide, true),
        Code::Fdivr_st0_sti | Code::Fdivr_sti_st0 => (Operation::DivideReverse, false),
        Code::Fdivrp_sti_st0 => (Operation::DivideReverse, true),
        _ => return None,
    })
}

/// The condition of FCMOVcc, as in the encoding of `jcc`.
fn move_condition(code: Code) -> Option<u8> {
    Some(match code {
        Code::Fcmovb_st0_sti => 2,
        Code::Fcmovnb_st0_sti => 3,
        Code::Fcmove_st0_sti => 4,
        Code::Fcmovne_st0_sti => 5,
        Code::Fcmovbe_st0_sti => 6,
        Code::Fcmovnbe_st0_sti => 7,
        Code::Fcmovu_st0_sti => 10,
        Code::Fcmovnu_st0_sti => 11,
        _ => return None,
    })
}

/// The irrational constants, rounded as RC says. They are positive, so rounding down is truncation.
fn constant(code: Code, rounding: Rounding) -> F80 {
    // Truncated, and whether the nearest is the one above.
    let (sign_exponent, significand, near_above) = match code {
        Code::Fldl2t => (0x4000, 0xd49a_784b_cd1b_8afe, false),
        Code::Fldl2e => (0x3fff, 0xb8aa_3b29_5c17_f0bb, true),
        Code::Fldpi => (0x4000, 0xc90f_daa2_2168_c234, true),
        Code::Fldlg2 => (0x3ffd, 0x9a20_9a84_fbcf_f798, true),
        _ => (0x3ffe, 0xb172_17f7_d1cf_79ab, true),
    };
    let above = match rounding {
        Rounding::NearestEven => near_above,
        Rounding::Up => true,
        Rounding::Down | Rounding::Zero => false,
    };
    F80 {
        sign_exponent,
        significand: significand + u64::from(above),
    }
}
