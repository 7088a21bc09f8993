//! Named guest profiles: what CPUID answers, where things lie in memory, and the clock's first reading.
use crate::sim::isa::exec::xsave::{AVX_AT, AVX_SIZE, XCR0};
use crate::sim::isa::state::{CpuidLeaf, answer};
use crate::sim::memory::USER_END;
use std::sync::Arc;

/// What a guest sees of its machine besides the timing.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name, as the machine file gives it.
    pub name: &'static str,
    /// What CPUID answers. It never exceeds what the simulator implements.
    pub cpuid: Arc<[CpuidLeaf]>,
    /// Where position-independent executables go (rounded down to their alignment).
    pub pie_base: u64,
    /// Mappings are placed below this address, or below the stack's guard zone where that is lower.
    pub mmap_top: u64,
    /// First address beyond the stack.
    pub stack_top: u64,
    /// `AT_HWCAP2`.
    pub hwcap2: u64,
    /// `AT_MINSIGSTKSZ`, bytes.
    pub minimum_signal_stack: u64,
    /// `uname -r`.
    pub kernel_release: &'static str,
    /// CLOCK_REALTIME at the start, seconds since 1970; also the time stamp of every file.
    pub start_time_s: u64,
    /// CLOCK_MONOTONIC at the start, seconds.
    pub uptime_s: u64,
    /// How the initial stack is laid out.
    pub stack_layout: StackLayout,
    /// Most address space that the stack takes: where mappings begin does not follow a larger limit.
    pub stack_bytes: u64,
    /// `rseq` answers success without doing anything, as gem5 does; glibc then believes in it.
    pub accepts_rseq: bool,
}

/// How the initial stack is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackLayout {
    /// As Linux lays it out.
    Linux,
    /// As gem5's system-call emulation lays it out, which decides how data on the stack falls into lines.
    Gem5,
}

impl Profile {
    /// The names that [`Profile::named`] knows.
    pub const NAMES: [&'static str; 3] = ["x86-64-v2", "x86-64-v3", "gem5"];

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "x86-64-v2" => Some(Self::x86_64_v2()),
            "x86-64-v3" => Some(Self::x86_64_v3()),
            "gem5" => Some(Self::gem5()),
            _ => None,
        }
    }

    /// A single-core processor with the instructions of x86-64-v2 and nothing beyond: no XSAVE, no AVX.
    ///
    /// Vendor, family and model are those of the first processor of that level (Nehalem), so that libraries which
    /// choose routines by them choose routines of that level. The vendor also makes glibc read its cache sizes from
    /// leaf 4.
    pub fn x86_64_v2() -> Self {
        Self {
            name: "x86-64-v2",
            cpuid: cpuid(&V2).into(),
            pie_base: 0x5555_5555_4000,
            mmap_top: 0x7fff_f7ff_f000,
            stack_top: USER_END,
            hwcap2: 0,
            // What Linux computes for a processor whose frame holds the 512 bytes of FXSAVE.
            minimum_signal_stack: 1440,
            kernel_release: "6.1.0",
            start_time_s: 1_704_067_200,
            uptime_s: 1000,
            stack_layout: StackLayout::Linux,
            stack_bytes: u64::MAX,
            accepts_rseq: false,
        }
    }

    /// What gem5 24 shows its guests in system-call emulation, so that the same program runs the same instructions.
    ///
    /// Its CPUID names a processor of 2006 with SSE3 and SSSE3, so glibc chooses its SSE2 routines.
    pub fn gem5() -> Self {
        Self {
            name: "gem5",
            cpuid: gem5_cpuid().into(),
            pie_base: 0x5555_5555_4000,
            mmap_top: 0x7fff_f7ff_f000,
            stack_top: USER_END,
            hwcap2: 0,
            minimum_signal_stack: 1440,
            kernel_release: "5.1.0",
            start_time_s: 1_000_000_000,
            uptime_s: 0,
            stack_layout: StackLayout::Gem5,
            stack_bytes: 64 << 20,
            accepts_rseq: true,
        }
    }

    /// A single-core processor with the instructions of x86-64-v3, and AES-NI, PCLMULQDQ and SHA.
    ///
    /// Vendor, family and model are those of the first processor of that level (Haswell), without its transactional
    /// memory. Neither RDRAND (its numbers would not repeat) nor ERMS and FSRM (`rep movsb` is one instruction of many
    /// micro-ops here, and the C library would choose it for every copy) is told of.
    pub fn x86_64_v3() -> Self {
        Self {
            name: "x86-64-v3",
            cpuid: cpuid(&V3).into(),
            // What Linux computes for a processor whose frame holds an XSAVE area with the AVX component.
            minimum_signal_stack: 1776,
            ..Self::x86_64_v2()
        }
    }

    /// The answer of CPUID; all zero for unknown leaves.
    pub fn leaf(&self, leaf: u32, subleaf: u32) -> [u32; 4] {
        answer(&self.cpuid, leaf, subleaf)
    }

    /// The brand string of leaves 0x80000002 to 0x80000004.
    pub fn brand(&self) -> String {
        let bytes: Vec<u8> = (0x8000_0002..=0x8000_0004)
            .flat_map(|l| self.leaf(l, 0))
            .flat_map(u32::to_le_bytes)
            .take_while(|&b| b != 0)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Family, model and stepping, with the extended fields folded in.
    pub fn signature(&self) -> (u32, u32, u32) {
        let eax = self.leaf(1, 0)[0];
        let family = eax >> 8 & 15;
        let model = eax >> 4 & 15 | (eax >> 16 & 15) << 4;
        (family, model, eax & 15)
    }
}

