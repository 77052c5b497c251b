//! What a thread does where nothing is recorded: computation ends there and begins anew behind it.

use super::{NONE, Shared, Stretch, Thread};
use crate::calls::Params;
use crate::pauses::Why;
use crate::regions::PROGRAM;
use headwater_mpi_abi as abi;

/// The function by which a program switches recording on and off.
pub(super) fn switch_function() -> u16 {
    abi::id_of("MPI_Pcontrol").map_or(u16::MAX, |f| f.0)
}

impl Thread {
    /// Nothing is recorded from `ns` on.
    pub fn pause(&mut self, shared: &mut Shared<'_>, ns: u64, why: Why) {
        let ns = self.advance(shared, ns);
        if !self.pauses.begin(why, ns) {
            return;
        }
        self.counters.forget();
        if why == Why::Off {
            self.windows.close(ns);
        }
        if why == Why::Off && self.cuts() {
            // The program goes on unseen, and its ranks may meet: what was computed until here is for itself.
            let ctx = self.switch(shared, false);
            let func = switch_function();
            self.call_begins(shared, ns, ctx, func);
            self.call = None;
            self.count(ctx, func, Params::default(), 0);
            self.last_ctx = Some(ctx);
        }
    }

    /// Recording goes on at `ns`.
    pub fn go_on(&mut self, shared: &mut Shared<'_>, ns: u64, why: Why) {
        let ns = self.advance(shared, ns);
        if !self.pauses.end(why, ns) {
            return;
        }
        self.counters.forget();
        // The program stands still while buffers are written: its events before and behind that are of one piece.
        if why == Why::Off {
            self.windows.close(ns);
            shared.links.paused();
            if self.cuts() {
                let ctx = self.switch(shared, true);
                (self.last_ctx, self.stretch) = (Some(ctx), Stretch::default());
            }
        }
    }

    /// Whether a switch cuts what it computes: it is the thread that computes between MPI calls, and in none now.
    fn cuts(&self) -> bool {
        self.first && self.call.is_none() && !self.over
    }

    /// The context of a switch: where a recorded run has a call of `MPI_Pcontrol`.
    pub(super) fn switch(&mut self, shared: &mut Shared<'_>, on: bool) -> u32 {
        let (caller, parent) = self.around().unwrap_or((PROGRAM, NONE));
        let site = shared.regions.borrow_mut().switch(caller, on);
        self.context(parent, site + 1, false)
    }
}
