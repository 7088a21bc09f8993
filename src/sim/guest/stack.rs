//! The initial stack: strings, auxiliary vector, environment and arguments, laid out as Linux lays them out.
use super::abi::*;
use super::elf::PROGRAM_HEADER_SIZE;
use super::profile::{Profile, StackLayout};
use crate::sim::memory::{Backing, Fault, Memory, PAGE_SIZE, Protection, Purpose};

/// What the auxiliary vector says about the loaded files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loaded {
    /// Address of the executable's program headers.
    pub(super) headers: u64,
    /// How many there are.
    pub(super) header_count: u64,
    /// Load address of the interpreter, 0 without one.
    pub(super) interpreter_base: u64,
    /// Entry address of the executable (not of the interpreter).
    pub(super) entry: u64,
}

/// The strings that a new process finds on its stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strings<'a> {
    pub(super) executable: &'a [u8],
    pub(super) arguments: &'a [Vec<u8>],
    pub(super) environment: &'a [Vec<u8>],
    pub(super) random: [u8; 16],
}

impl Strings<'_> {
    /// Bytes that the strings, their pointers and the auxiliary vector need at most.
    pub(super) fn size(&self) -> u64 {
        let strings = self
            .arguments
            .iter()
            .chain(self.environment)
            .map(|s| s.len() as u64 + 1 + 8);
        strings.sum::<u64>() + self.executable.len() as u64 + PAGE_SIZE
    }
}

/// What stands where on the finished stack.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// RSP at the first instruction.
    pub(super) pointer: u64,
    /// The auxiliary vector as `/proc/self/auxv` shows it.
    pub(super) auxv: Vec<u8>,
}

/// Fills the stack below `profile.stack_top`, which is mapped and large enough.
///
/// # Errors
/// The fault of a page that could not be filled: the memory limit.
pub(super) fn build(
    mem: &mut Memory,
    profile: &Profile,
    strings: Strings<'_>,
    loaded: Loaded,
) -> Result<Layout, Fault> {
    if profile.stack_layout == StackLayout::Gem5 {
        return build_as_gem5(mem, profile, strings, loaded);
    }
    let mut at = profile.stack_top - 8;
    let mut push = |mem: &mut Memory, bytes: &[u8], terminated: bool| -> Result<u64, Fault> {
        at -= bytes.len() as u64 + u64::from(terminated);
        mem.copy_in(at, bytes)?;
        Ok(at)
    };
    // From the top: the path, the environment, the arguments, each from its last string down to its first, so that they
    // ascend in memory as `/proc/self/cmdline` and process titles expect.
    let path = push(mem, strings.executable, true)?;
    let mut environment = Vec::with_capacity(strings.environment.len());
    for string in strings.environment.iter().rev() {
        environment.push(push(mem, string, true)?);
    }
    let mut arguments = Vec::with_capacity(strings.arguments.len());
    for string in strings.arguments.iter().rev() {
        arguments.push(push(mem, string, true)?);
    }
    environment.reverse();
    arguments.reverse();
    let platform = push(mem, b"x86_64", true)?;
    let random = push(mem, &strings.random, false)?;

    let auxv: Vec<u8> = [
        (AT_HWCAP, u64::from(profile.leaf(1, 0)[3])),
        (AT_PAGESZ, PAGE_SIZE),
        (AT_CLKTCK, CLOCK_TICKS),
        (AT_PHDR, loaded.headers),
        (AT_PHENT, PROGRAM_HEADER_SIZE),
        (AT_PHNUM, loaded.header_count),
        (AT_BASE, loaded.interpreter_base),
        (AT_FLAGS, 0),
        (AT_ENTRY, loaded.entry),
        (AT_UID, GUEST_UID.into()),
        (AT_EUID, GUEST_UID.into()),
        (AT_GID, GUEST_UID.into()),
        (AT_EGID, GUEST_UID.into()),
        (AT_SECURE, 0),
        (AT_RANDOM, random),
        (AT_HWCAP2, profile.hwcap2),
        (AT_EXECFN, path),
        (AT_PLATFORM, platform),
        (AT_MINSIGSTKSZ, profile.minimum_signal_stack),
        (AT_NULL, 0),
    ]
    .iter()
    .flat_map(|&(key, value)| [key, value])
    .flat_map(u64::to_le_bytes)
    .collect();

    let pointers = [arguments.len() as u64]
        .into_iter()
        .chain(arguments)
        .chain([0])
        .chain(environment)
        .chain([0]);
    let mut block: Vec<u8> = pointers.flat_map(u64::to_le_bytes).collect();
    block.extend_from_slice(&auxv);
    let pointer = (random - block.len() as u64) & !15;
    mem.copy_in(pointer, &block)?;
    Ok(Layout { pointer, auxv })
}

