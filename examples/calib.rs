use std::sync::Arc;
use tickmark::sim::guest::{self, profile::Profile, world::World};
use tickmark::sim::isa::{decode::Features, run::Engine};
use tickmark::sim::machine::{Core, catalog};
use tickmark::sim::outcome::{Limits, Program};
use tickmark::sim::simulation::Simulation;
use tickmark::sim::uarch::atomic::Atomic;
fn main() {
    let dir = "/work/shared/gem5-captures/";
    let text = std::fs::read_to_string(format!("{dir}summary.jsonl")).unwrap();
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let (Some(n), Some(g), Some(p), Some(m)) = (row["instructions"].as_u64(), row["group"].as_str(), row["program"].as_str(), row["machine"].as_str()) else { continue };
        if m != "gem5-o3" { continue }
        let folder = if g == "micro" { "micro" } else { "programs" };
        let name = format!("{folder}/{p}");
        let bytes: Arc<[u8]> = std::fs::read(format!("{dir}{name}")).unwrap().into();
        let mut world = World::new();
        world.set_working_directory("/captures");
        world.add_file(&format!("/captures/{name}"), bytes, true);
        let stdin: Arc<[u8]> = if p == "stdin_sum" { std::fs::read(format!("{dir}programs/stdin_sum.in")).unwrap().into() } else { Arc::from([]) };
        let program = Program { path: name.clone(), arguments: vec![name.clone().into_bytes()], environment: vec![], stdin, world, device: None, seed: 0 };
        let Core::Atomic(core) = catalog::machine("atomic").unwrap().core else { panic!() };
        let limits = Limits::default();
        let guest = guest::load(&program, &limits, &Profile::gem5());
        let mut s = match Simulation::new(guest, Atomic::new(&core), Engine::new(Features::default()), limits) { Ok(s) => s, Err(e) => { println!("{name}: {e}"); continue } };
        let exit = s.run(&|| false);
        let o = s.outcome(exit);
        let d = o.counters.instructions as i64 - n as i64;
        if d != 0 { println!("{name:30} gem5 {n} ours {} diff {d} ({:.3}%) {:?} {:?}", o.counters.instructions, d as f64 * 100.0 / n as f64, o.exit, o.unanswered_system_calls); }
    }
}
