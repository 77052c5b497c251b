//! The path of a cause in space and time: a wait in a recorded window, and what it waited for, backward to the cause.
//!
//! It begins at the longest wait of the window at a place of the path. From there it follows the wait to the rank that was
//! waited for, and on that rank goes back to the next wait, as the backtracking does (ScalAna, Algorithm 1), until the
//! computation before a call explains most of the wait.

use super::Subject;
use super::replayed::{Slice, Strip};
use super::tile::{Extent, Whose, tile};
use crate::model::causes::{Hop, HopKind, Picture};
use crate::model::timeline::TimeAxis;
use headwater_model::RankSet;
use headwater_model::diagnosis::Cause;
use headwater_model::words;
use std::collections::BTreeSet;

/// Hops at the most.
const HOPS: usize = 24;

/// Ranks of a picture.
const RANKS: usize = 32;

/// Slices of a picture.
const SLICES: usize = 1_500;

/// Waits that are tried, of each kind.
const TRIED: usize = 48;

/// Slices of a rank that are looked at behind a wait.
const BACK: usize = 40;

/// Computation that is this part of a wait explains it.
const EXPLAINS: f64 = 0.5;

/// What takes less than this part of the first wait is no hop.
const BRIEF: f64 = 0.01;

/// The pictures of a cause, as recorded and replayed, or the reason why there are none.
pub fn pictures(
    subject: &Subject,
    cause: &Cause,
    steps: &[Vec<u32>],
) -> Result<Vec<Picture>, String> {
    let runs = subject.runs();
    let scale = runs
        .iter()
        .rposition(|r| r.run().header.ranks == cause.scale);
    let Some((scale, windows)) = scale.and_then(|s| Some((s, subject.windows(s)?))) else {
        return Err("The run of this cause is not here.".to_string());
    };
    let strips = windows.strips();
    if strips.wall.is_empty() {
        return Err(
            "No event window was recorded, so no wait is known in space and time.".to_string(),
        );
    }
    let mut out = Vec::new();
    for clock in [TimeAxis::Wall, TimeAxis::Virtual] {
        let all: Vec<&Strip> = match clock {
            TimeAxis::Wall => strips.wall.iter().collect(),
            TimeAxis::Virtual => strips.replayed.iter().flatten().collect(),
        };
        let seeker = Seeker {
            subject,
            scale,
            clock,
            cause,
            steps,
        };
        let found = all.iter().filter_map(|strip| seeker.best(strip));
        let best = found.reduce(|a, b| if b.score > a.score { b } else { a });
        out.extend(best.and_then(|way| seeker.picture(way)));
    }
    // First the one that reaches the cause, in the fewest hops.
    let reaches = |p: &Picture| {
        let last = p.hops.last();
        last.is_some_and(|h| h.kind == HopKind::Computation && h.step.is_some())
    };
    out.sort_by_key(|p| (!reaches(p), p.hops.len()));
    if out.is_empty() {
        return Err("No recorded window has a wait of this cause.".to_string());
    }
    Ok(out)
}

/// How long a slice waits.
fn length(s: &Slice) -> u64 {
    s.wait.map_or(0, |w| w.0.saturating_sub(s.begin))
}

/// A way back from a wait.
struct Way<'s> {
    strip: &'s Strip,
    wait: &'s Slice,
    hops: Vec<Hop>,
    /// Whether it ends at the cause, whether it begins where the time shows, the length of the wait.
    score: (bool, std::cmp::Reverse<u32>, u64),
}

struct Seeker<'a> {
    subject: &'a Subject,
    scale: usize,
    clock: TimeAxis,
    cause: &'a Cause,
    /// Frames of each step.
    steps: &'a [Vec<u32>],
}

