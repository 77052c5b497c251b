//! Many small losses in functions that two steps of the program call.

use super::support::{diagnose, module, piece, run};
use headwater_diagnosis::Options;
use headwater_graph::Structures;
use headwater_model::diagnosis::Diagnosis;
use headwater_model::psg::{Function, ModuleStructure, Vertex, VertexKind};
use headwater_model::run::{Context, CtxId, Run, Sample};

/// Samples a second.
const RATE: f64 = 2000.0;

/// Functions: `main`, two steps, and small ones, each in its own row of addresses. What is at this distance from its
/// begin calls the small function of that number, or the step of that number in `main`.
const ROW: u64 = 0x1_0000;
const CALLS: u64 = 0x1000;
const CALL: u64 = 0x100;
const SMALL: u32 = 40;
const STEPS: [&str; 2] = ["advance", "write"];

fn small(number: u32) -> u64 {
    (1 + STEPS.len() as u64 + u64::from(number)) * ROW
}

fn call(row: u64, number: u32) -> u64 {
    row * ROW + CALLS + u64::from(number) * CALL
}

fn function(name: u32, calls: u32) -> Function {
    let at = u64::from(name) * ROW;
    let vertex = |kind, parent, first: u32, address| Vertex {
        kind,
        parent,
        name: None,
        file: Some(0),
        first_line: first,
        last_line: first + 1,
        address,
    };
    let line = 100 * name + 1;
    let mut vertices = vec![
        vertex(VertexKind::Function, None, line, 0),
        vertex(VertexKind::Loop, Some(0), line + 1, at),
    ];
    let mut owners = vec![(at, at + 0x80, 1)];
    if name == 0 {
        vertices.push(vertex(VertexKind::MpiCall, Some(1), line + 2, at + 0x80));
        owners.push((at + 0x80, at + CALL, 2));
    }
    for number in 0..calls {
        let from = call(u64::from(name), number);
        let id = vertices.len() as u32;
        vertices.push(vertex(VertexKind::Call, Some(1), line + 3 + number, from));
        owners.push((from, from + CALL, id));
    }
    Function {
        name: name + 1,
        symbol: Some(name + 1),
        ranges: vec![(at, at + ROW)],
        vertices,
        owners,
    }
}

fn structures() -> Structures {
    let mut strings = vec!["app.c".to_string(), "main".to_string()];
    strings.extend(STEPS.map(String::from));
    strings.extend((0..SMALL).map(|n| format!("small_{n}")));
    let names = 0..strings.len() as u32 - 1;
    let calls = |name: u32| if name < 3 { SMALL } else { 0 };
    let whole = ModuleStructure {
        path: "/home/u/app".into(),
        build_id: "ab".into(),
        functions: names.map(|name| function(name, calls(name))).collect(),
        strings,
        ..Default::default()
    };
    Structures::new([(module(), whole)])
}

/// A run of `work` seconds on one rank that divide over `p`, and seconds of small functions by the step that calls them.
fn recorded(p: u32, work: f64, parts: &[(u32, u32, f64)]) -> Run {
    let small_seconds: f64 = parts.iter().map(|part| part.2).sum();
    let own = work / f64::from(p);
    let mut run = run(
        p,
        &[piece("MPI_Allreduce", move |_, _| own + small_seconds)],
    );
    run.header.sampling_hz = RATE;
    run.samples.clear();
    let after = CtxId(1);
    let mut add = |parent: CtxId, offset: u64, exact| {
        run.contexts.push(Context {
            parent,
            module: 0,
            offset,
            exact,
        });
        CtxId(run.contexts.len() as u32 - 1)
    };
    let mut places = vec![(add(CtxId::NONE, 0x10, true), own)];
    for (step, number, seconds) in parts {
        let step_row = u64::from(*step) + 1;
        let outer = add(CtxId::NONE, call(0, *step) + 1, false);
        let inner = add(outer, call(step_row, *number) + 1, false);
        places.push((add(inner, small(*number) + 0x10, true), *seconds));
    }
    for rank in 0..p {
        let samples = places.iter().map(|(ctx, seconds)| Sample {
            rank,
            after,
            ctx: *ctx,
            count: (seconds * RATE).ceil() as u32,
            cpu_ns: (seconds * 1e9) as u64,
            ..Default::default()
        });
        run.samples.extend(samples);
    }
    run
}

fn diagnosis(parts: impl Fn(u32) -> Vec<(u32, u32, f64)>) -> Diagnosis {
    let runs = [2, 4, 8, 16].map(|p| recorded(p, 8.0, &parts(p)));
    diagnose(runs.to_vec(), structures(), &Options::default()).expect("they belong together")
}

#[test]
fn each_call_path_has_its_own_part_of_a_loss() {
    // Both steps call each small function, but only the calls of `write` do not shrink.
    let d = diagnosis(|p| {
        let each = |n: u32| [(0, n, 0.04 / f64::from(p)), (1, n, 0.006)];
        (0..SMALL).flat_map(each).collect()
    });
    let small = d.account.small.expect("there are small losses");
    let from = "they are called from the loop in write at app.c:202-203";
    assert!(small.shared.iter().any(|s| s == from), "{small:?}");
    assert_eq!(small.steps, []);
}

#[test]
fn steps_that_hold_many_small_losses_are_named_with_their_shares() {
    let d = diagnosis(|_| {
        let each = |n: u32| [(0, n, 0.002), (1, n, 0.003)];
        (0..SMALL).flat_map(each).collect()
    });
    let small = d.account.small.expect("there are small losses");
    let steps = small.steps.iter();
    let steps: Vec<_> = steps
        .map(|s| (s.place.name.as_str(), (100.0 * s.share).round()))
        .collect();
    assert_eq!(steps, [("advance", 40.0), ("write", 60.0)]);
    assert!(small.steps.iter().all(|step| step.without.is_empty()));
    let said = d.headline.join(" ");
    let words = "Of these small losses together, 40 % are in advance at app.c:101-102 and its \
                 callees; \
                 60 % in write at app.c:201-202 and its callees.";
    assert!(said.contains(words), "{said}");
}
