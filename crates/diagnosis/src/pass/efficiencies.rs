//! POP's efficiencies as a table, for one run or over several scales.

use crate::measure::efficiency::{self, WithTeams};
use crate::measure::scale::Scale;
use crate::measure::scaling::{Growth, Guess, scaling_of};
use crate::measure::teams::Teams;
use crate::measure::times::Times;
use crate::pass::marks::{SCALING, said};
use headwater_dataflow::flow::{Call, Gives, Kind, Pass, PassError, Value};
use headwater_dataflow::pass::of_one_program;
use headwater_dataflow::run::threads;
use headwater_model::diagnosis::{Diagnosis, ScaleSummary, Scaling};
use headwater_model::report::{Section, Unit};
use headwater_model::run::Run;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "efficiencies",
            "POP's efficiencies of each run; those of scaling are against the run with the fewest ranks.",
            efficiencies,
        )
        .takes("run", Kind::Run)
        .and_more()
        .with("scaling", "", SCALING)
        .gives(Gives::Kind(Kind::Section)),
    ]
}

type Figure = fn(&ScaleSummary) -> Option<f64>;

/// Columns that are only there if some run has them: they need counters.
const COUNTED: [&str; 3] = ["instruction_scaling", "ipc_scaling", "frequency_scaling"];

/// The same where threads are a part of the scale.
const OF_THREADS: [&str; 5] = [
    "threads_each",
    "threads",
    "thread_load_balance",
    "serial_part",
    "scheduling",
];

/// Columns of what happens between ranks, which one process without MPI does not have.
const BETWEEN_RANKS: [&str; 5] = [
    "parallel",
    "load_balance",
    "communication",
    "serialisation",
    "transfer",
];

/// Columns, each with the function that reads its field.
const FIGURES: [(&str, &str, Unit, Figure); 18] = [
    ("threads_each", "threads each", Unit::Count, |s| {
        s.threads_each.map(f64::from)
    }),
    ("wall_seconds", "time", Unit::Seconds, |s| {
        Some(s.wall_seconds)
    }),
    ("model_seconds", "with cores", Unit::Seconds, |s| {
        Some(s.model_seconds)
    }),
    ("global", "global", Unit::Ratio, |s| s.efficiencies.global),
    ("computation_scaling", "comp. scaling", Unit::Ratio, |s| {
        s.efficiencies.computation_scaling
    }),
    ("instruction_scaling", "instructions", Unit::Ratio, |s| {
        s.efficiencies.instruction_scaling
    }),
    ("ipc_scaling", "IPC", Unit::Ratio, |s| {
        s.efficiencies.ipc_scaling
    }),
    ("frequency_scaling", "frequency", Unit::Ratio, |s| {
        s.efficiencies.frequency_scaling
    }),
    ("parallel", "parallel", Unit::Ratio, |s| {
        s.efficiencies.parallel
    }),
    ("load_balance", "load balance", Unit::Ratio, |s| {
        s.efficiencies.load_balance
    }),
    ("communication", "communication", Unit::Ratio, |s| {
        s.efficiencies.communication
    }),
    ("serialisation", "serialisation", Unit::Ratio, |s| {
        s.efficiencies.serialisation
    }),
    ("transfer", "transfer", Unit::Ratio, |s| {
        s.efficiencies.transfer
    }),
    ("threads", "thread efficiency", Unit::Ratio, |s| {
        s.efficiencies.threads.map(|t| t.parallel)
    }),
    (
        "thread_load_balance",
        "load balance of threads",
        Unit::Ratio,
        |s| s.efficiencies.threads.map(|t| t.load_balance),
    ),
    ("serial_part", "serial part", Unit::Ratio, |s| {
        s.efficiencies.threads.map(|t| t.serialisation)
    }),
    ("scheduling", "scheduling and locks", Unit::Ratio, |s| {
        s.efficiencies.threads.map(|t| t.scheduling)
    }),
    ("startup_seconds", "start-up", Unit::Seconds, |s| {
        Some(s.startup_seconds)
    }),
];

fn efficiencies(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let mut runs = Vec::new();
    for i in 0..call.inputs().len() {
        let run = call.run(i)?;
        of_one_program(&call.run(0)?.run().header, &run.run().header, "run")?;
        runs.push(run);
    }
    runs.sort_by_key(|r| threads::scale(r.run()));
    let recorded: Vec<&Run> = runs.iter().map(|r| r.run()).collect();
    let scales = Scale::all(&runs, call.interrupted());
    call.go_on()?;
    // Runs of different builds have no place in common.
    let one_graph = runs
        .first()
        .filter(|f| runs.iter().all(|r| r.shares_graph(f)));
    let growth = one_graph.and_then(|r| {
        let times = Times::new(r.pag(), &scales);
        Growth::new(r.pag(), &scales, &times)
    });
    let guess = scaling_of(&recorded, said(call)?, growth);
    let each = || scales.iter().zip(&runs);
    let teams: Vec<Teams> = each().map(|(s, run)| Teams::new(run.pag(), s)).collect();
    let each = each().zip(&teams);
    let each = each.map(|((s, run), teams)| WithTeams::new(run.pag(), s, teams));
    let summaries = efficiency::summaries(&each.collect::<Vec<_>>(), guess.scaling);
    let process = scales.iter().all(|s| s.subject().is_process());
    Ok(vec![section(&summaries, &guess, process).into()])
}

/// The same table of what a diagnosis says.
pub fn of_diagnosis(d: &Diagnosis) -> Section {
    let guess = Guess {
        scaling: d.scaling,
        reason: d.scaling_reason.clone(),
        certain: d.scaling_certain,
    };
    section(&d.scales, &guess, d.subject().is_process())
}

fn section(summaries: &[ScaleSummary], guess: &Guess, process: bool) -> Section {
    let is_there = |f: &&(&str, &str, Unit, Figure)| {
        if process && BETWEEN_RANKS.contains(&f.0) {
            return false;
        }
        !COUNTED.contains(&f.0) && !OF_THREADS.contains(&f.0)
            || summaries.iter().any(|s| (f.3)(s).is_some())
    };
    let figures: Vec<_> = FIGURES.iter().filter(is_there).collect();
    let mut columns = vec![("run", "run", Unit::None), ("ranks", "ranks", Unit::Count)];
    columns.extend(figures.iter().map(|f| (f.0, f.1, f.2)));
    let title = "Efficiencies of the POP project";
    let mut section = Section::new("efficiencies", title, &columns);
    let kind = match guess.scaling {
        Scaling::Strong => "strong scaling",
        Scaling::Weak => "weak scaling",
        Scaling::Single => "no scaling",
    };
    let doubt = match guess.certain {
        true => "",
        false => ", which is not certain",
    };
    let mut note = format!(
        "{kind}{doubt} ({}). 1 is perfect, and 0.8 the accepted mark; with cores is the time of the same run with a core for each {}.",
        guess.reason,
        if process { "thread" } else { "rank" }
    );
    if figures.iter().any(|f| COUNTED.last() == Some(&f.0)) {
        note += " Computation scaling is the product of those of instructions, instructions per cycle (IPC) and frequency.";
    }
    section.note = Some(note);
    for summary in summaries {
        let mut row = vec![summary.run.as_str().into(), f64::from(summary.ranks).into()];
        row.extend(figures.iter().map(|f| (f.3)(summary).into()));
        section.rows.push(row);
    }
    section
}
