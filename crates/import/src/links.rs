//! Identifies messages and collectives: numbers that are the same at all of their ends.
//!
//! As in the collector, both ends count the messages of a stream (communicator, source, destination, tag) in the order
//! in which MPI matches them: sends as they start, receives as they are posted. What is posted is known only when it is
//! completed, so numbers are given once nothing is open: until then a link represents itself.

use headwater_model::hash::mix;
use rustc_hash::FxHashMap;

/// Ends of messages that an import keeps of all ranks, at the most; the reader of runs keeps as many.
const MOST_ENDS: usize = 1 << 23;

/// Links that are held before they get their numbers.
pub const MANY_LINKS: usize = 1 << 16;

/// Two numbers to one.
pub fn mix2(a: u64, b: u64) -> u64 {
    mix(mix(a).rotate_left(23) ^ b)
}

/// A link without a number yet: its place in [`Links`].
pub type LinkIx = u32;

/// In place of a moment.
const KNOWN: u64 = u64::MAX;

/// Links of one rank, each with its stream, and the moment at which it takes its place in that.
#[derive(Default)]
pub struct Links {
    /// Stream, moment, and pauses until then; a moment of [`KNOWN`] says that the stream is the number.
    open: Vec<(u64, u64, u64)>,
    streams: FxHashMap<u64, u64>,
    /// How often recording was off until now.
    pauses: u64,
}

impl Links {
    /// A link that takes its place at `ns`; its stream is not known before it is [`completed`](Self::completed).
    pub fn post(&mut self, ns: u64) -> LinkIx {
        self.open.push((0, ns, self.pauses));
        (self.open.len() - 1) as LinkIx
    }

    /// A link whose number is known.
    pub fn known(&mut self, id: u64) -> LinkIx {
        self.open.push((id | 1, KNOWN, 0));
        (self.open.len() - 1) as LinkIx
    }

    /// Tells the stream of a link.
    pub fn completed(&mut self, link: LinkIx, stream: u64) {
        if let Some(slot) = self.open.get_mut(link as usize) {
            slot.0 = match slot.2 {
                0 => stream | 1,
                pauses => mix2(stream, pauses) | 1,
            };
        }
    }

    /// Recording goes on behind a pause. What was sent or received meanwhile nobody counted, so counting begins anew.
    pub fn paused(&mut self) {
        self.pauses += 1;
    }

    /// Links that have no number yet.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Gives all links their numbers, in their order; 0 for those that were never completed.
    pub fn settle(&mut self) -> Vec<u64> {
        let mut order: Vec<usize> = (0..self.open.len()).collect();
        let open = std::mem::take(&mut self.open);
        // Equal moments stay in the order in which they came.
        order.sort_by_key(|i| open.get(*i).copied());
        let mut ids = vec![0; open.len()];
        for i in order {
            let Some((stream, at, _)) = open.get(i).copied().filter(|l| l.0 != 0) else {
                continue;
            };
            let Some(id) = ids.get_mut(i) else { continue };
            if at == KNOWN {
                *id = stream;
                continue;
            }
            let n = self.streams.entry(stream).or_default();
            *n += 1;
            *id = mix2(stream, *n) | 1;
        }
        ids
    }
}

/// The stream of messages from one rank to another.
pub fn messages(comm: u64, source: u32, dest: u32, tag: u32) -> u64 {
    mix2(
        mix2(comm, u64::from(source) << 32 | u64::from(dest)),
        u64::from(tag),
    )
}

/// The stream of a communicator's collectives.
pub fn collectives(comm: u64) -> u64 {
    mix2(comm ^ 0x636f_6c6c, 0)
}

/// Which messages are kept, of all ranks alike: so many that there is room for them.
pub struct Sampling {
    limit: u64,
    kept: usize,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            limit: u64::MAX,
            kept: 0,
        }
    }
}

impl Sampling {
    /// Whether the message with this number is kept.
    pub fn keeps(&mut self, id: u64) -> bool {
        if id == 0 || mix(id) > self.limit {
            return false;
        }
        self.kept += 1;
        // Those kept so far are halved when they are read.
        if self.kept > MOST_ENDS && self.limit > 1 {
            (self.limit, self.kept) = (self.limit / 2, self.kept / 2);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receives_are_numbered_as_they_were_posted() {
        let stream = messages(1, 0, 1, 5);
        let mut sender = Links::default();
        for at in [10, 20, 30] {
            let link = sender.post(at);
            sender.completed(link, stream);
        }
        let sent = sender.settle();
        let mut receiver = Links::default();
        let (first, second) = (receiver.post(1), receiver.post(2));
        let cancelled = receiver.post(2);
        // The second is completed before the first.
        receiver.completed(second, stream);
        receiver.completed(first, stream);
        let received = receiver.settle();
        assert_eq!(received[first as usize], sent[0]);
        assert_eq!(received[second as usize], sent[1]);
        assert_eq!(received[cancelled as usize], 0);
        let later = receiver.post(9);
        receiver.completed(later, stream);
        assert_eq!(receiver.settle(), [sent[2]]);
    }

    #[test]
    fn ends_are_kept_or_not_by_their_number_alone() {
        let mut sampling = Sampling::default();
        let n = 3 * MOST_ENDS as u64;
        let kept = (1..=n).filter(|i| sampling.keeps(mix(*i) | 1)).count();
        assert!(kept > MOST_ENDS && kept < 2 * MOST_ENDS, "{kept}");
        assert!(!sampling.keeps(0));
    }
}
