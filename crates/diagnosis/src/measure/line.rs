//! Estimates how much longer teams would take if each thread had a core, because their threads wait in line for a lock.
//!
//! Threads that seldom run at the same time, as where they outnumber cores, seldom meet at a lock. But only one thread
//! at a time holds a lock: a team takes at least as long as all its threads together hold it, and that is CPU time. It
//! takes longer if threads compute first and then all want the lock. A replay of each stretch shows by how much at most
//! (`queue`), and how often threads met at the lock shows how much of that is likely.
//!
//! Two places where a lock is taken belong to one line if threads wait at one of them for a thread that took the lock
//! at the other; each is priced for its part of the line. If several locks are taken at one place, such as one for each
//! element of an array, there are as many lines. Of several lines of a team the longest decides, because threads wait
//! in all of them at the same time.

use crate::measure::contended::Contended;
use crate::measure::hold_times::{self, ByThread, Functions};
use crate::measure::queue::{self, MOST_ROUNDS, Works};
use crate::measure::scale::Scale;
use crate::measure::stretch::{Share, Stretch};
use crate::measure::teams::{Team, Teams};
use headwater_dataflow::numbers::stats::{self, CONFIDENCE};
use headwater_graph::{Pag, Site, VertexIx};
use headwater_model::run::WaitKind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Seconds by rank, by number of the place and by team.
pub type ByTeam = BTreeMap<(usize, VertexIx), Vec<f64>>;

/// The seconds that lines make teams take longer.
#[derive(Default)]
pub struct Beyond {
    /// Seconds that are likely.
    pub likely: ByTeam,
    /// Their standard errors.
    pub error: ByTeam,
}

/// Seconds by rank that teams would take longer, beyond `measured`, because of the waits `rows`; each has the number of
/// its place.
pub fn beyond(
    pag: &Pag,
    scale: &Scale,
    teams: &Teams,
    rows: &[(usize, &Contended)],
    measured: &ByTeam,
) -> Beyond {
    let mut by_team: BTreeMap<VertexIx, Vec<(usize, &Contended)>> = BTreeMap::new();
    // A thread that only reads waits in no line.
    let queues = |c: &Contended| !c.allocator && c.kind != Some(WaitKind::ReadLock);
    for (place, c) in rows.iter().filter(|r| queues(r.1)) {
        if let Some(team) = c.team {
            by_team.entry(team).or_default().push((*place, c));
        }
    }
    let functions = Functions::new(pag);
    let mut out = Beyond::default();
    for (team, rows) in by_team {
        let Some(team) = teams.team(team) else {
            continue;
        };
        let busy = longest(scale, team);
        let lines = lines(pag, &rows);
        let hold_times: Vec<HoldTimes> = lines
            .iter()
            .map(|line| line.hold_times(pag, scale, team, &functions))
            .collect();
        for rank in 0..scale.p as usize {
            let own = busy.get(rank).copied().unwrap_or(0.0);
            let pairs = lines.iter().zip(&hold_times);
            let estimates: Vec<Estimate> = pairs
                .map(|(line, hold_times)| line.estimate(scale, team, hold_times, rank, own))
                .collect();
            let likely: Vec<f64> = estimates.iter().map(|e| e.likely).collect();
            for ((hold_times, longer), estimate) in
                hold_times.iter().zip(shared(&likely)).zip(&estimates)
            {
                for (place, seconds, part) in hold_times.beyond(rank, longer, team.vertex, measured)
                {
                    let key = (place, team.vertex);
                    let row = || vec![0.0; scale.p as usize];
                    out.likely.entry(key).or_insert_with(row)[rank] += seconds;
                    out.error.entry(key).or_insert_with(row)[rank] += estimate.error * part;
                }
            }
        }
    }
    out
}

/// How much longer one line makes a team take on one rank, beyond the computation of its slowest thread, seconds.
#[derive(Default)]
struct Estimate {
    likely: f64,
    /// Its standard error: from the samples, and from the unknown order in which threads come.
    error: f64,
}

