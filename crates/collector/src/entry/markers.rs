//! Regions that a program marks for Caliper or for Score-P are regions here, too.
//!
//! The program's calls come here first, and go on to that tool's library, which does what it would do alone. A library
//! that the linker has put into the program itself is called directly: then there is nothing to see.

use crate::entry::regions::{
    begin, end, ends_early, headwater_region_begin, headwater_region_end,
    headwater_region_iteration,
};
use crate::libraries::loader;
use crate::threads::{named::Ends, thread::Caller};
use headwater_mpi_call::args::{self, Args};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

/// What a function does. A region that has no name at its end is found by what it is of: an attribute of Caliper, an
/// object of C++, or a handle of Score-P.
#[derive(Clone, Copy)]
pub enum Does {
    /// Begins a region: its name is the argument.
    Begins,
    /// Ends the innermost region of this name.
    Ends,
    /// Begins a value, the second argument, of the attribute that is the first one.
    BeginsOfAttribute,
    /// Ends the innermost value of an attribute.
    EndsAttribute,
    /// Makes the attribute of a loop's iterations.
    MakesIterations,
    /// The region of the object that is the first argument begins; the second one is its name.
    BeginsOfObject,
    /// The region of an object or a handle ends.
    EndsObject,
    /// The object is no more: its region ends if it has not ended yet. Which of those before the recording it was is not
    /// known, and they have ended as a rule.
    DestroysObject,
    /// An iteration of the innermost region ends.
    Iterates,
    /// Begins a region with the handle to which the first argument points; the fourth one is its name.
    BeginsOfHandle,
    /// Gives such a handle its name.
    NamesHandle,
    /// Begins the region of a handle that has a name.
    EntersHandle,
}

static REAL: [AtomicUsize; MARKERS.len()] = [const { AtomicUsize::new(0) }; MARKERS.len()];

/// Attributes of Caliper whose values are regions: the variables that hold them, and their addresses.
static ATTRIBUTES: [(&CStr, AtomicUsize); 3] = [
    (c"cali_loop_attr_id", AtomicUsize::new(0)),
    (c"cali_function_attr_id", AtomicUsize::new(0)),
    (c"cali_annotation_attr_id", AtomicUsize::new(0)),
];

/// The address of a variable that this Caliper does not have.
const NO_VARIABLE: usize = usize::MAX;

/// Loops that have an attribute of their iterations at the most: those of further ones are not counted.
const MOST_LOOPS: usize = 256;

/// Attributes of iterations, more by one than Caliper's numbers; 0 where there is none.
static ITERATIONS: [AtomicU64; MOST_LOOPS] = [const { AtomicU64::new(0) }; MOST_LOOPS];

/// Handles with a name at the most: further ones are `unnamed`.
const MOST_HANDLES: usize = 1024;

/// Handles, 0 where there is none, and their names, which stay until the program ends. A lock here could be held by a
/// thread that a `fork` or a signal interrupts.
static HANDLES: [(AtomicU64, AtomicPtr<c_char>); MOST_HANDLES] =
    [const { (AtomicU64::new(0), AtomicPtr::new(null_mut())) }; MOST_HANDLES];

/// Number of arguments.
pub fn arguments(id: usize) -> usize {
    MARKERS.get(id).map_or(0, |(_, count, _)| *count)
}

/// A function of one of these tools is called. What the tool itself takes is outside the region.
pub fn call(id: usize, args: &Args, from: Caller) -> i64 {
    let Some(((name, count, does), place)) = MARKERS.get(id).zip(REAL.get(id)) else {
        return 0;
    };
    let _ = std::panic::catch_unwind(|| before(*does, args, from));
    let mut real = place.load(Ordering::Relaxed);
    if real == 0 {
        // Another caller may have the library where this one has none.
        real = or_callers(loader::next(name), name, from);
        place.store(real, Ordering::Relaxed);
    }
    let answer = match real {
        0 => 0,
        // SAFETY: the tool's own function, with what the program passed.
        real => unsafe {
            match *count > args::REGISTERS {
                true => i64::from(args.call(real)),
                false => args.call_wide(real),
            }
        },
    };
    if real != 0 || !matches!(does, Does::MakesIterations) {
        let _ = std::panic::catch_unwind(|| after(*does, args, from, answer));
    }
    answer
}

/// What the loader found or, if that is nothing, what the caller sees of this name: its program may have opened the tool
/// for itself alone.
fn or_callers(found: usize, name: &CStr, from: Caller) -> usize {
    match found {
        0 => loader::through(name, from.return_address),
        found => found,
    }
}

