//! Backends: artifact, input, machine and limits in; measurement out.