/// Divides the delay of a team over several lines, by how much longer each alone would make it take. While threads wait
/// in one line, others wait in another, so all lines together delay the team as much as the longest does. A part of the
/// delay to which several lines reach is shared between these.
fn shared(longer: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..longer.len()).collect();
    order.sort_by(|a, b| longer[*a].total_cmp(&longer[*b]).then(a.cmp(b)));
    let mut out = vec![0.0; longer.len()];
    let (mut level, mut share) = (0.0, 0.0);
    for (below, line) in order.iter().enumerate() {
        let reach = longer[*line].max(0.0);
        share += (reach - level) / (longer.len() - below) as f64;
        level = reach;
        out[*line] = share;
    }
    out
}

/// About how many different locks there are in a set, at least one: how many of its 64 bits are clear shows how many
/// locks share the others.
pub fn count(locks: u64) -> f64 {
    let clear = f64::from(locks.count_zeros()).max(0.5);
    (64.0 * (64.0 / clear).ln()).round().max(1.0)
}

/// By rank: the computation of the thread that computes longest in a team.
fn longest(scale: &Scale, team: &Team) -> Vec<f64> {
    let mut by_thread: FxHashMap<(u32, u16), f64> = FxHashMap::default();
    for s in &team.stretches {
        for share in &s.shares {
            *by_thread.entry((s.rank, share.thread)).or_default() += share.busy;
        }
    }
    let mut out = vec![0.0f64; scale.p as usize];
    for ((rank, _), seconds) in by_thread {
        if let Some(most) = out.get_mut(rank as usize) {
            *most = most.max(seconds);
        }
    }
    out
}

/// Places of one team that belong to one line.
#[derive(Default)]
struct Line<'a> {
    rows: Vec<(usize, &'a Contended)>,
}

/// The lines of one team.
fn lines<'a>(pag: &Pag, rows: &[(usize, &'a Contended)]) -> Vec<Line<'a>> {
    // Where the function is not known, each vertex is a site of its own.
    let site = |v: VertexIx| pag.top.site(v).unwrap_or((u32::MAX, u32::MAX, v));
    let mut line_of: FxHashMap<Site, usize> = FxHashMap::default();
    let mut into: Vec<usize> = Vec::new();
    for (_, c) in rows {
        let mut of = |v| {
            let next = into.len();
            let line = *line_of.entry(site(v)).or_insert(next);
            if line == next {
                into.push(next);
            }
            line
        };
        let (a, b) = (of(c.at), of(c.taken));
        let (a, b) = (end(&into, a), end(&into, b));
        into[a.max(b)] = a.min(b);
    }
    let mut out: BTreeMap<usize, Line<'a>> = BTreeMap::new();
    for row in rows {
        if let Some(line) = line_of.get(&site(row.1.at)) {
            let line = end(&into, *line);
            out.entry(line).or_default().rows.push(*row);
        }
    }
    out.into_values().collect()
}

/// The line that a line was finally joined with.
fn end(into: &[usize], mut line: usize) -> usize {
    while into[line] != line {
        line = into[line];
    }
    line
}

/// How long the threads of a team hold the lock of one line.
struct HoldTimes {
    /// Seconds by rank, by number of the place where they take it.
    by_place: BTreeMap<usize, Vec<f64>>,
    /// Seconds by rank and thread, at all places.
    by_thread: ByThread,
    /// By rank: which locks, a bit for each.
    locks: Vec<u64>,
}

impl HoldTimes {
    /// How many locks a rank has here.
    fn locks(&self, rank: usize) -> f64 {
        count(self.locks.get(rank).copied().unwrap_or(0))
    }

