//! What calls that do not block leave behind until their requests are completed.
//!
//! A send that another thread waited for in the recording has no wait of its maker's (`threads.rs`). It is completed when the
//! maker has made its last call.

use super::Player;
use super::shared::Shared;
use crate::library::address;
use crate::plan::Plan;
use headwater_mpi_abi::{Class, Kind, Mode};

impl Player<'_> {
    /// A request is about to have this number.
    pub(super) fn begins(&mut self, shared: &Shared, plan: &Plan, number: i64) {
        if self.common.sharing.is_of_one() {
            return;
        }
        // Another thread has completed what had the number before.
        if self.sends.contains(&number)
            && let Some(handle) = shared.handles.get(Kind::Request, number)
        {
            self.unfinished.push(handle);
        }
        if plan.function.class == Class::Send && plan.function.mode == Mode::Nonblocking {
            self.sends.insert(number);
        } else {
            self.sends.remove(&number);
        }
    }

    /// A request is completed: lists that its call could read are needed no longer.
    pub(super) fn ends(&mut self, number: i64) {
        self.kept.remove(&number);
        self.sends.remove(&number);
    }

    /// Completes the sends of this thread that are left. It has made its last call.
    pub fn complete_sends(&mut self) {
        let mut left = std::mem::take(&mut self.unfinished);
        let mut sends: Vec<i64> = std::mem::take(&mut self.sends).into_iter().collect();
        sends.sort_unstable();
        {
            let shared = &mut *self.common.lock();
            for number in sends {
                left.extend(shared.handles.get(Kind::Request, number));
                shared.handles.remove(Kind::Request, number);
            }
        }
        let status = self.statuses.at_least(self.mpi.abi.status_bytes);
        for handle in left.into_iter().filter(|_| status != 0) {
            let mut request = [handle];
            self.mpi.ask("MPI_Wait", &[address(&mut request), status]);
        }
    }
}
