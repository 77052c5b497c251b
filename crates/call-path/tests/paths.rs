//! Call paths of this process: unwound, found again, below a root, and taken over from another thread.
#![allow(unsafe_code)]

use headwater_call_path::{
    Caller, ContextStore, Contexts, Interpreter, NONE, Path, Root, Spliced, Stack, Tables, loaded,
    root,
};
use headwater_format::spool::layout::ContextRow;
#[cfg(target_arch = "x86_64")]
use std::ffi::c_void;

/// Rows with room for `ROOM`, in memory that is never freed.
struct Leaked(&'static mut Vec<ContextRow>);

const ROOM: usize = 1000;

impl Leaked {
    fn new() -> Self {
        Self(Box::leak(Box::new(Vec::with_capacity(ROOM))))
    }
}

// SAFETY: no row is changed, and the vector has room for all of them from the start and is never freed.
unsafe impl ContextStore for Leaked {
    fn intern(&mut self, _hash: u64, row: ContextRow) -> Option<u32> {
        let known = self.0.iter().position(|r| *r == row);
        let at = known.or_else(|| {
            let has_room = self.0.len() < ROOM;
            has_room
                .then(|| self.0.push(row))
                .map(|()| self.0.len() - 1)
        });
        at.map(|at| at as u32)
    }

    fn row(&mut self, ctx: u32) -> Option<ContextRow> {
        self.0.get(ctx as usize).copied()
    }

    fn rows(&self) -> *const ContextRow {
        self.0.as_ptr()
    }
}

/// The contexts of this thread.
fn own() -> Contexts<Leaked> {
    Contexts::new(Leaked::new(), Stack::own(), |_| false, ())
}

/// The addresses of a context and its callers, innermost first.
fn addresses<I: Interpreter>(contexts: &Contexts<Leaked, I>, mut ctx: u32) -> Vec<u64> {
    let mut out = Vec::new();
    while ctx != NONE {
        // SAFETY: a context is the number of a row that was stored.
        let row = unsafe { *contexts.rows().add(ctx as usize) };
        out.push(row.address);
        ctx = row.parent;
    }
    out
}

/// A call from here.
macro_rules! here {
    () => {{
        let (return_address, stack_pointer, frame_pointer);
        // SAFETY: reads registers.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!(
                "lea {ip}, [rip]", "mov {sp}, rsp", "mov {fp}, rbp",
                ip = out(reg) return_address, sp = out(reg) stack_pointer, fp = out(reg) frame_pointer,
            );
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!(
                "adr {ip}, .", "mov {sp}, sp", "mov {fp}, x29",
                ip = out(reg) return_address, sp = out(reg) stack_pointer, fp = out(reg) frame_pointer,
            );
        }
        Caller { return_address, stack_pointer, frame_pointer }
    }};
}

/// A call below `depth` calls of this function, in one of two lines.
#[inline(never)]
fn calls<I: Interpreter>(
    contexts: &mut Contexts<Leaked, I>,
    tables: &Tables,
    depth: u32,
    second: bool,
) -> u32 {
    let ctx = match depth {
        0 if second => contexts.of_call(tables, here!()),
        0 => contexts.of_call(tables, here!()),
        _ => calls(contexts, tables, depth - 1, second),
    };
    std::hint::black_box(ctx)
}

#[test]
fn a_path_is_unwound_once_and_then_found() {
    let (mut contexts, tables) = (own(), Tables::new(&loaded()));
    // The line of the call, and how many paths were unwound by then. All calls are from one place in this function.
    let steps = [(false, 1), (false, 1), (true, 2), (false, 3)];
    let mut at = Vec::new();
    for (second, unwound) in std::hint::black_box(&steps[..]) {
        if *unwound == 3 {
            contexts.forget();
        }
        at.push(calls(&mut contexts, &tables, 5, *second));
        assert_eq!(contexts.unwound, *unwound);
    }
    assert_eq!((at[0], at[0]), (at[1], at[3]));
    let [first, second] = [at[0], at[2]].map(|ctx| addresses(&contexts, ctx));
    assert!(first.iter().take(8).all(|a| tables.know(*a)), "{first:x?}");
    let inside = &first[1..];
    let same = inside.iter().take_while(|a| **a == inside[0]).count();
    assert_eq!(same, 5, "{first:x?}");
    assert_ne!(first[0], second[0]);
    assert_eq!(first[1..], second[1..], "all but the line is the same path");
}

// Calls its first argument with its second one on an aligned stack, as GCC does where a function has vectors there: the end of
// the caller's stack is in the slot below the saved frame pointer.
#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".globl call_paths_realigned",
    ".type call_paths_realigned, @function",
    "call_paths_realigned:",
    ".cfi_startproc",
    "lea r10, [rsp + 8]",
    ".cfi_def_cfa r10, 0",
    "and rsp, -64",
    "push qword ptr [r10 - 8]",
    "push rbp",
    "mov rbp, rsp",
    // DW_CFA_expression rbp, DW_OP_breg6 0
    ".cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00",
    "push r10",
    // DW_CFA_def_cfa_expression DW_OP_breg6 -8, DW_OP_deref
    ".cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06",
    "sub rsp, 40",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "add rsp, 40",
    "pop r10",
    ".cfi_def_cfa r10, 0",
    "pop rbp",
    "lea rsp, [r10 - 8]",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size call_paths_realigned, . - call_paths_realigned",
);

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    fn call_paths_realigned(call: extern "C" fn(*mut c_void), of: *mut c_void);
}

/// What is unwound below a frame that aligns its stack.
#[cfg(target_arch = "x86_64")]
struct Unwinding {
    contexts: Contexts<Leaked>,
    tables: Tables,
    found: u32,
}

