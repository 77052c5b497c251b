//! What statuses say: source, tag and size of messages that were received from whoever sent them.

use crate::args::Args;
use crate::parameters::plan::Plan;
use crate::parameters::tables::Tables;
use crate::parameters::{LONGEST_LIST, Parameters};
use headwater_mpi_abi::Kind;
use headwater_mpi_abi::constants::{ABSENT, common};

impl Parameters {
    /// If the program wants no status and we need one, passes ours.
    #[inline(never)]
    pub(super) fn own_statuses(&mut self, tables: &Tables, plan: &Plan, args: &mut Args) {
        let (at, count) = match (plan.status, plan.statuses) {
            (Some(at), _) => (at, 1),
            (None, Some(at)) => (at, self.claims.len()),
            (None, None) => return,
        };
        if !tables.is_ignored(args, args.raw(at)) || count > LONGEST_LIST {
            return;
        }
        let words = count * tables.library.abi.status_bytes.div_ceil(8);
        let more = words.saturating_sub(self.statuses.len());
        if self.statuses.try_reserve(more).is_err() {
            self.lost = true;
            return;
        }
        self.statuses.resize(words.max(self.statuses.len()), 0);
        args.replace(at, self.statuses.as_mut_ptr() as u64);
    }
}

impl Tables {
    /// Whether this is one of the addresses that mean "no status".
    fn is_ignored(&self, args: &Args, raw: u64) -> bool {
        if args.fortran() {
            self.library.fortran_ignore.contains(&raw)
        } else {
            let abi = self.library.abi;
            raw == 0 || raw == abi.status_ignore || raw == abi.statuses_ignore
        }
    }

    /// What status number `i` of those at `address` says about its message.
    pub(super) fn said(&self, args: &Args, address: u64, i: usize, kind: Kind) -> i64 {
        if address == 0 || self.is_ignored(args, address) {
            return ABSENT;
        }
        let abi = self.library.abi;
        // SAFETY: a status that the library has just written, the program's or ours.
        let status = unsafe { (address as *const u8).add(i * abi.status_bytes) };
        // SAFETY: as above.
        let int = |at| i64::from(unsafe { status.add(at).cast::<i32>().read_unaligned() });
        match kind {
            Kind::StatusSource | Kind::StatusSources => common(abi, kind, int(abi.status_source)),
            Kind::StatusTag | Kind::StatusTags => common(abi, kind, int(abi.status_tag)),
            _ => self.bytes(status),
        }
    }

    /// Bytes of the message of a status.
    fn bytes(&self, status: *const u8) -> i64 {
        let (real, wide) = self.count_bytes;
        if real == 0 {
            return ABSENT;
        }
        let mut count = 0i64;
        // SAFETY: the library's function with arguments of its signature, on a status that it has just written.
        unsafe {
            let ask: unsafe extern "C" fn(*const u8, u64, *mut i64) -> i32 =
                std::mem::transmute(real);
            ask(status, self.library.byte, &mut count);
        }
        let count = if wide { count } else { i64::from(count as i32) };
        if count < 0 { ABSENT } else { count }
    }
}
