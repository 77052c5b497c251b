//! Commands, each in its file. A command returns its exit code, or the one line that says what is
//! wrong and what to do, with the code to end with.

mod diagnose;
mod doctor;
mod record;
mod run;
mod structure;

use crate::args::{Args, Command};
use crate::exit;
use std::io::Write;

/// Exit code, or what is wrong.
pub type Outcome = Result<u8, Failure>;

/// Why a command could not do its work.
#[derive(Debug)]
pub struct Failure {
    /// Exit code: [`exit::BAD_USE`], or that of a program that failed.
    pub code: u8,
    /// What is wrong and what to do, on one line.
    pub message: String,
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self {
            code: exit::BAD_USE,
            message,
        }
    }
}

/// Runs a command.
pub fn run(args: Args) -> Outcome {
    match args.command {
        Command::Run(args) => run::run(&args),
        Command::Record(args) => record::command(&args),
        Command::Exec(args) => record::exec(&args),
        Command::Diagnose(args) => diagnose::command(&args),
        Command::Structure(args) => structure::command(&args),
        Command::Doctor { json } => doctor::command(json),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(
                shell,
                &mut crate::args::definition(),
                "headwater",
                &mut text,
            );
            print(&String::from_utf8_lossy(&text))
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(crate::args::definition())
                .render(&mut text)
                .map_err(|e| e.to_string())?;
            print(&String::from_utf8_lossy(&text))
        }
    }
}

/// Writes to standard output; a reader that has closed its end is content.
pub fn print(text: &str) -> Outcome {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write the result: {e}").into())
        }
        _ => Ok(exit::DONE),
    }
}
