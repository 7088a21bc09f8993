//! Precompiled headers: what stands before every function and class is the same for all candidates, and compiling it
//! anew takes longer than the candidate.
//!
//! The bytes of artifacts do not depend on it (a test compares them): a header that cannot be made, or that the
//! compiler does not want, only costs time. It is kept under the hash of everything that decides it, with the hash of
//! its own bytes, which is checked once a process: a damaged one must not become a candidate's compile error.
use super::ContentHash;
use super::toolchain::{CppCompiler, compiler_environment};
use crate::process::{self, Ending, Isolation, Limits, PrivateFolder, Request};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The header's name; the precompiled one stands beside it with `.gch` behind the name, as gcc looks for it.
pub(super) const HEADER: &str = "prelude.hpp";

/// The precompiled headers of a compiler.
#[derive(Clone, Debug, Default)]
pub(super) struct Precompiled {
    /// Where they are kept; `None`: there are none.
    folder: Option<PathBuf>,
    /// Those of this process, by key; `None` for one that cannot be made.
    known: Arc<Mutex<BTreeMap<String, Option<PathBuf>>>>,
}

impl Precompiled {
    /// Kept under `folder`.
    pub(super) fn under(folder: Option<PathBuf>) -> Self {
        Self {
            folder,
            known: Arc::default(),
        }
    }

    /// The precompiled form of a header for these flags, made if need be.
    pub(super) fn get(
        &self,
        compiler: &CppCompiler,
        flags: &[String],
        header: &str,
    ) -> Option<PathBuf> {
        // Clang names them otherwise.
        let folder = self.folder.as_ref().filter(|_| compiler.is_gcc())?;
        let identity = compiler.fingerprint(flags, ContentHash::of(header.as_bytes()));
        let key = identity.content_hash().to_string();
        // Held while one is made: others would only make the same.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = known.get(&key) {
            return path.clone();
        }
        let path = folder.join("precompiled").join(&key);
        let path = sound(&path).or_else(|| {
            make(compiler, flags, header, &path)?;
            sound(&path)
        });
        known.insert(key, path.clone());
        path
    }
}

/// The file of a folder, if its bytes are those that were written.
fn sound(folder: &Path) -> Option<PathBuf> {
    let path = folder.join("header.gch");
    let sum = std::fs::read_to_string(folder.join("sum")).ok()?;
    (ContentHash::of_file(&path).ok()?.to_string() == sum).then_some(path)
}

/// Makes a header and puts it into `folder` as a whole; `None` where something stood in the way.
fn make(compiler: &CppCompiler, flags: &[String], header: &str, folder: &Path) -> Option<()> {
    let private = PrivateFolder::new().ok()?;
    std::fs::write(private.path().join(HEADER), header).ok()?;
    let output = format!("{HEADER}.gch");
    let compiling =
        |flag: &&String| !flag.starts_with("-Wl,") && *flag != "-static" && *flag != "-pie";
    let mut arguments: Vec<_> = flags.iter().filter(compiling).map(Into::into).collect();
    arguments.extend(["-x", "c++-header", HEADER, "-o", &output].map(Into::into));
    let finished = process::run(Request {
        program: compiler.path.clone(),
        name: None,
        arguments,
        environment: compiler_environment(&compiler.path, private.path()),
        folder: private.path().to_owned(),
        stdin: b"",
        limits: Limits {
            wall: Duration::from_secs(600),
            cpu: Duration::from_secs(300),
            memory_bytes: None,
            address_space_bytes: None,
            file_bytes: 1 << 30,
            stack_bytes: 64 << 20,
            output_bytes: 1 << 20,
        },
        isolation: Isolation {
            readable: compiler.readable.clone(),
            writable: vec![private.path().to_owned(), PathBuf::from("/dev/null")],
            ..Isolation::default()
        },
        channel: None,
        counting: process::Counting::default(),
    })
    .ok()?;
    if finished.ending != (Ending::Exited { code: 0 }) {
        return None;
    }
    let draft = folder.with_extension(format!("{}.draft", std::process::id()));
    let _ = std::fs::remove_dir_all(&draft);
    std::fs::create_dir_all(&draft).ok()?;
    let made = private.path().join(&output);
    std::fs::copy(&made, draft.join("header.gch")).ok()?;
    let sum = ContentHash::of_file(&made).ok()?.to_string();
    std::fs::write(draft.join("sum"), sum).ok()?;
    // A damaged one makes way; one that another process has put there meanwhile is as good as this.
    if sound(folder).is_none() {
        let _ = std::fs::remove_dir_all(folder);
        let _ = std::fs::rename(&draft, folder);
    }
    let _ = std::fs::remove_dir_all(&draft);
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::artifact::{Artifact, BuildOptions, Linking, Toolchain, ToolchainOptions, build};
    use crate::candidate::Candidate;
    use crate::dataset::{Target, signature};

    #[test]
    fn artifacts_are_the_same_bytes_with_and_without_and_damage_is_repaired() {
        let folder = std::env::temp_dir().join(format!("tickmark-gch-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let with = || {
            Toolchain::new(ToolchainOptions {
                cache: Some(folder.clone()),
                ..ToolchainOptions::default()
            })
        };
        let class = "class Solution {\npublic:\n  static int calls;\n  map<string, int> f(vector<string>& words) {\n    \
                     unordered_map<string, int> m; for (auto& w : words) ++m[w]; ++calls;\n    \
                     auto less = [](auto& a, auto& b) { return a < b; }; sort(words.begin(), words.end(), less);\n    \
                     return {m.begin(), m.end()};\n  }\n};\nint Solution::calls = 0;";
        let candidates = [
            Candidate::CppCalls {
                source: class.into(),
                definitions: String::new(),
                signature: signature::read_cpp(class, &Target::Method("f".into())),
            },
            Candidate::CppFunction {
                source: "#include <regex>\nusing namespace std;\nnamespace { struct S { string s; } x{__FILE__}; }\n\
                         int f(int a) { return regex_match(x.s, regex(\"a+\")) + a; }"
                    .into(),
                entry_point: "f".into(),
                test: "int main() { assert(f(1) == 1); }".into(),
            },
        ];
        let bytes = |toolchain: &Toolchain, candidate: &Candidate, linking: Linking| {
            let options = BuildOptions {
                linking,
                ..BuildOptions::default()
            };
            match build(candidate, toolchain, &options) {
                Ok(Artifact::Elf(elf)) => (elf.bytes, elf.fingerprint),
                other => panic!("{other:?}"),
            }
        };
        let (plain, precompiled) = (Toolchain::default(), with());
        for candidate in &candidates {
            for linking in [Linking::Static, Linking::DynamicPie] {
                let expected = bytes(&plain, candidate, linking);
                assert!(bytes(&precompiled, candidate, linking) == expected);
            }
        }
        let kept: Vec<_> = std::fs::read_dir(folder.join("precompiled"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        if !plain.cpp().unwrap().is_gcc() {
            return;
        }
        assert_eq!(kept.len(), 4);
        for path in &kept {
            let file = path.join("header.gch");
            let mut damaged = std::fs::read(&file).unwrap();
            let middle = damaged.len() / 2;
            damaged[middle..middle + 4096].fill(0xff);
            std::fs::write(&file, damaged).unwrap();
        }
        let expected = bytes(&plain, &candidates[0], Linking::Static);
        assert!(bytes(&with(), &candidates[0], Linking::Static) == expected);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