#[cfg(target_arch = "x86_64")]
extern "C" fn unwinds(of: *mut c_void) {
    // SAFETY: `realigns` passes one that nobody else uses meanwhile.
    let of = unsafe { &mut *of.cast::<Unwinding>() };
    of.found = std::hint::black_box(of.contexts.of_call(&of.tables, here!()));
}

/// Where the stack begins differs by the words of `ROOM`.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
fn realigns<const ROOM: usize>(of: &mut Unwinding) -> u64 {
    let room = std::hint::black_box([0u64; ROOM]);
    // SAFETY: the function calls its first argument with its second one.
    unsafe { call_paths_realigned(unwinds, std::ptr::from_mut(of).cast()) };
    room.iter().sum()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_frame_that_aligns_its_stack_has_callers() {
    let mut of = Unwinding {
        contexts: own(),
        tables: Tables::new(&loaded()),
        found: NONE,
    };
    let here = of.contexts.of_call(&of.tables, here!());
    // The callers of this function are above it on every path.
    let above = addresses(&of.contexts, here).split_off(1);
    assert!(above.len() >= 3, "{above:x?}");
    let mut callers = |run: fn(&mut Unwinding) -> u64| {
        run(&mut of);
        let all = addresses(&of.contexts, of.found);
        assert!(all.ends_with(&above), "{all:x?}, {above:x?}");
        all.len()
    };
    let depths = [
        callers(realigns::<1>),
        callers(realigns::<2>),
        callers(realigns::<4>),
    ];
    assert!(depths.iter().all(|d| *d == depths[0]), "{depths:?}");
}

#[test]
fn without_tables_a_new_path_is_its_return_address() {
    let mut contexts = own();
    let from = here!();
    let ctx = contexts.of_call_by(None, from);
    assert_eq!(addresses(&contexts, ctx), [from.return_address]);
    assert_eq!(contexts.unwound, 0);
}

/// What a worker has, and what it finds.
struct Worker {
    contexts: Contexts<Leaked>,
    tables: Tables,
    /// Its own context, and that of a call below it.
    found: [u32; 2],
}

unsafe extern "C-unwind" fn work(worker: *mut Worker) -> u64 {
    // SAFETY: the test's worker, which nobody else uses meanwhile.
    let worker = unsafe { &mut *worker };
    let own = worker.contexts.of_call(&worker.tables, here!());
    let below = calls(&mut worker.contexts, &worker.tables, 2, false);
    worker.found = [own, below];
    7
}

#[test]
fn a_workers_path_goes_on_from_the_call_that_made_it_work() {
    let mut worker = Worker {
        contexts: own(),
        tables: Tables::new(&loaded()),
        found: [NONE; 2],
    };
    let maker = worker.contexts.place(0x4711);
    let at = &raw mut worker;
    // SAFETY: this thread's own root, which lives until the end of the test, and a function of one pointer.
    let result = unsafe {
        let root = &raw mut (*at).contexts.root;
        root::run(root, maker, work as *const () as usize, at as u64)
    };
    assert_eq!(result, 7);
    assert_eq!(worker.contexts.root, Root::NONE);
    let [own, below] = worker.found.map(|ctx| addresses(&worker.contexts, ctx));
    assert_eq!(own.len(), 2, "{own:x?}");
    assert_eq!(own[1], 0x4711);
    assert_eq!(below.len(), 5, "{below:x?}");
    assert_eq!(below[4], 0x4711);
}

#[test]
fn another_threads_context_is_taken_over() {
    let (mut contexts, tables) = (own(), Tables::new(&loaded()));
    let ctx = calls(&mut contexts, &tables, 3, false);
    let (origin, expected) = (contexts.origin(ctx, 1), addresses(&contexts, ctx));
    let others = std::thread::spawn(move || {
        let mut contexts = own();
        let before = contexts.place(0x4711);
        let own = contexts.adopt(origin, 2);
        assert_ne!(own, before);
        assert_eq!(contexts.adopt(origin, 2), own);
        assert_eq!(contexts.adopt(origin, 1), ctx, "its own stays");
        addresses(&contexts, own)
    });
    assert_eq!(others.join().expect("no panic"), expected);
}

/// In place of an interpreter that is on all paths: what it runs; 0 if that is not known.
struct Running(u64);

const FRAME: u64 = 1 << 62;

impl Interpreter for Running {
    fn mark(&mut self, _leaves: bool) -> u64 {
        self.0 + 1
    }

    fn prepare(&mut self) {}

    fn splice(&mut self, path: &Path, out: &mut Spliced) -> bool {
        if self.0 != 0 {
            out.put(FRAME + self.0);
            out.put(path.ip[path.len - 1]);
        }
        true
    }

    fn is_frame(address: u64) -> bool {
        address & FRAME != 0
    }
}

#[test]
fn a_known_path_has_what_the_interpreter_runs() {
    let none = |_| false;
    let mut contexts = Contexts::new(Leaked::new(), Stack::own(), none, Running(0));
    let tables = Tables::new(&loaded());
    let mut at = Vec::new();
    for (mark, unwound) in std::hint::black_box(&[(0, 1), (7, 2), (9, 3), (7, 3), (0, 3)][..]) {
        contexts.interpreter().0 = *mark;
        let ctx = calls(&mut contexts, &tables, 3, false);
        assert_eq!(contexts.unwound, *unwound, "{mark}");
        at.push(addresses(&contexts, ctx));
    }
    assert_eq!((&at[1], &at[0]), (&at[3], &at[4]));
    let outermost = *at[0].last().expect("a path");
    assert_eq!(at[1], [FRAME + 7, outermost]);
    assert_eq!(at[2], [FRAME + 9, outermost]);
}
