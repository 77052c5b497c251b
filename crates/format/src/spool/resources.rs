//! What processes and nodes used: from counters of the system at both ends of the recording to rows of the run.

use super::layout::{Resource, ResourceRow, text};
use super::parts::Part;
use crate::FormatError;
use headwater_model::printable::printable;
use headwater_model::run::{Energy, FileSystem, RankInfo, Run, Usage};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// No package or memory of a node takes more power, watts: longer than its counter's range at this power, the counter may
/// have begun again more than once.
const MOST_WATTS: u64 = 1000;

/// The same of a zone that is the whole node, with its accelerators.
const MOST_WATTS_OF_NODE: u64 = 20_000;

/// The name of such a zone.
const WHOLE_NODE: &str = "psys";

/// Kinds of file systems by the number that `statfs` says, as in `linux/magic.h` and in `statfs(2)`, and those of parallel
/// file systems as their own clients have them.
const KINDS: [(u64, &str); 24] = [
    (0x0BD0_0BD0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x1983_0326, "beegfs"),
    (0x00C3_6400, "ceph"),
    (0xAAD7_AAEA, "panfs"),
    (0x2003_0528, "orangefs"),
    (0x6969, "nfs"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "smb2"),
    (0x517B, "smb"),
    (0x5346_414F, "afs"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0xEF53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0x2FC1_2FC1, "zfs"),
    (0xF2F5_2010, "f2fs"),
    (0x794C_7630, "overlay"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58F6, "ramfs"),
    (0x9584_58F6, "hugetlbfs"),
    (0x7371_7368, "squashfs"),
    (0x4D44, "vfat"),
];

fn kind_name(which: u64) -> String {
    let known = KINDS.iter().find(|k| k.0 == which);
    match (which, known) {
        (0, _) => "unknown".to_string(),
        (_, Some((_, name))) => (*name).to_string(),
        (which, None) => format!("{which:#x}"),
    }
}

/// Adds what a process has recorded.
pub(super) fn take(
    part: &Part,
    rank: &RankInfo,
    nodes: &mut FxHashSet<u32>,
    run: &mut Run,
) -> Result<(), FormatError> {
    put(&part.rows::<ResourceRow>(None)?, rank, nodes, run);
    Ok(())
}

/// `nodes` are those whose energy is known.
fn put(rows: &[ResourceRow], rank: &RankInfo, nodes: &mut FxHashSet<u32>, run: &mut Run) {
    if rows.is_empty() {
        return;
    }
    let of = |what: Resource| {
        // A process may have gone on behind an end, as after an `exec` that failed.
        let has_ended = |r: &&ResourceRow| rank.complete && r.ended == 1;
        let row = rows
            .iter()
            .filter(has_ended)
            .find(|r| r.what == what as u32);
        row.map(|r| r.end.saturating_sub(r.begin))
    };
    use Resource::{
        LongCallTime, LongCalls, MpiFiles, OpenFiles, PeakMemory, ReadBytes, Reads, StorageRead,
        StorageWritten, Writes, WrittenBytes,
    };
    run.usage.push(Usage {
        rank: rank.rank,
        peak_memory_bytes: of(PeakMemory),
        read_bytes: of(ReadBytes),
        reads: of(Reads),
        written_bytes: of(WrittenBytes),
        writes: of(Writes),
        storage_read_bytes: of(StorageRead),
        storage_written_bytes: of(StorageWritten),
    });
    let mut kinds: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.end > 0) {
        let counts = [MpiFiles, OpenFiles, LongCalls, LongCallTime];
        if let Some(at) = counts.iter().position(|what| row.what == *what as u32) {
            let sum = &mut kinds.entry(kind_name(row.which)).or_default()[at];
            *sum = sum.saturating_add(row.end);
        }
    }
    run.file_systems.extend(kinds.into_iter().map(
        |(name, [mpi_opened, open_at_end, long_calls, long_ns])| FileSystem {
            rank: rank.rank,
            name,
            mpi_opened,
            open_at_end,
            long_calls,
            long_ns,
        },
    ));
    let is_energy =
        |r: &&ResourceRow| r.what == Resource::Energy as u32 && r.ended == 1 && rank.complete;
    let mut rows = rows.iter().filter(is_energy).peekable();
    if rows.peek().is_some() && nodes.insert(rank.node) {
        run.energy.extend(rows.map(|row| energy(row, rank)));
    }
}

