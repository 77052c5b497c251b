//! Where CPython has what, by its version: offsets in bytes, on a 64-bit system.
//!
//! The numbers of 3.9 to 3.12 are those of CPython's headers, and the same in all releases of a version. From 3.13 on,
//! the interpreter itself has a table of its offsets (`_Py_DebugOffsets`) at the begin of `_PyRuntime`.

use crate::lines::Table;

/// How a thread's frames are chained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Chain {
    /// Frame objects, each evaluated by a call of the evaluator (3.9, 3.10). If the evaluator also chains marks on its
    /// stack: offsets of the innermost mark in the thread's state, and of the next one in a mark.
    Objects {
        frame: u64,
        marks: Option<(u64, u64)>,
    },
    /// Marks on the evaluator's stack, each with its innermost frame; the outermost frame of a call of the evaluator has
    /// a flag (3.11).
    Marks {
        mark: u64,
        frame: u64,
        next: u64,
        is_entry: u64,
    },
    /// Frames, of which the evaluator's own are on its stack (from 3.12 on). Where the state has a mark with the
    /// innermost frame, its offset.
    Entries {
        mark: Option<u64>,
        frame: u64,
        owner: u64,
    },
}

/// Frames with this owner, or a higher one, are the evaluator's own.
pub(crate) const OWNED_BY_EVALUATOR: u8 = 3;

/// What an instruction's place in a frame is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum At {
    /// Bytes from the first instruction, as an `int`; negative before the first.
    Bytes,
    /// The same in instructions of two bytes.
    Instructions,
    /// An address in the code object, in which the instructions are at this offset.
    Address(u64),
}

/// Structures of one version.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// Offset of what `pthread_self` returned in the thread, in the state of a thread.
    pub thread_id: u64,
    /// Offset of the thread's number in the system, if it has one.
    pub native_thread_id: Option<u64>,
    /// Offset in `_PyRuntime` of a word that is not zero once the interpreter ends. From then on it frees the states and
    /// frames of threads that still run.
    pub finalizing: u64,
    pub(crate) chain: Chain,
    /// Offsets in a frame.
    pub(crate) frame_code: u64,
    pub(crate) frame_previous: u64,
    pub(crate) frame_at: u64,
    pub(crate) at: At,
    /// Offsets in a code object. Before 3.11 functions have no qualified name.
    pub(crate) file: u64,
    pub(crate) name: u64,
    pub(crate) first_line: u64,
    pub(crate) line_table: u64,
    pub(crate) lines: Table,
    /// Where the characters of a string begin: of ASCII alone, and of others.
    pub(crate) ascii: u64,
    pub(crate) other_text: u64,
}

/// 3.9.
const PYTHON_3_9: Layout = Layout {
    thread_id: 176,
    native_thread_id: None,
    finalizing: 16,
    chain: Chain::Objects {
        frame: 24,
        marks: None,
    },
    frame_code: 32,
    frame_previous: 24,
    frame_at: 104,
    at: At::Bytes,
    file: 104,
    name: 112,
    first_line: 40,
    line_table: 120,
    lines: Table::Pairs,
    ascii: 48,
    other_text: 72,
};

/// 3.10.
const PYTHON_3_10: Layout = Layout {
    chain: Chain::Objects {
        frame: 24,
        marks: Some((48, 8)),
    },
    frame_at: 96,
    at: At::Instructions,
    lines: Table::Ranges,
    ..PYTHON_3_9
};

/// 3.11.
const PYTHON_3_11: Layout = Layout {
    thread_id: 152,
    native_thread_id: Some(160),
    finalizing: 24,
    chain: Chain::Marks {
        mark: 56,
        frame: 8,
        next: 16,
        is_entry: 68,
    },
    frame_code: 32,
    frame_previous: 48,
    frame_at: 56,
    at: At::Address(184),
    file: 112,
    name: 128,
    first_line: 72,
    line_table: 136,
    lines: Table::Locations,
    ..PYTHON_3_9
};

/// 3.12.
const PYTHON_3_12: Layout = Layout {
    thread_id: 136,
    native_thread_id: Some(144),
    chain: Chain::Entries {
        mark: Some(56),
        frame: 0,
        owner: 70,
    },
    frame_code: 0,
    frame_previous: 8,
    at: At::Address(192),
    first_line: 68,
    ascii: 40,
    other_text: 56,
    ..PYTHON_3_11
};

/// Words of the interpreter's own table of offsets that are read.
pub const DEBUG_WORDS: usize = 50;

/// First word of that table.
const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");

/// Where in the table the group of `_PyRuntime` itself is.
const RUNTIME: usize = 3;

/// Where in the table the words are: the groups of the thread's state, of a frame and of a code object.
struct Groups {
    thread: usize,
    frame: usize,
    code: usize,
}

