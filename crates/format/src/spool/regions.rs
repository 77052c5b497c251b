//! Regions that the program named: from rows of the spool to rows of the run.

use super::layout::{DEEPEST_REGION, REGIONS_OF_THREAD, RegionRow};
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
    if let Some(names) = names(sums(run, |r| r.unnested)) {
        out.push(format!(
            "Some regions did not nest: {names}. An end without a begin was left out, and a region that ended also ended those inside it."
        ));
    }
    // One that is open at the end is around the end of the recording, as in `main`.
    if let Some(names) = names(never_ended(run)) {
        out.push(format!("Some regions began and never ended: {names}."));
    }
    if let Some(names) = names(sums(run, |r| r.too_deep)) {
        out.push(format!(
            "Regions can be recorded {DEEPEST_REGION} deep. Deeper ones were left out inside {names}."
        ));
    }
    if dropped > 0 {
        out.push(format!(
            "{dropped} begins of regions had no room, because a thread can have {REGIONS_OF_THREAD} regions or the disk was full: use fewer names, without numbers in them."
        ));
    }
    out
}

/// Names and counts.
type Counts<'r> = BTreeMap<&'r str, u64>;

fn add<'r>(counts: &mut Counts<'r>, name: &'r str, times: u64) {
    let sum = counts.entry(name).or_default();
    *sum = sum.saturating_add(times);
}

/// The sum of a count over ranks and threads.
fn sums(run: &Run, of: impl Fn(&Region) -> u64) -> Counts<'_> {
    let mut out = Counts::new();
    for region in &run.regions {
        if let Some(name) = run.region_name(region) {
            add(&mut out, name, of(region));
        }
    }
    out
}

/// How often regions began without an end, but for the last time on each thread.
fn never_ended(run: &Run) -> Counts<'_> {
    let mut open: BTreeMap<(&str, u32, u16), u64> = BTreeMap::new();
    for region in &run.regions {
        if let Some(name) = run.region_name(region) {
            let times = region.begun.saturating_sub(region.ended);
            let sum = open.entry((name, region.rank, region.thread)).or_default();
            *sum = sum.saturating_add(times);
        }
    }
    let mut out = Counts::new();
    for ((name, ..), times) in open {
        add(&mut out, name, times.saturating_sub(1));
    }
    out
}

/// The names with a count, the largest first; `None` if there is none.
fn names(counts: Counts<'_>) -> Option<String> {
    let mut all: Vec<(&str, u64)> = counts.into_iter().filter(|c| c.1 > 0).collect();
    all.sort_by_key(|(name, times)| (std::cmp::Reverse(*times), *name));
    let more = all.len().saturating_sub(MOST_NAMES);
    let words = |(name, times): &(&str, u64)| match times {
        1 => format!("{name} (once)"),
        times => format!("{name} ({times} times)"),
    };
    let mut words: Vec<String> = all.iter().take(MOST_NAMES).map(words).collect();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::layout::REGION_NAME;
    use headwater_model::run::{Context, CtxId, Module};

    #[test]
    fn a_row_of_any_kind_has_times_that_fit_it() {
        let number = Renumber {
            rank: 1,
            thread: 2,
            contexts: vec![CtxId(5)],
            comms: Vec::new(),
        };
        let mut row = RegionRow::new(0, u32::MAX, 0, [0; REGION_NAME]);
        for (count, shift) in [
            (0, 0),
            (1, 0),
            (33, 1),
            (u64::MAX, 59),
            (u64::MAX, u64::MAX),
        ] {
            (row.count, row.shift) = (count, shift);
            let (region, times) = named(&row, &number);
            assert_eq!((region.rank, region.thread, region.ctx), (1, 2, CtxId(5)));
            let counted = times
                .iter()
                .fold(0u64, |sum, t| sum.saturating_add(t.count));
            assert!(counted <= count, "{count} {shift}: {times:?}");
        }
        (row.count, row.shift) = (33, 1);
        assert_eq!(named(&row, &number).1.len(), 17);
    }

    #[test]
    fn what_is_wrong_with_regions_is_one_line_each() {
        let region = |ctx, begun, unnested| Region {
            ctx: CtxId(ctx),
            begun,
            unnested,
            ..Default::default()
        };
        let names = ["a", "b", "c\u{1b}[31m\n", "d", "e"];
        let mut run = Run {
            modules: names.map(Module::of_region).to_vec(),
            contexts: (0..5)
                .map(|module| Context {
                    parent: CtxId::NONE,
                    module,
                    offset: OFFSET,
                    exact: false,
                })
                .collect(),
            regions: vec![region(0, 1, 0), region(9, 7, 7)],
            ..Default::default()
        };
        assert!(sentences(&run, 0).is_empty());
        run.regions = (0..5).map(|i| region(i, 2, 1 + u64::from(i))).collect();
        let all = sentences(&run, 3);
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(
            all[0].contains(
                "e (5 times), d (4 times), c\\u001b[31m  (3 times), b (2 times), 1 more."
            ),
            "{}",
            all[0]
        );
        assert!(
            all[1].contains("never ended: a (once), b (once)"),
            "{}",
            all[1]
        );
        assert!(all.iter().all(|s| !s.contains(['\n', '\u{1b}'])), "{all:?}");
    }
}
