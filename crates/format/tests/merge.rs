//! The ranks' data merged over a tree of threads: one file with all of it, or all process files.

use headwater_format::spool::layout::*;
use headwater_format::spool::merge::{BUFFER, Merge, Piece, Source, Wire};
use headwater_format::spool::read_spool;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

const RANKS: u32 = 11;

/// Number of the merged file.
const NUMBER: u64 = 4711;

/// What somebody else does when a rank has learnt where its data go.
type Put = Arc<dyn Fn(u32) + Send + Sync>;

/// A rank whose process file is in memory.
struct Kept {
    directory: PathBuf,
    bytes: Vec<u8>,
    readable: bool,
}

impl Source for Kept {
    fn directory(&self) -> &Path {
        &self.directory
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> bool {
        let from = &self.bytes[offset as usize..][..bytes.len()];
        bytes.copy_from_slice(from);
        self.readable
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

struct Threads {
    rank: u32,
    to: Vec<SyncSender<(u32, Vec<u8>)>>,
    own: Receiver<(u32, Vec<u8>)>,
    early: Vec<(u32, Vec<u8>)>,
}

impl Wire for Threads {
    fn parent(&self) -> Option<u32> {
        (self.rank != 0).then(|| self.rank & (self.rank - 1))
    }

    fn children(&self) -> Vec<u32> {
        let of = |r: &u32| r & (r - 1) == self.rank;
        (self.rank + 1..RANKS).filter(of).collect()
    }

    fn send(&mut self, to: u32, bytes: &[u8]) -> bool {
        let message = (self.rank, bytes.to_vec());
        self.to[to as usize].send(message).is_ok()
    }

    fn receive(&mut self, from: u32, room: &mut [u8]) -> Option<usize> {
        let message = self.next(from)?;
        room.get_mut(..message.len())?.copy_from_slice(&message);
        Some(message.len())
    }
}

impl Threads {
    fn next(&mut self, from: u32) -> Option<Vec<u8>> {
        if let Some(at) = self.early.iter().position(|m| m.0 == from) {
            return Some(self.early.remove(at).1);
        }
        loop {
            let message = self.own.recv().ok()?;
            if message.0 == from {
                return Some(message.1);
            }
            self.early.push(message);
        }
    }
}

/// A process file with a communicator of as many members as the rank's number, and many segments.
fn process(rank: u32) -> (FileHeader, Vec<u8>) {
    let mut header = read_header(&vec![0; size_of::<FileHeader>()]).expect("as long as a header");
    (header.magic, header.version, header.finished) = (MAGIC, VERSION, 1);
    (header.rank, header.size, header.tables) = (rank, RANKS, 3);
    let mut bytes = vec![0xee; 500];
    let comm = CommRow {
        hash: 77 + u64::from(rank),
        size: u64::from(rank),
    };
    header.descs[0] = Desc {
        kind: Kind::Modules as u32,
        row_bytes: 512,
        capacity: 9,
        ..Desc::default()
    };
    header.descs[1] = Desc {
        kind: Kind::Comms as u32,
        offset: bytes.len() as u64,
        row_bytes: size_of::<CommRow>() as u32,
        capacity: 8,
        count: 1,
        ..Desc::default()
    };
    bytes.extend(bytes_of(&comm));
    bytes.resize(1000, 0xee);
    let segments = 3 * BUFFER / size_of::<SegmentRow>() + rank as usize;
    header.descs[2] = Desc {
        kind: Kind::Segments as u32,
        offset: bytes.len() as u64,
        row_bytes: size_of::<SegmentRow>() as u32,
        capacity: 2 * segments as u32,
        count: segments as u32,
        ..Desc::default()
    };
    for count in 0..segments as u64 {
        let row = SegmentRow {
            count,
            ..SegmentRow::default()
        };
        bytes.extend(bytes_of(&row));
    }
    (header, bytes)
}

/// Merges; `node` returns the directory of a rank, and one rank may not be readable. Who sends waits until that
/// is taken. Gives what ranks hear and the most that one held.
fn merge(base: &Path, node: impl Fn(u32) -> u32, unreadable: Option<u32>) -> (Vec<bool>, usize) {
    merge_beside(base, node, unreadable, None)
}

/// The same beside somebody who may write to the directory.
fn merge_beside(
    base: &Path,
    node: impl Fn(u32) -> u32,
    unreadable: Option<u32>,
    put: Option<Put>,
) -> (Vec<bool>, usize) {
    let (to, own): (Vec<_>, Vec<_>) = (0..RANKS).map(|_| sync_channel(0)).unzip();
    let ranks = own.into_iter().zip(0..).map(|(own, rank)| {
        let to = to.clone();
        let directory = base.join(node(rank).to_string());
        std::fs::create_dir_all(&directory).expect("a directory");
        let readable = unreadable != Some(rank);
        let put = put.clone();
        std::thread::spawn(move || {
            let mut wire = Threads {
                rank,
                to,
                own,
                early: Vec::new(),
            };
            let (header, bytes) = process(rank);
            let mut merge = Merge::new(
                Kept {
                    directory,
                    bytes,
                    readable,
                },
                Some(&header),
            );
            let mut piece = Box::new([0; size_of::<Piece>()]);
            merge.gather(&mut wire);
            merge.place(&mut wire, NUMBER);
            put.as_ref().inspect(|put| put(rank));
            merge.write(&mut wire, &mut piece);
            (merge.agree(&mut wire), merge.figures.peak_bytes)
        })
    });
    let ranks: Vec<_> = ranks.collect();
    let ended = ranks
        .into_iter()
        .map(|r| r.join().expect("a rank that ends"));
    let (heard, peak_bytes): (Vec<_>, Vec<_>) = ended.unzip();
    (heard, peak_bytes.into_iter().max().unwrap_or(0))
}

#[test]
fn all_data_are_in_one_file_whichever_nodes_see_it() {
    // All see it, nobody but the root, and nodes of four.
    for node in [|_| 0, |rank| rank, |rank: u32| rank / 4] {
        let base = tempfile::tempdir().expect("a temporary directory");
        let (heard, peak_bytes) = merge(base.path(), node, None);
        assert!(heard.into_iter().all(|h| h));
        assert!(peak_bytes < 2 * BUFFER, "{peak_bytes} bytes held");
        let run = read_spool(&base.path().join("0")).expect("a spool");
        let mut sizes: Vec<u32> = run.comms.iter().map(|c| c.size).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, Vec::from_iter(0..RANKS));
        let count = |rank| run.segments.iter().filter(|s| s.rank == rank).count();
        let least = 3 * BUFFER / size_of::<SegmentRow>();
        assert!((0..RANKS).all(|r| count(r) == least + r as usize));
        let sum: u64 = run
            .segments
            .iter()
            .filter(|s| s.rank == 7)
            .map(|s| s.count)
            .sum();
        assert_eq!(sum, (0..least as u64 + 7).sum::<u64>());
    }
}

#[test]
fn a_rank_that_fails_leaves_all_process_files() {
    for node in [|_| 0, |rank: u32| rank / 4] {
        for fails in [0, 5, 8] {
            let base = tempfile::tempdir().expect("a temporary directory");
            let (heard, _) = merge(base.path(), node, Some(fails));
            assert!(heard.into_iter().all(|h| !h));
            let left = std::fs::read_dir(base.path().join("0")).expect("a directory");
            assert_eq!(left.count(), 0, "nothing half done stays");
        }
    }
}

/// The only rank of a world.
struct Alone;

impl Wire for Alone {
    fn parent(&self) -> Option<u32> {
        None
    }

    fn children(&self) -> Vec<u32> {
        Vec::new()
    }

    fn send(&mut self, _: u32, _: &[u8]) -> bool {
        false
    }

    fn receive(&mut self, _: u32, _: &mut [u8]) -> Option<usize> {
        None
    }
}

#[test]
fn a_process_alone_in_its_world_leaves_the_file_of_another_one_in_place() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let merged = |number: u64| {
        let (mut header, bytes) = process(0);
        (header.size, header.cpu_ns) = (1, number);
        let own = Kept {
            directory: dir.path().to_path_buf(),
            bytes,
            readable: true,
        };
        let mut merge = Merge::new(own, Some(&header));
        let mut piece = Box::new([0; size_of::<Piece>()]);
        merge.gather(&mut Alone);
        merge.place(&mut Alone, number);
        merge.write(&mut Alone, &mut piece);
        merge.agree(&mut Alone)
    };
    assert_eq!([merged(1), merged(2)], [true, false]);
    let run = read_spool(dir.path()).expect("the first one's data");
    assert_eq!(run.ranks[0].cpu_ns, Some(1));
    let left = std::fs::read_dir(dir.path()).expect("a directory");
    assert_eq!(left.count(), 1, "nothing half done stays");
}

#[test]
fn a_file_put_in_place_of_ours_is_not_written_to() {
    const PRECIOUS: &[u8] = b"precious";
    type Lay = fn(&Path, &Path) -> std::io::Result<()>;
    let by_link: Lay = |precious, part| std::os::unix::fs::symlink(precious, part);
    let by_name: Lay = |precious, part| std::fs::hard_link(precious, part);
    let of_another: Lay = |_, part| std::fs::write(part, PRECIOUS);
    for lay in [by_link, by_name, of_another] {
        let base = tempfile::tempdir().expect("a temporary directory");
        let precious = base.path().join("precious");
        std::fs::write(&precious, PRECIOUS).expect("a file");
        let part = base
            .path()
            .join("0")
            .join(format!("merged.{NUMBER:016x}.part"));
        let target = precious.clone();
        let put: Put = Arc::new(move |rank| {
            // The root is the last to go on, when all others have learnt their places.
            if rank == 0 {
                let _ = std::fs::remove_file(&part);
                lay(&target, &part).expect("a file of the same name");
            }
        });
        let (heard, _) = merge_beside(base.path(), |_| 0, None, Some(put));
        assert!(heard.into_iter().all(|h| !h));
        assert_eq!(std::fs::read(&precious).expect("a file"), PRECIOUS);
    }
}
