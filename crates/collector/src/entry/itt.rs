//! Intel's instrumentation interface (ITT): tasks and frames that a program names there are regions here.
//!
//! A program that uses ITT has its static part linked in. That part opens the library that `INTEL_LIBITTNOTIFY64` names,
//! finds [`__itt_api_init`] there, and gives it the list of its functions. The launcher's side names this object. So
//! nothing of the program is built anew, and without the variable its calls cost nothing. What is not listed in
//! `ours` stays as it is without a collector.
//!
//! The layouts are those of `ittnotify_config.h` and `ittnotify.h`, version 3.

use crate::entry::regions::{begin, end, headwater_region_begin, headwater_region_end};
use crate::threads::named::Ends;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong, c_void};
use std::ptr::null;
use std::sync::Mutex;

/// What the static part of ITT knows, up to the list of its functions.
#[repr(C)]
pub struct Global {
    magic: [u8; 8],
    version: [c_ulong; 3],
    _state: [c_long; 3],
    _mutex: libc::pthread_mutex_t,
    _library: *mut c_void,
    _error_handler: *mut c_void,
    _paths: *const *const c_char,
    functions: *mut Function,
}

/// A function of ITT, and where the program finds its address.
#[repr(C)]
struct Function {
    name: *const c_char,
    place: *mut *const c_void,
    _at_first: *const c_void,
    without_collector: *const c_void,
    _group: c_int,
}

/// The first bytes of [`Global`].
const MAGIC: [u8; 8] = [0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30];

/// The version of the layouts.
const MAJOR: c_ulong = 3;

/// Functions in the list at the most.
const MOST_FUNCTIONS: usize = 1024;

/// `__itt_id`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Id([u64; 3]);

/// `__itt_domain` and `__itt_string_handle` but for their flags: a name that the program gave.
#[repr(C)]
pub struct Name {
    text: *const c_char,
    _wide: *const c_void,
    _extra: c_int,
    _more: *const c_void,
    _next: *const c_void,
}

/// `__itt_domain`
#[repr(C)]
pub struct Domain {
    /// Calls with a domain without this flag go nowhere.
    _is_on: c_int,
    name: Name,
}

// SAFETY: they are never written again.
unsafe impl Sync for Name {}
// SAFETY: as above.
unsafe impl Sync for Domain {}

impl Name {
    fn new(text: &CStr) -> Self {
        Self {
            // It is the program's until it ends.
            text: CString::from(text).into_raw(),
            _wide: null(),
            _extra: 0,
            _more: null(),
            _next: null(),
        }
    }

    /// Whether it is this one.
    fn is(&self, text: &CStr) -> bool {
        // SAFETY: made of a C string.
        unsafe { CStr::from_ptr(self.text) == text }
    }
}

/// Names and domains that are made at the most: further ones are null, and their tasks have no name.
const MOST_NAMES: usize = 4096;

static DOMAINS: Mutex<Vec<&'static Domain>> = Mutex::new(Vec::new());
static NAMES: Mutex<Vec<&'static Name>> = Mutex::new(Vec::new());

/// The one that was made for `text`, or a new one. The program makes each once, as it begins.
fn found_or_made<T: 'static>(
    all: &Mutex<Vec<&'static T>>,
    text: *const c_char,
    name: impl Fn(&T) -> &Name,
    new: impl FnOnce(Name) -> T,
) -> *const T {
    if text.is_null() {
        return null();
    }
    // SAFETY: the program gives a C string.
    let text = unsafe { CStr::from_ptr(text) };
    let Ok(mut all) = all.lock() else {
        return null();
    };
    if let Some(there) = all.iter().find(|one| name(one).is(text)) {
        return *there;
    }
    if all.len() >= MOST_NAMES {
        return null();
    }
    let made: &'static T = Box::leak(Box::new(new(Name::new(text))));
    all.push(made);
    made
}

extern "C" fn domain_create(name: *const c_char) -> *const Domain {
    let new = |name| Domain { _is_on: 1, name };
    found_or_made(&DOMAINS, name, |d| &d.name, new)
}

extern "C" fn string_handle_create(name: *const c_char) -> *const Name {
    found_or_made(&NAMES, name, |n| n, |n| n)
}

/// The text of a name; null if there is none.
///
/// # Safety
/// `name` is null, or of ITT's static part or of this file.
unsafe fn text(name: *const Name) -> *const c_char {
    // SAFETY: as promised.
    unsafe { name.as_ref() }.map_or(null(), |name| name.text)
}

/// The same of a domain.
///
/// # Safety
/// As of [`text`].
unsafe fn text_of_domain(domain: *const Domain) -> *const c_char {
    // SAFETY: as promised.
    unsafe { domain.as_ref() }.map_or(null(), |domain| domain.name.text)
}

extern "C" fn task_begin(domain: *const Domain, _task: Id, _parent: Id, name: *const Name) {
    // SAFETY: what the program was given for a name.
    unsafe { begin(text(name), domain.cast()) }
}

extern "C" fn task_end(domain: *const Domain) {
    // SAFETY: no name.
    unsafe { end(Ends::TaskOf(domain.cast())) }
}

extern "C" fn frame_begin(domain: *const Domain, _: *const Id) {
    // SAFETY: what the program was given for a domain.
    unsafe { headwater_region_begin(text_of_domain(domain)) }
}

extern "C" fn frame_end(domain: *const Domain, _: *const Id) {
    // SAFETY: as above.
    unsafe { headwater_region_end(text_of_domain(domain)) }
}

/// Functions of ITT that are ours.
fn ours(name: &CStr) -> Option<*const c_void> {
    Some(match name.to_bytes() {
        b"__itt_domain_create" => domain_create as *const c_void,
        b"__itt_string_handle_create" => string_handle_create as *const c_void,
        b"__itt_task_begin" => task_begin as *const c_void,
        b"__itt_task_end" => task_end as *const c_void,
        b"__itt_frame_begin_v3" => frame_begin as *const c_void,
        b"__itt_frame_end_v3" => frame_end as *const c_void,
        _ => return None,
    })
}

/// The static part of ITT in the program, or in one of its libraries, has opened this object.
///
/// # Safety
/// `global` is null, or ITT's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __itt_api_init(global: *mut Global, _groups: c_int) {
    // SAFETY: as promised.
    let Some(global) = (unsafe { global.as_ref() }) else {
        return;
    };
    if global.magic != MAGIC || global.version[0] != MAJOR {
        return;
    }
    for at in 0..MOST_FUNCTIONS {
        // SAFETY: the list ends with an entry without a name.
        let function = unsafe { &*global.functions.add(at) };
        if function.name.is_null() {
            return;
        }
        // SAFETY: names are C strings, and each place is a variable of the static part.
        unsafe {
            let ours = ours(CStr::from_ptr(function.name));
            if !function.place.is_null() {
                *function.place = ours.unwrap_or(function.without_collector);
            }
        }
    }
}
