//! Function names from the symbol tables of an ELF file.
use super::elf::{u16_at, u32_at, u64_at};
use std::borrow::Cow;
use std::fmt::Write;

const SHT_SYMTAB: u32 = 2;
const SHT_DYNSYM: u32 = 11;
const SYMBOL_SIZE: u64 = 24;
/// Longest name that is shown, bytes: names come from the candidate, and C++ ones can be very long.
const MAX_NAME: usize = 200;
/// Longest symbol that is made readable, bytes.
const MAX_SYMBOL: usize = 4096;

/// `name+0xoff` of the function that holds the byte at this offset of the file. `.symtab` is asked before `.dynsym`;
/// `None` if neither knows it or the file is damaged.
pub(super) fn name(file: &[u8], offset: u64) -> Option<String> {
    let address = address_of(file, offset)?;
    [SHT_SYMTAB, SHT_DYNSYM]
        .into_iter()
        .find_map(|kind| in_table(file, kind, address))
}

/// The address at which the file wants the byte at this offset to be.
fn address_of(file: &[u8], offset: u64) -> Option<u64> {
    let headers = u64_at(file, 32)?;
    let count = u64::from(u16_at(file, 56)?);
    (0..count).find_map(|i| {
        let at = headers.checked_add(i * 56)?;
        let start = u64_at(file, at.checked_add(8)?)?;
        let within = offset.checked_sub(start)?;
        // Whole pages are mapped, so that code may stand before or behind the segment's own bytes; both are rare.
        (u32_at(file, at)? == 1 && within < u64_at(file, at.checked_add(32)?)?)
            .then(|| u64_at(file, at + 16).map(|a| a.wrapping_add(within)))?
    })
}

fn in_table(file: &[u8], kind: u32, address: u64) -> Option<String> {
    let sections = u64_at(file, 40)?;
    let count = u64::from(u16_at(file, 60)?);
    let header = |i: u64| sections.checked_add(i.checked_mul(64)?);
    let table = (0..count)
        .filter_map(header)
        .find(|&h| h.checked_add(4).and_then(|at| u32_at(file, at)) == Some(kind))?;
    let (start, size) = (
        u64_at(file, table.checked_add(24)?)?,
        u64_at(file, table.checked_add(32)?)?,
    );
    let strings = header(u64::from(u32_at(file, table.checked_add(40)?)?))?;
    let strings = u64_at(file, strings.checked_add(24)?)?;
    let size = size.min((file.len() as u64).saturating_sub(start));
    let mut best: Option<(u64, u64)> = None;
    for i in 0..size / SYMBOL_SIZE {
        let at = start + i * SYMBOL_SIZE;
        let (name, info) = (u32_at(file, at)?, *file.get(at as usize + 4)?);
        let (section, value, length) = (
            u16_at(file, at + 6)?,
            u64_at(file, at + 8)?,
            u64_at(file, at + 16)?,
        );
        // Functions (also indirect ones) that are defined here; those without a size hold what follows them.
        if !matches!(info & 15, 0 | 2 | 10) || section == 0 || section >= 0xff00 || name == 0 {
            continue;
        }
        let Some(within) = address.checked_sub(value) else {
            continue;
        };
        if (within < length || length == 0) && best.is_none_or(|(offset, _)| within < offset) {
            best = Some((within, strings.checked_add(u64::from(name))?));
        }
    }
    let (within, at) = best?;
    let bytes = file.get(usize::try_from(at).ok()?..)?;
    let bytes = bytes.split(|&b| b == 0).next()?;
    let text = readable(bytes);
    Some(if within == 0 {
        text.into_owned()
    } else {
        format!("{text}+{within:#x}")
    })
}

/// A symbol as its programmer wrote it, where it follows the rules of C++ or Rust.
fn readable(symbol: &[u8]) -> Cow<'_, str> {
    let plain = || String::from_utf8_lossy(&symbol[..symbol.len().min(MAX_NAME)]);
    // A short symbol can stand for a text that is exponentially longer: it is cut while it is written.
    if symbol.len() > MAX_SYMBOL {
        return plain();
    }
    let mut text = Bounded(String::new());
    let done = if let Ok(name) = std::str::from_utf8(symbol)
        .map_err(drop)
        .and_then(|symbol| rustc_demangle::try_demangle(symbol).map_err(drop))
    {
        write!(text, "{name:#}")
    } else if symbol.starts_with(b"_Z")
        && let Ok(name) = cpp_demangle::Symbol::new(symbol)
    {
        // Without what it returns: the parameters tell overloads apart.
        let options = cpp_demangle::DemangleOptions::new().no_return_type();
        name.structured_demangle(&mut text, &options)
    } else {
        return plain();
    };
    match (done, text.0) {
        (Ok(()), text) if !text.is_empty() => text.into(),
        (Err(_), text) if text.len() >= MAX_NAME => format!("{text}...").into(),
        _ => plain(),
    }
}

