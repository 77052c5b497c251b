//! Collectives as messages, for formats that have no collectives, or only those of all ranks.
//!
//! A blocking collective is the messages of a common algorithm: dissemination for barriers, reductions to all and
//! all-gather (Hensgen, Finkel, Manber 1988; Bruck et al. 1997), pairwise exchange for all-to-all and reduce-scatter,
//! binomial trees with a root, recursive doubling for scans. A nonblocking collective has no rounds in which its rank
//! is busy, so it is one message from each member to each member that needs it.
//!
//! Members are numbers within the communicator. What one member sends, the other receives in the same round of
//! messages between both, with the same length.

use crate::error::ExportError;
use headwater_simulate::Kind;

/// Messages that a member sends and receives at the same time: the other member, and bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Sent.
    pub sends: Vec<(u32, u64)>,
    /// Received.
    pub receives: Vec<(u32, u64)>,
}

impl Round {
    fn both(to: u32, from: u32, bytes: u64) -> Self {
        Self {
            sends: vec![(to, bytes)],
            receives: vec![(from, bytes)],
        }
    }

    fn send(to: u32, bytes: u64) -> Self {
        Self {
            sends: vec![(to, bytes)],
            ..Self::default()
        }
    }

    fn receive(from: u32, bytes: u64) -> Self {
        Self {
            receives: vec![(from, bytes)],
            ..Self::default()
        }
    }
}

/// A collective as one member sees it.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// What it does.
    pub kind: Kind,
    /// Members of the communicator.
    pub members: u32,
    /// This member.
    pub me: u32,
    /// The root, where there is one.
    pub root: u32,
    /// Length as of [`Kind`].
    pub bytes: u64,
}

impl Collective {
    /// That of `rank`, of the world's ranks `members`; `root` is one of the world, too.
    ///
    /// # Errors
    /// The rank is no member.
    pub fn of(
        kind: Kind,
        members: &[u32],
        rank: u32,
        root: u32,
        bytes: u64,
    ) -> Result<Self, ExportError> {
        let index = |of: u32| members.iter().position(|m| *m == of).map(|i| i as u32);
        Ok(Self {
            kind,
            members: members.len() as u32,
            me: index(rank).ok_or(ExportError::NoMember(rank))?,
            root: index(root).unwrap_or(0),
            bytes,
        })
    }

    /// The messages of this member in a blocking collective, one round after the other.
    pub fn rounds(&self) -> Vec<Round> {
        let (n, me, bytes) = (self.members, self.me, self.bytes);
        if n < 2 {
            return Vec::new();
        }
        let after = |by: u32| ((u64::from(me) + u64::from(by)) % u64::from(n)) as u32;
        let before = |by: u32| after(n - by);
        let doubling = || distances(n);
        match self.kind {
            Kind::Barrier | Kind::AllReduce => doubling()
                .map(|d| Round::both(after(d), before(d), bytes))
                .collect(),
            Kind::AllGather => doubling()
                .map(|d| Round::both(after(d), before(d), times(bytes, d.min(n - d))))
                .collect(),
            Kind::AllToAll => (1..n)
                .map(|d| Round::both(after(d), before(d), bytes))
                .collect(),
            Kind::ReduceScatter => (1..n)
                .map(|d| Round::both(after(d), before(d), bytes / u64::from(n)))
                .collect(),
            Kind::Scan => doubling()
                .map(|d| Round {
                    sends: (me < n - d)
                        .then_some((me + d, bytes))
                        .into_iter()
                        .collect(),
                    receives: me
                        .checked_sub(d)
                        .map(|from| (from, bytes))
                        .into_iter()
                        .collect(),
                })
                .collect(),
            Kind::Broadcast | Kind::Scatter => self.down(),
            Kind::Reduce | Kind::Gather => {
                let mut up = self.down();
                up.reverse();
                for round in &mut up {
                    std::mem::swap(&mut round.sends, &mut round.receives);
                }
                up
            }
        }
    }

    /// From the root down a binomial tree.
    fn down(&self) -> Vec<Round> {
        let n = self.members;
        let own = (self.me + (n - self.root)) % n;
        let member =
            |relative: u32| ((u64::from(relative) + u64::from(self.root)) % u64::from(n)) as u32;
        // How much goes to a member whose subtree has members up to this distance.
        let length = |relative: u32, reach: u32| match self.kind {
            Kind::Scatter | Kind::Gather => times(self.bytes, reach.min(n - relative)),
            _ => self.bytes,
        };
        let reach = match own {
            0 => n.next_power_of_two(),
            _ => 1 << own.trailing_zeros(),
        };
        let mut rounds = Vec::new();
        if own > 0 {
            rounds.push(Round::receive(member(own - reach), length(own, reach)));
        }
        let mut below = reach / 2;
        while below > 0 {
            if let Some(child) = own.checked_add(below).filter(|c| *c < n) {
                rounds.push(Round::send(member(child), length(child, below)));
            }
            below /= 2;
        }
        rounds
    }

