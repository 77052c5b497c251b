//! What is known of a run as a whole and of each of its ranks, gathered from the ranks' headers one by one.

use super::clock::{self, Clocks, Compared};
use super::layout::{FileHeader, Kind, LOST_THREADS, LOST_TO_DISK, ThreadRow, last_sign, text};
use super::parts::Part;
use crate::FormatError;
use headwater_model::run::{Header, Paused, RankInfo};
use headwater_model::{RankSet, words};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Ranks that are looked for at the most, whatever a damaged header says.
pub(super) const MOST_RANKS: u32 = 1 << 24;

/// Width of a list of ranks, in characters.
const WHO: usize = 40;

/// Ranks that lost records, and how many records.
#[derive(Default)]
struct Lost {
    ranks: Vec<u32>,
    records: u64,
}

/// What the ranks read so far contain.
#[derive(Default)]
pub(super) struct Heading {
    header: Header,
    ranks: u32,
    nodes: FxHashMap<String, u32>,
    notes: FxHashSet<String>,
    finished: Vec<u32>,
    cut_off: Vec<u32>,
    /// Those whose recording `headwater stop` ended.
    stopped: Vec<u32>,
    /// Lost because the disk was full.
    lost_to_disk: Lost,
    /// Lost for other reasons.
    lost: Lost,
    /// Ranks and seconds of pauses, by how many there were.
    pauses: BTreeMap<u64, Vec<(u32, f64)>>,
    clocks: Vec<Compared>,
}

impl Heading {
    /// Counters in a sample.
    pub fn counters(&self) -> usize {
        self.header.counters.len()
    }

    /// The next rank, in their order; the first says what is the same on all.
    pub fn take(&mut self, part: &Part) -> Result<RankInfo, FormatError> {
        let h = &part.header;
        if self.clocks.is_empty() {
            self.begin(h);
        }
        self.ranks = self.ranks.max(h.size);
        let (host, next) = (text(&h.host), self.nodes.len() as u32);
        let node = *self.nodes.entry(host).or_insert_with_key(|host| {
            self.header.nodes.push(host.clone());
            self.header.cores.push(h.cores);
            next
        });
        for note in text(&h.notes).lines() {
            if self.notes.insert(note.to_string()) {
                self.header.missing.push(note.to_string());
            }
        }
        let complete = h.is_complete();
        if h.has_stopped() {
            self.stopped.push(h.rank);
        }
        let list = if complete {
            &mut self.finished
        } else {
            &mut self.cut_off
        };
        list.push(h.rank);
        let counted = h.in_use().filter(|d| {
            // Regions have a sentence of their own.
            ![Kind::Messages as u32, Kind::Regions as u32].contains(&d.kind)
        });
        let dropped = counted.map(|d| u64::from(d.dropped)).sum::<u64>();
        let disk_full = h.lost & LOST_TO_DISK != 0;
        if h.lost & LOST_THREADS != 0 {
            self.header.threads_lost.push(h.rank);
        }
        let lost = match disk_full {
            true => &mut self.lost_to_disk,
            false => &mut self.lost,
        };
        if disk_full || dropped > 0 {
            lost.ranks.push(h.rank);
            lost.records = lost.records.saturating_add(dropped);
        }
        self.clocks.push(Compared {
            rank: h.rank,
            unix_ns: h.unix_ns,
            found: h.alignments,
        });

        let threads = part.rows::<ThreadRow>(None)?;
        let (wall_ns, paused_ns) = wall_ns(h, &threads);
        if h.pauses > 0 {
            let ranks = self.pauses.entry(h.pauses).or_default();
            ranks.push((h.rank, paused_ns as f64 * 1e-9));
        }
        self.header.wall_seconds = self.header.wall_seconds.max(wall_ns as f64 * 1e-9);
        let sum = |of: fn(&ThreadRow) -> u64| threads.iter().map(of).fold(0, u64::saturating_add);
        let at_end = |value: u64| complete.then_some(value);
        Ok(RankInfo {
            rank: h.rank,
            node,
            cpus_allowed: h.cpus_allowed,
            cpus: text(&h.cpus),
            complete,
            before_init_wall_ns: h.before_init_wall_ns,
            before_init_cpu_ns: h.before_init_cpu_ns,
            wall_ns,
            cpu_ns: at_end(h.cpu_ns),
            mpi_wall_ns: sum(|t| t.mpi_ns),
            runq_ns: sum(|t| t.runq_ns),
            minor_faults: at_end(h.usage[0]),
            major_faults: at_end(h.usage[1]),
            voluntary_switches: at_end(h.usage[2]),
            involuntary_switches: at_end(h.usage[3]),
            migrations: sum(|t| t.migrations),
            core: main_core(&threads),
        })
    }

