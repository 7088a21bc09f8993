use iced_x86::code_asm::{CodeAssembler, eax, ecx, edx, qword_ptr, rax, rcx, rdx, rsi};
use std::sync::Arc;
use tickmark::sim::isa::{
    decode::Features,
    op::Context,
    run::{Engine, Stop},
    state::Cpu,
};
use tickmark::sim::machine::{Core, catalog};
use tickmark::sim::memory::*;
use tickmark::sim::uarch::atomic::Atomic;
fn main() {
    const CODE: u64 = 0x10_0000;
    const DATA: u64 = 0x20_0000;
    let mut asm = CodeAssembler::new(64).unwrap();
    let mut top = asm.create_label();
    asm.xor(eax, eax).unwrap();
    asm.mov(ecx, 50_000_000).unwrap();
    asm.mov(rsi, DATA).unwrap();
    asm.set_label(&mut top).unwrap();
    asm.add(rax, rcx).unwrap();
    asm.mov(rdx, rax).unwrap();
    asm.shr(rdx, 3).unwrap();
    asm.xor(rax, rdx).unwrap();
    asm.mov(qword_ptr(rsi + 8), rax).unwrap();
    asm.add(rax, qword_ptr(rsi + 16)).unwrap();
    asm.lea(edx, iced_x86::code_asm::ptr(rax + rcx * 2 + 5))
        .unwrap();
    asm.sub(ecx, 1).unwrap();
    asm.jnz(top).unwrap();
    asm.int3().unwrap();
    let code = asm.assemble(CODE).unwrap();
    let mut mem = Memory::new(1 << 24);
    let all = Protection::READ_WRITE.union(Protection::EXECUTE);
    mem.map(CODE, 0x4000, all, Backing::Anonymous, Purpose::Anonymous);
    mem.map(
        DATA,
        0x4000,
        Protection::READ_WRITE,
        Backing::Anonymous,
        Purpose::Anonymous,
    );
    mem.copy_in(CODE, &code).unwrap();
    let mut cpu = Cpu::new(Arc::new([]));
    cpu.rip = CODE;
    let mut cx = Context::new(cpu, mem);
    let Core::Atomic(core) = catalog::machine("atomic").unwrap().core else {
        panic!()
    };
    let mut engine = Engine::new(Features::default());
    let mut timing = Atomic::new(&core);
    let t = std::time::Instant::now();
    while engine.run(&mut cx, &mut timing, u64::MAX) == Stop::Attention {}
    let s = t.elapsed().as_secs_f64();
    println!(
        "{} instr {:.3}s {:.1} MIPS",
        engine.retired,
        s,
        engine.retired as f64 / s / 1e6
    );
}
