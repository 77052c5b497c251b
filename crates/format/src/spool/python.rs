//! Frames of Python: from addresses of the spool to places in files, and the symbols that name them.

use super::layout::{ContextRow, PYTHON_LINE_BITS, PythonRow, is_python, text};
use super::renumber::Renumber;
use headwater_model::printable::on_one_line;
use headwater_model::run::{Context, CtxId, Module, Part, Run, Symbol, python};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Offset of a context behind its place: the place before it is looked up, as for a caller.
const BEHIND: u64 = 1;

/// A function.
#[derive(Clone, Copy)]
pub(super) struct Function {
    module: u32,
    offset: u64,
    first_line: u32,
}

/// The functions of one process, by the addresses of their first lines.
pub(super) type Functions = FxHashMap<u64, Function>;

/// The functions of all processes, by module and offset, with their names.
#[derive(Default)]
pub(super) struct Names(BTreeMap<(u32, u64), String>);

impl Names {
    /// The functions in the rows of a process; `module` gives the number of a module.
    pub fn take(&mut self, rows: &[PythonRow], mut module: impl FnMut(Module) -> u32) -> Functions {
        let mut out = Functions::default();
        // A damaged row must not make a function of code.
        for row in rows.iter().filter(|row| is_python(row.address)) {
            let name = on_one_line(&text(&row.name));
            let function = Function {
                module: module(Module::of_python(&text(&row.file))),
                offset: python::function(row.first_line, &name),
                first_line: row.first_line,
            };
            out.insert(row.address, function);
            self.0.insert((function.module, function.offset), name);
        }
        out
    }

    /// Adds the symbols of all functions and of the lines that contexts are on. Lines from which something is called
    /// are calls.
    pub fn put(self, run: &mut Run) {
        if self.0.is_empty() {
            return;
        }
        let ctx = |id: CtxId| id.index().and_then(|i| run.contexts.get(i));
        let mut calls: FxHashSet<(u32, u64)> = FxHashSet::default();
        let place = |c: &Context| (c.module, c.offset.wrapping_sub(BEHIND));
        calls.extend(run.contexts.iter().filter_map(|c| ctx(c.parent)).map(place));
        calls.extend(run.calls.iter().filter_map(|c| ctx(c.ctx)).map(place));
        let mut all: BTreeMap<(u32, u64), Symbol> = BTreeMap::new();
        let file = |module: u32| {
            let module = run.modules.get(module as usize);
            module.map_or_else(String::new, |m| m.path.clone())
        };
        let lines = run.contexts.iter().map(place);
        for (module, offset) in lines.chain(self.0.keys().copied()) {
            let (function, line) = python::place(offset);
            let Some(name) = self.0.get(&(module, function)) else {
                continue;
            };
            let is_function = offset == function;
            let part = match calls.contains(&(module, offset)) {
                true => Part::Call,
                false => Part::Comp,
            };
            all.entry((module, offset)).or_insert_with(|| Symbol {
                module,
                offset,
                function: is_function,
                part,
                around: 0,
                name: if is_function {
                    name.clone()
                } else {
                    String::new()
                },
                file: file(module),
                first_line: line,
                last_line: line,
            });
        }
        run.symbols.extend(all.into_values());
        run.symbols.sort_by_key(|s| (s.module, s.offset));
    }
}

/// The context of a row that is a frame of Python.
pub(super) fn context(
    row: &ContextRow,
    number: &Renumber,
    functions: &Functions,
) -> Option<Context> {
    let behind = row.address & ((1 << PYTHON_LINE_BITS) - 1);
    let function = functions.get(&(row.address - behind))?;
    let line = function.first_line.saturating_add(behind as u32);
    Some(Context {
        parent: number.ctx(row.parent),
        module: function.module,
        offset: python::line(function.offset, line) + BEHIND,
        exact: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::layout::{PYTHON_BITS, put_text};
    use headwater_model::run::MpiCalls;

    fn row(address: u64, first_line: u32, name: &str) -> PythonRow {
        let mut row = PythonRow {
            address,
            first_line,
            zero: 0,
            file: [0; 448],
            name: [0; 112],
        };
        put_text(&mut row.file, b"/home/u/solver.py");
        put_text(&mut row.name, name.as_bytes());
        row
    }

    #[test]
    fn frames_are_lines_of_functions_in_a_file() {
        let first = PYTHON_BITS | 5 << PYTHON_LINE_BITS;
        let other = PYTHON_BITS | 7 << PYTHON_LINE_BITS;
        let mut names = Names::default();
        let rows = [
            row(first, 10, "main"),
            row(other, 40, "Solver.step"),
            row(3, 1, "x"),
            row(PYTHON_BITS | 9 << PYTHON_LINE_BITS, 90, "two\nlines\u{1b}"),
        ];
        let functions = names.take(&rows, |module| {
            assert_eq!(module.path, "/home/u/solver.py");
            0
        });
        let number = Renumber {
            rank: 0,
            thread: 0,
            contexts: vec![CtxId(0)],
            comms: Vec::new(),
        };
        let context = |address, parent| {
            let row = ContextRow {
                address,
                parent,
                exact: 0,
            };
            context(&row, &number, &functions)
        };
        assert_eq!(context(PYTHON_BITS, u32::MAX), None);
        let contexts = [context(first + 4, u32::MAX), context(other + 2, 0)];
        let contexts = contexts.map(|c| c.expect("a known function"));
        let mut run = Run {
            modules: vec![Module::of_python("/home/u/solver.py")],
            contexts: contexts.to_vec(),
            calls: vec![MpiCalls::default()],
            ..Default::default()
        };
        names.put(&mut run);
        assert!(!run.is_imported());
        let symbols: Vec<(&str, u32, Part)> = (run.symbols.iter())
            .map(|s| (s.name.as_str(), s.first_line, s.part))
            .collect();
        assert_eq!(
            symbols,
            [
                ("main", 10, Part::Comp),
                ("", 14, Part::Call),
                ("Solver.step", 40, Part::Comp),
                ("", 42, Part::Comp),
                ("two lines\\u001b", 90, Part::Comp),
            ]
        );
        let structure = headwater_model::psg::ModuleStructure::of_symbols(run.symbols.iter());
        let at = structure.locate(contexts[1].lookup()).expect("a place");
        assert_eq!(
            (
                at.0,
                structure.functions[1].vertices[at.1 as usize].first_line
            ),
            (1, 42)
        );
    }
}
