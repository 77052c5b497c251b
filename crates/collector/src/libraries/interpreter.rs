//! The CPython in the process: where it is, what its structures look like, and where a thread has its state.
//!
//! Modules and symbols are looked up when modules are noted. The interpreter keeps the state of each thread under a key
//! of the C library. Which key that is shows the first thread that runs Python: its state has the thread's own number,
//! and frames with code objects. So what is assumed about the interpreter is checked before it is used, and nothing
//! calls the interpreter. See `cpython`.

use crate::libraries::{loader, references::Symbol};
use crate::storage::process_spool::say;
use headwater_call_path::{Loaded, stack};
use headwater_cpython::{BLOCK, Code, DEBUG_WORDS, Layout, Memory, Stack, splice};
use headwater_format::spool::layout;
use std::ffi::CStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// The interpreter, which is never freed; null if there is none that is known.
static PYTHON: AtomicPtr<Python> = AtomicPtr::new(std::ptr::null_mut());

/// Whether one was looked at, known or not.
static SEEN: AtomicBool = AtomicBool::new(false);

/// The key under which threads have their states; [`NO_KEY`] until that is known.
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);

/// How often the key was looked for.
static LOOKS: AtomicU32 = AtomicU32::new(0);

const NO_KEY: u32 = u32::MAX;
/// glibc has no more keys.
const KEYS: u32 = 1024;
/// It is not looked for more often than this.
const MOST_LOOKS: u32 = 4096;

/// A CPython.
pub struct Python {
    /// Where its own state is.
    runtime: u64,
    /// What its structures look like.
    pub layout: Layout,
    /// The address of the type of code objects.
    pub code_type: u64,
    module: Range<u64>,
    evaluator: Range<u64>,
}

impl splice::Owner for Python {
    fn is_interpreter(&self, address: u64) -> bool {
        self.module.contains(&address)
    }

    fn is_evaluator(&self, address: u64) -> bool {
        self.evaluator.contains(&address)
    }
}

/// Memory that the kernel reads, which does not fault.
pub struct Checked;

impl Memory for Checked {
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        stack::bytes_at(address, bytes)
    }

    fn blocks(&self, begins: &mut [u64], bytes: &mut [[u8; BLOCK]]) {
        stack::blocks_at(begins, bytes);
    }
}

/// The interpreter, if its frames can be read.
#[inline]
pub fn python() -> Option<&'static Python> {
    // SAFETY: null or a leaked box.
    unsafe { PYTHON.load(Ordering::Acquire).as_ref() }
}

/// The address of CPython's own state; 0 if the program has none.
fn runtime() -> u64 {
    loader::first(c"_PyRuntime") as u64
}

/// Whether the program has a CPython.
pub fn is_there() -> bool {
    runtime() != 0
}

/// Looks whether one of these modules is a CPython, and whether the one that is known is still there.
pub fn note(modules: &[Loaded]) {
    let runtime = runtime();
    if python().is_some_and(|python| python.runtime != runtime) {
        // The program has unloaded it: other code may be at its addresses. A thread may be looking at what is known of it.
        KEY.store(NO_KEY, Ordering::Release);
        PYTHON.store(std::ptr::null_mut(), Ordering::Release);
        SEEN.store(false, Ordering::Release);
    }
    if SEEN.load(Ordering::Relaxed) {
        return;
    }
    let holder =
        |address: u64| (modules.iter()).find(|m| (m.row.start..m.row.end).contains(&address));
    let Some(module) = holder(runtime) else {
        return;
    };
    if SEEN.swap(true, Ordering::AcqRel) {
        return;
    }
    let path = layout::text(&module.row.path);
    let version = match loader::first(c"Py_Version") as u64 {
        0 => version_in(&path),
        at => Checked.word(at).map(Layout::version),
    };
    let Some(version) = version else {
        return say(
            "Call paths have the C functions of Python in place of its own: its version is not known.",
        );
    };
    // As much as the smallest one has; later ones have more.
    let table = Checked.words::<DEBUG_WORDS>(runtime);
    let layout = table.and_then(|table| Layout::of(version, &table));
    let code_type = loader::first(c"PyCode_Type") as u64;
    let (Some(layout), 1..) = (layout, code_type) else {
        return say(&format!(
            "Call paths have the C functions of Python {}.{} in place of its own: this build of it is not known, only 3.9 to 3.14 with a global lock.",
            version.0, version.1
        ));
    };
    let found = Python {
        runtime,
        layout,
        code_type,
        module: module.row.start..module.row.end,
        evaluator: function(c"_PyEval_EvalFrameDefault"),
    };
    PYTHON.store(Box::into_raw(Box::new(found)), Ordering::Release);
}

/// The version in a file's name, as in `libpython3.9.so.1.0`.
fn version_in(path: &str) -> Option<(u8, u8)> {
    let name = path.rsplit('/').next().unwrap_or("");
    let rest = name.split_once("python")?.1;
    let mut numbers = rest.split('.').map(|n| {
        let digits = n.bytes().take_while(u8::is_ascii_digit).count();
        n.get(..digits).and_then(|n| n.parse().ok())
    });
    Some((numbers.next()??, numbers.next()??))
}

type Dladdr1 = unsafe extern "C" fn(
    *const libc::c_void,
    *mut libc::Dl_info,
    *mut *const Symbol,
    libc::c_int,
) -> libc::c_int;

