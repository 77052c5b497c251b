//! The end of a run: the ranks' data are merged over a binomial tree on the job's own MPI, so that one
//! file comes out. If anything fails the process files stay, and the reader takes those.
//!
//! Ranks talk to each other only if all of them record, which they find out in `MPI_Init`: a rank
//! without room for its file would not answer, and the others would wait for it for ever.

use crate::abi::{self, Library};
use crate::process;
use crate::table::mix2;
use crate::thread::{Link, Params, Thread};
use headwater_format::spool::layout::{MERGED_MAGIC, MERGED_NAME};
use headwater_model::run::{EventKind, peer};
use std::sync::atomic::{AtomicU64, Ordering};

/// Parameters that `MPI_Finalize` is counted by.
pub const PARAMS: Params = Params {
    comm: 0,
    peer: peer::NONE,
    tag: i32::MIN,
    bytes: 0,
};

/// Our own duplicate of the world; 0 until there is one.
static COMM: AtomicU64 = AtomicU64::new(0);

/// Bytes sent at once; counts are `int`s.
const CHUNK: usize = 1 << 28;

/// Makes the communicator that merging uses, while the program waits in `MPI_Init` anyway.
pub fn prepare(library: &Library) {
    let real = abi::pmpi("MPI_Comm_dup");
    let mut comm = 0u64;
    if real != 0 {
        // SAFETY: all ranks are in MPI_Init; the new handle is written in the library's width.
        let result = unsafe {
            let dup: unsafe extern "C" fn(u64, *mut u64) -> i32 = std::mem::transmute(real);
            dup(library.world, &mut comm)
        };
        if result == 0 {
            COMM.store(comm, Ordering::Relaxed);
        }
    }
}

/// Finds out whether all ranks record. If not, nobody waits for anybody at the end.
pub fn agree_to_merge(library: &Library, ready: bool) {
    if all(library, ready) {
        return;
    }
    COMM.store(0, Ordering::Relaxed);
    if ready {
        process::say(
            "Some ranks could not record: there was no room, or no right to write, in the directory for what is recorded.",
        );
    }
}

fn barrier() {
    let (real, comm) = (abi::pmpi("MPI_Barrier"), COMM.load(Ordering::Relaxed));
    if real != 0 && comm != 0 {
        // SAFETY: all ranks come by here in MPI_Finalize.
        unsafe {
            let barrier: unsafe extern "C" fn(u64) -> i32 = std::mem::transmute(real);
            barrier(comm);
        }
    }
}

/// Waits for all ranks, as `MPI_Finalize` itself may, and notes it as a collective.
pub fn meet(t: Option<&mut Thread>) {
    if let Some(t) = t {
        t.links.push(Link {
            kind: EventKind::Collective as u8,
            id: mix2(0xf1a1, 1) | 1,
            peer: u32::MAX,
            bytes: 0,
            post_ctx: u32::MAX,
            post_ns: 0,
        });
    }
    barrier();
}

/// Sends all of `bytes`, their number first.
fn send(library: &Library, to: u32, bytes: &[u8]) -> bool {
    let (real, comm) = (abi::pmpi("MPI_Send"), COMM.load(Ordering::Relaxed));
    if real == 0 || comm == 0 {
        return false;
    }
    let length = (bytes.len() as u64).to_le_bytes();
    let one = |part: &[u8]| {
        // SAFETY: our own buffer, communicator and tag; bytes of as many as are there.
        unsafe {
            type Send = unsafe extern "C" fn(*const u8, i32, u64, i32, i32, u64) -> i32;
            let send: Send = std::mem::transmute(real);
            send(
                part.as_ptr(),
                part.len() as i32,
                library.byte,
                to as i32,
                0,
                comm,
            ) == 0
        }
    };
    one(&length) && bytes.chunks(CHUNK).all(one)
}

/// Receives what [`send`] sends.
fn receive(library: &Library, abi: &headwater_mpi_abi::Abi, from: u32) -> Option<Vec<u8>> {
    let (real, comm) = (abi::pmpi("MPI_Recv"), COMM.load(Ordering::Relaxed));
    if real == 0 || comm == 0 {
        return None;
    }
    let one = |part: &mut [u8]| {
        // SAFETY: as above, and the library's own constant for no status.
        let result = unsafe {
            type Recv = unsafe extern "C" fn(*mut u8, i32, u64, i32, i32, u64, u64) -> i32;
            let recv: Recv = std::mem::transmute(real);
            recv(
                part.as_mut_ptr(),
                part.len() as i32,
                library.byte,
                from as i32,
                0,
                comm,
                abi.status_ignore,
            )
        };
        (result == 0).then_some(())
    };
    let mut length = [0u8; 8];
    one(&mut length)?;
    let mut bytes = vec![0u8; usize::try_from(u64::from_le_bytes(length)).ok()?];
    for part in bytes.chunks_mut(CHUNK) {
        one(part)?;
    }
    Some(bytes)
}

/// Merges the data of all ranks; the files of the processes go when the merged one stands.
pub fn merge() {
    let (Some(library), Some(abi)) = (abi::library(), abi::get()) else {
        return;
    };
    if COMM.load(Ordering::Relaxed) == 0 {
        return;
    }
    let (rank, size) = (
        process::RANK.load(Ordering::Relaxed),
        process::SIZE.load(Ordering::Relaxed),
    );
    let blob = process::with_spool(|spool| Some(spool.blob()));
    let mut whole = blob.is_some();
    let blob = blob.unwrap_or_default();
    let mut mine = (blob.len() as u64).to_le_bytes().to_vec();
    mine.extend_from_slice(&blob);
    let mut step = 1;
    while step < size {
        if rank & step != 0 {
            whole &= send(library, rank - step, &mine);
            break;
        }
        if rank + step < size {
            match receive(library, abi, rank + step) {
                Some(theirs) => mine.extend_from_slice(&theirs),
                None => whole = false,
            }
        }
        step *= 2;
    }
    if rank == 0 {
        whole &= process::with_spool(|spool| write(&spool.directory()?, &mine)).is_some();
    }
    let all = all(library, whole);
    process::with_spool(|spool| {
        if all {
            spool.remove();
        } else if rank == 0 {
            // What is in the process files is more.
            let _ = std::fs::remove_file(spool.directory()?.join(MERGED_NAME));
        }
        Some(())
    });
}

fn write(dir: &std::path::Path, blobs: &[u8]) -> Option<()> {
    let (temporary, last) = (dir.join("merged.part"), dir.join(MERGED_NAME));
    let mut bytes = MERGED_MAGIC.to_le_bytes().to_vec();
    bytes.extend_from_slice(blobs);
    let written =
        std::fs::write(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, &last));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written.ok()
}

/// Whether `mine` holds on all ranks: gathered up the tree, told down the same tree.
fn all(library: &Library, mine: bool) -> bool {
    let Some(abi) = abi::get() else { return false };
    let (rank, size) = (
        process::RANK.load(Ordering::Relaxed),
        process::SIZE.load(Ordering::Relaxed),
    );
    let told = |from| receive(library, abi, from).is_some_and(|b| b == [1]);
    let mut yes = mine;
    let mut step = 1;
    while step < size && rank & step == 0 {
        // Every child is heard, whatever the others said.
        yes = (rank + step >= size || told(rank + step)) && yes;
        step *= 2;
    }
    if rank != 0 {
        yes = send(library, rank - step, &[u8::from(yes)]) && told(rank - step);
    }
    while step > 1 {
        step /= 2;
        if rank + step < size {
            send(library, rank + step, &[u8::from(yes)]);
        }
    }
    yes
}
