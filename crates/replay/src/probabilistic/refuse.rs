//! Lossy traces that cannot be replayed: those in which ranks wait for each other otherwise than by messages and
//! collectives, as the clocks do not know about that.

use crate::error::Error;
use headwater_mpi_abi::{Class, FUNCTIONS, Mode, id_of};
use headwater_trace::trace::Trace;

const ONE_SIDED: &str = "a lossy trace is replayed without epochs and locks of windows";
const PARTS: &str = "a lossy trace is replayed without messages in parts";
const STARTED: &str = "a lossy trace is replayed without persistent collectives";
const GROUPS: &str = "a lossy trace is replayed without communicators between two groups";

/// Whether a lossy trace can be replayed.
///
/// # Errors
/// Which function cannot be, or that several threads call MPI.
pub fn check(trace: &Trace) -> Result<(), Error> {
    if !trace.is_lossy() {
        return Ok(());
    }
    if trace.streams.len() > 1 {
        let why = "several threads of a rank call MPI, and the order between them is not recorded";
        return Err(Error::NoAgreement(why.to_owned()));
    }
    for signature in trace.signatures.values() {
        let function = id_of(&signature.function).and_then(|id| FUNCTIONS.get(usize::from(id.0)));
        let Some(function) = function else { continue };
        let collective = function.is_collective() || function.class == Class::CommCreate;
        let why = match function.class {
            _ if function.name.starts_with("MPI_Intercomm") => GROUPS,
            Class::WinPost | Class::WinStart | Class::WinComplete | Class::WinWait => ONE_SIDED,
            Class::WinLock | Class::WinFlush | Class::WinUnlock => ONE_SIDED,
            Class::Channel | Class::Ready | Class::Arrived => PARTS,
            _ if collective && function.mode == Mode::Persistent => STARTED,
            _ => continue,
        };
        return Err(Error::Refused {
            function: signature.function.clone(),
            rank: 0,
            why,
        });
    }
    Ok(())
}
