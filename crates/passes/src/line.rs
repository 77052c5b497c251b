//! How much longer teams would take because their threads stand in line for a lock, had each thread a core.
//!
//! Threads that seldom run at the same time, as where they outnumber cores, seldom meet at a lock that they
//! would stand in line for. But a lock is held by one at a time: a team takes at least as long as all its
//! threads together hold it, and that is CPU time. Places where a lock is taken belong to one line if threads
//! wait at the one for who took it at the other, and each is told for its part of it. Where several locks are taken
//! at a place, as one of each element of an array, there are as many lines. Of several lines of a team the longest
//! decides, as threads stand in all of them at once.

use crate::contended::Contended;
use crate::held::{self, Site};
use crate::scale::Scale;
use crate::teams::{Team, Teams};
use headwater_graph::{Pag, VertexIx};
use headwater_model::run::WaitKind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Seconds by rank, by number of the place and by team.
pub type ByTeam = BTreeMap<(usize, VertexIx), Vec<f64>>;

/// Seconds by rank that teams would take longer, beyond `measured`, by the waits `rows`, each with the number of
/// its place.
pub fn beyond(
    pag: &Pag,
    scale: &Scale,
    teams: &Teams,
    rows: &[(usize, &Contended)],
    measured: &ByTeam,
) -> ByTeam {
    let mut by_team: BTreeMap<VertexIx, Vec<(usize, &Contended)>> = BTreeMap::new();
    // Who reads stands in nobody's line.
    let stands = |c: &Contended| !c.allocator && c.kind != Some(WaitKind::ReadLock);
    for (place, c) in rows.iter().filter(|r| stands(r.1)) {
        if let Some(team) = c.team {
            by_team.entry(team).or_default().push((*place, c));
        }
    }
    let functions = held::functions(pag);
    let mut out = ByTeam::new();
    for (team, rows) in by_team {
        let Some(team) = teams.team(team) else {
            continue;
        };
        let busy = longest(scale, team);
        let held: Vec<Held> = lines(pag, &rows)
            .iter()
            .map(|line| line.held(pag, scale, team, &functions))
            .collect();
        for rank in 0..scale.p as usize {
            let own = busy.get(rank).copied().unwrap_or(0.0);
            let longer: Vec<f64> = held.iter().map(|h| h.longest(rank) - own).collect();
            for (held, longer) in held.iter().zip(shared(&longer)) {
                for (place, seconds) in held.beyond(rank, longer, team.vertex, measured) {
                    let sum = out
                        .entry((place, team.vertex))
                        .or_insert_with(|| vec![0.0; scale.p as usize]);
                    sum[rank] += seconds;
                }
            }
        }
    }
    out
}

/// What each of several lines is told for, by how much longer than it computes each would make a team take. While
/// threads stand in one line others stand in another, so that all of them together make it as much longer as the longest
/// does: so far as several reach, they share it.
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

/// About how many different locks there are in a set of them, one at the least: how many of its 64 bits
/// stay clear tells how many locks share them.
pub fn count(locks: u64) -> f64 {
    let clear = f64::from(locks.count_zeros()).max(0.5);
    (64.0 * (64.0 / clear).ln()).round().max(1.0)
}

/// What the thread of each rank that computes longest in a team computes.
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
    // Where the function is not known each vertex is a site of its own.
    let site = |v: VertexIx| held::site(pag, v).unwrap_or((u32::MAX, u32::MAX, v));
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

/// The line that a line was joined with in the end.
fn end(into: &[usize], mut line: usize) -> usize {
    while into[line] != line {
        line = into[line];
    }
    line
}

/// How long the threads of a team hold the lock of one line.
struct Held {
    /// Seconds by rank, by number of the place where they take it.
    by_place: BTreeMap<usize, Vec<f64>>,
    /// By rank: which locks, a bit for each.
    locks: Vec<u64>,
}

impl Held {
    /// Seconds for which one after another of a rank's threads holds one of its locks.
    fn longest(&self, rank: usize) -> f64 {
        let locks = self.locks.get(rank).copied().unwrap_or(0);
        self.whole(rank) / count(locks)
    }

    fn whole(&self, rank: usize) -> f64 {
        let rows = self.by_place.values();
        rows.map(|row| row.get(rank).copied().unwrap_or(0.0)).sum()
    }

    /// The part of each place in what the line makes a team `longer` on one rank, but for what was `measured`.
    fn beyond(
        &self,
        rank: usize,
        longer: f64,
        team: VertexIx,
        measured: &ByTeam,
    ) -> Vec<(usize, f64)> {
        let at = |row: &Vec<f64>| row.get(rank).copied().unwrap_or(0.0);
        let places = self.by_place.keys();
        let known = places.filter_map(|place| measured.get(&(*place, team)));
        let longer = longer - known.map(at).sum::<f64>();
        let all = self.whole(rank);
        let part = |(place, row): (&usize, &Vec<f64>)| (*place, longer * at(row) / all);
        let parts = self.by_place.iter().map(part);
        let some = longer > 0.0 && all > 0.0;
        parts.filter(|p| some && p.1 > 0.0).collect()
    }
}

impl Line<'_> {
    /// Seconds by rank that the team's threads hold its lock, by number of the place where they take it.
    fn held(
        &self,
        pag: &Pag,
        scale: &Scale,
        team: &Team,
        functions: &FxHashMap<(u32, u32), Vec<VertexIx>>,
    ) -> Held {
        // The place of each site is that of who waits for who took the lock there; where nobody does, of who waits there.
        let mut places: BTreeMap<Site, usize> = BTreeMap::new();
        let mut entered: FxHashMap<Site, FxHashSet<VertexIx>> = FxHashMap::default();
        for of in [|c: &Contended| c.taken, |c: &Contended| c.at] {
            for (place, c) in &self.rows {
                if let Some(site) = held::site(pag, of(c)) {
                    places.entry(site).or_insert(*place);
                    let function = held::function_of(pag, of(c));
                    entered.entry(site).or_default().extend(function);
                }
            }
        }
        let ways = scale.ways(team.vertex);
        let mut out: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (site, place) in places {
            let Some(section) = held::section(pag, site) else {
                continue;
            };
            // Who waits there is known to hold it elsewhere in the team as well.
            let of_team = functions.get(&(site.0, site.1)).into_iter().flatten();
            let inside = |v: &&VertexIx| ways.iter().any(|w| pag.top.contains(*w, **v));
            let mut all: Vec<VertexIx> = of_team.filter(inside).copied().collect();
            all.extend(entered.get(&site).into_iter().flatten());
            all.sort_unstable();
            all.dedup();
            let sum = out
                .entry(place)
                .or_insert_with(|| vec![0.0; scale.p as usize]);
            for function in all {
                held::add(pag, scale, function, &section, sum);
            }
        }
        let mut locks = vec![0u64; scale.p as usize];
        for (_, c) in &self.rows {
            if let Some(set) = locks.get_mut(c.rank as usize) {
                *set |= c.locks;
            }
        }
        Held {
            by_place: out,
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
    fn a_set_of_locks_tells_how_many_they_are() {
        for (set, locks) in [(0, 1.0), (1 << 63, 1.0), (0b11, 2.0), (0xff, 9.0)] {
            assert_eq!(count(set), locks, "{set:b}");
        }
        assert!(count(u64::MAX) > 256.0);
    }
}
