//! What this system offers to confine a program, as facts for the user.
use super::system;
use std::sync::OnceLock;

/// What this kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Support {
    /// Landlock's interface version; 0 where it is missing.
    pub landlock: u32,
    /// System call filters.
    pub seccomp: bool,
}

/// What this kernel offers, asked once.
pub fn support() -> Support {
    static SUPPORT: OnceLock<Support> = OnceLock::new();
    *SUPPORT.get_or_init(|| Support {
        landlock: system::landlock_version(),
        seccomp: system::has_seccomp(),
    })
}
