//! OpenMP's interface for tools: a runtime that reports its own events asks for us when it is first used.

use crate::entry::trampoline::CALLBACKS;
use crate::guest::usage::IS_LINKED;
use crate::libraries::loader;
use crate::openmp::{self, Lookup};
use std::ffi::{c_char, c_int, c_void};

/// What a runtime gets from a tool.
#[repr(C)]
struct Tool {
    initialize: unsafe extern "C" fn(Lookup, c_int, *mut c_void) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void),
    data: u64,
}

/// A runtime asks for a tool, by its version of OpenMP and its name.
#[unsafe(no_mangle)]
extern "C" fn ompt_start_tool(version: u32, name: *const c_char) -> *const c_void {
    static TOOL: Tool = Tool {
        initialize,
        finalize,
        data: 0,
    };
    let others = loader::next(c"ompt_start_tool");
    if others != 0 {
        // SAFETY: OpenMP defines the function; the runtime's own one searches further.
        let other = unsafe {
            let start: extern "C" fn(u32, *const c_char) -> *const c_void =
                std::mem::transmute(others);
            start(version, name)
        };
        if !other.is_null() {
            return other;
        }
    }
    // If the collector is linked into the program, the runtime is no module of its own, so its time could not be
    // distinguished.
    let asked = std::env::var_os("HEADWATER_SPOOL").is_some();
    let wanted = !IS_LINKED && (asked || loader::next(c"PMPI_Init") != 0);
    let named = std::env::var_os("OMP_TOOL_LIBRARIES").is_some_and(|l| !l.is_empty());
    if wanted && !named {
        std::ptr::from_ref(&TOOL).cast()
    } else {
        std::ptr::null()
    }
}

unsafe extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut c_void) -> c_int {
    // SAFETY: passed on as it came.
    c_int::from(unsafe { openmp::enable_reports(lookup, &CALLBACKS) })
}

unsafe extern "C" fn finalize(_data: *mut c_void) {}
