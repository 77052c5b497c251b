//! Bad input of every built-in pass: one message that names the pass and the argument, and nothing half done.

use super::programs::{made, recorded};
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::{Flow, Kind, Of, Parameter, Parameters, Pass, Value, with};
use headwater_dataflow::set::{Maker, Set};
use headwater_diagnosis::pass::{self, catalogue};
use headwater_graph::view::ViewKind;
use headwater_model::report::Section;

/// Passes whose arguments must have members: of nothing there is no answer, not an empty one.
const NEED_MEMBERS: [&str; 6] = [
    "cluster-ranks",
    "scaling-models",
    "shortest-path",
    "common-ancestor",
    "differential",
    "edge-differential",
];

/// Words that may be any: names that are made up, headings, and a pattern that nothing need fit.
const ANY_WORD: [(&str, &str); 7] = [
    ("classify", "name"),
    ("filter", "name"),
    ("derive", "name"),
    ("table", "name"),
    ("table", "title"),
    ("table", "note"),
    ("ranked", "region"),
];

/// A value for an argument; `None` for stages of a diagnosis, which only flows have.
fn value(kind: Kind, argument: &str, run: &Recorded) -> Option<Value> {
    let edges = argument.starts_with('E');
    Some(match kind {
        Kind::Run => run.clone().into(),
        Kind::Section => Section::default().into(),
        Kind::Finding(_) => return None,
        Kind::Set(Of::View(ViewKind::Made)) => Maker::new().finish().into(),
        Kind::Set(_) if edges => Set::edges_of(run.parallel()).into(),
        Kind::Set(Of::View(ViewKind::Parallel)) => Set::vertices_of(run.parallel()).into(),
        Kind::Set(_) => Set::vertices_of(run.top_down()).into(),
    })
}

/// Arguments of a pass from the runs in turn, twice as many where the last may come several times.
fn values(pass: &Pass, runs: &[Recorded]) -> Option<Vec<Value>> {
    let more = pass.inputs.last().filter(|_| pass.more);
    let ports = pass.inputs.iter().chain(more).zip(runs.iter().cycle());
    ports.map(|(p, run)| value(p.kind, &p.name, run)).collect()
}

fn run(pass: &Pass, inputs: &[Value], parameters: Parameters) -> Result<Vec<Value>, String> {
    let given = pass.run(inputs, &parameters, &|| false);
    given.map_err(|e| e.to_string())
}

/// Checks that a message is one line that names the pass and the argument.
fn names(said: &str, pass: &Pass, argument: &str) {
    let begin = format!("pass {}, argument {argument}: ", pass.name);
    assert!(said.starts_with(&begin), "{begin} … is not: {said}");
    assert!(!said.contains('\n'), "{said}");
}

#[test]
fn an_argument_of_another_kind_is_refused_before_anything_runs() {
    for pass in pass::all() {
        for (wrong, port) in pass.inputs.iter().enumerate() {
            let mut flow = Flow::new("one pass", catalogue());
            let link = |(i, p): (usize, &headwater_dataflow::flow::Port)| {
                let other = if p.kind == Kind::Section {
                    Kind::Run
                } else {
                    Kind::Section
                };
                flow.input(
                    &format!("input{i}"),
                    if i == wrong { other } else { p.kind },
                )
            };
            let links: Vec<_> = pass.inputs.iter().enumerate().map(link).collect();
            let made = flow.add(pass, links, Parameters::none());
            flow.output("made", made);
            names(
                &flow.check().expect_err("refused").to_string(),
                pass,
                &port.name,
            );
        }
    }
}

#[test]
fn an_empty_set_is_refused_where_members_are_needed_and_gives_an_empty_one_elsewhere() {
    let runs = recorded(&[4]);
    for pass in pass::all() {
        let Some(whole) = values(pass, &runs) else {
            continue;
        };
        let empty = |value: &Value| match value {
            Value::Set(set) => Set::new(set.view().clone(), vec![], vec![]).into(),
            other => other.clone(),
        };
        let needs = NEED_MEMBERS.contains(&&*pass.name);
        for (i, port) in pass.inputs.iter().enumerate() {
            assert_eq!(port.some, needs, "{}", pass.name);
            if port.some {
                let mut inputs = whole.clone();
                inputs[i] = empty(&whole[i]);
                let said = run(pass, &inputs, Parameters::none()).expect_err("refused");
                names(&said, pass, &port.name);
            }
        }
        let sets = whole.iter().any(|v| v.set().is_some());
        if needs || !sets || pass.name == "complement" {
            continue;
        }
        let inputs: Vec<Value> = whole.iter().map(empty).collect();
        match run(pass, &inputs, Parameters::none()) {
            Ok(given) => {
                for value in given {
                    let set = value.set().is_none_or(Set::is_empty);
                    let table = value.section().is_none_or(|s| s.rows.is_empty());
                    assert!(set && table, "{} made {value:?} of nothing", pass.name);
                }
            }
            // Counters are needed, whatever the set has.
            Err(said) => assert_eq!(&*pass.name, "counter-ratios", "{said}"),
        }
    }
}

