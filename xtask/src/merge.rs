//! How the merge of the ranks' data grows with their number: of real ranks under MPI, and of generated
//! ranks that a driver leads through the same steps one after the other.

use crate::bench::built;
use crate::figures::median;
use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, HANGING, output, within};
use headwater_format::spool::layout::*;
use headwater_format::spool::merge::{Merge, Piece, Source, Wire};
use headwater_format::spool::read_spool;
use headwater_model::hash::mix;
use headwater_model::run::Run;
use std::collections::{HashMap, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Ranks of the real run.
const REAL: u32 = 64;

/// Ranks that are generated.
const GENERATED: [u32; 3] = [1024, 8192, 65_536];

/// Prints messages, bytes held and seconds of the busiest rank.
pub fn merge() -> Done {
    real()?;
    for ranks in GENERATED {
        generated(ranks, false)?;
    }
    // What it takes where no rank but the root sees the file: all data pass by the root.
    generated(GENERATED[0], true)
}

/// Under MPI, of a program that only begins and ends: what its ranks write themselves.
fn real() -> Done {
    let (spool, figures) = (
        setup::target().join("merge-spool"),
        setup::target().join("merge-figures"),
    );
    for dir in [&spool, &figures] {
        let _ = std::fs::remove_dir_all(dir);
    }
    std::fs::create_dir_all(&figures).map_err(|e| e.to_string())?;
    let mut run = within(HANGING, &Mpi::Open.mpirun(REAL)?);
    run.args(["-x", "HEADWATER_MERGE_FIGURES"])
        .env("HEADWATER_MERGE_FIGURES", &figures);
    setup::recorded(&mut run, &spool);
    output(run.arg(built("startend")?))?;
    let mut all: Vec<[f64; 3]> = Vec::new();
    for rank in 0..REAL {
        let text = std::fs::read_to_string(figures.join(rank.to_string()))
            .map_err(|e| format!("rank {rank} reported nothing of the merge: {e}"))?;
        let mut words = text.split_whitespace().filter_map(|w| w.parse().ok());
        all.push(std::array::from_fn(|_| words.next().unwrap_or(f64::NAN)));
    }
    let most = |i: usize| {
        all.iter()
            .filter_map(|f| f.get(i))
            .copied()
            .fold(0.0, f64::max)
    };
    let seconds: Vec<f64> = all.iter().map(|f| f[2] * 1e-9).collect();
    let read = read_spool(&spool).map_err(|e| e.to_string())?;
    if read.ranks.len() != REAL as usize || !spool.join(MERGED_NAME).exists() {
        return Err(format!("{} of {REAL} ranks came out", read.ranks.len()));
    }
    println!(
        "merge of {REAL} ranks under MPI, more than there are cores: of the busiest rank {} messages, {:.0} kB held; from its begin to its end {:.3} s (median of ranks, with waiting for a core)",
        most(0),
        most(1) / 1e3,
        median(&seconds)
    );
    Ok(())
}

/// Messages that are under way.
#[derive(Default)]
struct Mail(HashMap<(u32, u32), VecDeque<Vec<u8>>>);

/// A rank's end of it.
struct Post<'a> {
    rank: u32,
    size: u32,
    mail: &'a mut Mail,
}

impl Wire for Post<'_> {
    fn parent(&self) -> Option<u32> {
        (self.rank != 0).then(|| self.rank & (self.rank - 1))
    }

    fn children(&self) -> Vec<u32> {
        let bits = if self.rank == 0 {
            u32::BITS
        } else {
            self.rank.trailing_zeros()
        };
        let children = (0..bits).filter_map(|b| self.rank.checked_add(1 << b));
        children.filter(|c| *c < self.size).collect()
    }

    fn send(&mut self, to: u32, bytes: &[u8]) -> bool {
        let box_ = self.mail.0.entry((self.rank, to)).or_default();
        box_.push_back(bytes.to_vec());
        true
    }

    fn receive(&mut self, from: u32, room: &mut [u8]) -> Option<usize> {
        let between = (from, self.rank);
        let box_ = self.mail.0.get_mut(&between)?;
        let message = box_.pop_front()?;
        if box_.is_empty() {
            self.mail.0.remove(&between);
        }
        room.get_mut(..message.len())?.copy_from_slice(&message);
        Some(message.len())
    }
}

/// A generated rank's process file: the same rows for all.
struct Generated<'a> {
    rows: &'a [u8],
    directory: PathBuf,
}

