//! A machine model as what gem5 is told: classes of objects and their parameters, key by key.
//!
//! Object paths are those of gem5 v24's `config.ini`; sim-configs/gem5/mapping.md shows the table to people, and the
//! script that builds the system (sim-configs/gem5/se.py) gets it as data.
use crate::sim::machine::{Machine, keys::Kind};
use serde::Serialize;

/// A system for gem5.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct System {
    /// `atomic`, `blocking` or `out-of-order`.
    pub core: &'static str,
    /// Core clock.
    pub frequency_hz: u64,
    /// Class of the branch predictor, on the out-of-order core.
    pub predictor: Option<&'static str>,
    /// Class of its tagged tables, where it has any.
    pub tagged_tables: Option<&'static str>,
    /// The caches, from the core to memory; none on a core that only counts.
    pub caches: Vec<Cache>,
    /// Parameters.
    pub settings: Vec<Setting>,
    /// The execution units: for each the classes of micro-ops that it does.
    pub units: Vec<Vec<Operation>>,
    /// What gem5 does differently, one sentence each.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cache {
    /// Its path.
    pub object: &'static str,
    /// Class of its replacement policy.
    pub replacement: &'static str,
    /// Class of its prefetcher.
    pub prefetcher: Option<&'static str>,
}

/// A parameter of an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Path of the object.
    pub object: &'static str,
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Its value.
    pub value: Value,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// A time.
    Picoseconds(u64),
    /// A size of memory.
    Bytes(u64),
    /// A truth.
    Truth(bool),
    /// A word of an enumeration.
    Word(&'static str),
}

impl Value {
    /// As gem5 writes it into `config.ini`, where a tick is a picosecond.
    pub fn in_config(&self) -> String {
        match self {
            Self::Number(number) | Self::Picoseconds(number) | Self::Bytes(number) => {
                number.to_string()
            }
            Self::Truth(truth) => truth.to_string(),
            Self::Word(word) => (*word).to_owned(),
        }
    }
}

/// As gem5's Python takes it.
impl Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Picoseconds(time) => serializer.serialize_str(&format!("{time}ps")),
            Self::Bytes(bytes) => serializer.serialize_str(&format!("{bytes}B")),
            Self::Truth(truth) => serializer.serialize_bool(*truth),
            Self::Word(word) => serializer.serialize_str(word),
        }
    }
}

/// A class of micro-ops that a unit does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// Name of the class.
    pub class: String,
    /// Cycles.
    pub latency: u64,
    /// The unit takes another one each cycle.
    pub pipelined: bool,
}

/// gem5 cannot be such a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct Unmapped {
    /// What it lacks.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

/// How the number of a key becomes that of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The same number.
    Same,
    /// A size of memory.
    Bytes,
    /// A time in picoseconds.
    Time,
    /// Half the time: gem5 splits it in two.
    HalfTime,
    /// More by so many, which x86 and its microcode keep.
    Plus(u64),
    /// Divided by the sixteen devices of a rank.
    PerDevice,
    /// In percent of the write queue's 128 places, rounded up.
    PercentOfQueue,
    /// `total` is true.
    TotalOrder,
    /// The word of gem5's enumeration of clusivities.
    Clusivity,
}

impl Rule {
    /// What it does, for people.
    pub fn explain(self) -> String {
        match self {
            Self::Same | Self::Bytes => "the same".to_owned(),
            Self::Time => "the same, in ps".to_owned(),
            Self::HalfTime => "half of it, in ps".to_owned(),
            Self::Plus(more) => format!("{more} more, which x86 and its microcode keep"),
            Self::PerDevice => "divided by the 16 devices of a rank".to_owned(),
            Self::PercentOfQueue => {
                "in percent of the write queue's 128 places, rounded up".to_owned()
            }
            Self::TotalOrder => "`total` is true".to_owned(),
            Self::Clusivity => "`mostly_excl` or `mostly_incl`".to_owned(),
        }
    }
}

