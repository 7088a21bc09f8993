//! gem5's statistics as our counters; what cannot be true never becomes a number.
use super::names::names;
use super::stats::{Block, StatsError};
use crate::sim::outcome::Counters;

/// The most micro-ops that a cycle can retire on any machine here: more is a misread file.
const WIDEST: u64 = 64;
/// Shares of instructions, in thousandths, by which the two counts of them may differ beyond the system calls: gem5's
/// cores count those and faulting instructions in the one and not in the other.
const TOLERANCE_PER_MILLE: u64 = 10;

/// The counters of a block. `cycles`: the machine models time, so cycles are taken over.
///
/// # Errors
/// A statistic is missing, is no whole number, or cannot be: no instruction, the last tick there is, more than
/// `WIDEST` micro-ops a cycle, two counts of instructions that differ.
pub fn counters(block: &Block, cycles: bool) -> Result<Counters, StatsError> {
    let names = names();
    let core = core(block);
    let spelled = |what: &str| -> Vec<String> {
        let spellings = names.statistics.get(what).map_or(&[][..], Vec::as_slice);
        spellings
            .iter()
            .map(|name| name.replace("{core}", core))
            .collect()
    };
    let count = |what: &str| block.count(&spelled(what));
    let refuse = |what: &str, why: String| {
        let spellings = spelled(what);
        let (name, line, value) = match block.find(&spellings) {
            Some((name, entry)) => (name.to_owned(), entry.line, entry.text.clone()),
            None => (what.to_owned(), block.first_line, String::new()),
        };
        StatsError::Value {
            line,
            name,
            value,
            what: why,
        }
    };

    let ticks = count("ticks")?;
    let frequency = count("frequency")?;
    let instructions = count("instructions")?;
    let micro_ops = count("micro_ops")?;
    if ticks == u64::MAX {
        return Err(refuse(
            "ticks",
            "the simulation ran out of events and went to the end of time".to_owned(),
        ));
    }
    for (what, value) in [
        ("ticks", ticks),
        ("frequency", frequency),
        ("instructions", instructions),
        ("micro_ops", micro_ops),
    ] {
        if value == 0 {
            return Err(refuse(what, "a run that did something has some".to_owned()));
        }
    }
    if micro_ops < instructions {
        return Err(refuse(
            "micro_ops",
            format!("fewer than the {instructions} instructions"),
        ));
    }
    let of_core = count("core_instructions")?;
    let system_calls = count("system_calls").unwrap_or(0);
    let most = (instructions / 1000 * TOLERANCE_PER_MILLE + 100).saturating_add(system_calls);
    if of_core == 0 || of_core.abs_diff(instructions) > most {
        return Err(refuse(
            "core_instructions",
            format!("the whole simulation has {instructions} instructions"),
        ));
    }
    let cycles = if cycles {
        let cycles = count("cycles")?;
        if cycles == 0 || micro_ops / cycles > WIDEST {
            return Err(refuse(
                "cycles",
                format!("{micro_ops} micro-ops do not fit into them"),
            ));
        }
        Some(cycles)
    } else {
        None
    };
    let mut counters = Counters {
        instructions,
        micro_ops,
        cycles,
        simulated_time_ps: cycles.map(|_| picoseconds(ticks, frequency)),
        system_calls,
        ..Counters::default()
    };
    for (part, spellings) in &names.parts {
        // gem5 leaves out what is zero in some vectors, and has not every part on every machine.
        if let Some((_, _)) = block.find(spellings) {
            counters.parts.insert(part.clone(), block.count(spellings)?);
        }
    }
    Ok(counters)
}

/// Where the core stands in this block.
fn core(block: &Block) -> &'static str {
    let cycles = |core: &&String| block.entries.contains_key(&format!("{core}.numCycles"));
    names()
        .cores
        .iter()
        .find(cycles)
        .map_or("system.cpu", String::as_str)
}

