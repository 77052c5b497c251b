//! What a call says before the library sees it.

use crate::args::Args;
use crate::parameters::communicators::About;
use crate::parameters::memo::Memo;
use crate::parameters::plan::{Plan, Way};
use crate::parameters::tables::{Handles, Tables};
use crate::parameters::{Parameters, Sink, lists};
use headwater_mpi_abi::constants::{
    ABSENT, ANY_SOURCE, ANY_TAG, PROC_NULL, ROOT, UNKNOWN, buffer, common,
};
use headwater_mpi_abi::{Class, Field, Form, Function, Kind};

/// A call whose fields are read.
struct Call<'a> {
    tables: &'a Tables,
    plan: &'a Plan,
    args: &'a Args,
    /// What is known about its communicator, if some field depends on it.
    about: Option<About>,
    /// Whether this rank is the root of it.
    is_root: bool,
    /// Texts that were read.
    texts: usize,
}

impl Parameters {
    /// Runs before the call of a function: reads what the library may overwrite, and makes sure that the sources of
    /// messages will be known.
    ///
    /// `memo` is of an earlier call, maybe of another function, and becomes that of this one.
    #[inline]
    pub fn before(
        &mut self,
        tables: &Tables,
        function: u16,
        args: &mut Args,
        sink: &mut dyn Sink,
        memo: &mut Memo,
    ) {
        let Some(plan) = tables.plan(function) else {
            return;
        };
        (self.wild, self.some_wild, self.made_comm) = (false, false, None);
        self.claims.clear();
        self.done.clear();
        let is_plain = plan.is_plain && !args.fortran();
        let changes = if is_plain { tables.changes() } else { 0 };
        if is_plain && let Some(wild) = memo.of(function, plan, args, changes) {
            // Those that are read after the call are the call's own.
            for (i, _) in &plan.after {
                self.set(usize::from(*i), ABSENT);
            }
            self.wild = wild;
        } else {
            self.read(tables, plan, args, sink);
            if is_plain {
                memo.set(function, plan, args, changes, (&self.values, self.wild));
            } else {
                memo.begin(function, plan.fields);
                for (i, _) in &plan.before {
                    memo.put(*i, self.value_of(*i));
                }
            }
        }
        if self.wild || self.some_wild || plan.probes {
            self.own_statuses(tables, plan, args);
        }
    }

    #[inline(never)]
    fn read(&mut self, tables: &Tables, plan: &Plan, args: &Args, sink: &mut dyn Sink) {
        let mut call = Call {
            tables,
            plan,
            args,
            about: None,
            is_root: true,
            texts: 0,
        };
        let mut handles = tables.handles();
        let abi = tables.library.abi;
        if plan.needs_comm {
            call.find_comm(&mut handles);
        }
        let mut in_place = false;
        for (i, _) in &plan.after {
            self.set(usize::from(*i), ABSENT);
        }
        for (i, step) in &plan.before {
            let field = step.field;
            let at = field.at;
            let hidden = in_place && step.about_data || field.at_root && !call.is_root;
            let value = match step.way {
                _ if hidden => {
                    in_place &= step.way != Way::Buffer;
                    ABSENT
                }
                Way::Int => i64::from(args.int(at)),
                Way::MaybeWild => match i64::from(args.int(at)) {
                    known @ 0.. => known,
                    special => {
                        let value = common(abi, field.kind, special);
                        self.wild |= value == ANY_SOURCE || value == ANY_TAG;
                        value
                    }
                },
                Way::Comm => handles.comms.number(args.handle(at, &tables.library.comm)),
                Way::Datatype => handles
                    .datatypes
                    .number(args.handle(at, &tables.library.datatype)),
                Way::Buffer => {
                    let marker = call.buffer(at);
                    in_place = marker == buffer::IN_PLACE;
                    marker
                }
                Way::Other => self.value(&mut call, &mut handles, field, sink),
            };
            self.set(usize::from(*i), value);
        }
    }

    #[inline]
    fn value(
        &mut self,
        call: &mut Call,
        handles: &mut Handles,
        field: &Field,
        sink: &mut dyn Sink,
    ) -> i64 {
        let (args, abi) = (call.args, call.tables.library.abi);
        let number = |raw| common(abi, field.kind, raw);
        match field.form {
            Form::Int => number(i64::from(args.int(field.at))),
            Form::Handle => {
                let of = call.tables.conversion(field.kind);
                self.existing(handles, field.kind, args.handle(field.at, of))
            }
            Form::Pointed => {
                let of = call.tables.conversion(field.kind);
                let handle = args.handle_at(field.at, 0, of);
                self.pointed(call.plan.function, handles, field.kind, handle)
            }
            Form::Long => number(lists::long(args, field.at)),
            Form::OldLong if args.fortran() => number(i64::from(args.int(field.at))),
            Form::OldLong => number(lists::long(args, field.at)),
            Form::PointedInt => number(lists::pointed_int(args, field.at)),
            Form::PointedLong => number(lists::pointed_long(args, field.at)),
            Form::Ints | Form::Longs | Form::OldLongs | Form::Handles => {
                self.list(call, handles, field, sink)
            }
            Form::Text => {
                let text = lists::text(args, field.at, call.plan.function.roles.len(), call.texts);
                call.texts += 1;
                text.map_or(ABSENT, |t| sink.text(t))
            }
            Form::Address => call.buffer(field.at),
            Form::Status => ABSENT,
        }
    }

