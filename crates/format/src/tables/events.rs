//! Events of windows as they are stored: what follows from the rows before is not written again.
//!
//! A call mostly starts when the computation after the call before has ended, and a message or collective mostly has the
//! number of the last one of its kind, context and peer, plus as many as an iteration has. What is stored is how far a row
//! is from that, which is the same few numbers again and again.

use super::columns::{Column, StoredEvent, Table, Values};
use headwater_model::run::{CtxId, Event, EventKind};
use rustc_hash::FxHashMap;

/// Name of the table.
pub(super) const NAME: &str = StoredEvent::NAME;

/// Whose events follow each other: window, rank and thread.
type Of = (u32, u32, u16);

/// What follows for the next row from the rows of one window, rank and thread.
#[derive(Default)]
struct Before {
    of: Option<Of>,
    /// Start of the row before, ns from the window's begin.
    enter: u64,
    /// End of the call before.
    end: u64,
    /// The last link of each kind, context and peer.
    links: FxHashMap<(u8, CtxId, u32), u32>,
}

/// What a row has in common with a stored one.
struct Call {
    first_of_call: bool,
    busy_ns: u64,
    mpi_ns: u64,
}

impl Before {
    /// Forgets the rows before where the next one is of other `of`.
    fn turn_to(&mut self, of: Of) {
        if self.of != Some(of) {
            (self.of, self.enter, self.end) = (Some(of), 0, 0);
            self.links.clear();
        }
    }

    /// When a call starts if nothing keeps its rank from it.
    fn expected(&self, call: &Call, is_first: bool) -> u64 {
        match (is_first, call.first_of_call) {
            (true, _) => 0,
            (false, true) => self.end.saturating_add(call.busy_ns),
            (false, false) => self.enter,
        }
    }

    fn went_on(&mut self, call: &Call, enter: u64) {
        self.enter = enter;
        if call.first_of_call {
            self.end = enter.saturating_add(call.mpi_ns);
        }
    }
}

/// Events as they are written.
pub(super) fn store(events: &[Event]) -> Vec<StoredEvent> {
    let mut before = Before::default();
    let one = |e: &Event| {
        let of = (e.window, e.rank, e.thread);
        let is_first = before.of != Some(of);
        before.turn_to(of);
        let call = Call {
            first_of_call: e.first_of_call,
            busy_ns: e.busy_ns,
            mpi_ns: e.mpi_ns,
        };
        let enter = e.enter_ns.max(before.enter);
        let idle = i128::from(enter) - i128::from(before.expected(&call, is_first));
        before.went_on(&call, enter);
        let link_step = (e.link != 0).then(|| {
            let last = before.links.entry((e.kind as u8, e.ctx, e.peer));
            let last = last.or_insert(0);
            let step = i64::from(e.link) - i64::from(*last);
            *last = e.link;
            step
        });
        StoredEvent {
            window: e.window,
            rank: e.rank,
            thread: e.thread,
            ctx: e.ctx,
            func: e.func,
            kind: e.kind as u8,
            first_of_call: e.first_of_call,
            link_step,
            peer: e.peer,
            bytes: e.bytes,
            busy_ns: e.busy_ns,
            idle_ns: i64::try_from(idle).ok(),
            mpi_ns: e.mpi_ns,
        }
    };
    events.iter().map(one).collect()
}

/// Events as they were before they were written. Numbers out of range come from a damaged file; they end at the range.
pub(super) fn restore(stored: &[StoredEvent]) -> Vec<Event> {
    let mut before = Before::default();
    let one = |s: &StoredEvent| {
        let of = (s.window, s.rank, s.thread);
        let is_first = before.of != Some(of);
        before.turn_to(of);
        let call = Call {
            first_of_call: s.first_of_call,
            busy_ns: s.busy_ns,
            mpi_ns: s.mpi_ns,
        };
        let expected = before.expected(&call, is_first);
        let enter = expected.saturating_add_signed(s.idle_ns.unwrap_or(0));
        let enter = enter.max(before.enter);
        before.went_on(&call, enter);
        let link = s.link_step.map_or(0, |step| {
            let last = before.links.entry((s.kind, s.ctx, s.peer)).or_insert(0);
            let number = i64::from(*last).saturating_add(step);
            *last = u32::try_from(number).unwrap_or(0);
            *last
        });
        event(s, link, enter)
    };
    stored.iter().map(one).collect()
}

