//! The call that a thread is in, in a file that stays whatever ends the process.
//!
//! *Comes in*: the bytes of such a file, which the recorder maps. It has a head, and an entry for each of the calls that
//! were made lately; the head says which of them is in progress. So a call costs the recorder one store, and another one
//! when it returns. *Goes out*: a [`Trace`] without events, which has the call in [`Trace::open`]. The bytes may be
//! anything: what does not fit is no call.

use crate::ranks::Ranks;
use crate::trace::{Frame, Kind, OpenCall, Signature, Trace};
use std::mem::offset_of;

/// What the name of such a file ends with, behind that of the thread's trace.
pub const ENDING: &str = ".call";

/// First bytes of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"HWCALL\x02\x00");

/// So many frames of a call path are written, the innermost ones.
pub const MOST_FRAMES: usize = 16;

/// The largest file that is read, bytes.
pub const LARGEST: u64 = 1 << 20;

/// Added to a kind: the value is known only after the call.
const AFTER: u8 = 128;

const LONGEST_NAME: usize = 48;
const MOST_VALUES: usize = 16;

/// The head.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Head {
    /// [`MAGIC`]
    pub magic: u64,
    /// One more than the entry of the call in progress; 0 if there is none.
    pub current: u32,
    /// How many calls the thread has begun, without the bits above 32.
    pub begun: u32,
    /// Rank of the process, and how many there are.
    pub rank: u32,
    /// As above.
    pub size: u32,
    /// The thread.
    pub thread: u32,
    /// Bytes before the first entry, and of each.
    pub entries_at: u32,
    /// As above.
    pub entry_bytes: u32,
    /// Where an entry has the number of its values, a byte.
    pub fields_at: u32,
    /// Where it has the values.
    pub values_at: u32,
    /// Where it has an [`About`].
    pub about_at: u32,
}

impl Head {
    /// [`Self::current`] and [`Self::begun`] are one word of eight bytes. A store of it tells both.
    pub const STATE_AT: usize = offset_of!(Self, current);

    /// This word. The first of the two has the low half, as all machines that the recorder knows are little-endian.
    #[inline]
    pub fn state(current: u32, begun: u32) -> u64 {
        u64::from(begun) << 32 | u64::from(current)
    }
}

const _: () = assert!(
    Head::STATE_AT.is_multiple_of(8) && offset_of!(Head, begun) == Head::STATE_AT + 4,
    "the state is one aligned word"
);

/// What is known about the calls of an entry.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct About {
    /// Identity of the signature; 0 if it is not in the trace.
    pub signature: u64,
    name: [u8; LONGEST_NAME],
    kinds: [u8; MOST_VALUES],
    /// In place of a value that the library decides.
    undecided: i64,
    depth: u64,
    frames: [[u64; 2]; MOST_FRAMES],
}

impl About {
    /// Calls of no function.
    pub const NOTHING: Self = Self {
        signature: 0,
        name: [0; LONGEST_NAME],
        kinds: [0; MOST_VALUES],
        undecided: 0,
        depth: 0,
        frames: [[0; 2]; MOST_FRAMES],
    };

    /// Calls of a function at a call path, outermost frame first. Long names and paths are cut. Of each value there is what
    /// it means, and whether it is known only after the call; until then it is `undecided`.
    pub fn new(
        signature: u64,
        function: &str,
        values: impl Iterator<Item = (Kind, bool)>,
        undecided: i64,
        frames: &[Frame],
    ) -> Self {
        let mut about = Self {
            signature,
            undecided,
            ..Self::NOTHING
        };
        let name = about.name.iter_mut().zip(function.bytes());
        name.for_each(|(place, byte)| *place = byte);
        let all = about.kinds.iter_mut().zip(values);
        all.for_each(|(place, (kind, after))| *place = (kind as u8) | (u8::from(after) * AFTER));
        let innermost = frames.iter().skip(frames.len().saturating_sub(MOST_FRAMES));
        for (place, frame) in about.frames.iter_mut().zip(innermost) {
            *place = [frame.module, frame.offset];
            about.depth += 1;
        }
        about
    }
}

/// Bytes that may end too early.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn from(&self, at: usize) -> Option<Self> {
        self.0.get(at..).map(Self)
    }

    fn word(&self, at: usize) -> Option<u64> {
        let bytes = self.0.get(at..)?.first_chunk()?;
        Some(u64::from_ne_bytes(*bytes))
    }

    fn half(&self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at..)?.first_chunk()?;
        Some(u32::from_ne_bytes(*bytes))
    }
}

/// A trace with the call that the thread is in, and no events; `None` if these are not the bytes of such a file.
pub fn read(bytes: &[u8]) -> Option<Trace> {
    let head = Bytes(bytes);
    let half = |at| head.half(at);
    if head.word(offset_of!(Head, magic))? != MAGIC {
        return None;
    }
    let (rank, size) = (half(offset_of!(Head, rank))?, half(offset_of!(Head, size))?);
    if rank >= size || size > crate::ranks::MOST_RANKS {
        return None;
    }
    let mut trace = Trace::of_rank(rank, size);
    let current = half(offset_of!(Head, current))?;
    let Some(entry) = current.checked_sub(1) else {
        return Some(trace);
    };
    let before = u64::from(entry) * u64::from(half(offset_of!(Head, entry_bytes))?);
    let entry = u64::from(half(offset_of!(Head, entries_at))?) + before;
    let entry = head.from(usize::try_from(entry).ok()?)?;
    let fields_at = half(offset_of!(Head, fields_at))? as usize;
    let fields = usize::from(*entry.0.get(fields_at)?);
    if fields > MOST_VALUES {
        return None;
    }
    let values_at = half(offset_of!(Head, values_at))? as usize;
    let values = (0..fields).map(|i| Some(entry.word(values_at + 8 * i)? as i64));
    let mut values = values.collect::<Option<Vec<i64>>>()?;
    let about = entry.from(half(offset_of!(Head, about_at))? as usize)?;
    let undecided = about.word(offset_of!(About, undecided))? as i64;
    let kinds = about.from(offset_of!(About, kinds))?.0.iter();
    for (value, _) in values
        .iter_mut()
        .zip(kinds)
        .filter(|(_, kind)| **kind & AFTER != 0)
    {
        *value = undecided;
    }
    let (identity, signature) = signature(about, fields)?;
    trace.signatures.insert(identity, signature);
    trace.open.push(OpenCall {
        rank,
        thread: half(offset_of!(Head, thread))?,
        signature: identity,
        values,
        before: half(offset_of!(Head, begun))?.checked_sub(1),
    });
    trace.ranks = Ranks::one(rank);
    Some(trace)
}

