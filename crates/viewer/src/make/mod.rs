//! Makes the model of a page.
//!
//! `frames` numbers the vertices of the graph as frames, and finds the frames of places. The other files each make one part
//! of the page; `windows` and `tile` make timelines, of which `picture` cuts the stretch that shows a cause's path.

mod causes;
mod contexts;
mod flow;
mod frames;
mod growth;
mod near;
mod picture;
mod rank_data;
mod replayed;
mod runs;
mod sources;
mod tables;
mod tile;
mod values;
mod whole;
mod windows;

pub use frames::Frames;
pub use tile::Extent;
pub use windows::Windows;

use crate::model::graph::Neighbourhood;
use crate::model::ranks::{Matrix, RankTile};
use crate::model::{Graph, Page, Source, VERSION};
use headwater_dataflow::Recorded;
use headwater_dataflow::run::threads;
use headwater_diagnosis::Diagnosed;
use headwater_report::SourceLines;
use headwater_trace::trace::Trace;
use rank_data::Cells;
use sources::Shelf;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The program that makes the page, and its version.
pub const TOOL: &str = concat!("headwater ", env!("CARGO_PKG_VERSION"));

/// How much of large runs a page has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amounts {
    /// Slices of a timeline; of more there are densities.
    pub slices: usize,
    /// Rows of a timeline.
    pub rows: usize,
    /// Frames of the calling-context tree.
    pub frames: usize,
    /// Groups of ranks.
    pub groups: usize,
    /// Rows of a heat map.
    pub heat: usize,
    /// Bins of a matrix of messages.
    pub bins: usize,
    /// Ranks that are listed one by one.
    pub ranks: usize,
    /// Rows of a table.
    pub table: usize,
}

impl Amounts {
    /// What a page has that can request more.
    pub const LIVE: Self = Self {
        slices: 20_000,
        ..Self::USUAL
    };

    /// What a file has.
    pub const USUAL: Self = Self {
        slices: 1_600,
        rows: 256,
        frames: 20_000,
        groups: 256,
        heat: 120,
        bins: 256,
        ranks: 4_096,
        table: 1_000,
    };

    /// The same with about a quarter of the data.
    pub fn fewer(self) -> Self {
        let less = |n: usize, least: usize| (n / 4).max(least);
        Self {
            slices: less(self.slices, 500),
            rows: (self.rows / 2).max(32),
            frames: less(self.frames, 500),
            groups: (self.groups / 2).max(32),
            heat: less(self.heat, 20),
            bins: (self.bins / 2).max(32),
            ranks: less(self.ranks, 64),
            table: less(self.table, 50),
        }
    }
}

/// What a page shows besides a diagnosis.
#[derive(Debug, Default)]
pub struct Besides {
    /// Whole-run traces of the diagnosed runs; each belongs to the run with as many ranks.
    pub traces: Vec<Trace>,
    /// Runs of other builds of the program, to compare with.
    pub against: Vec<Recorded>,
}

/// Everything that a page, and the tiles of one, are made of.
#[allow(
    missing_debug_implementations,
    reason = "a diagnosis with its runs is too large to print"
)]
pub struct Subject {
    diagnosed: Diagnosed,
    frames: Frames,
    windows: Vec<Windows>,
    cells: Vec<OnceLock<Cells>>,
    against: Vec<Recorded>,
}

impl Subject {
    /// Prepares a diagnosis.
    pub fn new(mut diagnosed: Diagnosed, besides: Besides, amounts: Amounts) -> Self {
        diagnosed.runs.sort_by_key(|r| threads::scale(r.run()));
        let frames = Frames::new(&diagnosed.runs, amounts.frames);
        let mut traces = besides.traces;
        let mut windows = |run: &Recorded| {
            let ranks = run.run().header.ranks;
            let own = traces.iter().position(|t| t.size == ranks);
            Windows::new(run, own.map(|at| traces.swap_remove(at)))
        };
        let windows = diagnosed.runs.iter().map(&mut windows).collect();
        Self {
            cells: diagnosed.runs.iter().map(|_| OnceLock::new()).collect(),
            diagnosed,
            frames,
            windows,
            against: besides.against,
        }
    }

    /// Leaves out frames of the calling-context tree, so that there are no more than these amounts say.
    pub fn thin(&mut self, amounts: Amounts) {
        self.frames = Frames::new(&self.diagnosed.runs, amounts.frames);
    }

    /// The answer.
    pub fn diagnosed(&self) -> &Diagnosed {
        &self.diagnosed
    }

