//! One run of a host program: start, feed, capture, watch, end.
#![expect(unsafe_code, reason = "`pre_exec` has no safe form")]
use super::confine::{Confinement, Step};
use super::system::{self, Fault, Pid, Stop};
use super::{Channel, Ending, Finished, Limits, ProcessError, Request, folder};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// First and longest pause between two looks at the child's memory. The first is short because a program can take
/// 1 GiB in 100 ms; looking costs a few microseconds.
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
    let (watched, pumped) = std::thread::scope(|scope| {
        let pump = match pump {
            Ok(pump) => scope.spawn(|| pump.run()),
            Err(error) => {
                system::kill_group(pid);
                let watched = watch(pid, traced, request.limits.stack_bytes);
                return (watched, Err(error));
            }
        };
        let watched = watch(pid, traced, request.limits.stack_bytes);
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
    let ending = ending(&request.limits, &watched, &pumped, &reaped, own_peak);
    let mut not_applied: Vec<_> = missing.into_iter().map(Step::name).collect();
    not_applied.dedup();
    Ok(Finished {
        ending,
        stdout: pumped.stdout.bytes,
        stderr: pumped.stderr.bytes,
        messages: pumped.messages,
        cpu_time_ns: nanoseconds(reaped.cpu_time),
        wall_time_ns: nanoseconds(watched.ended.duration_since(started)),
        peak_memory_bytes,
        peak_memory_is_own,
        not_applied,
    })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Why it ended, by what is known best: our own kill first, then the limits that the end itself shows.
fn ending(
    limits: &Limits,
    watched: &Watched,
    pumped: &Pumped,
    reaped: &system::Reaped,
    own_peak: u64,
) -> Ending {
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
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
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
            Ok(child) => return Ok(child),
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
    ended: Instant,
}

/// Follows the child to its end. A traced child stops before signals and before its end, when its memory can still be
/// read; it does not stop for system calls, so that it runs at its own speed.
fn watch(pid: Pid, traced: bool, stack_bytes: u64) -> io::Result<Watched> {
    let mut watched = Watched {
        peak_memory_bytes: 0,
        fault: None,
        stack_overflow: false,
        ended: Instant::now(),
    };
    let mut started = false;
    loop {
        match system::wait(pid)? {
            Stop::Ended => {
                watched.ended = Instant::now();
                return Ok(watched);
            }
            // The first trap is the one of `exec`.
            Stop::Signal(libc::SIGTRAP) if traced && !started => {
                started = true;
                system::trace_end(pid);
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
                        .is_some_and(|at| beyond_stack(pid, at, stack_bytes));
                watched.fault = Some(fault);
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
    done: OwnedFd,
    deadline: Instant,
    memory_bytes: Option<u64>,
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
            done,
            deadline: started + request.limits.wall,
            memory_bytes: request.limits.memory_bytes,
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
            self.talk();
            let too_much = self.result.stdout.read() | self.result.stderr.read();
            if too_much || self.result.messages.len() > self.most_messages.max(1) {
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
                self.look_at_memory();
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

    /// Sends and receives messages.
    fn talk(&mut self) {
        let Some(socket) = &self.socket else { return };
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
                    self.result
                        .messages
                        .push(buffer[..length.min(buffer.len())].to_vec());
                    if self.result.messages.len() > self.most_messages {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // The program ended without reading all of its inputs. This is said once and before the messages that
                // it sent, which are still there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
                Ok(None) | Err(_) => {
                    self.socket = None;
                    return;
                }
            }
        }
    }

    fn look_at_memory(&mut self) {
        if let Some((now, peak)) = memory(self.pid) {
            self.result.peak_memory_bytes = self.result.peak_memory_bytes.max(peak);
            if self.memory_bytes.is_some_and(|most| now.max(peak) > most) {
                self.stop(Ending::MemoryLimit);
            }
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
