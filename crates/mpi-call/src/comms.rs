//! Communicators: maps a handle to what both ends of a message agree on.
//!
//! All members know a communicator by the same hash. It combines the list of the members' world ranks with the
//! communicator's origin: the communicator that it was made from, and how many were made from that one before.
//! Creation is collective, so both are the same on all members, whatever other threads make from other communicators
//! meanwhile. A communicator that is made from a group has a tag, by which the program distinguishes it from others.
//! Communicators of unknown origin, as from a port, are numbered among those with the same list.
//!
//! RMA windows and files are treated as communicators, too. Each has a hash of its own, so that its collectives are
//! distinguished from those of others. They have no row of their own in the spool: those of one kind with the same
//! members share one.

use crate::args::Args;
use crate::handles::{Handles, Taken};
use crate::host::Host;
use crate::library::Library;
use headwater_model::hash::mix2;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};

/// A communicator.
pub struct Comm {
    /// Index in the spool's table.
    pub index: u16,
    /// The same on all members.
    pub hash: u64,
    /// Hash of the list of members alone.
    list: u64,
    /// Members.
    pub size: u32,
    /// Neighbours that this rank sends to, if the communicator has a topology.
    pub neighbours: Option<u32>,
    /// World ranks by rank, [`OUTSIDE`] for none; `None` if they are the same.
    ranks: Option<&'static [u32]>,
    /// Collectives called so far.
    collectives: AtomicU64,
    /// How many communicators, windows and files were made from it.
    made: AtomicU64,
}

/// Where a communicator comes from; the same on all its members.
#[derive(Clone, Copy, Default)]
pub enum Origin {
    /// Unknown: its number among those with the same members identifies it.
    #[default]
    Unknown,
    /// Made from another one: a hash of that one and of the number of what is made from it.
    Made(u64),
    /// Made from a group: a tag. Communicators with the same tag are made one after the other.
    Tagged(u64),
}

/// Replaces the world rank of a process of another job.
const OUTSIDE: u32 = u32::MAX;

/// What communicators with the same members share.
#[derive(Default)]
struct List {
    /// How many of unknown origin were made.
    made: u64,
    /// How many were made, by tag.
    tagged: FxHashMap<u64, u64>,
    /// World ranks, as in [`Comm`].
    ranks: Option<&'static [u32]>,
    /// Index of the last one that had a row of its own.
    row: Option<u16>,
}

/// The most tags that are counted for the same members. Communicators with further tags stay unknown.
const TAGS: usize = 4096;

impl List {
    /// The number of the next communicator with a tag.
    fn next_tagged(&mut self, tag: u64) -> Option<u64> {
        if self.tagged.len() == TAGS && !self.tagged.contains_key(&tag) {
            return None;
        }
        let number = self.tagged.entry(tag).or_default();
        *number += 1;
        Some(*number)
    }

    /// The hash that distinguishes a communicator from others with the same members, the same on all of them; `list`
    /// is the hash of the members.
    fn hash_of(&mut self, list: u64, origin: Origin) -> Option<u64> {
        Some(match origin {
            Origin::Unknown => {
                self.made += 1;
                mix2(list, self.made - 1)
            }
            Origin::Made(number) => mix2(list, number),
            Origin::Tagged(tag) => mix2(mix2(list, tag), self.next_tagged(tag)?),
        })
    }
}

/// What is known about communicators. Programs make them in loops, so the memory of one that was freed is used again.
struct Kept {
    /// By the hash of the list of members.
    lists: FxHashMap<u64, List>,
    taken: Taken,
    /// Memory of communicators that were freed.
    free: Vec<Room>,
}

/// Leaked memory of a communicator that can no longer be found.
struct Room(*mut Comm);

// SAFETY: only the code that takes the pointer out of the list uses it.
unsafe impl Send for Room {}

/// The communicators of a process.
pub struct Comms {
    handles: Handles,
    kept: Mutex<Kept>,
    library: &'static Library,
    /// Says once that there were too many tags.
    many_tags: Once,
    host: &'static dyn Host,
}

impl Comm {
    /// World rank of a member.
    #[inline]
    pub fn world(&self, rank: i32) -> Option<u32> {
        let rank = u32::try_from(rank).ok().filter(|r| *r < self.size)?;
        self.ranks
            .map_or(Some(rank), |list| list.get(rank as usize).copied())
            .filter(|world| *world != OUTSIDE)
    }

    /// Number of the collective that is being called.
    #[inline]
    pub fn next_collective(&self) -> u64 {
        self.collectives.fetch_add(1, Ordering::Relaxed)
    }

    /// All members are about to make something from it. Counts this even if it fails.
    pub fn next_made(&self) -> Origin {
        Origin::Made(mix2(self.hash, self.made.fetch_add(1, Ordering::Relaxed)))
    }
}

