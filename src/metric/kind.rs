//! Which metrics there are, by name, and how each is asked for.
use super::facts::Facts;
use super::scores::{Direction, ModelScore, Scores, Unit};
use super::{
    beats, beyond, dps, eff_at_k, normalised_runtime, pass_at_k, resources, speed_up, win,
};
use std::fmt;
use std::str::FromStr;

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// `pass@K`.
    PassAtK(usize),
    /// `normalised-runtime`.
    NormalisedRuntime,
    /// `speed-up`, of the best of the first K samples in `speed-up@K`: never below 1.
    SpeedUp(usize),
    /// `speed-up-unclamped`: the quotient as it is.
    SpeedUpUnclamped,
    /// `opt`, or `opt@K`: the share of problems that are right and at least 10% faster.
    Optimised(usize),
    /// `beyond`, `beyond-log`, `beyond-rank`.
    Beyond(Scale),
    /// The same over passed problems only: `beyond-pass`, `beyond-log-pass`, `beyond-rank-pass`.
    BeyondPass(Scale),
    /// `win`.
    Win,
    /// `lose`.
    Lose,
    /// `eff@K`.
    EffAtK(usize),
    /// `dps`.
    Dps,
    /// `dps-norm`.
    DpsNorm,
    /// `net`.
    Net,
    /// `nmu`.
    Nmu,
    /// `ntmu`.
    Ntmu,
    /// `beats`.
    Beats,
}

/// How Beyond places a runtime between the longest and the shortest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scale {
    /// By the runtime.
    Linear,
    /// By its logarithm.
    Log,
    /// By its rank.
    Rank,
}

/// What metrics need besides facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Resamples of the bootstrap; 0 for no intervals.
    pub resamples: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// eff@k: weights of the levels, easiest first. The last one counts for all further levels.
    pub level_weights: Vec<f64>,
    /// eff@k: the time limit as a multiple of the longest reference time.
    pub time_limit_factor: f64,
    /// DPS: reference solutions that differ by less than this part belong to one cluster.
    pub cluster_gap: f64,
    /// Win rates, %Opt: what counts as faster, as a part of the other's runtime.
    pub margin: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            resamples: 2000,
            seed: 0,
            // ENAMEL's hardness levels 0 to 3.
            level_weights: vec![0.0, 3.0, 3.0, 4.0],
            time_limit_factor: 2.0,
            cluster_gap: 0.2,
            margin: 0.1,
        }
    }
}

impl Metric {
    /// The names, as they are written.
    pub const NAMES: [&'static str; 19] = [
        "pass@K",
        "normalised-runtime",
        "speed-up",
        "speed-up@K",
        "speed-up-unclamped",
        "opt",
        "opt@K",
        "beyond",
        "beyond-log",
        "beyond-rank",
        "beyond[-log|-rank]-pass",
        "win",
        "lose",
        "eff@K",
        "dps",
        "dps-norm",
        "net, nmu, ntmu",
        "beats",
        "(K: a number)",
    ];

    /// Computes the metric for every model.
    pub fn score(self, facts: &Facts, settings: &Settings) -> Scores {
        let each = |of: &dyn Fn(usize) -> ModelScore| {
            ((0..facts.models.len()).map(of).collect(), Vec::new())
        };
        let (mut models, left_out) = match self {
            Self::PassAtK(k) => each(&|model| pass_at_k::score(facts, model, k)),
            Self::NormalisedRuntime => normalised_runtime::score(facts),
            Self::SpeedUp(k) => each(&|model| speed_up::clamped(facts, model, k)),
            Self::SpeedUpUnclamped => each(&|model| speed_up::unclamped(facts, model)),
            Self::Optimised(k) => {
                each(&|model| speed_up::optimised(facts, model, k, settings.margin))
            }
            Self::Beyond(scale) => each(&|model| beyond::score(facts, model, scale, false)),
            Self::BeyondPass(scale) => each(&|model| beyond::score(facts, model, scale, true)),
            Self::Win => each(&|model| win::score(facts, model, settings.margin, false)),
            Self::Lose => each(&|model| win::score(facts, model, settings.margin, true)),
            Self::EffAtK(k) => each(&|model| eff_at_k::score(facts, model, k, settings)),
            Self::Dps => each(&|model| dps::score(facts, model, settings.cluster_gap, false)),
            Self::DpsNorm => each(&|model| dps::score(facts, model, settings.cluster_gap, true)),
            Self::Net => each(&|model| resources::time(facts, model)),
            Self::Nmu => each(&|model| resources::peak_memory(facts, model)),
            Self::Ntmu => each(&|model| resources::memory_time(facts, model)),
            Self::Beats => each(&|model| beats::score(facts, model)),
        };
        for model in &mut models {
            model.add_interval(settings.resamples, settings.seed);
        }
        Scores {
            metric: self.to_string(),
            unit: self.unit(),
            direction: self.direction(),
            models,
            left_out,
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Self::NormalisedRuntime => Unit::Percent,
            Self::SpeedUp(_) | Self::SpeedUpUnclamped | Self::Net | Self::Nmu | Self::Ntmu => {
                Unit::Factor
            }
            _ => Unit::Fraction,
        }
    }

    /// Which way is better.
    pub fn direction(self) -> Direction {
        match self {
            Self::NormalisedRuntime | Self::Lose | Self::Net | Self::Nmu | Self::Ntmu => {
                Direction::Less
            }
            _ => Direction::More,
        }
    }