const GROUPS_3_13: Groups = Groups {
    thread: 19,
    frame: 28,
    code: 34,
};
const GROUPS_3_14: Groups = Groups {
    thread: 22,
    frame: 31,
    code: 39,
};

/// No structure of the interpreter is larger, bytes.
const LARGEST: u64 = 1 << 16;

impl Layout {
    /// The layout of a version (major and minor) whose `_PyRuntime` begins with `runtime`; `None` if it is unknown.
    pub fn of(version: (u8, u8), runtime: &[u64; DEBUG_WORDS]) -> Option<Self> {
        match version {
            (3, 9) => Some(PYTHON_3_9),
            (3, 10) => Some(PYTHON_3_10),
            (3, 11) => Some(PYTHON_3_11),
            (3, 12) => Some(PYTHON_3_12),
            (3, 13) => Self::by_debug_offsets(runtime, &GROUPS_3_13),
            (3, 14) => Self::by_debug_offsets(runtime, &GROUPS_3_14),
            _ => None,
        }
    }

    /// The version of an interpreter, as `PY_VERSION_HEX` has it.
    pub fn version(hex: u64) -> (u8, u8) {
        ((hex >> 24) as u8, (hex >> 16) as u8)
    }

    fn by_debug_offsets(table: &[u64; DEBUG_WORDS], groups: &Groups) -> Option<Self> {
        let [cookie, _, free_threaded, ..] = *table;
        if cookie != COOKIE || free_threaded != 0 {
            return None;
        }
        let word = |group: usize, at: usize| {
            let word = table.get(group + at).copied();
            word.filter(|w| *w < LARGEST)
        };
        // `_PyRuntime` is larger than all other structures.
        let inside_runtime = |at: usize| {
            let size = table.get(RUNTIME).copied()?;
            let word = table.get(RUNTIME + at).copied()?;
            (word < size && word < LARGEST && word.is_multiple_of(8)).then_some(word)
        };
        // Each group begins with the size of its structure.
        let inside = |group: usize, at: usize| {
            let size = word(group, 0)?;
            word(group, at).filter(|w| *w < size)
        };
        Some(Self {
            thread_id: inside(groups.thread, 5)?,
            native_thread_id: Some(inside(groups.thread, 6)?),
            finalizing: inside_runtime(1)?,
            chain: Chain::Entries {
                mark: None,
                frame: inside(groups.thread, 4)?,
                owner: inside(groups.frame, 5)?,
            },
            frame_previous: inside(groups.frame, 1)?,
            frame_code: inside(groups.frame, 2)?,
            frame_at: inside(groups.frame, 3)?,
            file: inside(groups.code, 1)?,
            name: inside(groups.code, 3)?,
            line_table: inside(groups.code, 4)?,
            first_line: inside(groups.code, 5)?,
            at: At::Address(inside(groups.code, 9)?),
            ..PYTHON_3_12
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of 3.13.0 on x86-64, as far as it is used.
    fn table() -> [u64; DEBUG_WORDS] {
        let mut table = [0; DEBUG_WORDS];
        table[0] = COOKIE;
        for (at, word) in [
            (3, 500_000),
            (4, 680),
            (19, 312),
            (23, 72),
            (24, 152),
            (25, 160),
            (28, 80),
            (29, 8),
            (30, 0),
            (31, 56),
            (33, 70),
            (34, 208),
            (35, 112),
            (36, 120),
            (37, 128),
            (38, 136),
            (39, 68),
            (43, 200),
        ] {
            table[at] = word;
        }
        table
    }

    #[test]
    fn the_interpreters_own_table_gives_its_offsets() {
        let layout = Layout::of((3, 13), &table()).expect("a known version");
        assert_eq!((layout.thread_id, layout.frame_at), (152, 56));
        assert_eq!(layout.at, At::Address(200));
        assert_eq!((layout.first_line, layout.name), (68, 128));
        assert_eq!(layout.finalizing, 680);
    }

    #[test]
    fn unknown_interpreters_have_no_layout() {
        let table = table();
        assert_eq!(Layout::of((3, 8), &table), None);
        assert_eq!(Layout::of((3, 15), &table), None);
        assert_eq!(Layout::of((3, 13), &[0; DEBUG_WORDS]), None);
        for (at, word) in [
            (2, 1),
            (4, 500_000),
            (4, 4),
            (23, 312),
            (38, 1 << 40),
            (28, 0),
        ] {
            let mut wrong = table;
            wrong[at] = word;
            assert_eq!(Layout::of((3, 13), &wrong), None, "{at}");
        }
        assert_eq!(Layout::version(0x030b_02f0), (3, 11));
    }
}