/// What is added.
#[derive(Clone, Copy)]
enum As {
    World,
    Communicator(Origin),
    /// A window or a file, which shares a row with others of its kind.
    Sharing(u64, Origin),
}

/// Members of a communicator.
struct Members {
    list: u64,
    size: u32,
    /// World ranks by rank, as in [`Comm`].
    ranks: Option<Vec<u32>>,
}

/// The hash of a list of world ranks.
fn hash_of(ranks: impl ExactSizeIterator<Item = u32>) -> u64 {
    let size = ranks.len() as u64;
    ranks.fold(size, |h, r| mix2(h, u64::from(r)))
}

impl Comms {
    /// The communicators of a process whose library is this one: the world, of so many ranks.
    pub fn new(library: &'static Library, size: u32, host: &'static dyn Host) -> Self {
        let comms = Self {
            handles: Handles::new(),
            kept: Mutex::new(Kept {
                lists: FxHashMap::default(),
                taken: Taken::none(),
                free: Vec::new(),
            }),
            library,
            many_tags: Once::new(),
            host,
        };
        let members = Members {
            list: hash_of(0..size),
            size,
            ranks: None,
        };
        comms.add(members, library.world, As::World, None);
        comms
    }

    /// The communicator behind a handle.
    #[inline]
    pub(crate) fn find(&self, handle: u64) -> Option<&'static Comm> {
        self.handles.find(handle)
    }

    /// Removes a communicator.
    pub(crate) fn forget(&self, handle: u64) {
        if let Ok(mut kept) = self.kept.lock() {
            let room = kept.taken.remove(&self.handles, handle).map(Room);
            kept.free.extend(room);
        }
    }

    /// A call frees the communicator at its argument `at`.
    pub fn freed_by(&self, args: &Args, at: u8) {
        self.forget(args.handle_at(at, 0, &self.library.comm));
    }

    /// Adds a communicator. A handle that comes again means the newer one.
    fn insert(&self, handle: u64, comm: Comm, kept: &mut Kept) {
        let new = match kept.free.pop() {
            Some(Room(room)) => {
                // SAFETY: memory of a communicator that was freed (see `Handles::find`).
                unsafe { room.write(comm) };
                room
            }
            None => Box::into_raw(Box::new(comm)),
        };
        kept.taken.insert(&self.handles, handle, new, self.host);
    }

    /// Adds a communicator, or what is treated as one.
    fn add(&self, members: Members, handle: u64, what: As, neighbours: Option<u32>) {
        let Members { list, size, ranks } = members;
        let Ok(mut kept) = self.kept.lock() else {
            return;
        };
        let known = kept.lists.entry(list).or_default();
        let hash = match what {
            As::World => Some(1),
            As::Communicator(origin) | As::Sharing(_, origin) => known.hash_of(list, origin),
        };
        let Some(hash) = hash else {
            self.many_tags.call_once(|| {
                self.host.say(&format!(
                    "Communicators were made of groups with more than {TAGS} tags: who waited for whom on those with later ones is not known."
                ));
            });
            return;
        };
        if known.ranks.is_none() {
            known.ranks = ranks.map(|r| &*r.leak());
        }
        let row = match what {
            As::Sharing(kind, _) => mix2(list, kind),
            _ => hash,
        };
        let index = self.host.add_comm(row, size, known.row);
        if !matches!(what, As::Sharing(..)) {
            known.row = index.or(known.row);
        }
        let comm = Comm {
            index: index.unwrap_or(u16::MAX),
            hash,
            list,
            size,
            neighbours,
            ranks: known.ranks,
            collectives: AtomicU64::new(0),
            made: AtomicU64::new(0),
        };
        self.insert(handle, comm, &mut kept);
    }

    /// Adds the communicator that a call has just made, which comes from `origin`.
    pub(crate) fn created(&self, function: &str, args: &Args, at: u8, origin: Origin) {
        let handle = args.handle_at(at, 0, &self.library.comm);
        if handle == 0 || handle == self.library.comm_null {
            return;
        }
        // A communicator that was freed unseen may have had the same handle.
        self.forget(handle);
        let take_up = || {
            let what = As::Communicator(origin);
            if ["_dup", "_idup"].iter().any(|n| function.contains(n)) {
                let original = self.find(args.handle(0, &self.library.comm))?;
                self.copied(handle, original, what);
                return Some(());
            }
            let members = self.describe(handle)?;
            let neighbours = topology(self.library, function, handle);
            self.add(members, handle, what, neighbours);
            Some(())
        };
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(take_up));
    }

    /// Adds the window or file that a collective call on `original` has made. It has the same members, and shares a row
    /// with others of its kind.
    pub(crate) fn made_of(&self, handle: u64, original: &Comm, kind: u64, origin: Origin) {
        let what = As::Sharing(kind, origin);
        let copy = std::panic::AssertUnwindSafe(|| self.copied(handle, original, what));
        let _ = std::panic::catch_unwind(copy);
    }

    /// Adds a copy, which has the members and the topology of its original. MPI is not asked: a copy that is made
    /// without blocking may not be used yet.
    fn copied(&self, handle: u64, original: &Comm, what: As) {
        let members = Members {
            list: original.list,
            size: original.size,
            // Known by the list.
            ranks: None,
        };
        self.add(members, handle, what, original.neighbours);
    }

    /// The members of a communicator that was just made; `None` for an intercommunicator.
    fn describe(&self, handle: u64) -> Option<Members> {
        let library = self.library;
        if library.ask("MPI_Comm_test_inter", handle)? != 0 {
            return None;
        }
        let size = library.ask("MPI_Comm_size", handle)?;
        let real = library.functions([
            "MPI_Comm_group",
            "MPI_Group_translate_ranks",
            "MPI_Group_free",
        ])?;
        let mut all = self.host.everybody()?;
        // SAFETY: the library's functions with arguments of their signatures; all are local operations on
        // a communicator that was just made. Groups are read and freed in the library's own width.
        unsafe {
            let group: unsafe extern "C" fn(u64, *mut u64) -> i32 = std::mem::transmute(real[0]);
            let mut mine = 0u64;
            group(handle, &mut mine);
            let local: Vec<i32> = (0..size).collect();
            let mut global = vec![0i32; local.len()];
            let translate: unsafe extern "C" fn(u64, i32, *const i32, u64, *mut i32) -> i32 =
                std::mem::transmute(real[1]);
            translate(
                library.narrow(mine),
                size,
                local.as_ptr(),
                library.narrow(all),
                global.as_mut_ptr(),
            );
            let free: unsafe extern "C" fn(*mut u64) -> i32 = std::mem::transmute(real[2]);
            free(&mut mine);
            free(&mut all);
            let ranks: Vec<u32> = global
                .into_iter()
                .map(|r| u32::try_from(r).unwrap_or(OUTSIDE))
                .collect();
            let same = ranks.iter().zip(0u32..).all(|(r, i)| *r == i);
            Some(Members {
                list: hash_of(ranks.iter().copied()),
                size: size as u32,
                ranks: (!same).then_some(ranks),
            })
        }
    }
}

