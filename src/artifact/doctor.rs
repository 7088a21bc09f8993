//! What this host has and lacks, as facts for `tickmark doctor`.
use super::Toolchain;
use super::toolchain::look_up;
use crate::process::{self, Support};
use std::path::Path;

/// One thing that tickmark uses.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Fact {
    /// What it is.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// What was found; `None`: missing.
    pub found: Option<String>,
    /// How to get it where it is missing.
    pub remedy: Option<String>,
    /// Without it something that was asked for fails; else it is only less safe or less complete.
    pub required: bool,
}

/// Looks for everything that tickmark uses.
pub fn facts(toolchain: &Toolchain) -> Vec<Fact> {
    let Support { landlock, seccomp } = process::support();
    let mut facts = Vec::new();
    let mut add = |name, purpose, required, found: Result<String, String>| {
        let (found, remedy) = match found {
            Ok(found) => (Some(found), None),
            Err(remedy) => (None, Some(remedy)),
        };
        facts.push(Fact {
            name,
            purpose,
            found,
            remedy,
            required,
        });
    };
    let compiler = toolchain.cpp();
    add(
        "C++ compiler",
        "builds C++ candidates",
        true,
        compiler
            .as_ref()
            .map(|compiler| {
                format!(
                    "{} ({}, {})",
                    compiler.path.display(),
                    compiler.version,
                    compiler.target
                )
            })
            .map_err(ToString::to_string),
    );
    let archives = match &compiler {
        Ok(compiler) if compiler.links_statically => {
            Ok("libstdc++.a, libc.a, libm.a, libgcc.a".to_owned())
        }
        _ => Err(
            "install the static libraries (Debian, Ubuntu: part of `g++` and `libc6-dev`; Fedora: \
                  `dnf install libstdc++-static glibc-static`), or link dynamically"
                .to_owned(),
        ),
    };
    add(
        "static C++ libraries",
        "link C++ candidates statically, the default",
        true,
        archives,
    );
    let python = toolchain.python();
    add(
        "Python interpreter",
        "runs Python candidates",
        true,
        python
            .as_ref()
            .map(|python| format!("{} ({})", python.executable.display(), python.version))
            .map_err(ToString::to_string),
    );
    if let Ok(python) = &python
        && !python.missing_libraries.is_empty()
    {
        add(
            "libraries of Python modules",
            "import those modules",
            false,
            Err(format!("install {}", python.missing_libraries.join(", "))),
        );
    }
    add(
        "Landlock",
        "keeps compilers and native runs from files, network and other processes",
        false,
        match landlock {
            0 => Err(
                "use Linux 5.13 or newer with `landlock` in the boot parameter `lsm=`".to_owned(),
            ),
            version => Ok(format!("interface {version}")),
        },
    );
    add(
        "seccomp",
        "keeps compilers and native runs from system calls that they do not need",
        false,
        if seccomp {
            Ok("available".to_owned())
        } else {
            Err("use a kernel with CONFIG_SECCOMP_FILTER".to_owned())
        },
    );
    for (event, result) in process::probe() {
        let purpose = if event.is_hardware() {
            "a counter of native runs, for `compare --metric` and `agree --metric`"
        } else {
            "a clock of native runs"
        };
        let found = result
            .map(|()| "counted".to_owned())
            .map_err(|absence| format!("{absence}; {}", absence.remedy()));
        add(event.name(), purpose, false, found);
    }
    add(
        "valgrind",
        "is the ruler of the speed benchmarks; nothing else needs it",
        false,
        look_up(Path::new("valgrind"))
            .map(|path| path.display().to_string())
            .ok_or_else(|| "install it (Debian, Ubuntu: `apt install valgrind`)".to_owned()),
    );
    facts
}

#[cfg(test)]
mod tests {
    use super::super::ToolchainOptions;
    use super::*;

    #[test]
    fn each_fact_is_found_or_has_a_remedy() {
        for fact in facts(&Toolchain::default()) {
            assert_ne!(fact.found.is_some(), fact.remedy.is_some(), "{fact:?}");
        }
    }

    #[test]
    fn a_compiler_that_is_not_there_is_missing_with_what_to_do() {
        let options = ToolchainOptions {
            compiler: Some("no-such-compiler".into()),
            python: Some("/no/such/python".into()),
            cache: None,
        };
        let facts = facts(&Toolchain::new(options));
        for name in ["C++ compiler", "static C++ libraries", "Python interpreter"] {
            let fact = facts.iter().find(|fact| fact.name == name).unwrap();
            assert!(
                fact.required && fact.found.is_none() && fact.remedy.is_some(),
                "{fact:?}"
            );
        }
        assert!(
            facts[0]
                .remedy
                .as_ref()
                .unwrap()
                .contains("`no-such-compiler`")
        );
    }
}
