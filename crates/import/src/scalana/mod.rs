//! Files of ScalAna's artifact (ScalAna, sections III and IV): a directory for each scale, with the Program Structure Graph
//! and the samples of each rank by vertex.
//!
//! `stat<r>.txt` has samples by vertex. Where a rank has none, ScalAna's own last step is made: the tree of `out.txt`
//! gets the functions that calls through pointers reached (`LOG<r>.TXT`) and computation between its vertices, and call
//! stacks (`SAMPLE<r>.TXT-symb`) become samples of vertices. There are no times of calls and no messages.

mod extend;
mod extra;
mod find;
mod lines;
mod log;
mod order;
mod places;
mod rows;
mod samples;
mod stat;
mod tree;
mod types;

pub use find::{Files, scales};

use crate::comms::Comms;
use crate::rank::{self, About};
use crate::regions::Regions;
use crate::{ImportError, Program, TraceMetadata};
use extra::Extra;
use headwater_format::spool::SpoolWriter;
use headwater_model::scalana::{HZ, LIBRARY};
use lines::Lines;
use log::{Known, Log};
use places::Places;
use rows::{BEGIN_NS, Contexts, Scale};
use rustc_hash::FxHashMap;
use samples::{Finder, Samples};
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::Path;
use tree::Tree;
use types::{Functions, Type};

/// Samples per second that can be.
pub const RATES: RangeInclusive<u32> = 1..=1_000_000;

/// Time that no rank takes, nanoseconds: a hundred days.
const LONGEST_NS: u64 = 100 * 86_400 * 1_000_000_000;

/// What all ranks of a scale say.
#[derive(Default)]
struct Seen {
    ranks: u32,
    inside: u64,
    outside: u64,
    /// Whether a log tells how often an MPI vertex ran, and whether one was sampled of which none does.
    counted: bool,
    uncounted: bool,
}

