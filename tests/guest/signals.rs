//! Signals as programs use them, against the host.
use crate::support::program::{compiled, native};
use crate::support::tickmark::Tickmark;
use serde_json::json;

#[test]
fn handlers_frames_masks_and_timers_agree_with_the_host() {
    let wide = &["-O2", "-static", "-mavx2"];
    for flags in [&["-O1", "-static"][..], &["-O2", "-pie"], wide] {
        if flags == wide && !std::is_x86_feature_detected!("avx2") {
            println!("skipped: this host has no AVX2");
            continue;
        }
        let Some(program) = compiled("signals.c", flags) else {
            return;
        };
        let expected = native(&program, &[], "");
        assert!(expected.ends_with("alarm 0 10\n"), "{expected}");
        for machine in ["atomic", "simple"] {
            let level = if flags == wide {
                "x86-64-v3"
            } else {
                "x86-64-v2"
            };
            let arguments = format!(
                "run --json --machine {machine} --set guest.profile={level} --max-stack 8 --"
            );
            let program = program.to_string_lossy();
            let run = || Tickmark::new(arguments.split(' ').chain([&*program])).json();
            let result = run();
            assert_eq!(result["stdout"].as_str(), Some(&*expected), "{result}");
            assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
            // Timers act at the same instruction every time.
            assert_eq!(run()["counters"], result["counters"]);
        }
    }
}

#[test]
fn what_is_waited_for_through_descriptors_agrees_with_the_host_and_repeats() {
    for flags in [
        &["-O1", "-w", "-static", "-pthread"][..],
        &["-O2", "-w", "-pthread"],
    ] {
        let Some(program) = compiled("events.c", flags) else {
            return;
        };
        let expected = native(&program, &[], "");
        assert!(expected.ends_with("executed 4\n"), "{expected}");
        for machine in ["atomic", "simple"] {
            let run = || Tickmark::run(machine, &program, &[]).json();
            let result = run();
            assert_eq!(result["stdout"].as_str(), Some(&*expected), "{result}");
            assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
            assert_eq!(result["unanswered_system_calls"], json!([]), "{result}");
            assert_eq!(run()["counters"], result["counters"]);
        }
    }
}
