//! Where a cause is said to be, for code that is inlined, called from several places or left for a library.

#[allow(dead_code, reason = "the made-up program of the other tests")]
mod support;

use headwater_diagnosis::Options;
use headwater_graph::Structures;
use headwater_model::diagnosis::{CauseClass, Diagnosis};
use headwater_model::psg::{Function, ModuleStructure, Vertex, VertexKind};
use headwater_model::run::{Context, CtxId, Module, Run, Sample};
use support::{diagnose, module, piece, run};

/// A vertex: kind, parent, first line (the last is five lines on), and the addresses that it owns.
type Row = (VertexKind, Option<u32>, u32, (u64, u64));

/// `main` with a time loop: a loop with two inlined functions in its body, a call of `solve` and one out of the module;
/// two more calls of `solve`, and the reduction; and `solve` with a loop.
fn structures() -> Structures {
    Structures::new([(module(), own())])
}

fn own() -> ModuleStructure {
    use VertexKind::*;
    let main: &[Row] = &[
        (Function, None, 1, (0, 0)),
        (Loop, Some(0), 2, (0, 0x80)),
        (MpiCall, Some(1), 40, (0x80, 0x100)),
        (Call, Some(1), 20, (0x100, 0x200)),
        (Call, Some(1), 30, (0x200, 0x300)),
        (Loop, Some(1), 50, (0x300, 0x400)),
        (Inlined, Some(5), 60, (0x400, 0x500)),
        (Inlined, Some(5), 70, (0x500, 0x600)),
        (ExternalCall, Some(5), 52, (0x600, 0x700)),
        (Call, Some(5), 54, (0x700, 0x800)),
    ];
    let solve: &[Row] = &[
        (Function, None, 100, (0, 0)),
        (Loop, Some(0), 105, (0x10000, 0x10100)),
    ];
    let functions = vec![
        function(0, main, (0, 0x1000)),
        function(1, solve, (0x10000, 0x11000)),
    ];
    ModuleStructure {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
        functions,
        strings: vec!["main".into(), "solve".into(), "app.c".into()],
        ..Default::default()
    }
}

fn function(name: u32, rows: &[Row], range: (u64, u64)) -> Function {
    Function {
        name,
        symbol: Some(name),
        ranges: vec![range],
        vertices: rows.iter().map(vertex).collect(),
        owners: (0..)
            .zip(rows)
            .map(|(i, r)| (r.3.0, r.3.1, i))
            .filter(|o| o.1 > o.0)
            .collect(),
    }
}

fn vertex(&(kind, parent, first, (address, _)): &Row) -> Vertex {
    Vertex {
        kind,
        parent,
        name: None,
        file: Some(2),
        first_line: first,
        last_line: first + 5,
        address,
    }
}

/// The context of the reduction, and of the first that a test adds.
const REDUCTION: CtxId = CtxId(1);
const FIRST: u32 = 2;

/// An address in a place, called from a call site where that is not 0, and the seconds of a rank there.
type Part<'a> = ((u64, u64), &'a dyn Fn(u32) -> f64);

