//! The `headwater` command: a thin front door to the crates.

mod args;
mod commands;
mod exit;
mod output;
mod progress;
mod source;

use clap::Parser;
use clap::error::ErrorKind;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::try_parse().unwrap_or_else(|e| refuse(&e));
    match commands::run(args) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("headwater: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}

/// Ends with what is wrong with the command line: a bad value on one line, anything else with the usage.
fn refuse(error: &clap::Error) -> ! {
    if error.kind() == ErrorKind::ValueValidation {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        eprintln!("headwater: {}", line.trim_start_matches("error: "));
        std::process::exit(i32::from(exit::BAD_USE));
    }
    error.exit()
}
