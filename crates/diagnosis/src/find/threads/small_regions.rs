//! Finds parallel regions that are so small that beginning and ending them adds up.
//!
//! In the call that begins a region, and in nothing that this calls, a rank's thread does what the runtime needs: it wakes the
//! team, hands the work out and collects it. It also waits there for the others at the end of the region, whatever kept these.
//! The loss is its time in the call without that wait. The time comes from samples, and has their error.
//!
//! Where threads outnumber cores, or other work takes these, nothing is said: a thread that waits for another one to get a
//! core looks the same.

use crate::find::candidate::{Candidate, OfThreads, Price};
use crate::find::finder::{Does, Finder};
use crate::find::proposal::{Loss, Proposal};
use crate::find::threads::thread_imbalance::{concerned, threads};
use crate::measure::same_site;
use crate::measure::scale::Scale;
use crate::measure::stretch::Stretch;
use crate::measure::teams::{Team, Teams};
use headwater_graph::{Pag, VertexIx, sum_rows};
use headwater_model::diagnosis::{CauseClass, ThreadTimes};
use headwater_model::words;

/// A longer region is not small, seconds. Runtimes take a microsecond to begin and end one, and ten with many threads.
const SMALL: f64 = 100e-6;

/// Least share of beginning and ending in the time of a region: with less, a larger region gains nothing that is worth it.
const SHARE: f64 = 0.05;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "small-regions",
    about: "Parallel regions that take long to begin and to end for what their threads compute.",
    needs_alike: false,
    needs_charged: false,
    does: Does::Proposes(|l| propose(l.pag, l.last, l.teams, l.least)),
};

fn propose(pag: &Pag, scale: &Scale, teams: &Teams, least: f64) -> Vec<Proposal> {
    if scale.is_crowded() {
        return Vec::new();
    }
    let teams = same_site::by_site(pag, teams);
    let joined = teams.iter().filter(|t| t.joined && t.inside);
    let found = joined.filter_map(|team| of_team(pag, scale, team, least));
    found.collect()
}

/// What the regions of a team take on one rank.
#[derive(Clone, Copy, Default)]
struct Regions {
    count: u64,
    /// Mean computation of its threads, and that of the slowest ones, seconds.
    mean: f64,
    slowest: f64,
    /// Beginning and ending them, seconds.
    ends: f64,
}

impl Regions {
    fn of(scale: &Scale, team: &Team, rank: u32, in_call: f64) -> Self {
        let of_call = |call: &VertexIx| {
            let rows = scale.team_rows(*call);
            let start = rows.partition_point(|t| t.rank < rank);
            let rest = rows.get(start..).unwrap_or(&[]).iter();
            rest.take_while(move |t| t.rank == rank)
        };
        let here = team.calls.iter().flat_map(of_call);
        let own = here.filter(|t| scale.view().threads.calls_mpi(rank, t.thread));
        // Other threads of the team may call MPI too.
        let first = own.clone().map(|t| t.thread).min();
        let (mut count, mut waited) = (0, 0.0);
        for t in own.filter(|t| Some(t.thread) == first) {
            // A region begins at its call; further rows are from one barrier in it to the next.
            count += if t.from == t.team { t.count } else { 0 };
            waited += if t.to == t.team { t.wait } else { 0.0 };
        }
        let stretches = || team.of_rank(rank).iter().filter(|s| s.shares.len() > 1);
        Self {
            count,
            mean: stretches().map(Stretch::mean).sum(),
            slowest: stretches().map(|s| s.slowest(|t| t.busy)).sum(),
            ends: match stretches().next() {
                Some(_) => (in_call - waited).max(0.0),
                // One thread is no team.
                None => 0.0,
            },
        }
    }

    fn are_small(&self) -> bool {
        let all = self.slowest + self.ends;
        self.count > 0 && all <= SMALL * self.count as f64 && self.ends >= SHARE * all
    }
}

fn of_team(pag: &Pag, scale: &Scale, team: &Team, least: f64) -> Option<Proposal> {
    let data = &scale.view().computation;
    let ways: Vec<VertexIx> = (team.calls.iter())
        .flat_map(|call| scale.ways(*call))
        .copied()
        .collect();
    let keys = data.keys_where(|k| ways.contains(&k.vertex));
    let in_call = sum_rows(&data.busy, &keys, scale.p);
    let by_rank = (0..scale.p).zip(&in_call);
    let regions: Vec<Regions> = by_rank
        .map(|(rank, seconds)| Regions::of(scale, team, rank, *seconds))
        .collect();
    let small = regions
        .iter()
        .map(|r| if r.are_small() { r.ends } else { 0.0 });
    let losses: Vec<f64> = small.collect();
    let whole: f64 = losses.iter().sum();
    if whole <= 0.0 || whole < least {
        return None;
    }
    let (ranks, worst) = concerned(&losses);
    // Of the calls of one place, the one in which ranks begin and end them longest.
    let of_call = |call: &VertexIx| {
        let keys = data.keys_where(|k| scale.ways(*call).contains(&k.vertex));
        sum_rows(&data.busy, &keys, scale.p).iter().sum::<f64>()
    };
    let calls = team.calls.iter().map(|call| (*call, of_call(call)));
    let longest = calls.reduce(|a, b| if b.1 > a.1 { b } else { a });
    let vertex = longest.map_or(team.vertex, |l| l.0);
    let common = |a, b: &VertexIx| pag.top.common_ancestor(a, *b);
    let around = team.calls.iter().fold(vertex, common);
    let of_worst = regions.get(worst as usize).copied().unwrap_or_default();
    let names = team.positions(worst).names;
    let mut seconds = vec![0.0; names.len()];
    for s in team.of_rank(worst) {
        seconds
            .iter_mut()
            .zip(&s.shares)
            .for_each(|(sum, t)| *sum += t.busy);
    }
    let each = |all: f64| words::seconds(all / of_worst.count.max(1) as f64);
    let evidence = vec![
        format!(
            "{}the region ran {} times; each time its {} computed {} on average, and to begin and end it took {}",
            scale.subject().on(worst),
            of_worst.count,
            threads(&names),
            each(of_worst.mean),
            each(of_worst.ends),
        ),
        format!(
            "beginning and ending it, in all: {}; waiting at its end for other threads is not counted",
            scale.subject().together(worst, of_worst.ends, whole),
        ),
    ];
    let error = scale.sampling_noise(pag, &keys, &ranks);
    let twins = ways.iter().copied().filter(|w| *w != vertex);
    Some(Proposal {
        candidate: Candidate {
            class: CauseClass::SmallRegions,
            vertex,
            ranks,
            cost: 0.0,
            gain: 0.0,
            after: Vec::new(),
            evidence,
            twins: twins.collect(),
            in_turn: false,
            price: Price::default(),
            error,
            team: Some(OfThreads {
                times: ThreadTimes {
                    rank: worst,
                    concerned: names.clone(),
                    threads: names,
                    seconds,
                },
                around,
                on_top: 0.0,
                waits: Vec::new(),
            }),
        },
        losses: vec![Loss {
            keys,
            around,
            asleep: false,
            on_top: false,
            by_rank: losses,
        }],
    })
}
