//! The shell: reads argv, prints, chooses the exit code.