/// A run on 16 ranks whose time between two reductions is `parts`.
fn recorded(parts: &[Part<'_>]) -> Run {
    recorded_on(16, parts)
}

fn recorded_on(ranks: u32, parts: &[Part<'_>]) -> Run {
    let totals: Vec<f64> = (0..ranks)
        .map(|r| parts.iter().map(|p| (p.1)(r)).sum())
        .collect();
    let mut run = run(
        ranks,
        &[piece("MPI_Allreduce", move |r, _| totals[r as usize])],
    );
    run.samples.clear();
    for (k, ((site, offset), _)) in (0..).zip(parts) {
        let context = |parent, offset, exact| Context {
            parent,
            module: 0,
            offset,
            exact,
        };
        run.contexts.push(context(CtxId::NONE, site + 1, false));
        let parent = if *site == 0 {
            CtxId::NONE
        } else {
            CtxId(FIRST + 2 * k)
        };
        run.contexts.push(context(parent, offset + 0x10, true));
    }
    for rank in 0..ranks {
        for (k, (_, seconds)) in (0..).zip(parts) {
            let seconds = seconds(rank);
            run.samples.push(Sample {
                rank,
                after: REDUCTION,
                ctx: CtxId(FIRST + 2 * k + 1),
                count: (seconds * 200.0).ceil() as u32,
                cpu_ns: (seconds * 1e9) as u64,
                ..Default::default()
            });
        }
    }
    run
}

fn diagnosed(run: Run) -> Diagnosis {
    diagnose(vec![run], structures(), &Options::default()).expect("one run is enough")
}

fn found(d: &Diagnosis) -> Vec<(CauseClass, u32, String)> {
    let found = d.causes.iter();
    found
        .map(|c| (c.class, c.place.first_line, c.ranks.to_string()))
        .collect()
}

fn late(rank: u32, much: f64, little: f64) -> f64 {
    if rank >= 12 { much } else { little }
}

#[test]
fn a_loop_called_from_two_places_is_one_cause() {
    // Neither way to it has samples enough to stand out alone.
    let half = |r: u32| late(r, 0.06, 0.02);
    let d = diagnosed(recorded(&[
        ((0, 0), &|_| 0.1),
        ((0x100, 0x10000), &half),
        ((0x200, 0x10000), &half),
    ]));
    assert_eq!(found(&d), [(CauseClass::UnevenWork, 105, "12-15".into())]);
    let c = &d.causes[0];
    assert!((c.gain_seconds - 0.08).abs() < 0.01, "{}", c.gain_seconds);
    assert!((c.by_rank[12] - 0.12).abs() < 0.01, "{:?}", c.by_rank);
}

#[test]
fn a_loop_that_another_call_hardly_reaches_is_the_place_not_the_call_around_it() {
    let d = diagnosed(recorded(&[
        ((0, 0), &|_| 0.1),
        ((0x150, 0x10000), &|r| late(r, 0.1, 0.0)),
        ((0x250, 0x10000), &|r| late(r, 0.002, 0.001)),
    ]));
    let loop_in_solve = (CauseClass::UnevenWork, 105, "12-15".to_string());
    assert_eq!(found(&d), [loop_in_solve]);
}

#[test]
fn a_loop_whose_body_is_inlined_functions_is_the_place_not_one_of_them() {
    let third = |r: u32| late(r, 1.0, 0.2);
    let d = diagnosed(recorded(&[
        ((0, 0x300), &third),
        ((0, 0x400), &third),
        ((0, 0x500), &third),
    ]));
    assert_eq!(found(&d), [(CauseClass::UnevenWork, 50, "12-15".into())]);
}

/// Two scales of a program whose time shrinks but for so many seconds at each of these places.
fn with_places_that_stay(places: &[(u64, u64)], seconds: f64) -> Diagnosis {
    let on = |p: u32| {
        let shrinks = move |_: u32| 4.0 / f64::from(p);
        let stays = move |_: u32| seconds;
        let mut parts: Vec<Part<'_>> = vec![((0, 0), &shrinks)];
        parts.extend(places.iter().map(|at| -> Part<'_> { (*at, &stays) }));
        recorded_on(p, &parts)
    };
    let d = diagnose(vec![on(2), on(16)], structures(), &Options::default());
    d.expect("two scales of a program")
}

fn first_lines(d: &Diagnosis) -> Vec<u32> {
    let mut lines: Vec<u32> = d.causes.iter().map(|c| c.place.first_line).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_loop_that_does_not_shrink_is_one_cause_with_what_it_calls() {
    // Half of it is in a function that the loop calls, and half in the loop itself.
    let d = with_places_that_stay(&[(0, 0x300), (0x750, 0x10000)], 0.05);
    assert_eq!(first_lines(&d), [50], "{:?}", d.causes);
    let gain = d.causes[0].gain_seconds;
    assert!((gain - 0.0875).abs() < 0.01, "{gain}");
}

#[test]
fn two_parts_of_a_loop_that_do_not_shrink_are_two_causes() {
    // The time loop around them computes nothing itself.
    let d = with_places_that_stay(&[(0, 0x300), (0x150, 0x10000)], 0.1);
    assert_eq!(first_lines(&d), [50, 105], "{:?}", d.causes);
}

#[test]
fn a_call_through_a_stub_is_reported_as_the_loop_around_it() {
    // The stub is an address of the module that lies in none of its functions.
    let d = diagnosed(recorded(&[
        ((0, 0x300), &|r| late(r, 0.2, 0.1)),
        ((0x600, 0x20000), &|r| late(r, 2.0, 0.5)),
    ]));
    assert_eq!(found(&d), [(CauseClass::UnevenWork, 50, "12-15".into())]);
}

#[test]
fn what_is_late_every_time_is_no_one_off_though_one_time_is_longest() {
    let mut run = recorded(&[
        ((0, 0x300), &|r| if r == 5 { 1.5 } else { 0.4 }),
        ((0x100, 0x10000), &|r| if r == 5 { 0.5 } else { 0.1 }),
    ]);
    // 20 ms a hundred times, and once 320 ms: much of what the second place has more, little of all.
    for s in run.segments.iter_mut().filter(|s| s.rank == 5) {
        s.max_busy_ns = 320_000_000;
    }
    let d = diagnosed(run);
    let classes: Vec<CauseClass> = d.causes.iter().map(|c| c.class).collect();
    assert_eq!(classes, [CauseClass::UnevenWork, CauseClass::UnevenWork]);
}

#[test]
fn a_little_more_around_a_cause_is_reported_with_it() {
    let d = diagnosed(recorded(&[
        ((0, 0x400), &|r| late(r, 2.0, 0.5)),
        ((0, 0x300), &|r| late(r, 0.4, 0.1)),
    ]));
    let [c] = &d.causes[..] else {
        panic!("{:?}", found(&d));
    };
    assert_eq!(c.place.first_line, 60);
    let more = |e: &headwater_model::diagnosis::Evidence| e.text.contains("may be a part of it");
    assert!(c.evidence.iter().any(more), "{:?}", c.evidence);
}

/// The structure of a library whose one function has these vertices, without source lines.
fn without_lines(library: &Module, rows: &[Row]) -> ModuleStructure {
    let mut function = function(0, rows, (0, 0x100));
    function.vertices.iter_mut().for_each(|v| v.file = None);
    ModuleStructure {
        path: library.path.clone(),
        build_id: library.build_id.clone(),
        functions: vec![function],
        strings: vec!["run_all".into()],
        ..Default::default()
    }
}

/// A library that calls the program back, as a sort or a pool of threads does, leads into the program's code again.
#[test]
fn what_a_library_calls_back_is_the_programs_own() {
    let mut run = recorded(&[((0x600, 0x10000), &|r| late(r, 2.0, 1.0))]);
    let library = Module {
        path: "/lib/libpool.so".into(),
        build_id: "cd".into(),
    };
    run.modules.push(library.clone());
    let rows = [
        (VertexKind::Function, None, 0, (0, 0)),
        (VertexKind::IndirectCall, Some(0), 0, (0, 0x100)),
    ];
    let structure = without_lines(&library, &rows);
    let structures = Structures::new([(module(), own()), (library, structure)]);
    // Between the call and the context of the samples.
    let calls = Context {
        parent: CtxId(FIRST),
        module: run.modules.len() as u32 - 1,
        offset: 0x51,
        exact: false,
    };
    run.contexts.insert(FIRST as usize + 1, calls);
    run.contexts[FIRST as usize + 2].parent = CtxId(FIRST + 1);
    run.samples
        .iter_mut()
        .for_each(|s| s.ctx = CtxId(FIRST + 2));
    let d = diagnose(vec![run], structures, &Options::default()).expect("one run is enough");
    assert_eq!(
        found(&d),
        [(CauseClass::UnevenWork, 105, "12-15".to_string())]
    );
}

/// The cause in a library without source lines that calls MPI itself. The program that calls it has source lines or not, and
/// computes for some seconds itself.
fn late_in_a_parallel_library(program_has_lines: bool, program_computes: f64) -> (String, u64) {
    let mut run = recorded(&[
        ((0x600, 0x10000), &|r| late(r, 2.0, 1.0)),
        ((0, 0x10), &|_| program_computes),
    ]);
    let library = Module {
        path: "/lib/libsolver.so".into(),
        build_id: "cd".into(),
    };
    run.modules.push(library.clone());
    // The samples are in its loop, behind its reduction.
    for (context, offset) in [(REDUCTION, 0x81), (CtxId(FIRST + 1), 0x10)] {
        let context = &mut run.contexts[context.0 as usize];
        (context.module, context.offset) = (run.modules.len() as u32 - 1, offset);
    }
    let rows = [
        (VertexKind::Function, None, 0, (0, 0)),
        (VertexKind::Loop, Some(0), 0, (0x10, 0x80)),
        (VertexKind::MpiCall, Some(0), 0, (0x80, 0x100)),
    ];
    let structure = without_lines(&library, &rows);
    let mut program = own();
    if !program_has_lines {
        let all = program.functions.iter_mut();
        all.flat_map(|f| &mut f.vertices)
            .for_each(|v| v.file = None);
    }
    let structures = Structures::new([(module(), program), (library, structure)]);
    let d = diagnose(vec![run], structures, &Options::default()).expect("one run is enough");
    let [cause] = &d.causes[..] else {
        panic!("{:?}", found(&d));
    };
    let place = &cause.place;
    (place.module.clone(), place.address)
}

#[test]
fn a_parallel_library_is_the_program_where_its_caller_has_no_source_lines() {
    let library = ("/lib/libsolver.so".to_string(), 0x10);
    assert_eq!(late_in_a_parallel_library(false, 0.05), library);
    let program = ("/home/u/app".to_string(), 0x300);
    assert_eq!(late_in_a_parallel_library(true, 0.05), program);
    assert_eq!(late_in_a_parallel_library(false, 0.5), program);
}

/// The gain, in seconds, of mending uneven work on four ranks, of which one alone takes `alone` seconds.
fn gain_beside(alone: f64) -> f64 {
    let one = recorded_on(1, &[((0, 0x300), &|_| alone)]);
    let four = recorded_on(4, &[((0, 0x300), &|r| if r < 2 { 6.0 } else { 1.0 })]);
    let d = diagnose(vec![one, four], structures(), &Options::default()).expect("two runs");
    let uneven = d
        .causes
        .iter()
        .filter(|c| c.class == CauseClass::UnevenWork);
    uneven.map(|c| c.gain_seconds).sum()
}

#[test]
fn work_that_one_rank_does_alone_can_be_divided_but_not_saved() {
    let divided = gain_beside(14.0);
    assert!((divided - 2.5).abs() < 0.1, "{divided}");
    // Nor if they do less: their parts may fit into caches, or a part of the work is done elsewhere.
    let less = gain_beside(40.0);
    assert!((less - 2.5).abs() < 0.1, "{less}");
    // Ranks that do more than one rank does alone have work of their own.
    let more = gain_beside(4.0);
    assert!((more - 5.0).abs() < 0.1, "{more}");
}