    /// What the threads of a team do in each stretch of one rank in which they wait: without one of the locks, and with
    /// it. The time that a thread holds it is divided over the stretches as the waits are.
    fn works<'t>(&self, team: &'t Team, rank: u32) -> Vec<(&'t Stretch, Vec<Works>)> {
        let stretches = team.of_rank(rank);
        let weight = |s: &Stretch| s.shares.iter().map(|t| t.waited).sum::<f64>();
        let mut weights: FxHashMap<u16, f64> = FxHashMap::default();
        for s in stretches {
            for share in &s.shares {
                *weights.entry(share.thread).or_default() += weight(s);
            }
        }
        let locks = self.locks(rank as usize);
        let of = |s: &'t Stretch| {
            let here = weight(s);
            let one = |t: &Share| {
                let seconds = self.by_thread.get(&(rank, t.thread)).copied();
                let all = weights.get(&t.thread).copied().unwrap_or(0.0);
                let part = if all > 0.0 { here / all } else { 0.0 };
                let hold = (seconds.unwrap_or(0.0) * part / locks).min(t.busy);
                Works {
                    compute: t.busy - hold,
                    hold,
                }
            };
            (here > 0.0).then(|| (s, s.shares.iter().map(one).collect()))
        };
        stretches.iter().filter_map(of).collect()
    }

    fn whole(&self, rank: usize) -> f64 {
        let rows = self.by_place.values();
        rows.map(|row| row.get(rank).copied().unwrap_or(0.0)).sum()
    }

    /// By place: its share of the seconds that the line makes a team take `longer` on one rank beyond the `measured`
    /// ones, in seconds and as a part.
    fn beyond(
        &self,
        rank: usize,
        longer: f64,
        team: VertexIx,
        measured: &ByTeam,
    ) -> Vec<(usize, f64, f64)> {
        let at = |row: &Vec<f64>| row.get(rank).copied().unwrap_or(0.0);
        let places = self.by_place.keys();
        let known = places.filter_map(|place| measured.get(&(*place, team)));
        let longer = longer - known.map(at).sum::<f64>();
        let all = self.whole(rank);
        let part = |(place, row): (&usize, &Vec<f64>)| {
            let part = at(row) / all;
            (*place, longer * part, part)
        };
        let parts = self.by_place.iter().map(part);
        let some = longer > 0.0 && all > 0.0;
        parts.filter(|p| some && p.1 > 0.0).collect()
    }
}

