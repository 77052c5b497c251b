//! Every format of a small run, as it is, and what cannot be given.

mod made_up;

use headwater_export::{ALL, ExportError, Recorded, Takes, Wanted, Which, by_name};
use made_up::{recorded, run};

fn bytes(format: &str, runs: &[Recorded], wanted: &Wanted) -> Result<Vec<u8>, ExportError> {
    let mut out = Vec::new();
    by_name(format)?.write(runs, wanted, &mut out)?;
    Ok(out)
}

fn text(format: &str, wanted: &Wanted) -> String {
    let out = bytes(format, &recorded(vec![run(2)]), wanted).expect(format);
    String::from_utf8(out).expect("text")
}

fn parallel() -> Wanted {
    Wanted {
        view: Some(Which::Parallel),
        ..Default::default()
    }
}

fn table(name: &str) -> Wanted {
    Wanted {
        table: Some(name.into()),
        ..Default::default()
    }
}

#[test]
fn profiles_show_who_spent_how_long_where() {
    let all = Wanted::default();
    insta::assert_snapshot!("folded", text("folded", &all));
    insta::assert_snapshot!("speedscope", text("speedscope", &all));
    insta::assert_snapshot!("firefox", text("firefox", &all));
    insta::assert_snapshot!("hatchet", text("hatchet", &all));
}

/// Inferno is flamegraph.pl in Rust.
#[test]
fn inferno_draws_the_folded_stacks() {
    let folded = text("folded", &Wanted::default());
    let mut svg = Vec::new();
    let mut options = inferno::flamegraph::Options::default();
    options.count_name = "µs".into();
    inferno::flamegraph::from_lines(&mut options, folded.lines(), &mut svg).expect("a drawing");
    let svg = String::from_utf8(svg).expect("text");
    for said in [
        "all (2,350,000 µs, 100%)",
        "MPI_Recv (500,000 µs, 21.28%)",
        "[waiting] (450,000 µs, 19.15%)",
    ] {
        assert!(svg.contains(said), "no {said} in:\n{svg}");
    }
}

#[test]
fn a_timeline_shows_waits_and_messages() {
    insta::assert_snapshot!("perfetto", text("perfetto", &Wanted::default()));
}

/// Otherwise Perfetto has them end in `waiting`, or turns them round.
#[test]
fn arrows_end_where_a_call_or_receiving_begins() {
    let timeline = text("perfetto", &Wanted::default());
    let timeline: serde_json::Value = serde_json::from_str(&timeline).expect("JSON");
    let events = timeline["traceEvents"].as_array().expect("events");
    // The last of the slices that begin at once lies inside the others.
    let begun = |at: &serde_json::Value| {
        let mut slices = events.iter().rev().filter(|e| e["ph"] == "X");
        slices.find(|e| e["tid"] == at["tid"] && e["ts"] == at["ts"])
    };
    let ends: Vec<_> = (events.iter().filter(|e| e["ph"] == "f"))
        .map(|f| begun(f).map(|slice| slice["name"].as_str()))
        .collect();
    let [receiving, call] = ["receiving", "MPI_Recv"].map(|name| Some(Some(name)));
    assert_eq!(ends, [receiving, call, receiving]);
}

#[test]
fn nonblocking_collectives_are_waited_for_until_the_last_has_posted() {
    let mut run = run(2);
    made_up::nonblocking(&mut run);
    let mut out = Vec::new();
    let perfetto = by_name("perfetto").expect("a format");
    let runs = recorded(vec![run]);
    perfetto
        .write(&runs, &Wanted::default(), &mut out)
        .expect("a timeline");
    let timeline: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    let waiting: Vec<_> = (timeline["traceEvents"].as_array().expect("events").iter())
        .filter(|e| e["cat"] == "waiting")
        .map(|e| (e["pid"].as_u64(), e["dur"].as_f64()))
        .collect();
    // Rank 0 until rank 1 has posted, not until that waits as well.
    assert_eq!(waiting, [(Some(1), Some(30.0))]);
}

#[test]
fn scales_are_measurements() {
    let runs = recorded(vec![run(4), run(2)]);
    let out = bytes("extra-p", &runs, &Wanted::default()).expect("two scales");
    insta::assert_snapshot!("extrap", String::from_utf8(out).expect("text"));
}