/// Key, object, parameter, rule: everything that is one number or word.
pub const TABLE: &[(&str, &str, &str, Rule)] = &[
    (
        "core.fetch_buffer_bytes",
        CPU,
        "fetchBufferSize",
        Rule::Same,
    ),
    (
        "core.fetch_queue_entries",
        CPU,
        "fetchQueueSize",
        Rule::Same,
    ),
    ("core.fetch_width", CPU, "fetchWidth", Rule::Same),
    ("core.decode_width", CPU, "decodeWidth", Rule::Same),
    ("core.rename_width", CPU, "renameWidth", Rule::Same),
    ("core.dispatch_width", CPU, "dispatchWidth", Rule::Same),
    ("core.issue_width", CPU, "issueWidth", Rule::Same),
    ("core.issue_width", CPU, "wbWidth", Rule::Same),
    ("core.commit_width", CPU, "commitWidth", Rule::Same),
    ("core.squash_width", CPU, "squashWidth", Rule::Same),
    (
        "core.fetch_to_decode_cycles",
        CPU,
        "fetchToDecodeDelay",
        Rule::Same,
    ),
    (
        "core.decode_to_rename_cycles",
        CPU,
        "decodeToRenameDelay",
        Rule::Same,
    ),
    (
        "core.rename_to_dispatch_cycles",
        CPU,
        "renameToIEWDelay",
        Rule::Same,
    ),
    (
        "core.execute_to_commit_cycles",
        CPU,
        "iewToCommitDelay",
        Rule::Same,
    ),
    ("core.trap_cycles", CPU, "trapLatency", Rule::Same),
    ("core.rob_entries", CPU, "numROBEntries", Rule::Same),
    ("core.scheduler_entries", CPU, "numIQEntries", Rule::Same),
    ("core.load_queue_entries", CPU, "LQEntries", Rule::Same),
    ("core.store_queue_entries", CPU, "SQEntries", Rule::Same),
    (
        "core.spare_integer_registers",
        CPU,
        "numPhysIntRegs",
        Rule::Plus(38),
    ),
    (
        "core.spare_float_registers",
        CPU,
        "numPhysFloatRegs",
        Rule::Plus(56),
    ),
    (
        "core.spare_flag_registers",
        CPU,
        "numPhysCCRegs",
        Rule::Plus(5),
    ),
    ("core.store_sets", CPU, "SSITSize", Rule::Same),
    ("core.store_sets", CPU, "LFSTSize", Rule::Same),
    (
        "core.store_set_period",
        CPU,
        "store_set_clear_period",
        Rule::Same,
    ),
    ("core.store_order", CPU, "needsTSO", Rule::TotalOrder),
    ("l1i.size_bytes", L1I, "size", Rule::Bytes),
    ("l1i.ways", L1I, "assoc", Rule::Same),
    ("l1i.tag_cycles", L1I, "tag_latency", Rule::Same),
    ("l1i.data_cycles", L1I, "data_latency", Rule::Same),
    ("l1i.response_cycles", L1I, "response_latency", Rule::Same),
    ("l1i.mshrs", L1I, "mshrs", Rule::Same),
    ("l1d.size_bytes", L1D, "size", Rule::Bytes),
    ("l1d.ways", L1D, "assoc", Rule::Same),
    ("l1d.tag_cycles", L1D, "tag_latency", Rule::Same),
    ("l1d.data_cycles", L1D, "data_latency", Rule::Same),
    ("l1d.response_cycles", L1D, "response_latency", Rule::Same),
    ("l1d.mshrs", L1D, "mshrs", Rule::Same),
    ("l2.size_bytes", L2, "size", Rule::Bytes),
    ("l2.ways", L2, "assoc", Rule::Same),
    ("l2.tag_cycles", L2, "tag_latency", Rule::Same),
    ("l2.data_cycles", L2, "data_latency", Rule::Same),
    ("l2.response_cycles", L2, "response_latency", Rule::Same),
    ("l2.mshrs", L2, "mshrs", Rule::Same),
    ("l2.inclusion", L2, "clusivity", Rule::Clusivity),
    ("l3.size_bytes", L3, "size", Rule::Bytes),
    ("l3.ways", L3, "assoc", Rule::Same),
    ("l3.tag_cycles", L3, "tag_latency", Rule::Same),
    ("l3.data_cycles", L3, "data_latency", Rule::Same),
    ("l3.response_cycles", L3, "response_latency", Rule::Same),
    ("l3.mshrs", L3, "mshrs", Rule::Same),
    ("l3.inclusion", L3, "clusivity", Rule::Clusivity),
    (
        "crossbar.response_cycles",
        "system.l2bus",
        "response_latency",
        Rule::Same,
    ),
    ("crossbar.width_bytes", "system.l2bus", "width", Rule::Same),
    (
        "crossbar.response_cycles",
        "system.l3bus",
        "response_latency",
        Rule::Same,
    ),
    ("crossbar.width_bytes", "system.l3bus", "width", Rule::Same),
    (
        "memory_crossbar.response_cycles",
        MEMBUS,
        "response_latency",
        Rule::Same,
    ),
    ("memory_crossbar.width_bytes", MEMBUS, "width", Rule::Same),
    (
        "dram.row_bytes",
        DRAM,
        "device_rowbuffer_size",
        Rule::PerDevice,
    ),
    (
        "dram.row_accesses",
        DRAM,
        "max_accesses_per_row",
        Rule::Same,
    ),
    ("dram.burst_ps", DRAM, "tBURST", Rule::Time),
    ("dram.row_to_column_ps", DRAM, "tRCD", Rule::Time),
    ("dram.column_ps", DRAM, "tCL", Rule::Time),
    ("dram.precharge_ps", DRAM, "tRP", Rule::Time),
    ("dram.row_active_ps", DRAM, "tRAS", Rule::Time),
    ("dram.same_group_ps", DRAM, "tCCD_L", Rule::Time),
    ("dram.activate_ps", DRAM, "tRRD", Rule::Time),
    ("dram.activate_same_group_ps", DRAM, "tRRD_L", Rule::Time),
    ("dram.activate_window_ps", DRAM, "tXAW", Rule::Time),
    ("dram.read_to_precharge_ps", DRAM, "tRTP", Rule::Time),
    ("dram.write_recovery_ps", DRAM, "tWR", Rule::Time),
    ("dram.write_to_read_ps", DRAM, "tWTR", Rule::Time),
    ("dram.read_to_write_ps", DRAM, "tRTW", Rule::Time),
    ("dram.rank_switch_ps", DRAM, "tCS", Rule::Time),
    ("dram.refresh_ps", DRAM, "tRFC", Rule::Time),
    ("dram.refresh_interval_ps", DRAM, "tREFI", Rule::Time),
    (
        "dram.controller_ps",
        CONTROLLER,
        "static_frontend_latency",
        Rule::HalfTime,
    ),
    (
        "dram.controller_ps",
        CONTROLLER,
        "static_backend_latency",
        Rule::HalfTime,
    ),
    (
        "dram.write_high",
        CONTROLLER,
        "write_high_thresh_perc",
        Rule::PercentOfQueue,
    ),
    (
        "dram.write_low",
        CONTROLLER,
        "write_low_thresh_perc",
        Rule::PercentOfQueue,
    ),
    (
        "predictor.target_buffer_entries",
        BRANCH,
        "btb.numEntries",
        Rule::Same,
    ),
    (
        "predictor.target_buffer_tag_bits",
        BRANCH,
        "btb.tagBits",
        Rule::Same,
    ),
    (
        "predictor.return_stack_entries",
        BRANCH,
        "ras.numEntries",
        Rule::Same,
    ),
    (
        "predictor.indirect_sets",
        INDIRECT,
        "indirectSets",
        Rule::Same,
    ),
    (
        "predictor.indirect_ways",
        INDIRECT,
        "indirectWays",
        Rule::Same,
    ),
    (
        "predictor.indirect_tag_bits",
        INDIRECT,
        "indirectTagSize",
        Rule::Same,
    ),
    (
        "predictor.indirect_path",
        INDIRECT,
        "indirectPathLength",
        Rule::Same,
    ),
    (
        "predictor.indirect_history_bits",
        INDIRECT,
        "indirectGHRBits",
        Rule::Same,
    ),
];

