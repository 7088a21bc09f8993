//! Reading ELF files and mapping them: static, static-PIE, and dynamic executables with their interpreter.
//!
//! Every number in a header is a claim: it is checked against the file and the address space before it is used, and
//! nothing is ever allocated by it.
use crate::sim::memory::{Backing, Memory, PAGE_SIZE, Protection, Purpose, USER_END};
use std::sync::Arc;

/// Size of the file header and of a program header.
const HEADER_SIZE: u64 = 64;
/// Size of a program header.
pub(super) const PROGRAM_HEADER_SIZE: u64 = 56;
/// Linux refuses tables of program headers beyond 64 KiB; real files have about a dozen.
const MAX_PROGRAM_HEADERS: u64 = 65536 / PROGRAM_HEADER_SIZE;
/// The largest alignment of a segment that is honoured: a huge page.
const MAX_ALIGNMENT: u64 = 2 << 20;
/// Linux does not let programs map the pages below this address.
pub(super) const MINIMUM_ADDRESS: u64 = 65536;

const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;
const PT_PHDR: u32 = 6;
const PT_GNU_STACK: u32 = 0x6474_e551;

/// Why a file cannot be run, as a sentence without the file's name.
pub(super) type Complaint = String;

/// What the file header says about position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Runs at the addresses that it names.
    Fixed,
    /// Runs anywhere.
    PositionIndependent,
}

/// A program header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) file_size: u64,
    pub(super) memory_size: u64,
    pub(super) alignment: u64,
}

impl Segment {
    fn protection(&self) -> Protection {
        // PF_X, PF_W, PF_R are 1, 2, 4; PROT_READ, PROT_WRITE, PROT_EXEC are 1, 2, 4.
        Protection::from_linux(u64::from(
            self.flags >> 2 & 1 | self.flags & 2 | (self.flags & 1) << 2,
        ))
    }

    /// First address of its first page and first address beyond its last one; the sums were checked by [`parse`].
    fn pages(&self) -> (u64, u64) {
        let start = self.address & !(PAGE_SIZE - 1);
        (
            start,
            (self.address + self.memory_size).next_multiple_of(PAGE_SIZE),
        )
    }
}

/// An ELF file that passed every check.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) content: Arc<[u8]>,
    pub(super) kind: Kind,
    pub(super) entry: u64,
    pub(super) header_offset: u64,
    pub(super) header_count: u64,
    /// Every program header, in order.
    pub(super) segments: Vec<Segment>,
    /// Path of the interpreter that the file asks for.
    pub(super) interpreter: Option<String>,
    /// PT_GNU_STACK asks for an executable stack.
    pub(super) executable_stack: bool,
}

/// Where an image ended up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// What was added to every address of the file.
    pub(super) bias: u64,
    /// First page-aligned address beyond it.
    pub(super) end: u64,
    /// Entry address.
    pub(super) entry: u64,
    /// Address of the program headers in memory; 0 if no segment holds them.
    pub(super) headers: u64,
}

fn field<const N: usize>(bytes: &[u8], at: u64) -> Option<[u8; N]> {
    let at = usize::try_from(at).ok()?;
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}
/// The little-endian number at an offset, if the file reaches so far.
pub(super) fn u16_at(bytes: &[u8], at: u64) -> Option<u16> {
    field(bytes, at).map(u16::from_le_bytes)
}
/// The little-endian number at an offset, if the file reaches so far.
pub(super) fn u32_at(bytes: &[u8], at: u64) -> Option<u32> {
    field(bytes, at).map(u32::from_le_bytes)
}
/// The little-endian number at an offset, if the file reaches so far.
pub(super) fn u64_at(bytes: &[u8], at: u64) -> Option<u64> {
    field(bytes, at).map(u64::from_le_bytes)
}

/// Whether the file claims to be ELF.
pub(super) fn is_elf(content: &[u8]) -> bool {
    content.starts_with(b"\x7fELF")
}

