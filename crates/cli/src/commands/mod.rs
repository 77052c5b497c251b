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
use crate::outcome::{Failure, Outcome};

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
