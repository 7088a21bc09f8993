//! Running a host program: limits, capture, kill, isolation. The only user of `Command`.