#[test]
fn runs_of_different_programs_are_refused_by_every_pass_that_takes_several() {
    let mut other = made(4);
    other.header.program = "/home/u/other".into();
    other.header.name = "other.4".into();
    let other = Recorded::join(vec![other], super::support::structure(3)).expect("a whole run");
    let runs = [recorded(&[2]), other].concat();
    let mut refused = 0;
    for pass in pass::all() {
        let Some(inputs) = values(pass, &runs).filter(|v| v.len() > 1) else {
            continue;
        };
        let said = run(pass, &inputs, Parameters::none()).expect_err(&pass.name);
        let port = pass
            .inputs
            .iter()
            .find(|p| said.contains(&format!("argument {}: ", p.name)));
        names(&said, pass, port.map_or("", |p| &p.name));
        let what = [
            "of different programs (app and other)",
            "of different graphs",
        ];
        assert!(what.iter().any(|w| said.contains(w)), "{said}");
        refused += 1;
    }
    assert!(refused > 9, "{refused}");
}

#[test]
fn what_was_not_recorded_or_is_not_there_is_refused_by_its_parameter() {
    let runs = recorded(&[2, 4]);
    for pass in pass::all() {
        for declared in &pass.parameters {
            let (name, word) = (declared.name.to_string(), "no-such");
            let given = match declared.default {
                Parameter::Text(_) => with(&name, word),
                Parameter::List(_) => with(&name, [word]),
                _ => continue,
            };
            let any = ANY_WORD.contains(&(&*pass.name, &*name));
            // Passes that put sets together need such of one graph.
            let one = [runs[0].clone()];
            let runs = if pass.name == "scaling-models" {
                &runs[..]
            } else {
                &one
            };
            let Some(inputs) = values(pass, runs).filter(|_| !any) else {
                continue;
            };
            let said = run(pass, &inputs, given)
                .map(|_| name.clone())
                .expect_err(&pass.name);
            names(&said, pass, &name);
        }
    }
}

/// Figures of passes with the least that they can be.
const FIGURES: [(&str, &str, f64); 16] = [
    ("imbalance", "threshold", 1.0),
    ("imbalance", "least", 0.0),
    ("cluster-ranks", "least", 0.0),
    ("backtracking", "least", 0.0),
    ("causal", "least", 0.0),
    ("contention", "least", 0.0),
    ("delay-cost", "least", 0.0),
    ("top", "n", 0.0),
    ("hotspot", "n", 0.0),
    ("cluster-ranks", "most", 1.0),
    ("scaling-models", "at", 0.0),
    ("contention", "most", 1.0),
    ("reach", "depth", 0.0),
    ("match", "most", 1.0),
    ("abnormal", "threshold", 1.0),
    ("uneven-work", "least", 0.0),
];

/// Those that are whole numbers.
const WHOLE: [&str; 4] = ["n", "most", "at", "depth"];

#[test]
fn figures_out_of_range_are_refused_by_every_pass() {
    let mut seen = Vec::new();
    for pass in pass::all() {
        for declared in &pass.parameters {
            let Parameter::Number(default) = declared.default else {
                continue;
            };
            let name = &*declared.name;
            seen.push((&*pass.name, name));
            let said = |x: f64| {
                let given = pass.run(&[], &with(name, x), &|| false);
                given.expect_err(&pass.name).to_string()
            };
            let row = FIGURES.iter().find(|f| (f.0, f.1) == (&*pass.name, name));
            let least = row.map(|f| f.2);
            let wrong = [Some(-1.0), Some(-5.0), Some(f64::NAN), Some(f64::INFINITY)];
            let below = least.map(|l| l - 0.5);
            let broken = WHOLE.contains(&name).then_some(2.7);
            for x in wrong.into_iter().chain([below, broken]).flatten() {
                let said = said(x);
                names(&said, pass, name);
                assert!(said.ends_with(&format!("and not {x}")), "{said}");
            }
            // What is in range is taken: then the message says that nothing is given.
            for x in [default].into_iter().chain(least) {
                assert!(!said(x).ends_with(&format!("and not {x}")));
            }
        }
    }
    for (pass, name, _) in FIGURES {
        assert!(seen.contains(&(pass, name)), "{pass} {name}");
    }
}

#[test]
fn patterns_that_cannot_be_found_are_refused() {
    let view = recorded(&[2])[0].parallel().clone();
    for (name, argument) in [("match", "pattern"), ("contention", "patterns")] {
        let pass = pass::by_name(name).expect("a pass");
        for (pattern, what) in [
            ("a>b c>d", "c and d are not joined with a"),
            ("a>b b>c d>e e>f", "d, e and f are not joined with a"),
            ("a>b b>b:mutex", "b>b leads from a vertex to itself"),
        ] {
            // In other graphs a vertex may lead to itself.
            if name == "match" && pattern.contains("b>b") {
                continue;
            }
            let given = match argument {
                "pattern" => with(argument, pattern),
                _ => with(argument, [pattern]),
            };
            let set = Set::vertices_of(&view).into();
            let said = run(pass, &[set], given).expect_err(pattern);
            names(&said, pass, argument);
            assert!(said.contains(what), "{pattern}: {said}");
        }
    }
}

#[test]
fn a_vertex_that_leads_to_itself_is_found() {
    let mut maker = Maker::new();
    let (a, b) = (maker.vertex([]), maker.vertex([]));
    maker.edge(a, b, []);
    maker.edge(b, b, []);
    let pass = pass::by_name("match").expect("a pass");
    for (pattern, vertices) in [("a>a", &[b][..]), ("x>y y>y", &[a, b])] {
        let found = run(pass, &[maker.finish().into()], with("pattern", pattern));
        let found = found.expect("found").remove(0);
        assert_eq!(
            found.set().expect("a set").vertices(),
            vertices,
            "{pattern}"
        );
    }
}
