//! Arranges the ranks as a binomial tree and sends messages along it, over the job's own MPI.
//!
//! The parent of rank `r` is `r` without its lowest set bit.
//!
//! In `MPI_Init`, messages go over the world itself. Every rank receives all of its messages before the call returns,
//! and a message of the program with the same tag comes after ours. (Only a second thread that does not wait for the
//! call, but asks `MPI_Initialized`, could receive one of ours with a wildcard receive.)
//!
//! In `MPI_Finalize`, messages of the program may still be pending, so ours go over a communicator of our own. It is
//! not made earlier, because Open MPI keeps polling, for the rest of the run, what it uses to make a communicator.

use crate::guest::memory;
use crate::libraries::abi;
use headwater_format::spool::merge::Wire;
use headwater_mpi_abi::Abi;
use headwater_mpi_call::library::Library;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The communicator over which the ranks exchange our messages; 0 while they exchange none.
static COMM: AtomicU64 = AtomicU64::new(0);
/// Rank and size of the world.
static RANK: AtomicU32 = AtomicU32::new(0);
static SIZE: AtomicU32 = AtomicU32::new(0);

/// Tag of all messages; `tests/programs/world.c` uses it too.
const TAG: i32 = 0x4857;

/// The most bytes sent at once, because counts are `int`s.
const CHUNK: usize = 1 << 28;

/// This rank's place in the tree.
#[derive(Clone, Copy)]
pub struct Tree {
    library: &'static Library,
    abi: &'static Abi,
    comm: u64,
    /// This rank.
    pub rank: u32,
    size: u32,
}

/// From now on the ranks exchange our messages. All of them are in `MPI_Init`.
pub fn grow(library: &Library, rank: u32, size: u32) {
    RANK.store(rank, Ordering::Relaxed);
    SIZE.store(size, Ordering::Relaxed);
    COMM.store(library.world, Ordering::Relaxed);
}

/// From now on our messages are separate from the program's. All ranks are in `MPI_Finalize`.
pub fn leave_the_world() {
    // A single rank exchanges no messages, and may have no memory for a communicator.
    if let Some(tree) = tree().filter(|t| t.size > 1) {
        COMM.store(tree.own_communicator().unwrap_or(0), Ordering::Relaxed);
    }
}

/// From now on the ranks exchange none of our messages.
pub fn fell() {
    COMM.store(0, Ordering::Relaxed);
}

/// The tree; `None` while the ranks exchange none of our messages.
pub fn tree() -> Option<Tree> {
    let comm = COMM.load(Ordering::Relaxed);
    Some(Tree {
        library: abi::library()?,
        abi: abi::get()?,
        comm: Some(comm).filter(|c| *c != 0)?,
        rank: RANK.load(Ordering::Relaxed),
        size: SIZE.load(Ordering::Relaxed),
    })
}

fn parent(rank: u32) -> Option<u32> {
    (rank != 0).then(|| rank & (rank - 1))
}

fn children(rank: u32, size: u32) -> impl DoubleEndedIterator<Item = u32> {
    // All bits below the lowest set bit of the rank.
    let steps = if rank == 0 {
        u32::BITS
    } else {
        rank.trailing_zeros()
    };
    (0..steps)
        .filter_map(move |bit| rank.checked_add(1 << bit))
        .filter(move |child| *child < size)
}

impl Wire for Tree {
    fn parent(&self) -> Option<u32> {
        parent(self.rank)
    }

    fn children(&self) -> Vec<u32> {
        children(self.rank, self.size).collect()
    }

    fn send(&mut self, to: u32, bytes: &[u8]) -> bool {
        Tree::send(self, to, bytes)
    }

    fn receive(&mut self, from: u32, room: &mut [u8]) -> Option<usize> {
        Tree::receive(self, from, room)
    }
}

/// An error handler.
type Quiet = unsafe extern "C" fn(*mut u64, *mut i32);

/// An error handler that does nothing, so that errors appear in the result of the call. It is our own, because
/// libraries with the standard ABI disagree on the constant for it: Intel's has swapped the values for returning and
/// for aborting.
unsafe extern "C" fn quiet(_comm: *mut u64, _code: *mut i32) {}