fn energy(row: &ResourceRow, rank: &RankInfo) -> Energy {
    let wall_ns = row.at_ns[1].saturating_sub(row.at_ns[0]);
    let grown = match row.end.checked_sub(row.begin) {
        Some(grown) => Some(grown),
        // It began again once.
        None => (row.range.checked_sub(row.begin)).and_then(|rest| rest.checked_add(row.end)),
    };
    // A watt is a microjoule per microsecond.
    let zone = printable(&text(&row.name).replace(['\n', '\t'], " ")).into_owned();
    let watts = match zone.starts_with(WHOLE_NODE) {
        true => MOST_WATTS_OF_NODE,
        false => MOST_WATTS,
    };
    let most = u128::from(wall_ns / 1000) * u128::from(watts);
    let is_sure = row.range == 0 || most < u128::from(row.range);
    Energy {
        rank: rank.rank,
        node: rank.node,
        zone,
        microjoules: grown.filter(|_| is_sure),
        wall_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::layout::put_text;

    fn row(what: Resource, which: u64, begin: u64, end: u64) -> ResourceRow {
        ResourceRow {
            ended: 1,
            begin,
            end,
            ..ResourceRow::new(what, which)
        }
    }

    fn zone(name: &str, (begin, end): (u64, u64), range: u64, seconds: u64) -> ResourceRow {
        let mut row = ResourceRow {
            range,
            at_ns: [5, 5 + seconds * 1_000_000_000],
            ..row(Resource::Energy, 0, begin, end)
        };
        put_text(&mut row.name, name.as_bytes());
        row
    }

    #[test]
    fn what_was_not_read_at_the_end_is_missing() {
        let rank = RankInfo {
            complete: true,
            ..RankInfo::default()
        };
        let mut run = Run::default();
        let mut nodes = FxHashSet::default();
        put(&[], &rank, &mut nodes, &mut run);
        assert!(run.usage.is_empty());
        let killed = ResourceRow {
            ended: 0,
            ..row(Resource::ReadBytes, 0, 7, 0)
        };
        let reads = row(Resource::Reads, 0, 7, 10);
        put(&[killed, reads], &rank, &mut nodes, &mut run);
        let [usage] = &run.usage[..] else {
            panic!("{run:?}")
        };
        assert_eq!((usage.read_bytes, usage.reads), (None, Some(3)));
        assert_eq!(usage.peak_memory_bytes, None);
        // It went on behind its end, and was killed.
        put(&[reads], &RankInfo::default(), &mut nodes, &mut run);
        assert_eq!(run.usage[1].reads, None);
    }

    #[test]
    fn file_systems_have_names_and_unknown_ones_their_number() {
        let rows = [
            row(Resource::MpiFiles, 0x0BD0_0BD0, 0, 3),
            row(Resource::OpenFiles, 0x0BD0_0BD0, 0, 1),
            row(Resource::OpenFiles, 0xABCD, 0, 2),
            row(Resource::MpiFiles, 0, 0, 1),
            row(Resource::OpenFiles, 0xEF53, 0, 0),
            row(Resource::LongCalls, 0x6969, 0, 4),
            row(Resource::LongCallTime, 0x6969, 0, 5_000_000),
            row(Resource::LongCallTime, 0, 0, 0),
        ];
        let mut run = Run::default();
        let mut nodes = FxHashSet::default();
        put(&rows, &RankInfo::default(), &mut nodes, &mut run);
        let found: Vec<_> = (run.file_systems.iter())
            .map(|f| (f.name.as_str(), f.mpi_opened, f.open_at_end))
            .collect();
        let expected = [
            ("0xabcd", 0, 2),
            ("lustre", 3, 1),
            ("nfs", 0, 0),
            ("unknown", 1, 0),
        ];
        assert_eq!(found, expected);
        let nfs = run.file_systems.iter().find(|f| f.name == "nfs");
        let nfs = nfs.map(|f| (f.long_calls, f.long_ns));
        assert_eq!(nfs, Some((4, 5_000_000)));
    }

    #[test]
    fn energy_is_that_of_a_node_once_and_never_a_guess() {
        let rank = |rank, node| RankInfo {
            complete: true,
            rank,
            node,
            ..Default::default()
        };
        let rows = [
            zone("package-0", (10, 5_000_010), 1 << 40, 2),
            // Began again.
            zone("package-0 dram\u{1b}", ((1 << 40) - 5, 7), 1 << 40, 2),
            // May have begun again several times: 262 kJ are over after 262 s at 1 kW.
            zone("package-1", (10, 20), 262_000_000_000, 300),
            zone("psys-0", (10, 20), 262_000_000_000, 30),
            zone("node", (10, 20), 0, 300),
            // A damaged row.
            zone("package-2", (20, 10), 15, 0),
        ];
        let (mut run, mut nodes) = (Run::default(), FxHashSet::default());
        put(&rows, &rank(3, 1), &mut nodes, &mut run);
        put(&rows, &rank(4, 1), &mut nodes, &mut run);
        let found: Vec<_> = run.energy.iter().map(|e| e.microjoules).collect();
        assert_eq!(
            found,
            [Some(5_000_000), Some(12), None, None, Some(10), None]
        );
        assert!(run.energy.iter().all(|e| (e.rank, e.node) == (3, 1)));
        assert_eq!(run.energy[0].wall_ns, 2_000_000_000);
        assert!(!run.energy[1].zone.contains('\u{1b}'));
        put(&rows, &rank(5, 0), &mut nodes, &mut run);
        assert_eq!(run.energy.len(), 12);
    }
}