fn architecture(machine: u16) -> String {
    let name = match machine {
        2 => "SPARC",
        3 => "32-bit x86 (i386)",
        8 => "MIPS",
        20 => "PowerPC",
        21 => "64-bit PowerPC",
        22 => "S/390",
        40 => "32-bit Arm",
        43 => "64-bit SPARC",
        50 => "Itanium",
        62 => "x86-64",
        183 => "64-bit Arm (AArch64)",
        243 => "RISC-V",
        247 => "BPF",
        258 => "LoongArch",
        other => return format!("machine number {other}"),
    };
    name.to_owned()
}

const REBUILD: &str = "build it for x86-64 Linux, for example with `g++ -O2 -static -march=x86-64`";

/// Reads and checks the headers of an executable or a dynamic linker.
pub(super) fn parse(content: Arc<[u8]>) -> Result<Image, Complaint> {
    let bytes = &content[..];
    let truncated =
        || "the ELF file is truncated inside its header: copy or build it again".to_owned();
    if !is_elf(bytes) {
        return Err(format!("not an ELF file: {REBUILD}"));
    }
    let (&class, &data) = bytes.get(4).zip(bytes.get(5)).ok_or_else(truncated)?;
    // These fields stand at the same place in both classes, so that the architecture can always be named.
    let kind = u16_at(bytes, 16);
    let machine = u16_at(bytes, 18);
    match (class, data) {
        (2, 1) => {}
        (1, 1) => {
            let name = architecture(machine.ok_or_else(truncated)?);
            return Err(format!("a 32-bit ELF file for {name}: {REBUILD}"));
        }
        (1 | 2, 2) => {
            let name = architecture(machine.ok_or_else(truncated)?.swap_bytes());
            return Err(format!("a big-endian ELF file for {name}: {REBUILD}"));
        }
        _ => {
            return Err(format!(
                "ELF class {class} with data encoding {data} does not exist: {REBUILD}"
            ));
        }
    }
    if (bytes.len() as u64) < HEADER_SIZE {
        return Err(truncated());
    }
    let machine = machine.ok_or_else(truncated)?;
    if machine != 62 {
        return Err(format!(
            "an ELF file for {}: {REBUILD}",
            architecture(machine)
        ));
    }
    let kind = match kind.ok_or_else(truncated)? {
        1 => return Err("an object file (.o), not an executable: link it first".to_owned()),
        2 => Kind::Fixed,
        3 => Kind::PositionIndependent,
        4 => {
            return Err("a core dump, not an executable: name the program that made it".to_owned());
        }
        other => return Err(format!("ELF type {other} is not an executable: {REBUILD}")),
    };
    let entry = u64_at(bytes, 24).ok_or_else(truncated)?;
    let header_offset = u64_at(bytes, 32).ok_or_else(truncated)?;
    let entry_size = u16_at(bytes, 54).ok_or_else(truncated)?;
    let header_count = u64::from(u16_at(bytes, 56).ok_or_else(truncated)?);
    if header_count == 0 {
        return Err("the ELF file has no program headers, so there is nothing to map: link it as an executable".into());
    }
    if u64::from(entry_size) != PROGRAM_HEADER_SIZE {
        return Err(format!(
            "program headers of {entry_size} bytes, but they have 56: the file is damaged"
        ));
    }
    if header_count > MAX_PROGRAM_HEADERS {
        return Err(format!(
            "{header_count} program headers, more than Linux takes: the file is damaged"
        ));
    }
    let mut segments = Vec::new();
    for i in 0..header_count {
        let segment = header_offset
            .checked_add(i * PROGRAM_HEADER_SIZE)
            .and_then(|at| segment_at(bytes, at))
            .ok_or_else(|| {
                format!(
                    "program header {i} lies beyond the end of the file: it is truncated or damaged"
                )
            })?;
        check(i, &segment, bytes.len() as u64, kind)?;
        segments.push(segment);
    }
    check_order(&segments)?;
    let interpreter = match segments.iter().find(|s| s.kind == PT_INTERP) {
        Some(segment) => Some(interpreter_path(bytes, segment)?),
        None => None,
    };
    let executable_stack = segments
        .iter()
        .any(|s| s.kind == PT_GNU_STACK && s.flags & 1 != 0);
    Ok(Image {
        kind,
        entry,
        header_offset,
        header_count,
        segments,
        interpreter,
        executable_stack,
        content,
    })
}

