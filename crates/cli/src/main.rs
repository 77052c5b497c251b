//! The `headwater` command: a thin front door to the crates.

mod args;
mod commands;
mod exit;
mod output;
mod progress;
mod source;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match commands::run(args) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("headwater: {}", failure.message);
            ExitCode::from(failure.code)
        }
    }
}
