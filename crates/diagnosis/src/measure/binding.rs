//! Which cores ranks may use, and how crowded these are.

use headwater_dataflow::run::threads;
use headwater_model::RankSet;
use headwater_model::run::{RankInfo, Run};
use rustc_hash::FxHashMap;

/// By rank: threads for each core that it may use, if every rank spreads its threads evenly over its cores; 0 where the
/// cores are not known.
pub fn crowds(run: &Run) -> Vec<f64> {
    let infos = &run.ranks;
    let threads = threads::concurrent(run);
    let cores: Vec<(u32, RankSet)> = infos
        .iter()
        .map(|i| (i.node, i.cpus.parse().unwrap_or_default()))
        .collect();
    let mut load: FxHashMap<(u32, u32), f64> = FxHashMap::default();
    for (info, (node, set)) in infos.iter().zip(&cores) {
        let own = threads.get(info.rank as usize).copied().unwrap_or(1);
        for core in set.as_slice() {
            let load = load.entry((*node, *core)).or_default();
            *load += f64::from(own) / set.len() as f64;
        }
    }
    let mut out = vec![0.0; run.header.ranks as usize];
    for (info, (node, set)) in infos.iter().zip(&cores) {
        let all: f64 = set
            .as_slice()
            .iter()
            .filter_map(|c| load.get(&(*node, *c)))
            .sum();
        if let Some(slot) = out.get_mut(info.rank as usize) {
            *slot = all / set.len().max(1) as f64;
        }
    }
    out
}

/// Whether all of `ranks` may use only some of the cores of their node.
pub fn bound(run: &Run, ranks: &RankSet) -> bool {
    let own = run.ranks.iter().filter(|i| ranks.contains(i.rank));
    let few = |i: &RankInfo| {
        let cores = run.header.cores.get(i.node as usize).copied().unwrap_or(0);
        let set: RankSet = i.cpus.parse().unwrap_or_default();
        !set.is_empty() && (set.len() as u32) < cores
    };
    let mut own = own.peekable();
    own.peek().is_some() && own.all(few)
}