fn segment_at(bytes: &[u8], at: u64) -> Option<Segment> {
    Some(Segment {
        kind: u32_at(bytes, at)?,
        flags: u32_at(bytes, at.checked_add(4)?)?,
        offset: u64_at(bytes, at.checked_add(8)?)?,
        address: u64_at(bytes, at.checked_add(16)?)?,
        file_size: u64_at(bytes, at.checked_add(32)?)?,
        memory_size: u64_at(bytes, at.checked_add(40)?)?,
        alignment: u64_at(bytes, at.checked_add(48)?)?,
    })
}

fn check(number: u64, segment: &Segment, file_size: u64, kind: Kind) -> Result<(), Complaint> {
    if segment.kind != PT_LOAD && segment.kind != PT_INTERP {
        return Ok(());
    }
    let wrong = |what: &str| {
        Err(format!(
            "program header {number}: {what}: the file is truncated or damaged"
        ))
    };
    if segment
        .offset
        .checked_add(segment.file_size)
        .is_none_or(|end| end > file_size)
    {
        return wrong(&format!(
            "its {} bytes at offset {} reach beyond the file's {file_size}",
            segment.file_size, segment.offset
        ));
    }
    if segment.kind == PT_INTERP {
        return Ok(());
    }
    if segment.file_size > segment.memory_size {
        return wrong("more bytes in the file than in memory");
    }
    if segment
        .address
        .checked_add(segment.memory_size)
        .is_none_or(|end| end > USER_END - PAGE_SIZE)
    {
        return wrong("its addresses reach beyond the user's half of the address space");
    }
    if segment.alignment > 1 && !segment.alignment.is_power_of_two() {
        return wrong(&format!(
            "an alignment of {}, which is not a power of two",
            segment.alignment
        ));
    }
    if segment.alignment > MAX_ALIGNMENT {
        return wrong(&format!(
            "an alignment of {} bytes, but at most 2 MiB can be honoured",
            segment.alignment
        ));
    }
    if segment.address % PAGE_SIZE != segment.offset % PAGE_SIZE {
        return wrong("address and file offset differ within a page, so it cannot be mapped");
    }
    if kind == Kind::Fixed && segment.memory_size > 0 && segment.address < MINIMUM_ADDRESS {
        return wrong("its addresses lie below 65536, where Linux maps nothing");
    }
    Ok(())
}

/// Loadable segments ascend and do not share a byte; there is at least one.
fn check_order(segments: &[Segment]) -> Result<(), Complaint> {
    let mut end = None;
    for segment in segments.iter().filter(|s| s.kind == PT_LOAD) {
        if end.is_some_and(|e| segment.address < e) {
            return Err(
                "loadable segments overlap or are out of order: the file is damaged".to_owned(),
            );
        }
        end = Some(segment.address + segment.memory_size);
    }
    end.map(|_| ())
        .ok_or_else(|| "the ELF file has no loadable segment: link it as an executable".to_owned())
}

fn interpreter_path(bytes: &[u8], segment: &Segment) -> Result<String, Complaint> {
    let damaged =
        || "the interpreter's path in the ELF file is damaged: build the program again".to_owned();
    if !(2..=super::abi::PATH_MAX as u64).contains(&segment.file_size) {
        return Err(damaged());
    }
    let range = segment.offset as usize..(segment.offset + segment.file_size) as usize;
    let path = bytes
        .get(range)
        .and_then(|p| p.strip_suffix(b"\0"))
        .ok_or_else(damaged)?;
    let path = path.split(|&b| b == 0).next().unwrap_or_default();
    String::from_utf8(path.to_vec()).map_err(|_| damaged())
}

