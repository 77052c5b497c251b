//! Waits for locks by the place to change, and how much longer teams take because of them.

use crate::measure::contended::Contended;
use crate::measure::line::{self, Beyond, ByTeam};
use crate::measure::scale::Scale;
use crate::measure::stretch::Stretch;
use crate::measure::teams::Teams;
use headwater_dataflow::numbers::stats::CONFIDENCE;
use headwater_graph::{Pag, Site, VertexIx};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Vertices that are one place, the one with most waiting first, and the waits there.
#[derive(Default)]
pub struct Group<'a> {
    /// The vertices.
    pub places: Vec<VertexIx>,
    /// The waits.
    pub waits: Vec<&'a Contended>,
}

/// Groups waits, which are sorted by place.
pub fn groups<'a>(pag: &Pag, waits: &[&'a Contended], allocator: bool) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut of_site: FxHashMap<Site, usize> = FxHashMap::default();
    let mut of_vertex: FxHashMap<VertexIx, usize> = FxHashMap::default();
    for here in waits.chunk_by(|a, b| a.place == b.place) {
        let Some(v) = here.first().map(|c| c.place) else {
            continue;
        };
        // Memory may be allocated in an inner loop and freed in a loop around it.
        let around = pag.top.ancestors(v).filter(|_| allocator);
        let nested = around.filter_map(|o| of_vertex.get(&o).copied()).min();
        let site = pag.top.site(v);
        let same = site.and_then(|s| of_site.get(&s).copied());
        let at = nested.into_iter().chain(same).min().unwrap_or(groups.len());
        if at == groups.len() {
            groups.push(Group::default());
        }
        groups[at].places.push(v);
        groups[at].waits.extend(here);
        of_vertex.insert(v, at);
        if let Some(site) = site {
            let first = of_site.entry(site).or_insert(at);
            *first = at.min(*first);
        }
    }
    for group in &mut groups {
        let mut seconds: FxHashMap<VertexIx, f64> = FxHashMap::default();
        for c in &group.waits {
            *seconds.entry(c.place).or_default() += c.seconds;
        }
        let of = |v: &VertexIx| seconds.get(v).copied().unwrap_or(0.0);
        group
            .places
            .sort_by(|a, b| of(b).total_cmp(&of(a)).then(a.cmp(b)));
    }
    groups
}

/// The part of each group's waits in the losses that `of_stretch` returns for all waits of the class.
pub fn measured(teams: &Teams, groups: &[Group<'_>], of_stretch: fn(&Stretch) -> f64) -> ByTeam {
    let mut whole: FxHashMap<(VertexIx, u32), f64> = FxHashMap::default();
    let mut parts: BTreeMap<(usize, VertexIx), BTreeMap<u32, f64>> = BTreeMap::new();
    for (i, group) in (0..).zip(groups) {
        for c in &group.waits {
            if let Some(team) = c.team {
                *whole.entry((team, c.rank)).or_default() += c.seconds;
                let part = parts.entry((i, team)).or_default();
                *part.entry(c.rank).or_default() += c.seconds;
            }
        }
    }
    let mut losses: FxHashMap<VertexIx, Vec<f64>> = FxHashMap::default();
    let mut out = ByTeam::new();
    for ((i, vertex), part) in parts {
        let Some(team) = teams.team(vertex) else {
            continue;
        };
        let all = losses
            .entry(vertex)
            .or_insert_with(|| team.losses(of_stretch));
        let mut by_rank = vec![0.0; all.len()];
        for (rank, seconds) in part {
            let (at, whole) = (rank as usize, whole.get(&(vertex, rank)));
            if let (Some(slot), Some(all), Some(whole)) = (by_rank.get_mut(at), all.get(at), whole)
            {
                *slot = all * seconds / whole;
            }
        }
        if by_rank.iter().any(|l| *l > 0.0) {
            out.insert((i, vertex), by_rank);
        }
    }
    out
}

/// What teams would take longer, beyond the `measured` seconds, if each thread had a core.
pub fn beyond(
    pag: &Pag,
    scale: &Scale,
    teams: &Teams,
    groups: &[Group<'_>],
    measured: &ByTeam,
) -> Beyond {
    if !scale.is_crowded() {
        return Beyond::default();
    }
    let rows = (0..).zip(groups);
    let rows = rows.flat_map(|(i, g)| g.waits.iter().map(move |c| (i, *c)));
    line::beyond(pag, scale, teams, &rows.collect::<Vec<_>>(), measured)
}

/// By rank: seconds that its teams would wait in line for locks if each thread had a core, and that are in no computation
/// of the recording, because threads that outnumber cores seldom meet.
pub fn unmet(pag: &Pag, scale: &Scale, teams: &Teams) -> Vec<f64> {
    let mut out = vec![0.0; scale.p as usize];
    if !scale.is_crowded() {
        return out;
    }
    let locks = teams.contended.iter();
    let locks = locks.filter(|c| !c.allocator && c.seconds > 0.0);
    let groups = groups(pag, &locks.collect::<Vec<_>>(), false);
    let measured = measured(teams, &groups, Stretch::locks);
    let Beyond { likely, error } = beyond(pag, scale, teams, &groups, &measured);
    for (key, row) in &likely {
        let errors = error.get(key).into_iter().flatten().copied();
        let errors = errors.chain(std::iter::repeat(0.0));
        for ((sum, seconds), error) in out.iter_mut().zip(row).zip(errors) {
            // What may as well be nothing is no cause either.
            if *seconds > CONFIDENCE * error {
                *sum += seconds;
            }
        }
    }
    out
}