/// Takes [`MAX_NAME`] bytes or a few less, and then no more.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> std::fmt::Result {
        let left = MAX_NAME - self.0.len();
        if part.len() <= left {
            self.0.push_str(part);
            return Ok(());
        }
        self.0.push_str(&part[..part.floor_char_boundary(left)]);
        // Full also where a character did not fit.
        self.0
            .extend(std::iter::repeat_n('.', MAX_NAME - self.0.len()));
        Err(std::fmt::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::super::elf::tests::{executable, put};
    use super::*;

    /// The one-segment executable with `.symtab` (section 1) and `.strtab` (section 2) behind it.
    fn with_symbols(symbols: &[(&str, u8, u16, u64, u64)]) -> Vec<u8> {
        let mut file = executable(&[0x90; 64]);
        let mut strings = vec![0];
        let mut table = vec![0; SYMBOL_SIZE as usize];
        for &(name, info, section, value, size) in symbols {
            table.extend((strings.len() as u32).to_le_bytes());
            table.extend([info, 0]);
            table.extend(section.to_le_bytes());
            table.extend(value.to_le_bytes());
            table.extend(size.to_le_bytes());
            strings.extend(name.as_bytes());
            strings.push(0);
        }
        let table_at = file.len() as u64;
        file.extend(&table);
        let strings_at = file.len() as u64;
        file.extend(&strings);
        let sections_at = file.len() as u64;
        let mut sections = vec![0; 3 * 64];
        put(&mut sections, 64 + 4, &SHT_SYMTAB.to_le_bytes());
        put(&mut sections, 64 + 24, &table_at.to_le_bytes());
        put(&mut sections, 64 + 32, &(table.len() as u64).to_le_bytes());
        put(&mut sections, 64 + 40, &2u32.to_le_bytes());
        put(&mut sections, 128 + 24, &strings_at.to_le_bytes());
        file.extend(&sections);
        put(&mut file, 40, &sections_at.to_le_bytes());
        put(&mut file, 60, &3u16.to_le_bytes());
        file
    }

    #[test]
    fn the_function_that_holds_an_address_is_named() {
        let file = with_symbols(&[
            ("data", 1, 1, 0x40_0078, 64),
            ("first", 2, 1, 0x40_0078, 16),
            ("second", 2, 1, 0x40_0088, 16),
            ("elsewhere", 2, 0, 0x40_0088, 16),
            ("label", 0, 1, 0x40_00a0, 0),
        ]);
        for (offset, expected) in [
            (0x78, Some("first")),
            (0x87, Some("first+0xf")),
            (0x88, Some("second")),
            (0x9f, None),
            (0xa8, Some("label+0x8")),
            (0x4000, None),
        ] {
            assert_eq!(name(&file, offset).as_deref(), expected, "{offset:#x}");
        }
        assert_eq!(name(&executable(b""), 0x78), None, "no tables");
    }

    #[test]
    fn symbols_are_shown_as_they_were_written() {
        for (symbol, expected) in [
            ("main", "main"),
            ("_Z5solvei", "solve(int)"),
            (
                "_ZN3Foo3barERKSt6vectorIiSaIiEE",
                "Foo::bar(std::vector<int, std::allocator<int> > const&)",
            ),
            (
                "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
                "core::fmt::Write::write_fmt",
            ),
            ("_RNvC7mycrate3foo", "mycrate::foo"),
            ("_Z", "_Z"),
            ("_ZN", "_ZN"),
        ] {
            assert_eq!(readable(symbol.as_bytes()), expected);
        }
        assert_eq!(readable(b"a\xff"), "a\u{fffd}");
    }

    #[test]
    fn symbols_that_stand_for_endless_names_are_cut() {
        // Each substitution doubles the text.
        let mut bomb = "_Z1fI1aE1b".to_owned();
        for i in 0..30 {
            let last = format!("S{}_", ["", "0", "1", "2", "3", "4"][i % 6]);
            bomb.push_str(&format!("1cI{last}{last}E"));
        }
        let nested = format!("_Z1f{}i", "P".repeat(4000));
        let long = format!("_Z150{}i", "x".repeat(150));
        for symbol in [
            bomb.clone(),
            nested,
            long.clone(),
            format!("_Z{}", bomb.repeat(20)),
        ] {
            assert!(
                readable(symbol.as_bytes()).len() <= MAX_NAME + 3,
                "{symbol}"
            );
        }
        assert_eq!(readable("y".repeat(9999).as_bytes()).len(), MAX_NAME);
    }

    #[test]
    fn damaged_tables_give_no_name_and_no_panic() {
        let good = with_symbols(&[("first", 2, 1, 0x40_0078, 16)]);
        for len in 0..good.len() {
            let _ = name(&good[..len], 0x78);
        }
        for at in 0..good.len() {
            for value in [0, 0x7f, 0xff] {
                let mut bent = good.clone();
                bent[at] = value;
                let _ = name(&bent, 0x78);
            }
        }
    }
}