const CPU: &str = "system.cpu";
const L1I: &str = "system.cpu.icache";
const L1D: &str = "system.cpu.dcache";
const L2: &str = "system.l2";
const L3: &str = "system.l3";
const MEMBUS: &str = "system.membus";
const CONTROLLER: &str = "system.mem_ctrl";
const DRAM: &str = "system.mem_ctrl.dram";
const BRANCH: &str = "system.cpu.branchPred";
const INDIRECT: &str = "system.cpu.branchPred.indirectBranchPred";
const DIRECTION: &str = "system.cpu.branchPred.direction";
const TAGGED: &str = "system.cpu.branchPred.direction.tage";

/// The shortest history of the tagged tables, which no key sets.
const SHORTEST_HISTORY: u64 = 4;

/// Places of DDR4's write queue, which no key sets.
const WRITE_QUEUE: u64 = 128;

/// What gem5 is told for this machine.
///
/// # Errors
/// [`Unmapped`] where gem5 has nothing that comes near.
pub fn system(machine: &Machine) -> Result<System, Unmapped> {
    let kind = machine.kind();
    let core = match kind {
        Kind::Atomic => "atomic",
        Kind::Blocking => "blocking",
        Kind::OutOfOrder => "out-of-order",
        Kind::InOrder => {
            return Err(Unmapped {
                what: format!(
                    "`{}` is an in-order core of tickmark's own, which gem5 does not have",
                    machine.name
                ),
                remedy: "choose a machine of kind atomic, blocking or out-of-order, such as `--machine gem5-o3`"
                    .to_owned(),
            });
        }
    };
    let mut system = System {
        core,
        frequency_hz: machine.frequency_hz(),
        predictor: None,
        tagged_tables: None,
        caches: Vec::new(),
        settings: Vec::new(),
        units: Vec::new(),
        notes: Vec::new(),
    };
    if kind != Kind::Atomic {
        memory(machine, &mut system)?;
    }
    if kind == Kind::OutOfOrder {
        out_of_order(machine, &mut system)?;
    }
    if machine.get("guest.profile").as_deref() != Some("gem5") {
        system.notes.push(
            "gem5 shows its guests its own CPUID and process layout, whatever `guest.profile` says"
                .to_owned(),
        );
    }
    if machine.get("tlb.kind").is_some_and(|kind| kind != "free") {
        system.notes.push(
            "gem5 emulates system calls and then takes no time for page walks: `tlb` is not used"
                .to_owned(),
        );
    }
    Ok(system)
}