impl Line<'_> {
    /// How much longer the team takes because of this line than its slowest thread, which computes for `own` seconds.
    /// At least as long as all threads together hold the lock. At most the result of a replay in which each thread
    /// takes the lock as often as it was seen to wait, or once: then each thread but one waits in each repetition, and
    /// the more of these waits were recorded, the likelier that is. It is no more than the threads waited. Nothing where it is
    /// not known how long they hold it.
    fn estimate(
        &self,
        scale: &Scale,
        team: &Team,
        hold_times: &HoldTimes,
        rank: usize,
        own: f64,
    ) -> Estimate {
        let here = self.rows.iter().filter(|r| r.1.rank as usize == rank);
        let (mut waits, mut waited) = (0.0, 0.0);
        for (_, c) in here {
            (waits, waited) = (waits + c.count as f64, waited + c.recorded);
        }
        let works = hold_times.works(team, rank as u32);
        let others = |(s, works): &(&Stretch, Vec<Works>)| {
            s.repeats as f64 * works.len().saturating_sub(1) as f64
        };
        let expected: f64 = works.iter().map(others).sum();
        let meets = if expected > 0.0 {
            waits / expected
        } else {
            0.0
        };
        let rounds = (meets.round() as usize).clamp(1, MOST_ROUNDS);
        let (mut in_line, mut most) = (0.0, 0.0);
        for (_, works) in &works {
            let slowest = stats::max(&works.iter().map(|w| w.compute + w.hold).collect::<Vec<_>>());
            let all: f64 = works.iter().map(|w| w.hold).sum();
            in_line += (all - slowest).max(0.0);
            most += (queue::longest(works, rounds) - slowest).max(0.0);
        }
        let whole = hold_times.whole(rank);
        let sampled = (whole * scale.period.max(0.0)).sqrt();
        if whole - CONFIDENCE * sampled > hold_times.locks(rank) * scale.wall {
            // One lock is held for no longer than the run takes: not all that lies between the calls is under it.
            return Estimate::default();
        }
        let whole = whole.min(hold_times.locks(rank) * scale.wall);
        let least = (whole / hold_times.locks(rank) - own).max(in_line);
        let most = most.max(least);
        let likely = least + meets.min(1.0) * (most - least);
        let likely = likely.min(waited).max(least);
        let model = (most - likely).max(likely - least.max(0.0)).max(0.0) / CONFIDENCE;
        Estimate {
            likely,
            error: model.hypot(sampled),
        }
    }

    /// Seconds by rank that the team's threads hold its lock, by number of the place where they take it.
    fn hold_times(
        &self,
        pag: &Pag,
        scale: &Scale,
        team: &Team,
        functions: &Functions,
    ) -> HoldTimes {
        // The place of each site is that of the waits for threads that took the lock there; if there are none, that of
        // the waits there.
        let mut places: BTreeMap<Site, usize> = BTreeMap::new();
        let mut entered: FxHashMap<Site, FxHashSet<VertexIx>> = FxHashMap::default();
        for of in [|c: &Contended| c.taken, |c: &Contended| c.at] {
            for (place, c) in &self.rows {
                if let Some(site) = pag.top.site(of(c)) {
                    places.entry(site).or_insert(*place);
                    let function = hold_times::function_of(pag, of(c));
                    entered.entry(site).or_default().extend(function);
                }
            }
        }
        let ways = scale.ways(team.vertex);
        let mut out: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        let mut by_thread = ByThread::default();
        for (site, place) in places {
            let Some(section) = hold_times::section(pag, site) else {
                continue;
            };
            // Threads that wait there are known to hold the lock elsewhere in the team as well.
            let of_team = functions
                .vertices
                .get(&(site.0, site.1))
                .into_iter()
                .flatten();
            let inside = |v: &&VertexIx| ways.iter().any(|w| pag.top.contains(*w, **v));
            let mut all: Vec<VertexIx> = of_team.filter(inside).copied().collect();
            all.extend(entered.get(&site).into_iter().flatten());
            all.sort_unstable();
            all.dedup();
            let mut here = ByThread::default();
            for function in all {
                hold_times::add(pag, scale, (functions, function), &section, &mut here);
            }
            let sum = out
                .entry(place)
                .or_insert_with(|| vec![0.0; scale.p as usize]);
            let mut here: Vec<((u32, u16), f64)> = here.into_iter().collect();
            here.sort_unstable_by_key(|h| h.0);
            for ((rank, thread), seconds) in here {
                if let Some(sum) = sum.get_mut(rank as usize) {
                    *sum += seconds;
                    *by_thread.entry((rank, thread)).or_default() += seconds;
                }
            }
        }
        let mut locks = vec![0u64; scale.p as usize];
        for (_, c) in &self.rows {
            if let Some(set) = locks.get_mut(c.rank as usize) {
                *set |= c.locks;
            }
        }
        HoldTimes {
            by_place: out,
            by_thread,
            locks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_share_what_several_of_them_reach() {
        assert_eq!(shared(&[0.8]), [0.8]);
        assert_eq!(shared(&[-0.5]), [0.0]);
        assert_eq!(shared(&[0.5, 1.0, -1.0]), [0.25, 0.75, 0.0]);
        assert_eq!(shared(&[0.5, 0.5]), [0.25, 0.25]);
    }

    #[test]
    fn a_set_of_locks_shows_how_many_they_are() {
        for (set, locks) in [(0, 1.0), (1 << 63, 1.0), (0b11, 2.0), (0xff, 9.0)] {
            assert_eq!(count(set), locks, "{set:b}");
        }
        assert!(count(u64::MAX) > 256.0);
    }
}
