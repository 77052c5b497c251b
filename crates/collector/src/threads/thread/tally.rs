//! Counts the time of a thread: segments of computation, calls, series of idle polls, and the messages that are
//! recorded for joining with their other ends.

use super::{Call, MANY_CALLS, MESSAGES, Spent, Thread};
use crate::threads::polls::Times;
use headwater_format::spool::layout::{CallRow, MessageRow, SegmentRow};
use headwater_model::hash::{mix, mix2};
use headwater_model::run::tag;
use headwater_mpi_call::record::{Link, Params};

impl Thread {
    /// Counts computation up to a call in `ctx` that was done `count` times in all.
    #[inline]
    pub(super) fn count_segment(&mut self, ctx: u32, count: u64, wall: u64, spent: Spent) {
        let (from, to) = (self.last_ctx, ctx);
        let hash = mix(u64::from(from) << 32 | u64::from(to));
        // A division takes longer than all else here.
        let busy = match count {
            0 | 1 => spent.cpu + spent.blocked,
            _ => (spent.cpu + spent.blocked) / count,
        };
        let row = self.segments.find_or_push(
            hash,
            |r| r.from == from && r.to == to,
            || SegmentRow {
                from,
                to,
                ..Default::default()
            },
        );
        if let Some(row) = row.and_then(|r| self.segments.get(r)) {
            if busy > row.max_busy_ns {
                (row.max_busy_ns, row.max_at) = (busy, row.count);
            }
            row.count += count;
            row.wall_ns += wall;
            row.cpu_ns += spent.cpu;
            row.runq_ns += spent.runq;
            row.blocked_ns += spent.blocked;
        }
        self.totals.runq_ns += spent.runq;
    }

    /// Counts calls with the same parameters.
    #[inline]
    pub(super) fn count_calls(&mut self, call: &Call, params: &Params, times: Times, spent: Spent) {
        let size_class = u64::BITS - params.bytes.leading_zeros();
        let key = u64::from(call.func) << 48
            | u64::from(params.comm) << 32
            | u64::from(params.peer as u32);
        let mut wanted = CallRow {
            ctx: call.ctx,
            func: call.func,
            comm: params.comm,
            peer: params.peer,
            tag: params.tag,
            size_class,
            ..Default::default()
        };
        let hash = |r: &CallRow| {
            mix2(
                key,
                u64::from(r.ctx) << 32 | u64::from(r.tag as u32) ^ u64::from(size_class) << 24,
            )
        };
        let alike = |a: &CallRow, b: &CallRow| {
            a.ctx == b.ctx
                && a.func == b.func
                && a.comm == b.comm
                && a.peer == b.peer
                && a.tag == b.tag
                && a.size_class == b.size_class
        };
        let crowded = self.calls.len() >= MANY_CALLS && wanted.tag != tag::NONE;
        if crowded && !self.calls.has(hash(&wanted), |r| alike(r, &wanted)) {
            wanted.tag = tag::MANY;
        }
        let row = self
            .calls
            .find_or_push(hash(&wanted), |r| alike(r, &wanted), || wanted);
        if let Some(row) = row.and_then(|r| self.calls.get(r)) {
            row.count += times.count;
            row.bytes += params.bytes * times.count;
            row.wall_ns += times.wall;
            row.cpu_ns += spent.cpu;
            row.runq_ns += spent.runq;
            row.max_wall_ns = row.max_wall_ns.max(times.longest);
        }
        self.totals.mpi_ns += times.wall;
        self.totals.runq_ns += spent.runq;
    }

    /// Counts what a series of idle polls has gathered, as one event.
    #[cold]
    pub(super) fn count_polls(&mut self) {
        let polls = self.polls;
        self.polls.times = Times::default();
        let on_core = |cpu| Spent {
            cpu,
            ..Default::default()
        };
        self.count_segment(
            polls.call.ctx,
            polls.times.count,
            polls.between,
            on_core(polls.between),
        );
        self.count_calls(
            &polls.call,
            &polls.params,
            polls.times,
            on_core(polls.times.wall),
        );
        self.windows.record(
            polls.call.ctx,
            polls.call.func,
            polls.between,
            polls.call.enter_ns,
            polls.times.wall,
            &[],
        );
    }

    /// Records a message or collective for joining with its other end. Whether it is recorded depends on its id
    /// alone, so both ends agree. When the table is full, the limit is halved.
    #[inline]
    pub(super) fn sample_message(
        &mut self,
        link: &Link,
        ctx: u32,
        func: u16,
        comm: u16,
        enter: u64,
        leave: u64,
    ) {
        if mix(link.id) > self.message_limit {
            return;
        }
        let (func, comm) = link.posted_by.unwrap_or((func, comm));
        let row = MessageRow {
            id: link.id,
            ctx,
            post_ctx: link.post_ctx,
            peer: link.peer,
            func,
            comm,
            kind: u32::from(link.kind),
            zero: 0,
            enter_ns: enter,
            leave_ns: leave,
            post_ns: link.post_ns,
            bytes: link.bytes,
        };
        if self.messages.len() == MESSAGES {
            self.thin_messages();
        }
        self.messages.push(row);
    }

    #[cold]
    fn thin_messages(&mut self) {
        while self.messages.len() > MESSAGES / 2 && self.message_limit > 1 {
            self.message_limit /= 2;
            let mut kept = 0;
            for i in 0..self.messages.len() {
                let Some(row) = self.messages.get(i).copied() else {
                    break;
                };
                if mix(row.id) <= self.message_limit {
                    if let Some(place) = self.messages.get(kept) {
                        *place = row;
                    }
                    kept += 1;
                }
            }
            self.messages.truncate(kept);
        }
    }
}
