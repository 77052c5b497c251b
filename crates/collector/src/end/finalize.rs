//! The end of a run: merges the ranks' data into one file, over a tree on the job's own MPI (`merge` in the `format`
//! crate). If anything fails, the process files stay, and the reader takes those.
//!
//! The ranks exchange messages only if all of them record, which they find out in `MPI_Init`. A rank without room for
//! its file would not answer, and the others would wait for it forever.

use crate::end::{
    align, trace,
    tree::{self, tree},
};
use crate::guest::clock;
use crate::storage::process_spool;
use crate::threads::thread::Thread;
use crate::trace::kept;
use headwater_format::spool::merge::{Figures, Merge, Piece};
use headwater_model::hash::mix2;
use headwater_model::run::{EventKind, peer};
use headwater_mpi_call::record::{Link, Params};
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
        // One number for the files of all ranks: another job may use the same directory.
        let number = tree.of_root(process_spool::file_number());
        kept::set_job(number, tree.rank);
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
    let Some(mut tree) = tree() else {
        trace::write_own();
        return;
    };
    align::at_end();
    // First, as what it says belongs to the data that are merged.
    trace::merge(&tree);
    let began = clock::now();
    let (source, header) =
        process_spool::with_spool(|spool| Some(spool.written())).unwrap_or_default();
    let mut merge = Merge::new(source, header);
    merge.gather(&mut tree);
    merge.place(&mut tree, process_spool::file_number());
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
        let Figures {
            messages,
            peak_bytes,
        } = merge.figures;
        let line = format!("{messages} {peak_bytes} {}\n", clock::now() - began);
        // Only a measurement of the merge asks for this, and notices if it is missing.
        let _ = std::fs::write(Path::new(&dir).join(tree.rank.to_string()), line);
    }
}