impl Tree {
    /// The parent of this rank; `None` for rank 0.
    pub fn parent(&self) -> Option<u32> {
        parent(self.rank)
    }

    /// The children of this rank, those with the smallest subtrees first.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        children(self.rank, self.size)
    }

    /// Makes a communicator of all ranks. It does not copy the attributes that the program has attached to the world.
    /// It would copy the error handler, which must not be called for our errors, so another one is set meanwhile.
    fn own_communicator(&self) -> Option<u64> {
        type Get = unsafe extern "C" fn(u64, *mut u64) -> i32;
        type Set = unsafe extern "C" fn(u64, u64) -> i32;
        type Create = unsafe extern "C" fn(u64, u64, *mut u64) -> i32;
        type Free = unsafe extern "C" fn(*mut u64) -> i32;
        let real = self.library.functions([
            "MPI_Comm_get_errhandler",
            "MPI_Comm_set_errhandler",
            "MPI_Comm_create_errhandler",
            "MPI_Errhandler_free",
            "MPI_Comm_group",
            "MPI_Comm_create",
            "MPI_Group_free",
        ])?;
        let (mut handler, mut ours, mut group, mut comm) = (0u64, 0u64, 0u64, 0u64);
        // SAFETY: the library's functions with arguments of their signatures, called by all ranks; new
        // handles are written in the library's width, and freed only where there are some.
        let made = unsafe {
            let get_handler: Get = std::mem::transmute(real[0]);
            let set_handler: Set = std::mem::transmute(real[1]);
            let make_handler: unsafe extern "C" fn(Quiet, *mut u64) -> i32 =
                std::mem::transmute(real[2]);
            let free_handler: Free = std::mem::transmute(real[3]);
            let group_of: Get = std::mem::transmute(real[4]);
            let create: Create = std::mem::transmute(real[5]);
            let free_group: Free = std::mem::transmute(real[6]);
            if make_handler(quiet, &mut ours) != 0 {
                return None;
            }
            if get_handler(self.comm, &mut handler) != 0 {
                free_handler(&mut ours);
                return None;
            }
            set_handler(self.comm, self.library.narrow(ours));
            let made = group_of(self.comm, &mut group) == 0 && {
                let made = create(self.comm, self.library.narrow(group), &mut comm) == 0;
                free_group(&mut group);
                made
            };
            set_handler(self.comm, self.library.narrow(handler));
            free_handler(&mut handler);
            free_handler(&mut ours);
            made
        };
        made.then_some(comm)
    }

    /// Waits for all ranks.
    pub fn barrier(&self) {
        let real = abi::pmpi("MPI_Barrier");
        if real != 0 && self.size > 1 {
            // SAFETY: all ranks call this, in MPI_Finalize.
            unsafe {
                let barrier: unsafe extern "C" fn(u64) -> i32 = std::mem::transmute(real);
                barrier(self.comm);
            }
        }
    }

    /// Sends all of `bytes`, their number first.
    pub fn send(&self, to: u32, bytes: &[u8]) -> bool {
        let real = abi::pmpi("MPI_Send");
        if real == 0 {
            return false;
        }
        let length = (bytes.len() as u64).to_le_bytes();
        let one = |part: &[u8]| {
            // SAFETY: our own buffer, communicator and tag; the count is the length of the buffer.
            unsafe {
                type Send = unsafe extern "C" fn(*const u8, i32, u64, i32, i32, u64) -> i32;
                let send: Send = std::mem::transmute(real);
                send(
                    part.as_ptr(),
                    part.len() as i32,
                    self.library.byte,
                    to as i32,
                    TAG,
                    self.comm,
                ) == 0
            }
        };
        one(&length) && bytes.chunks(CHUNK).all(one)
    }

    /// Receives what [`Tree::send`] sends into the beginning of `room`, and returns its length.
    pub fn receive(&self, from: u32, room: &mut [u8]) -> Option<usize> {
        let length = self.receive_length(from)?;
        match room.get_mut(..length) {
            Some(bytes) => self.receive_bytes(from, bytes).map(|()| length),
            None => self.refuse(from, length),
        }
    }

    /// Receives what [`Tree::send`] sends, however long it is. `None` if there is no memory for it.
    pub fn receive_all(&self, from: u32) -> Option<Vec<u8>> {
        let length = self.receive_length(from)?;
        let mut bytes = Vec::new();
        if !memory::room(length) || bytes.try_reserve_exact(length).is_err() {
            return self.refuse(from, length);
        }
        bytes.resize(length, 0);
        self.receive_bytes(from, &mut bytes).map(|()| bytes)
    }

    fn receive_length(&self, from: u32) -> Option<usize> {
        let mut length = [0u8; 8];
        self.receive_part(from, &mut length)?;
        usize::try_from(u64::from_le_bytes(length)).ok()
    }

    fn receive_bytes(&self, from: u32, bytes: &mut [u8]) -> Option<()> {
        let mut parts = bytes.chunks_mut(CHUNK);
        parts.try_for_each(|part| self.receive_part(from, part))
    }

    /// Takes a message for which there is no room. The sender must not wait forever. What it sends is truncated, which is
    /// an error and ends the receive.
    fn refuse<T>(&self, from: u32, length: usize) -> Option<T> {
        for _ in 0..length.div_ceil(CHUNK) {
            self.receive_part(from, &mut []);
        }
        None
    }

    fn receive_part(&self, from: u32, part: &mut [u8]) -> Option<()> {
        let real = abi::pmpi("MPI_Recv");
        if real == 0 {
            return None;
        }
        // SAFETY: our own buffer, communicator and tag; the count is the length of the buffer; the library's own constant
        // for no status.
        let result = unsafe {
            type Recv = unsafe extern "C" fn(*mut u8, i32, u64, i32, i32, u64, u64) -> i32;
            let recv: Recv = std::mem::transmute(real);
            recv(
                part.as_mut_ptr(),
                part.len() as i32,
                self.library.byte,
                from as i32,
                TAG,
                self.comm,
                self.abi.status_ignore,
            )
        };
        (result == 0).then_some(())
    }

    /// Receives numbers that [`Tree::send_words`] sends.
    pub fn receive_words<const N: usize>(&self, from: u32) -> Option<[u64; N]> {
        let mut words = [[0u8; 8]; N];
        let length = self.receive(from, words.as_flattened_mut())?;
        (length == 8 * N).then(|| words.map(u64::from_le_bytes))
    }

    /// Sends numbers.
    pub fn send_words<const N: usize>(&self, to: u32, words: &[u64; N]) -> bool {
        self.send(to, words.map(u64::to_le_bytes).as_flattened())
    }

    /// The number of rank 0, which is sent down the tree. A rank that does not receive it keeps its own.
    pub fn of_root(&self, mine: u64) -> u64 {
        let parents = self.parent().and_then(|p| self.receive_words(p));
        let [number] = parents.unwrap_or([mine]);
        for child in self.children().rev() {
            self.send_words(child, &[number]);
        }
        number
    }

    /// Whether `mine` is true on all ranks. The answers are gathered up the tree, and the result is sent down the
    /// same tree.
    pub fn all(&self, mine: bool) -> bool {
        let says_yes = |from| self.receive_words(from) == Some([1]);
        // Every child's answer is received, whatever the others said.
        let mut yes = self
            .children()
            .fold(mine, |yes, child| says_yes(child) && yes);
        if let Some(parent) = self.parent() {
            yes = self.send_words(parent, &[u64::from(yes)]) && says_yes(parent);
        }
        for child in self.children().rev() {
            self.send_words(child, &[u64::from(yes)]);
        }
        yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_the_child_of_its_parent_alone() {
        for size in 1..70u32 {
            let mut seen = vec![None; size as usize];
            for rank in 0..size {
                for child in children(rank, size) {
                    let before = seen[child as usize].replace(rank);
                    assert_eq!(before, None, "{child} of {size} has one parent");
                }
            }
            let parents: Vec<_> = (0..size).map(parent).collect();
            assert_eq!(seen, parents);
        }
    }
}
