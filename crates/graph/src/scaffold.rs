//! Recognises code of a language that is part of the program but only leads to the program's own code, so that reports
//! leave it out: code that runs before `main`, and code of Rust's library between a call and the closure that it calls.

use headwater_model::psg::{ModuleStructure, VertexKind};

/// Where such code leads.
#[derive(Debug, PartialEq)]
pub(crate) enum Scaffold {
    /// From the start of the process to the program's `main`. Rust has a C `main` before that one, which only calls it.
    Start,
    /// From a call to the function that it is to call.
    Call,
}

/// Prefixes of the names of functions by which the process starts.
const START: [&str; 3] = ["_start", "std::rt::", "<std::rt::"];

/// Prefixes of the names of functions that call what they get. They include the system's locks, threads and files, so
/// that waiting there belongs to the call, as it does in the C library.
const CALL: [&str; 6] = [
    "std::sys::",
    "std::sys_common::",
    "std::panicking::",
    "std::panic::",
    "std::thread::",
    "core::ops::function::",
];

/// Traits: the functions of any type that implement them are such code.
const TRAITS: [&str; 2] = [
    " as core::ops::function::Fn",
    " as core::panic::unwind_safe::",
];

impl Scaffold {
    fn of_name(name: &str) -> Option<Self> {
        let begins = |all: &[&str]| all.iter().any(|start| name.starts_with(start));
        if begins(&START) {
            return Some(Self::Start);
        }
        let of_trait = TRAITS.iter().any(|t| name.contains(t));
        (begins(&CALL) || of_trait).then_some(Self::Call)
    }

    /// Returns what the function at an address leads to, if it is such code and no function of the program is inlined
    /// there.
    pub(crate) fn at(structure: &ModuleStructure, address: u64) -> Option<Self> {
        let (index, owner) = structure.locate(address)?;
        let function = structure.functions.get(index)?;
        let found = Self::of_name(structure.string(function.name))?;
        let mut at = function.vertices.get(owner as usize);
        while let Some(vertex) = at {
            let inlined = vertex.kind == VertexKind::Inlined;
            let name = vertex.name.filter(|_| inlined).map(|n| structure.string(n));
            if name.is_some_and(|n| Self::of_name(n).is_none()) {
                return None;
            }
            let parent = vertex.parent.map(|p| p as usize);
            at = parent.and_then(|p| function.vertices.get(p));
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::psg::{Function, Vertex};

    #[test]
    fn what_leads_to_the_program_is_distinguished_from_the_program() {
        let cases = [
            ("_start", Some(Scaffold::Start)),
            ("std::rt::lang_start::{{closure}}", Some(Scaffold::Start)),
            ("std::rt::lang_start_internal", Some(Scaffold::Start)),
            (
                "std::sys::backtrace::__rust_begin_short_backtrace",
                Some(Scaffold::Call),
            ),
            (
                "core::ops::function::FnOnce::call_once",
                Some(Scaffold::Call),
            ),
            (
                "<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once",
                Some(Scaffold::Call),
            ),
            ("main", None),
            ("app::main", None),
            ("core::slice::sort::unstable::quicksort", None),
        ];
        for (name, expected) in cases {
            assert_eq!(Scaffold::of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn the_program_inlined_there_is_the_programs() {
        let vertex = |kind, parent, name| Vertex {
            kind,
            parent,
            name,
            file: None,
            first_line: 1,
            last_line: 9,
            address: 0,
        };
        let structure = ModuleStructure {
            functions: vec![Function {
                name: 0,
                symbol: None,
                ranges: vec![(0, 0x30)],
                vertices: vec![
                    vertex(VertexKind::Function, None, None),
                    vertex(VertexKind::Inlined, Some(0), Some(1)),
                    vertex(VertexKind::Inlined, Some(1), Some(2)),
                    vertex(VertexKind::Loop, Some(2), None),
                ],
                owners: vec![(0, 0x10, 0), (0x10, 0x20, 1), (0x20, 0x30, 3)],
            }],
            strings: vec![
                "std::sys::backtrace::__rust_begin_short_backtrace".into(),
                "core::ops::function::FnOnce::call_once".into(),
                "app::work".into(),
            ],
            ..Default::default()
        };
        let at = |address| Scaffold::at(&structure, address);
        assert_eq!(at(0x8), Some(Scaffold::Call));
        assert_eq!(at(0x18), Some(Scaffold::Call));
        assert_eq!(at(0x28), None);
    }
}
