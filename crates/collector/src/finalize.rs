//! The end of a run: the ranks' data are merged over a tree on the job's own MPI, so that one file
//! comes out (`merge` in the `format` crate). If anything fails the process files stay, and the reader
//! takes those.
//!
//! Ranks talk to each other only if all of them record, which they find out in `MPI_Init`: a rank
//! without room for its file would not answer, and the others would wait for it for ever.

use crate::align;
use crate::clock;
use crate::links::link;
use crate::process;
use crate::table::mix2;
use crate::thread::{Params, Thread};
use crate::tree::{self, tree};
use headwater_format::spool::merge::{Figures, Merge, Piece};
use headwater_model::run::{EventKind, peer};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Parameters that `MPI_Finalize` is counted by.
pub const PARAMS: Params = Params {
    comm: 0,
    peer: peer::NONE,
    tag: i32::MIN,
    bytes: 0,
};

/// Finds out whether all ranks record, and how their clocks differ. If not all do, nobody waits for
/// anybody at the end; nor where ranks do not talk to each other, as their program uses sessions alone.
pub fn agree_to_merge(ready: bool) {
    let Some(tree) = tree() else { return };
    if tree.all(ready) {
        align::at_start();
        return;
    }
    tree::fell();
    if ready {
        process::say(
            "Some ranks could not record: there was no room, or no right to write, in the directory for what is recorded.",
        );
    }
}

/// Waits for all ranks, as `MPI_Finalize` itself may, and notes it as a collective.
pub fn meet(t: Option<&mut Thread>) {
    if let Some(t) = t {
        let id = mix2(0xf1a1, 1) | 1;
        t.links.push(link(EventKind::Collective, id, u32::MAX, 0));
    }
    tree::leave_the_world();
    if let Some(tree) = tree() {
        tree.barrier();
    }
}

/// Merges the data of all ranks; the files of the processes go when the merged one stands.
pub fn merge() {
    let Some(mut tree) = tree() else { return };
    align::at_end();
    let began = clock::now();
    let (source, header) = process::with_spool(|spool| Some(spool.written())).unwrap_or_default();
    let mut merge = Merge::new(source, header);
    merge.gather(&mut tree);
    merge.place(&mut tree, file_number());
    // It has its place since the program was loaded, so there is room for it whatever memory is left.
    static PIECE: Mutex<Piece> = Mutex::new([0; size_of::<Piece>()]);
    let mut piece = PIECE.lock().unwrap_or_else(PoisonError::into_inner);
    merge.write(&mut tree, &mut piece);
    if merge.agree(&mut tree) {
        process::with_spool(|spool| {
            spool.remove();
            Some(())
        });
    }
    if let Some(dir) = std::env::var_os("HEADWATER_MERGE_FIGURES") {
        let Figures { messages, held } = merge.figures;
        let line = format!("{messages} {held} {}\n", clock::now() - began);
        // Only who measures the merge asks for it, and sees what is missing.
        let _ = std::fs::write(Path::new(&dir).join(tree.rank.to_string()), line);
    }
}

/// A number that no other file has: not of another job in this directory, nor of one before.
fn file_number() -> u64 {
    let process = u64::from(std::process::id());
    mix2(clock::unix_base().wrapping_add(clock::now()), process).max(1)
}
