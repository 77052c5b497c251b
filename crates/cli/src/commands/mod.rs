//! Commands, each in its file. A command returns its exit code, or the one line that says what is
//! wrong and what to do, with the code to end with.

mod analyse;
mod diagnose;
mod doctor;
mod export;
mod import;
mod link_flags;
mod manual;
mod record;
mod run;
mod schema;
mod structure;

use crate::args::{Args, Command};
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

/// Runs a command.
pub fn run(args: Args) -> Outcome {
    let quiet = args.quiet;
    match args.command {
        Command::Run(args) => run::run(&args, quiet),
        Command::Record(args) => record::command(&args, quiet),
        Command::Exec(args) => record::exec(&args),
        Command::Diagnose(args) => diagnose::command(&args, quiet),
        Command::Analyse(args) => analyse::command(&args, quiet),
        Command::Export(args) => export::command(&args, quiet),
        Command::Import(args) => import::command(&args, quiet),
        Command::Structure(args) => structure::command(&args, quiet),
        Command::LinkFlags(args) => link_flags::command(&args),
        Command::Doctor(args) => doctor::command(&args),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man(args) => manual::man(&args),
        Command::Schema { command } => schema::command(command),
    }
}
