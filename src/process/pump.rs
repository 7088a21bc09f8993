//! One run of a host program: start, feed, capture, watch, end.
#![expect(unsafe_code, reason = "`pre_exec` has no safe form")]
use super::confine::{Confinement, Step};
use super::events::Attached;
use super::system::{self, Fault, Pid, Stop};
use super::{Channel, Counting, Ending, Finished, Limits, ProcessError, Request, folder};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// First and longest pause between two looks at the child's memory and CPU time. The first is short because a program
/// can take 1 GiB in 100 ms; looking costs a few microseconds.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_millis(10);

fn system_error(action: &'static str) -> impl FnOnce(io::Error) -> ProcessError {
    move |source| ProcessError::System { action, source }
}

/// See [`super::run`].
pub(super) fn run(request: Request<'_>) -> Result<Finished, ProcessError> {
    let mut missing = Vec::new();
    let started = Instant::now();
    let (mut reported, report) = io::pipe().map_err(system_error("make a pipe"))?;
    let (mut socket, mut channel) = (None, None);
    if let Some(wanted) = &request.channel {
        let (ours, theirs) = system::message_pair().map_err(system_error("make a socket"))?;
        socket = Some(ours);
        channel = Some((theirs, wanted.descriptor));
    }
    let confinement = Confinement::prepare(
        &request.limits,
        &request.isolation,
        request.counting.cpu,
        channel,
        report.into(),
        &mut missing,
    );
    let mut child = start(&request, confinement)?;
    let pid = Pid(child.id().cast_signed());
    // The child has called `exec`, which closed its write end: this ends.
    let mut steps = Vec::new();
    let _ = reported.read_to_end(&mut steps);
    missing.extend(steps.into_iter().filter_map(Step::from_number));
    let traced = !missing.contains(&Step::Trace);

    let (done, finished) = io::pipe().map_err(system_error("make a pipe"))?;
    let pump = Pump::new(&request, &mut child, socket, done.into(), started, pid)
        .map_err(system_error("watch a program"));
    let watch = |pid| watch(pid, traced, &request.limits, &request.counting);
    let (watched, pumped) = std::thread::scope(|scope| {
        let pump = match pump {
            Ok(pump) => scope.spawn(|| pump.run()),
            Err(error) => {
                system::kill_group(pid);
                let watched = watch(pid);
                return (watched, Err(error));
            }
        };
        let watched = watch(pid);
        if watched.is_err() {
            system::kill_group(pid);
        }
        drop(finished);
        let pumped = pump
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the watcher panicked")));
        (watched, pumped.map_err(system_error("watch a program")))
    });
    // What the program left behind in its group. Its number is still its own: it is reaped only now.
    system::kill_group(pid);
    let reaped = system::reap(pid).map_err(system_error("wait for a program"));
    let (watched, pumped, reaped) = (
        watched.map_err(system_error("wait for a program"))?,
        pumped?,
        reaped?,
    );

    let own_peak = watched.peak_memory_bytes.max(pumped.peak_memory_bytes);
    // A child that was killed has no last stop; what was seen of it while it ran is a lower bound, and its own.
    let peak_memory_is_own =
        own_peak > 0 && (watched.peak_memory_bytes > 0 || pumped.stopped.is_some());
    let peak_memory_bytes = if peak_memory_is_own {
        own_peak
    } else {
        reaped.max_rss_bytes
    };
    let ending = ending(&request, &watched, &pumped, &reaped, own_peak);
    let mut not_applied: Vec<_> = missing.into_iter().map(Step::name).collect();
    not_applied.dedup();
    Ok(Finished {
        ending,
        stdout: pumped.stdout.bytes,
        stderr: pumped.stderr.bytes,
        messages: pumped.messages,
        cpu_time_ns: nanoseconds(reaped.cpu_time.saturating_sub(watched.cpu_time_before)),
        wall_time_ns: nanoseconds(
            (watched.ended).duration_since(watched.entered.unwrap_or(started)),
        ),
        peak_memory_bytes,
        peak_memory_is_own,
        readings: watched.attached.read(),
        not_applied,
    })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The limit of CPU time where it is ours to watch: see [`Confinement::prepare`].
fn watched_cpu(request: &Request<'_>) -> Option<Duration> {
    (request.isolation.single_process).then_some(request.limits.cpu)
}

/// Why it ended, by what is known best: our own kill first, then the limits that the end itself shows.
fn ending(
    request: &Request<'_>,
    watched: &Watched,
    pumped: &Pumped,
    reaped: &system::Reaped,
    own_peak: u64,
) -> Ending {
    let limits = &request.limits;
    // Between two looks it may have ended by itself, beyond its limit.
    let late = watched_cpu(request).is_some_and(|most| reaped.cpu_time >= most);
    if watched.served_out || late && pumped.stopped.is_none() {
        return Ending::CpuLimit;
    }
    if let Some(stopped) = &pumped.stopped {
        return stopped.clone();
    }
    if limits.memory_bytes.is_some_and(|most| own_peak > most) {
        return Ending::MemoryLimit;
    }
    match reaped.status {
        Ok(code) => Ending::Exited { code },
        Err(signal)
            if i32::from(signal) == libc::SIGXCPU
                || (i32::from(signal) == libc::SIGKILL && reaped.cpu_time >= limits.cpu) =>
        {
            Ending::CpuLimit
        }
        Err(signal) => {
            let fault = watched
                .fault
                .filter(|fault| fault.signal == i32::from(signal));
            Ending::Signaled {
                signal,
                rip: fault.map_or(0, |fault| fault.rip),
                address: fault.and_then(|fault| fault.address),
                stack_overflow: fault.is_some() && watched.stack_overflow,
            }
        }
    }
}

fn start(request: &Request<'_>, mut confinement: Confinement) -> Result<Child, ProcessError> {
    let mut command = Command::new(&request.program);
    command
        .args(&request.arguments)
        .env_clear()
        .envs(
            request
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .current_dir(&request.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    // A pipe opens again through `/proc`; a socket does not.
    let sealed = if request.isolation.sealed_stderr {
        let (ours, theirs) = UnixStream::pair().map_err(system_error("make a pair of sockets"))?;
        command.stderr(OwnedFd::from(theirs));
        Some(ChildStderr::from(OwnedFd::from(ours)))
    } else {
        command.stderr(Stdio::piped());
        None
    };
    if let Some(name) = &request.name {
        command.arg0(name);
    }
    // SAFETY: `apply` only makes system calls: no allocation, no lock, no panic.
    // JUSTIFICATION: limits, filters and the process group must be in place before `exec`, and only there.
    unsafe { command.pre_exec(move || confinement.apply()) };
    let mut attempts = 0;
    loop {
        let guard = folder::while_starting();
        let result = command.spawn();
        drop(guard);
        match result {
            Ok(mut child) => {
                child.stderr = child.stderr.or(sealed);
                return Ok(child);
            }
            // A fork that is not ours may still hold the file open for writing.
            Err(error) if error.raw_os_error() == Some(libc::ETXTBSY) && attempts < 50 => {
                attempts += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(source) => {
                return Err(ProcessError::Start {
                    program: request.program.clone(),
                    source,
                });
            }
        }
    }
}

/// What the waiting thread saw.
#[derive(Debug)]
struct Watched {
    /// High-water mark just before the end; 0 where it could not be read.
    peak_memory_bytes: u64,
    fault: Option<Fault>,
    stack_overflow: bool,
    /// Its signals took more of our time than it may take itself, and we killed it.
    served_out: bool,
    /// When it came to its first instruction; `None` where it is not traced.
    entered: Option<Instant>,
    /// Processor time that the launcher had taken by then: confining a child costs more than a short program.
    cpu_time_before: Duration,
    ended: Instant,
    attached: Attached,
}

/// Follows the child to its end. A traced child stops before signals and before its end, when its memory can still be
/// read; it does not stop for system calls, so that it runs at its own speed.
fn watch(pid: Pid, traced: bool, limits: &Limits, counting: &Counting) -> io::Result<Watched> {
    let began = system::thread_cpu_time();
    let mut watched = Watched {
        peak_memory_bytes: 0,
        fault: None,
        stack_overflow: false,
        served_out: false,
        entered: None,
        cpu_time_before: Duration::ZERO,
        ended: Instant::now(),
        attached: Attached::to_none(&counting.events),
    };
    loop {
        match system::wait(pid, traced)? {
            Stop::Ended => {
                watched.ended = Instant::now();
                return Ok(watched);
            }
            // The first trap is the one of `exec`.
            Stop::Signal(libc::SIGTRAP) if traced && watched.entered.is_none() => {
                system::trace_end(pid);
                watched.attached = Attached::to(pid.0, &counting.events, counting.cpu.is_some());
                watched.cpu_time_before = system::cpu_time(pid).unwrap_or_default();
                watched.entered = Some(Instant::now());
                system::go_on(pid, 0);
            }
            Stop::Signal(
                signal @ (libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU),
            ) => {
                // A stopped program would only wait for its wall-clock limit.
                let _ = signal;
                system::go_on(pid, 0);
            }
            Stop::Signal(signal) => {
                let fault = system::fault(pid, signal);
                watched.stack_overflow = signal == libc::SIGSEGV
                    && fault
                        .address
                        .is_some_and(|at| beyond_stack(pid, at, limits.stack_bytes));
                watched.fault = Some(fault);
                // A handler that returns to its fault keeps us far busier than itself: its own CPU limit would come
                // only after many times that much wall time.
                if system::thread_cpu_time().saturating_sub(began) >= limits.cpu {
                    watched.served_out = true;
                    system::kill_group(pid);
                }
                system::go_on(pid, signal);
            }
            Stop::Exiting => {
                watched.peak_memory_bytes = memory(pid).map_or(0, |(_, peak)| peak);
                system::go_on(pid, 0);
            }
            Stop::Event => system::go_on(pid, 0),
        }
    }
}

/// Resident memory now and its high-water mark, in bytes.
fn memory(Pid(pid): Pid) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

/// Whether an address lies where the main stack was not allowed to grow any more.
fn beyond_stack(Pid(pid): Pid, address: u64, stack_bytes: u64) -> bool {
    /// A frame can be larger than the stack that is left, so the access can lie well below it.
    const WINDOW: u64 = 64 << 20;
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/maps")) else {
        return false;
    };
    let Some(line) = text.lines().find(|line| line.ends_with("[stack]")) else {
        return false;
    };
    let Some((low, high)) = line
        .split_once(' ')
        .and_then(|(range, _)| range.split_once('-'))
    else {
        return false;
    };
    let (Ok(low), Ok(high)) = (u64::from_str_radix(low, 16), u64::from_str_radix(high, 16)) else {
        return false;
    };
    // The kernel keeps a gap of 1 MiB to the next mapping, so growth may end that much earlier.
    let end = high.saturating_sub(stack_bytes.saturating_sub(1 << 20));
    address < low && address <= end && address >= end.saturating_sub(WINDOW)
}

/// A stream being captured.
#[derive(Debug)]
struct Captured<R> {
    from: Option<R>,
    bytes: Vec<u8>,
    most: usize,
}

impl<R: Read> Captured<R> {
    /// Reads what is there; `true` when more came than may be kept.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 65536];
        while let Some(from) = &mut self.from {
            match from.read(&mut buffer) {
                Ok(0) => self.from = None,
                Ok(read) => {
                    let room = self.most - self.bytes.len();
                    self.bytes.extend_from_slice(&buffer[..read.min(room)]);
                    if read > room {
                        return true;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.from = None,
            }
        }
        false
    }
}

/// What the pumping thread gathered.
#[derive(Debug)]
struct Pumped {
    stdout: Captured<ChildStdout>,
    stderr: Captured<ChildStderr>,
    messages: Vec<Vec<u8>>,
    peak_memory_bytes: u64,
    /// Why we killed it, if we did.
    stopped: Option<Ending>,
}

/// Moves bytes and watches the limits while the other thread waits for the child.
struct Pump<'a> {
    stdin: Option<ChildStdin>,
    input: &'a [u8],
    socket: Option<OwnedFd>,
    inputs: VecDeque<Arc<[u8]>>,
    most_messages: usize,
    /// Bytes of messages that may still come.
    message_room: usize,
    done: OwnedFd,
    deadline: Instant,
    memory_bytes: Option<u64>,
    /// Where the limit of CPU time is ours to watch.
    cpu: Option<Duration>,
    pid: Pid,
    result: Pumped,
}

impl<'a> Pump<'a> {
    fn new(
        request: &Request<'a>,
        child: &mut Child,
        socket: Option<OwnedFd>,
        done: OwnedFd,
        started: Instant,
        pid: Pid,
    ) -> io::Result<Self> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        for descriptor in [
            stdin.as_ref().map(AsFd::as_fd),
            stdout.as_ref().map(AsFd::as_fd),
            stderr.as_ref().map(AsFd::as_fd),
        ]
        .into_iter()
        .flatten()
        {
            system::never_block(descriptor)?;
        }
        let most = usize::try_from(request.limits.output_bytes).unwrap_or(usize::MAX);
        let channel = request.channel.as_ref();
        if let (Some(socket), Some(channel)) = (&socket, channel)
            && channel.inputs.is_empty()
        {
            system::end_sending(socket.as_fd());
        }
        Ok(Self {
            stdin,
            input: request.stdin,
            socket,
            inputs: channel
                .map(|channel| channel.inputs.iter().cloned().collect())
                .unwrap_or_default(),
            most_messages: channel.map_or(0, |channel| channel.most_messages),
            message_room: channel.map_or(0, |channel| channel.most_bytes),
            done,
            deadline: started + request.limits.wall,
            memory_bytes: request.limits.memory_bytes,
            cpu: watched_cpu(request),
            pid,
            result: Pumped {
                stdout: Captured {
                    from: stdout,
                    bytes: Vec::new(),
                    most,
                },
                stderr: Captured {
                    from: stderr,
                    bytes: Vec::new(),
                    most,
                },
                messages: Vec::new(),
                peak_memory_bytes: 0,
                stopped: None,
            },
        })
    }

    fn run(mut self) -> io::Result<Pumped> {
        let mut look = FIRST_LOOK;
        let mut next_look = Instant::now() + look;
        loop {
            let mut entries = self.entries();
            let now = Instant::now();
            let until = self.deadline.min(next_look).saturating_duration_since(now);
            // Rounded up, or the last millisecond would be spent spinning.
            system::poll(&mut entries, until + Duration::from_millis(1))?;
            let ended = entries[0].revents != 0;
            self.feed();
            let too_much = self.talk() | self.result.stdout.read() | self.result.stderr.read();
            if too_much {
                self.stop(Ending::OutputLimit);
            }
            if ended {
                return Ok(self.result);
            }
            let now = Instant::now();
            if now >= self.deadline {
                self.stop(Ending::WallLimit);
                // The waiting thread ends the loop; until then there is nothing to hurry for.
                self.deadline = now + Duration::from_secs(3600);
            }
            if now >= next_look {
                self.look();
                look = (look * 2).min(LONGEST_LOOK);
                next_look = now + look;
            }
        }
    }

    fn entries(&self) -> Vec<libc::pollfd> {
        let entry = |descriptor: BorrowedFd<'_>, events| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events,
            revents: 0,
        };
        let mut entries = vec![entry(self.done.as_fd(), libc::POLLIN)];
        let outgoing = if self.inputs.is_empty() {
            0
        } else {
            libc::POLLOUT
        };
        entries.extend(
            self.stdin
                .as_ref()
                .map(|pipe| entry(pipe.as_fd(), libc::POLLOUT)),
        );
        entries.extend(
            self.result
                .stdout
                .from
                .as_ref()
                .map(|pipe| entry(pipe.as_fd(), libc::POLLIN)),
        );
        entries.extend(
            self.result
                .stderr
                .from
                .as_ref()
                .map(|pipe| entry(pipe.as_fd(), libc::POLLIN)),
        );
        entries.extend(
            self.socket
                .as_ref()
                .map(|pipe| entry(pipe.as_fd(), libc::POLLIN | outgoing)),
        );
        entries
    }

    /// Writes what standard input takes, and closes it at the end.
    fn feed(&mut self) {
        while let Some(pipe) = &mut self.stdin {
            if self.input.is_empty() {
                self.stdin = None;
                break;
            }
            match pipe.write(self.input) {
                Ok(written) => self.input = &self.input[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // A program need not read its input.
                Err(_) => self.stdin = None,
            }
        }
    }

    /// Sends and receives messages; `true` when more came than may be kept.
    fn talk(&mut self) -> bool {
        let Some(socket) = &self.socket else {
            return false;
        };
        while let Some(message) = self.inputs.front() {
            match system::send(socket.as_fd(), message) {
                Ok(_) => {
                    self.inputs.pop_front();
                    if self.inputs.is_empty() {
                        system::end_sending(socket.as_fd());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => self.inputs.clear(),
            }
        }
        let mut buffer = vec![0; Channel::LONGEST];
        loop {
            match system::receive(socket.as_fd(), &mut buffer) {
                Ok(Some(length)) => {
                    // What is longer than a message may be has lost its tail; the driver never sends that.
                    let message = &buffer[..length.min(buffer.len())];
                    if self.result.messages.len() == self.most_messages
                        || message.len() > self.message_room
                    {
                        return true;
                    }
                    self.message_room -= message.len();
                    self.result.messages.push(message.to_vec());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                // The program ended without reading all of its inputs. This is said once and before the messages that
                // it sent, which are still there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                Ok(None) | Err(_) => {
                    self.socket = None;
                    return false;
                }
            }
        }
    }

    fn look(&mut self) {
        if let Some((now, peak)) = memory(self.pid) {
            self.result.peak_memory_bytes = self.result.peak_memory_bytes.max(peak);
            if self.memory_bytes.is_some_and(|most| now.max(peak) > most) {
                self.stop(Ending::MemoryLimit);
            }
        }
        if let Some(most) = self.cpu
            && system::cpu_time(self.pid).is_some_and(|time| time >= most)
        {
            self.stop(Ending::CpuLimit);
        }
    }

    /// Kills the program; the first reason stands.
    fn stop(&mut self, why: Ending) {
        if self.result.stopped.is_none() {
            if let Some((_, peak)) = memory(self.pid) {
                self.result.peak_memory_bytes = self.result.peak_memory_bytes.max(peak);
            }
            self.result.stopped = Some(why);
            system::kill_group(self.pid);
        }
        // What it still writes is of no use, and a full pipe must not keep it from dying.
        self.stdin = None;
        self.result.stdout.from = None;
        self.result.stderr.from = None;
        self.socket = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Isolation, PrivateFolder, run, write_executable};
    use super::*;
    use std::path::PathBuf;

    const SHELL: &str = "/bin/sh";

    fn limits() -> Limits {
        Limits {
            wall: Duration::from_secs(20),
            cpu: Duration::from_secs(20),
            memory_bytes: None,
            address_space_bytes: None,
            file_bytes: 1 << 20,
            stack_bytes: 8 << 20,
            output_bytes: 1000,
        }
    }

    /// Runs a line of shell; the shell itself may read what it needs.
    fn shell(line: &str, stdin: &[u8], limits: Limits) -> Finished {
        shell_with(line, stdin, limits, |_| {})
    }

    fn shell_with(
        line: &str,
        stdin: &[u8],
        limits: Limits,
        change: impl FnOnce(&mut Isolation),
    ) -> Finished {
        let folder = PrivateFolder::new().unwrap();
        let mut isolation = Isolation {
            readable: ["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"]
                .map(PathBuf::from)
                .to_vec(),
            writable: vec![folder.path().to_owned()],
            ..Isolation::default()
        };
        change(&mut isolation);
        run(Request {
            program: PathBuf::from(SHELL),
            name: None,
            arguments: vec!["-c".into(), line.into()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            folder: folder.path().to_owned(),
            stdin,
            limits,
            isolation,
            channel: None,
            counting: Counting::default(),
        })
        .unwrap()
    }

    #[test]
    fn streams_are_separate_exact_and_captured() {
        let finished = shell("cat; echo problem >&2; exit 7", b"a\0b\xff", limits());
        assert_eq!(finished.ending, Ending::Exited { code: 7 });
        assert_eq!(
            (finished.stdout.as_slice(), finished.stderr.as_slice()),
            (&b"a\0b\xff"[..], &b"problem\n"[..])
        );
        assert!(finished.cpu_time_ns > 0 && finished.wall_time_ns >= finished.cpu_time_ns / 2);
        assert_eq!(finished.not_applied, Vec::<&str>::new());
    }

    #[test]
    fn a_sealed_stream_takes_what_its_owner_writes_and_opens_for_nobody() {
        let line = "echo own >&2; echo forged > /dev/stderr; echo forged > /proc/self/fd/2";
        for (sealed, forged) in [(true, 0), (false, 2)] {
            // Without Landlock, which lets no shell open these.
            let finished = shell_with(line, b"", limits(), |isolation| {
                (isolation.sealed_stderr, isolation.trusted) = (sealed, true);
            });
            let text = String::from_utf8_lossy(&finished.stderr).into_owned();
            let count = |word| text.lines().filter(|&line| line == word).count();
            assert_eq!((count("own"), count("forged")), (1, forged), "{text}");
        }
    }

    #[test]
    fn output_up_to_the_limit_is_kept_and_one_byte_more_is_too_much() {
        let exact = shell("printf %01000d 0", b"", limits());
        assert_eq!(
            (exact.ending, exact.stdout.len()),
            (Ending::Exited { code: 0 }, 1000)
        );
        let more = shell("printf %01001d 0", b"", limits());
        assert_eq!(
            (more.ending, more.stdout.len()),
            (Ending::OutputLimit, 1000)
        );
        assert_eq!(
            shell("printf %01001d 0 >&2", b"", limits()).ending,
            Ending::OutputLimit
        );
    }

    #[test]
    fn input_that_is_not_read_is_no_failure() {
        let finished = shell("exit 0", &vec![b'x'; 1 << 20], limits());
        assert_eq!(finished.ending, Ending::Exited { code: 0 });
    }

    #[test]
    fn a_program_that_waits_ends_at_the_wall_clock_with_all_its_children() {
        let limits = Limits {
            wall: Duration::from_millis(300),
            ..limits()
        };
        let started = Instant::now();
        let finished = shell("echo $$; sleep 100 & sleep 100", b"", limits);
        assert_eq!(finished.ending, Ending::WallLimit);
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{:?}",
            started.elapsed()
        );
        let group: i32 = String::from_utf8_lossy(&finished.stdout)
            .trim()
            .parse()
            .unwrap();
        assert_group_is_gone(group);
    }

    #[test]
    fn children_left_behind_are_killed_and_do_not_delay_the_end() {
        let finished = shell("sleep 100 & echo $$", b"", limits());
        assert_eq!(finished.ending, Ending::Exited { code: 0 });
        assert!(finished.wall_time_ns < 15_000_000_000);
        assert_group_is_gone(
            String::from_utf8_lossy(&finished.stdout)
                .trim()
                .parse()
                .unwrap(),
        );
    }

    fn assert_group_is_gone(group: i32) {
        // A killed process needs a moment to go.
        let gone = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
                let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
                // Behind the name: state, parent, group.
                let fields: Vec<_> = stat
                    .rsplit(')')
                    .next()
                    .unwrap_or("")
                    .split_whitespace()
                    .collect();
                fields.first() != Some(&"Z") && fields.get(2) == Some(&group.to_string().as_str())
            })
        });
        assert!(gone);
    }

    #[test]
    fn cpu_time_and_file_size_are_limited() {
        let finished = shell(
            "while :; do :; done",
            b"",
            Limits {
                cpu: Duration::from_secs(1),
                ..limits()
            },
        );
        assert_eq!(finished.ending, Ending::CpuLimit);
        // The limit counts ticks of the scheduler, the account is exact: on a busy host they differ by a part.
        assert!(finished.cpu_time_ns >= 500_000_000, "{finished:?}");
        let finished = shell("exec cat > big", &vec![b'x'; 2 << 20], limits());
        assert!(
            matches!(finished.ending, Ending::Signaled { signal, .. } if i32::from(signal) == libc::SIGXFSZ),
            "{finished:?}"
        );
    }

    #[test]
    fn files_outside_are_neither_read_nor_written() {
        let outside = PrivateFolder::new().unwrap();
        let secret = outside.path().join("secret");
        std::fs::write(&secret, "secret").unwrap();
        let line = format!(
            "cat {0}; echo x > {0}; rm -f {0}; echo y > mine && cat mine",
            secret.display()
        );
        let finished = shell(&line, b"", limits());
        assert_eq!(finished.stdout, b"y\n", "{finished:?}");
        assert_eq!(std::fs::read(&secret).unwrap(), b"secret");
    }

    #[test]
    fn a_program_that_is_not_there_is_our_failure() {
        let folder = PrivateFolder::new().unwrap();
        let error = run(Request {
            program: folder.path().join("nothing"),
            name: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            folder: folder.path().to_owned(),
            stdin: b"",
            limits: limits(),
            isolation: Isolation {
                trusted: true,
                ..Isolation::default()
            },
            channel: None,
            counting: Counting::default(),
        })
        .unwrap_err();
        assert!(error.to_string().starts_with("cannot start `"), "{error}");
    }

    #[test]
    fn messages_keep_their_borders_and_inputs_their_order() {
        // No shell can read messages one by one: `cat` reads each with one call and writes it with one.
        let folder = PrivateFolder::new().unwrap();
        let inputs = vec![
            Arc::from(&b"first"[..]),
            Arc::from(vec![b'x'; Channel::LONGEST]),
            Arc::from(&b"last"[..]),
        ];
        let finished = run(Request {
            program: PathBuf::from(SHELL),
            name: None,
            arguments: vec!["-c".into(), "exec cat <&9 >&9".into()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            folder: folder.path().to_owned(),
            stdin: b"",
            limits: limits(),
            isolation: Isolation {
                trusted: true,
                ..Isolation::default()
            },
            channel: Some(Channel {
                descriptor: 9,
                inputs: inputs.clone(),
                most_messages: 10,
                most_bytes: 1 << 20,
            }),
            counting: Counting::default(),
        })
        .unwrap();
        assert_eq!(finished.ending, Ending::Exited { code: 0 });
        assert!(
            finished
                .messages
                .iter()
                .map(Vec::as_slice)
                .eq(inputs.iter().map(|input| &input[..]))
        );
    }

    #[test]
    fn executables_can_be_started_at_once_while_other_threads_start_theirs() {
        let bytes = std::fs::read("/bin/true").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let folder = PrivateFolder::new().unwrap();
                        let program = folder.path().join("program");
                        write_executable(&program, &bytes).unwrap();
                        let finished = run(Request {
                            program,
                            name: None,
                            arguments: Vec::new(),
                            environment: Vec::new(),
                            folder: folder.path().to_owned(),
                            stdin: b"",
                            limits: limits(),
                            isolation: Isolation {
                                trusted: true,
                                ..Isolation::default()
                            },
                            channel: None,
                            counting: Counting::default(),
                        });
                        assert_eq!(finished.unwrap().ending, Ending::Exited { code: 0 });
                    }
                });
            }
        });
    }
}
