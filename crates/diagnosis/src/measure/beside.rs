//! The ranks' own threads beside those that they made: whether they do a part of the others' work.
//!
//! The first thread of a program often works beside the threads that it makes. If all of them meet at barriers, its
//! stretches are recorded as theirs are. If they meet nowhere, as in a pool that draws its work from a queue, the places in
//! which they compute say whether they do the same work.

use crate::measure::scale::Scale;
use crate::measure::stretch::{Share, Stretch};
use crate::measure::teams::{Team, computed, find_rank_time};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, Site, TeamStretch, ThreadTime, TopDown, VertexIx, sum_rows};
use headwater_model::run::ThreadInfo;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// A rank's own thread is one of a pool if it computes this part of what the others do in their places.
const BESIDE: f64 = 0.1;

/// It is one of those that meet at a barrier if it computes this part of what the others do until then; and if they compute
/// less than this part of what it does, it computes alone.
const ALIKE: f64 = 0.1;

/// The threads of a pool do this part of their work where the ranks' own threads work, too.
const MOSTLY: f64 = 0.5;

/// The work of a rank's own thread is inside a place if this part of its computation is.
const NEARLY_ALL: f64 = 0.9;

/// Leaves the ranks' own threads out of stretches in which they only wait for the threads that they made, and leaves out
/// stretches in which they compute alone, which are serial. Adds where the own threads work to what the team's work is inside
/// of.
pub(super) fn keep_members(pag: &Pag, scale: &Scale, team: &mut Team) {
    let infos = scale.run().threads.iter();
    let made_here = infos.filter(|t| {
        let call = scale.view().vertex(t.made_by);
        call.is_some_and(|call| team.starts.contains(&call))
    });
    let made_here: FxHashSet<(u32, u16)> = made_here.map(|t| (t.rank, t.thread)).collect();
    let is_guest = |thread: (u32, u16)| {
        scale.view().threads.calls_mpi(thread.0, thread.1) && !made_here.contains(&thread)
    };
    let mut guests: FxHashSet<(u32, u16)> = FxHashSet::default();
    team.stretches.retain_mut(|s| {
        let rank = s.rank;
        let is_own = |t: &Share| is_guest((rank, t.thread));
        let (first, others): (Vec<Share>, Vec<Share>) = s.shares.iter().partition(|t| is_own(t));
        if first.is_empty() {
            return true;
        }
        let busy = |of: &[Share]| -> Vec<f64> { of.iter().map(|t| t.busy).collect() };
        if others.is_empty() || stats::max(&busy(&others)) < ALIKE * stats::max(&busy(&first)) {
            return false;
        }
        let least = ALIKE * stats::mean(&busy(&others));
        s.shares.retain(|t| !is_own(t) || t.busy >= least);
        let members = first.iter().filter(|t| t.busy >= least);
        guests.extend(members.map(|t| (rank, t.thread)));
        true
    });
    if let Some(start) = around_barriers(pag, scale, team, &guests) {
        let ways = team.starts.iter().flat_map(|way| pag.inside(*way));
        let of_others = ways.filter(|v| !scale.view().threads.times_in(*v).is_empty());
        team.shared = of_others.filter_map(|v| pag.top.site(v)).collect();
        team.starts.push(start);
    }
}

/// The place around the barriers of the ranks' own threads in which these do their part of the team's work.
fn around_barriers(
    pag: &Pag,
    scale: &Scale,
    team: &Team,
    own: &FxHashSet<(u32, u16)>,
) -> Option<VertexIx> {
    let is_own = |t: &&TeamStretch| own.contains(&(t.rank, t.thread));
    let rows = scale.view().parallel.teams.iter().filter(is_own);
    let barriers = rows
        .filter(|t| t.to != t.team && team.starts.contains(&t.team))
        .map(|t| t.to);
    let common = barriers.reduce(|a, b| pag.top.common_ancestor(a, b))?;
    let rows = scale.team_rows(team.vertex).iter().filter(is_own);
    let whole: f64 = rows.map(computed).sum();
    let inside = |v: VertexIx| -> f64 {
        let times = pag.inside(v).flat_map(|v| scale.view().threads.times_in(v));
        let times = times.filter(|t| own.contains(&(t.rank, t.thread)));
        times.map(|t| t.cpu).sum()
    };
    let mut around = pag.top.ancestors(common);
    around.find(|v| inside(*v) >= NEARLY_ALL * whole)
}

