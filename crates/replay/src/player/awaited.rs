//! What a call found in the recording is there before it is made again: requests are done, messages have come.

use super::{Player, Shared};
use crate::library::MOST_ARGUMENTS;
use crate::plan::{Await, Plan};
use crate::resolve::Value;
use headwater_mpi_abi::constants::NULL;
use headwater_mpi_abi::{Class, Kind};

impl Player<'_> {
    /// Waits until the call will find what it found in the recording. Returns whether it has been made meanwhile.
    pub(super) fn await_what_was_found(
        &mut self,
        plan: &Plan,
        function: usize,
        arguments: &[u64; MOST_ARGUMENTS],
        requests: &[u64],
    ) -> bool {
        match plan.awaits {
            Await::Nothing => {}
            Await::Requests => {
                let status = self.statuses.at_least(self.mpi.abi.status_bytes);
                for request in requests {
                    self.await_request(*request, status);
                }
            }
            Await::Message => {
                let at = |kind| {
                    let field = plan.fields.iter().find(|f| f.kind == kind)?;
                    arguments.get(usize::from(field.at)).copied()
                };
                let found = (at(Kind::Peer), at(Kind::Tag), at(Kind::Comm));
                // A blocking probe waits by itself.
                if let (Some(source), Some(tag), Some(comm)) = found
                    && plan.position(Kind::Flag).is_some()
                {
                    let status = self.statuses.at_least(self.mpi.abi.status_bytes);
                    self.mpi.ask("MPI_Probe", &[source, tag, comm, status]);
                }
            }
            Await::Itself => {
                let flag = plan.position(Kind::Flag).and_then(|i| plan.fields.get(i));
                let at = flag.map_or(0, |f| usize::from(f.at));
                // Asking whether parts have arrived changes nothing; a test of a window ends an epoch.
                let asks = plan.function.class == Class::Arrived;
                loop {
                    let result = match asks {
                        true => self.mpi.ask(plan.function.name, arguments),
                        false => self.mpi.call(function, arguments),
                    };
                    let flag = self.single.get(at).map_or(0, |flag| flag & 0xffff_ffff);
                    if result != 0 || flag != 0 {
                        return !asks;
                    }
                    std::thread::yield_now();
                }
            }
        }
        false
    }

    fn await_request(&self, request: u64, status: u64) {
        /// So often without a pause.
        const AT_ONCE: u32 = 200;
        let mut times = 0;
        while !self.mpi.is_done(request, status) {
            times += 1;
            if times > AT_ONCE {
                std::thread::yield_now();
            }
        }
    }
}

/// The requests that have to be done before a call is made.
pub(super) fn awaited_requests(shared: &Shared, plan: &Plan, values: &[Value]) -> Vec<u64> {
    let mut requests = Vec::new();
    if plan.awaits != Await::Requests {
        return requests;
    }
    for (field, value) in plan.fields.iter().zip(values) {
        let one = [value.number()];
        let all = match field.kind {
            Kind::Request => &one[..],
            Kind::Requests => value.list().unwrap_or(&[]),
            _ => continue,
        };
        let known = all.iter().filter(|n| **n != NULL);
        requests.extend(known.filter_map(|n| shared.handles.get(Kind::Request, *n)));
    }
    requests
}
