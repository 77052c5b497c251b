//! The end of a run: merges the ranks' data into one file, over a tree on the job's own MPI (`merge` in the `format`
//! crate). If anything fails, the process files stay, and the reader takes those.
//!
//! The ranks exchange messages only if all of them record, which they find out in `MPI_Init`. A rank without room for
//! its file would not answer, and the others would wait for it forever.

use crate::end::{
    align,
    tree::{self, tree},
};
use crate::guest::clock;
use crate::storage::process_spool;
use crate::threads::thread::Thread;
use headwater_format::spool::merge::{Figures, Merge, Piece};
use headwater_model::hash::mix2;
use headwater_model::run::{EventKind, peer};
use headwater_mpi_call::buffers::{Link, Params};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The parameters that `MPI_Finalize` is counted by.
pub const PARAMS: Params = Params {
    comm: 0,
    peer: peer::NONE,
    tag: i32::MIN,
    bytes: 0,
};

/// Finds out whether all ranks record, and how their clocks differ. If not all record, no rank waits for another one
/// at the end. Does nothing if the ranks exchange no messages of ours, because their program uses only sessions.
pub fn agree_to_merge(ready: bool) {
    let Some(tree) = tree() else { return };
    if tree.all(ready) {
        align::at_start();
        return;
    }
    tree::fell();
    if ready {
        process_spool::say(
            "Some ranks could not record: there was no room, or no right to write, in the directory for what is recorded.",
        );
    }
}

/// Waits for all ranks, as `MPI_Finalize` itself may do, and records this as a collective.
pub fn meet(t: Option<&mut Thread>) {
    if let Some(t) = t {
        let id = mix2(0xf1a1, 1) | 1;
        t.buffers
            .links
            .push(Link::new(EventKind::Collective, id, u32::MAX, 0));
    }
    tree::leave_the_world();
    if let Some(tree) = tree() {
        tree.barrier();
    }
}

/// Merges the data of all ranks. When the merged file is complete, the process files are removed.
pub fn merge() {
    let Some(mut tree) = tree() else { return };
    align::at_end();
    let began = clock::now();
    let (source, header) =
        process_spool::with_spool(|spool| Some(spool.written())).unwrap_or_default();
    let mut merge = Merge::new(source, header);
    merge.gather(&mut tree);
    merge.place(&mut tree, file_number());
    // Its memory was reserved when the program was loaded, so it is there however little memory is left.
    static PIECE: Mutex<Piece> = Mutex::new([0; size_of::<Piece>()]);
    let mut piece = PIECE.lock().unwrap_or_else(PoisonError::into_inner);
    merge.write(&mut tree, &mut piece);
    if merge.agree(&mut tree) {
        process_spool::with_spool(|spool| {
            spool.remove();
            Some(())
        });
    }
    if let Some(dir) = std::env::var_os("HEADWATER_MERGE_FIGURES") {
        let Figures { messages, held } = merge.figures;
        let line = format!("{messages} {held} {}\n", clock::now() - began);
        // Only a measurement of the merge asks for this, and notices if it is missing.
        let _ = std::fs::write(Path::new(&dir).join(tree.rank.to_string()), line);
    }
}

/// A number that no other file has: neither of another job in this directory nor of an earlier one.
fn file_number() -> u64 {
    let process = u64::from(std::process::id());
    mix2(clock::unix_base().wrapping_add(clock::now()), process).max(1)
}
