//! A plain simulation to compare with: all steps in memory, one step of one rank at a time, partners by counting.

use crate::costs;
use crate::network::LogGp;
use crate::op::{Kind, Mode, Needs, Op, Step};
use std::collections::HashMap;

/// A rank and the index of a step.
type At = (usize, usize);

/// Sender, receiver, communicator, tag.
type Channel = (usize, usize, u32, i32);

/// How a step went: when it began and ended, and how long it waited for others, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Went {
    pub enter: f64,
    pub leave: f64,
    pub wait: f64,
}

/// When those came that were needed, when the network was done, and what the processor does then.
type End = (f64, f64, f64);

struct Reference<'a> {
    steps: &'a [Vec<Step>],
    comms: &'a [Vec<usize>],
    net: LogGp,
    sends: HashMap<Channel, Vec<At>>,
    receives: HashMap<Channel, Vec<At>>,
    /// Where each rank calls the collectives of each communicator.
    calls: HashMap<(usize, u32), Vec<usize>>,
    /// When a step was posted, and when its data can enter the network.
    posted: HashMap<At, (f64, f64)>,
}

/// How each step of each rank went.
pub fn reference(steps: &[Vec<Step>], comms: &[Vec<usize>], net: LogGp) -> Vec<Vec<Went>> {
    let mut r = Reference {
        steps,
        comms,
        net,
        sends: HashMap::new(),
        receives: HashMap::new(),
        calls: HashMap::new(),
        posted: HashMap::new(),
    };
    for (rank, list) in steps.iter().enumerate() {
        for (at, step) in list.iter().enumerate() {
            if let Some(channel) = channel(rank, &step.op) {
                match step.op {
                    Op::Send { .. } => r.sends.entry(channel).or_default().push((rank, at)),
                    Op::Recv { .. } => r.receives.entry(channel).or_default().push((rank, at)),
                    _ => {}
                }
            }
            if let Op::Collective { comm, .. } = step.op {
                r.calls.entry((rank, comm)).or_default().push(at);
            }
        }
    }
    let mut went: Vec<Vec<Went>> = vec![Vec::new(); steps.len()];
    let mut now = vec![0.0; steps.len()];
    let mut network = vec![0.0; steps.len()];
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for rank in 0..steps.len() {
            let at = went[rank].len();
            let Some(step) = steps[rank].get(at) else {
                continue;
            };
            let first = !r.posted.contains_key(&(rank, at));
            if first {
                moved = true;
                let mut begin = now[rank];
                r.posted.insert((rank, at), (now[rank], begin));
                match step.op {
                    Op::Compute { seconds } => now[rank] += seconds,
                    Op::Send { bytes, mode, .. } if mode != Mode::Local => {
                        now[rank] += net.overhead;
                        begin = now[rank].max(network[rank]);
                        network[rank] = begin + net.flow(bytes) + net.gap;
                        let when = r.posted[&(rank, at)].0;
                        r.posted.insert((rank, at), (when, begin));
                    }
                    _ => {}
                }
            }
            let what = match step.op {
                Op::Compute { .. } | Op::Nothing | Op::Free { .. } => None,
                Op::Wait { request } => {
                    let posts = |s: &Step| match s.op {
                        Op::Send { request, .. }
                        | Op::Recv { request, .. }
                        | Op::Collective { request, .. } => request,
                        _ => None,
                    };
                    let before = &steps[rank][..at];
                    let index = before.iter().rposition(|s| posts(s) == Some(request));
                    Some(index.expect("it was posted"))
                }
                Op::Send { request, .. }
                | Op::Recv { request, .. }
                | Op::Collective { request, .. } => request.is_none().then_some(at),
                Op::Probe { .. } => Some(at),
            };
            let (since, ready, overhead) = match what {
                None => (0.0, 0.0, 0.0),
                Some(index) => match r.end((rank, index)) {
                    Some(end) => end,
                    None => continue,
                },
            };
            moved = true;
            let leave = now[rank].max(ready) + overhead;
            went[rank].push(Went {
                enter: r.posted[&(rank, at)].0,
                leave,
                wait: (since - now[rank]).max(0.0),
            });
            now[rank] = leave;
        }
    }
    went
}

fn channel(rank: usize, op: &Op) -> Option<Channel> {
    match *op {
        Op::Send { to, tag, comm, .. } => Some((rank, to as usize, comm, tag)),
        Op::Recv {
            from, tag, comm, ..
        }
        | Op::Probe { from, tag, comm } => Some((from as usize, rank, comm, tag)),
        _ => None,
    }
}

