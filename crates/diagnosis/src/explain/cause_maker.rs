//! Makes causes from candidates: figures by scale and by rank, path, price and words.

use crate::explain::explanation::{Case, explanation};
use crate::explain::{dependence, path, regions, same_place};
use crate::find::candidate::Candidate;
use crate::find::class::{self, Seconds};
use crate::find::segments;
use crate::find::threads::serial;
use crate::measure::backtrack::{Backtracking, Hop};
use crate::measure::binding;
use crate::measure::scale::Scale;
use crate::measure::scales::Scales;
use crate::price::{account, delay, possible};
use headwater_dataflow::flow::{Stage, StageResult, counted};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, VertexIx, sum_rows};
use headwater_model::diagnosis::{Cause, CauseClass, Clock, Evidence};
use headwater_model::psg::VertexKind;
use headwater_model::rank::RankSet;
use headwater_model::words::seconds as time;

/// Backtracking paths from the MPI calls that were marked before causes were sought.
pub struct BacktrackingPaths {
    walks: Backtracking,
    /// One for each call, from the rank with the most time in it.
    from_marked: Vec<Vec<Hop>>,
}

impl StageResult for BacktrackingPaths {
    const STAGE: Stage = Stage::new(&["ways", "ways back"]);

    fn words(&self) -> String {
        counted(self.from_marked.len(), "path", "paths")
    }
}

impl BacktrackingPaths {
    /// Walks back from the MPI calls of `marked` vertices; `last` is the largest scale.
    pub fn new(scales: &Scales, last: &Scale, mut marked: Vec<VertexIx>) -> Self {
        let pag = scales.pag();
        marked.retain(|v| pag.top.get(*v).kind == VertexKind::MpiCall);
        marked.sort_unstable();
        marked.dedup();
        let walks = Backtracking::new(last);
        let walk = |v: &VertexIx| walks.path(pag, last, slowest(scales, *v), *v);
        Self {
            from_marked: marked.iter().map(walk).collect(),
            walks,
        }
    }
}

/// The rank with the most time in an MPI call at the largest scale.
fn slowest(scales: &Scales, v: VertexIx) -> u32 {
    let end = scales.all.len().saturating_sub(1);
    let row = scales.times.row(scales.pag(), &scales.all, end, v);
    let longest = (0..).zip(&row).reduce(|a, b| if b.1 > a.1 { b } else { a });
    longest.map_or(0, |(rank, _)| rank)
}

/// What is needed to describe causes.
pub struct CauseMaker<'a> {
    pub pag: &'a Pag,
    pub scales: &'a Scales,
    /// The largest scale.
    pub last: &'a Scale,
    pub ways: &'a BacktrackingPaths,
    pub delays: &'a delay::Costs,
}