    /// The number of a handle that is passed by value.
    #[inline]
    fn existing(&self, handles: &mut Handles, kind: Kind, handle: u64) -> i64 {
        match kind {
            // The first of those with this handle, as a call would claim it.
            Kind::Request => {
                let (number, claim) = handles.requests.claim(handle, self.thread);
                if let Some(claim) = claim {
                    handles.requests.release(&claim);
                }
                number
            }
            _ => handles.number(kind, handle),
        }
    }

    /// The number of a handle whose address is passed, which the call may complete or give up.
    fn pointed(
        &mut self,
        function: &Function,
        handles: &mut Handles,
        kind: Kind,
        handle: u64,
    ) -> i64 {
        match kind {
            Kind::Request => {
                let number = self.claim(handles, handle);
                // This must come before the call: after it, another thread may have the same handle.
                if function.class == Class::RequestFree
                    && let Some(Some(claim)) = self.claims.pop()
                {
                    handles.requests.finish(&claim);
                }
                number
            }
            Kind::Message => handles.free(kind, handle),
            freed if freed.is_freed() => handles.free(kind, handle),
            kept => handles.number(kept, handle),
        }
    }

    /// The number of a request that the call may complete.
    #[inline]
    fn claim(&mut self, handles: &mut Handles, handle: u64) -> i64 {
        let (number, claim) = handles.requests.claim(handle, self.thread);
        if self.claims.len() == self.claims.capacity() && self.claims.try_reserve(1).is_err() {
            self.lost = true;
            return UNKNOWN;
        }
        self.some_wild |= claim.is_some_and(|c| c.about.wild);
        self.claims.push(claim);
        number
    }

    /// Gives a list to the sink. Returns its number.
    #[inline(never)]
    fn list(
        &mut self,
        call: &Call,
        handles: &mut Handles,
        field: &Field,
        sink: &mut dyn Sink,
    ) -> i64 {
        let args = call.args;
        let Some(n) = lists::length(args, field.length, call.about.as_ref()) else {
            return ABSENT;
        };
        if n > 0 && !lists::is_list(args, field.at) {
            return ABSENT;
        }
        if !self.room(n) {
            return UNKNOWN;
        }
        if field.form == Form::Handles {
            let of = call.tables.conversion(field.kind);
            for i in 0..n {
                let handle = args.handle_at(field.at, i, of);
                let number = match field.kind {
                    Kind::Requests => self.claim(handles, handle),
                    _ => handles.number(Kind::Datatype, handle),
                };
                self.list.push(number);
            }
        } else {
            self.read_numbers(args, field.at, field.form, n);
            let abi = call.tables.library.abi;
            let each = self.list.iter_mut();
            match field.kind {
                Kind::Displacements => self.make_relative(),
                kind => each.for_each(|value| *value = common(abi, kind, *value)),
            }
        }
        sink.list(&self.list)
    }
}

impl Call<'_> {
    /// Finds the communicator.
    #[inline(never)]
    fn find_comm(&mut self, handles: &mut Handles) {
        self.about = self.tables.comm_of(handles, self.plan, self.args);
        self.is_root = self.is_root();
    }

    /// Whether this rank is the root.
    fn is_root(&self) -> bool {
        let mut all = self.plan.before.iter().map(|(_, s)| s.field);
        let root = all.find(|f| f.kind == Kind::Root);
        let Some(root) = root.map(|f| self.args.int(f.at)) else {
            return true;
        };
        match common(self.tables.library.abi, Kind::Root, i64::from(root)) {
            ROOT => true,
            PROC_NULL => false,
            root => match &self.about {
                Some(about) => !about.is_between_groups() && i64::from(about.rank) == root,
                None => false,
            },
        }
    }

    /// What kind of buffer an argument is.
    #[inline]
    fn buffer(&self, at: u8) -> i64 {
        let raw = self.args.raw(at);
        let library = self.tables.library;
        if raw == 0 {
            buffer::BOTTOM
        } else if raw == library.abi.in_place && !self.args.fortran() {
            buffer::IN_PLACE
        } else if self.args.fortran() {
            self.fortran_buffer(raw)
        } else {
            buffer::MEMORY
        }
    }

    #[cold]
    fn fortran_buffer(&self, raw: u64) -> i64 {
        let library = self.tables.library;
        if raw == library.abi.in_place || library.fortran_in_place.contains(&raw) {
            buffer::IN_PLACE
        } else if self.tables.fortran_bottom.contains(&raw) {
            buffer::BOTTOM
        } else {
            buffer::MEMORY
        }
    }
}
