//! Commands, each in its file. A command returns its exit code, or the one line that says what is
//! wrong and what to do, with the code to end with.

mod analyse;
mod calibrate;
pub mod compile;
mod diagnose;
mod doctor;
mod export;
mod header;
mod import;
mod link_flags;
mod manual;
mod page;
mod record;
mod replay;
mod run;
mod schema;
mod show;
mod simulate;
mod stop;
mod structure;
mod view;

use crate::args::{Args, Command, Json, Recording};
use crate::outcome::{Failure, Outcome};

/// Runs a command.
pub fn run(args: Args) -> Outcome {
    let quiet = args.quiet;
    if let Some(json) = json(&args.command) {
        json.check()?;
    }
    if let Some(recording) = recording(&args.command) {
        recording.check()?;
    }
    match args.command {
        Command::Run(args) => run::run(&args, quiet),
        Command::Record(args) => record::command(&args, quiet),
        Command::Trace(mut args) => {
            args.recording.trace = true;
            record::command(&args, quiet)
        }
        Command::Exec(args) => record::exec(&args),
        Command::Stop { runs } => stop::command(&runs, quiet),
        Command::Diagnose(args) => diagnose::command(&args, quiet),
        Command::View(args) => view::command(&args, quiet),
        Command::Analyse(args) => analyse::command(&args, quiet),
        Command::Export(args) => export::command(&args, quiet),
        Command::Simulate(args) => simulate::command(&args, quiet),
        Command::Import(args) => import::command(&args, quiet),
        Command::Replay(args) => replay::command(&args, quiet),
        Command::Calibrate(args) => calibrate::command(&args),
        Command::Structure(args) => structure::command(&args, quiet),
        Command::Cc(args) => compile::command(&args.arguments, compile::Of::C),
        Command::Cxx(args) => compile::command(&args.arguments, compile::Of::Cxx),
        Command::Fc(args) => compile::command(&args.arguments, compile::Of::Fortran),
        Command::Show(args) => show::command(&args),
        Command::LinkFlags(args) => link_flags::command(&args),
        Command::Header { language } => header::command(language),
        Command::Doctor(args) => doctor::command(&args),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man(args) => manual::man(&args),
        Command::Schema { command } => schema::command(command),
    }
}

/// What a command is to record; `trace` itself asks for a trace.
fn recording(command: &Command) -> Option<&Recording> {
    match command {
        Command::Run(args) => Some(&args.recording),
        Command::Record(args) => Some(&args.recording),
        Command::Exec(args) => Some(&args.recording),
        _ => None,
    }
}

/// The JSON of a command. Ranks of a replay check their file themselves, so that one of them reports it.
fn json(command: &Command) -> Option<&Json> {
    match command {
        Command::Run(args) => Some(&args.analysis.json),
        Command::Record(args) | Command::Trace(args) => Some(&args.json),
        Command::Diagnose(args) => Some(&args.analysis.json),
        Command::Analyse(args) => Some(&args.json),
        Command::Simulate(args) => Some(&args.json),
        Command::Structure(args) => Some(&args.json),
        Command::Show(args) => Some(&args.json),
        Command::LinkFlags(args) => Some(&args.json),
        Command::Doctor(args) => Some(&args.json),
        Command::Replay(_)
        | Command::Calibrate(_)
        | Command::Exec(_)
        | Command::Export(_)
        | Command::Import(_)
        | Command::Cc(_)
        | Command::Cxx(_)
        | Command::Fc(_)
        | Command::Completions { .. }
        | Command::Header { .. }
        | Command::Man(_)
        | Command::Schema { .. }
        | Command::Stop { .. }
        | Command::View(_) => None,
    }
}
