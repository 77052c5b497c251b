//! Files of ScalAna's artifact, for its notebooks and its viewer: a directory for each scale, with the Program Structure
//! Graph (`out.txt`), the MPI functions (`in.txt`) and the samples of each rank by vertex (`stat<r>.txt`) (ScalAna, sections
//! III and IV).
//!
//! All scales have the same tree, as the notebooks need it. Times become numbers of samples. What the files have no room
//! for is in `headwater.txt`: the program, samples per second, names.

mod tree;

use crate::error::ExportError;
use crate::wanted::{Setting, Wanted};
use headwater_dataflow::Recorded;
use headwater_graph::view::Table;
use headwater_model::printable::on_one_line;
use headwater_model::run::UNNAMED;
use headwater_model::scalana::{EXTRA, FUNCTIONS, LIBRARY};
use headwater_model::{Rank, scalana};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use tree::Tree;

/// Its name, as in `headwater export NAME`.
pub const NAME: &str = "scalana";
/// What it holds.
pub const ABOUT: &str = "vertices and samples of each rank, a directory for each scale";
/// What opens it.
pub const OPENS: &str = "ScalAna's notebooks and viewer, headwater import";

/// Samples per second of runs that have times: so many that little is lost, and so few that an integer of 32 bits counts
/// those of two days.
const HZ: u32 = 10_000;

/// The folder of a scale with what ScalAna's viewer reads, which has columns of its own.
const VIEWER: &str = "viewer";

/// Takes a file: its path within the directory, and its bytes.
pub type Put<'a> = dyn FnMut(&str, &[u8]) -> Result<(), ExportError> + 'a;

/// Whether runs, and what is said to be wanted, fit the format.
///
/// # Errors
/// A setting that the format does not have.
pub fn check(wanted: &Wanted) -> Result<(), ExportError> {
    match wanted.said().find(|s| *s != Setting::Ranks) {
        Some(not) => Err(ExportError::Setting(NAME, not.name())),
        None => Ok(()),
    }
}

/// Writes the directory, file by file.
///
/// # Errors
/// Runs of different builds; ranks that are not there; a file that cannot be written.
pub fn write(runs: &[Recorded], wanted: &Wanted, put: &mut Put<'_>) -> Result<(), ExportError> {
    check(wanted)?;
    let Some(first) = runs.first() else {
        return Err(ExportError::Runs(NAME, "one run or more", 0));
    };
    let name = |run: &Recorded| run.run().header.name.clone();
    let other = |run: &&Recorded| !run.shares_graph(first);
    if let Some(other) = runs.iter().find(other) {
        return Err(ExportError::DifferentBuilds(name(first), name(other)));
    }
    runs.iter().try_for_each(|run| wanted.check_ranks(run))?;
    let tree = Tree::new(first.pag());
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for run in runs {
        let ranks = run.run().header.ranks;
        // Several recordings of one scale have numbers.
        let numbered = |n: u32| {
            if n == 1 {
                ranks.to_string()
            } else {
                format!("{ranks}.{n}")
            }
        };
        let dir = (1..).map(numbered).find(|d| !taken.contains(d));
        let dir = dir.unwrap_or_default();
        scale(run, wanted, &tree, &dir, put)?;
        taken.insert(dir);
    }
    Ok(())
}

/// Writes the directory of a scale.
fn scale(
    run: &Recorded,
    wanted: &Wanted,
    tree: &Tree,
    dir: &str,
    put: &mut Put<'_>,
) -> Result<(), ExportError> {
    let header = &run.run().header;
    let (functions, tables) = (functions(tree), tables(&tree.dirs, &tree.files));
    put(&format!("{dir}/in.txt"), functions.as_bytes())?;
    let mut out = String::from("1\n");
    for (id, vertex) in tree.vertices.iter().enumerate() {
        let (code, place) = (vertex.code, vertex.place());
        let children = vertex.children;
        let _ = writeln!(out, "{id} {code} {code} {code} {children} {place}");
    }
    out += &tables;
    put(&format!("{dir}/out.txt"), out.as_bytes())?;
    let hz = rate(run);
    let extra = extra(tree, &header.program, hz);
    put(&format!("{dir}/{EXTRA}"), extra.as_bytes())?;
    let mut counts = counts(run, wanted, tree, hz);
    let there = run.run().ranks.iter().map(|r| r.rank);
    for (at, rank) in there.filter(|r| wanted.has_rank(*r)).enumerate() {
        let of_rank = counts.remove(&rank).unwrap_or_else(|| Counts::none(tree));
        let mut stat = String::new();
        for (id, vertex) in tree.vertices.iter().enumerate() {
            let (code, children, place) = (vertex.code, vertex.children, vertex.place());
            let (samples, share) = of_rank.of(id);
            // ScalAna ends its lines with a space.
            let _ = writeln!(stat, "{id} {code} {children} {place} {samples} {share} ");
        }
        stat += &tables;
        put(&format!("{dir}/stat{rank}.txt"), stat.as_bytes())?;
        if at == 0 {
            put(&format!("{dir}/{VIEWER}/in.txt"), functions.as_bytes())?;
            let stat = viewer(tree, &of_rank);
            put(&format!("{dir}/{VIEWER}/stat0.txt"), stat.as_bytes())?;
        }
    }
    Ok(())
}

/// Samples per second: those of a run that consists of samples, so that they stay as they are.
fn rate(run: &Recorded) -> u32 {
    let header = &run.run().header;
    match header.mpi_library == LIBRARY && header.sampling_hz >= 1.0 {
        true => header.sampling_hz as u32,
        false => HZ,
    }
}

