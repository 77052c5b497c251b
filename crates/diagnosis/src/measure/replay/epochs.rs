//! Epochs: a replayed window, cut at the synchronisations of all ranks.

use super::window::{Call, Window};
use super::{Ends, MOMENT, Played, Replay};
use headwater_dataflow::numbers::stats;
use headwater_model::run::{EventKind, Run};

/// A stretch between two synchronisations of all ranks, or the part of a window before the first or after the last of
/// them, or a window without any.
#[derive(Clone, Debug, PartialEq)]
pub struct Epoch {
    /// Index into [`Replay::windows`].
    pub window: usize,
    /// Half-open range of calls of each rank; in a closed epoch the last call is the synchronisation.
    pub calls: Vec<(u32, u32)>,
    /// Virtual duration, seconds.
    pub seconds: f64,
    /// Computation of each rank, seconds.
    pub busy: Vec<f64>,
    /// Whether a synchronisation of all ranks closes it.
    pub closed: bool,
    /// Whether it begins at a synchronisation, or with the run.
    pub whole: bool,
}

impl Epoch {
    /// Duration beyond the slowest rank's computation, seconds.
    pub fn chain(&self) -> f64 {
        (self.seconds - stats::max(&self.busy)).max(0.0)
    }
}

/// Cuts a replayed window at the synchronisations of all ranks, from the time on when the clocks of all ranks can be
/// compared.
pub(super) fn cut_epochs(
    run: &Run,
    window: &Window<'_>,
    (played, in_step, ends): (Vec<Vec<Played>>, f64, Ends),
    replay: &mut Replay,
) {
    let p = run.header.ranks as usize;
    let Window {
        calls,
        classes,
        instances,
        ..
    } = window;
    let is_cut = |call: &Call<'_>| {
        call.rows.iter().any(|e| {
            e.kind == EventKind::Collective
                && classes
                    .get(e.func as usize)
                    .copied()
                    .flatten()
                    .is_some_and(|c| c.is_synchronising())
                && instances.get(&e.link).is_some_and(|i| i.members.len() == p)
        })
    };
    // A call and the computation before it are in an epoch as a whole or not at all.
    let begins: Vec<u32> = played
        .iter()
        .map(|list| list.partition_point(|c| c.enter - c.busy < in_step - MOMENT) as u32)
        .collect();
    let cuts: Vec<Vec<u32>> = played
        .iter()
        .zip(calls)
        .map(|(done, calls)| {
            let all = (0..done.len())
                .filter(|i| is_cut(&calls[*i]) && done[*i].leave >= in_step - MOMENT);
            all.map(|i| i as u32).collect()
        })
        .collect();
    let closed = cuts.iter().map(Vec::len).min().unwrap_or(0);
    let leave_of = |r: usize, end: u32| {
        let last = end.checked_sub(1).and_then(|i| played[r].get(i as usize));
        last.map_or(0.0, |c| c.leave)
    };
    let window = replay.windows.len();
    let slab = |ranges: Vec<(u32, u32)>, from: f64, to: f64| {
        // Computation that the begin or the end cuts counts only as far as it is inside.
        let inside = |c: &Played| (c.enter.min(to) - (c.enter - c.busy).max(from)).max(0.0);
        Epoch {
            window,
            calls: ranges,
            seconds: to - from,
            busy: played
                .iter()
                .map(|list| list.iter().map(inside).sum())
                .collect(),
            closed: false,
            whole: false,
        }
    };
    let mut epochs: Vec<Epoch> = Vec::new();
    for k in 1..closed {
        let range: Vec<(u32, u32)> = cuts.iter().map(|c| (c[k - 1] + 1, c[k] + 1)).collect();
        epochs.push(synchronised(window, range, &played));
    }
    // Before the first synchronisation, and after the last one.
    let first: Vec<u32> = cuts
        .iter()
        .filter_map(|c| c.first().map(|c| c + 1))
        .collect();
    let mut parts: Vec<Epoch> = Vec::new();
    if first.len() == p && closed > 0 && p > 0 {
        let at_start = ends.together;
        let from = |r: usize| begins[r].min(first[r]);
        let range: Vec<(u32, u32)> = (0..p).map(|r| (from(r), first[r])).collect();
        if at_start {
            epochs.push(synchronised(window, range, &played));
        } else {
            let to = (0..p).map(|r| leave_of(r, first[r])).fold(0.0, f64::max);
            let begun = slab(range, in_step, to);
            parts.push(Epoch {
                closed: true,
                ..begun
            });
        }
    }
    if p > 0 {
        let start: Vec<u32> = match closed.checked_sub(1) {
            Some(k) => cuts.iter().map(|c| c[k] + 1).collect(),
            None => begins,
        };
        let from = match closed {
            0 => in_step,
            _ => (0..p).map(|r| leave_of(r, start[r])).fold(0.0, f64::max),
        };
        let end_of = |r: usize| leave_of(r, played[r].len() as u32);
        let to = match ends.of_run {
            true => (0..p).map(end_of).fold(0.0, f64::max),
            false => (0..p).map(end_of).fold(f64::INFINITY, f64::min),
        };
        let end = |r: usize| played[r].partition_point(|c| c.leave <= to) as u32;
        let range = (0..p).map(|r| (start[r].min(end(r)), end(r))).collect();
        parts.push(Epoch {
            whole: closed == 0 && ends.together,
            ..slab(range, from, to)
        });
    }
    // A part of an iteration is less even than whole iterations, and is used only if these are few.
    let longest = epochs.iter().map(|e| e.seconds).fold(0.0, f64::max);
    parts.retain(|e| e.seconds > longest);
    epochs.extend(parts);
    epochs.retain(|e| e.seconds > 0.0 && e.busy.iter().any(|b| *b > 0.0));
    epochs.sort_by(|a, b| a.calls.cmp(&b.calls));
    replay.epochs.extend(epochs);
    replay.windows.push(played);
}

/// The epoch of some calls of each rank; it begins with a synchronisation of all ranks or with the run, and ends with a
/// synchronisation.
fn synchronised(window: usize, calls: Vec<(u32, u32)>, played: &[Vec<Played>]) -> Epoch {
    let of = |(list, (from, to)): (&Vec<Played>, &(u32, u32))| -> Option<(f64, f64, f64)> {
        let part = list.get(*from as usize..*to as usize)?;
        let before = (*from as usize).checked_sub(1).and_then(|i| list.get(i));
        let start = before.map_or(0.0, |c| c.leave);
        let end = part.last().map_or(start, |c| c.leave);
        Some((part.iter().map(|c| c.busy).sum(), start, end))
    };
    let each: Vec<(f64, f64, f64)> = played.iter().zip(&calls).filter_map(of).collect();
    let first = each.iter().map(|e| e.1).fold(f64::INFINITY, f64::min);
    let last = each.iter().map(|e| e.2).fold(0.0, f64::max);
    Epoch {
        window,
        calls,
        seconds: (last - first).max(0.0),
        busy: each.iter().map(|e| e.0).collect(),
        closed: true,
        whole: true,
    }
}
