//! The end of a run: the ranks' data are merged over a binomial tree on the job's own MPI, so that one
//! file comes out. If anything fails the process files stay, and the reader takes those.

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
pub fn meet(t: &mut Thread) {
    let id = mix2(0xf1a1, 1) | 1;
    t.links.push(Link {
        kind: EventKind::Collective as u8,
        id,
        peer: u32::MAX,
        bytes: 0,
        post_ctx: u32::MAX,
        post_ns: 0,
    });
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
    let (rank, size) = (
        process::RANK.load(Ordering::Relaxed),
        process::SIZE.load(Ordering::Relaxed),
    );
    let Some(blob) = process::with_spool(|spool| Some(spool.blob())) else {
        return;
    };
    let mut mine = (blob.len() as u64).to_le_bytes().to_vec();
    mine.extend_from_slice(&blob);
    let mut step = 1;
    while step < size {
        if rank & step != 0 {
            send(library, rank - step, &mine);
            break;
        }
        if rank + step < size
            && let Some(theirs) = receive(library, abi, rank + step)
        {
            mine.extend_from_slice(&theirs);
        }
        step *= 2;
    }
    let written =
        rank != 0 || process::with_spool(|spool| write(&spool.directory()?, &mine)).is_some();
    if agreed(library, written) {
        process::with_spool(|spool| {
            spool.remove();
            Some(())
        });
    }
}

fn write(dir: &std::path::Path, blobs: &[u8]) -> Option<()> {
    let (temporary, last) = (dir.join("merged.part"), dir.join(MERGED_NAME));
    let mut bytes = MERGED_MAGIC.to_le_bytes().to_vec();
    bytes.extend_from_slice(blobs);
    std::fs::write(&temporary, bytes).ok()?;
    std::fs::rename(&temporary, &last).ok()
}

/// Whether rank 0 has written the merged file: it tells the others down the same tree.
fn agreed(library: &Library, written: bool) -> bool {
    let Some(abi) = abi::get() else { return false };
    let (rank, size) = (
        process::RANK.load(Ordering::Relaxed),
        process::SIZE.load(Ordering::Relaxed),
    );
    let mut yes = written;
    let parent_step = if rank == 0 {
        size.next_power_of_two()
    } else {
        1 << rank.trailing_zeros()
    };
    if rank != 0 {
        yes = receive(library, abi, rank - parent_step).is_some_and(|b| b == [1]);
    }
    let mut step = parent_step / 2;
    while step > 0 {
        if rank + step < size {
            send(library, rank + step, &[u8::from(yes)]);
        }
        step /= 2;
    }
    yes
}