/// A cache as leaf 4 describes it; `kind` is 1 for data, 2 for instructions, 3 for both.
fn cache_leaf(subleaf: u32, kind: u32, level: u32, bytes: u32, ways: u32) -> CpuidLeaf {
    let line = 64;
    let sets = bytes / line / ways;
    CpuidLeaf {
        leaf: 4,
        subleaf: Some(subleaf),
        // Self-initialising; shared by one thread; one core in the package.
        out: [
            kind | level << 5 | 1 << 8,
            (ways - 1) << 22 | (line - 1),
            sets - 1,
            0,
        ],
    }
}

/// What tells the levels apart in CPUID.
struct Level {
    brand: &'static [u8],
    max_leaf: u32,
    /// Family, model and stepping as EAX of leaf 1 gives them.
    signature: u32,
    /// Bit numbers of leaf 1 ECX.
    leaf_1_ecx: &'static [u32],
    /// Bit numbers of leaf 7 EBX.
    leaf_7_ebx: &'static [u32],
    /// Bit numbers of leaf 0x80000001 ECX.
    extended_ecx: &'static [u32],
    /// There is a leaf 0xd.
    xsave: bool,
}

const V2: Level = Level {
    brand: b"tickmark x86-64-v2",
    max_leaf: 7,
    // Family 6, model 26, stepping 5.
    signature: 0x0001_06a5,
    // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT.
    leaf_1_ecx: &[0, 9, 13, 19, 20, 23],
    leaf_7_ebx: &[],
    // LAHF/SAHF.
    extended_ecx: &[0],
    xsave: false,
};

const V3: Level = Level {
    brand: b"tickmark x86-64-v3",
    max_leaf: 0xd,
    // Family 6, model 60, stepping 3.
    signature: 0x0003_06c3,
    // Those of V2, and PCLMULQDQ (1), FMA (12), MOVBE (22), AES (25), XSAVE (26), OSXSAVE (27), AVX (28), F16C (29).
    leaf_1_ecx: &[0, 1, 9, 12, 13, 19, 20, 22, 23, 25, 26, 27, 28, 29],
    // BMI1, AVX2, BMI2, SHA.
    leaf_7_ebx: &[3, 5, 8, 29],
    // LAHF/SAHF, LZCNT.
    extended_ecx: &[0, 5],
    xsave: true,
};

