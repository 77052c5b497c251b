//! The data of all ranks to one file, over a tree of ranks.
//!
//! No rank takes the data of others: up the tree go only their lengths, down it goes where each rank's are
//! to lie, and each writes its own into the one file. So a rank holds a few words for each of its children
//! and [`BUFFER`] bytes of its own data, and takes part in four messages with each of its neighbours in the tree,
//! which for the root are as many as the logarithm of the number of ranks. A rank that does not see the file, on a node
//! with a directory of its own, passes its data up in pieces, to the first rank above that sees it.
//!
//! The file has its name only once all ranks have written; until then it is nobody's, and the processes'
//! own files count. In the end each rank hears whether all went well. After ranks have begun to talk, they allocate
//! only a few words: if a rank got no memory while others send to it, they would send for ever.
//!
//! The steps, [`Merge::gather`], [`Merge::place`], [`Merge::write`] and [`Merge::agree`], are made by all ranks in this order.
//! In the first and the third ranks hear their children and speak to their parent, in the others it is the other way round: who feeds
//! the steps with ranks that are not there can make each for one rank after the other.

use super::layout::{FileHeader, MERGED_MAGIC, MERGED_NAME, Stretch, pack};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of rows that a rank holds at once.
pub const BUFFER: usize = 1 << 16;

/// Room for a message with so many, and where in the file they go before them.
pub type Piece = [u8; 8 + BUFFER];

/// How ranks talk to each other.
pub trait Wire {
    /// The rank above this one; none above the root.
    fn parent(&self) -> Option<u32>;
    /// The ranks right below this one.
    fn children(&self) -> Vec<u32>;
    /// Sends a message; `false` where it failed.
    fn send(&mut self, to: u32, bytes: &[u8]) -> bool;
    /// Waits for a message and writes it to the beginning of `room`; returns its length, `None` where that failed or
    /// it was longer.
    fn receive(&mut self, from: u32, room: &mut [u8]) -> Option<usize>;
}

/// A rank's own process file.
pub trait Source {
    /// Where its directory is.
    fn directory(&self) -> &Path;
    /// Fills `bytes` from the file; `false` where it cannot.
    fn read(&self, offset: u64, bytes: &mut [u8]) -> bool;
    /// Number of the user who owns the process file.
    fn owner(&self) -> Option<u32>;
    /// Whether a file may have so many bytes.
    fn may_be_as_long(&self, bytes: u64) -> bool;
    /// Closes a file; `false` where what was written to it was lost.
    fn close(&self, file: File) -> bool;
}

/// What a rank's part in the merge took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Messages sent and received.
    pub messages: u64,
    /// Bytes in memory at the most, messages included.
    pub peak_bytes: usize,
}

/// In place of the file's number where there is none.
const NO_FILE: u64 = 0;

/// Rights of the file: only its owner writes to it.
const MODE: u32 = 0o644;

/// A rank in the merge.
pub struct Merge<S> {
    source: S,
    /// Head of the blob, its length before it, and what follows from the process file; empty where it
    /// cannot be made.
    head: Vec<u8>,
    rows: Vec<Stretch>,
    /// Bytes of the trees below the children.
    below: Vec<(u32, u64)>,
    whole: bool,
    /// Number of the file and where this rank's bytes are to lie.
    number: u64,
    start: u64,
    /// What the merge has taken so far.
    pub figures: Figures,
}

/// Gives the merged file its name. A process that is `alone` in its world leaves the file of another one in place. Under the
/// launcher of another MPI library each process is alone, and the reader counts them.
fn give_name(part: &Path, last: &Path, alone: bool) -> bool {
    if !alone {
        return std::fs::rename(part, last).is_ok();
    }
    match std::fs::hard_link(part, last) {
        Ok(()) => {
            let _ = std::fs::remove_file(part);
            true
        }
        Err(e) if e.kind() == ErrorKind::AlreadyExists => false,
        // The file system has no links.
        Err(_) => !last.exists() && std::fs::rename(part, last).is_ok(),
    }
}

fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut out = [0; N];
    let mut each = bytes.chunks_exact(8);
    for word in &mut out {
        *word = u64::from_le_bytes(each.next()?.try_into().ok()?);
    }
    Some(out)
}

fn bytes<const N: usize>(words: [u64; N]) -> [[u8; 8]; N] {
    words.map(u64::to_le_bytes)
}