impl Reference<'_> {
    /// How an operation ends; `None` while that is not known.
    fn end(&self, at: At) -> Option<End> {
        let (rank, index) = at;
        let op = &self.steps[rank][index].op;
        let nth = |list: &HashMap<Channel, Vec<At>>, channel, n: usize| {
            list.get(&channel).and_then(|l| l.get(n)).copied()
        };
        match *op {
            Op::Send { .. } => {
                let channel = channel(rank, op)?;
                let own = self.sends[&channel].iter().position(|a| *a == at)?;
                if !self.is_rendezvous(op) {
                    return Some((0.0, 0.0, 0.0));
                }
                let receive = nth(&self.receives, channel, own)?;
                let since = self.posted.get(&receive)?.0;
                Some((since, self.exchange(at, receive)?.0, 0.0))
            }
            Op::Recv { .. } => {
                let channel = channel(rank, op)?;
                let own = self.receives[&channel].iter().position(|a| *a == at)?;
                let send = nth(&self.sends, channel, own)?;
                self.arrival(send, Some(at))
            }
            Op::Probe { .. } => {
                let channel = channel(rank, op)?;
                let earlier = self.receives.get(&channel).map_or(0, |l| {
                    l.iter().filter(|(_, receive)| *receive < index).count()
                });
                let (since, ready, _) = self.arrival(nth(&self.sends, channel, earlier)?, None)?;
                Some((since, ready, 0.0))
            }
            Op::Collective { .. } => self.collective(at),
            _ => None,
        }
    }

    fn is_rendezvous(&self, op: &Op) -> bool {
        match *op {
            Op::Send { mode, bytes, .. } => {
                mode == Mode::Synchronous
                    || mode == Mode::Standard && bytes > self.net.rendezvous_above
            }
            _ => false,
        }
    }

    /// When a message is at its receive, or at a probe.
    fn arrival(&self, send: At, receive: Option<At>) -> Option<End> {
        let (when, begin) = *self.posted.get(&send)?;
        let op = &self.steps[send.0][send.1].op;
        let Op::Send { bytes, mode, .. } = *op else {
            return None;
        };
        let net = &self.net;
        if mode == Mode::Local {
            return Some((when, when, 0.0));
        }
        if !self.is_rendezvous(op) {
            return Some((when, begin + net.flow(bytes) + net.latency, net.overhead));
        }
        match receive {
            None => Some((when, when + net.overhead + net.latency, 0.0)),
            Some(receive) => Some((when, self.exchange(send, receive)?.1, net.overhead)),
        }
    }

    /// When a message by rendezvous has left, and when it is there.
    fn exchange(&self, send: At, receive: At) -> Option<(f64, f64)> {
        let (when, begin) = *self.posted.get(&send)?;
        let posted = self.posted.get(&receive)?.0;
        let Op::Send { bytes, .. } = self.steps[send.0][send.1].op else {
            return None;
        };
        let net = &self.net;
        let request = when + net.overhead + net.latency;
        let answer = request.max(posted) + net.latency;
        let sent = answer.max(begin) + net.flow(bytes);
        Some((sent, sent + net.latency))
    }

    fn collective(&self, (rank, index): At) -> Option<End> {
        let Op::Collective {
            comm,
            kind,
            root,
            bytes,
            ..
        } = self.steps[rank][index].op
        else {
            return None;
        };
        let number = self.calls[&(rank, comm)].iter().position(|i| *i == index)?;
        let members = &self.comms[comm as usize];
        let count = members.len() as u32;
        let arrival = |member: usize| -> Option<(f64, u64)> {
            let at = *self.calls.get(&(member, comm))?.get(number)?;
            let Op::Collective { bytes, .. } = self.steps[member][at].op else {
                return None;
            };
            Some((self.posted.get(&(member, at))?.0, bytes))
        };
        let own = members.iter().position(|m| *m == rank)? as u32;
        let of_root = members.iter().position(|m| *m == root as usize);
        let distance = |i: u32| (i + count - of_root.map_or(0, |r| r as u32)) % count;
        let latest = |list: &[(f64, f64)]| {
            let most = list.iter().map(|a| a.1).fold(0.0, f64::max);
            let first = list.iter().find(|a| a.1 == most).map_or(0.0, |a| a.0);
            (first, most)
        };
        let net = &self.net;
        match kind.needs() {
            Needs::All => {
                let all: Option<Vec<(f64, u64)>> = members.iter().map(|m| arrival(*m)).collect();
                let all = all?;
                let last = all.iter().map(|a| a.0).fold(0.0, f64::max);
                let longest = all.iter().map(|a| a.1).max()?;
                let cost = costs::all(net, kind, count, longest);
                Some((last, last + cost, 0.0))
            }
            Needs::Root if distance(own) == 0 => Some((0.0, 0.0, costs::own(net, count, 0))),
            Needs::Root => {
                let (since, bytes) = arrival(root as usize)?;
                let cost = costs::to_or_from_root(net, kind, count, distance(own), bytes);
                Some((since, since + cost, 0.0))
            }
            Needs::RootNeedsAll if distance(own) > 0 => {
                Some((0.0, 0.0, costs::own(net, count, distance(own))))
            }
            Needs::RootNeedsAll => {
                let of = |(i, m): (usize, &usize)| {
                    let (since, bytes) = arrival(*m)?;
                    let far = distance(i as u32);
                    Some((
                        since,
                        since + costs::to_or_from_root(net, kind, count, far, bytes),
                    ))
                };
                let all: Option<Vec<(f64, f64)>> = members.iter().enumerate().map(of).collect();
                let (since, ready) = latest(&all?);
                Some((since, ready, 0.0))
            }
            Needs::Lower => {
                let lower = members[..=own as usize].iter();
                let all: Option<Vec<(f64, f64)>> =
                    lower.map(|m| arrival(*m).map(|a| (a.0, a.0))).collect();
                let (since, _) = latest(&all?);
                Some((since, since + costs::scan(net, own, bytes), 0.0))
            }
        }
    }
}

/// All kinds of collectives.
pub const KINDS: [Kind; 10] = [
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
