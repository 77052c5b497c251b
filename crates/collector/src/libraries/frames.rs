//! Frames of Python in the call paths of one thread.
//!
//! A frame is an address of its own kind: a hash of the function, and the line. What a function is called is a row that
//! is written when the function is first seen, while its code object is there. A code object is read from memory before
//! each use, because another one may be at its address.

use crate::libraries::interpreter::{self, Checked, Python};
use crate::storage::{process_spool, spool::FEW_BYTES, table::Table};
use headwater_call_path::{Interpreter, Path, Spliced};
use headwater_cpython::{
    Code, Frame, Memory, Stack,
    splice::{self, Native, Out},
};
use headwater_format::spool::layout::{
    ContextRow, PYTHON_BITS, PYTHON_LINE_BITS, PythonRow, is_python,
};
use headwater_model::hash::mix2;

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

/// What is needed once there is an interpreter.
struct State {
    stack: Stack,
    functions: Table<PythonRow>,
    places: [Place; PLACES],
}

/// The frames of one thread.
pub struct Frames {
    /// The thread's number.
    number: u32,
    state: Option<Box<State>>,
    refused: bool,
}

/// Memory that this thread may read directly: its own frames while it calls out of the interpreter, when nothing
/// changes them, of an interpreter whose structures were checked, from the state on that is known to be its own.
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
        }
    }
}

impl Interpreter for Frames {
    #[inline]
    fn mark(&mut self) -> u64 {
        match interpreter::python() {
            None => 0,
            Some(python) => self.mark_of(python),
        }
    }

    fn prepare(&mut self) {
        if self.state.is_none() && !self.refused && interpreter::python().is_some() {
            let number = self.number;
            let functions = process_spool::with_spool(|spool| {
                spool.table_from(number, FUNCTIONS, true, FEW_BYTES)
            });
            self.state = functions.map(State::new);
            self.refused = self.state.is_none();
        }
    }

    fn splice(&mut self, path: &Path, out: &mut Spliced) {
        let (Some(python), Some(state)) = (interpreter::python(), &mut self.state) else {
            return;
        };
        let code = path.ip.get(..path.len).unwrap_or(&[]);
        if !code
            .iter()
            .any(|a| splice::Owner::is_interpreter(python, *a))
        {
            return;
        }
        interpreter::look_for_key(python, &mut state.stack);
        let Some(at) = interpreter::state() else {
            return;
        };
        let slots = path.slot.get(..path.len).unwrap_or(&[]);
        if state.stack.read(&Checked, &python.layout, at) {
            state.splice(python, &Native { code, slots }, out);
        }
    }

    fn is_frame(address: u64) -> bool {
        is_python(address)
    }
}

impl Frames {
    /// The innermost frame of the calling thread, which calls out of the interpreter.
    pub fn innermost(&mut self) -> Option<u64> {
        let python = interpreter::python()?;
        let (state, at) = (self.state.as_mut()?, interpreter::own_state(python)?);
        let State {
            stack,
            functions,
            places,
        } = &mut **state;
        if !stack.read(&Own, &python.layout, at) {
            return None;
        }
        let mut frames = stack.frames().iter();
        frames.find_map(
            |frame| match address_of(python, *frame, functions, places) {
                Known::Address(address) => Some(Some(address)),
                Known::NoFunction => None,
                Known::Nothing => Some(None),
            },
        )?
    }

    #[inline(never)]
    fn mark_of(&mut self, python: &Python) -> u64 {
        let (Some(state), Some(at)) = (&mut self.state, interpreter::own_state(python)) else {
            return 0;
        };
        if !state.stack.read(&Own, &python.layout, at) {
            return 0;
        }
        let mut mark = 1;
        for frame in state.stack.frames() {
            let code = Code::read(&Own, &python.layout, python.code_type, frame.code);
            mark = mix2(mark ^ frame.at, code.map_or(0, |c| c.hash()));
        }
        mark | 1
    }
}

impl State {
    fn new(functions: Table<PythonRow>) -> Box<Self> {
        Box::new(Self {
            stack: Stack::new(),
            functions,
            places: [Place {
                frame: Frame { code: 0, at: 0 },
                code: 0,
                address: 0,
            }; PLACES],
        })
    }

    fn splice(&mut self, python: &Python, native: &Native<'_>, out: &mut Spliced) {
        let Self {
            stack,
            functions,
            places,
        } = self;
        let mut all_known = true;
        let spliced = splice::splice(native, stack, python, |frame| {
            let address = match frame {
                Out::Native(address) => Some(address),
                Out::Python(frame) => match address_of(python, frame, functions, places) {
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
    python: &Python,
    frame: Frame,
    functions: &mut Table<PythonRow>,
    places: &mut [Place; PLACES],
) -> Known {
    let layout = &python.layout;
    let Some(code) = Code::read(&Checked, layout, python.code_type, frame.code) else {
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
    let Some(function) = code.function(&Checked, layout) else {
        return Known::Nothing;
    };
    if function.is_shim() {
        return Known::NoFunction;
    }
    let mut found = || {
        let line = code.line(&Checked, layout, frame.at)?;
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