impl<S: Source> Merge<S> {
    /// A rank that has the data in `source`, whose header this is; without a header it has none, and says so.
    pub fn new(source: S, header: Option<&FileHeader>) -> Self {
        let packed = header.and_then(pack).and_then(|(head, rows)| {
            let length = head.len() as u64 + rows.iter().map(|r| r.bytes).sum::<u64>();
            let mut all = Vec::new();
            all.try_reserve_exact(8 + head.len()).ok()?;
            all.extend_from_slice(&length.to_le_bytes());
            all.extend_from_slice(&head);
            Some((all, rows))
        });
        let whole = packed.is_some();
        let (head, rows) = packed.unwrap_or_default();
        Self {
            source,
            head,
            rows,
            below: Vec::new(),
            whole,
            number: NO_FILE,
            start: 0,
            figures: Figures::default(),
        }
    }

    fn hold(&mut self, more: usize) {
        let own = self.head.capacity()
            + self.rows.capacity() * size_of::<Stretch>()
            + self.below.capacity() * size_of::<(u32, u64)>()
            + size_of::<Self>();
        self.figures.peak_bytes = self.figures.peak_bytes.max(own + more);
    }

    fn send(&mut self, wire: &mut impl Wire, to: u32, message: &[u8]) -> bool {
        self.figures.messages += 1;
        wire.send(to, message)
    }

