//! What is known about MPI in this process, and what decoding asks of it.

use crate::entry::sessions;
use crate::guest::{memory, recording};
use crate::storage::{
    process_spool::{self, with_spool},
    spool::MOST_COMMS,
};
use headwater_format::spool::layout::CommRow;
use headwater_mpi_call::args::Args;
use headwater_mpi_call::host::Host;
use headwater_mpi_call::library::Library;
use headwater_mpi_call::mpi::Mpi;
use std::sync::{Once, OnceLock};

static MPI: OnceLock<Mpi> = OnceLock::new();

/// What is known about MPI; `None` before recording begins.
#[inline]
pub fn get() -> Option<&'static Mpi> {
    MPI.get()
}

/// Begins to decode the calls of rank `rank` of `size`; `threaded` says whether threads may call MPI at the same time.
pub fn begin_decoding(library: &'static Library, rank: u32, size: u32, threaded: bool) {
    MPI.get_or_init(|| Mpi::new(library, rank, size, threaded, &Recorded));
}

/// The process that is recorded.
struct Recorded;

impl Host for Recorded {
    fn has_room(&self, bytes: usize) -> bool {
        memory::room(bytes)
    }

    fn stop(&self) {
        recording::stop();
    }

    fn say(&self, sentence: &str) {
        process_spool::say(sentence);
    }

    fn add_comm(&self, hash: u64, size: u32, known: Option<u16>) -> Option<u16> {
        let row = CommRow {
            hash,
            size: u64::from(size),
        };
        let index = with_spool(|spool| spool.add_comm(row, known));
        if index.is_some() && index == known {
            static SAID: Once = Once::new();
            SAID.call_once(|| self.say(&format!(
                "More than {MOST_COMMS} communicators were made: calls on later ones are counted with those on an earlier one of the same members."
            )));
        }
        index
    }

    fn everybody(&self) -> Option<u64> {
        sessions::everybody(crate::libraries::abi::library()?)
    }

    fn session_opened(&self, args: &Args) {
        sessions::opened(args);
    }
}
