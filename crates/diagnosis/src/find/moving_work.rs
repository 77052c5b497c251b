//! Finds uneven work that moves: in each iteration other ranks are late. [`crate::measure::moving`] measures it.

use crate::find::candidate::{Candidate, Price};
use crate::find::finder::{Does, Finder};
use crate::measure::inclusive::Inclusive;
use crate::measure::moving::Moving;
use crate::measure::scale::Scale;
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::CauseClass;
use headwater_model::psg::VertexKind;
use headwater_model::words::{location, seconds as time};

/// Share of the time of late ranks beyond the others that a place must have to be theirs; the rest is
/// what sampling and the choice of iterations leave open.
const HOLDS: f64 = 0.8;

/// The finder.
pub const FINDER: Finder = Finder {
    name: "moving-work",
    about: "Uneven work that is on other ranks in each iteration.",
    needs_alike: true,
    needs_charged: false,
    does: Does::Finds(|l| find(l.pag, l.last, l.least)),
};

/// The moving unevenness of one scale as causes; `least` is the smallest cost worth telling, seconds.
fn find(pag: &Pag, scale: &Scale, least: f64) -> Vec<Candidate> {
    let candidate = |m: &Moving| {
        let keys = scale.keys_in(m.phase);
        let busy = Inclusive::new(pag, scale.view(), &scale.view().computation.busy, &keys);
        let (vertex, open) = place(pag, &busy, m.excess)?;
        let inside = scale.view().computation.keys_where(|k| {
            scale.phases.after(k.after) == m.phase && pag.top.contains(vertex, k.vertex)
        });
        let (seen, late) = m.seen;
        let mut evidence = vec![
            format!(
                "in {late} of {seen} fully recorded iterations some ranks take much longer than the others, but not the same ones each time"
            ),
            format!(
                "over the run the slowest rank of each iteration takes {} more than the slowest of the whole",
                time(m.seconds)
            ),
        ];
        if !open.is_empty() {
            let names: Vec<String> = open.iter().map(|v| location(&pag.place(*v))).collect();
            evidence.push(format!(
                "each of these in it takes long enough to be it: {}",
                names.join(", ")
            ));
        }
        Some(Candidate {
            class: CauseClass::UnevenWork,
            vertex,
            ranks: m.ranks.clone(),
            cost: m.seconds,
            gain: m.seconds,
            after: scale.afters(&inside),
            evidence,
            in_turn: true,
            price: Price::default(),
            error: m.error,
            team: None,
            twins: Vec::new(),
        })
    };
    let worth = |m: &&Moving| m.seconds >= least;
    scale
        .moving
        .iter()
        .filter(worth)
        .filter_map(candidate)
        .collect()
}

/// The innermost place that alone takes long enough to hold `excess` seconds per rank, and those in it
/// between which that cannot decide.
fn place(pag: &Pag, busy: &Inclusive, excess: f64) -> Option<(VertexIx, Vec<VertexIx>)> {
    let mut here = TopDown::ROOT;
    loop {
        let holds = |v: &VertexIx| {
            let row = busy
                .row(*v)
                .filter(|_| pag.top.get(*v).kind != VertexKind::Comp);
            row.is_some_and(|row| stats::mean(row) >= HOLDS * excess)
        };
        let open: Vec<VertexIx> = pag.children[here as usize]
            .iter()
            .copied()
            .filter(holds)
            .collect();
        match open[..] {
            [only] => here = only,
            _ if here == TopDown::ROOT => return None,
            _ => {
                let named = |v: &VertexIx| pag.top.get(*v).kind != VertexKind::Branch;
                return Some((pag.top.ancestors(here).find(named)?, open));
            }
        }
    }
}
