//! What a call says after the library has returned.

use crate::args::Args;
use crate::parameters::memo::Memo;
use crate::parameters::plan::Plan;
use crate::parameters::tables::{Handles, Posted, Tables};
use crate::parameters::{LONGEST_LIST, Made, Parameters, Sink, lists};
use headwater_mpi_abi::constants::{ABSENT, NULL, UNKNOWN, common};
use headwater_mpi_abi::{Class, Family, Field, Form, Kind, Length, Mode};

/// A call that has returned.
struct Returned<'a> {
    tables: &'a Tables,
    plan: &'a Plan,
    args: &'a Args,
    /// Which requests it has completed are those of this many indices, if it has a list of them.
    outcount: usize,
}

impl Parameters {
    /// Runs after the call, whose error code is `result`. Then `memo`, with which the call has begun, has the values of the
    /// function's fields. They have no number there if some of them are new.
    #[inline]
    pub fn after(
        &mut self,
        tables: &Tables,
        function: u16,
        args: &Args,
        result: i32,
        sink: &mut dyn Sink,
        memo: &mut Memo,
    ) {
        let Some(plan) = tables.plan(function) else {
            return memo.begin(function, 0);
        };
        if !plan.after.is_empty() || !self.claims.is_empty() {
            let mut call = Returned {
                tables,
                plan,
                args,
                outcount: 0,
            };
            let mut handles = tables.handles();
            if result == 0 {
                self.read_after(&mut call, &mut handles, sink);
            } else {
                self.failed(&call, &mut handles);
            }
            self.release(&mut handles);
        }
        for (i, _) in &plan.after {
            memo.put(*i, self.value_of(*i));
        }
    }

    #[inline]
    fn read_after(&mut self, call: &mut Returned, handles: &mut Handles, sink: &mut dyn Sink) {
        if let Some((i, at)) = call.plan.only_request {
            let request = self.made_request(call, handles, at);
            return self.set(usize::from(i), request);
        }
        if let Some((i, field)) = call.plan.flag {
            let is_set = lists::pointed_int(call.args, field.at) != 0;
            self.set(usize::from(i), i64::from(is_set));
            if !is_set {
                return;
            }
        }
        if call.plan.completes {
            self.complete(call, handles);
        }
        let says_nothing = call.plan.completes && !self.some_wild;
        if says_nothing && call.plan.only_statuses {
            return;
        }
        for (i, field) in &call.plan.after {
            let value = match field.form {
                Form::Status if says_nothing => continue,
                Form::Pointed => self.made(call, handles, field),
                Form::PointedInt => self.number(call, field),
                Form::Ints => self.indices(call, field, sink),
                Form::Status => self.said(call, field, sink),
                _ => continue,
            };
            self.set(usize::from(*i), value);
        }
    }

    /// A number that the library has written.
    fn number(&self, call: &Returned, field: &Field) -> i64 {
        let raw = lists::pointed_int(call.args, field.at);
        let of_fortran = i64::from(call.args.fortran() && field.kind == Kind::Index && raw > 0);
        common(call.tables.library.abi, field.kind, raw - of_fortran)
    }

    /// The number of the request that the call has made.
    #[inline]
    fn made_request(&mut self, call: &Returned, handles: &mut Handles, at: u8) -> i64 {
        let handle = call.args.handle_at(at, 0, &call.tables.library.request);
        // MPICH 4.0 does not report what a request that sends and receives has received.
        let is_silent = call.plan.function.class == Class::SendRecv
            && call.tables.library.abi.family == Family::Mpich;
        let about = Posted {
            persistent: call.plan.function.mode == Mode::Persistent,
            wild: self.wild && !is_silent,
        };
        handles.requests.add(handle, self.thread, None, about)
    }

    /// The number of what the call has made.
    fn made(&mut self, call: &Returned, handles: &mut Handles, field: &Field) -> i64 {
        let kind = field.kind.handle();
        if kind == Kind::Request {
            return self.made_request(call, handles, field.at);
        }
        let handle = call
            .args
            .handle_at(field.at, 0, call.tables.conversion(kind));
        match kind {
            Kind::Comm => made_comm(call, handles, field, handle, &mut self.made_comm),
            _ => {
                let Some(table) = handles.plain(kind).filter(|_| handle != 0) else {
                    return NULL;
                };
                // Such a datatype is the same each time, and is never freed.
                if call.plan.function.name.starts_with("MPI_Type_create_f90")
                    && table.is_known(handle)
                {
                    return table.number(handle);
                }
                let number = table.add(handle, 0, None, ());
                handles.changes += 1;
                number
            }
        }
    }

