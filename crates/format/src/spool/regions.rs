//! Regions that the program named: from rows of the spool to rows of the run.

use super::layout::RegionRow;
use super::renumber::Renumber;
use headwater_model::run::{Region, RegionPart, RegionTime, Run};
use std::collections::BTreeMap;

/// Offset of a region's contexts in its module: they are callers, so the place before it is looked up.
pub(super) const OFFSET: u64 = 1;

/// A region and its times.
pub(super) type Named = (Region, Vec<RegionTime>);

/// A row of the spool.
pub(super) fn named(r: &RegionRow, n: &Renumber) -> Named {
    let region = Region {
        rank: n.rank,
        thread: n.thread,
        ctx: n.ctx(r.ctx),
        begun: r.begun,
        ended: r.ended,
        unnested: r.unnested,
        too_deep: r.too_deep,
        count: r.count,
        wall_ns: r.sum_ns,
        min_ns: r.min_ns,
        max_ns: r.max_ns,
    };
    let time = |part, index, count, wall_ns| RegionTime {
        region: 0,
        part,
        index,
        count,
        wall_ns,
    };
    let classes = (0..).zip(r.classes).filter(|c| c.1 > 0);
    let classes = classes.map(|(bits, count)| time(RegionPart::Class, bits, count, 0));
    let slowest = r.slowest.iter().filter(|s| s.ns > 0);
    let slowest = slowest.map(|s| time(RegionPart::Slowest, s.index, 1, s.ns));
    let each = 1u64 << r.shift.min(63);
    let stretches = (0..)
        .zip(r.stretches)
        .map_while(|(i, wall_ns): (u64, u64)| {
            let first = i.checked_mul(each).filter(|first| *first < r.count)?;
            let count = each.min(r.count - first);
            Some(time(RegionPart::Stretch, first, count, wall_ns))
        });
    let times = classes.chain(slowest).chain(stretches).collect();
    (region, times)
}

/// Adds sorted regions to the run, with their times behind one another.
pub(super) fn put(regions: Vec<Named>, run: &mut Run) {
    for (region, times) in regions {
        let row = run.regions.len() as u32;
        run.regions.push(region);
        run.region_times
            .extend(times.into_iter().map(|t| RegionTime { region: row, ..t }));
    }
}

/// Names in a sentence at the most.
const MOST_NAMES: usize = 4;

/// Sentences about what the program did wrong with its regions. `dropped` is how many begins and ends had no room.
pub(super) fn sentences(run: &Run, dropped: u64) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(names) = names(run, |r| r.unnested) {
        out.push(format!(
            "Some regions did not nest: {names}. An end without a begin was left out, and a region that ended also ended those inside it."
        ));
    }
    // One that is open at the end is around the end of the recording, as in `main`.
    if let Some(names) = names(run, |r| r.begun.saturating_sub(r.ended).saturating_sub(1)) {
        out.push(format!("Some regions began and never ended: {names}."));
    }
    if let Some(names) = names(run, |r| r.too_deep) {
        out.push(format!(
            "Regions can be recorded 64 deep. Deeper ones were left out inside {names}."
        ));
    }
    if dropped > 0 {
        out.push(format!(
            "A thread can have 1024 regions. {dropped} begins of further ones were left out: use fewer names, without numbers in them."
        ));
    }
    out
}

/// The regions of which `of` is more than 0, with its sum over ranks and threads, the largest first.
fn names(run: &Run, of: impl Fn(&Region) -> u64) -> Option<String> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for region in &run.regions {
        let times = of(region);
        if let Some(name) = run.region_name(region).filter(|_| times > 0) {
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(times);
        }
    }
    let mut all: Vec<(&str, u64)> = sums.into_iter().collect();
    all.sort_by_key(|(name, times)| (std::cmp::Reverse(*times), *name));
    let more = all.len().saturating_sub(MOST_NAMES);
    let named = all.iter().take(MOST_NAMES);
    let mut words: Vec<String> = named.map(|(n, t)| format!("{n} ({t} times)")).collect();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    (!words.is_empty()).then(|| words.join(", ").replace("(1 times)", "(once)"))
}