impl CauseMaker<'_> {
    /// Puts candidates into words and figures.
    pub fn causes(&self, found: &[Candidate]) -> Vec<Cause> {
        let mut causes: Vec<Cause> = found.iter().map(|c| self.cause(c)).collect();
        let several: Vec<bool> = found.iter().map(|c| !c.twins.is_empty()).collect();
        same_place::disambiguate(&mut causes, &several);
        account::bound(self.scales, found, &mut causes);
        causes
    }

    fn cause(&self, c: &Candidate) -> Cause {
        let (pag, last, paths) = (self.pag, self.last, &self.ways.from_marked);
        let place = pag.place(c.vertex);
        let ranks: RankSet = c.ranks.iter().copied().collect();
        let case = Case {
            all: ranks.len() as u32 == last.p,
            bound: binding::bound(last.run(), &ranks),
            in_turn: c.in_turn,
            subject: last.subject(),
        };
        // The run with a core for each rank does not contain waiting for a core, so it is added. The same applies to
        // waiting in line for a lock at which threads seldom met for lack of cores.
        let whole = last.model_seconds() + account::on_top(last, c);
        let share = |seconds: f64| {
            if whole > 0.0 {
                (seconds / whole).clamp(0.0, 1.0)
            } else {
                0.0
            }
        };
        let (by_rank, by_scale) = self.seconds(c);
        // Waiting is limited to the time in MPI calls.
        let in_calls: u64 = last.run().calls.iter().map(|call| call.wall_ns).sum();
        let waiting_seconds = self.waiting(c).map(|w| w.min(in_calls as f64 * 1e-9));
        // A cause costs at most what its ranks spend in its place.
        let spent = possible::spent(c.class, &c.ranks, &by_rank);
        let most = if spent > 0.0 { spent } else { f64::INFINITY };
        let bounded = (c.cost > most * (1.0 + 1e-3)).then(|| {
            format!(
                "bounded by what {} there: by itself the estimate of its cost is {}",
                if last.subject().is_process() {
                    "the program spends"
                } else {
                    "its ranks spend"
                },
                time(c.cost)
            )
        });
        let (cost, gain) = (c.cost.min(most), c.gain.min(most));
        let (least_gain, most_gain) = c.range();
        let mut path = path::steps(pag, last, &self.ways.walks, c);
        let run = last.wall.max(last.model_seconds());
        path.iter_mut().for_each(|s| s.seconds = s.seconds.min(run));
        if let Some(end) = path.last_mut() {
            end.seconds = end.seconds.min(cost);
        }
        let in_turn = class::of(c.class).seconds == Seconds::WaitsInTurn;
        let waiting = waiting_seconds.filter(|w| *w > 0.0).map(|w| match in_turn {
            true => format!("all ranks together wait {} in it", time(w)),
            false => format!(
                "all ranks together wait {} because of it (delay cost)",
                time(w)
            ),
        });
        let leads_here = |path: &&Vec<Hop>| path.iter().any(|hop| path::ends_in(pag, hop, c));
        let led = paths.iter().filter(leads_here).count();
        let walked = (led > 0).then(|| {
            format!(
                "backtracking from {led} of {} MPI calls that scale badly or differ between ranks leads here",
                paths.len()
            )
        });
        let evidence = c
            .evidence
            .iter()
            .cloned()
            .chain(waiting)
            .chain(walked)
            .chain(bounded);
        let compiled = dependence::evidence(pag, c.vertex, c.class);
        Cause {
            class: c.class,
            explanation: explanation(c.class, &place, &ranks, last.p, case),
            call_path: pag.call_path(c.vertex),
            called_from: None,
            place,
            ranks,
            scale: last.p,
            cost_seconds: cost,
            cost_share: share(cost),
            gain_seconds: gain,
            gain_share: share(gain),
            gain_range_seconds: (least_gain.min(gain), most_gain.min(most).max(gain)),
            path,
            waiting_seconds,
            by_rank,
            by_scale,
            clock: self.clock(c),
            by_thread: c.team.as_ref().map(|t| t.times.clone()),
            evidence: evidence.map(Evidence::from).chain(compiled).collect(),
            regions: regions::of(pag, c).into_iter().collect(),
            only_if: None,
            repeated: None,
        }
    }

    /// The clock of the seconds of a cause's place.
    fn clock(&self, c: &Candidate) -> Clock {
        let is_call = self.pag.top.get(c.vertex).kind == VertexKind::MpiCall;
        match class::of(c.class).seconds {
            Seconds::WaitsForCore | Seconds::WaitsOfThreads => Clock::Wall,
            Seconds::WaitsInTurn => self.scales.times.clock,
            Seconds::MovingData if is_call => Clock::Wall,
            Seconds::Computation if is_call && !c.class.is_computation() => self.scales.times.clock,
            Seconds::Computation | Seconds::MovingData => Clock::Cpu,
        }
    }

    /// The vertices whose seconds a cause has: its place on all call paths; for a chain, the calls in which ranks wait
    /// for one another.
    fn vertices(&self, c: &Candidate) -> Vec<VertexIx> {
        if class::of(c.class).seconds == Seconds::WaitsInTurn {
            return path::waits_of_chain(self.last, c);
        }
        c.vertices().collect()
    }

    /// Seconds in the place by rank at the largest scale, and summed up by scale.
    #[allow(clippy::type_complexity, reason = "the two fields of a cause")]
    fn seconds(&self, c: &Candidate) -> (Vec<f64>, Vec<(u32, f64, f64)>) {
        let is_call = self.pag.top.get(c.vertex).kind == VertexKind::MpiCall;
        let seconds = class::of(c.class).seconds;
        let row = |i: usize, s: &Scale, v: VertexIx| match self.clock(c) {
            _ if seconds == Seconds::WaitsForCore => {
                let inside = s.keys_inside(self.pag, v);
                sum_rows(&s.view().computation.runq, &inside, s.p)
            }
            _ if seconds == Seconds::WaitsOfThreads => {
                let of_allocator = c.class == CauseClass::AllocatorContention;
                let teams = self.scales.teams.get(i);
                teams.map_or_else(Vec::new, |t| t.waited(v, of_allocator, s.p))
            }
            _ if c.class == CauseClass::SerialRegion => {
                let teams = self.scales.teams.get(i);
                teams.map_or_else(Vec::new, |t| serial::seconds(self.pag, s, t, v))
            }
            Clock::Cpu if is_call && c.class.is_computation() => segments::before(s, v),
            Clock::Wall if seconds != Seconds::WaitsInTurn => s.view().mpi.dense(v, s.p),
            Clock::Cpu | Clock::Virtual | Clock::Wall => {
                let mut row = self.scales.times.row(self.pag, &self.scales.all, i, v);
                // The rank's own time does not contain that of threads that call no MPI.
                if c.class.is_of_threads() || stats::max(&row) <= 0.0 {
                    for (all, own) in row.iter_mut().zip(self.workers(s, v)) {
                        *all += own;
                    }
                }
                row
            }
        };
        let together = |(i, s): (usize, &Scale)| {
            let mut all = vec![0.0; s.p as usize];
            for v in self.vertices(c) {
                all.iter_mut().zip(row(i, s, v)).for_each(|(a, r)| *a += r);
            }
            all
        };
        let rows: Vec<Vec<f64>> = (0..).zip(&self.scales.all).map(together).collect();
        let sums = self.scales.all.iter().zip(&rows);
        let by_scale = sums.map(|(s, row)| (s.size, stats::mean(row), stats::max(row)));
        let by_scale = by_scale.collect();
        (rows.into_iter().next_back().unwrap_or_default(), by_scale)
    }

    /// CPU seconds of threads that call no MPI, by rank.
    fn workers(&self, s: &Scale, v: VertexIx) -> Vec<f64> {
        let workers = &s.view().threads.workers;
        let inside = workers.keys().filter(|k| self.pag.top.contains(v, *k));
        sum_rows(workers, &inside.collect::<Vec<u32>>(), s.p)
    }

    /// Waiting that a cause is to blame for.
    fn waiting(&self, c: &Candidate) -> Option<f64> {
        let class = class::of(c.class);
        match class.seconds {
            Seconds::WaitsInTurn => {
                let rows = self.last.waits.rows();
                let own = path::waits_of_chain(self.last, c);
                let own = own.iter().filter_map(|v| rows.get(v));
                Some(own.flatten().sum())
            }
            // If all ranks are the cause, no other rank waits for them.
            _ if c.ranks.len() as u32 >= self.last.p => None,
            _ if class.differs => Some(delay::price(self.pag, self.last, self.delays, c)),
            _ => c.team.as_ref().map(|team| {
                let of_rank = Candidate {
                    vertex: team.around,
                    ..c.clone()
                };
                delay::price(self.pag, self.last, self.delays, &of_rank)
            }),
        }
    }
}
