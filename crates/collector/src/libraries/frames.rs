//! Frames of Python in the call paths of one thread.
//!
//! A frame is an address of its own kind: a hash of the function, and the line. What a function is called is a row that
//! is written when the function is first seen, while its code object is there. A code object is read from memory before
//! each use, because another one may be at its address.

use crate::libraries::interpreter::{self, Checked, Python, Verified};
use crate::storage::{
    process_spool,
    spool::FEW_BYTES,
    table::{Shared, Table},
};
use headwater_call_path::{Interpreter, Path, Spliced};
use headwater_cpython::{
    Blocks, Code, Frame, Memory, Stack, mark,
    splice::{self, Native, Out},
};
use headwater_format::spool::layout::{
    ContextRow, PYTHON_BITS, PYTHON_LINE_BITS, PythonRow, is_python,
};
use headwater_model::hash::mix2;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The calling contexts of one thread.
pub type Contexts = headwater_call_path::Contexts<Table<ContextRow>, Frames>;

/// Functions of a thread.
const FUNCTIONS: u32 = 1 << 11;
/// Places whose lines are remembered; a power of two.
const PLACES: usize = 1 << 10;

/// A place in Python's code, and its address in call paths.
#[derive(Clone, Copy)]
struct Place {
    frame: Frame,
    /// The hash of its code object.
    code: u64,
    address: u64,
}

/// Room for the frames of a thread. It may be made of zeros.
struct Room {
    stack: Stack,
    places: [Place; PLACES],
    blocks: Blocks,
}

/// What is needed once there is an interpreter.
struct State {
    functions: Table<PythonRow>,
    room: Box<Room>,
}

/// The frames of one thread.
pub struct Frames {
    /// The thread's number.
    number: u32,
    state: Option<State>,
    refused: bool,
    verified: Verified,
}

/// The functions of one thread, in a list of those of all.
struct Functions {
    rows: Shared<PythonRow>,
    next: *mut Functions,
}

/// The first of them. They are never freed.
static ALL: AtomicPtr<Functions> = AtomicPtr::new(std::ptr::null_mut());

/// Adds the functions of a thread.
fn share(rows: Shared<PythonRow>) {
    let next = ALL.load(Ordering::Acquire);
    let own = Box::into_raw(Box::new(Functions { rows, next }));
    let add = |next| {
        // SAFETY: nobody else sees it before it is in the list.
        unsafe { (*own).next = next };
        Some(own)
    };
    let _ = ALL.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
}

/// The function that a frame of any thread is in, and the line.
pub fn function_of(address: u64) -> Option<(PythonRow, u32)> {
    let behind = address & ((1 << PYTHON_LINE_BITS) - 1);
    let mut at = ALL.load(Ordering::Acquire);
    // SAFETY: null or a leaked box, whose rows stay.
    while let Some(functions) = unsafe { at.as_ref() } {
        let found = functions
            .rows
            .find(|row| is_python(address) && row.address == address - behind);
        if let Some(row) = found {
            return Some((row, row.first_line.saturating_add(behind as u32)));
        }
        at = functions.next;
    }
    None
}

/// Memory that this thread may read directly: its own frames while it calls out of the interpreter, when nothing
/// changes them, of an interpreter whose structures were checked and that does not end, from the state on that is known
/// to be its own.
struct Own;

impl Memory for Own {
    #[inline]
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        /// No address of a program is below or above these.
        const LOWEST: u64 = 1 << 12;
        const HIGHEST: u64 = 1 << 56;
        let is_one = (LOWEST..HIGHEST).contains(&address);
        if is_one {
            // SAFETY: see above.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    address as *const u8,
                    bytes.as_mut_ptr(),
                    bytes.len(),
                );
            }
        }
        is_one
    }
}

impl Frames {
    /// Of the thread with this number.
    pub const fn new(number: u32) -> Self {
        Self {
            number,
            state: None,
            refused: false,
            verified: Verified::NONE,
        }
    }
}

impl Interpreter for Frames {
    #[inline]
    fn mark(&mut self, leaves: bool) -> u64 {
        // SAFETY: a mark is asked for only while the interpreter's code is on the stack.
        let mark = interpreter::python().and_then(|p| unsafe { self.mark_of(p, leaves) });
        mark.map_or(UNKNOWN, |mark| mark | 1)
    }

    fn prepare(&mut self) {
        if self.state.is_none() && !self.refused && interpreter::python().is_some() {
            let number = self.number;
            let functions = process_spool::with_spool(|spool| {
                spool.table_from(number, FUNCTIONS, true, FEW_BYTES)
            });
            self.state = functions.zip(room()).map(|(functions, room)| {
                share(functions.shared());
                State { functions, room }
            });
            self.refused = self.state.is_none();
        }
    }

    fn splice(&mut self, path: &Path, out: &mut Spliced) -> bool {
        let Some(python) = interpreter::python() else {
            return false;
        };
        let code = path.ip.get(..path.len).unwrap_or(&[]);
        let is_own = |a: &u64| splice::Owner::is_interpreter(python, *a);
        if !code.iter().any(is_own) {
            return false;
        }
        if let Some(state) = &mut self.state {
            interpreter::look_for_key(python, &mut state.room.stack);
            let slots = path.slot.get(..path.len).unwrap_or(&[]);
            if let Some(at) = interpreter::state() {
                state.splice(python, at, &Native { code, slots }, out);
            }
        }
        true
    }

