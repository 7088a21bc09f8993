//! The shared libraries that a dynamic program needs, found by reading ELF files: `ldd` would execute them.
use super::ContentHash;
use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, FileHeader64, PT_INTERP};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, StringTable};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

/// A file of the host under the path where a guest finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// Absolute path in the guest.
    pub guest: String,
    /// Where it is on the host.
    pub host: PathBuf,
    /// Hash of its content.
    pub content_hash: ContentHash,
}

impl GuestFile {
    /// Path in the guest and content, as one text for hashing; where it lies on the host does not matter.
    pub(super) fn identity(&self) -> String {
        format!("{}={}", self.guest, self.content_hash)
    }
}

/// What an ELF file says about dynamic linking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dynamic {
    /// Path of the dynamic linker.
    pub(super) interpreter: Option<String>,
    /// Names of the libraries that it needs, in order.
    pub(super) needed: Vec<String>,
    /// Folders in which it wants them to be looked for.
    pub(super) run_path: Vec<String>,
}

/// Reads the dynamic section. Static programs have an empty one.
///
/// # Errors
/// A text that says what is wrong with the file.
pub(super) fn read_dynamic(bytes: &[u8]) -> Result<Dynamic, String> {
    let malformed = |error: object::read::Error| format!("not a readable x86-64 ELF file: {error}");
    let header = FileHeader64::<Endianness>::parse(bytes).map_err(malformed)?;
    let endian = header.endian().map_err(malformed)?;
    let segments = header.program_headers(endian, bytes).map_err(malformed)?;
    let mut dynamic = Dynamic::default();
    let text = |bytes: &[u8]| {
        String::from_utf8_lossy(bytes)
            .trim_end_matches('\0')
            .to_owned()
    };
    for segment in segments {
        if segment.p_type(endian) == PT_INTERP {
            dynamic.interpreter = segment.data(endian, bytes).ok().map(text);
        }
    }
    let Some(entries) = segments
        .iter()
        .find_map(|segment| segment.dynamic(endian, bytes).ok()?)
    else {
        return Ok(dynamic);
    };
    let value = |tag| {
        entries
            .iter()
            .find(|entry| entry.d_tag(endian) == tag)
            .map(|entry| entry.d_val(endian))
    };
    let (Some(address), Some(size)) = (value(object::elf::DT_STRTAB), value(object::elf::DT_STRSZ))
    else {
        return Ok(dynamic);
    };
    // The table is named by address; the segment that holds it tells the place in the file.
    let Some(strings) = segments.iter().find_map(|segment| {
        segment
            .data_range(endian, bytes, address, size)
            .ok()
            .flatten()
    }) else {
        return Err("the dynamic string table lies outside of the file".to_owned());
    };
    let strings = StringTable::new(strings, 0, strings.len() as u64);
    for entry in entries {
        let tag = entry.d_tag(endian);
        let name = || {
            u32::try_from(entry.d_val(endian))
                .ok()
                .and_then(|at| strings.get(at).ok())
                .map(text)
        };
        if tag == DT_NEEDED {
            dynamic.needed.extend(name());
        } else if tag == DT_RPATH || tag == DT_RUNPATH {
            let path = name().unwrap_or_default();
            dynamic.run_path.extend(
                path.split(':')
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned),
            );
        }
    }
    Ok(dynamic)
}

/// Finds libraries where the dynamic linker would.
#[derive(Clone, Debug)]
pub(super) struct Finder {
    /// The folders that need no cache, in the linker's order, on the host.
    standard: Vec<PathBuf>,
    /// Library name to path, from `/etc/ld.so.cache`.
    cache: BTreeMap<String, PathBuf>,
}

/// A library of a program: its name and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) host: PathBuf,
}