/// All pools among teams: teams with the ranks' own threads, which compute in the same places beside them, but which no
/// barrier brings together with them. Of all threads the CPU time counts, since it is not known what a rank's own thread
/// sleeps for there.
pub(super) fn pools(pag: &Pag, scale: &Scale, teams: &[Team]) -> Vec<Team> {
    let mut may = teams.iter().filter(|team| may_be(scale, team)).peekable();
    if may.peek().is_none() {
        return Vec::new();
    }
    let times = scale.view().threads.times.iter().filter(|t| t.cpu > 0.0);
    let times = times.filter_map(|t| Some((t, pag.top.site(t.vertex)?)));
    let times: Vec<(&ThreadTime, Site)> = times.collect();
    let pools = may.filter_map(|team| pool(pag, scale, team, &times));
    let mut pools: Vec<Team> = pools.collect();
    // Which of several pools a rank waited for is not known.
    let mut of_waits = vec![0.0; scale.p as usize];
    for s in pools.iter().flat_map(|pool| &pool.stretches) {
        if let Some(slot) = of_waits.get_mut(s.rank as usize) {
            *slot += 1.0;
        }
    }
    of_waits
        .iter_mut()
        .for_each(|n: &mut f64| *n = 1.0 / n.max(1.0));
    for pool in &mut pools {
        let waited = match pool.joined {
            true => waits_for_own(pag, scale, pool),
            false => own_waits(scale, pool, &of_waits),
        };
        limit_to_waits(pool, &waited);
    }
    pools
}

/// Whether no barrier brings a team together, and the ranks' own threads are not in it.
fn may_be(scale: &Scale, team: &Team) -> bool {
    let is_whole = |t: &TeamStretch| t.from == team.vertex && t.to == team.vertex;
    let once = (0..scale.p).all(|rank| team.of_rank(rank).len() <= 1);
    !team.joined && once && scale.team_rows(team.vertex).iter().all(is_whole)
}

/// The pool of a team; `None` if it is none: if the ranks' own threads do not compute where the team mostly does.
/// `times` are those of all threads where the place is known.
fn pool(pag: &Pag, scale: &Scale, team: &Team, times: &[(&ThreadTime, Site)]) -> Option<Team> {
    let rows = scale.team_rows(team.vertex);
    let threads = &scale.view().threads;
    let cpu: FxHashMap<(u32, u16), f64> = rows
        .iter()
        .map(|t| ((t.rank, t.thread), computed(t)))
        .collect();
    // By place, the seconds of the pool and of the ranks' own threads, which may be in other teams elsewhere.
    let mut at: FxHashMap<Site, (f64, f64)> = FxHashMap::default();
    let is_free = |v: VertexIx| scale.teams_around(pag, v).all(|of| of == team.vertex);
    let is_own = |t: &ThreadTime| threads.calls_mpi(t.rank, t.thread) && is_free(t.vertex);
    for (t, site) in times {
        if cpu.contains_key(&(t.rank, t.thread)) {
            at.entry(*site).or_default().0 += t.cpu;
        } else if is_own(t) {
            at.entry(*site).or_default().1 += t.cpu;
        }
    }
    at.retain(|_, (pool, own)| *own >= BESIDE * *pool && *pool > 0.0);
    let mut shared: Vec<f64> = at.values().map(|both| both.0).collect();
    shared.sort_by(f64::total_cmp);
    if shared.iter().sum::<f64>() < MOSTLY * rows.iter().map(computed).sum::<f64>() {
        return None;
    }
    let mut own: BTreeMap<(u32, u16), f64> = BTreeMap::new();
    for (t, _) in times
        .iter()
        .filter(|(t, site)| at.contains_key(site) && is_own(t))
    {
        *own.entry((t.rank, t.thread)).or_default() += t.cpu;
    }
    let mut team = team.clone();
    for s in &mut team.stretches {
        for share in &mut s.shares {
            share.busy = cpu
                .get(&(s.rank, share.thread))
                .copied()
                .unwrap_or(share.busy);
        }
        let least = BESIDE * s.mean();
        let of_rank = own.range((s.rank, 0)..=(s.rank, u16::MAX));
        let added = of_rank
            .filter(|(_, busy)| **busy > least)
            .map(|((_, thread), busy)| Share {
                thread: *thread,
                busy: *busy,
                ..Share::default()
            });
        let added: Vec<Share> = added.collect();
        s.shares.splice(0..0, added);
    }
    team.felt.fill(1.0);
    team.shared = at.into_keys().collect();
    team.joined = is_led(scale, &team);
    match team.joined {
        true => find_own_time(pag, scale, &mut team),
        false => find_rank_time(pag, scale, &mut team),
    }
    Some(team)
}

/// Whether the rank's own thread computes longest in a stretch.
fn leads(scale: &Scale, s: &Stretch) -> bool {
    let callers = &scale.view().threads;
    let own = s
        .shares
        .iter()
        .filter(|t| callers.calls_mpi(s.rank, t.thread));
    own.map(|t| t.busy).fold(0.0, f64::max) >= s.slowest(|t| t.busy)
}

/// Whether the pool loses more because the ranks' own threads are late than because others are.
fn is_led(scale: &Scale, team: &Team) -> bool {
    let lost = |own: bool| -> f64 {
        let all = team.stretches.iter();
        let late = all.filter(|s| leads(scale, s) == own);
        late.map(Stretch::imbalance).sum()
    };
    lost(true) > lost(false)
}