#[test]
fn graphs_have_the_attributes_of_the_view() {
    insta::assert_snapshot!("dot", text("dot", &Wanted::default()));
    insta::assert_snapshot!("dot_parallel", text("dot", &parallel()));
    let few = Wanted {
        vertices: Some(4),
        ..Default::default()
    };
    insta::assert_snapshot!("graphml", text("graphml", &few));
}

#[test]
fn tables_are_those_of_views_and_analyses() {
    insta::assert_snapshot!("csv_by_rank", text("csv", &table("by-rank")));
    let edges = Wanted {
        view: Some(Which::Parallel),
        ..table("edges")
    };
    let edges = text("csv", &edges);
    let mut lines = edges.lines();
    assert!(
        lines
            .next()
            .is_some_and(|l| l.starts_with("source,target,type,kind,"))
    );
    let message = lines.find(|l| l.contains("point-to-point"));
    assert!(
        message.is_some_and(|l| l.contains(",10,800,,0.45,0.45,0,")),
        "{edges}"
    );
    let sites = Wanted {
        analysis: Some("mpi-profile".into()),
        ..table("time_by_site")
    };
    insta::assert_snapshot!("csv_analysis", text("csv", &sites));
}

#[test]
fn ranks_can_be_chosen() {
    let one = Wanted {
        ranks: "1".parse().ok(),
        ..Default::default()
    };
    let folded = text("folded", &one);
    assert!(
        folded.contains("MPI_Recv;[waiting]") && !folded.contains("MPI_Send"),
        "{folded}"
    );
    let csv = text(
        "csv",
        &Wanted {
            table: Some("ranks".into()),
            ..one.clone()
        },
    );
    assert_eq!(csv.lines().count(), 2, "{csv}");
    let dot = text(
        "dot",
        &Wanted {
            ranks: one.ranks,
            ..parallel()
        },
    );
    assert!(dot.contains("rank 1") && !dot.contains("rank 0"), "{dot}");
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for format in ALL {
        let runs = || match format.takes {
            Takes::Scales => recorded(vec![run(2), run(4)]),
            _ => recorded(vec![run(2)]),
        };
        let make = || bytes(format.name, &runs(), &Wanted::default()).expect(format.name);
        assert!(make() == make(), "{}", format.name);
    }
}

#[test]
fn what_cannot_be_given_is_said() {
    let refused = |format: &str, ranks: &[u32], wanted: &Wanted, words: &[&str]| {
        let runs = recorded(ranks.iter().map(|p| run(*p)).collect());
        let error = bytes(format, &runs, wanted).expect_err(format).to_string();
        for word in words {
            assert!(error.contains(word), "{format}: no \"{word}\" in: {error}");
        }
    };
    let all = Wanted::default();
    refused("xml", &[2], &all, &["there is no format xml", "graphml"]);
    refused("folded", &[2, 4], &all, &["one run", "2 were given"]);
    refused("extra-p", &[2], &all, &["two runs or more", "1 were given"]);
    refused("extra-p", &[2, 2], &all, &["all runs have 2 ranks"]);
    refused(
        "perfetto",
        &[4],
        &all,
        &["app.4 has no window", "speedscope"],
    );
    refused("folded", &[2], &parallel(), &["no --view"]);
    refused(
        "csv",
        &[2],
        &table("nix"),
        &["no table nix", "vertices", "ranks"],
    );
    let ranks = |set: &str, wanted: Wanted| Wanted {
        ranks: set.parse().ok(),
        ..wanted
    };
    refused(
        "folded",
        &[2],
        &ranks("0,7", all.clone()),
        &["no rank 7", "0-1"],
    );
    refused("dot", &[2], &ranks("0", all.clone()), &["--view parallel"]);
    refused("csv", &[2], &ranks("0", all.clone()), &["--table by-rank"]);
    let analysis = |name: &str| Wanted {
        analysis: Some(name.into()),
        ..Default::default()
    };
    refused("csv", &[2], &analysis("nix"), &["no analysis nix"]);
    refused(
        "csv",
        &[2],
        &analysis("mpi-profile"),
        &["several tables", "time_by_site"],
    );
    refused(
        "csv",
        &[2],
        &analysis("differential"),
        &["two runs", "1 were given"],
    );
}