    /// Source and population, in a sentence.
    pub fn describe(self) -> &'static str {
        match self {
            Self::PassAtK(_) => {
                "1 - C(n - c, k) / C(n, k) of n samples with c accepted, over the model's problems (Chen et al. 2021)"
            }
            Self::NormalisedRuntime => {
                "share of the models' summed runtimes, over the problems that all of them solve (Niu et al. 2024)"
            }
            Self::SpeedUp(_) => {
                "base's runtime / own runtime, 1 where wrong or slower, over the problems that the base solves (PIE)"
            }
            Self::SpeedUpUnclamped => {
                "base's runtime / own runtime, over the problems that both solve"
            }
            Self::Optimised(_) => {
                "share of the problems that the base solves with a right answer at least 10% faster (PIE)"
            }
            Self::Beyond(_) => {
                "place between the slowest and the fastest right sample of all models, 0 where wrong (Mercury, \
                 DSEffi-Bench)"
            }
            Self::BeyondPass(_) => {
                "place between the slowest and the fastest right sample of all models, over right samples only"
            }
            Self::Win => {
                "share of the problems that both solve on which it takes at most 90% of the other's time, averaged \
                 over the other models (DSEffi-Bench)"
            }
            Self::Lose => {
                "share of the problems that both solve on which the other takes at most 90% of its time, averaged \
                 over the other models (DSEffi-Bench)"
            }
            Self::EffAtK(_) => {
                "expected best efficiency of k samples against the reference, with a time limit of twice its longest \
                 time (ENAMEL)"
            }
            Self::Dps => {
                "share of the reference solutions, by cluster, that it is at least as fast as, over the problems it \
                 solves (EvalPerf)"
            }
            Self::DpsNorm => "the same with every cluster counting alike (EvalPerf)",
            Self::Net => "runtime relative to the reference (EffiBench)",
            Self::Nmu => "peak memory of the whole runs relative to the reference (EffiBench)",
            Self::Ntmu => {
                "memory integrated over the time of the whole runs relative to the reference (EffiBench)"
            }
            Self::Beats => {
                "share of the reference model's right samples that are slower, over the problems it solves"
            }
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = |scale: &Scale| match scale {
            Scale::Linear => "",
            Scale::Log => "-log",
            Scale::Rank => "-rank",
        };
        match self {
            Self::PassAtK(k) => write!(f, "pass@{k}"),
            Self::NormalisedRuntime => f.write_str("normalised-runtime"),
            Self::SpeedUp(1) => f.write_str("speed-up"),
            Self::SpeedUp(k) => write!(f, "speed-up@{k}"),
            Self::SpeedUpUnclamped => f.write_str("speed-up-unclamped"),
            Self::Optimised(1) => f.write_str("opt"),
            Self::Optimised(k) => write!(f, "opt@{k}"),
            Self::Beyond(of) => write!(f, "beyond{}", scale(of)),
            Self::BeyondPass(of) => write!(f, "beyond{}-pass", scale(of)),
            Self::Win => f.write_str("win"),
            Self::Lose => f.write_str("lose"),
            Self::EffAtK(k) => write!(f, "eff@{k}"),
            Self::Dps => f.write_str("dps"),
            Self::DpsNorm => f.write_str("dps-norm"),
            Self::Net => f.write_str("net"),
            Self::Nmu => f.write_str("nmu"),
            Self::Ntmu => f.write_str("ntmu"),
            Self::Beats => f.write_str("beats"),
        }
    }
}

impl FromStr for Metric {
    type Err = String;

    /// Errors name the metrics that exist.
    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "unknown metric `{text}`; it is one of {}",
                Self::NAMES.join(", ")
            )
        };
        let (name, k) = match text.split_once('@') {
            None => (text, None),
            Some((name, k)) => {
                let k = k.parse().ok().filter(|&k: &usize| k > 0);
                (name, Some(k.ok_or_else(unknown)?))
            }
        };
        Ok(match (name, k) {
            ("pass", Some(k)) => Self::PassAtK(k),
            ("eff", Some(k)) => Self::EffAtK(k),
            ("speed-up", k) => Self::SpeedUp(k.unwrap_or(1)),
            ("opt", k) => Self::Optimised(k.unwrap_or(1)),
            (_, Some(_)) => return Err(unknown()),
            ("normalised-runtime", _) => Self::NormalisedRuntime,
            ("speed-up-unclamped", _) => Self::SpeedUpUnclamped,
            ("beyond", _) => Self::Beyond(Scale::Linear),
            ("beyond-log", _) => Self::Beyond(Scale::Log),
            ("beyond-rank", _) => Self::Beyond(Scale::Rank),
            ("beyond-pass", _) => Self::BeyondPass(Scale::Linear),
            ("beyond-log-pass", _) => Self::BeyondPass(Scale::Log),
            ("beyond-rank-pass", _) => Self::BeyondPass(Scale::Rank),
            ("win", _) => Self::Win,
            ("lose", _) => Self::Lose,
            ("dps", _) => Self::Dps,
            ("dps-norm", _) => Self::DpsNorm,
            ("net", _) => Self::Net,
            ("nmu", _) => Self::Nmu,
            ("ntmu", _) => Self::Ntmu,
            ("beats", _) => Self::Beats,
            _ => return Err(unknown()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_a_round_trip_and_others_are_refused() {
        for name in [
            "pass@10",
            "normalised-runtime",
            "speed-up",
            "speed-up@8",
            "speed-up-unclamped",
            "opt",
            "opt@8",
            "beyond",
            "beyond-log",
            "beyond-rank",
            "beyond-pass",
            "beyond-log-pass",
            "beyond-rank-pass",
            "win",
            "lose",
            "eff@1",
            "dps",
            "dps-norm",
            "net",
            "nmu",
            "ntmu",
            "beats",
        ] {
            assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
        }
        for name in ["pass", "pass@0", "pass@x", "win@2", "beyond@1", "", "eff"] {
            assert!(name.parse::<Metric>().is_err(), "{name}");
        }
    }
}