fn picoseconds(ticks: u64, frequency: u64) -> u64 {
    let exact = u128::from(ticks) * 1_000_000_000_000 / u128::from(frequency);
    u64::try_from(exact).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::stats::{parse, parse_one};
    use super::*;

    fn text(lines: &str) -> String {
        format!(
            "\n---------- Begin Simulation Statistics ----------\n{lines}\
             \n---------- End Simulation Statistics   ----------\n"
        )
    }

    fn read(lines: &str) -> Result<Counters, StatsError> {
        counters(&parse_one(text(lines).as_bytes())?, true)
    }

    const NEW: &str = "simTicks 999 #\nfinalTick 999 #\nsimFreq 1000000000000 #\nsimInsts 100 #\nsimOps 200 #\n\
                       system.cpu.numCycles 30 #\nsystem.cpu.commitStats0.numInsts 101 #";

    #[test]
    fn names_of_every_age_are_understood() {
        let new = read(NEW).unwrap();
        assert_eq!(
            (new.instructions, new.micro_ops, new.cycles),
            (100, 200, Some(30))
        );
        assert_eq!(new.simulated_time_ps, Some(999));
        let old = "sim_ticks 999 #\nsim_freq 1000000000000 #\nsim_insts 100 #\nsim_ops 200 #\n\
                   system.cpu.numCycles 30 #\nsystem.cpu.committedInsts 100 #\n\
                   system.cpu.dcache.overall_misses::total 7 #";
        let old = read(old).unwrap();
        assert_eq!((old.instructions, old.cycles), (100, Some(30)));
        assert_eq!(old.parts["l1d.misses"], 7);
        let library = NEW.replace("system.cpu.", "board.processor.cores.core.");
        assert_eq!(read(&library).unwrap().cycles, Some(30));
    }

    #[test]
    fn what_cannot_be_true_is_no_number() {
        let refused = |from: &str, to: &str| {
            assert!(NEW.contains(from), "{from}");
            read(&NEW.replace(from, to)).unwrap_err().to_string()
        };
        assert!(
            refused("simTicks 999", "simTicks 18446744073709551615").contains("end of time"),
            "the last tick"
        );
        assert!(refused("simInsts 100", "simInsts 0").contains("`simInsts` is 0"));
        assert!(refused("simOps 200", "simOps 99").contains("fewer than the 100 instructions"));
        assert!(refused("numCycles 30", "numCycles nan").contains("a whole number is needed"));
        assert!(refused("numCycles 30", "numCycles 0").contains("do not fit"));
        assert!(
            refused("commitStats0.numInsts 101", "commitStats0.numInsts 0")
                .contains("`system.cpu.commitStats0.numInsts` is 0: the whole simulation has 100")
        );
        assert!(
            refused("simInsts 100 #\n", "")
                .contains("there is no statistic `simInsts` or `sim_insts`")
        );
        assert!(refused("numInsts 101", "numInsts 9000").contains("the whole simulation has 100"));
    }

    #[test]
    fn a_program_of_many_system_calls_is_one_whose_counts_differ_by_them() {
        // A thousand calls in a loop of three: some cores of gem5 24 count the calls in one of the two.
        let many = |calls: &str| {
            let text = NEW
                .replace("simInsts 100", "simInsts 3004")
                .replace("simOps 200", "simOps 6004")
                .replace("numCycles 30", "numCycles 9000")
                .replace("numInsts 101", "numInsts 4005");
            read(&format!(
                "{text}\nsystem.cpu.workload.numSyscalls {calls} #"
            ))
        };
        assert_eq!(many("1001").unwrap().instructions, 3004);
        assert!(many("10").is_err());
    }

    #[test]
    fn blocks_of_a_file_are_counted_one_by_one() {
        let file = format!("{}{}", text(NEW), text(&NEW.replace("100 #", "50 #")));
        let blocks = parse(file.as_bytes()).unwrap();
        let instructions: Vec<u64> = blocks
            .iter()
            .map(|block| counters(block, true).unwrap().instructions)
            .collect();
        assert_eq!(instructions, [100, 50]);
        assert!(parse_one(file.as_bytes()).is_err());
    }
}
