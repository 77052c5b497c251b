//! Causes in a program whose compiler said what its loops depend on.

use super::parts::*;
use super::support::module;
use headwater_diagnosis::{Options, diagnose};
use headwater_graph::Structures;
use headwater_model::dependence::{Condition, Dependence, Dependences, Link, Origin, Source};
use headwater_model::diagnosis::{Cause, CauseClass, Diagnosis, Scaling};
use headwater_model::psg::{Vertex, VertexKind};

/// The loop beside the calls, and that in `solve`: function and vertex.
const BESIDE_LOOP: (u32, u32) = (0, 3);
const SOLVE_LOOP: (u32, u32) = (1, 1);

fn link(name: &str, line: u32) -> Link {
    Link {
        name: name.into(),
        file: Some("/home/u/app.c".into()),
        line,
    }
}

/// A bound `n` of an origin that a call gives.
fn bound(origin: Origin, call: &str) -> Condition {
    let call = (!call.is_empty()).then(|| link(call, 12));
    Condition {
        bound: true,
        file: Some("/home/u/app.c".into()),
        line: 50,
        sources: vec![Source {
            origin,
            chain: std::iter::once(link("n", 50)).chain(call).collect(),
        }],
    }
}

/// All vertices have constant bounds, but those given.
fn told(of: &[((u32, u32), Condition)]) -> Structures {
    let mut whole = whole();
    let mut all = Dependences {
        conditions: vec![bound(Origin::Constant, "")],
        ..Default::default()
    };
    for (f, function) in (0u32..).zip(&whole.functions) {
        for (v, vertex) in (0u32..).zip(&function.vertices) {
            if !vertex.kind.is_loop() && !vertex.kind.is_call() {
                continue;
            }
            let own = of.iter().find(|o| o.0 == (f, v));
            let condition = own.map_or(0, |(_, condition)| {
                all.conditions.push(condition.clone());
                all.conditions.len() as u32 - 1
            });
            all.vertices.push(Dependence {
                function: f,
                vertex: v,
                conditions: vec![condition],
                own: vertex.kind.is_loop(),
                parameters: Vec::new(),
            });
        }
    }
    whole.dependences = all;
    Structures::new([(module(), whole)])
}

/// The same program whose loop beside the calls spends its time in a function of another library.
fn calling_a_library(structures: &Structures) -> Structures {
    let all = structures.iter().map(|(module, own)| {
        let mut own = own.clone();
        let main = &mut own.functions[0];
        let (_, loop_vertex) = BESIDE_LOOP;
        let call = main.vertices.len() as u32;
        main.vertices.push(Vertex {
            kind: VertexKind::ExternalCall,
            parent: Some(loop_vertex),
            ..main.vertices[loop_vertex as usize].clone()
        });
        main.owners.retain(|o| o.2 != loop_vertex);
        main.owners.push((BESIDE, BESIDE + 0x100, call));
        main.owners.sort();
        let conditions = own
            .dependences
            .of(0, loop_vertex)
            .expect("the loop")
            .conditions
            .clone();
        own.dependences.vertices.push(Dependence {
            function: 0,
            vertex: call,
            conditions,
            own: false,
            parameters: Vec::new(),
        });
        own.dependences
            .vertices
            .sort_by_key(|d| (d.function, d.vertex));
        (module.clone(), own)
    });
    Structures::new(all.collect::<Vec<_>>())
}

fn of(structures: Structures, scales: &[(u32, Vec<Part>)]) -> Diagnosis {
    let runs = scales.iter().map(|(_, parts)| recorded(parts, 2000.0));
    diagnose(runs.collect(), structures, &Options::default()).expect("runs")
}

fn compilers(cause: &Cause) -> Vec<(&str, usize)> {
    let all = cause.evidence.iter();
    let all = all.filter(|e| e.text.starts_with("by the compiler"));
    all.map(|e| (e.text.as_str(), e.chain.len())).collect()
}

#[test]
fn uneven_work_says_what_its_bound_comes_from() {
    let late = |rank: u32| if rank == 0 { 2.0 } else { 1.0 };
    let scale = [(4, vec![part(None, BESIDE, 4, late)])];
    let evidence = |condition: Condition| {
        let d = of(told(&[(BESIDE_LOOP, condition)]), &scale);
        let cause = only(&d);
        assert_eq!(cause.class, CauseClass::UnevenWork);
        let all = compilers(cause);
        all.first().map(|(text, links)| (text.to_string(), *links))
    };
    let said = |text: &str, links| Some((format!("by the compiler, {text}"), links));
    assert_eq!(
        evidence(bound(Origin::Rank, "MPI_Comm_rank")),
        said("its bound `n` comes from MPI_Comm_rank at app.c:12", 2)
    );
    assert_eq!(
        evidence(bound(Origin::Message, "MPI_Recv")),
        said("its bound `n` comes from MPI_Recv at app.c:12", 2)
    );
    // What all ranks get alike is no reason.
    let same = "nothing that decides how often it runs differs between ranks: they do the same, on other data or at another speed";
    assert_eq!(evidence(bound(Origin::Constant, "")), said(same, 0));
    assert_eq!(evidence(bound(Origin::Message, "MPI_Bcast")), said(same, 0));
    assert_eq!(evidence(bound(Origin::Input, "main")), said(same, 0));
    // What a rank reads may be its own.
    assert_eq!(evidence(bound(Origin::Input, "MPI_File_read_at")), None);
    // One of two messages is not the same everywhere.
    let mut two = bound(Origin::Message, "MPI_Bcast");
    two.sources
        .extend(bound(Origin::Message, "MPI_Recv").sources);
    assert_eq!(
        evidence(two),
        said("its bound `n` comes from MPI_Recv at app.c:12", 2)
    );
    // What is not known is not told.
    assert_eq!(evidence(bound(Origin::Unknown, "")), None);
    // Without a compiler's structure there is nothing to say.
    let d = of(structures(), &scale);
    assert_eq!(compilers(only(&d)), []);
}