/// Neighbours that this rank sends to, by the function that made the communicator.
fn topology(library: &Library, function: &str, handle: u64) -> Option<u32> {
    let real = |name: &str| library.function(name);
    let (mut into, mut out, mut weighted) = (0i32, 0i32, 0i32);
    if function.starts_with("MPI_Cart") {
        out = 2 * library.ask("MPI_Cartdim_get", handle)?;
    } else if function.starts_with("MPI_Dist_graph") {
        type Ask = unsafe extern "C" fn(u64, *mut i32, *mut i32, *mut i32) -> i32;
        let real = real("MPI_Dist_graph_neighbors_count")?;
        // SAFETY: the library's function with arguments of its signature, on a communicator that has
        // just this topology.
        unsafe {
            let ask: Ask = std::mem::transmute(real);
            ask(handle, &mut into, &mut out, &mut weighted);
        }
    } else if function.starts_with("MPI_Graph") {
        type Ask = unsafe extern "C" fn(u64, i32, *mut i32) -> i32;
        let (real, rank) = (
            real("MPI_Graph_neighbors_count")?,
            library.ask("MPI_Comm_rank", handle)?,
        );
        // SAFETY: as above.
        unsafe {
            let ask: Ask = std::mem::transmute(real);
            ask(handle, rank, &mut out);
        }
    } else {
        return None;
    }
    u32::try_from(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_counted_apart_in_any_order() {
        let made = |tags: &[u64]| {
            let mut list = List::default();
            let mut hashes: Vec<(u64, Option<u64>)> = tags
                .iter()
                .map(|tag| (*tag, list.hash_of(1, Origin::Tagged(*tag))))
                .collect();
            hashes.sort_by_key(|made| made.0);
            hashes
        };
        let one: Vec<u64> = (0..1000).chain(0..1000).collect();
        let other: Vec<u64> = (0..1000).flat_map(|tag| [tag, tag]).collect();
        assert_eq!(made(&one), made(&other));
    }

    #[test]
    fn beyond_so_many_tags_nothing_is_known() {
        let mut list = List::default();
        for tag in 0..TAGS as u64 {
            assert!(list.hash_of(1, Origin::Tagged(tag)).is_some());
        }
        assert_eq!(list.hash_of(1, Origin::Tagged(TAGS as u64)), None);
        assert!(list.hash_of(1, Origin::Tagged(0)).is_some());
    }
}