    fn begin(&mut self, first: &FileHeader) {
        let out = &mut self.header;
        out.program = text(&first.program);
        out.command = texts(&first.command);
        out.mpi_library = text(&first.library);
        out.sampling_hz = f64::from(first.hz);
        out.counters = text(&first.counter_names)
            .split_whitespace()
            .map(str::to_string)
            .collect();
        out.started_unix = (first.unix_ns as f64 + first.init_ns as f64) * 1e-9;
    }

    /// What the run as a whole is, and its common clock.
    pub fn end(self) -> (Header, Clocks) {
        let mut out = self.header;
        out.ranks = self.ranks;
        pauses(self.pauses, &mut out);
        let finished: RankSet = self.finished.into_iter().collect();
        out.incomplete = (0..out.ranks.min(MOST_RANKS))
            .filter(|r| !finished.contains(*r))
            .collect();
        let cut_off: RankSet = self.cut_off.into_iter().collect();
        if !cut_off.is_empty() && out.uses_mpi() {
            out.missing.push(format!(
                "CPU time, page faults and context switches of rank{} {cut_off} as a whole: known only where MPI_Finalize is reached.",
                if cut_off.len() == 1 { "" } else { "s" }
            ));
        } else if !cut_off.is_empty() {
            out.missing.push(
                "CPU time, page faults and context switches of the process as a whole: known only where the program ends by itself.".to_string(),
            );
        }
        let stopped: RankSet = self.stopped.into_iter().collect();
        if !stopped.is_empty() {
            let of = match out.uses_mpi() {
                true => format!(" of {}", words::ranks(&stopped, out.ranks, WHO)),
                false => String::new(),
            };
            out.missing.push(format!(
                "`headwater stop` ended the recording{of}: what the program did afterwards is in no figure."
            ));
        }
        report_lost(self.lost_to_disk, &self.lost, &mut out);
        let clocks = clock::common(&mut out, &self.clocks);
        (out, clocks)
    }
}

/// Reports lost records and the ranks that lost them. A rank on a full disk may have lost more than it counted, because
/// it could make no new tables.
fn report_lost(to_disk: Lost, others: &Lost, out: &mut Header) {
    let of = out.ranks;
    let who = |ranks: &[u32]| words::ranks(&ranks.iter().copied().collect(), of, WHO);
    if !to_disk.ranks.is_empty() {
        let count = match to_disk.records {
            0 => String::new(),
            records => format!(", at least {records}"),
        };
        let ranks = to_disk.ranks.iter().copied().collect();
        let sentence = words::disk_full(&ranks, of, WHO) + &count + ".";
        out.missing.push(words::capitalised(&sentence));
    }
    if !others.ranks.is_empty() {
        out.missing.push(format!(
            "Records of {} were lost, {} in all: their tables were full or could not grow.",
            who(&others.ranks),
            others.records
        ));
    }
    out.disk_full = to_disk.ranks;
}

/// Nanoseconds from `MPI_Init` to the end, without pauses, and those of the pauses.
fn wall_ns(h: &FileHeader, threads: &[ThreadRow]) -> (u64, u64) {
    let end = last_sign(h, threads);
    let last = match h.paused_since_ns {
        0 => 0,
        since => end.saturating_sub(since),
    };
    let wall = end.saturating_sub(h.init_ns);
    let paused = h.paused_ns.saturating_add(last).min(wall);
    (wall - paused, paused)
}

/// Texts that each end with NUL, some of which may be empty, in a field that is filled up with NUL.
fn texts(bytes: &[u8]) -> Vec<String> {
    let Some(last) = bytes.iter().rposition(|b| *b != 0) else {
        return Vec::new();
    };
    let own = bytes[..=last].split(|b| *b == 0);
    own.map(|t| String::from_utf8_lossy(t).into_owned())
        .collect()
}

