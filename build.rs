//! Under the feature `gem5`: lets the program find libgem5 where it was linked. Nothing else.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // gem5-sys says where the library lies; without the feature there is no such variable.
    if let Ok(folder) = std::env::var("DEP_GEM5_SHIM_FOLDER") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
        println!("cargo::rustc-env=TICKMARK_LIBGEM5_FOLDER={folder}");
    }
}