impl Source for Generated<'_> {
    fn directory(&self) -> &Path {
        &self.directory
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> bool {
        let from = self
            .rows
            .get(offset as usize..)
            .and_then(|r| r.get(..bytes.len()));
        from.map(|from| bytes.copy_from_slice(from)).is_some()
    }

    fn owner(&self) -> Option<u32> {
        std::fs::metadata(&self.directory).ok().map(|m| m.uid())
    }

    fn may_be_as_long(&self, _: u64) -> bool {
        true
    }

    fn close(&self, _: std::fs::File) -> bool {
        true
    }
}

/// Rows as a program with a hundred calling contexts leaves.
fn rows() -> Result<(FileHeader, Vec<u8>), String> {
    let mut bytes = Vec::new();
    let mut descs = [Desc::default(); MOST_TABLES];
    let mut tables = 0;
    let mut table = |kind: Kind, row_bytes: usize, rows: &mut dyn Iterator<Item = Vec<u8>>| {
        let offset = bytes.len() as u64;
        let rows: Vec<u8> = rows.flatten().collect();
        let count = (rows.len() / row_bytes) as u32;
        bytes.extend(rows);
        if let Some(desc) = descs.get_mut(tables) {
            *desc = Desc {
                kind: kind as u32,
                offset,
                row_bytes: row_bytes as u32,
                capacity: count,
                count,
                ..Desc::default()
            };
        }
        tables += 1;
    };
    fn row<R: Row>(row: R) -> Vec<u8> {
        bytes_of(&row).to_vec()
    }
    let module = |n: u64| ModuleRow {
        base: n << 32,
        start: n << 32,
        end: (n + 1) << 32,
        id_bytes: 20,
        id: [n as u8; 32],
        path: [b'a' + n as u8; 448],
    };
    table(
        Kind::Modules,
        size_of::<ModuleRow>(),
        &mut (0..10).map(|n| row(module(n))),
    );
    let world = CommRow { hash: 1, size: 1 };
    table(
        Kind::Comms,
        size_of::<CommRow>(),
        &mut std::iter::once(row(world)),
    );
    let context = |n: u32| ContextRow {
        address: u64::from(n) << 26,
        parent: n.checked_sub(1).map_or(u32::MAX, |n| n / 2),
        exact: u32::from(n.is_multiple_of(3)),
    };
    table(
        Kind::Contexts,
        size_of::<ContextRow>(),
        &mut (0..100).map(|n| row(context(n))),
    );
    let segment = |n: u32| SegmentRow {
        from: n,
        to: (n + 1) % 100,
        count: 9,
        wall_ns: 9000,
        ..Default::default()
    };
    table(
        Kind::Segments,
        size_of::<SegmentRow>(),
        &mut (0..100).map(|n| row(segment(n))),
    );
    let call = |n: u32| CallRow {
        ctx: n,
        func: 3,
        count: 9,
        wall_ns: 900,
        ..Default::default()
    };
    table(
        Kind::Calls,
        size_of::<CallRow>(),
        &mut (0..50).map(|n| row(call(n))),
    );
    let sample = |n: u32| SampleRow {
        after: n,
        ctx: n,
        count: 1,
        cpu_ns: 5000,
        ..Default::default()
    };
    table(
        Kind::Samples,
        size_of::<SampleRow>(),
        &mut (0..50).map(|n| row(sample(n))),
    );
    let message = |n: u64| MessageRow {
        id: mix(n),
        kind: 2,
        ..Default::default()
    };
    table(
        Kind::Messages,
        size_of::<MessageRow>(),
        &mut (0..40).map(|n| row(message(n))),
    );
    let event = |n: u32| EventRow {
        window: n / 40,
        ctx: n % 100,
        first: 1,
        ..Default::default()
    };
    table(
        Kind::Events,
        size_of::<EventRow>(),
        &mut (0..120).map(|n| row(event(n))),
    );
    table(
        Kind::Threads,
        size_of::<ThreadRow>(),
        &mut std::iter::once(row(ThreadRow::default())),
    );
    let empty = vec![0; size_of::<FileHeader>()];
    let mut header = read_header(&empty).ok_or("a header cannot be read")?;
    (header.magic, header.version, header.finished) = (MAGIC, VERSION, 1);
    (header.tables, header.descs) = (tables as u32, descs);
    Ok((header, bytes))
}