impl Image {
    fn loads(&self) -> impl Iterator<Item = &Segment> {
        self.segments
            .iter()
            .filter(|s| s.kind == PT_LOAD && s.memory_size > 0)
    }

    /// First and last address (page-rounded, before the bias) and the greatest alignment.
    fn extent(&self) -> Option<(u64, u64, u64)> {
        let low = self.loads().map(|s| s.pages().0).min()?;
        let high = self.loads().map(|s| s.pages().1).max()?;
        let alignment = self.loads().map(|s| s.alignment).fold(PAGE_SIZE, u64::max);
        Some((low, high, alignment))
    }

    /// Maps the image: a fixed one at its addresses, another at `wanted` rounded down to its alignment, or, without a
    /// wish, as high as possible below `top`.
    pub(super) fn map(
        &self,
        mem: &mut Memory,
        path: &str,
        wanted: Option<u64>,
        top: u64,
    ) -> Result<Placed, Complaint> {
        let (low, high, alignment) = self
            .extent()
            .ok_or("every loadable segment is empty: there is nothing to run")?;
        let span = high - low;
        let start = match (self.kind, wanted) {
            (Kind::Fixed, _) => low,
            (Kind::PositionIndependent, Some(base)) => {
                (base & !(alignment - 1)).saturating_add(low % alignment)
            }
            (Kind::PositionIndependent, None) => span
                .checked_add(alignment)
                .and_then(|room| mem.find_free(room, MINIMUM_ADDRESS, top))
                .map(|room| {
                    // The highest aligned place inside the free range.
                    let highest = room + alignment;
                    (highest.wrapping_sub(low) & !(alignment - 1)).wrapping_add(low)
                })
                .ok_or("there is no room for it in the address space")?,
        };
        if start < MINIMUM_ADDRESS
            || start.checked_add(span).is_none_or(|end| end > top)
            || !mem.is_free(start, span)
        {
            return Err(format!(
                "its addresses {start:#x} to {:#x} are taken by the stack or another file: link it elsewhere",
                start.saturating_add(span)
            ));
        }
        let bias = start.wrapping_sub(low);
        let name: Arc<str> = path.into();
        for segment in self.loads() {
            self.map_segment(mem, segment, bias, &name)?;
        }
        Ok(Placed {
            bias,
            end: start + span,
            entry: self.entry.wrapping_add(bias),
            headers: self.headers(bias),
        })
    }

    fn map_segment(
        &self,
        mem: &mut Memory,
        segment: &Segment,
        bias: u64,
        name: &Arc<str>,
    ) -> Result<(), Complaint> {
        let protection = segment.protection();
        let (start, end) = segment.pages();
        let (start, end) = (start.wrapping_add(bias), end.wrapping_add(bias));
        let file_end = segment
            .address
            .wrapping_add(segment.file_size)
            .wrapping_add(bias);
        let file_pages_end = if segment.file_size == 0 {
            start
        } else {
            file_end.next_multiple_of(PAGE_SIZE)
        };
        if file_pages_end > start {
            let backing = Backing::File {
                content: Arc::clone(&self.content),
                offset: segment.offset & !(PAGE_SIZE - 1),
            };
            mem.map(
                start,
                file_pages_end - start,
                protection,
                backing,
                Purpose::File(Arc::clone(name)),
            );
        }
        if end > file_pages_end {
            mem.map(
                file_pages_end,
                end - file_pages_end,
                protection,
                Backing::Anonymous,
                Purpose::Anonymous,
            );
        }
        // The last page of the file's bytes goes on with whatever follows in the file; what follows in memory is zero.
        if segment.memory_size > segment.file_size
            && segment.file_size > 0
            && protection.contains(Protection::WRITE)
            && file_end < file_pages_end
        {
            let zeros = [0; PAGE_SIZE as usize];
            mem.copy_in(file_end, &zeros[..(file_pages_end - file_end) as usize])
                .map_err(|_| {
                    "the memory limit is too small to load it: raise the memory limit".to_owned()
                })?;
        }
        Ok(())
    }

