//! How the host processor is told to compute as the guest's: libraries choose routines by what the processor can.

/// What the C library is told to leave out and to believe beyond x86-64-v3, for any level.
///
/// The preferences in the second half are those that it has for the Intel processors which the guest profiles name; the
/// cache sizes, on which it bases how it copies, are the guest's.
const EVERY_LEVEL: &str = "-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-ERMS,-FSRM,-RTM,Fast_Rep_String,\
Fast_Unaligned_Load,Fast_Unaligned_Copy,Prefer_PMINUB_for_stringop,-Prefer_No_VZEROUPPER";
/// What v2 leaves out besides.
const BEYOND_V2: &str = ",-AVX,-AVX2,-FMA,-FMA4,-F16C,-BMI1,-BMI2,-LZCNT,-MOVBE,-XSAVE,-XSAVEC,-AVX_Fast_Unaligned_Load";

/// The environment that both sides get: where nothing is to be left out, it changes nothing.
pub(crate) fn environment(v3: bool) -> Vec<(String, String)> {
    let beyond = if v3 { "" } else { BEYOND_V2 };
    let tunables = format!(
        "glibc.cpu.hwcaps={EVERY_LEVEL}{beyond}:glibc.cpu.x86_data_cache_size=0x8000:\
         glibc.cpu.x86_shared_cache_size=0x100000:glibc.cpu.x86_non_temporal_threshold=0xc0000"
    );
    let core = if v3 { "Haswell" } else { "Nehalem" };
    [
        ("PATH", "/usr/bin:/bin"),
        ("LC_ALL", "C"),
        ("HOME", "/tmp"),
        // Without, shells look it up in the host's list of users.
        ("SHELL", "/bin/sh"),
        // Without, the C library reads the host's zone.
        ("TZ", "UTC0"),
        // Lazy binding saves the registers in a way that depends on the processor.
        ("LD_BIND_NOW", "1"),
        ("GLIBC_TUNABLES", &tunables),
        ("OPENBLAS_CORETYPE", core),
        ("OPENBLAS_NUM_THREADS", "1"),
        ("OMP_NUM_THREADS", "1"),
        ("PYTHONHASHSEED", "0"),
        // The guest's clock makes the host's byte code look stale: both sides compile modules from their source.
        ("PYTHONPYCACHEPREFIX", "/nonexistent"),
        ("PERL_HASH_SEED", "0"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// The features that numpy is told to leave out, of those for which it has routines: none of them is in v2, and the
/// first ones are in v3.
pub(crate) fn without_numpy_features(v3: bool, dispatched: &str) -> String {
    const OF_V3: &[&str] = &["AVX", "F16C", "FMA3", "AVX2", "X86_V3"];
    dispatched
        .split_whitespace()
        .filter(|feature| !(v3 && OF_V3.contains(feature)))
        .collect::<Vec<_>>()
        .join(" ")
}
