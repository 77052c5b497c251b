//! Recordings sorted by scale, pooled into a run for each scale: all of them, or all but one.

use crate::measure::pool::pool;
use headwater_dataflow::run::{clean, threads};
use headwater_model::run::Run;
use headwater_model::words;

/// Wall time of the slowest rank, ns.
fn wall(run: &Run) -> u64 {
    run.ranks.iter().map(|r| r.wall_ns).max().unwrap_or(0)
}

/// Whether two recordings of a scale measured the same things on as many cores, so that they can be pooled.
fn is_alike(a: &Run, b: &Run) -> bool {
    let of = |run: &Run| {
        let h = &run.header;
        (h.pauses(), h.cores.clone(), h.sampling_hz.to_bits())
    };
    of(a) == of(b)
        && a.header.counters == b.header.counters
        && a.header.incomplete == b.header.incomplete
}

/// Recordings by scale, and what is to be reported of them.
pub struct Recordings {
    /// Of each scale, the recording with the median run time first.
    scales: Vec<Vec<Run>>,
    notes: Vec<String>,
}

impl Recordings {
    /// Sorts recordings by scale. Of a scale, the largest group that measured the same things is taken, whole ones
    /// first.
    pub fn new(mut runs: Vec<Run>) -> Self {
        runs.sort_by_cached_key(|r| (threads::scale(r), wall(r), r.header.name.clone()));
        let mut of_scales: Vec<Vec<Run>> = Vec::new();
        for run in runs {
            match of_scales.last_mut() {
                Some(scale)
                    if scale
                        .iter()
                        .all(|r| threads::scale(r) == threads::scale(&run)) =>
                {
                    scale.push(run);
                }
                _ => of_scales.push(vec![run]),
            }
        }
        let (mut scales, mut notes) = (Vec::new(), Vec::new());
        for scale in of_scales {
            let mut scale = alike(scale, &mut notes);
            if scale.len() > 1 {
                notes.extend(clean(&mut scale).into_iter().flatten());
                let median = scale.remove((scale.len() - 1) / 2);
                scale.sort_by(|a, b| a.header.name.cmp(&b.header.name));
                scale.insert(0, median);
            }
            scales.push(scale);
        }
        let commands = |scale: &Vec<Run>| {
            let first = scale.first().map(|r| &r.header.command);
            scale.iter().any(|r| Some(&r.header.command) != first)
        };
        if scales.iter().any(commands) {
            notes.push("Recordings of one scale have different command lines. If they are of different problems, diagnose one recording of each scale.".into());
        }
        Self { scales, notes }
    }

    /// What is to be reported of them.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The most recordings of a scale.
    pub fn most(&self) -> usize {
        self.scales.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The recordings themselves, where there is one of each scale.
    pub fn into_runs(self) -> (Vec<Run>, Vec<String>) {
        (self.scales.into_iter().flatten().collect(), self.notes)
    }

    /// A run for each scale, of all its recordings.
    pub fn all(&self) -> Vec<Run> {
        self.pooled(|scale| scale.iter().collect())
    }

    /// A run for each scale, of all its recordings but one; the only one of a scale is always used.
    pub fn without(&self, one: usize) -> Vec<Run> {
        self.pooled(|scale| {
            let n = scale.len();
            let left_out = one % n.max(1);
            let others = (1..n.max(2)).map(|i| (left_out + i) % n.max(1));
            others.filter_map(|i| scale.get(i)).collect()
        })
    }

    fn pooled(&self, used: impl Fn(&[Run]) -> Vec<&Run>) -> Vec<Run> {
        let scales = self.scales.iter();
        scales.filter_map(|scale| pool(&used(scale))).collect()
    }
}

/// The largest group of recordings that measured the same things, whole ones first; notes which others are left out.
fn alike(scale: Vec<Run>, notes: &mut Vec<String>) -> Vec<Run> {
    let mut groups: Vec<Vec<Run>> = Vec::new();
    for run in scale {
        match groups.iter_mut().find(|g| is_alike(&g[0], &run)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    // Of equal groups the first.
    let rank = |group: &Vec<Run>| {
        let whole = group.iter().all(|r| r.header.incomplete.is_empty());
        (whole, group.len())
    };
    let best = (0..groups.len()).rev().max_by_key(|i| rank(&groups[*i]));
    let Some(best) = best.map(|i| groups.remove(i)) else {
        return Vec::new();
    };
    for run in groups.iter().flatten() {
        let header = &run.header;
        notes.push(format!(
            "The recording {} on {} is not used: unlike the others, it has ranks that did not finish, pauses, other counters, other cores or another sampling rate.",
            header.name,
            words::count(header.ranks as usize)
        ));
    }
    best
}