    /// The list of the requests that the call has completed.
    fn indices(&mut self, call: &Returned, field: &Field, sink: &mut dyn Sink) -> i64 {
        let n = call.outcount;
        if n == 0 || !lists::is_list(call.args, field.at) {
            return ABSENT;
        }
        if !self.room(n) {
            return UNKNOWN;
        }
        self.read_numbers(call.args, field.at, Form::Ints, n);
        if call.args.fortran() {
            self.list.iter_mut().for_each(|i| *i -= 1);
        }
        sink.list(&self.list)
    }

    /// What the statuses of the call say.
    fn said(&mut self, call: &Returned, field: &Field, sink: &mut dyn Sink) -> i64 {
        let address = call.args.raw(field.at);
        let of_status = |i| call.tables.said(call.args, address, i, field.kind);
        if field.kind.is_list() {
            if !self.done.contains(&true) {
                return ABSENT;
            }
            if !self.room(self.done.len()) {
                return UNKNOWN;
            }
            let each = self.done.iter().enumerate();
            let values = each.map(|(i, says)| if *says { of_status(i) } else { ABSENT });
            self.list.extend(values);
            return sink.list(&self.list);
        }
        let probes = call.plan.probes && field.kind == Kind::Received;
        let says = match call.plan.completes {
            true => self.done.first().copied().unwrap_or(false),
            false => self.wild || probes,
        };
        if says { of_status(0) } else { ABSENT }
    }

    /// Finishes the requests that the call has completed.
    #[inline]
    fn complete(&mut self, call: &mut Returned, handles: &mut Handles) {
        let base = i64::from(call.args.fortran());
        if let Some((n, list)) = call.plan.indices {
            let n = usize::try_from(lists::pointed_int(call.args, n)).unwrap_or(0);
            call.outcount = n.min(self.claims.len()).min(LONGEST_LIST);
            for i in 0..call.outcount {
                let which = i64::from(call.args.int_at(list, i)) - base;
                self.finish(handles, which);
            }
        } else if let Some(index) = call.plan.index {
            let which = lists::pointed_int(call.args, index) - base;
            self.finish(handles, which);
        } else {
            for which in 0..self.claims.len() {
                self.finish(handles, which as i64);
            }
        }
    }

    /// Finishes the request of an index.
    #[inline]
    fn finish(&mut self, handles: &mut Handles, which: i64) {
        let place = usize::try_from(which)
            .ok()
            .and_then(|w| self.claims.get_mut(w));
        let Some(place) = place else { return };
        let about = place.map(|c| c.about).unwrap_or_default();
        if !about.persistent
            && let Some(claim) = place.take()
        {
            handles.requests.finish(&claim);
        }
        if !self.some_wild {
            return;
        }
        if self.done.len() < self.done.capacity() || self.done.try_reserve(1).is_ok() {
            self.done.push(about.wild);
        } else {
            self.lost = true;
        }
    }

    /// The call has failed. Requests that it has completed nevertheless are null now.
    #[cold]
    fn failed(&mut self, call: &Returned, handles: &mut Handles) {
        if !call.plan.completes {
            return;
        }
        let mut all = call.plan.before.iter().map(|(_, s)| s.field);
        let requests = all.find(|f| matches!(f.kind, Kind::Request | Kind::Requests));
        let Some(at) = requests.map(|f| f.at) else {
            return;
        };
        for (i, place) in self.claims.iter_mut().enumerate() {
            let handle = call.args.handle_at(at, i, &call.tables.library.request);
            if handles.requests.predefined(handle) == Some(NULL)
                && let Some(claim) = place.take()
            {
                handles.requests.finish(&claim);
            }
        }
    }

    /// Makes the requests that were not completed known again, the first one last, so that it is first again.
    #[inline]
    fn release(&mut self, handles: &mut Handles) {
        for claim in self.claims.iter().rev().flatten() {
            handles.requests.release(claim);
        }
    }
}

/// The number of a communicator that the call has made. Calls that return none count, too: so the numbers are the same
/// on ranks that are members and on others.
fn made_comm(
    call: &Returned,
    handles: &mut Handles,
    field: &Field,
    handle: u64,
    made: &mut Option<Made>,
) -> i64 {
    // The communicator of the parents is the same each time.
    let asked = field.name == "parent";
    if asked && handles.comms.is_known(handle) {
        return handles.comms.number(handle);
    }
    handles.changes += 1;
    let number = handles.next_comm;
    if !asked || handle != 0 && handles.comms.predefined(handle) != Some(NULL) {
        handles.next_comm += 1;
    }
    if handle == 0 {
        return NULL;
    }
    if let Some(known) = handles.comms.predefined(handle) {
        return known;
    }
    let about = call.tables.made(handles, call.plan, call.args, handle);
    *made = (!about.is_between_groups()).then(|| Made {
        number,
        rank: about.rank,
        size: about.length(Length::OwnGroup),
    });
    handles.comms.add(handle, 0, Some(number), about)
}
