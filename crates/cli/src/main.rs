//! The `headwater` command: a thin front door to the crates.

mod args;
mod commands;
mod exit;
mod network;
mod outcome;
mod output;
mod progress;
mod source;

use clap::Parser;
use clap::error::ErrorKind;
use headwater_model::printable::printable;
use std::borrow::Cow;
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match commands::compile::asked(std::env::args_os()) {
        Some((of, arguments)) => commands::compile::command(&arguments, of),
        None => commands::run(args::Args::try_parse().unwrap_or_else(|e| refuse(&e))),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            output::eprint_line(&failure.message);
            ExitCode::from(failure.code)
        }
    }
}

/// Ends with what is wrong with the command line: a bad value on one line, anything else with the usage.
fn refuse(error: &clap::Error) -> ! {
    if error.kind() == ErrorKind::ValueValidation {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default();
        output::eprint_line(line.trim_start_matches("error: "));
        std::process::exit(i32::from(exit::BAD_USE));
    }
    // What it says is clap's own and the arguments; it has taken out some of what would drive a terminal, but prints all.
    let mut given = std::env::args_os();
    let harmless = given.all(|a| matches!(printable(&a.to_string_lossy()), Cow::Borrowed(_)));
    if harmless || !error.use_stderr() {
        error.exit()
    }
    let shown = printable(&error.to_string()).into_owned();
    eprint!("{shown}");
    std::process::exit(i32::from(exit::BAD_USE))
}
