//! How a command ends: its exit code, or why it could not do its work.

use crate::exit;

/// Exit code, or what is wrong.
pub type Outcome = Result<u8, Failure>;

/// Why a command could not do its work.
#[derive(Debug)]
pub struct Failure {
    /// Exit code: [`exit::BAD_USE`], or that of a program that failed.
    pub code: u8,
    /// What is wrong and what to do, on one line.
    pub message: String,
    /// The signal that asked for an end, where one did.
    pub asked_to_end: Option<u8>,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self {
            code: exit::BAD_USE,
            message,
            asked_to_end: None,
        }
    }
}
