//! Sockets: none that leave the process. Opening one is refused as a sandbox refuses it; a connected pair within the
//! process (event loops wake themselves with one) is two pipes.
use super::abi::*;
use super::descriptor::{Object, Open};
use super::user::{Piece, Record, check_range, give, one_piece, take_pieces, take_u32, take_u64};
use super::{Answer, Kernel, Stop, unsupported};
use crate::sim::memory::Memory;

const AF_UNIX: u16 = 1;
const SOCK_STREAM: u32 = 1;
const SOL_SOCKET: u32 = 1;
const MSG_DONTWAIT: u32 = 0x40;
const MSG_NOSIGNAL: u32 = 0x4000;
/// Bytes that a socket says it buffers.
const BUFFER: u32 = 1 << 16;

impl Kernel {
    /// Whether the descriptor is one end of a pair.
    fn pair(&self, fd: i32) -> Result<&Open, Errno> {
        let open = self.descriptors.get(fd)?;
        match open.object {
            Object::Pair { .. } => Ok(open),
            _ => Err(ENOTSOCK),
        }
    }

    pub(super) fn socketpair(
        &mut self,
        mem: &mut Memory,
        domain: u32,
        kind: u32,
        protocol: u32,
        at: u64,
    ) -> Answer {
        let flags = kind & (O_NONBLOCK | O_CLOEXEC);
        if domain != u32::from(AF_UNIX) {
            return Err(EACCES.into());
        }
        if kind & !flags != SOCK_STREAM {
            return Err(unsupported("socketpair: other than SOCK_STREAM"));
        }
        if protocol > 1 {
            return Err(EPROTONOSUPPORT.into());
        }
        let first = self.descriptors.lowest_free(0)?;
        let second = self.descriptors.lowest_free(first + 1)?;
        give(
            mem,
            at,
            &Record::new().u32(first as u32).u32(second as u32).bytes(),
        )?;
        let (one, two) = (self.descriptors.new_pipe(), self.descriptors.new_pipe());
        let status = O_RDWR | flags & O_NONBLOCK;
        for (fd, input, output) in [(first, one, two), (second, two, one)] {
            let open = Open::new(Object::Pair { input, output }, status, None);
            self.descriptors.insert_at(fd, open, flags & O_CLOEXEC != 0);
        }
        Ok(0)
    }

    /// `sendto` and `recvfrom` on one end of a pair.
    pub(super) fn transfer(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        count: u64,
        flags: u32,
        sending: bool,
    ) -> Answer {
        self.pair(fd)?;
        let pieces = one_piece(at, count)?;
        self.transfer_pieces(mem, fd, &pieces, flags, sending)
    }

    /// `sendmsg` and `recvmsg` on one end of a pair. No descriptors travel with the bytes.
    pub(super) fn message(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        flags: u32,
        sending: bool,
    ) -> Answer {
        const MSG_CMSG_CLOEXEC: u32 = 0x4000_0000;
        self.pair(fd)?;
        let field = |mem: &mut Memory, offset: u64| take_u64(mem, at.wrapping_add(offset));
        let (list, count, control) = (field(mem, 16)?, field(mem, 24)?, field(mem, 40)?);
        if count > IOV_MAX {
            return Err(EMSGSIZE.into());
        }
        let pieces = take_pieces(mem, list, count)?;
        if sending && control > 0 {
            return Err(unsupported("sendmsg: descriptors that travel with bytes"));
        }
        let moved = self.transfer_pieces(mem, fd, &pieces, flags & !MSG_CMSG_CLOEXEC, sending)?;
        if !sending {
            give(mem, at.wrapping_add(8), &[0; 4])?;
            give(mem, at.wrapping_add(40), &[0; 12])?;
        }
        Ok(moved)
    }

    fn transfer_pieces(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        pieces: &[Piece],
        flags: u32,
        sending: bool,
    ) -> Answer {
        if flags & !(MSG_DONTWAIT | MSG_NOSIGNAL) != 0 {
            return Err(unsupported(format!(
                "send or receive with flags {flags:#x}"
            )));
        }
        let before = self.descriptors.get(fd)?.status;
        if flags & MSG_DONTWAIT != 0 {
            self.descriptors.get_mut(fd)?.status |= O_NONBLOCK;
        }
        let result = if sending && flags & MSG_NOSIGNAL != 0 && self.peer_is_gone(fd) {
            Err(Stop::from(EPIPE))
        } else if sending {
            self.write_pieces(mem, fd, pieces, None)
        } else {
            self.read_pieces(mem, fd, pieces, None)
        };
        self.descriptors.get_mut(fd)?.status = before;
        result
    }