    /// The runs, by ascending number of ranks.
    pub fn runs(&self) -> &[Recorded] {
        &self.diagnosed.runs
    }

    /// The frames of the graph.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The windows of a run.
    pub fn windows(&self, scale: usize) -> Option<&Windows> {
        self.windows.get(scale)
    }

    /// The page.
    pub fn page(&self, source: &dyn SourceLines, amounts: Amounts) -> Page {
        self.prepare();
        let d = &self.diagnosed.diagnosis;
        let runs = self.runs();
        let mut shelf = Shelf::new(self, source);
        let mut near = Vec::new();
        let causes = causes::causes(self, &mut shelf, &mut near);
        let focus = windows::Focus::new(self, &causes);
        Page {
            version: VERSION,
            tool: TOOL.to_string(),
            program: d.program.clone(),
            live: None,
            thinned: Vec::new(),
            runs: runs.iter().map(|r| runs::info(r, d)).collect(),
            added: d.added().to_string(),
            is_process: d.subject().is_process(),
            diagnosis: d.clone(),
            scales: runs::scales(d),
            causes,
            contexts: contexts::contexts(runs, &self.against, &self.frames),
            ranks: (runs.iter().enumerate())
                .filter_map(|(scale, run)| {
                    let cells = self.cells(scale)?;
                    Some(rank_data::rank_data(run, cells, &self.frames, amounts))
                })
                .collect(),
            timeline: (0..)
                .zip(&self.windows)
                .map(|(scale, w)| w.timeline(scale, self, focus, amounts))
                .collect(),
            graph: Graph {
                neighbourhoods: near,
                flow: Some(flow::flow(&self.diagnosed)),
            },
            sources: shelf.into_sources(),
            tables: tables::tables(&self.diagnosed, amounts.table),
        }
    }

    /// Makes what is large of each run, the largest runs first; a page has it all.
    fn prepare(&self) {
        let scales = self.runs().len();
        on_all_cores(2 * scales, |part| {
            let scale = scales - 1 - part / 2;
            match self.windows.get(scale).filter(|_| part % 2 == 0) {
                Some(windows) => _ = windows.strips(),
                None => _ = self.cells(scale),
            }
        });
    }

    /// Messages and waits between the ranks of a run.
    fn cells(&self, scale: usize) -> Option<&Cells> {
        let run = self.runs().get(scale)?;
        Some(self.cells.get(scale)?.get_or_init(|| Cells::new(run)))
    }

    /// Messages and waits from some ranks of a run to others, in at most `most` bins each way.
    pub fn matrix(
        &self,
        scale: usize,
        from: Range<u32>,
        to: Range<u32>,
        most: usize,
    ) -> Option<Matrix> {
        self.cells(scale)?.matrix(from, to, most)
    }

    /// The heat map of some ranks of a run, in the order of ranks, in at most `columns` groups.
    pub fn rank_tile(
        &self,
        scale: usize,
        metric: &str,
        ranks: Range<u32>,
        columns: usize,
    ) -> Option<RankTile> {
        let run = self.runs().get(scale)?;
        let whose = (run, scale as u32);
        Some(rank_data::rank_tile(
            whose,
            &self.frames,
            metric,
            ranks,
            columns,
        ))
    }

    /// The parallel view around a frame.
    pub fn neighbourhood(&self, scale: usize, frame: u32) -> Option<Neighbourhood> {
        let run = self.runs().get(scale)?;
        near::around(run, scale as u32, &self.frames, &[frame], &[], &[])
    }

    /// The source of a frame.
    pub fn source(&self, frame: u32, source: &dyn SourceLines) -> Option<Source> {
        let place = self.frames.place(frame)?.clone();
        let mut shelf = Shelf::new(self, source);
        shelf.put(&place)?;
        shelf.into_sources().pop()
    }
}

/// Does `parts` pieces of work, as many at a time as there are cores. The pieces may wait for each other's results, which
/// those of a thread pool may not: it could begin one within another that it waits for.
fn on_all_cores(parts: usize, work: impl Fn(usize) + Sync) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let worker = || {
        loop {
            match next.fetch_add(1, Ordering::Relaxed) {
                part if part < parts => work(part),
                _ => break,
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..cores.min(parts) {
            // Where no thread can be made, this one does all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, worker);
        }
        worker();
    });
}

/// A figure with seven digits, which is as many as the clocks and the rows over ranks have.
fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    format!("{value:.6e}").parse().unwrap_or(value)
}