    /// Where the program headers are in memory: PT_PHDR says it, or the segment that holds their offset.
    fn headers(&self, bias: u64) -> u64 {
        if let Some(segment) = self.segments.iter().find(|s| s.kind == PT_PHDR) {
            return segment.address.wrapping_add(bias);
        }
        self.loads()
            .find(|s| self.header_offset >= s.offset && self.header_offset - s.offset < s.file_size)
            .map_or(0, |s| {
                (s.address + (self.header_offset - s.offset)).wrapping_add(bias)
            })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A well-formed static executable with one segment of code at 0x40_0000, to be bent by tests.
    pub(in crate::sim::guest) fn executable(code: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 120];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[6] = 1;
        put(&mut file, 16, &2u16.to_le_bytes());
        put(&mut file, 18, &62u16.to_le_bytes());
        put(&mut file, 24, &0x40_0078u64.to_le_bytes());
        put(&mut file, 32, &64u64.to_le_bytes());
        put(&mut file, 54, &56u16.to_le_bytes());
        put(&mut file, 56, &1u16.to_le_bytes());
        put(&mut file, 64, &1u32.to_le_bytes());
        put(&mut file, 68, &7u32.to_le_bytes());
        put(&mut file, 80, &0x40_0000u64.to_le_bytes());
        let size = (120 + code.len()) as u64;
        put(&mut file, 96, &size.to_le_bytes());
        put(&mut file, 104, &(size + 100).to_le_bytes());
        put(&mut file, 112, &4096u64.to_le_bytes());
        file.extend_from_slice(code);
        file
    }

