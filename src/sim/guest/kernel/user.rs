//! Moving bytes between the kernel and the guest, with the checks and the partial results of Linux.
use super::{Stop, abi::*};
use crate::sim::memory::{Fault, Memory, USER_END};

/// Bytes moved at a time, so that no count of the guest's becomes an allocation of ours.
const CHUNK: usize = 1 << 16;

/// A piece of a scattered buffer: address and length.
pub(super) type Piece = (u64, u64);

/// Whether a buffer lies in the user's half of the address space.
pub(super) fn check_range(addr: u64, len: u64) -> Result<(), Errno> {
    match addr.checked_add(len) {
        Some(end) if end <= USER_END => Ok(()),
        _ => Err(EFAULT),
    }
}

/// Reads a structure.
pub(super) fn take<const N: usize>(mem: &mut Memory, addr: u64) -> Result<[u8; N], Stop> {
    let mut bytes = [0; N];
    mem.copy_out(addr, &mut bytes)?;
    Ok(bytes)
}

/// Reads a 32-bit number.
pub(super) fn take_u32(mem: &mut Memory, addr: u64) -> Result<u32, Stop> {
    take(mem, addr).map(u32::from_le_bytes)
}

/// Reads a 64-bit number.
pub(super) fn take_u64(mem: &mut Memory, addr: u64) -> Result<u64, Stop> {
    take(mem, addr).map(u64::from_le_bytes)
}

/// Writes a structure.
pub(super) fn give(mem: &mut Memory, addr: u64, bytes: &[u8]) -> Result<(), Stop> {
    check_range(addr, bytes.len() as u64)?;
    mem.copy_in(addr, bytes)?;
    Ok(())
}

/// Reads a path.
pub(super) fn take_path(mem: &mut Memory, addr: u64) -> Result<Vec<u8>, Stop> {
    Ok(mem.copy_c_string(addr, PATH_MAX - 1)?.ok_or(ENAMETOOLONG)?)
}

/// Reads the vectors of `readv` and its relatives; the sum of the lengths is cut to what one call moves.
pub(super) fn take_pieces(mem: &mut Memory, addr: u64, count: u64) -> Result<Vec<Piece>, Stop> {
    // The count is an `int` to some calls and a `size_t` to others; both refuse what is above the maximum.
    if count > IOV_MAX {
        return Err(EINVAL.into());
    }
    let mut pieces = Vec::with_capacity(count as usize);
    let mut room = MAX_RW_COUNT;
    for i in 0..count {
        let at = addr.wrapping_add(16 * i);
        let (base, len) = (take_u64(mem, at)?, take_u64(mem, at.wrapping_add(8))?);
        if (len as i64) < 0 {
            return Err(EINVAL.into());
        }
        check_range(base, len)?;
        let len = len.min(room);
        room -= len;
        pieces.push((base, len));
    }
    Ok(pieces)
}

/// One buffer as pieces.
pub(super) fn one_piece(addr: u64, count: u64) -> Result<[Piece; 1], Errno> {
    check_range(addr, count)?;
    Ok([(addr, count.min(MAX_RW_COUNT))])
}

/// Sum of the lengths.
pub(super) fn total(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|p| p.1).sum()
}

/// Writes `len` bytes over the pieces; `fill` supplies them, given how many went before. The bytes written: fewer than
/// `len` if a later page cannot be written.
pub(super) fn scatter(
    mem: &mut Memory,
    pieces: &[Piece],
    len: u64,
    mut fill: impl FnMut(u64, &mut [u8]),
) -> Result<u64, Stop> {
    let mut done = 0;
    let mut buffer = vec![0; CHUNK.min(len as usize)];
    for &(addr, piece_len) in pieces {
        let mut at = 0;
        let piece_len = piece_len.min(len - done);
        while at < piece_len {
            let n = (piece_len - at).min(CHUNK as u64) as usize;
            fill(done, &mut buffer[..n]);
            if let Err(fault) = mem.copy_in(addr + at, &buffer[..n]) {
                done += before_fault(fault, addr + at)?;
                return if done > 0 {
                    Ok(done)
                } else {
                    Err(EFAULT.into())
                };
            }
            at += n as u64;
            done += n as u64;
        }
    }
    Ok(done)
}

/// Reads the pieces in chunks and hands them to `sink` until it takes fewer bytes than it got. The bytes taken: fewer
/// than asked for if a later page cannot be read.
pub(super) fn gather(
    mem: &mut Memory,
    pieces: &[Piece],
    mut sink: impl FnMut(&mut Memory, &[u8]) -> Result<u64, Stop>,
) -> Result<u64, Stop> {
    let mut done = 0;
    let mut buffer = vec![0; CHUNK.min(total(pieces) as usize)];
    for &(addr, piece_len) in pieces {
        let mut at = 0;
        while at < piece_len {
            let mut n = (piece_len - at).min(CHUNK as u64);
            let mut fault = None;
            if let Err(f) = mem.copy_out(addr + at, &mut buffer[..n as usize]) {
                n = before_fault(f, addr + at)?;
                fault = Some(EFAULT);
            }
            let taken = sink(mem, &buffer[..n as usize])?;
            done += taken;
            at += n;
            match fault {
                Some(errno) if done == 0 => return Err(errno.into()),
                Some(_) => return Ok(done),
                None if taken < n => return Ok(done),
                None => {}
            }
        }
    }
    Ok(done)
}

/// How many bytes of a copy that began at `start` went well before this fault.
fn before_fault(fault: Fault, start: u64) -> Result<u64, Stop> {
    match fault {
        Fault::Page { addr, .. } | Fault::Bus { addr } => Ok(addr.saturating_sub(start)),
        Fault::MemoryLimit => Err(fault.into()),
        _ => Ok(0),
    }
}

/// Builds a little-endian structure of the kernel's interface.
#[derive(Debug, Default)]
pub(super) struct Record(Vec<u8>);

impl Record {
    pub(super) fn new() -> Self {
        Self::default()
    }
    pub(super) fn u16(mut self, value: u16) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    pub(super) fn u32(mut self, value: u32) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    pub(super) fn u64(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }
    /// A string in a field of fixed size, cut if need be.
    pub(super) fn text(mut self, text: &str, size: usize) -> Self {
        let end = self.0.len() + size;
        self.0
            .extend_from_slice(&text.as_bytes()[..text.len().min(size - 1)]);
        self.0.resize(end, 0);
        self
    }
    pub(super) fn zeros(mut self, count: usize) -> Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }
    pub(super) fn bytes(self) -> Vec<u8> {
        self.0
    }
}