    fn is_frame(address: u64) -> bool {
        is_python(address)
    }
}

/// The mark of a thread whose frames cannot be read. All others are odd.
const UNKNOWN: u64 = 2;

impl Frames {
    /// The innermost frame of the calling thread, which calls out of the interpreter.
    ///
    /// # Safety
    /// The call comes from the interpreter's code.
    pub unsafe fn innermost(&mut self) -> Option<u64> {
        let python = interpreter::python()?;
        let State { functions, room } = self.state.as_mut()?;
        let Room {
            stack,
            places,
            blocks,
        } = &mut **room;
        // SAFETY: promised by the caller.
        let (at, is_direct) = unsafe { interpreter::own_state(python, &mut self.verified, false) }?;
        let seen = blocks.of(Checked);
        let is_read = match is_direct {
            true => stack.read(&Own, &python.layout, at),
            false => stack.read(&seen, &python.layout, at),
        };
        if !is_read {
            return None;
        }
        let mut frames = stack.frames().iter();
        frames.find_map(
            |frame| match address_of(&seen, python, *frame, functions, places) {
                Known::Address(address) => Some(Some(address)),
                Known::NoFunction => None,
                Known::Nothing => Some(None),
            },
        )?
    }

    /// # Safety
    /// The interpreter's code is on the stack of the calling thread, unless another thread may be unloading it
    /// (`leaves`).
    #[inline(never)]
    unsafe fn mark_of(&mut self, python: &Python, leaves: bool) -> Option<u64> {
        let room = &mut *self.state.as_mut()?.room;
        // SAFETY: promised by the caller.
        let (at, is_direct) =
            unsafe { interpreter::own_state(python, &mut self.verified, leaves) }?;
        match is_direct {
            true => mark(&Own, &python.layout, at),
            false => mark(&room.blocks.of(Checked), &python.layout, at),
        }
    }
}

/// Room of zeros; `None` if there is no memory. It is larger than some threads' stacks, so it is never on one.
fn room() -> Option<Box<Room>> {
    let layout = std::alloc::Layout::new::<Room>();
    // SAFETY: the layout is the one with which the box frees it, and the room holds numbers and one truth value alone, of
    // which zeros are values.
    unsafe {
        let at = std::alloc::alloc_zeroed(layout).cast::<Room>();
        (!at.is_null()).then(|| Box::from_raw(at))
    }
}

impl State {
    fn splice(&mut self, python: &Python, at: u64, native: &Native<'_>, out: &mut Spliced) {
        let Self { functions, room } = self;
        let Room {
            stack,
            places,
            blocks,
        } = &mut **room;
        // The thread's own frames and their functions do not change while it is here.
        let seen = blocks.of(Checked);
        if !stack.read(&seen, &python.layout, at) {
            return;
        }
        let mut all_known = true;
        let spliced = splice::splice(native, stack, python, |frame| {
            let address = match frame {
                Out::Native(address) => Some(address),
                Out::Python(frame) => match address_of(&seen, python, frame, functions, places) {
                    Known::Address(address) => Some(address),
                    Known::NoFunction => return true,
                    Known::Nothing => None,
                },
            };
            all_known &= address.is_some();
            address.is_some_and(|address| out.put(address))
        });
        if !spliced || !all_known {
            out.len = 0;
        }
    }
}

/// What is known of a frame.
enum Known {
    /// Its address in call paths.
    Address(u64),
    /// It is the interpreter's own, and no function.
    NoFunction,
    /// Nothing: it is not what it should be, or there is no room for it.
    Nothing,
}

fn address_of(
    memory: &impl Memory,
    python: &Python,
    frame: Frame,
    functions: &mut Table<PythonRow>,
    places: &mut [Place; PLACES],
) -> Known {
    let layout = &python.layout;
    let Some(code) = Code::read(memory, layout, python.code_type, frame.code) else {
        return Known::Nothing;
    };
    if !code.is_function() {
        return Known::NoFunction;
    }
    let hash = code.hash();
    let at = mix2(frame.code, frame.at) as usize % PLACES;
    if let Some(place) = places.get(at)
        && (place.frame, place.code) == (frame, hash)
    {
        return Known::Address(place.address);
    }
    let Some(function) = code.function(memory, layout) else {
        return Known::Nothing;
    };
    if function.is_shim() {
        return Known::NoFunction;
    }
    let mut found = || {
        let line = code.line(memory, layout, frame.at)?;
        let word = |bytes: &[u8]| bytes.iter().fold(0, |w, b| w << 8 | u64::from(*b));
        let texts = function.file.chunks(8).chain(function.name.chunks(8));
        let hash = texts.fold(u64::from(function.first_line), |h, c| mix2(h, word(c)));
        let inside = ((PYTHON_BITS - 1) >> PYTHON_LINE_BITS) << PYTHON_LINE_BITS;
        let first = PYTHON_BITS | hash & inside;
        functions.find_or_push(
            hash,
            |row| row.address == first,
            || PythonRow {
                address: first,
                first_line: function.first_line,
                zero: 0,
                file: function.file,
                name: function.name,
            },
        )?;
        let behind = line.saturating_sub(function.first_line);
        Some(first + u64::from(behind.min((1 << PYTHON_LINE_BITS) - 1)))
    };
    let Some(address) = found() else {
        return Known::Nothing;
    };
    if let Some(place) = places.get_mut(at) {
        *place = Place {
            frame,
            code: hash,
            address,
        };
    }
    Known::Address(address)
}