    fn peer_is_gone(&self, fd: i32) -> bool {
        match self.descriptors.get(fd).map(|open| &open.object) {
            Ok(Object::Pair { output, .. }) => self
                .descriptors
                .pipes
                .get(output)
                .is_none_or(|p| p.readers == 0),
            _ => false,
        }
    }

    /// `getsockname` and `getpeername`: both ends have no name.
    pub(super) fn socket_name(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        at: u64,
        length: u64,
    ) -> Answer {
        self.pair(fd)?;
        let room = take_u32(mem, length)? as i32;
        let room = usize::try_from(room).map_err(|_| EINVAL)?;
        let family = AF_UNIX.to_le_bytes();
        give(mem, at, &family[..room.min(family.len())])?;
        give(mem, length, &(family.len() as u32).to_le_bytes())?;
        Ok(0)
    }

    pub(super) fn getsockopt(
        &mut self,
        mem: &mut Memory,
        fd: i32,
        level: u32,
        option: u32,
        at: u64,
        length: u64,
    ) -> Answer {
        self.pair(fd)?;
        if level != SOL_SOCKET {
            return Err(EOPNOTSUPP.into());
        }
        let value = match option {
            3 => SOCK_STREAM,
            4 | 38 => 0,
            7 | 8 => BUFFER,
            39 => AF_UNIX.into(),
            _ => return Err(ENOPROTOOPT.into()),
        };
        let room = take_u32(mem, length)? as i32;
        let room = usize::try_from(room).map_err(|_| EINVAL)?.min(4);
        give(mem, at, &value.to_le_bytes()[..room])?;
        give(mem, length, &(room as u32).to_le_bytes())?;
        Ok(0)
    }

    /// Buffer sizes and the like may be asked for; nothing changes.
    pub(super) fn setsockopt(&mut self, fd: i32, level: u32, at: u64, length: u64) -> Answer {
        self.pair(fd)?;
        if level != SOL_SOCKET {
            return Err(EOPNOTSUPP.into());
        }
        check_range(at, length & 0xffff_ffff)?;
        Ok(0)
    }

    /// The calls that make no sense on a pair, or on what is no socket.
    pub(super) fn other_socket_call(&mut self, fd: i32, name: &str) -> Answer {
        self.pair(fd)?;
        match name {
            "connect" => Err(EISCONN.into()),
            "bind" | "listen" | "accept" | "accept4" => Err(EINVAL.into()),
            _ => Err(unsupported(format!("{name}: on a pair of sockets"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Process, failed};
    use super::*;

    #[test]
    fn a_pair_carries_bytes_both_ways_and_tells_when_the_peer_goes() {
        let mut process = Process::new();
        let at = process.bytes(b"hello\0\0\0");
        let ends = process.bytes(&[0; 8]);
        assert_eq!(process.call("socketpair", &[2, 1, 0, ends]), failed(EACCES));
        assert_eq!(
            process.call("socketpair", &[1, u64::from(1 | O_NONBLOCK), 0, ends]),
            0
        );
        assert_eq!(process.get(ends, 8), [3, 0, 0, 0, 4, 0, 0, 0]);
        assert_eq!(
            process.call("recvfrom", &[3, at, 8, 0, 0, 0]),
            failed(EAGAIN)
        );
        assert_eq!(process.call("sendto", &[3, at, 5, 0, 0, 0]), 5);
        assert_eq!(process.call("write", &[4, at, 2]), 2);
        let back = process.bytes(&[0; 8]);
        assert_eq!(process.call("recvfrom", &[4, back, 8, 0, 0, 0]), 5);
        assert_eq!(process.get(back, 5), b"hello");
        assert_eq!(process.call("read", &[3, back, 8]), 2);
        let length = process.bytes(&8u32.to_le_bytes());
        assert_eq!(process.call("getsockname", &[3, back, length]), 0);
        assert_eq!(process.get(back, 2), [1, 0]);
        let length = process.bytes(&8u32.to_le_bytes());
        assert_eq!(process.call("getsockopt", &[3, 1, 3, back, length]), 0);
        assert_eq!(process.get(back, 4), [1, 0, 0, 0]);
        process.call("close", &[4]);
        assert_eq!(process.call("read", &[3, back, 8]), 0);
        assert_eq!(
            process.call("sendto", &[3, at, 1, u64::from(MSG_NOSIGNAL), 0, 0]),
            failed(EPIPE)
        );
        assert_eq!(
            process.call("sendto", &[0, at, 1, 0, 0, 0]),
            failed(ENOTSOCK)
        );
    }
}