    fn receive<'r>(
        &mut self,
        wire: &mut impl Wire,
        from: u32,
        room: &'r mut [u8],
    ) -> Option<&'r [u8]> {
        self.figures.messages += 1;
        self.hold(room.len());
        let length = wire.receive(from, room)?;
        room.get(..length)
    }

    /// Waits for a message of numbers.
    fn receive_words<const N: usize>(
        &mut self,
        wire: &mut impl Wire,
        from: u32,
    ) -> Option<[u64; N]> {
        let mut room = [[0u8; 8]; N];
        words(self.receive(wire, from, room.as_flattened_mut())?)
    }

    /// Bytes of this rank in the file.
    fn own(&self) -> u64 {
        self.head.len() as u64 + self.rows.iter().map(|r| r.bytes).sum::<u64>()
    }

    /// Tells the rank above how long this rank's data and those below it are.
    pub fn gather(&mut self, wire: &mut impl Wire) {
        for child in wire.children() {
            let [length, whole] = self.receive_words(wire, child).unwrap_or([0, 0]);
            self.whole &= whole == 1;
            self.below.push((child, length));
        }
        if let Some(parent) = wire.parent() {
            let all = self.own() + self.below.iter().map(|b| b.1).sum::<u64>();
            let message = bytes([all, u64::from(self.whole)]);
            self.send(wire, parent, message.as_flattened());
        }
    }

    fn path(&self) -> PathBuf {
        self.source
            .directory()
            .join(format!("merged.{:016x}.part", self.number))
    }

    /// Learns where this rank's data are to lie. The root makes the file, with `number` in its name: one that no
    /// other file has, so that who sees the name sees the file.
    pub fn place(&mut self, wire: &mut impl Wire, number: u64) {
        if let Some(parent) = wire.parent() {
            let answer = self.receive_words(wire, parent);
            [self.number, self.start] = answer.unwrap_or([NO_FILE, 0]);
        } else {
            let all = self.own() + self.below.iter().map(|b| b.1).sum::<u64>();
            self.start = MERGED_MAGIC.to_le_bytes().len() as u64;
            self.number = number;
            if !self.whole || !self.make(self.start + all) {
                self.number = NO_FILE;
            }
        }
        let mut start = self.start + self.own();
        // Those with the most below them first.
        let mut places = Vec::with_capacity(self.below.len());
        for (child, length) in self.below.iter() {
            places.push((*child, start));
            start += length;
        }
        for (child, start) in places.into_iter().rev() {
            let message = bytes([self.number, start]);
            self.send(wire, child, message.as_flattened());
        }
    }

    /// Makes the file; `false` where there is no room or right for it.
    fn make(&self, length: u64) -> bool {
        // A file beyond its limit would cost the program a signal.
        self.source.may_be_as_long(length)
            && OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(MODE)
                .open(self.path())
                .and_then(|f| f.write_all_at(&MERGED_MAGIC.to_le_bytes(), 0))
                .is_ok()
    }

    /// The file that the root has made; `None` where this rank does not see it. Whoever may write to the directory can
    /// have put another one in its place, a link or a file of this user's: it is not written to.
    fn open(&self) -> Option<File> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOFOLLOW);
        let file = options.open(self.path()).ok()?;
        let found = file.metadata().ok()?;
        let alone = found.is_file() && found.nlink() == 1 && found.mode() & 0o022 == 0;
        let mut mark = [0; size_of_val(&MERGED_MAGIC)];
        let is_the_one = alone
            && Some(found.uid()) == self.source.owner()
            && file.read_exact_at(&mut mark, 0).is_ok()
            && mark == MERGED_MAGIC.to_le_bytes();
        is_the_one.then_some(file)
    }

    /// Writes this rank's data, and those from below that cannot be written there; what cannot be written
    /// here either goes up. `piece` is room for both.
    pub fn write(&mut self, wire: &mut impl Wire, piece: &mut Piece) {
        if self.number == NO_FILE {
            return;
        }
        let file = self.open();
        if !self.whole_written(wire, file.as_ref(), piece) {
            self.whole = false;
        }
        for child in wire.children() {
            loop {
                let Some(message) = self.receive(wire, child, piece) else {
                    self.whole = false;
                    break;
                };
                if let Some([whole]) = words::<1>(message).filter(|_| message.len() == 8) {
                    self.whole &= whole == 1;
                    break;
                }
                if !self.put(wire, file.as_ref(), message) {
                    self.whole = false;
                }
            }
        }
        if let Some(file) = file {
            self.whole &= self.source.close(file);
        }
        if let Some(parent) = wire.parent() {
            let message = bytes([u64::from(self.whole)]);
            self.send(wire, parent, message.as_flattened());
        }
    }

    /// Writes or sends a piece: its place, then its bytes.
    fn put(&mut self, wire: &mut impl Wire, file: Option<&File>, piece: &[u8]) -> bool {
        let Some(file) = file else {
            return wire.parent().is_some_and(|p| self.send(wire, p, piece));
        };
        let (Some([at]), Some(part)) = (words(piece), piece.get(8..)) else {
            return false;
        };
        self.source.may_be_as_long(at + part.len() as u64) && file.write_all_at(part, at).is_ok()
    }

    fn whole_written(
        &mut self,
        wire: &mut impl Wire,
        file: Option<&File>,
        room: &mut Piece,
    ) -> bool {
        self.hold(room.len());
        let (head, rows) = (
            std::mem::take(&mut self.head),
            std::mem::take(&mut self.rows),
        );
        let mut at = self.start;
        let mut pieces = std::iter::once(None).chain(rows.into_iter().map(Some));
        pieces.all(|piece| {
            let length = piece.map_or(head.len() as u64, |r: Stretch| r.bytes);
            let mut done = 0;
            while done < length {
                let count = (length - done).min(BUFFER as u64) as usize;
                let Some(message) = room.get_mut(..8 + count) else {
                    return false;
                };
                let (place, part) = message.split_at_mut(8);
                place.copy_from_slice(&(at + done).to_le_bytes());
                let read = match piece {
                    None => {
                        let begins = head.iter().skip(done as usize);
                        part.iter_mut()
                            .zip(begins)
                            .for_each(|(to, from)| *to = *from);
                        true
                    }
                    Some(rows) => self.source.read(rows.offset + done, part),
                };
                if !read || !self.put(wire, file, message) {
                    return false;
                }
                done += count as u64;
            }
            at += length;
            true
        })
    }

    /// Whether all ranks' data are in the file, which then has its name: all ranks hear the same.
    pub fn agree(&mut self, wire: &mut impl Wire) -> bool {
        if self.number == NO_FILE {
            return false;
        }
        let done = if let Some(parent) = wire.parent() {
            self.receive_words(wire, parent) == Some([1])
        } else {
            let (part, last) = (self.path(), self.source.directory().join(MERGED_NAME));
            let alone = wire.children().is_empty();
            let done = self.whole && give_name(&part, &last, alone);
            if !done {
                let _ = std::fs::remove_file(part);
            }
            done
        };
        for child in wire.children().into_iter().rev() {
            let message = bytes([u64::from(done)]);
            self.send(wire, child, message.as_flattened());
        }
        done
    }
}