/// The number of a key; the machine has it wherever its kind of core reads it.
fn number(machine: &Machine, key: &str) -> Option<u64> {
    machine.get(key)?.parse().ok()
}

fn memory(machine: &Machine, system: &mut System) -> Result<(), Unmapped> {
    let third = number(machine, "l3.size_bytes").unwrap_or(0) > 0;
    for &(key, object, parameter, rule) in TABLE {
        if (object == L3 || object == "system.l3bus") && !third
            || machine.kind() != Kind::OutOfOrder && key.starts_with("core.")
        {
            continue;
        }
        let Some(text) = machine.get(key) else {
            continue;
        };
        let value = match rule {
            Rule::TotalOrder => Value::Truth(text == "total"),
            Rule::Clusivity => Value::Word(if text == "mostly-exclusive" {
                "mostly_excl"
            } else {
                "mostly_incl"
            }),
            _ => {
                let Ok(number) = text.parse::<u64>() else {
                    continue;
                };
                match rule {
                    Rule::Time => Value::Picoseconds(number),
                    Rule::HalfTime => Value::Picoseconds(number / 2),
                    Rule::Plus(more) => Value::Number(number + more),
                    Rule::Bytes => Value::Bytes(number),
                    Rule::PerDevice => Value::Bytes(number / 16),
                    Rule::PercentOfQueue => {
                        Value::Number((100 * number).div_ceil(WRITE_QUEUE).min(100))
                    }
                    _ => Value::Number(number),
                }
            }
        };
        system.settings.push(Setting {
            object,
            parameter,
            value,
        });
    }
    let levels: &[(&str, &'static str)] = &[("l1i", L1I), ("l1d", L1D), ("l2", L2), ("l3", L3)];
    for &(level, object) in levels {
        if object == L3 && !third {
            continue;
        }
        let word = |name: &str| machine.get(&format!("{level}.{name}")).unwrap_or_default();
        let mshrs = number(machine, &format!("{level}.mshrs")).unwrap_or(4);
        system.caches.push(Cache {
            object,
            replacement: match word("replacement").as_str() {
                "tree-plru" => "TreePLRURP",
                "random" => "RandomRP",
                _ => "LRURP",
            },
            prefetcher: match word("prefetcher").as_str() {
                "" | "none" => None,
                "stride" => Some("StridePrefetcher"),
                other => {
                    return Err(Unmapped {
                        what: format!(
                            "gem5's prefetchers have none like `{level}.prefetcher = \"{other}\"`"
                        ),
                        remedy: format!("set it: `--set {level}.prefetcher=none` or `=stride`"),
                    });
                }
            },
        });
        if word("inclusion") == "inclusive" {
            system.notes.push(format!(
                "gem5's classic caches are never strictly inclusive: `{level}.inclusion` is taken as mostly-inclusive"
            ));
        }
        // What a machine file does not say: gem5's own se.py has 20 accesses a miss at the first level and 12 below,
        // the Skylake configuration 16 throughout, with as many write buffers as misses.
        let many = mshrs >= 64;
        let targets = match (many, object) {
            (true, _) => 16,
            (false, L1I | L1D) => 20,
            (false, _) => 12,
        };
        let buffers = if many && object != L1I { mshrs } else { 8 };
        for (name, parameter, otherwise) in [
            ("targets", "tgts_per_mshr", targets),
            ("write_buffers", "write_buffers", buffers),
        ] {
            let value = number(machine, &format!("{level}.{name}")).unwrap_or(otherwise);
            system.settings.push(Setting {
                object,
                parameter,
                value: Value::Number(value),
            });
        }
    }
    crossbars(machine, system, third);
    Ok(())
}

/// The cycles of a request, as gem5 divides them: the snoop filter's look-up, forwarding, and the rest in front.
fn crossbars(machine: &Machine, system: &mut System, third: bool) {
    let mut add = |object: &'static str, parameter: &'static str, cycles: u64| {
        system.settings.push(Setting {
            object,
            parameter,
            value: Value::Number(cycles),
        });
    };
    let between = number(machine, "crossbar.request_cycles").unwrap_or(1);
    let buses: &[&'static str] = if third {
        &["system.l2bus", "system.l3bus"]
    } else {
        &["system.l2bus"]
    };
    for &bus in buses {
        add(bus, "frontend_latency", between);
        add(bus, "forward_latency", 0);
    }
    let before = number(machine, "memory_crossbar.request_cycles").unwrap_or(8);
    let look_up = before.min(1);
    let forward = (before - look_up).min(4);
    add("system.membus.snoop_filter", "lookup_latency", look_up);
    add(MEMBUS, "forward_latency", forward);
    add(MEMBUS, "frontend_latency", before - look_up - forward);
}

fn out_of_order(machine: &Machine, system: &mut System) -> Result<(), Unmapped> {
    let get = |key: &str| number(machine, key);
    // The queues in which gem5 passes micro-ops from stage to stage are as long as the way through all of them.
    let way: u64 = [
        "core.fetch_to_decode_cycles",
        "core.decode_to_rename_cycles",
        "core.rename_to_dispatch_cycles",
        "core.execute_to_commit_cycles",
    ]
    .iter()
    .filter_map(|key| get(key))
    .sum();
    for parameter in ["forwardComSize", "backComSize"] {
        system.settings.push(Setting {
            object: CPU,
            parameter,
            value: Value::Number(way.max(5)),
        });
    }
    let kind = machine.get("predictor.kind").unwrap_or_default();
    let sizes: &[(&str, &'static str, &'static str)] = match kind.as_str() {
        "tournament" => {
            system.predictor = Some("TournamentBP");
            &[
                ("predictor.local_entries", DIRECTION, "localPredictorSize"),
                (
                    "predictor.local_histories",
                    DIRECTION,
                    "localHistoryTableSize",
                ),
                ("predictor.global_entries", DIRECTION, "globalPredictorSize"),
                ("predictor.choice_entries", DIRECTION, "choicePredictorSize"),
            ]
        }
        "ltage" | "tage" => {
            let with_loops = kind == "ltage";
            system.predictor = Some(if with_loops { "LTAGE" } else { "TAGE" });
            system.tagged_tables = Some(if with_loops { "LTAGE_TAGE" } else { "TAGEBase" });
            system.settings.push(Setting {
                object: TAGGED,
                parameter: "minHist",
                value: Value::Number(SHORTEST_HISTORY),
            });
            &[("predictor.history_max", TAGGED, "maxHist")]
        }
        "bimodal" => {
            system.predictor = Some("LocalBP");
            &[("predictor.counter_entries", DIRECTION, "localPredictorSize")]
        }
        other => {
            return Err(Unmapped {
                what: format!("gem5's predictors have none like `predictor.kind = \"{other}\"`"),
                remedy: "choose tournament, ltage, tage or bimodal with `--set predictor.kind=...`"
                    .to_owned(),
            });
        }
    };
    for &(key, object, parameter) in sizes {
        if let Some(value) = get(key) {
            system.settings.push(Setting {
                object,
                parameter,
                value: Value::Number(value),
            });
        }
    }
    system.units = units(&machine.get("core.units").unwrap_or_default());
    Ok(())
}

/// The units of a list that the machine has already checked: `2x IntMult:3 IntDiv:1! | ...`.
fn units(list: &str) -> Vec<Vec<Operation>> {
    let mut units = Vec::new();
    for group in list.split('|') {
        let mut words = group.split_whitespace();
        let count = words
            .next()
            .and_then(|word| word.strip_suffix('x')?.parse::<usize>().ok())
            .unwrap_or(0);
        let unit: Vec<Operation> = words
            .filter_map(|word| {
                let (class, latency) = word.split_once(':')?;
                Some(Operation {
                    class: class.to_owned(),
                    latency: latency.trim_end_matches('!').parse().ok()?,
                    pipelined: !latency.ends_with('!'),
                })
            })
            .collect();
        units.extend(std::iter::repeat_n(unit, count));
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::machine::{catalog, keys};

    #[test]
    fn the_page_shows_the_table() {
        let page = include_str!("../../../sim-configs/gem5/mapping.md");
        let rows: Vec<String> = TABLE
            .iter()
            .map(|(key, object, parameter, rule)| {
                let how = rule.explain();
                format!("| `{key}` | `{object}` | `{parameter}` | {how} |\n")
            })
            .collect();
        assert!(page.contains(&rows.concat()), "{}", rows.concat());
    }

    #[test]
    fn every_key_of_the_table_is_one_and_every_machine_of_gem5_is_mapped() {
        for (key, ..) in TABLE {
            assert!(keys::find(key).is_some(), "{key}");
        }
        for name in [
            "atomic",
            "gem5-timing",
            "gem5-o3",
            "skylake",
            "skylake-stride",
        ] {
            let system = system(&catalog::machine(name).unwrap()).unwrap();
            assert_eq!(system.caches.is_empty(), name == "atomic");
        }
        let error = system(&catalog::machine("simple").unwrap()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("in-order core of tickmark's own"),
            "{error}"
        );
    }

    #[test]
    fn what_gem5_lacks_is_refused_or_noted() {
        let machine = catalog::machine("gem5-o3").unwrap();
        let split = machine
            .with_overrides(&[("memory_crossbar.request_cycles", "3")])
            .unwrap();
        let system = system(&split).unwrap();
        let of = |object: &str, parameter: &str| {
            system
                .settings
                .iter()
                .find(|s| s.object == object && s.parameter == parameter)
                .map(|s| s.value.in_config())
        };
        assert_eq!(of("system.membus", "forward_latency").as_deref(), Some("2"));
        assert_eq!(
            of("system.membus", "frontend_latency").as_deref(),
            Some("0")
        );
        assert_eq!(of("system.cpu", "forwardComSize").as_deref(), Some("5"));
        assert!(system.notes.is_empty(), "{:?}", system.notes);
    }
}
