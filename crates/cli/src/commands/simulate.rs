//! `simulate`: a recorded run in virtual time.

mod networks;
mod places;
mod question;
mod timeline;
mod waits;

use super::{Outcome, diagnose};
use crate::args::SimulateArgs;
use crate::output::{SCHEMA, print};
use crate::progress::Progress;
use headwater_format::read_trace;
use headwater_simulate::{Done, Edit, Network, Options, Program, Work, simulate};
use headwater_virtual_run::{Place, Recorded};
pub use networks::Used as UsedNetwork;
use places::Named;
pub use places::structures;
use question::{CallKind, Question};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What `headwater simulate --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Simulation {
    /// Version of this format.
    schema: u32,
    /// Run time in virtual time, seconds.
    seconds: f64,
    /// Run time of the recorded run, seconds.
    recorded_seconds: f64,
    /// Ranks in the trace.
    ranks: usize,
    /// The network.
    network: networks::Used,
    /// MPI calls that were simulated.
    calls: u64,
    /// Efficiencies as POP defines them; null if nothing is computed.
    efficiencies: Option<Efficiencies>,
    /// Places with the longest parts of the critical path, longest first.
    critical_path: Vec<OnPath>,
    /// Waiting of all ranks together, seconds.
    wait_seconds: f64,
    /// Places with the longest waiting, longest first.
    waits: Vec<waits::Wait>,
    /// Answers to what-if questions, in their order.
    what_if: Vec<Answer>,
    /// What is not simulated as it was.
    notes: Vec<Note>,
}

/// Efficiencies, 0 to 1.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Efficiencies {
    /// Mean computation by run time.
    parallel: f64,
    /// Mean computation by the longest.
    load_balance: f64,
    /// The longest computation by run time on the ideal network.
    serialisation: Option<f64>,
    /// Run time on the ideal network by run time.
    transfer: Option<f64>,
}

/// Part of the critical path.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OnPath {
    /// Where.
    place: String,
    /// By computing, seconds.
    compute: f64,
    /// By the network, seconds.
    network: f64,
}

/// The answer to a what-if question.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The question.
    question: String,
    /// Places that are different.
    places: Vec<String>,
    /// Run time, seconds.
    seconds: f64,
    /// How much shorter that is, seconds.
    gain: f64,
    /// What then has the longest part of the critical path.
    longest: Option<OnPath>,
}

/// What is not simulated as it was.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Note {
    /// What.
    text: String,
    /// How often.
    count: u64,
}

/// The share of the run time from which on something is worth a note.
const MATTERS: f64 = 0.02;

/// `headwater simulate`.
pub fn command(args: &SimulateArgs, quiet: bool) -> Outcome {
    let progress = Progress::new(quiet, args.json.wanted());
    let questions: Result<Vec<Question>, String> =
        args.what_if.iter().map(|q| Question::of(q)).collect();
    let questions = questions?;
    timeline::check(args.timeline.as_deref())?;
    let trace = read_trace(&args.trace).map_err(|e| e.to_string())?;
    let in_file = |e: &dyn std::fmt::Display| format!("{}: {e}", args.trace.display());
    let mut recorded = Recorded::of(&trace).map_err(|e| in_file(&e))?;
    let mut network = networks::Used::of(&args.network, &recorded, &args.trace)?;
    let parameters = network.network();
    let run = run_of(&args.trace, progress)?;
    let crowded = run.as_ref();
    network.judge(crowded.is_some_and(headwater_dataflow::run::threads::is_crowded));
    let structures = structures(&trace, run.as_ref(), progress);
    let mut named = Named::new(&trace, &structures);
    if let Some(run) = &run {
        let asked: Vec<&str> = questions.iter().filter_map(Question::function).collect();
        recorded.divide(named.samples(run, &asked));
    }
    let stage = progress.stage("simulating", 0);
    let cut = recorded.unfinished();
    let fail = |e: headwater_simulate::Error| match cut {
        // Others may wait for what is missing, which is no deadlock of the program.
        Some(rank) => in_file(&format!(
            "it cannot be simulated: the trace of rank {rank} ends before MPI_Finalize; record a run in which every rank ends with MPI_Finalize"
        )),
        None => in_file(&format!("it cannot be simulated: {e}")),
    };
    let options = Options::default();
    let mut waits = waits::Waits::default();
    let mut lengths = timeline::Lengths::default();
    let wants_timeline = args.timeline.is_some();
    let see = |done: &Done| {
        waits.add(done);
        if wants_timeline {
            lengths.add(done);
        }
    };
    let outcome = simulate(recorded.program(), &parameters, options, see).map_err(fail)?;
    let ideal = match parameters {
        Network::Ideal => Some(outcome.seconds),
        _ => {
            let options = Options {
                critical_path: false,
            };
            let ideal = simulate(recorded.program(), &Network::Ideal, options, ());
            Some(ideal.map_err(fail)?.seconds)
        }
    };
    let notes = recorded.notes();
    let name = |place: u32| {
        let place = recorded.places().get(place);
        place.map_or_else(String::new, |place| named.of(place))
    };
    let on_path = |p: &headwater_simulate::OnPath| OnPath {
        place: name(p.place),
        compute: p.compute,
        network: p.network,
    };
    let changing = recorded.changing();
    let changing = changing.filter(|c| c.seconds > MATTERS * outcome.seconds);
    let changing = changing.map(|c| Note {
        text: format!(
            "executions, mostly of {}, took longer than their rank's mean, together {} or more of each rank; the simulation takes the mean, so waits for the longer ones are missing; `headwater diagnose` sees them in event windows",
            name(c.place),
            seconds(c.seconds)
        ),
        count: c.executions,
    });
    let mut answers = Vec::new();
    for question in &questions {
        let places: Vec<(u32, Place)> = named.find(recorded.places(), question)?;
        let edits: Vec<(u32, Edit)> = places.iter().map(|(n, _)| (*n, question.edit)).collect();
        let work = match question.edit {
            Edit::Balanced => {
                let numbers: Vec<u32> = places.iter().map(|(n, _)| *n).collect();
                Work::of(recorded.program(), &numbers)
            }
            _ => Work::default(),
        };
        if let Some(kind) = question.needs()
            && !does(recorded.program(), &places, kind)
        {
            return Err(format!(
                "what if {}: there is no {kind} at this place, so nothing would change",
                question.text
            )
            .into());
        }
        let edited = headwater_simulate::Edited::new(recorded.program(), &edits, &work);
        let after = simulate(edited, &parameters, options, ()).map_err(fail)?;
        let mut names: Vec<String> = places.iter().map(|(_, p)| named.of(*p)).collect();
        names.sort();
        names.dedup();
        answers.push(Answer {
            question: question.text.clone(),
            places: names,
            seconds: after.seconds,
            gain: outcome.seconds - after.seconds,
            longest: after.longest().map(|p| on_path(&p)),
        });
    }
    // After the answers: a question that is refused leaves no file.
    let left_out = match &args.timeline {
        None => None,
        Some(file) => Some(timeline::write(
            file,
            &recorded,
            &parameters,
            &trace,
            &lengths,
            name,
        )?),
    };
    drop(stage);
    if let (Some(file), Some(left_out)) = (&args.timeline, &left_out) {
        progress.say(&left_out.line(file));
    }
    let simulation = Simulation {
        schema: SCHEMA,
        seconds: outcome.seconds,
        recorded_seconds: recorded.seconds(),
        ranks: trace.ranks.len() as usize,
        network,
        calls: outcome.streams.iter().map(|s| s.calls).sum(),
        efficiencies: outcome.efficiencies(ideal).map(|e| Efficiencies {
            parallel: e.parallel,
            load_balance: e.load_balance,
            serialisation: e.serialisation,
            transfer: e.transfer,
        }),
        critical_path: by_place(outcome.path.iter().map(on_path), args.rows),
        wait_seconds: waits.seconds(),
        waits: waits.longest(args.rows, name),
        what_if: answers,
        notes: changing
            .into_iter()
            .chain(notes.iter().map(|(note, count)| Note {
                text: note.text().to_string(),
                count,
            }))
            .collect(),
    };
    match args.json.wanted() {
        true => args.json.give_value(&simulation),
        false => print(&text(&simulation)),
    }
}

/// Parts of the critical path at the same place in the source, from whichever call path, are one row; the longest first.
fn by_place(parts: impl Iterator<Item = OnPath>, rows: usize) -> Vec<OnPath> {
    let mut all: BTreeMap<String, OnPath> = BTreeMap::new();
    for part in parts {
        match all.get_mut(&part.place) {
            Some(sum) => {
                sum.compute += part.compute;
                sum.network += part.network;
            }
            None => drop(all.insert(part.place.clone(), part)),
        }
    }
    let mut all: Vec<OnPath> = all.into_values().collect();
    // Of equally long ones, the first by name.
    all.sort_by(|a, b| (b.compute + b.network).total_cmp(&(a.compute + a.network)));
    all.truncate(rows);
    all
}

/// Whether any of these places has a call of a kind.
fn does(mut program: impl Program, places: &[(u32, Place)], kind: CallKind) -> bool {
    let at: BTreeSet<u32> = places.iter().map(|(n, _)| *n).collect();
    let streams = program.ranks().len() as u32;
    (0..streams).any(|stream| {
        std::iter::from_fn(|| program.next(stream))
            .any(|step| at.contains(&step.place) && kind.is(&step.op))
    })
}

/// The run that the trace is in, if it is in one.
fn run_of(path: &Path, progress: Progress) -> Result<Option<headwater_model::run::Run>, String> {
    if !path.is_dir() {
        return Ok(None);
    }
    let mut runs = diagnose::open(&[path.to_path_buf()], progress)?;
    Ok(runs.pop())
}

fn text(s: &Simulation) -> String {
    let mut out = format!(
        "Run time {}, recorded {}; {} ranks, {} calls\n",
        seconds(s.seconds),
        seconds(s.recorded_seconds),
        s.ranks,
        s.calls
    );
    out += &s.network.line();
    if let Some(e) = &s.efficiencies {
        let of = |e: Option<f64>| e.map_or("–".to_string(), |e| format!("{e:.3}"));
        out += &format!(
            "Parallel efficiency {:.3} = load balance {:.3} × serialisation {} × transfer {}\n",
            e.parallel,
            e.load_balance,
            of(e.serialisation),
            of(e.transfer)
        );
    }
    if !s.critical_path.is_empty() {
        out += "\nLongest places of the critical path\n";
    }
    for p in &s.critical_path {
        out += &path_line(p, s.seconds);
    }
    out += &waits::text(&s.waits, s.seconds * s.ranks as f64);
    for a in &s.what_if {
        let change = match a.gain {
            0.0 => "as long as before".to_string(),
            gain => {
                let share = 100.0 * gain.abs() / s.seconds.max(f64::MIN_POSITIVE);
                let which = if gain > 0.0 { "shorter" } else { "longer" };
                format!("{} ({share:.1} %) {which}", seconds(gain.abs()))
            }
        };
        out += &format!(
            "\nWhat if {}\n  run time {}, {change}\n  changed: {}\n",
            a.question,
            seconds(a.seconds),
            a.places.join("; ")
        );
        if let Some(p) = &a.longest {
            out += "  then the longest place of the critical path:\n";
            out += &path_line(p, a.seconds);
        }
    }
    if !s.notes.is_empty() {
        out.push('\n');
    }
    for note in &s.notes {
        out += &format!("note: {} ({} times)\n", note.text, note.count);
    }
    out
}

fn path_line(p: &OnPath, whole: f64) -> String {
    let all = p.compute + p.network;
    let share = 100.0 * all / whole.max(f64::MIN_POSITIVE);
    format!("  {share:5.1} %  {:>10}  {}\n", seconds(all), p.place)
}

fn seconds(s: f64) -> String {
    match s.abs() {
        0.0 => "0 s".to_string(),
        a if a < 1e-6 => format!("{:.3} ns", s * 1e9),
        a if a < 1e-3 => format!("{:.3} µs", s * 1e6),
        a if a < 1.0 => format!("{:.3} ms", s * 1e3),
        _ => format!("{s:.4} s"),
    }
}
