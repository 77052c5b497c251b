//! The end of a run: the ranks' data are merged over a tree on the job's own MPI, so that one file
//! comes out. If anything fails the process files stay, and the reader takes those.
//!
//! Ranks talk to each other only if all of them record, which they find out in `MPI_Init`: a rank
//! without room for its file would not answer, and the others would wait for it for ever.

use crate::align;
use crate::links::link;
use crate::process;
use crate::spool;
use crate::table::mix2;
use crate::thread::{Params, Thread};
use crate::tree::{self, tree};
use headwater_format::spool::layout::{MERGED_MAGIC, MERGED_NAME};
use headwater_model::run::{EventKind, peer};

/// Parameters that `MPI_Finalize` is counted by.
pub const PARAMS: Params = Params {
    comm: 0,
    peer: peer::NONE,
    tag: i32::MIN,
    bytes: 0,
};

/// Finds out whether all ranks record, and how their clocks differ. If not all do, nobody waits for
/// anybody at the end.
pub fn agree_to_merge(ready: bool) {
    if tree().is_some_and(|t| t.all(ready)) {
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
    let Some(tree) = tree() else { return };
    align::at_end();
    let blob = process::with_spool(|spool| spool.blob());
    let mut whole = blob.is_some();
    let blob = blob.unwrap_or_default();
    let mut mine = (blob.len() as u64).to_le_bytes().to_vec();
    match mine.try_reserve_exact(blob.len()) {
        Ok(()) => mine.extend_from_slice(&blob),
        Err(_) => whole = false,
    }
    for child in tree.children() {
        match tree.receive(child) {
            Some(theirs) if mine.try_reserve(theirs.len()).is_ok() => {
                mine.extend_from_slice(&theirs);
            }
            _ => whole = false,
        }
    }
    whole &= match tree.parent() {
        Some(parent) => tree.send(parent, &mine),
        None => process::with_spool(|spool| write(&spool.directory()?, &mine)).is_some(),
    };
    let all = tree.all(whole);
    process::with_spool(|spool| {
        if all {
            spool.remove();
        } else if tree.rank == 0 {
            // What is in the process files is more.
            let _ = std::fs::remove_file(spool.directory()?.join(MERGED_NAME));
        }
        Some(())
    });
}

fn write(dir: &std::path::Path, blobs: &[u8]) -> Option<()> {
    // A file beyond its limit would cost the program a signal.
    spool::may_be_as_long(8 + blobs.len() as u64).then_some(())?;
    let (temporary, last) = (dir.join("merged.part"), dir.join(MERGED_NAME));
    let mut bytes = MERGED_MAGIC.to_le_bytes().to_vec();
    bytes.try_reserve_exact(blobs.len()).ok()?;
    bytes.extend_from_slice(blobs);
    let written =
        std::fs::write(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, &last));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.ok()
}