/// Where the ranks' own threads compute what the pool does.
fn find_own_time(pag: &Pag, scale: &Scale, team: &mut Team) {
    let is_here = |v: VertexIx| {
        pag.top
            .site(v)
            .is_some_and(|site| team.shared.contains(&site))
    };
    let data = &scale.view().computation;
    team.keys = data.keys_where(|k| is_here(k.vertex));
    let needed = team.losses(Stretch::imbalance);
    let there = sum_rows(&data.busy, &team.keys, scale.p);
    let felt = needed
        .iter()
        .zip(there)
        .map(|(needed, there)| match *needed > 0.0 {
            true => (there / needed).min(1.0),
            false => 1.0,
        });
    team.felt = felt.collect();
    let vertices = team.keys.iter().filter_map(|k| data.keys.get(*k as usize));
    let around = vertices
        .map(|k| k.vertex)
        .reduce(|a, b| pag.top.common_ancestor(a, b));
    team.around = around.unwrap_or(TopDown::ROOT);
    team.starts.extend(around);
}

/// By rank: the part `of_waits` of what its own threads waited for others, without their waits for locks; nothing where
/// they are the slowest.
fn own_waits(scale: &Scale, team: &Team, of_waits: &[f64]) -> Vec<f64> {
    let mut waited = vec![0.0; team.felt.len()];
    for e in scale.own_waits() {
        let part = of_waits.get(e.rank as usize);
        if let Some((slot, part)) = waited.get_mut(e.rank as usize).zip(part) {
            *slot += e.wait * part;
        }
    }
    let led = team.stretches.iter().filter(|s| leads(scale, s));
    for s in led {
        if let Some(slot) = waited.get_mut(s.rank as usize) {
            *slot = 0.0;
        }
    }
    waited
}

/// By rank: what its other threads waited, mean, without what its own computed elsewhere meanwhile; nothing where others
/// are the slowest. Before the first of the others was made, none of them can have waited: the own thread computed for at
/// least that long, but for all that it was not on a core or in MPI.
fn waits_for_own(pag: &Pag, scale: &Scale, team: &Team) -> Vec<f64> {
    let callers = &scale.view().threads;
    let mut waited: FxHashMap<(u32, u16), f64> = FxHashMap::default();
    let edges = scale.view().parallel.threads.iter();
    for e in edges.filter(|e| !e.kind.is_lock()) {
        *waited.entry((e.rank, e.thread)).or_default() += e.wait;
    }
    let is_here = |v: VertexIx| {
        let site = pag.top.site(v);
        site.is_some_and(|site| team.shared.contains(&site))
    };
    let is_own = |t: &&ThreadTime| callers.calls_mpi(t.rank, t.thread);
    let mut elsewhere = vec![0.0; team.felt.len()];
    for t in callers
        .times
        .iter()
        .filter(is_own)
        .filter(|t| !is_here(t.vertex))
    {
        if let Some(slot) = elsewhere.get_mut(t.rank as usize) {
            *slot += t.cpu;
        }
    }
    let infos = scale.run().threads.iter();
    let infos: FxHashMap<(u32, u16), &ThreadInfo> =
        infos.map(|t| ((t.rank, t.thread), t)).collect();
    let mut out = vec![0.0; team.felt.len()];
    for s in team.stretches.iter().filter(|s| leads(scale, s)) {
        let (own, others): (Vec<_>, Vec<_>) =
            s.threads().partition(|t| callers.calls_mpi(t.0, t.1));
        let begins = others.iter().filter_map(|t| Some(infos.get(t)?.begin_ns));
        let begin = begins.min().unwrap_or(0);
        let not_computing = own.iter().filter_map(|t| {
            let info = infos.get(t)?;
            let off = info.wall_ns.saturating_sub(info.cpu_ns);
            Some(off.saturating_add(info.mpi_wall_ns))
        });
        let before = begin.saturating_sub(not_computing.max().unwrap_or(begin)) as f64 * 1e-9;
        let waits = others.iter().map(|t| waited.get(t).copied().unwrap_or(0.0));
        let waits = stats::mean(&waits.collect::<Vec<_>>());
        let rank = s.rank as usize;
        if let Some((slot, elsewhere)) = out.get_mut(rank).zip(elsewhere.get(rank)) {
            *slot = (waits - (elsewhere - before).max(0.0)).max(0.0);
        }
    }
    out
}

/// The ranks can have lost at most these seconds.
fn limit_to_waits(team: &mut Team, waited: &[f64]) {
    let lost = team.losses(Stretch::imbalance);
    for ((felt, lost), waited) in team.felt.iter_mut().zip(lost).zip(waited) {
        if lost > *waited {
            *felt *= waited / lost;
        }
    }
}