fn cpuid(level: &Level) -> Vec<CpuidLeaf> {
    let leaf = |leaf, out| CpuidLeaf {
        leaf,
        subleaf: None,
        out,
    };
    let sub_leaf = |leaf, subleaf, out| CpuidLeaf {
        leaf,
        subleaf: Some(subleaf),
        out,
    };
    let word = |s: &[u8], i: usize| {
        let mut bytes = [0; 4];
        for (to, from) in bytes.iter_mut().zip(s.iter().skip(4 * i)) {
            *to = *from;
        }
        u32::from_le_bytes(bytes)
    };
    let bits = |numbers: &[u32]| numbers.iter().fold(0, |sum, n| sum | 1u32 << n);

    // Leaf 1 EDX: FPU, TSC, CMPXCHG8B, CMOV, CLFLUSH, MMX, FXSR, SSE, SSE2. No HTT: one logical processor.
    let features_edx = bits(&[0, 4, 8, 15, 19, 23, 24, 25, 26]);
    let vendor = b"GenuineIntel";
    let mut leaves = vec![
        leaf(
            0,
            [
                level.max_leaf,
                word(vendor, 0),
                word(vendor, 2),
                word(vendor, 1),
            ],
        ),
        // One logical processor; lines of 64 bytes.
        leaf(
            1,
            [
                level.signature,
                1 << 16 | 8 << 8,
                bits(level.leaf_1_ecx),
                features_edx,
            ],
        ),
        // 0xff: ask leaf 4 for the caches. 0xf0: 64-byte prefetching.
        leaf(2, [0x0000_ff01, 0x0000_00f0, 0, 0]),
        cache_leaf(0, 1, 1, 32 << 10, 8),
        cache_leaf(1, 2, 1, 32 << 10, 8),
        cache_leaf(2, 3, 2, 1 << 20, 16),
        cache_leaf(3, 3, 3, 8 << 20, 16),
        sub_leaf(7, 0, [0, bits(level.leaf_7_ebx), 0, 0]),
        leaf(0x8000_0000, [0x8000_0008, 0, 0, 0]),
        // EDX: SYSCALL, NX, RDTSCP, long mode.
        leaf(
            0x8000_0001,
            [0, 0, bits(level.extended_ecx), bits(&[11, 20, 27, 29])],
        ),
        // L2 as the extended leaf says it: kilobytes, associativity code 8 (16 ways), line size.
        leaf(0x8000_0006, [0, 0, 1024 << 16 | 8 << 12 | 64, 0]),
        // 39 physical and 48 virtual address bits.
        leaf(0x8000_0008, [48 << 8 | 39, 0, 0, 0]),
    ];
    for part in 0..3 {
        let out = std::array::from_fn(|i| word(level.brand, part * 4 + i));
        leaves.push(leaf(0x8000_0002 + part as u32, out));
    }
    if level.xsave {
        let size = (AVX_AT + AVX_SIZE) as u32;
        leaves.extend([
            // The components of XCR0, and the size of an area with all of them.
            sub_leaf(0xd, 0, [XCR0 as u32, size, size, 0]),
            // XSAVEOPT, XSAVEC, XGETBV with ECX = 1.
            sub_leaf(0xd, 1, [bits(&[0, 1, 2]), size, 0, 0]),
            sub_leaf(0xd, 2, [AVX_SIZE as u32, AVX_AT as u32, 0, 0]),
        ]);
    }
    leaves.sort_by_key(|l| (l.leaf, l.subleaf));
    leaves
}