/// Tells of pauses.
fn pauses(by_times: BTreeMap<u64, Vec<(u32, f64)>>, out: &mut Header) {
    for (times, ranks) in by_times {
        let each = || ranks.iter().map(|r| r.1);
        let paused = Paused {
            ranks: ranks.iter().map(|r| r.0).collect(),
            times,
            shortest_seconds: each().fold(f64::INFINITY, f64::min),
            longest_seconds: each().fold(0.0, f64::max),
        };
        let (least, most) = (
            format!("{:.2}", paused.shortest_seconds),
            format!("{:.2}", paused.longest_seconds),
        );
        let range = if least == most {
            most
        } else {
            format!("{least} to {most}")
        };
        out.missing.push(format!(
            "Recording was paused (MPI_Pcontrol, or the switch of another tool) on rank{} {} for {range} s: what happened meanwhile is in no figure, nor in the run time.",
            if paused.ranks.len() == 1 { "" } else { "s" },
            paused.ranks,
        ));
        out.paused.push(paused);
    }
}

/// The core of two thirds of the time of all threads or more.
fn main_core(threads: &[ThreadRow]) -> Option<u64> {
    // What a damaged file says may be more than any time is.
    let mut all = 0u128;
    let mut by_core: FxHashMap<u64, u128> = FxHashMap::default();
    for thread in threads {
        all += thread
            .on_cores
            .iter()
            .map(|c| u128::from(c.cpu_ns))
            .sum::<u128>();
        let (_, single) = thread.on_cores.split_last()?;
        for on in single {
            *by_core.entry(on.core).or_default() += u128::from(on.cpu_ns);
        }
    }
    let main = by_core.into_iter().find(|(_, ns)| 3 * ns >= 2 * all);
    main.filter(|_| all > 0).map(|(core, _)| core)
}

#[cfg(test)]
mod tests {
    use super::super::layout::{CoreTime, MOST_CORES};
    use super::*;

    #[test]
    fn empty_arguments_are_kept() {
        let mut field = [0u8; 16];
        assert_eq!(texts(&field), [""; 0]);
        field[..9].copy_from_slice(b"app\0\0x 1\0");
        assert_eq!(texts(&field), ["app", "", "x 1"]);
    }

    #[test]
    fn lost_records_are_reported_with_their_ranks_and_the_reason() {
        let lost = |ranks: &[u32], records| Lost {
            ranks: ranks.to_vec(),
            records,
        };
        let reported = |to_disk: Lost, others: Lost| {
            let mut out = Header {
                ranks: 4,
                ..Header::default()
            };
            report_lost(to_disk, &others, &mut out);
            (out.missing, out.disk_full)
        };
        let none = || lost(&[], 0);
        assert_eq!(reported(none(), none()), (vec![], vec![]));
        let full =
            "Records of rank 3 were lost, 7 in all: their tables were full or could not grow.";
        assert_eq!(
            reported(none(), lost(&[3], 7)),
            (vec![full.to_string()], vec![])
        );
        let disk = "The disk was full: records of ranks 0-1 were lost, at least 12.";
        assert_eq!(
            reported(lost(&[0, 1], 12), lost(&[3], 7)),
            (vec![disk.to_string(), full.to_string()], vec![0, 1])
        );
        let (missing, _) = reported(lost(&[2], 0), none());
        assert_eq!(missing, ["The disk was full: records of rank 2 were lost."]);
    }

    #[test]
    fn a_main_core_is_one_of_two_thirds_of_the_time() {
        let thread = |times: [u64; 3], others| {
            let mut row = ThreadRow::default();
            for (place, (cpu_ns, core)) in row
                .on_cores
                .iter_mut()
                .zip(times.into_iter().zip([5, 0, 9]))
            {
                *place = CoreTime { core, cpu_ns };
            }
            row.on_cores[MOST_CORES - 1] = CoreTime {
                core: 7,
                cpu_ns: others,
            };
            row
        };
        let on = |times, others| main_core(&[thread(times, others)]);
        assert_eq!(on([1, 8, 1], 2), Some(0));
        assert_eq!(on([5, 7, 0], 0), None);
        assert_eq!(on([3, 0, 0], 9), None, "the last place is that of several");
        assert_eq!(on([0, 0, 0], 0), None);
        let two = [thread([1, 8, 0], 0), thread([9, 0, 0], 0)];
        assert_eq!(main_core(&two), None, "each thread has one of its own");
    }
}