/// The layout of gem5's system-call emulation: path, environment and arguments (padded to 16 bytes), platform and
/// random bytes, auxiliary vector, pointers. Its vector has no HWCAP2, and its AT_EXECFN points at the pointers of the
/// arguments. It passes a page of old system-call entries as the vDSO: a header of zeros, from which the C library
/// takes that there are no functions. Here that page lies above the mappings, as the real one is beyond user space.
fn build_as_gem5(
    mem: &mut Memory,
    profile: &Profile,
    strings: Strings<'_>,
    loaded: Loaded,
) -> Result<Layout, Fault> {
    const HWCAP: u64 = 0x078b_fbff;
    const ID: u64 = 100;
    mem.map(
        profile.mmap_top,
        PAGE_SIZE,
        Protection::READ,
        Backing::Anonymous,
        Purpose::Anonymous,
    );
    // What it takes for the program's path is the first argument.
    let first = strings.arguments.first().map(Vec::as_slice);
    let name = first.unwrap_or(strings.executable);
    let path = profile.stack_top - 8 - (name.len() as u64 + 1);
    mem.copy_in(path, name)?;
    let mut at = path;
    let mut place = |mem: &mut Memory, list: &[Vec<u8>]| -> Result<Vec<u64>, Fault> {
        at -= list.iter().map(|s| s.len() as u64 + 1).sum::<u64>();
        let mut next = at;
        list.iter()
            .map(|string| {
                let here = next;
                mem.copy_in(here, string)?;
                next += string.len() as u64 + 1;
                Ok(here)
            })
            .collect()
    };
    let environment = place(mem, strings.environment)?;
    let arguments = place(mem, strings.arguments)?;
    let information = (profile.stack_top - at).next_multiple_of(16);
    let platform: &[u8] = b"x86_64";
    let random =
        profile.stack_top - information - (strings.random.len() + platform.len() + 1) as u64;
    mem.copy_in(random, &strings.random)?;
    mem.copy_in(random + 16, platform)?;

    let entries = 18;
    let pointers = 1 + arguments.len() as u64 + 1 + environment.len() as u64 + 1;
    let frame = 8 * pointers + 16 * (entries + 1);
    let auxiliary = (strings.random.len() + platform.len() + 1) as u64;
    let padding = (frame + auxiliary).next_multiple_of(16) - (frame + auxiliary);
    let pointer = random - padding - frame;
    let auxv: Vec<u8> = [
        (AT_SYSINFO_EHDR, profile.mmap_top),
        (AT_HWCAP, HWCAP),
        (AT_PAGESZ, PAGE_SIZE),
        (AT_CLKTCK, CLOCK_TICKS),
        (AT_PHDR, loaded.headers),
        (AT_PHENT, PROGRAM_HEADER_SIZE),
        (AT_PHNUM, loaded.header_count),
        (AT_BASE, loaded.interpreter_base),
        (AT_FLAGS, 0),
        (AT_ENTRY, loaded.entry),
        (AT_UID, ID),
        (AT_EUID, ID),
        (AT_GID, ID),
        (AT_EGID, ID),
        (AT_SECURE, 0),
        (AT_RANDOM, random),
        (AT_EXECFN, pointer + 8),
        (AT_PLATFORM, random + 16),
        (AT_NULL, 0),
    ]
    .iter()
    .flat_map(|&(key, value)| [key, value])
    .flat_map(u64::to_le_bytes)
    .collect();
    let mut block: Vec<u8> = [arguments.len() as u64]
        .into_iter()
        .chain(arguments)
        .chain([0])
        .chain(environment)
        .chain([0])
        .flat_map(u64::to_le_bytes)
        .collect();
    block.extend_from_slice(&auxv);
    mem.copy_in(pointer, &block)?;
    Ok(Layout { pointer, auxv })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stack_reads_back_as_a_process_reads_it() {
        let profile = Profile::x86_64_v2();
        let mut mem = Memory::new(1 << 20);
        let size = 1 << 16;
        let bottom = profile.stack_top - size;
        mem.map(
            bottom,
            size,
            Protection::READ_WRITE,
            Backing::Anonymous,
            Purpose::Stack,
        );
        let arguments = [b"prog".to_vec(), b"".to_vec(), b"third".to_vec()];
        let environment = [b"A=1".to_vec()];
        let strings = Strings {
            executable: b"/bin/prog",
            arguments: &arguments,
            environment: &environment,
            random: [7; 16],
        };
        let loaded = Loaded {
            headers: 0x40_0040,
            header_count: 3,
            interpreter_base: 0,
            entry: 0x40_1000,
        };
        let layout = build(&mut mem, &profile, strings, loaded).unwrap();
        assert_eq!(layout.pointer % 16, 0);
        let mut at = layout.pointer;
        let mut next = |mem: &mut Memory| {
            let value = mem.read::<u64>(at).unwrap();
            at += 8;
            value
        };
        let string = |mem: &mut Memory, at| mem.copy_c_string(at, 100).unwrap().unwrap();
        assert_eq!(next(&mut mem), 3);
        for expected in &arguments {
            let pointer = next(&mut mem);
            assert_eq!(&string(&mut mem, pointer), expected);
        }
        assert_eq!(next(&mut mem), 0);
        let pointer = next(&mut mem);
        assert_eq!(string(&mut mem, pointer), b"A=1");
        assert_eq!(next(&mut mem), 0);
        let mut auxv = std::collections::BTreeMap::new();
        loop {
            let (key, value) = (next(&mut mem), next(&mut mem));
            if key == AT_NULL {
                break;
            }
            assert!(auxv.insert(key, value).is_none(), "{key} stands twice");
        }
        assert_eq!(auxv[&AT_PHNUM], 3);
        assert_eq!(auxv[&AT_ENTRY], 0x40_1000);
        assert_eq!(auxv[&AT_HWCAP], u64::from(profile.leaf(1, 0)[3]));
        assert!(!auxv.contains_key(&33), "no vDSO");
        assert_eq!(string(&mut mem, auxv[&AT_EXECFN]), b"/bin/prog");
        assert_eq!(string(&mut mem, auxv[&AT_PLATFORM]), b"x86_64");
        let mut random = [0; 16];
        mem.copy_out(auxv[&AT_RANDOM], &mut random).unwrap();
        assert_eq!(random, [7; 16]);
        assert_eq!(mem.read::<u64>(profile.stack_top - 8).unwrap(), 0);
    }
}