    /// The messages of this member in a nonblocking collective.
    pub fn at_once(&self) -> Round {
        let me = self.me;
        let part = match self.kind {
            Kind::ReduceScatter => self.bytes / u64::from(self.members.max(1)),
            _ => self.bytes,
        };
        let some = |wanted: &dyn Fn(u32) -> bool| -> Vec<(u32, u64)> {
            let others = (0..self.members).filter(|m| *m != me && wanted(*m));
            others.map(|m| (m, part)).collect()
        };
        let is_root = me == self.root;
        let root = |m: u32| m == self.root;
        let (sends, receives) = match self.kind {
            Kind::Broadcast | Kind::Scatter if is_root => (some(&|_| true), Vec::new()),
            Kind::Broadcast | Kind::Scatter => (Vec::new(), some(&root)),
            Kind::Reduce | Kind::Gather if is_root => (Vec::new(), some(&|_| true)),
            Kind::Reduce | Kind::Gather => (some(&root), Vec::new()),
            Kind::Scan => (some(&|m| m > me), some(&|m| m < me)),
            _ => (some(&|_| true), some(&|_| true)),
        };
        Round { sends, receives }
    }
}

fn times(bytes: u64, n: u32) -> u64 {
    bytes.saturating_mul(u64::from(n))
}

/// 1, 2, 4, … below `n`.
fn distances(n: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS).map(|k| 1 << k).take_while(move |d| *d < n)
}

/// In place of a tag: the messages of a collective.
pub const COLLECTIVE: i32 = i32::MIN;

/// What schedules and replays do with synchronous sends.
pub const SYNCHRONOUS: &str =
    "synchronous sends are written as sends, which wait for their receive only above the threshold";
/// And with probes.
pub const PROBES: &str = "probes are left out; the receive after each one waits instead";

/// Sentences about calls that are written as something else, with their numbers.
pub fn counted(all: &[(u64, &str)]) -> Vec<String> {
    let some = all.iter().filter(|(n, _)| *n > 0);
    some.map(|(n, what)| format!("{what} ({n} calls)"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, VecDeque};

    /// Bytes, and whom its sender has heard of.
    type Letter = (u64, Vec<bool>);

    const KINDS: [Kind; 10] = [
        Kind::Barrier,
        Kind::AllReduce,
        Kind::AllGather,
        Kind::AllToAll,
        Kind::ReduceScatter,
        Kind::Broadcast,
        Kind::Scatter,
        Kind::Reduce,
        Kind::Gather,
        Kind::Scan,
    ];

    fn needs(kind: Kind, root: u32, me: u32, other: u32) -> bool {
        match kind {
            Kind::Broadcast | Kind::Scatter => other == root,
            Kind::Reduce | Kind::Gather => me == root,
            Kind::Scan => other < me,
            _ => true,
        }
    }

    /// Lets all members run their rounds, and returns whom each one has heard of at its end.
    fn run(all: &[Vec<Round>]) -> Vec<Vec<bool>> {
        let n = all.len();
        let mut known: Vec<Vec<bool>> = (0..n).map(|m| (0..n).map(|o| o == m).collect()).collect();
        let mut mail: BTreeMap<(usize, usize), VecDeque<Letter>> = BTreeMap::new();
        let (mut at, mut sent) = (vec![0; n], vec![false; n]);
        loop {
            let mut moved = false;
            for m in 0..n {
                let Some(round) = all[m].get(at[m]) else {
                    continue;
                };
                if !std::mem::replace(&mut sent[m], true) {
                    for (to, bytes) in &round.sends {
                        let letter = (*bytes, known[m].clone());
                        mail.entry((m, *to as usize)).or_default().push_back(letter);
                    }
                }
                let is_there = |from: &u32| {
                    mail.get(&(*from as usize, m))
                        .is_some_and(|q| !q.is_empty())
                };
                if !round.receives.iter().all(|(from, _)| is_there(from)) {
                    continue;
                }
                for (from, bytes) in &round.receives {
                    let letter = mail
                        .get_mut(&(*from as usize, m))
                        .and_then(|q| q.pop_front());
                    let (length, heard) = letter.expect("a message");
                    assert_eq!(length, *bytes, "both ends agree");
                    for (own, other) in known[m].iter_mut().zip(heard) {
                        *own |= other;
                    }
                }
                (at[m], sent[m], moved) = (at[m] + 1, false, true);
            }
            if !moved {
                break;
            }
        }
        assert!(
            (0..n).all(|m| at[m] == all[m].len()),
            "nobody waits for ever"
        );
        assert!(
            mail.values().all(|q| q.is_empty()),
            "every message is received"
        );
        known
    }

    #[test]
    fn messages_match_and_all_hear_of_whom_they_need() {
        for members in 1..=9 {
            for root in 0..members {
                for kind in KINDS {
                    let of = |me| Collective {
                        kind,
                        members,
                        me,
                        root,
                        bytes: 720_720,
                    };
                    let blocking: Vec<_> = (0..members).map(|me| of(me).rounds()).collect();
                    let at_once: Vec<_> = (0..members).map(|me| vec![of(me).at_once()]).collect();
                    for known in [run(&blocking), run(&at_once)] {
                        for me in 0..members {
                            for other in 0..members {
                                let heard = known[me as usize][other as usize];
                                let needed = needs(kind, root, me, other);
                                assert!(heard || !needed, "{kind:?} of {members}: {me} of {other}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_scatter_sends_each_member_its_part() {
        let of = |me| Collective {
            kind: Kind::Scatter,
            members: 6,
            me,
            root: 2,
            bytes: 10,
        };
        let sent = |me| -> u64 {
            of(me)
                .rounds()
                .iter()
                .flat_map(|r| &r.sends)
                .map(|(_, b)| b)
                .sum()
        };
        assert_eq!(sent(2), 50, "all parts but its own leave the root");
    }
}
