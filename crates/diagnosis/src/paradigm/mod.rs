//! Paradigms: dataflows for frequent questions (PerFlow, section 4.4).
//!
//! Each paradigm is a function that builds a flow; the outputs of the flow, in order, are the tables of the report. A
//! user's own flow can begin with a paradigm, because a flow consists of visible parts.

mod causal;
mod communication;
mod contention;
mod critical_path;
mod differential;
mod efficiencies;
mod mpi_profile;
mod options;
mod profile;
mod resources;
pub mod scalability;
mod wait_states;

pub use options::Options;

use crate::pass::catalogue;
use headwater_dataflow::flow::{
    Event, Flow, FlowError, Inputs, Kind, NodeId, Parameter, Parameters, Runner, State, Value, with,
};
use headwater_dataflow::run::together::{self, RunError};
use headwater_dataflow::run::{Recorded, threads};
use headwater_model::diagnosis::{ScaleSummary, Scaling};
use headwater_model::report::{Analysed, Report, SCHEMA};
use headwater_model::run::Run;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// How many runs a paradigm takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// One.
    One,
    /// Two, the earlier or smaller one first.
    Two,
    /// One or more.
    Several,
}

/// An option of a paradigm that the user may set; see [`Options`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// How the problem grows.
    Scaling,
    /// How much longer than the others late ranks must take to be reported.
    AbnormThreshold,
}

/// A frequent question, and the dataflow that answers it.
#[derive(Clone, Copy, Debug)]
pub struct Paradigm {
    /// Its name, as in `headwater analyse NAME`.
    pub name: &'static str,
    /// What it answers, one sentence.
    pub about: &'static str,
    /// Runs it takes.
    pub takes: Takes,
    /// Which options matter to it.
    pub settings: &'static [Setting],
    /// Builds the dataflow for a number of runs; its inputs are `run1`, `run2` and so on.
    pub build: fn(usize, &Options) -> Result<Flow, FlowError>,
    /// Notes about the runs for the reader.
    notes: fn(&[&Run]) -> Vec<String>,
}

/// All paradigms.
pub const ALL: [Paradigm; 11] = [
    profile::PARADIGM,
    scalability::PARADIGM,
    mpi_profile::PARADIGM,
    communication::PARADIGM,
    critical_path::PARADIGM,
    contention::PARADIGM,
    causal::PARADIGM,
    differential::PARADIGM,
    wait_states::PARADIGM,
    efficiencies::PARADIGM,
    resources::PARADIGM,
];

/// Why a paradigm cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ParadigmError {
    /// The paradigm does not exist.
    #[error("there is no analysis {0}; there are {1}")]
    Unknown(String, String),
    /// The wrong number of runs.
    #[error("{0} takes {1}, and {2} were given")]
    Runs(&'static str, &'static str, usize),
    /// Runs that do not belong together.
    #[error(transparent)]
    Together(#[from] RunError),
    /// The dataflow failed.
    #[error(transparent)]
    Flow(#[from] FlowError),
}

/// A paradigm by its name.
///
/// # Errors
/// If there is none.
pub fn by_name(name: &str) -> Result<&'static Paradigm, ParadigmError> {
    static KNOWN: [Paradigm; ALL.len()] = ALL;
    KNOWN.iter().find(|p| p.name == name).ok_or_else(|| {
        let names: Vec<&str> = KNOWN.iter().map(|p| p.name).collect();
        ParadigmError::Unknown(name.to_string(), names.join(", "))
    })
}

impl Paradigm {
    fn check(&self, runs: usize) -> Result<(), ParadigmError> {
        let (fits, wanted) = match self.takes {
            Takes::One => (runs == 1, "one run"),
            Takes::Two => (runs == 2, "two runs"),
            Takes::Several => (runs > 0, "one run or more"),
        };
        match fits {
            true => Ok(()),
            false => Err(ParadigmError::Runs(self.name, wanted, runs)),
        }
    }

    /// The dataflow for a number of runs.
    ///
    /// # Errors
    /// If the paradigm takes another number of runs.
    pub fn flow(&self, runs: usize, options: &Options) -> Result<Flow, ParadigmError> {
        self.check(runs)?;
        Ok((self.build)(runs, options)?)
    }

