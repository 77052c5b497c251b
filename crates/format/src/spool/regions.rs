//! Regions that the program named: from rows of the spool to rows of the run.

use super::layout::RegionRow;
use super::renumber::Renumber;
use headwater_model::run::{Region, RegionPart, RegionTime, Run};

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