/// Samples of a rank.
struct Counts {
    of: Vec<u64>,
    all: u64,
}

impl Counts {
    fn none(tree: &Tree) -> Self {
        Self {
            of: vec![0; tree.vertices.len()],
            all: 0,
        }
    }

    /// The samples of a vertex, and their share.
    fn of(&self, vertex: usize) -> (u64, f64) {
        let samples = self.of.get(vertex).copied().unwrap_or(0);
        match self.all {
            0 => (0, 0.0),
            all => (samples, samples as f64 / all as f64),
        }
    }
}

/// Samples by rank. Of threads those that call MPI count: others are not in the time of their rank.
fn counts(run: &Recorded, wanted: &Wanted, tree: &Tree, hz: u32) -> BTreeMap<Rank, Counts> {
    let view = run.parallel();
    let table = &view.vertices;
    let at = |name: &str, row: usize| number(table, name, row);
    let mut seconds: BTreeMap<Rank, (Vec<f64>, f64)> = BTreeMap::new();
    for row in 0..table.len() {
        let rank = at("rank", row) as Rank;
        if at("thread", row) > 0.0 || !wanted.has_rank(rank) {
            continue;
        }
        let none = || (vec![0.0; tree.vertices.len()], 0.0);
        let (of, outside) = seconds.entry(rank).or_insert_with(none);
        let time = at("time", row).max(at("wait", row));
        let vertex = tree.of.get(at("vertex", row) as usize).copied().flatten();
        *vertex.and_then(|v| of.get_mut(v)).unwrap_or(outside) += time;
    }
    // ScalAna samples cycles, and a rank without a core has none.
    for call in run.run().calls.iter().filter(|c| c.runq_ns > 0) {
        let vertex = run.on_graph().vertex(call.ctx);
        let vertex = vertex.and_then(|v| tree.of.get(v as usize).copied().flatten());
        let of_rank = seconds.get_mut(&call.rank).map(|s| &mut s.0);
        if let Some(own) = of_rank.zip(vertex).and_then(|(of, v)| of.get_mut(v)) {
            *own = (*own - call.runq_ns as f64 * 1e-9).max(0.0);
        }
    }
    let samples = |seconds: f64| (seconds * f64::from(hz)).round() as u64;
    let of_rank = |(of, outside): (Vec<f64>, f64)| {
        let of: Vec<u64> = of.into_iter().map(samples).collect();
        let all = of.iter().sum::<u64>() + samples(outside);
        Counts { of, all }
    };
    let ranks = seconds.into_iter();
    ranks.map(|(rank, s)| (rank, of_rank(s))).collect()
}

fn number(table: &Table, column: &str, row: usize) -> f64 {
    let column = table.get(column);
    column.and_then(|c| c.number(row)).unwrap_or(0.0)
}

/// `in.txt`: the functions that ScalAna knows, and others that the program calls.
fn functions(tree: &Tree) -> String {
    let known = FUNCTIONS.iter().map(|(id, name)| (i64::from(*id), *name));
    let called = tree.mpi.iter().map(|(id, name)| (*id, name.as_str()));
    let all: BTreeMap<i64, &str> = known.chain(called).collect();
    let line = |(id, name)| format!("{id} {name}\n");
    all.into_iter().map(line).collect()
}

/// The tables of directories and files.
fn tables(dirs: &[String], files: &[String]) -> String {
    let mut out = String::new();
    for names in [dirs, files] {
        let _ = writeln!(out, "{}", names.len());
        for name in names {
            let _ = writeln!(out, "{name}");
        }
    }
    out
}

/// What the artifact's files have no room for.
fn extra(tree: &Tree, program: &str, hz: u32) -> String {
    let mut out = match program {
        "" | UNNAMED => String::new(),
        program => format!("program {}\n", on_one_line(program)),
    };
    let _ = writeln!(out, "samples-per-second {hz}");
    for (id, vertex) in tree.vertices.iter().enumerate() {
        if !vertex.name.is_empty() && vertex.code < 0 {
            let _ = writeln!(out, "vertex {id} {}", vertex.name);
        }
    }
    out
}

/// What ScalAna's viewer reads: the number of trees, vertices with one more number before them, and files without
/// directories. It looks up the file of every vertex.
fn viewer(tree: &Tree, counts: &Counts) -> String {
    let mut out = String::from("1\n");
    for (id, vertex) in tree.vertices.iter().enumerate() {
        let (samples, share) = counts.of(id);
        let (dir, file) = vertex.at;
        let file = file.map_or(tree.files.len(), |f| f);
        let dir = dir.map_or(-1, |d| d as i64);
        let (first, last) = vertex.lines;
        let (code, children) = (vertex.code, vertex.children);
        let _ = writeln!(
            out,
            "{id} {id} {code} {children} {dir} {file} {} {} {samples} {share}",
            first.max(1),
            last.max(1)
        );
    }
    let _ = writeln!(out, "{}", tree.files.len() + 1);
    for name in &tree.files {
        let _ = writeln!(out, "{name}");
    }
    out += "unknown\n";
    out
}

/// The number of an MPI function: ScalAna's, or one behind all of those.
fn mpi_code(name: &str) -> Option<i64> {
    let known = scalana::FUNCTIONS.iter().find(|(_, n)| *n == name);
    let own = || headwater_mpi_abi::id_of(name).map(|id| FIRST_OWN + i64::from(id.0));
    known.map(|(id, _)| i64::from(*id)).or_else(own)
}

/// Numbers from here on are functions that ScalAna does not know.
const FIRST_OWN: i64 = 1000;
