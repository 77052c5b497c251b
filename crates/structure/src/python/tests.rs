//! Structure of sources in Python.

use super::*;
use headwater_model::psg::VertexKind;

const SOURCE: &str = "\
import numpy as np

class Solver:
    @cached
    def step(self, n):
        for i in range(n):
            while self.left(i):
                x = [
                    i,
        # not the end of the block
                ]
        else:
            done()
        return x

def main():
    s = Solver()
    for k in range(3): s.step(k)
    async def inner():
        '''for x in y:
'''
";

/// What is at a line: its function, and the lines of the loops around it.
fn at(structure: &ModuleStructure, function: usize, line: u32) -> Vec<u32> {
    let function = &structure.functions[function];
    let root = function.vertices[0].address;
    let (_, vertex) = structure.locate(python::line(root, line)).expect("a place");
    let mut at = function.vertices.get(vertex as usize);
    assert_eq!(at.map(|v| v.first_line), Some(line));
    let mut loops = Vec::new();
    while let Some(v) = at {
        if v.kind == VertexKind::Loop {
            loops.push(v.first_line);
        }
        at = v.parent.and_then(|p| function.vertices.get(p as usize));
    }
    loops
}

#[test]
fn functions_have_loops_and_lines() {
    let source = PythonSource::of("/home/u/solver.py", SOURCE).expect("Python");
    let structure = source.structure();
    let names: Vec<(&str, u32, u32)> = (structure.functions.iter())
        .map(|f| {
            let root = &f.vertices[0];
            (structure.string(f.name), root.first_line, root.last_line)
        })
        .collect();
    assert_eq!(
        names,
        [
            ("<module>", 1, 21),
            ("Solver", 3, 14),
            ("Solver.step", 4, 14),
            ("main", 16, 21),
            ("main.<locals>.inner", 19, 21),
        ]
    );
    for (function, line, loops) in [
        (2, 6, vec![6]),
        (2, 7, vec![7, 6]),
        (2, 8, vec![7, 6]),
        (2, 9, vec![7, 6]),
        (2, 13, vec![]),
        (2, 14, vec![]),
        (3, 17, vec![]),
        (3, 18, vec![18]),
        (0, 16, vec![]),
    ] {
        assert_eq!(at(&structure, function, line), loops, "{line}");
    }
    let calls = &structure.functions[2].vertices;
    let call = calls.iter().find(|v| v.first_line == 13).expect("a line");
    assert_eq!(call.name.map(|n| structure.string(n)), Some("done"));
}

#[test]
fn a_run_has_its_own_offsets_in_the_same_structure() {
    let source = PythonSource::of("/home/u/solver.py", SOURCE).expect("Python");
    let run = |name: &str, first_line| {
        let function = python::function(first_line, name);
        let symbol = |offset, function, name: &str, line| Symbol {
            offset,
            function,
            name: name.into(),
            first_line: line,
            part: Part::Call,
            ..Default::default()
        };
        ModuleStructure::of_symbols(&[
            symbol(function, true, name, first_line),
            symbol(python::line(function, 8), false, "", 8),
        ])
    };
    // As 3.9 names it.
    let structure = source.structure_of(&run("step", 4)).expect("the same");
    assert_eq!(structure.functions.len(), 1);
    assert_eq!(at(&structure, 0, 8), [7, 6]);
    assert!(source.structure_of(&run("Solver.step", 5)).is_none());
    assert!(source.structure_of(&run("<lambda>", 5)).is_some());
}

#[test]
fn heads_of_blocks_are_known_however_they_are_written() {
    let text = "\
import n
def f(): return g(1)
while(i < n):
    for(a) in b: h(a)
    if(x): k(x)
async def c[T](
    a=1,
):
    async for x in y:
        match(x):
            case z: pass
    with open(x) as y:
        w = lambda: 1
";
    let source = PythonSource::of("x.py", text).expect("Python");
    let structure = source.structure();
    assert_eq!(at(&structure, 0, 4), [4, 3]);
    assert_eq!(at(&structure, 0, 5), [3]);
    assert_eq!(at(&structure, 1, 2), Vec::<u32>::new());
    assert_eq!(at(&structure, 2, 10), [9]);
    assert_eq!(at(&structure, 2, 11), [9]);
    assert_eq!(at(&structure, 2, 13), Vec::<u32>::new());
    let names = |function: usize| -> Vec<(u32, String)> {
        let all = structure.functions[function].vertices.iter();
        let calls = all.filter(|v| v.kind == VertexKind::Call);
        let name = |v: &headwater_model::psg::Vertex| v.name.map(|n| structure.string(n));
        calls
            .map(|v| (v.first_line, name(v).unwrap_or("").to_string()))
            .collect()
    };
    assert_eq!(names(0), [(4, "h".to_string()), (5, "k".to_string())]);
    assert_eq!(names(1), [(2, "g".to_string())]);
    assert_eq!(names(2), [(12, "open".to_string())]);
}

#[test]
fn large_and_deep_files_are_read_or_refused_at_once() {
    let many = "while 1: pass\n".repeat(200_000);
    let source = PythonSource::of("x.py", &many).expect("Python");
    assert_eq!(source.functions[0].loops.len(), 200_000);
    let deep: String = (0..200)
        .map(|n| format!("{}if x:\n", " ".repeat(n)))
        .collect();
    assert!(PythonSource::of("x.py", &deep).is_err());
    let line = format!("x = f'{}'\n", "{a['b']}".repeat(100_000));
    assert!(PythonSource::of("x.py", &line).is_ok());
    let _ = source.structure();
}

#[test]
fn calls_have_the_names_in_the_source() {
    for (text, name) in [
        ("comm.Barrier()", Some("comm.Barrier")),
        ("x = yield_(1)", Some("yield_")),
        ("self.x = await a.b(c == d)", Some("a.b")),
        ("return f(x) + 1", Some("f")),
        ("f(a=1)", Some("f")),
        ("x += 1", None),
        ("return(f(1))", None),
        ("return not g(1)", Some("g")),
        ("x = yield from h(1)", Some("h")),
        ("x == f(1)", None),
        ("assert(x)", None),
        ("lambda: f(1)", None),
        ("(f)(1)", None),
        ("f(1); g(2)", None),
        ("f(1);", Some("f")),
        ("x", None),
    ] {
        assert_eq!(called(text).as_deref(), name, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_file_has_its_own_functions(
        words in proptest::collection::vec("[ ]{0,3}(def f|class A|for x|while|if y|@a|g\\(|[():'\"{}#.=\\\\]|\n|\n ){1}", 0..40),
    ) {
        if let Ok(source) = PythonSource::of("/x.py", &words.concat()) {
            let structure = source.structure();
            assert!(source.structure_of(&structure).is_some());
        }
    }
}
