//! Integration tests, one binary: the simulator against the host processor, whole programs, and the command line.
#![cfg_attr(
    test,
    allow(
        clippy::print_stdout,
        reason = "coverage and what is skipped belong in the output of a test run"
    )
)]
mod architecture;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod cli;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod counts;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod determinism;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod differential;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod fuzz;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod guest;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod isa;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod support;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod threat_model;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod uarch;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod zoo;
