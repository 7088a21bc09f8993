//! Compiles the shim against the user's gem5, binds it and links it; says in one sentence what is missing.
use std::env;
use std::path::{Path, PathBuf};

/// gem5's source tree, with the headers in `src`.
const TREE: &str = "TICKMARK_GEM5_TREE";
/// The library, `libgem5_fast.so`, `libgem5_fast.a` or one of their relatives, in its build folder.
const LIBRARY: &str = "TICKMARK_LIBGEM5";
/// Names of system libraries, with spaces between them, that a static library of gem5 wants besides zlib.
const FURTHER: &str = "TICKMARK_LIBGEM5_LINKS";

fn main() {
    println!("cargo::rerun-if-changed=shim.h");
    println!("cargo::rerun-if-changed=shim.cc");
    for name in [TREE, LIBRARY, FURTHER, "LIBCLANG_PATH"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if let Err(what) = build() {
        // Cargo shows errors of build scripts in this form, without a backtrace.
        println!("cargo::error={what}");
    }
}

fn build() -> Result<(), String> {
    let library = env::var_os(LIBRARY).map(PathBuf::from).ok_or(format!(
        "the feature `gem5` needs {LIBRARY}, the path of a libgem5 that was built with \
         `scons --with-cxx-config --without-python build/X86/libgem5_fast.so`, and it is not set"
    ))?;
    if !library.is_file() {
        return Err(format!(
            "the library that {LIBRARY} names, `{}`, is not there",
            library.display()
        ));
    }
    let folder = library.parent().unwrap_or(Path::new("."));
    let ending = library.extension().and_then(|ending| ending.to_str());
    let name = library
        .file_stem()
        .and_then(|stem| stem.to_str()?.strip_prefix("lib"))
        .filter(|_| matches!(ending, Some("so" | "a")))
        .ok_or(format!(
            "the library that {LIBRARY} names, `{}`, is called neither lib*.so nor lib*.a",
            library.display()
        ))?;
    // build/X86/libgem5_fast.so lies two folders below the tree.
    let tree = env::var_os(TREE)
        .map(PathBuf::from)
        .or_else(|| Some(folder.parent()?.parent()?.to_owned()))
        .unwrap_or_default();
    for (header, place) in [
        ("sim/cxx_manager.hh", tree.join("src")),
        ("params/Root.hh", folder.to_owned()),
    ] {
        if !place.join(header).is_file() {
            return Err(format!(
                "gem5's header `{header}` is not in `{}`: set {TREE} to the source tree in which the library was built",
                place.display()
            ));
        }
    }
    if libclang().is_none() {
        return Err(
            "bindgen needs libclang, which is not on this system (Debian, Ubuntu: `apt install libclang-dev`; or set \
             LIBCLANG_PATH to its folder)"
                .to_owned(),
        );
    }

    let fast = name.contains("fast");
    let mut shim = cc::Build::new();
    shim.cpp(true)
        .std("c++17")
        .file("shim.cc")
        .include(folder)
        .include(tree.join("src"))
        .include(tree.join("ext"))
        // As the library was compiled: the layout of its objects depends on it.
        .define("TRACING_ON", if fast { "0" } else { "1" })
        .warnings(false);
    if fast {
        shim.define("NDEBUG", None);
    }
    shim.try_compile("gem5_shim")
        .map_err(|error| format!("the shim does not compile against this gem5: {error}"))?;
    println!("cargo::rustc-link-search=native={}", folder.display());
    if ending == Some("a") {
        link_archive(folder, name);
    } else {
        println!("cargo::rustc-link-lib=dylib={name}");
    }
    println!("cargo::metadata=folder={}", folder.display());

    let out = env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .ok_or("cargo names no folder for output")?;
    bindgen::Builder::default()
        .header("shim.h")
        .allowlist_item("tickmark_gem5.*")
        .generate()
        .map_err(|error| format!("bindgen cannot read shim.h: {error}"))?
        .write_to_file(out.join("bindings.rs"))
        .map_err(|error| format!("the bindings cannot be written: {error}"))
}

/// Links a static libgem5. Its objects register themselves when the program starts, so that all of them are wanted; what
/// the shared library holds of other projects lies beside it.
fn link_archive(folder: &Path, name: &str) {
    println!("cargo::rustc-link-lib=static:+whole-archive,-bundle={name}");
    let beside = std::fs::read_dir(folder.join("ext"))
        .into_iter()
        .flatten()
        .flatten();
    let mut archives: Vec<PathBuf> = beside
        .filter_map(|entry| std::fs::read_dir(entry.path()).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "a"))
        .collect();
    archives.sort();
    for archive in archives {
        let stem = archive.file_stem().and_then(|stem| stem.to_str());
        if let (Some(name), Some(folder)) = (
            stem.and_then(|stem| stem.strip_prefix("lib")),
            archive.parent(),
        ) {
            println!("cargo::rustc-link-search=native={}", folder.display());
            println!("cargo::rustc-link-lib=static:-bundle={name}");
        }
    }
    let further = env::var(FURTHER).unwrap_or_default();
    for name in ["z", "stdc++"]
        .into_iter()
        .chain(further.split_whitespace())
    {
        println!("cargo::rustc-link-lib=dylib={name}");
    }
}

/// A libclang, where bindgen would find one.
fn libclang() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = env::var_os("LIBCLANG_PATH")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    folders.extend(
        [
            "/usr/lib",
            "/usr/lib64",
            "/usr/local/lib",
            "/usr/lib/x86_64-linux-gnu",
            "/usr/lib/aarch64-linux-gnu",
        ]
        .map(PathBuf::from),
    );
    for entry in std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten()
    {
        if entry.file_name().to_string_lossy().starts_with("llvm") {
            folders.push(entry.path().join("lib"));
        }
    }
    folders.into_iter().find_map(|folder| {
        let is_libclang = |name: &str| {
            name == "libclang.so"
                || name.starts_with("libclang.so.")
                || name.starts_with("libclang-") && name.contains(".so")
        };
        std::fs::read_dir(folder)
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| {
                path.file_name()
                    .and_then(|name| name.to_str())
                    .is_some_and(is_libclang)
            })
    })
}