/// Leads `ranks` through the steps. In the order of their numbers parents come before children.
fn generated(ranks: u32, apart: bool) -> Done {
    let place = setup::target().join("merge-generated");
    let _ = std::fs::remove_dir_all(&place);
    let root = place.join("spool");
    std::fs::create_dir_all(&root).map_err(|e| e.to_string())?;
    let (mut header, rows) = rows()?;
    header.size = ranks;
    let mut mail = Mail::default();
    let mut merges = Vec::new();
    let mut seconds = vec![0.0; ranks as usize];
    for rank in 0..ranks {
        header.rank = rank;
        let nobodys = rank != 0 && apart;
        let directory = if nobodys {
            place.join("other")
        } else {
            root.clone()
        };
        let rows = &rows[..];
        merges.push(Merge::new(Generated { rows, directory }, Some(&header)));
    }
    let mut step = |up: bool,
                    merges: &mut [Merge<Generated>],
                    what: &mut dyn FnMut(&mut Merge<Generated>, &mut Post)| {
        let mut one = |rank: u32| {
            let (Some(merge), Some(took)) = (
                merges.get_mut(rank as usize),
                seconds.get_mut(rank as usize),
            ) else {
                return;
            };
            let mut post = Post {
                rank,
                size: ranks,
                mail: &mut mail,
            };
            let start = Instant::now();
            what(merge, &mut post);
            *took += start.elapsed().as_secs_f64();
        };
        if up {
            (0..ranks).rev().for_each(&mut one);
        } else {
            (0..ranks).for_each(&mut one);
        }
    };
    let start = Instant::now();
    let mut agreed = 0;
    step(true, &mut merges, &mut |m, post| m.gather(post));
    step(false, &mut merges, &mut |m, post| m.place(post, 1));
    let mut piece = Box::new([0; size_of::<Piece>()]);
    step(true, &mut merges, &mut |m, post| m.write(post, &mut piece));
    step(false, &mut merges, &mut |m, post| {
        agreed += u32::from(m.agree(post))
    });
    let all = start.elapsed().as_secs_f64();
    if agreed != ranks {
        return Err(format!(
            "{agreed} of {ranks} ranks heard that all went well"
        ));
    }
    seconds.sort_by(f64::total_cmp);
    let messages = merges.iter().map(|m| m.figures.messages).max().unwrap_or(0);
    let peak_bytes = merges
        .iter()
        .map(|m| m.figures.peak_bytes)
        .max()
        .unwrap_or(0);
    drop(merges);
    let file = root
        .join(MERGED_NAME)
        .metadata()
        .map_err(|e| e.to_string())?
        .len();
    println!(
        "merge of {ranks} generated ranks{}: of the busiest rank {messages} messages, {:.0} kB held, {:.1} ms; of the median rank {:.3} ms; all together {all:.1} s, {} MB of file",
        if apart {
            " that do not see the root's directory"
        } else {
            ""
        },
        peak_bytes as f64 / 1e3,
        seconds.last().copied().unwrap_or(0.0) * 1e3,
        seconds.get(seconds.len() / 2).copied().unwrap_or(0.0) * 1e3,
        file / 1_000_000
    );
    read(&root, ranks)?;
    std::fs::remove_dir_all(&place).map_err(|e| e.to_string())
}

/// Reads the file again, and reports what that takes beside the run itself.
fn read(dir: &Path, ranks: u32) -> Done {
    // The kernel forgets the highest mark so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let kb = |name| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        crate::bench::in_status(&status, name)
    };
    let (before, start) = (kb("VmRSS:"), Instant::now());
    let run = read_spool(dir).map_err(|e| e.to_string())?;
    let took = start.elapsed().as_secs_f64();
    if run.ranks.len() != ranks as usize {
        return Err(format!("{} of {ranks} ranks were read", run.ranks.len()));
    }
    println!(
        "  reading it: {took:.1} s, at most {} MB of memory, of which the run itself is {} MB",
        kb("VmHWM:").saturating_sub(before) * 1024 / 1_000_000,
        size(&run) / 1_000_000
    );
    Ok(())
}

/// Bytes of a run in memory.
fn size(run: &Run) -> usize {
    let counters: usize = run
        .samples
        .iter()
        .map(|s| size_of_val(s.counters.as_slice()))
        .sum();
    counters
        + size_of_val(run.samples.as_slice())
        + size_of_val(run.segments.as_slice())
        + size_of_val(run.calls.as_slice())
        + size_of_val(run.events.as_slice())
        + size_of_val(run.ranks.as_slice())
        + size_of_val(run.threads.as_slice())
}