/// The columns of formats 1 and 2, in which the link is a number (here in `link_step`), and the start is counted from the
/// start of the row before (here in `idle_ns`).
pub(super) fn old_columns() -> Vec<Column<StoredEvent>> {
    let mut all = StoredEvent::columns();
    for column in &mut all {
        let (name, of): (&str, fn(&mut StoredEvent) -> &mut Option<i64>) = match &*column.name {
            "link_step" => ("link", |row| &mut row.link_step),
            "idle_ns" => ("enter_ns", |row| &mut row.idle_ns),
            _ => continue,
        };
        column.name = name.to_string();
        column.values = Values::Unsigned(
            Box::new(move |row| (*of(&mut row.clone())).and_then(|v| u64::try_from(v).ok())),
            Box::new(move |row, value| *of(row) = value.and_then(|v| i64::try_from(v).ok())),
        );
    }
    all
}

/// Events of formats 1 and 2.
pub(super) fn restore_old(stored: &[StoredEvent]) -> Vec<Event> {
    let mut before = Before::default();
    let one = |s: &StoredEvent| {
        before.turn_to((s.window, s.rank, s.thread));
        before.enter = before.enter.saturating_add_signed(s.idle_ns.unwrap_or(0));
        let link = s.link_step.and_then(|link| u32::try_from(link).ok());
        event(s, link.unwrap_or(0), before.enter)
    };
    stored.iter().map(one).collect()
}

fn event(s: &StoredEvent, link: u32, enter_ns: u64) -> Event {
    Event {
        window: s.window,
        rank: s.rank,
        thread: s.thread,
        ctx: s.ctx,
        func: s.func,
        kind: EventKind::from_code(s.kind).unwrap_or_default(),
        first_of_call: s.first_of_call,
        link,
        peer: s.peer,
        bytes: s.bytes,
        busy_ns: s.busy_ns,
        enter_ns,
        mpi_ns: s.mpi_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_event() -> impl Strategy<Value = Event> {
        let who = (0..3u32, 0..3u32, 0..2u16, 0..3u32, 0..7u8);
        let what = (any::<bool>(), 0..9u32, 0..4u32);
        let when = (0..1u64 << 40, 0..1u64 << 40, 0..1u64 << 40);
        (who, what, when).prop_map(|(who, what, when)| Event {
            window: who.0,
            rank: who.1,
            thread: who.2,
            ctx: CtxId(who.3),
            kind: EventKind::from_code(who.4).unwrap_or_default(),
            first_of_call: what.0,
            link: what.1,
            peer: what.2,
            busy_ns: when.0,
            enter_ns: when.1,
            mpi_ns: when.2,
            ..Event::default()
        })
    }

    proptest! {
        #[test]
        fn what_is_stored_comes_back(mut events in prop::collection::vec(any_event(), 0..40)) {
            events.sort_by_key(|e| (e.window, e.rank, e.thread, e.enter_ns));
            prop_assert_eq!(restore(&store(&events)), events);
        }
    }

    #[test]
    fn an_iteration_again_and_again_is_the_same_few_numbers() {
        let event = |i: u64| Event {
            ctx: CtxId((i % 2) as u32),
            kind: EventKind::Send,
            first_of_call: true,
            link: i as u32 + 1,
            busy_ns: 500,
            enter_ns: 500 + i * 1500,
            mpi_ns: 1000,
            ..Event::default()
        };
        let events: Vec<Event> = (0..20).map(event).collect();
        let stored = store(&events);
        let later = stored.iter().skip(2);
        assert!(later.clone().all(|s| s.idle_ns == Some(0)));
        assert!(later.clone().all(|s| s.link_step == Some(2)));
        assert_eq!(restore(&stored), events);
    }

    #[test]
    fn damage_ends_at_the_range() {
        let bad = StoredEvent {
            first_of_call: true,
            link_step: Some(i64::MIN),
            busy_ns: u64::MAX,
            idle_ns: Some(i64::MIN),
            mpi_ns: u64::MAX,
            ..StoredEvent::default()
        };
        let events = restore(&[bad.clone(), bad.clone(), bad]);
        assert!(events.iter().all(|e| e.link == 0));
    }
}
