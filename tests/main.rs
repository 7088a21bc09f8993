//! Integration tests, one binary: the simulator against the host processor.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod differential;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod isa;