#[test]
fn work_that_does_not_shrink_says_that_its_bound_does_not_depend_on_the_ranks() {
    let scale = |ranks: u32| {
        let shared = 8.0 / f64::from(ranks);
        let parts = vec![
            part(None, BESIDE, ranks, |_| 2.0),
            part(Some(0), SOLVE, ranks, move |_| shared),
        ];
        (ranks, parts)
    };
    let scales = [scale(2), scale(4), scale(8)];
    let texts = |condition| {
        let d = of(told(&[(BESIDE_LOOP, condition)]), &scales);
        let cause = d
            .causes
            .iter()
            .find(|c| c.class == CauseClass::NonShrinkingWork);
        let cause = cause.unwrap_or_else(|| panic!("{:?}", found(&d)));
        let all = compilers(cause).into_iter();
        all.map(|(text, _)| text.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        texts(bound(Origin::Input, "main")),
        [
            "by the compiler, how often it runs does not depend on the number of ranks: all do the same (its bound `n` comes from the program's input)"
        ]
    );
    assert_eq!(
        texts(bound(Origin::Size, "MPI_Comm_size")),
        ["by the compiler, its bound `n` comes from MPI_Comm_size at app.c:12"]
    );
    assert_eq!(texts(bound(Origin::Unknown, "")), [""; 0]);
    assert_eq!(texts(bound(Origin::Input, "getenv")), [""; 0]);
}

#[test]
fn where_cores_fill_up_work_that_stays_is_told_by_the_compiler() {
    // Half of the cores idle at the smaller scale, so its loop may have run faster alone, and shrink after all.
    let scale = |ranks: u32, stays: f64| {
        let shared = 8.0 / f64::from(ranks);
        vec![
            part(None, BESIDE, ranks, move |_| stays),
            part(Some(0), SOLVE, ranks, move |_| shared),
        ]
    };
    let given = |structures: Structures, words: &str| {
        let runs = [(2, 1.0), (4, 0.85)].map(|(ranks, stays)| {
            let mut run = recorded(&scale(ranks, stays), 2000.0);
            run.header.cores = vec![4];
            run.header.command = vec!["app".into(), words.replace('#', &ranks.to_string())];
            run
        });
        let options = Options {
            scaling: Some(Scaling::Strong),
            ..Options::default()
        };
        let d = diagnose(runs.to_vec(), structures, &options).expect("runs");
        let mut all = d.causes.into_iter();
        all.find(|c| c.class == CauseClass::NonShrinkingWork)
    };
    let found = |condition, words: &str| given(told(&[(BESIDE_LOOP, condition)]), words);
    let input = || bound(Origin::Input, "main");
    assert_eq!(found(bound(Origin::Unknown, ""), "8"), None);
    assert_eq!(found(bound(Origin::Size, "MPI_Comm_size"), "8"), None);
    let cause = found(input(), "8").expect("it does the same on 4 ranks");
    // Divided, it would take half of the time on 4 ranks, or half of that on 2 ranks.
    let (low, high) = cause.gain_range_seconds;
    assert!(low < 0.35 && high > 0.425, "{low} to {high}");
    // The argument itself may depend on the scale.
    assert_eq!(found(input(), "#"), None);
    assert!(found(bound(Origin::Constant, ""), "#").is_some());
    // How much a library's function does is said by what it is given.
    let library = calling_a_library(&told(&[(BESIDE_LOOP, input())]));
    assert_eq!(given(library, "8"), None);
}

#[test]
fn a_machine_is_not_slower_than_work_shows_that_surely_stays() {
    // The usual rank of 4 takes 1.6 times what it should in most places; what is known to stay takes as long as before.
    let runs = || {
        [(2, 1.0), (4, 0.8)].map(|(ranks, pace): (u32, f64)| {
            let parts = vec![
                part(None, BESIDE, ranks, move |_| 0.5 * pace),
                part(Some(0), SOLVE, ranks, move |_| pace),
            ];
            let mut run = recorded(&parts, 2000.0);
            run.header.cores = vec![4];
            run.header.command = vec!["app".into(), "8".into()];
            run
        })
    };
    let options = Options {
        scaling: Some(Scaling::Strong),
        ..Options::default()
    };
    let causes = |condition| {
        let structures = told(&[
            (BESIDE_LOOP, condition),
            (SOLVE_LOOP, bound(Origin::Unknown, "")),
        ]);
        let d = diagnose(runs().to_vec(), structures, &options).expect("runs");
        d.causes.iter().map(|c| c.class).collect::<Vec<_>>()
    };
    assert_eq!(causes(bound(Origin::Unknown, "")), []);
    assert!(causes(bound(Origin::Input, "main")).contains(&CauseClass::NonShrinkingWork));
}

#[test]
fn of_equal_causes_the_one_that_depends_on_the_rank_comes_first() {
    let late = |rank: u32| if rank == 0 { 2.0 } else { 1.0 };
    let parts = vec![part(None, BESIDE, 4, late), part(Some(0), SOLVE, 4, late)];
    let first = |by_rank| {
        let d = of(
            told(&[(by_rank, bound(Origin::Rank, "MPI_Comm_rank"))]),
            &[(4, parts.clone())],
        );
        let lines: Vec<u32> = d.causes.iter().map(|c| c.place.first_line).collect();
        assert_eq!(lines.len(), 2, "{:?}", found(&d));
        lines[0]
    };
    assert_eq!((first(BESIDE_LOOP), first(SOLVE_LOOP)), (50, 105));
}