    /// Runs the paradigm.
    ///
    /// # Errors
    /// If the paradigm takes another number of runs, or the runs do not belong together; see [`ParadigmError`].
    pub fn run(
        &self,
        runs: &[Recorded],
        options: &Options,
        runner: &Runner<'_>,
    ) -> Result<Report, ParadigmError> {
        let recorded: Vec<&Run> = runs.iter().map(Recorded::run).collect();
        let flow = self.flow(recorded.len(), options)?;
        together::one_program(&recorded)?;
        let inputs: Inputs = (1..)
            .zip(runs)
            .map(|(i, run)| (format!("run{i}"), Value::Run(run.clone())))
            .collect();
        let unsettled = Mutex::new(BTreeSet::new());
        let report = |event: &Event<'_>| {
            if event.state == State::Unsettled {
                let mut names = unsettled.lock().unwrap_or_else(PoisonError::into_inner);
                names.insert(event.pass.to_string());
            }
            (runner.progress)(event);
        };
        let telling = Runner {
            progress: &report,
            ..*runner
        };
        let outputs = flow.run(&inputs, &telling)?;
        let unsettled = unsettled
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut notes = (self.notes)(&recorded);
        notes.extend(unsettled.iter().map(|name| {
            format!("The {name} is repeated until its result no longer changes. It was stopped before that, so this is the last result and not the final one.")
        }));
        let section = |(_, value): &(String, Value)| value.section().map(|s| (**s).clone());
        let last = recorded.last();
        Ok(Report {
            schema: SCHEMA,
            paradigm: self.name.to_string(),
            program: last.map_or(String::new(), |r| r.header.program.clone()),
            runs: recorded
                .iter()
                .map(|r| Analysed {
                    name: r.header.name.clone(),
                    ranks: r.header.ranks,
                    wall_seconds: r.header.wall_seconds,
                })
                .collect(),
            notes,
            sections: outputs.0.iter().filter_map(section).collect(),
        })
    }
}

/// A flow with an input for each of `n` runs.
fn begin(name: &str, n: usize) -> (Flow, Vec<NodeId>) {
    let mut flow = Flow::new(name, catalogue());
    let runs = (1..=n)
        .map(|i| flow.input(&format!("run{i}"), Kind::Run))
        .collect();
    (flow, runs)
}

/// A flow with an input for each of `n` runs; calls that concern files count as work of these runs.
fn begin_computing(name: &str, n: usize) -> Result<(Flow, Vec<NodeId>), FlowError> {
    let (mut flow, runs) = begin(name, n);
    let of_run = |run: &NodeId| flow.pass("computing", [*run], Parameters::none());
    let runs = runs.iter().map(of_run).collect::<Result<_, _>>()?;
    Ok((flow, runs))
}

/// How the problem grows, as a parameter, if the user says so.
fn scaling(options: &Options) -> Parameters {
    match options.scaling {
        Some(Scaling::Strong) => with("scaling", "strong"),
        Some(Scaling::Weak) => with("scaling", "weak"),
        Some(Scaling::Single) | None => Parameters::none(),
    }
}

/// Parameters of a table: its name, title, note and columns.
fn table(name: &str, title: &str, note: &str, attributes: &[&str]) -> Parameters {
    let attributes = attributes.iter().map(|a| (*a).to_string()).collect();
    with("name", name)
        .with("title", title)
        .with("note", note)
        .with("attributes", Parameter::List(attributes))
}

/// What could not be recorded, and ranks that did not finish.
fn what_is_missing(runs: &[&Run]) -> Vec<String> {
    let mut notes = Vec::new();
    for run in runs {
        let name = &run.header.name;
        if let Some(so_far) = run.header.so_far() {
            notes.push(so_far);
        } else if !run.header.incomplete.is_empty() {
            let ranks: headwater_model::RankSet = run.header.incomplete.iter().copied().collect();
            notes.push(if run.is_without_mpi() {
                format!("{name}: the program did not end by itself; its figures stop where it did.")
            } else {
                format!(
                    "{name}: {} did not reach MPI_Finalize; their figures stop where they did.",
                    headwater_model::words::ranks(&ranks, run.header.ranks, 40)
                )
            });
        }
        let (threads, cores) = (
            threads::concurrent(run).iter().sum(),
            run.header.cores.iter().sum(),
        );
        if ScaleSummary::crowds(threads, cores, threads::runq_share(run)) {
            let effect = match run.is_without_mpi() {
                true => "its threads also waited for a core",
                false => "time in MPI is also time without a core",
            };
            notes.push(format!(
                "{name}: there were fewer cores ({cores}) than work for them, so that {effect}."
            ));
        }
        if !run.header.paused.is_empty() {
            notes.push(format!(
                "{name}: recording was paused; what the program did then is in no figure."
            ));
        }
    }
    notes
}