/// Measured with a guest that prints its CPUID under gem5 24.0.0.1.
fn gem5_cpuid() -> Vec<CpuidLeaf> {
    [
        (0x0, [0xd, 0x6f67_7948, 0x656e_6975, 0x6e65_476e]),
        (0x1, [0x0002_0f51, 0x805, 0x209, 0xefdb_fbff]),
        (0x7, [0, 0x0180_0000, 0, 0]),
        (
            0x8000_0000,
            [0x8000_0008, 0x6f67_7948, 0x656e_6975, 0x6e65_476e],
        ),
        (0x8000_0001, [0x0002_0f51, 0x405, 0x0002_0001, 0xebd3_fbff]),
        (
            0x8000_0002,
            [0x656b_6146, 0x6d65_6720, 0x3878_2035, 0x3436_5f36],
        ),
        (0x8000_0003, [0x5550_4320, 0, 0, 0]),
        (
            0x8000_0005,
            [0xff08_ff08, 0xff20_ff20, 0x4002_0140, 0x4002_0140],
        ),
        (0x8000_0006, [0, 0x4200_4200, 0x0400_8140, 0]),
        (
            0x8000_0007,
            [0x8000_0018, 0x6874_7541, 0x444d_4163, 0x6974_6e65],
        ),
        (0x8000_0008, [0x3030, 0, 0, 0]),
    ]
    .into_iter()
    .map(|(leaf, out)| CpuidLeaf {
        leaf,
        subleaf: None,
        out,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_known_and_the_brand_reads_back() {
        for name in Profile::NAMES {
            assert_eq!(Profile::named(name).unwrap().name, name);
        }
        assert!(Profile::named("x86-64-v9").is_none());
        let profile = Profile::x86_64_v2();
        assert_eq!(profile.brand(), "tickmark x86-64-v2");
        assert_eq!(profile.signature(), (6, 26, 5));
    }

    #[test]
    fn the_cache_leaves_multiply_out_to_their_sizes() {
        let profile = Profile::x86_64_v2();
        let size = |subleaf| {
            let [_, ebx, ecx, _] = profile.leaf(4, subleaf);
            ((ebx >> 22) + 1) * ((ebx >> 12 & 0x3ff) + 1) * ((ebx & 0xfff) + 1) * (ecx + 1)
        };
        assert_eq!(
            [size(0), size(1), size(2), size(3)],
            [32 << 10, 32 << 10, 1 << 20, 8 << 20]
        );
        assert_eq!(profile.leaf(4, 4)[0], 0, "the list of caches ends");
        assert_eq!(profile.leaf(0x8000_0006, 0)[2] >> 16, 1024);
    }

    #[test]
    fn nothing_beyond_v2_is_advertised() {
        let profile = Profile::x86_64_v2();
        let [max, ..] = profile.leaf(0, 0);
        assert!(max < 0xd, "no XSAVE leaf");
        let ecx = profile.leaf(1, 0)[2];
        for (bit, name) in [
            (12, "FMA"),
            (22, "MOVBE"),
            (26, "XSAVE"),
            (27, "OSXSAVE"),
            (28, "AVX"),
            (30, "RDRAND"),
        ] {
            assert_eq!(ecx >> bit & 1, 0, "{name}");
        }
        assert_eq!(profile.leaf(7, 0), [0; 4], "no BMI, ERMS, FSRM");
    }

    #[test]
    fn v3_tells_of_its_level_and_of_nothing_beyond() {
        let profile = Profile::x86_64_v3();
        assert_eq!(profile.brand(), "tickmark x86-64-v3");
        assert_eq!(profile.signature(), (6, 60, 3));
        let ecx = profile.leaf(1, 0)[2];
        let ebx = profile.leaf(7, 0)[1];
        let extended = profile.leaf(0x8000_0001, 0)[2];
        // FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT: what the psABI asks of the level.
        for (word, bit) in [
            (ecx, 12),
            (ecx, 22),
            (ecx, 27),
            (ecx, 28),
            (ecx, 29),
            (ebx, 3),
            (ebx, 5),
            (ebx, 8),
            (extended, 5),
        ] {
            assert_eq!(word >> bit & 1, 1, "bit {bit}");
        }
        assert_eq!(ecx >> 30 & 1, 0, "RDRAND");
        for (bit, name) in [
            (4, "HLE"),
            (9, "ERMS"),
            (11, "RTM"),
            (16, "AVX512F"),
            (18, "RDSEED"),
        ] {
            assert_eq!(ebx >> bit & 1, 0, "{name}");
        }
        assert_eq!(profile.leaf(7, 0)[2..], [0, 0], "no VAES, no FSRM");
        assert_eq!(profile.leaf(7, 1), [0; 4]);
        // The area of XSAVE: 512 bytes, the header, and what leaf 0xd says of the AVX component.
        let [size, offset, ..] = profile.leaf(0xd, 2);
        assert_eq!(
            (offset, profile.leaf(0xd, 0)),
            (576, [7, offset + size, offset + size, 0])
        );
    }
}
