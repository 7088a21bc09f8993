//! Settings of the host that disturb measurements: read and reported, never changed.
use serde::Serialize;
use std::path::Path;

/// One setting of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostSetting {
    /// What it is.
    pub name: &'static str,
    /// Its value, or that it cannot be read.
    pub value: String,
    /// What it does to measurements and what would be better, where it disturbs them.
    pub warning: Option<&'static str>,
}

/// The settings of this host, in the order of reports.
pub fn host_settings() -> Vec<HostSetting> {
    settings_under(Path::new("/"))
}

/// The same, from the files below another root.
fn settings_under(root: &Path) -> Vec<HostSetting> {
    let read = |path: &str| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        Some(text.trim().to_owned())
    };
    let information = read("proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = information.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let setting = |name, value: Option<String>, warning: Option<&'static str>| HostSetting {
        name,
        value: value.unwrap_or_else(|| "unknown".to_owned()),
        warning,
    };
    let governor = read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let turbo = read("sys/devices/system/cpu/intel_pstate/no_turbo")
        .map(|off| if off == "1" { "off" } else { "on" })
        .or_else(|| {
            let boost = read("sys/devices/system/cpu/cpufreq/boost")?;
            Some(if boost == "1" { "on" } else { "off" })
        });
    let threads = read("sys/devices/system/cpu/smt/active")
        .map(|active| if active == "1" { "on" } else { "off" });
    let load =
        read("proc/loadavg").and_then(|text| text.split_whitespace().next().map(ToOwned::to_owned));
    let busy =
        (load.as_deref().and_then(|load| load.parse::<f64>().ok())).is_some_and(|load| load > 0.5);
    let hypervisor =
        (field("flags").unwrap_or_default().split_whitespace()).any(|flag| flag == "hypervisor");
    vec![
        setting("processor", field("model name"), None),
        setting(
            "virtualisation",
            Some(
                if hypervisor {
                    "virtual machine"
                } else {
                    "none seen"
                }
                .to_owned(),
            ),
            hypervisor.then_some("neighbours on the same hardware disturb times"),
        ),
        setting(
            "frequency governor",
            governor.clone(),
            (governor
                .as_deref()
                .is_some_and(|name| name != "performance"))
            .then_some("the frequency follows the load; `performance` keeps it"),
        ),
        setting(
            "turbo",
            turbo.map(ToOwned::to_owned),
            (turbo == Some("on"))
                .then_some("the frequency depends on temperature and on other cores"),
        ),
        setting(
            "simultaneous multithreading",
            threads.map(ToOwned::to_owned),
            (threads == Some("on")).then_some("a sibling thread takes part of the core"),
        ),
        setting(
            "load average, one minute",
            load,
            busy.then_some("something else runs; wall time counts it, CPU time feels it"),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_disturbs_is_told_and_what_cannot_be_read_is_unknown() {
        let root = std::env::temp_dir().join(format!("tickmark-host-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "proc/cpuinfo",
            "model name\t: Test 9000\nflags\t\t: fpu hypervisor sse\n",
        );
        write("proc/loadavg", "1.50 1.00 0.50 1/100 1\n");
        write(
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave\n",
        );
        write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
        let settings = settings_under(&root);
        std::fs::remove_dir_all(&root).unwrap();
        let shown: Vec<_> = (settings.iter())
            .map(|setting| (setting.value.as_str(), setting.warning.is_some()))
            .collect();
        assert_eq!(
            shown,
            [
                ("Test 9000", false),
                ("virtual machine", true),
                ("powersave", true),
                ("off", false),
                ("unknown", false),
                ("1.50", true),
            ]
        );
    }
}