/// Whether the values of an attribute are regions.
fn is_of_regions(attribute: u64, from: Caller) -> bool {
    ATTRIBUTES.iter().any(|(name, address)| {
        let mut variable = address.load(Ordering::Relaxed);
        if variable == 0 {
            variable = match or_callers(loader::first(name), name, from) {
                0 => NO_VARIABLE,
                found => found,
            };
            address.store(variable, Ordering::Relaxed);
        }
        // SAFETY: a variable of Caliper's, whose numbers have 64 bits.
        variable != NO_VARIABLE && unsafe { (variable as *const u64).read() } == attribute
    })
}

/// What is done before the tool's own function: regions end.
fn before(does: Does, args: &Args, from: Caller) {
    let first = args.raw(0);
    match does {
        // SAFETY: the program's name of the region.
        Does::Ends => unsafe { headwater_region_end(first as *const c_char) },
        Does::EndsAttribute if is_of_iterations(first) => headwater_region_iteration(),
        // SAFETY: no name.
        Does::EndsAttribute if is_of_regions(first, from) => unsafe {
            end(Ends::TaskOf(of(first)))
        },
        Does::DestroysObject if ends_early() => {}
        // SAFETY: as above.
        Does::EndsObject | Does::DestroysObject => unsafe { end(Ends::TaskOf(of(first))) },
        Does::Iterates => headwater_region_iteration(),
        _ => {}
    }
}

/// What is done behind it: regions begin.
fn after(does: Does, args: &Args, from: Caller, answer: i64) {
    let first = args.raw(0);
    // SAFETY: the program's names of its regions, and places of its handles.
    unsafe {
        match does {
            Does::Begins => headwater_region_begin(first as *const c_char),
            Does::BeginsOfAttribute if !is_of_regions(first, from) => {}
            Does::BeginsOfAttribute | Does::BeginsOfObject => {
                begin(args.raw(1) as *const c_char, of(first))
            }
            Does::BeginsOfHandle => begin(args.raw(3) as *const c_char, of(handle_at(first))),
            Does::NamesHandle => name_handle(handle_at(first), args.raw(3) as *const c_char),
            Does::EntersHandle => begin(name_of_handle(first), of(first)),
            Does::MakesIterations => note_iterations(answer as u64),
            _ => {}
        }
    }
}

/// What a region is of, as an address that no region of another kind has.
fn of(what: u64) -> *const c_void {
    /// The handle of a Score-P that does not measure. It has the same one for all regions.
    static NO_HANDLE: u8 = 0;
    match what {
        0 => (&raw const NO_HANDLE).cast(),
        what => what as *const c_void,
    }
}

/// # Safety
/// `place` is 0 or where the program has a handle.
unsafe fn handle_at(place: u64) -> u64 {
    // SAFETY: as promised; handles are addresses.
    unsafe { (place as *const u64).as_ref() }
        .copied()
        .unwrap_or(0)
}

/// # Safety
/// `name` is null or a C string.
unsafe fn name_handle(handle: u64, name: *const c_char) {
    // A Score-P that does not measure has no handles, so nothing tells one region from another.
    if handle == 0 || name.is_null() {
        return;
    }
    let order = Ordering::AcqRel;
    for (place, of) in places_of(handle) {
        match place.compare_exchange(0, handle, order, Ordering::Acquire) {
            Ok(_) => {
                // SAFETY: as promised.
                let name = unsafe { CStr::from_ptr(name) };
                return of.store(name.to_owned().into_raw(), Ordering::Release);
            }
            Err(other) if other == handle => return,
            Err(_) => {}
        }
    }
}

fn name_of_handle(handle: u64) -> *const c_char {
    for (place, name) in places_of(handle) {
        match place.load(Ordering::Acquire) {
            0 => break,
            other if other == handle => return name.load(Ordering::Acquire),
            _ => {}
        }
    }
    null()
}

/// Where a handle may be, the most likely place first.
fn places_of(handle: u64) -> impl Iterator<Item = &'static (AtomicU64, AtomicPtr<c_char>)> {
    let first = headwater_model::hash::mix2(handle, 0) as usize % MOST_HANDLES;
    let (before, from) = HANDLES.split_at(first);
    from.iter().chain(before)
}

fn note_iterations(attribute: u64) {
    let order = Ordering::Relaxed;
    let number = attribute.wrapping_add(1);
    let is_there = |place: &AtomicU64| {
        let other = place.compare_exchange(0, number, order, order).err();
        other.is_none_or(|other| other == number)
    };
    let _ = ITERATIONS.iter().any(is_there);
}

fn is_of_iterations(attribute: u64) -> bool {
    let number = attribute.wrapping_add(1);
    let all = ITERATIONS.iter().map(|one| one.load(Ordering::Relaxed));
    all.take_while(|one| *one != 0).any(|one| one == number)
}

include!(concat!(env!("OUT_DIR"), "/markers.rs"));
