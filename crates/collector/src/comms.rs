//! Communicators: from a handle to what both ends of a message agree on.
//!
//! Two members know a communicator by the same hash: that of its list of world ranks and of how many
//! communicators with just this list were made before, which creation, being collective over its
//! members, makes equal on all of them.

use crate::process;
use crate::table::mix2;
use crate::{abi, args::Args};
use headwater_format::spool::layout::CommRow;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Communicators alive at a time, at the most; a power of two.
const PLACES: usize = 1024;

/// A communicator.
pub struct Comm {
    handle: u64,
    /// Index in the spool's table.
    pub index: u16,
    /// Same on all members.
    pub hash: u64,
    /// That of the list of members alone.
    list: u64,
    /// Members.
    pub size: u32,
    /// Neighbours that this rank sends to, where the communicator has a topology.
    pub neighbours: Option<u32>,
    /// World ranks by rank; `None` where they are the same.
    ranks: Option<Box<[u32]>>,
    /// Collectives called so far.
    collectives: AtomicU64,
}

static PLACE: [AtomicPtr<Comm>; PLACES] = [const { AtomicPtr::new(std::ptr::null_mut()) }; PLACES];
static MADE: std::sync::Mutex<Vec<(u64, u64)>> = std::sync::Mutex::new(Vec::new());

impl Comm {
    /// World rank of a member.
    #[inline]
    pub fn world(&self, rank: i32) -> Option<u32> {
        let rank = u32::try_from(rank).ok().filter(|r| *r < self.size)?;
        self.ranks
            .as_ref()
            .map_or(Some(rank), |list| list.get(rank as usize).copied())
    }

    /// Number of the collective that is being called.
    #[inline]
    pub fn next_collective(&self) -> u64 {
        self.collectives.fetch_add(1, Ordering::Relaxed)
    }
}

/// The communicator behind a handle.
#[inline]
pub fn find(handle: u64) -> Option<&'static Comm> {
    let first = start(handle);
    for i in 0..PLACES {
        let at = PLACE.get((first + i) % PLACES)?.load(Ordering::Acquire);
        // SAFETY: entries are leaked boxes that are never freed.
        let comm = unsafe { at.as_ref() }?;
        if comm.handle == handle {
            return Some(comm);
        }
    }
    None
}

fn start(handle: u64) -> usize {
    crate::table::mix(handle) as usize % PLACES
}

/// Takes a communicator up; a handle that comes again stands for the newer one.
fn insert(comm: Comm) {
    let first = start(comm.handle);
    let handle = comm.handle;
    let new = Box::into_raw(Box::new(comm));
    for i in 0..PLACES {
        let Some(place) = PLACE.get((first + i) % PLACES) else {
            return;
        };
        let at = place.load(Ordering::Acquire);
        // SAFETY: as above.
        let free =
            unsafe { at.as_ref() }.is_none_or(|old| old.handle == handle || old.handle == u64::MAX);
        if free {
            place.store(new, Ordering::Release);
            return;
        }
    }
}

/// Gives a communicator up: its place is taken by one that no handle finds.
pub fn forget(handle: u64) {
    let Some(old) = find(handle) else { return };
    let first = start(handle);
    let gone = Comm {
        handle: u64::MAX,
        index: old.index,
        hash: 0,
        list: 0,
        size: 0,
        neighbours: None,
        ranks: None,
        collectives: AtomicU64::new(0),
    };
    let gone = Box::into_raw(Box::new(gone));
    for i in 0..PLACES {
        let Some(place) = PLACE.get((first + i) % PLACES) else {
            return;
        };
        if std::ptr::eq(place.load(Ordering::Acquire), old) {
            place.store(gone, Ordering::Release);
            return;
        }
    }
}

/// Takes the world up.
pub fn world(handle: u64, size: u32) {
    let members = Members {
        list: hash_of(0..size),
        size,
        ranks: None,
    };
    add(members, handle, 1, None);
}

/// Members of a communicator.
struct Members {
    list: u64,
    size: u32,
    /// World ranks by rank; `None` where they are the same.
    ranks: Option<Box<[u32]>>,
}

/// The hash of a list of world ranks.
fn hash_of(ranks: impl ExactSizeIterator<Item = u32>) -> u64 {
    let size = ranks.len() as u64;
    ranks.fold(size, |h, r| mix2(h, u64::from(r)))
}

fn add(members: Members, handle: u64, hash: u64, neighbours: Option<u32>) {
    let Members { list, size, ranks } = members;
    let index = process::with_spool(|spool| {
        spool.add_comm(CommRow {
            hash,
            size: u64::from(size),
        })
    })
    .unwrap_or(u16::MAX);
    insert(Comm {
        handle,
        index,
        hash,
        list,
        size,
        neighbours,
        ranks,
        collectives: AtomicU64::new(0),
    });
}