impl Files {
    /// Writes all ranks to the spool. `hz` is what the user says of the samples per second.
    ///
    /// # Errors
    /// Files that are damaged or contradict each other, nothing in them, a spool that cannot be written.
    pub fn spool(
        &self,
        spool: &mut SpoolWriter,
        program: Option<&str>,
        hz: Option<u32>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<TraceMetadata, ImportError> {
        let functions = self.functions.as_deref().map(Functions::read).transpose()?;
        let functions = functions.unwrap_or_default();
        let extra = self.extra.as_deref().map(Extra::read).transpose()?;
        let extra = extra.unwrap_or_default();
        let out = self.out.as_deref().map(|path| {
            let tree = Tree::read_out(&mut Lines::open(path)?)?;
            Ok::<_, ImportError>((path, tree))
        });
        let out = out.transpose()?;
        let (from, tree) = self.tree(out.as_ref())?;
        let places = Places::new(&tree, &functions, &extra);
        let contexts = Contexts::new(&tree, &places);
        let around = order::around(&tree, &functions);
        let rate = hz.or(extra.hz).unwrap_or(HZ);
        let scale = Scale {
            tree: &tree,
            contexts: &contexts,
            around: &around,
            functions: &functions,
            period_ns: (1e9 / f64::from(rate)).round() as u64,
        };
        let known = match &out {
            Some((path, tree)) => Known::new(tree, path, true),
            None => Known::new(&tree, from, false),
        };
        let once = once(&tree);
        let program = Program::of(program, extra.program.clone());
        let about = About {
            program: program.path.clone(),
            counters: Vec::new(),
            unix_ns: 0,
            clock_error_ns: 0,
            has_end: true,
            comms: Comms::new(self.ranks),
            ranks: self.ranks,
        };
        let (regions, sampling) = (RefCell::new(Regions::new("")), RefCell::default());
        let mut seen = Seen {
            ranks: self.ranks,
            ..Default::default()
        };
        let finder = Finder::new(&tree);
        let all = self.present();
        for (done, rank) in all.iter().copied().enumerate() {
            progress(done, all.len());
            let samples = self.samples(rank, &tree, from, &finder)?;
            let log = self.logs.get(&rank).map(|path| Log::read(path, &known));
            let log = log.transpose()?.unwrap_or_default();
            let entered: FxHashMap<usize, u64> = (log.entered.iter())
                .filter_map(|(id, count)| Some(((*once.get(id)?)?, *count)))
                .collect();
            seen.take(&tree, &samples, &entered);
            let count = samples.of.iter().sum::<u64>() + samples.outside;
            let ns = u128::from(count) * u128::from(scale.period_ns);
            if ns > u128::from(LONGEST_NS) {
                let why = format!(
                    "rank {rank} has {count} samples, which are more than a hundred days; give another --sampling-hz"
                );
                return Err(ImportError::unsupported(&self.dir, why));
            }
            let rows = scale.rows(&samples, &entered);
            let mut shared = rank::shared(&regions, &sampling, false, 0);
            shared.init_ns = BEGIN_NS;
            shared.finalize_ns = Some(rows.totals.end_ns);
            let mut ended = rank::end(&about, rank, "", &[rows], &shared);
            ended.rows.header.hz = rate;
            spool.add(&ended.rows)?;
        }
        progress(all.len(), all.len());
        if seen.inside == 0 {
            let why = "no sample is at a vertex of the tree; check that out.txt and the samples are of the same build";
            return Err(ImportError::unsupported(&self.dir, why));
        }
        let said = hz.is_some() || extra.hz.is_some();
        let missing = [program.note(), notes(&seen, &tree, rate, said)].concat();
        Ok(TraceMetadata {
            symbols: places.symbols,
            library: LIBRARY.to_string(),
            missing,
        })
    }

    /// The tree of the scale, and the file that it is from.
    fn tree<'a>(&'a self, out: Option<&(&'a Path, Tree)>) -> Result<(&'a Path, Tree), ImportError> {
        if let Some(path) = self.stats.values().next() {
            let tree = stat::read(path)?.tree;
            if let Some((file, out)) = out {
                let fits = Known::new(out, file, true).fits(&tree);
                fits.map_err(|(line, why)| ImportError::line(path, line, why))?;
            }
            return Ok((path, tree));
        }
        let Some((path, tree)) = out else {
            return Err(ImportError::Missing {
                what: "the tree of vertices".to_string(),
                path: self.dir.join("out.txt"),
            });
        };
        let mut extended = tree.clone();
        let known = Known::new(tree, path, true);
        let mut reached = Vec::new();
        for log in self.logs.values() {
            for one in Log::read(log, &known)?.reached {
                if !reached.contains(&one) {
                    reached.push(one);
                }
            }
        }
        extended.attach(&reached)?;
        extended.add_computation();
        Ok((path, extended))
    }

    /// The samples of a rank.
    fn samples(
        &self,
        rank: u32,
        tree: &Tree,
        from: &Path,
        finder: &Finder<'_>,
    ) -> Result<Samples, ImportError> {
        if let Some(path) = self.stats.get(&rank) {
            let own = stat::read(path)?;
            if let Some((line, what)) = stat::difference(tree, &own.tree) {
                let why = format!("the tree is not that of {}: {what}", from.display());
                return Err(ImportError::line(path, line, why));
            }
            return Ok(own.samples);
        }
        let path = self.stacks.get(&rank);
        path.map_or_else(|| Ok(Samples::default()), |path| finder.read(path))
    }
}

/// The vertex of each id; `None` for one that is there several times.
fn once(tree: &Tree) -> FxHashMap<i64, Option<usize>> {
    let mut once: FxHashMap<i64, Option<usize>> = FxHashMap::default();
    for (at, vertex) in tree.vertices.iter().enumerate() {
        let known = once.entry(vertex.id);
        known.and_modify(|one| *one = None).or_insert(Some(at));
    }
    once
}

impl Seen {
    fn take(&mut self, tree: &Tree, samples: &Samples, entered: &FxHashMap<usize, u64>) {
        self.inside += samples.of.iter().sum::<u64>();
        self.outside += samples.outside;
        for (at, vertex) in tree.vertices.iter().enumerate() {
            if matches!(vertex.kind, Type::Mpi(_)) {
                let is_counted = entered.contains_key(&at);
                self.counted |= is_counted;
                self.uncounted |= !is_counted && samples.of.get(at).is_some_and(|n| *n > 0);
            }
        }
    }
}

/// What users must know of such a run.
fn notes(seen: &Seen, tree: &Tree, rate: u32, said: bool) -> Vec<String> {
    let mut out = vec![
        "Communication: ScalAna's files have no messages, so there are no communication edges. Vertices are compared over scales and ranks (non-scalable and abnormal vertices). Which rank waited for which is not known, so paths follow the order of the program within a rank alone.".to_string(),
    ];
    let why = match said {
        true => "",
        false => {
            ", as in ScalAna's paper, because the files do not say it; --sampling-hz sets another rate"
        }
    };
    out.push(format!(
        "Times are numbers of samples at {rate} samples per second{why}. All scales must have been sampled at one rate. Times of single calls and repetitions are not known."
    ));
    if seen.uncounted {
        let which = if seen.counted {
            "Of some MPI vertices"
        } else {
            "Of MPI vertices"
        };
        out.push(format!(
            "{which} the number of calls is not known: no LOG file has them."
        ));
    }
    if seen.outside > 0 {
        let all = seen.inside + seen.outside;
        let percent = 100.0 * seen.outside as f64 / all as f64;
        out.push(format!(
            "At {} ranks, {} of {all} samples ({percent:.2} %) are outside of the tree of vertices: computation of no known place.",
            seen.ranks, seen.outside
        ));
    }
    let unknown = tree
        .vertices
        .iter()
        .filter(|v| v.kind == Type::Unknown)
        .count();
    if unknown > 0 {
        out.push(format!(
            "{unknown} vertices have types that ScalAna does not define; they are read as computation."
        ));
    }
    out
}