/// The addresses of a function; empty if they are not known.
fn function(name: &CStr) -> Range<u64> {
    const RTLD_DL_SYMENT: libc::c_int = 1;
    let (begin, asks) = (loader::first(name), loader::first(c"dladdr1"));
    if begin == 0 || asks == 0 {
        return 0..0;
    }
    let mut symbol = std::ptr::null();
    // SAFETY: the libc's function, and places for what it returns; the symbol is null or in a module that stays loaded
    // while this looks.
    let size = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let asks = std::mem::transmute::<usize, Dladdr1>(asks);
        let known = asks(begin as *const _, &mut info, &mut symbol, RTLD_DL_SYMENT) != 0;
        symbol.as_ref().filter(|_| known).map_or(0, |s| s.size)
    };
    begin as u64..begin as u64 + size
}

/// The state of the calling thread in the interpreter; `None` if it has none. The signal handler may call this.
#[inline]
pub fn state() -> Option<u64> {
    match KEY.load(Ordering::Acquire) {
        NO_KEY => None,
        key => value_of(key),
    }
}

/// A state that was found to be its thread's.
#[derive(Clone, Copy)]
pub struct Verified {
    runtime: u64,
    state: u64,
    /// Whether this is the process's first thread. It is the one that ends an interpreter, so no other one frees its
    /// state and frames while it reads them.
    is_first: bool,
}

impl Verified {
    /// None.
    pub const NONE: Self = Self {
        runtime: 0,
        state: 0,
        is_first: false,
    };
}

/// The calling thread's own state, and whether it and all that it leads to may be read directly. `verified` is the one
/// that was found last: after the interpreter has ended, another library may have the key, and keep under it what is no
/// state. `leaves` as in `Interpreter::mark`.
///
/// # Safety
/// The interpreter's code is on the stack of the calling thread, so it stays loaded; unless `leaves`.
pub unsafe fn own_state(
    python: &Python,
    verified: &mut Verified,
    leaves: bool,
) -> Option<(u64, bool)> {
    let state = state()?;
    let is_known = (verified.runtime, verified.state) == (python.runtime, state);
    if leaves || !is_known {
        // SAFETY: a plain query.
        let own = unsafe { libc::pthread_self() };
        let number = Checked.word(state.wrapping_add(python.layout.thread_id));
        if number != Some(own) {
            return None;
        }
        *verified = Verified {
            runtime: python.runtime,
            state,
            // SAFETY: plain queries.
            is_first: unsafe { libc::gettid() == libc::getpid() },
        };
    }
    let ends = (python.runtime + python.layout.finalizing) as *const u64;
    // An interpreter that ends frees states and frames, also those of a daemon thread that is in a call.
    // SAFETY: an aligned word in the interpreter, which is loaded.
    let is_direct = !leaves && verified.is_first && unsafe { ends.read_volatile() } == 0;
    Some((state, is_direct))
}

/// What this thread has under a key.
fn value_of(key: u32) -> Option<u64> {
    // SAFETY: reads the thread's own values; a key that there is not has none.
    let value = unsafe { libc::pthread_getspecific(key) } as u64;
    (value != 0).then_some(value)
}

/// Looks for the key, if it is not known yet. `stack` is room for frames. The signal handler may call this.
pub fn look_for_key(python: &Python, stack: &mut Stack) {
    if KEY.load(Ordering::Relaxed) != NO_KEY || LOOKS.fetch_add(1, Ordering::Relaxed) >= MOST_LOOKS
    {
        return;
    }
    let is_state = |key: &u32| value_of(*key).is_some_and(|at| is_state(python, at, stack));
    if let Some(key) = (0..KEYS).find(is_state) {
        KEY.store(key, Ordering::Release);
    }
}

/// Whether the state of the calling thread is at `address`: it has its number, and frames.
fn is_state(python: &Python, address: u64, stack: &mut Stack) -> bool {
    let layout = &python.layout;
    let field = |offset: u64| Checked.word(address.wrapping_add(offset));
    // SAFETY: plain queries.
    let (own, native) = unsafe { (libc::pthread_self(), libc::syscall(libc::SYS_gettid)) };
    field(layout.thread_id) == Some(own)
        && (layout.native_thread_id).is_none_or(|at| field(at) == Some(native as u64))
        && stack.read(&Checked, layout, address)
        && !stack.frames().is_empty()
        && stack
            .frames()
            .iter()
            .all(|frame| Code::read(&Checked, layout, python.code_type, frame.code).is_some())
}

/// Whether a program is CPython by its name.
fn is_named_python(program: &Path) -> bool {
    let name = program.file_name().map_or(&[][..], |n| n.as_bytes());
    let version = name.strip_prefix(b"python");
    version.is_some_and(|v| v.iter().all(|b| b.is_ascii_digit() || *b == b'.'))
}

/// Says so if frames of Python were looked for and never found, or could not be looked for.
pub fn report() {
    let program = || std::env::current_exe().unwrap_or_default();
    if !is_there() && is_named_python(&program()) {
        say(
            "Call paths have the C functions of Python in place of its own: this build of it does not export its symbols.",
        );
    }
    if python().is_some()
        && KEY.load(Ordering::Relaxed) == NO_KEY
        && LOOKS.load(Ordering::Relaxed) > 0
    {
        say(
            "Call paths have the C functions of Python in place of its own: its frames were not found, or the system does not let a process read its own memory.",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_known_by_its_name() {
        for (path, is) in [
            ("/usr/bin/python3.12", true),
            ("python", true),
            ("/usr/bin/python3-config", false),
            ("/opt/python3/bin/app", false),
            ("", false),
        ] {
            assert_eq!(is_named_python(Path::new(path)), is, "{path}");
        }
    }

    #[test]
    fn versions_are_in_the_names_of_files() {
        for (path, version) in [
            ("/usr/bin/python3.9", Some((3, 9))),
            ("/opt/lib/libpython3.10.so.1.0", Some((3, 10))),
            ("/usr/bin/python3", None),
            ("/opt/python3.9/bin/app", None),
        ] {
            assert_eq!(version_in(path), version, "{path}");
        }
    }
}