fn signature(about: Bytes, fields: usize) -> Option<(u64, Signature)> {
    let name = about.from(offset_of!(About, name))?.0.get(..LONGEST_NAME)?;
    let name = name.split(|byte| *byte == 0).next()?;
    let function = std::str::from_utf8(name).ok()?.to_owned();
    if !function.starts_with("MPI_") || !function.bytes().all(|b| b.is_ascii_graphic()) {
        return None;
    }
    let kinds = about.from(offset_of!(About, kinds))?.0.get(..fields)?;
    let kinds = kinds.iter().map(|kind| match *kind & !AFTER {
        1 => Kind::Peer,
        2 => Kind::Comm,
        3 => Kind::List,
        4 => Kind::Text,
        _ => Kind::Plain,
    });
    let depth = about
        .word(offset_of!(About, depth))?
        .min(MOST_FRAMES as u64) as usize;
    let frame = |i: usize| {
        let at = offset_of!(About, frames) + 16 * i;
        Some(Frame {
            module: about.word(at)?,
            offset: about.word(at + 8)?,
        })
    };
    let frames = (0..depth).map(frame).collect::<Option<Vec<Frame>>>()?;
    let derived = crate::identity::signature_identity(&function, &frames);
    let identity = match about.word(offset_of!(About, signature))? {
        0 => derived,
        known => known,
    };
    let signature = Signature {
        function,
        kinds: kinds.collect(),
        frames,
    };
    Some((identity, signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a file with one entry: a byte for the number of values, the values at 8, the rest behind them.
    fn bytes(current: u32, values: &[i64]) -> Vec<u8> {
        let about = About::new(
            0,
            "MPI_Recv",
            [(Kind::Peer, false), (Kind::Plain, true)].into_iter(),
            -7,
            &[Frame {
                module: 7,
                offset: 9,
            }],
        );
        let numbers = [current, 6, 3, 4, 0, 48, 600, 0, 8, 136];
        let mut all = MAGIC.to_ne_bytes().to_vec();
        all.extend(numbers.iter().flat_map(|n| n.to_ne_bytes()));
        let mut entry = vec![0; 136];
        entry[0] = values.len() as u8;
        for (i, value) in values.iter().enumerate() {
            entry[8 + 8 * i..16 + 8 * i].copy_from_slice(&value.to_ne_bytes());
        }
        entry.extend(about.signature.to_ne_bytes());
        entry.extend(about.name);
        entry.extend(about.kinds);
        entry.extend(about.undecided.to_ne_bytes());
        entry.extend(about.depth.to_ne_bytes());
        entry.extend(
            about
                .frames
                .as_flattened()
                .iter()
                .flat_map(|w| w.to_ne_bytes()),
        );
        all.extend(entry);
        all
    }

    #[test]
    fn the_call_in_progress_is_read() {
        let trace = read(&bytes(1, &[2, 11])).expect("a file");
        let [open] = &*trace.open else {
            panic!("{:?}", trace.open);
        };
        assert_eq!(
            (open.rank, open.thread, &*open.values, open.before),
            (3, 0, &[2, -7][..], Some(5))
        );
        let missing = [3, 5, 6, 5 + (1 << 32)].map(|kept| open.missing(kept));
        assert_eq!(missing, [Some(2), Some(0), None, Some(0)]);
        let signature = &trace.signatures[&open.signature];
        assert_eq!(signature.function, "MPI_Recv");
        assert_eq!(signature.kinds, [Kind::Peer, Kind::Plain]);
        assert_eq!(
            (signature.frames[0].module, signature.frames[0].offset),
            (7, 9)
        );
        assert!(read(&bytes(0, &[2, 11])).expect("a file").open.is_empty());
        // It stays in the trace of the run, in either form.
        for written in [trace.to_bytes(), trace.to_packed_bytes()] {
            assert_eq!(Trace::from_bytes(&written).as_ref(), Ok(&trace));
        }
    }

    #[test]
    fn no_bytes_are_taken_for_a_call_that_is_not_there() {
        let whole = bytes(1, &[2, 11]);
        for length in 0..whole.len() {
            let cut = read(&whole[..length]);
            assert!(cut.is_none_or(|t| Some(t) == read(&whole)), "{length}");
        }
        assert!(
            read(&bytes(2, &[2, 11])).is_none(),
            "there is no such entry"
        );
        for at in 0..whole.len() {
            let mut other = whole.clone();
            other[at] ^= 0xff;
            if let Some(trace) = read(&other) {
                let written = trace.to_bytes();
                assert_eq!(Trace::from_bytes(&written), Ok(trace), "byte {at}");
            }
        }
    }
}