impl<'a> Seeker<'a> {
    fn run(&self) -> Option<&'a headwater_dataflow::Recorded> {
        self.subject.runs().get(self.scale)
    }

    fn frame(&self, s: &Slice) -> Option<u32> {
        let frame = self.subject.frames().of_call(self.run()?, s.ctx);
        u32::try_from(frame).ok()
    }

    /// The step of a slice: one at its place on its rank, or at least at its place.
    fn step(&self, s: &Slice) -> Option<u32> {
        let frame = self.frame(s)?;
        let at = |wanted: &dyn Fn(usize) -> bool| {
            let mut all = self.steps.iter().enumerate();
            all.position(|(i, frames)| frames.contains(&frame) && wanted(i))
        };
        let path = &self.cause.path;
        let there = |i: usize| path.get(i).is_some_and(|p| p.ranks.contains(s.track.0));
        let step = at(&there).or_else(|| at(&|_| true));
        step.map(|i| i as u32)
    }

    /// The way back that shows the path best: it begins where the time shows, and ends with computation of the cause's
    /// ranks; of several such ones, that of the longest wait.
    fn best<'s>(&self, strip: &'s Strip) -> Option<Way<'s>> {
        let first = self.cause.path.first();
        let shows = |rank: u32| first.is_none_or(|f| f.ranks.contains(rank));
        let wait = |s: &'s Slice| {
            let step = self.step(s);
            let begins = step == Some(0) && shows(s.track.0);
            (s, begins, step.is_some())
        };
        let waits: Vec<(&Slice, bool, bool)> = (strip.slices.iter())
            .filter(|s| length(s) > 0)
            .map(wait)
            .collect();
        // Some of each kind, the longest ones; of equally long ones, the first. There can be as many as ranks.
        let of = |wanted: &dyn Fn(&(&'s Slice, bool, bool)) -> bool| -> Vec<&'s Slice> {
            let all = waits.iter().filter(|w| wanted(w)).enumerate();
            let order = |(i, s): &(usize, &Slice)| (std::cmp::Reverse(length(s)), *i);
            let mut all: Vec<(usize, &Slice)> = all.map(|(i, w)| (i, w.0)).collect();
            if all.len() > TRIED {
                all.select_nth_unstable_by_key(TRIED, order);
                all.truncate(TRIED);
            }
            all.sort_unstable_by_key(order);
            all.into_iter().map(|w| w.1).collect()
        };
        let tried = [of(&|w| w.1), of(&|w| w.2), of(&|_| true)];
        let ways = (0..).zip(tried).flat_map(|(kind, all)| {
            let way = move |wait| {
                let hops = self.hops(strip, wait);
                let computes = |h: &Hop| h.kind == HopKind::Computation && h.step.is_some();
                let ends = hops.last().is_some_and(computes);
                let score = (ends, std::cmp::Reverse(kind), length(wait));
                Way {
                    strip,
                    wait,
                    hops,
                    score,
                }
            };
            all.into_iter().map(way)
        });
        ways.reduce(|a, b| if b.score > a.score { b } else { a })
    }

    fn picture(&self, way: Way<'_>) -> Option<Picture> {
        let Way {
            strip, wait, hops, ..
        } = way;
        let begin = hops.iter().map(|h| h.begin_ns).min()?;
        let end = hops.iter().map(|h| h.end_ns).max()?;
        let margin = (end - begin) / 6 + 1;
        let time = begin.saturating_sub(margin)..end.saturating_add(margin).min(strip.length);
        let run = self.run()?;
        let whose = Whose {
            run,
            scale: self.scale as u32,
            frames: self.subject.frames(),
            clock: self.clock,
        };
        let extent = Extent {
            time,
            ranks: Some(self.ranks(run.run().header.ranks, &hops)),
            rows: 2 * RANKS,
            slices: SLICES,
            columns: 200,
        };
        let name = wait.func.map_or("", |f| run.run().function(f));
        let clock = match self.clock {
            TimeAxis::Wall => "as recorded",
            TimeAxis::Virtual => "with a core for each rank and an ideal network",
        };
        let seconds = words::seconds(length(wait) as f64 * 1e-9);
        Some(Picture {
            scale: self.scale as u32,
            window: strip.number,
            clock: self.clock,
            caption: format!(
                "Rank {} waits {seconds} in {name} in window {}, {clock}.",
                wait.track.0, strip.number
            ),
            tile: tile(strip, whose, &extent),
            hops,
        })
    }

    /// The ranks of the hops, and others beside them.
    fn ranks(&self, all: u32, hops: &[Hop]) -> RankSet {
        if all as usize <= RANKS {
            return RankSet::all(all);
        }
        let ends = hops
            .iter()
            .flat_map(|h| [Some(h.rank), h.to_rank])
            .flatten();
        let mut out: BTreeSet<u32> = ends.collect();
        let own: Vec<u32> = out.iter().copied().collect();
        for far in 1..=all {
            for rank in &own {
                if out.len() >= RANKS {
                    return out.into_iter().collect();
                }
                out.extend(rank.checked_sub(far));
                out.extend(rank.checked_add(far).filter(|r| *r < all));
            }
        }
        out.into_iter().collect()
    }

    fn hops(&self, strip: &Strip, wait: &Slice) -> Vec<Hop> {
        let mut out = Vec::new();
        let mut wait = wait;
        let mut seen = BTreeSet::new();
        let brief = (BRIEF * length(wait) as f64) as u64;
        let on_cause = |rank: u32| self.cause.ranks.contains(rank);
        let everywhere = self.cause.ranks.len() as u32 == self.cause.scale;
        while out.len() < HOPS && seen.insert((wait.track, wait.begin)) {
            let Some((until, on)) = wait.wait else { break };
            out.push(self.hop(wait, HopKind::Wait, wait.begin, until));
            // What the rank that was waited for did when it let this one go on.
            let begin = strip.slices.partition_point(|s| s.track < (on, 0));
            let own = strip.slices.get(begin..).unwrap_or(&[]);
            let own = &own[..own.partition_point(|s| s.track.0 == on)];
            let released = own
                .iter()
                .rposition(|s| s.func.is_some() && s.begin <= until);
            let Some(mut at) = released else { break };
            if let Some(call) = own.get(at) {
                out.push(Hop {
                    to_rank: Some(wait.track.0),
                    step: None,
                    words: format!("rank {on} lets rank {} go on", wait.track.0),
                    ..self.hop(call, HopKind::Message, call.begin.min(until), until)
                });
            }
            // Backward on that rank.
            let mut computed = 0;
            let mut next = None;
            let end = at.saturating_sub(BACK);
            while at > end && out.len() < HOPS {
                at -= 1;
                let Some(s) = own.get(at) else { break };
                let short = s.end - s.begin <= brief;
                if s.func.is_none() {
                    computed += s.end - s.begin;
                    let last = self.steps.len().checked_sub(1).map(|i| i as u32);
                    let step = last.filter(|_| on_cause(s.track.0));
                    if !short {
                        let hop = self.hop(s, HopKind::Computation, s.begin, s.end);
                        out.push(Hop { step, ..hop });
                    }
                } else if length(s) > brief {
                    next = Some(s);
                    break;
                } else if !short {
                    out.push(self.hop(s, HopKind::Call, s.begin, s.end));
                }
                let explained = computed as f64 >= EXPLAINS * length(wait) as f64;
                if explained && (everywhere || on_cause(s.track.0)) {
                    break;
                }
            }
            match next {
                Some(s) => wait = s,
                None => break,
            }
        }
        out
    }

    fn hop(&self, s: &Slice, kind: HopKind, begin_ns: u64, end_ns: u64) -> Hop {
        let run = self.run().map(|r| r.run());
        let name = s
            .func
            .and_then(|f| run.map(|r| r.function(f)))
            .unwrap_or("");
        let seconds = words::seconds(end_ns.saturating_sub(begin_ns) as f64 * 1e-9);
        let rank = s.track.0;
        let words = match (kind, s.wait) {
            (HopKind::Wait, Some((_, on))) => {
                format!("rank {rank} waits {seconds} in {name} for rank {on}")
            }
            (HopKind::Computation, _) => format!("rank {rank} computes {seconds}"),
            _ => format!("rank {rank} is in {name} for {seconds}"),
        };
        Hop {
            step: self.step(s),
            kind,
            rank,
            begin_ns,
            end_ns,
            to_rank: None,
            words,
        }
    }
}
