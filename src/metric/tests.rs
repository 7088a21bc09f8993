//! Metrics against tables that are computed by hand, with the arithmetic beside them.
use super::*;

/// A problem a line: models between blanks, samples between `,`; `-` wrong, `t` timed out, `?` a failure of ours.
fn facts(models: &[&str], text: &str) -> Facts {
    let sample = |text: &str| match text {
        "-" => SampleFact::without_runtime(Outcome::Rejected),
        "t" => SampleFact::without_runtime(Outcome::TimedOut),
        "?" => SampleFact::without_runtime(Outcome::Unknown),
        time => SampleFact::accepted(Some(time.parse().unwrap())),
    };
    let problems = text.lines().enumerate().map(|(index, line)| ProblemFacts {
        id: format!("p{index}"),
        samples: (line.split_whitespace())
            .map(|samples| samples.split(',').map(sample).collect())
            .collect(),
    });
    Facts {
        models: models.iter().map(|model| (*model).to_string()).collect(),
        problems: problems.collect(),
        reference: models.iter().position(|model| *model == "canonical"),
        bases: Vec::new(),
    }
}

fn values(metric: &str, facts: &Facts) -> Vec<Option<f64>> {
    let scores = (metric.parse::<Metric>().unwrap()).score(facts, &Settings::default());
    scores.models.iter().map(|model| model.value).collect()
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("there is a value");
    assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
}

#[test]
fn speed_up_is_clamped_where_the_new_program_is_wrong_or_slower() {
    let mut facts = facts(&["old", "new"], "100 25\n100 200\n100 -\n- 10\n110 100,10");
    facts.bases = vec![None, Some(0)];
    // 4, 1 (slower), 1 (wrong), left out (the base is wrong), 1.1: (4 + 1 + 1 + 1.1) / 4.
    close(values("speed-up", &facts)[1], 7.1 / 4.0);
    // 4, 0.5, left out, left out, 1.1.
    close(values("speed-up-unclamped", &facts)[1], 5.6 / 3.0);
    // 4 and 1.1 of four: exactly 1.10 counts.
    close(values("opt", &facts)[1], 0.5);
    assert_eq!(values("speed-up", &facts)[0], None);
    // The best of two needs two samples.
    facts.problems.truncate(5);
    let best = Metric::SpeedUp(2).score(&facts, &Settings::default());
    close(best.models[1].value, 11.0);
    assert_eq!(best.models[1].left_out.len(), 4);
}

#[test]
fn beyond_places_a_runtime_between_the_slowest_and_the_fastest() {
    // p0: 100 to 500: a 500 -> 0, b 200 -> 0.75, c 100 -> 1. p1: b alone -> 1, a wrong -> 0, c wrong -> 0.
    // p2: equal: 1 each. p3: two samples of a, 10 -> 1 and wrong -> 0: 0.5; b 20 -> 0; c a failure of ours: left out.
    let facts = facts(&["a", "b", "c"], "500 200 100\n- 30 -\n7 7 7\n10,- 20 ?");
    let linear = values("beyond", &facts);
    close(linear[0], (0.0 + 0.0 + 1.0 + 0.5) / 4.0);
    close(linear[1], (0.75 + 1.0 + 1.0 + 0.0) / 4.0);
    close(linear[2], (1.0 + 0.0 + 1.0) / 3.0);
    let passed = values("beyond-pass", &facts);
    close(passed[0], (0.0 + 1.0 + 1.0) / 3.0);
    // By logarithm p0 gives b ln(500/200) / ln 5.
    let log = values("beyond-log", &facts);
    close(
        log[1],
        ((2.5_f64.ln() / 5_f64.ln()) + 1.0 + 1.0 + 0.0) / 4.0,
    );
    // By rank p0 gives 0, 1/2, 1.
    close(
        values("beyond-rank", &facts)[1],
        (0.5 + 1.0 + 1.0 + 0.0) / 4.0,
    );
    let scores = "beyond"
        .parse::<Metric>()
        .unwrap()
        .score(&facts, &Settings::default());
    assert_eq!(
        scores.models[1].notes,
        ["2 problems have one right runtime only and count as 1"]
    );
}

#[test]
fn a_win_takes_ten_percent_and_rates_are_averaged_over_the_others() {
    // a against b: 90 of 100 wins (exactly 10%), 95 of 100 does not, 50 of 100 wins, p3 not both: 2/3.
    // a against c: p0 90 to 10, p1 95 to 10: 0/2 wins; 2/2 lost.
    let facts = facts(&["a", "b", "c"], "90 100 10\n95 100 10\n50 100 -\n1 - -");
    let win = values("win", &facts);
    close(win[0], (2.0 / 3.0 + 0.0) / 2.0);
    close(values("lose", &facts)[0], (0.0 + 1.0) / 2.0);
    let matrix = win_matrix(&facts, 0.1);
    assert_eq!(
        matrix[2][0],
        Some(WinRate {
            rate: 1.0,
            problems: 2
        })
    );
    assert_eq!(matrix[0][0], None);
}

