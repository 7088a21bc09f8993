//! Any room's error as message, hint and exit code.
use super::Status;
use crate::measurement::BackendFailure;
use crate::sim::machine::MachineError;

/// What is said when a command cannot be carried out.
#[derive(Debug)]
pub(super) struct CliError {
    /// What is wrong and where: a lower-case fragment.
    pub(super) message: String,
    /// What to do; may be empty.
    pub(super) hint: String,
    /// The exit code.
    pub(super) status: Status,
}

impl CliError {
    pub(super) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            status: Status::Usage,
        }
    }
}

impl From<BackendFailure> for CliError {
    fn from(failure: BackendFailure) -> Self {
        Self {
            message: failure.what,
            hint: failure.remedy,
            status: Status::Failure,
        }
    }
}

impl From<MachineError> for CliError {
    fn from(error: MachineError) -> Self {
        Self::usage(
            error.to_string(),
            "`tickmark machines` lists the built-in machines",
        )
    }
}

impl From<crate::store::StoreError> for CliError {
    fn from(error: crate::store::StoreError) -> Self {
        let status = match error {
            crate::store::StoreError::Statement { .. } => Status::Failure,
            _ => Status::Usage,
        };
        Self {
            hint: error.remedy().to_owned(),
            message: error.to_string(),
            status,
        }
    }
}