/// Takes up the communicator that a call has just made.
pub fn created(function: &str, args: &Args, at: u8) {
    let Some(library) = abi::library() else {
        return;
    };
    let handle = args.handle_at(at, 0, &library.comm);
    if handle == 0 || handle == library.comm_null {
        return;
    }
    let take_up = || {
        if ["_dup", "_idup"].iter().any(|n| function.contains(n)) {
            copied(handle, find(args.handle(0, &library.comm))?);
            return Some(());
        }
        let members = describe(handle, library)?;
        let hash = mix2(members.list, nth(members.list));
        add(members, handle, hash, topology(function, handle));
        Some(())
    };
    let _ = std::panic::catch_unwind(take_up);
}

/// A copy has its original's members and topology. MPI is not asked: one that is made without blocking
/// may not be used yet.
fn copied(handle: u64, original: &Comm) {
    let members = Members {
        list: original.list,
        size: original.size,
        ranks: original.ranks.clone(),
    };
    let hash = mix2(original.list, nth(original.list));
    add(members, handle, hash, original.neighbours);
}

/// Neighbours that this rank sends to, by the function that made the communicator.
fn topology(function: &str, handle: u64) -> Option<u32> {
    let (mut rank, mut n, mut out, mut weighted) = (0i32, 0i32, 0i32, 0i32);
    let ask = |name: &str| Some(abi::pmpi(name)).filter(|real| *real != 0);
    // SAFETY: the library's functions with arguments of their signatures, on a communicator that has
    // just the topology that they ask about.
    unsafe {
        if function.starts_with("MPI_Dist_graph") {
            type Ask = unsafe extern "C" fn(u64, *mut i32, *mut i32, *mut i32) -> i32;
            let ask: Ask = std::mem::transmute(ask("MPI_Dist_graph_neighbors_count")?);
            ask(handle, &mut n, &mut out, &mut weighted);
        } else if function.starts_with("MPI_Cart") {
            type Ask = unsafe extern "C" fn(u64, *mut i32) -> i32;
            let ask: Ask = std::mem::transmute(ask("MPI_Cartdim_get")?);
            ask(handle, &mut n);
            out = 2 * n;
        } else if function.starts_with("MPI_Graph") {
            type Own = unsafe extern "C" fn(u64, *mut i32) -> i32;
            type Ask = unsafe extern "C" fn(u64, i32, *mut i32) -> i32;
            let own: Own = std::mem::transmute(ask("MPI_Comm_rank")?);
            let ask: Ask = std::mem::transmute(ask("MPI_Graph_neighbors_count")?);
            own(handle, &mut rank);
            ask(handle, rank, &mut out);
        } else {
            return None;
        }
    }
    u32::try_from(out).ok()
}

/// The members of a communicator that was just made; none of one between groups.
fn describe(handle: u64, library: &abi::Library) -> Option<Members> {
    type Get = unsafe extern "C" fn(u64, *mut i32) -> i32;
    let names = [
        "MPI_Comm_size",
        "MPI_Comm_test_inter",
        "MPI_Comm_group",
        "MPI_Group_translate_ranks",
        "MPI_Group_free",
    ];
    let real = names.map(abi::pmpi);
    if real.contains(&0) {
        return None;
    }
    let (mut size, mut inter) = (0i32, 0i32);
    // SAFETY: the library's functions with arguments of their signatures; all are local operations on
    // a communicator that was just made. Groups are read and freed in the library's own width.
    unsafe {
        let get: Get = std::mem::transmute(real[1]);
        get(handle, &mut inter);
        if inter != 0 {
            return None;
        }
        let get: Get = std::mem::transmute(real[0]);
        get(handle, &mut size);
        let group: unsafe extern "C" fn(u64, *mut u64) -> i32 = std::mem::transmute(real[2]);
        let (mut mine, mut all) = (0u64, 0u64);
        group(handle, &mut mine);
        group(library.world, &mut all);
        let local: Vec<i32> = (0..size).collect();
        let mut global = vec![0i32; local.len()];
        let translate: unsafe extern "C" fn(u64, i32, *const i32, u64, *mut i32) -> i32 =
            std::mem::transmute(real[3]);
        translate(
            abi::narrow(mine),
            size,
            local.as_ptr(),
            abi::narrow(all),
            global.as_mut_ptr(),
        );
        let free: unsafe extern "C" fn(*mut u64) -> i32 = std::mem::transmute(real[4]);
        free(&mut mine);
        free(&mut all);
        let ranks: Vec<u32> = global.into_iter().map(|r| r.max(0) as u32).collect();
        let same = ranks.iter().zip(0u32..).all(|(r, i)| *r == i);
        Some(Members {
            list: hash_of(ranks.iter().copied()),
            size: size as u32,
            ranks: (!same).then(|| ranks.into_boxed_slice()),
        })
    }
}

/// How many communicators with this list of members were made before.
fn nth(list: u64) -> u64 {
    let Ok(mut made) = MADE.lock() else { return 0 };
    match made.iter_mut().find(|m| m.0 == list) {
        Some(known) => {
            known.1 += 1;
            known.1
        }
        None => {
            made.push((list, 0));
            0
        }
    }
}