#[test]
fn eff_at_k_weighs_levels_and_stops_at_the_first_time_out() {
    let levels = |levels: &[f64], outcome| SampleFact {
        outcome,
        runtime: levels.iter().copied().reduce(f64::max),
        levels: levels.to_vec(),
        whole: Whole::default(),
        screened: false,
    };
    let facts = Facts {
        models: vec!["canonical".into(), "m".into()],
        problems: vec![ProblemFacts {
            id: "p".into(),
            samples: vec![
                vec![levels(&[1.0, 10.0, 20.0, 50.0], Outcome::Accepted)],
                vec![
                    // T = 100. Levels 1 to 3: (100 - 10)/90 = 1, (100 - 60)/80 = 0.5, (100 - 75)/50 = 0.5:
                    // (3 x 1 + 3 x 0.5 + 4 x 0.5) / 10 = 0.65.
                    levels(&[1.0, 10.0, 60.0, 75.0], Outcome::Accepted),
                    // Level 2 takes more than T: 0 from there on, though level 3 is fast: 3 x 1 / 10 = 0.3.
                    levels(&[1.0, 10.0, 120.0, 50.0], Outcome::Accepted),
                    // Ended by the limit at level 2: the same.
                    levels(&[1.0, 10.0], Outcome::TimedOut),
                    levels(&[], Outcome::Rejected),
                ],
            ],
        }],
        reference: Some(0),
        bases: Vec::new(),
    };
    // Sorted: 0, 0.3, 0.3, 0.65. k = 1: the mean. k = 2: the largest of two: C(r-1, 1) / C(4, 2) = 1/6, 2/6, 3/6.
    close(values("eff@1", &facts)[1], (0.0 + 0.3 + 0.3 + 0.65) / 4.0);
    close(
        values("eff@2", &facts)[1],
        (0.3 + 2.0 * 0.3 + 3.0 * 0.65) / 6.0,
    );
    close(values("eff@1", &facts)[0], 1.0);
    let five = Metric::EffAtK(5).score(&facts, &Settings::default());
    assert!(
        five.models[1]
            .refused
            .as_deref()
            .unwrap()
            .contains("needs 5")
    );
}

#[test]
fn dps_and_beats_compare_with_the_samples_of_the_reference() {
    // References 100, 110, 125 | 200 | 1000. m at 150: 2 of 5 (DPS), 2 of 3 clusters, 2 of 5 slower.
    let facts = facts(
        &["canonical", "m"],
        "1000,110,100,200,125 150\n10,10 10\n5 -\n- 7",
    );
    close(values("dps", &facts)[1], (0.4 + 1.0) / 2.0);
    close(values("dps-norm", &facts)[1], (2.0 / 3.0 + 1.0) / 2.0);
    close(values("beats", &facts)[1], (0.4 + 0.0) / 2.0);
}

#[test]
fn resources_are_relative_to_the_reference() {
    let sample = |time: f64, peak: f64, integral: f64| SampleFact {
        whole: Whole {
            peak_memory: Some(peak),
            memory_time: Some(integral),
        },
        ..SampleFact::accepted(Some(time))
    };
    let mut facts = facts(&["canonical", "m"], "1 1\n1 1\n- 1\n1 1");
    facts.problems[0].samples = vec![
        vec![sample(10.0, 4.0, 100.0)],
        vec![sample(20.0, 6.0, 50.0)],
    ];
    facts.problems[1].samples = vec![vec![sample(10.0, 1.0, 10.0)], vec![sample(10.0, 1.0, 30.0)]];
    // 2, 1, left out, 1; memory 1.5, 1, left out twice; integral 0.5, 3.
    close(values("net", &facts)[1], (2.0 + 1.0 + 1.0) / 3.0);
    close(values("nmu", &facts)[1], 1.25);
    close(values("ntmu", &facts)[1], 1.75);
    assert_eq!(values("net", &facts)[0], Some(1.0));
}

#[test]
fn what_needs_a_reference_is_refused_without_one() {
    let facts = facts(&["a", "b"], "1 2");
    for metric in [
        "net", "nmu", "ntmu", "dps", "dps-norm", "eff@1", "beats", "speed-up", "opt",
    ] {
        let scores = (metric.parse::<Metric>().unwrap()).score(&facts, &Settings::default());
        assert!(
            scores
                .models
                .iter()
                .all(|m| m.value.is_none() && m.refused.is_some()),
            "{metric}"
        );
    }
}

#[test]
fn aggregates_are_over_cases() {
    assert_eq!(Aggregate::Max.of(&[3, 9, 6]), Some(9.0));
    assert_eq!(Aggregate::Mean.of(&[3, 9, 6]), Some(6.0));
    assert_eq!(
        Aggregate::Sum.of(&[u64::MAX, u64::MAX]),
        Some(2.0 * u64::MAX as f64)
    );
    assert_eq!(Aggregate::Sum.of(&[]), None);
}

#[test]
fn orders_of_models_are_compared_with_less_is_better_turned_round() {
    let facts = facts(&["a", "b", "c"], "10 20 30\n10 20 30\n- 20 30");
    let settings = Settings::default();
    let runtime = Metric::NormalisedRuntime.score(&facts, &settings);
    let beyond = Metric::BeyondPass(Scale::Linear).score(&facts, &settings);
    let pass = Metric::PassAtK(1).score(&facts, &settings);
    let found = stability(&[
        ("runtime".into(), &runtime),
        ("beyond".into(), &beyond),
        ("pass".into(), &pass),
    ]);
    assert_eq!(found.len(), 3);
    // Beyond given pass: a 1, b (0.5 + 0.5 + 1) / 3, c 0: the order of the runtimes.
    close(found[0].kendall, 1.0);
    close(found[0].spearman, 1.0);
    // pass@1: a 2/3, b and c 1. Pairs: a-b and a-c discordant, b-c tied: -2 / sqrt(3 x 2).
    close(found[1].kendall, -2.0 / 6.0_f64.sqrt());
}