impl Finder {
    /// Reads this host's configuration.
    pub(super) fn of_host() -> Self {
        let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
        let standard = ["/lib/", "/usr/lib/"]
            .iter()
            .map(|base| PathBuf::from(format!("{base}{multiarch}")))
            .chain(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from))
            .filter(|folder| folder.is_dir())
            .collect();
        let cache = std::fs::read("/etc/ld.so.cache").unwrap_or_default();
        Self {
            standard,
            cache: read_cache(&cache),
        }
    }

    /// The folder in which a program without any run path finds its libraries: that of the C library.
    pub(super) fn default_folder(&self) -> PathBuf {
        self.find_in("libc.so.6", &self.standard)
            .and_then(|path| path.parent().map(Path::to_owned))
            .unwrap_or_else(|| PathBuf::from("/lib64"))
    }

    fn find_in(&self, name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
        folders.iter().map(|folder| folder.join(name)).find(|path| {
            // A library of another architecture may have the same name.
            path.is_file() && std::fs::read(path).is_ok_and(|bytes| read_dynamic(&bytes).is_ok())
        })
    }

    fn find(&self, name: &str, run_path: &[String], origin: &Path) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(|path| path.is_file());
        }
        let origin = origin.to_string_lossy();
        let run_path: Vec<_> = run_path
            .iter()
            .map(|part| {
                PathBuf::from(
                    part.replace("${ORIGIN}", &origin)
                        .replace("$ORIGIN", &origin),
                )
            })
            .collect();
        self.find_in(name, &run_path)
            .or_else(|| self.cache.get(name).filter(|path| path.is_file()).cloned())
            .or_else(|| self.find_in(name, &self.standard))
    }

    /// All libraries that `roots` need, directly or not, in breadth-first order, each once; and the names of those
    /// that are not there.
    pub(super) fn resolve(&self, roots: &[(PathBuf, Dynamic)]) -> (Vec<Found>, Vec<String>) {
        let mut found: Vec<Found> = Vec::new();
        let mut missing = Vec::new();
        let mut queue: VecDeque<(PathBuf, Dynamic, Vec<String>)> = roots
            .iter()
            .map(|(path, dynamic)| (path.clone(), dynamic.clone(), dynamic.run_path.clone()))
            .collect();
        while let Some((path, dynamic, run_path)) = queue.pop_front() {
            let origin = path.parent().unwrap_or(Path::new("/")).to_owned();
            for name in dynamic.needed {
                if found.iter().any(|known| known.name == name) || missing.contains(&name) {
                    continue;
                }
                let Some(host) = self.find(&name, &run_path, &origin) else {
                    missing.push(name);
                    continue;
                };
                let dynamic = std::fs::read(&host)
                    .ok()
                    .and_then(|bytes| read_dynamic(&bytes).ok())
                    .unwrap_or_default();
                // A library's own run path comes first; the program's is inherited as RPATH would be.
                let run_path = dynamic
                    .run_path
                    .iter()
                    .chain(&run_path)
                    .cloned()
                    .collect::<Vec<_>>();
                found.push(Found {
                    name,
                    host: host.clone(),
                });
                queue.push_back((host, dynamic, run_path));
            }
        }
        (found, missing)
    }
}

/// Names and paths in glibc's `ld.so.cache` (the format of `dl-cache.h`, version 1.1); what is not understood is left
/// out.
fn read_cache(bytes: &[u8]) -> BTreeMap<String, PathBuf> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const ENTRY_BYTES: usize = 24;
    /// `FLAG_ELF_LIBC6` with the bits of x86-64.
    const X86_64: u32 = 0x0303;
    let mut names = BTreeMap::new();
    let Some(start) = bytes
        .windows(MAGIC.len())
        .position(|window| window == MAGIC)
    else {
        return names;
    };
    let bytes = &bytes[start..];
    let word = |at: usize| {
        bytes
            .get(at..at + 4)
            .and_then(|word| word.try_into().ok())
            .map(u32::from_le_bytes)
    };
    let text = |at: u32| {
        let from = bytes.get(usize::try_from(at).ok()?..)?;
        let length = from.iter().position(|&byte| byte == 0)?;
        std::str::from_utf8(&from[..length]).ok()
    };
    // Behind the magic: number of entries, size of strings, flags, extension offset, three unused words.
    let count = usize::try_from(word(MAGIC.len()).unwrap_or(0)).unwrap_or(0);
    for index in 0..count {
        let at = 48 + index * ENTRY_BYTES;
        let (Some(flags), Some(key), Some(value)) = (word(at), word(at + 4), word(at + 8)) else {
            break;
        };
        let hardware = word(at + 20).unwrap_or(0) | word(at + 16).unwrap_or(0);
        // Entries for newer processors come beside the plain one, which every guest can run.
        if flags == X86_64
            && hardware == 0
            && let (Some(name), Some(path)) = (text(key), text(value))
        {
            names
                .entry(name.to_owned())
                .or_insert_with(|| PathBuf::from(path));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_entry_gives_its_path_and_a_truncated_one_nothing() {
        let mut bytes = b"glibc-ld.so.cache1.1".to_vec();
        let strings = 48 + 24;
        for word in [
            1u32,
            0,
            0,
            0,
            0,
            0,
            0,
            0x0303,
            strings,
            strings + 5,
            0,
            0,
            0,
        ] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(b"liba\0/x/liba\0");
        assert_eq!(
            read_cache(&bytes).get("liba"),
            Some(&PathBuf::from("/x/liba"))
        );
        for length in 0..bytes.len() {
            assert!(read_cache(&bytes[..length]).is_empty(), "{length}");
        }
    }

    #[test]
    fn our_own_test_program_needs_the_c_library_and_nothing_is_missing() {
        let own = std::env::current_exe().unwrap();
        let dynamic = read_dynamic(&std::fs::read(&own).unwrap()).unwrap();
        assert!(
            dynamic.needed.contains(&"libc.so.6".to_owned()),
            "{dynamic:?}"
        );
        assert!(dynamic.interpreter.is_some());
        let (found, missing) = Finder::of_host().resolve(&[(own, dynamic)]);
        assert_eq!(missing, Vec::<String>::new());
        assert!(
            found
                .iter()
                .any(|library| library.name == "libc.so.6" && library.host.is_file())
        );
    }

    #[test]
    fn what_is_not_elf_is_refused() {
        assert!(read_dynamic(b"#!/bin/sh\n").is_err());
        assert!(
            read_dynamic(&std::fs::read(std::env::current_exe().unwrap()).unwrap()[..80]).is_err()
        );
    }
}
