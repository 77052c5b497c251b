//! Functions by which the program names its regions (`include/headwater.h`). Without the collector there are none.

use crate::guest::recording::RECORDING;
use crate::threads::local::{self, local};
use crate::threads::named::Ends;
use crate::threads::thread::Thread;
use std::ffi::{c_char, c_void};
use std::ptr::null;
use std::sync::atomic::Ordering;

/// The calling thread's recording, if it records.
#[inline]
fn recording() -> Option<&'static mut Thread> {
    if !RECORDING.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: null or this thread's own recording, which is never freed.
    unsafe { local::recording().as_mut() }
}

/// A region begins. `domain` is that of a task of ITT, or null.
///
/// # Safety
/// `name` is null or a C string.
#[inline]
pub unsafe fn begin(name: *const c_char, domain: *const c_void) {
    match recording() {
        // SAFETY: as promised.
        Some(t) => unsafe { t.begin_named(or_unnamed(name), domain) },
        None => {
            let early = &local().early_regions;
            early.set(early.get().saturating_add(1));
        }
    }
}

/// Whether the next end is of a region that began before the recording.
pub fn ends_early() -> bool {
    local().early_regions.get() > 0 && recording().is_none_or(|t| !t.has_regions())
}

/// A region ends.
///
/// # Safety
/// A name is a C string.
#[inline]
pub unsafe fn end(which: Ends) {
    match recording() {
        // A region that began before the recording ends now.
        Some(t) if local().early_regions.get() > 0 && !t.has_regions() => {
            let early = &local().early_regions;
            early.set(early.get() - 1);
        }
        // SAFETY: as promised.
        Some(t) => unsafe { t.end_named(which) },
        None if local().early_regions.get() > 0 => {
            let early = &local().early_regions;
            early.set(early.get() - 1);
        }
        // A region that began during the recording ends now that nothing is recorded.
        // SAFETY: null or this thread's own recording, which is never freed; the name as promised.
        None => unsafe {
            if let Some(t) = local::recording().as_mut() {
                t.leave_named(which);
            }
        },
    }
}

/// A region begins.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headwater_region_begin(name: *const c_char) {
    // SAFETY: as promised.
    unsafe { begin(name, null()) }
}

/// A region ends: the innermost one if `name` is null.
///
/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headwater_region_end(name: *const c_char) {
    let which = match name.is_null() {
        true => Ends::Innermost,
        false => Ends::Named(name),
    };
    // SAFETY: as promised.
    unsafe { end(which) }
}

/// An iteration of the innermost region has ended.
#[unsafe(no_mangle)]
pub extern "C" fn headwater_region_iteration() {
    if let Some(t) = recording() {
        t.iterate_named();
    }
}

fn or_unnamed(name: *const c_char) -> *const c_char {
    match name.is_null() {
        true => c"unnamed".as_ptr(),
        false => name,
    }
}
