//! Signals as programs use them, against the host.
use crate::support::program::{compiled, native};
use crate::support::tickmark::Tickmark;
use serde_json::json;

#[test]
fn handlers_frames_masks_and_timers_agree_with_the_host() {
    for flags in [&["-O1", "-static"][..], &["-O2", "-pie"]] {
        let Some(program) = compiled("signals.c", flags) else {
            return;
        };
        let expected = native(&program, &[], "");
        assert!(expected.ends_with("alarm 0 10\n"), "{expected}");
        for machine in ["atomic", "simple"] {
            let arguments = ["run", "--json", "--machine", machine, "--max-stack", "8", "--"];
            let program = program.to_string_lossy();
            let run = || Tickmark::new(arguments.iter().copied().chain([&*program])).json();
            let result = run();
            assert_eq!(result["stdout"].as_str(), Some(&*expected), "{result}");
            assert_eq!(result["exit"], json!({"kind": "exited", "code": 0}));
            // Timers act at the same instruction every time.
            assert_eq!(run()["counters"], result["counters"]);
        }
    }
}