    pub(in crate::sim::guest) fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
        file[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn complaint(change: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut file = executable(b"\x0f\x05");
        change(&mut file);
        let mut mem = Memory::new(1 << 20);
        match parse(file.into()) {
            Err(complaint) => complaint,
            Ok(image) => image
                .map(&mut mem, "/x", None, 0x7fff_0000_0000)
                .expect_err("it must be refused"),
        }
    }

    #[test]
    fn a_well_formed_executable_is_mapped_with_zeros_behind_its_bytes() {
        let mut file = executable(b"\x0f\x05");
        let size = file.len() as u64;
        file.extend_from_slice(&[0xaa; 50]);
        let mut mem = Memory::new(1 << 20);
        let placed = parse(file.into())
            .unwrap()
            .map(&mut mem, "/x", None, 0x7fff_0000_0000)
            .unwrap();
        assert_eq!(
            (placed.bias, placed.entry, placed.headers),
            (0, 0x40_0078, 0x40_0040)
        );
        assert_eq!(placed.end, 0x40_1000);
        let mut bytes = [1; 4];
        mem.copy_out(0x40_0000 + size - 2, &mut bytes).unwrap();
        assert_eq!(bytes, [0x0f, 0x05, 0, 0], "not what follows in the file");
    }

    #[test]
    fn position_independent_files_are_placed_by_wish_alignment_and_room() {
        let mut file = executable(b"");
        put(&mut file, 16, &3u16.to_le_bytes());
        put(&mut file, 80, &0u64.to_le_bytes());
        put(&mut file, 112, &0x20_0000u64.to_le_bytes());
        let image = parse(file.into()).unwrap();
        let mut mem = Memory::new(1 << 20);
        let wish = image
            .map(&mut mem, "/x", Some(0x5555_5555_4000), 0x7fff_f7ff_f000)
            .unwrap();
        assert_eq!(wish.bias, 0x5555_5540_0000);
        let high = image.map(&mut mem, "/x", None, 0x7fff_f7ff_f000).unwrap();
        assert_eq!(high.bias % 0x20_0000, 0);
        assert!(
            high.bias > 0x7fff_f7a0_0000 && high.end <= 0x7fff_f7ff_f000,
            "{high:x?}"
        );
    }

    #[test]
    fn each_malformed_file_is_refused_with_its_reason() {
        let cases: Vec<(String, &str)> = vec![
            (complaint(|f| f[0] = b'M'), "not an ELF file"),
            (complaint(|f| f.truncate(5)), "truncated"),
            (complaint(|f| f.truncate(40)), "truncated"),
            (
                complaint(|f| f.truncate(100)),
                "program header 0 lies beyond",
            ),
            (complaint(|f| f[4] = 1), "32-bit"),
            (complaint(|f| f[4] = 9), "class 9"),
            (complaint(|f| f[18] = 183), "AArch64"),
            (complaint(|f| f[18] = 243), "RISC-V"),
            (
                complaint(|f| {
                    f[5] = 2;
                    put(f, 18, &[0, 21]);
                }),
                "big-endian ELF file for 64-bit PowerPC",
            ),
            (complaint(|f| f[16] = 1), "object file"),
            (complaint(|f| f[16] = 4), "core dump"),
            (complaint(|f| f[16] = 77), "type 77"),
            (complaint(|f| f[56] = 0), "no program headers"),
            (complaint(|f| f[54] = 32), "56"),
            (
                complaint(|f| put(f, 56, &[0xff, 0xff])),
                "program headers, more than",
            ),
            (
                complaint(|f| put(f, 32, &u64::MAX.to_le_bytes())),
                "beyond the end",
            ),
            (
                complaint(|f| put(f, 96, &u64::MAX.to_le_bytes())),
                "reach beyond the file",
            ),
            (
                complaint(|f| put(f, 72, &0x1000u64.to_le_bytes())),
                "reach beyond the file",
            ),
            (
                complaint(|f| put(f, 104, &1u64.to_le_bytes())),
                "more bytes in the file",
            ),
            (
                complaint(|f| put(f, 104, &(1u64 << 62).to_le_bytes())),
                "address space",
            ),
            (
                complaint(|f| put(f, 80, &(u64::MAX - 4095).to_le_bytes())),
                "address space",
            ),
            (
                complaint(|f| put(f, 80, &0x40_0008u64.to_le_bytes())),
                "differ within a page",
            ),
            (
                complaint(|f| put(f, 80, &0x1000u64.to_le_bytes())),
                "below 65536",
            ),
            (
                complaint(|f| put(f, 112, &3000u64.to_le_bytes())),
                "power of two",
            ),
            (
                complaint(|f| put(f, 112, &(1u64 << 30).to_le_bytes())),
                "2 MiB",
            ),
            (complaint(|f| f[64] = 7), "no loadable segment"),
            (
                complaint(|f| {
                    put(f, 96, &0u64.to_le_bytes());
                    put(f, 104, &0u64.to_le_bytes());
                }),
                "empty",
            ),
            (
                complaint(|f| put(f, 104, &0x7ffe_fff0_0000u64.to_le_bytes())),
                "taken by the stack",
            ),
        ];
        for (text, part) in cases {
            assert!(text.contains(part), "{text:?} should say {part:?}");
        }
    }

    #[test]
    fn overlapping_segments_are_refused() {
        let mut file = executable(&[0; 64]);
        put(&mut file, 56, &2u16.to_le_bytes());
        let header: Vec<u8> = file[64..120].to_vec();
        put(&mut file, 120, &header);
        assert!(parse(file.into()).unwrap_err().contains("overlap"));
    }

    #[test]
    fn bent_bytes_never_panic() {
        let good = executable(b"\x0f\x05");
        for at in 0..120 {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut file = good.clone();
                file[at] = value;
                let mut mem = Memory::new(1 << 20);
                if let Ok(image) = parse(file.into()) {
                    let _ = image.map(&mut mem, "/x", Some(0x5555_5555_4000), 0x7fff_0000_0000);
                }
            }
        }
    }
}
