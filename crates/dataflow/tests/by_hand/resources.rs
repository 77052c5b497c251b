//! What runs took of the machine, on runs made by hand: old ones, imported ones, and one of many ranks.

use super::support::{module, piece, run, structure};
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::Value;
use headwater_dataflow::pass::catalogue;
use headwater_graph::Structures;
use headwater_model::psg::Arithmetic;
use headwater_model::report::{Item, Section};
use headwater_model::run::*;

fn made(ranks: u32) -> Run {
    run(ranks, &[piece("MPI_Send", |_, n| 4.0 / f64::from(n))])
}

/// A run in which everything was recorded; rank `r` has `1 + r` MiB and reads as much, except rank 1, which has as
/// much as rank 0.
fn whole(ranks: u32) -> Run {
    let mut run = made(ranks);
    run.header.nodes = vec!["n0".into(), "n1".into()];
    run.header.cores = vec![ranks, ranks];
    for info in &mut run.ranks {
        info.node = info.rank % 2;
        (info.minor_faults, info.major_faults) = (Some(100), Some(0));
        (info.voluntary_switches, info.involuntary_switches) =
            (Some(5), Some(u64::from(info.rank)));
    }
    let mib = |rank: u32| u64::from(if rank == 1 { 1 } else { 1 + rank }) << 20;
    let usage = |rank| Usage {
        rank,
        peak_memory_bytes: Some(mib(rank)),
        read_bytes: Some(mib(rank)),
        reads: Some(2),
        written_bytes: Some(0),
        writes: Some(0),
        storage_read_bytes: None,
        storage_written_bytes: Some(7),
    };
    run.usage = (0..ranks).map(usage).collect();
    for call in &mut run.calls {
        call.peer = if call.rank + 1 == ranks {
            -(ranks as i32 - 1)
        } else {
            1
        };
    }
    run
}

fn recorded(runs: Vec<Run>) -> Vec<Recorded> {
    Recorded::join(runs, structure(1)).expect("whole runs")
}

fn table(pass: &str, runs: &[Recorded]) -> Section {
    let pass = catalogue().by_name(pass).expect("a pass");
    let inputs: Vec<Value> = runs.iter().map(|r| r.clone().into()).collect();
    let given = pass.run(&inputs, &Default::default(), &|| false);
    let given = given.expect("runs");
    let section = given.first().and_then(Value::section).expect("a table");
    (**section).clone()
}

/// The values of a row, in the order of `columns`.
fn row<'s>(section: &'s Section, row: usize, columns: &[&str]) -> Vec<&'s Item> {
    let of = |name: &&str| section.column(name).and_then(|c| c.get(row).copied());
    columns.iter().map(|c| of(c).expect("a value")).collect()
}

fn numbers(items: &[&Item]) -> Vec<f64> {
    let number = |item: &&Item| match item {
        Item::Number(x) => *x,
        _ => f64::NAN,
    };
    items.iter().map(number).collect()
}

const SPREAD: [&str; 5] = ["least", "least_rank", "median", "most", "most_rank"];

#[test]
fn many_ranks_are_their_extremes_with_the_first_of_equal_ones() {
    let runs = recorded(vec![whole(2), whole(2048)]);
    let memory = table("used-memory", &runs);
    assert_eq!(memory.rows.len(), 2, "a row for each run");
    let mib = f64::from(1 << 20);
    let found = numbers(&row(&memory, 1, &SPREAD));
    assert_eq!(found, [mib, 0.0, 1024.0 * mib, 2048.0 * mib, 2047.0]);
    let node = row(&memory, 1, &["node", "node_bytes"]);
    // Ranks with odd numbers have 1 MiB and 4, 6 … 2048 MiB.
    let sum = (2..=1024).map(|n| 2.0 * f64::from(n)).sum::<f64>() + 1.0;
    assert_eq!(node, [&Item::from("n1"), &Item::from(sum * mib)]);
    for pass in ["used-events", "used-files", "used-partners"] {
        let rows = table(pass, &runs).rows.len();
        assert!((1..=20).contains(&rows), "{pass} has {rows} rows");
    }
    let by_rank = table("used-by-rank", &runs);
    assert_eq!(by_rank.rows.len(), 2, "only of the run with few ranks");
}

#[test]
fn partners_are_counted_by_distance_and_node() {
    let runs = recorded(vec![whole(4)]);
    let partners = table("used-partners", &runs);
    let columns = ["partner", "senders", "between_nodes", "total"];
    let found = |i| row(&partners, i, &columns);
    let of = |name: &str, figures: [f64; 3]| {
        let all = figures.into_iter().map(Item::from);
        std::iter::once(Item::from(name))
            .chain(all)
            .collect::<Vec<_>>()
    };
    // Each neighbour is on the other node.
    assert_eq!(
        found(0),
        of("rank + 1", [3.0, 2400.0, 2400.0])
            .iter()
            .collect::<Vec<_>>()
    );
    assert_eq!(
        found(1),
        of("rank - 3", [1.0, 800.0, 800.0])
            .iter()
            .collect::<Vec<_>>()
    );
    assert_eq!(partners.rows.len(), 2);
}

#[test]
fn the_root_of_a_collective_is_no_partner() {
    let mut run = run(4, &[piece("MPI_Bcast", |_, n| 4.0 / f64::from(n))]);
    for call in &mut run.calls {
        call.peer = -(call.rank as i32);
    }
    assert!(run.calls.iter().any(|c| c.bytes > 0));
    assert_eq!(table("used-partners", &recorded(vec![run])).rows, [[]; 0]);
}

#[test]
fn what_was_not_recorded_is_missing_and_says_why() {
    let why = |run: Run, what: &str| -> Option<String> {
        let section = table("not-recorded", &recorded(vec![run]));
        let rows = section.column("what").expect("a column").into_iter();
        let reasons = section.column("why").expect("a column");
        let found = rows.zip(reasons).find(|(w, _)| **w == Item::from(what))?;
        match found.1 {
            Item::Text(why) => Some(why.clone()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(why(whole(2), "memory"), None);
    let energy = why(whole(2), "energy").expect("none was readable");
    assert!(
        energy.starts_with("no counter that this user may read"),
        "{energy}"
    );
    let mut old = whole(2);
    old.usage.clear();
    for what in ["memory", "input and output", "energy"] {
        let why = why(old.clone(), what).expect(what);
        assert!(why.contains("older Headwater"), "{why}");
    }
    for what in ["memory", "page faults, switches, migrations", "energy"] {
        let why = why(made(2), what).expect(what);
        assert!(why.contains("imported"), "{why}");
    }
    let mut killed = whole(2);
    killed.usage[1] = Usage {
        rank: 1,
        ..Usage::default()
    };
    let said = why(killed, "memory, input and output").expect("of one rank");
    assert!(said.contains("rank 1"), "{said}");
    // A table has a dash for the run, or no row, and never a zero.
    let old = recorded(vec![old]);
    assert_eq!(
        row(&table("used-memory", &old), 0, &["most"]),
        [&Item::Missing]
    );
    assert!(table("used-files", &old).rows.is_empty());
    let imported = recorded(vec![made(2)]);
    assert!(table("used-events", &imported).rows.is_empty());
    assert!(table("used-by-rank", &imported).rows.is_empty());
}

#[test]
fn energy_that_is_not_sure_has_a_name_and_no_figure() {
    let mut run = whole(2);
    let zone = |zone: &str, microjoules| Energy {
        zone: zone.into(),
        microjoules,
        wall_ns: 2_000_000_000,
        ..Default::default()
    };
    run.energy = vec![zone("dram-0", None), zone("package-0", Some(60_000_000))];
    let energy = table("used-energy", &recorded(vec![run]));
    let columns = ["energy_joules", "power_watts"];
    assert_eq!(row(&energy, 0, &columns), [&Item::Missing, &Item::Missing]);
    assert_eq!(numbers(&row(&energy, 1, &columns)), [60.0, 30.0]);
}

#[test]
fn file_systems_are_those_of_the_files_of_each_kind_of_call() {
    let mut run = whole(2);
    run.functions.push("MPI_File_write".into());
    let written = MpiCalls {
        rank: 1,
        func: 1,
        bytes: 4096,
        count: 3,
        wall_ns: 2_000_000_000,
        ..run.calls[0].clone()
    };
    run.calls.push(written);
    let system = |name: &str, mpi_opened, open_at_end| FileSystem {
        rank: 1,
        name: name.into(),
        mpi_opened,
        open_at_end,
        ..FileSystem::default()
    };
    let long = |rank, long_calls, long_ns| FileSystem {
        rank,
        long_calls,
        long_ns,
        ..system("nfs", 0, 1)
    };
    run.file_systems = vec![
        system("lustre", 2, 0),
        long(0, 2, 500_000_000),
        long(1, 1, 1_000_000_000),
        system("tmpfs", 1, 0),
    ];
    let times = table("used-file-time", &recorded(vec![run]));
    assert_eq!(times.rows.len(), 2, "{times:?}");
    let columns = [
        "what",
        "file_systems",
        "calls",
        "total",
        "most",
        "most_rank",
    ];
    let of_nfs = row(&times, 1, &columns);
    assert_eq!(*of_nfs[1], Item::from("nfs"));
    assert_eq!(numbers(&of_nfs[2..]), [3.0, 1.5, 1.0, 1.0]);
    let found = row(
        &times,
        0,
        &["what", "file_systems", "calls", "bytes", "total"],
    );
    let expected = ["MPI-IO, independent".into(), "lustre, tmpfs".into()];
    assert_eq!(found[..2], [&expected[0], &expected[1]]);
    assert_eq!(numbers(&found[2..]), [3.0, 4096.0, 2.0]);
}

#[test]
fn loops_weigh_as_much_as_they_compute() {
    // Vertices 2 and 4 are the loops, with 3 and 1 s; both are inside the loop 1, which has no arithmetic.
    let pieces = [3.0, 1.0].map(|s| piece("MPI_Barrier", move |_, _| s / 2.0));
    let (_, mut of_program) = {
        let structures = structure(2);
        let (module, structure) = structures.iter().next().expect("one");
        (module.clone(), structure.clone())
    };
    let arithmetic = |vertex, all, packed| Arithmetic {
        function: 0,
        vertex,
        all,
        packed,
    };
    of_program.arithmetic = vec![
        arithmetic(0, 9, 9),
        arithmetic(2, 8, 8),
        arithmetic(4, 5, 1),
    ];
    let structures = Structures::new([(module(), of_program)]);
    let runs = Recorded::join(vec![run(2, &pieces)], structures).expect("a whole run");
    let vectors = table("used-vectors", &runs);
    assert_eq!(vectors.rows.len(), 3, "{vectors:?}");
    let columns = ["time_seconds", "arithmetic", "packed", "vector_share"];
    let close = |row_number: usize, expected: [f64; 4]| {
        let found = numbers(&row(&vectors, row_number, &columns));
        let near = |(a, b): (&f64, f64)| a.is_nan() && b.is_nan() || (a - b).abs() < 0.02;
        assert!(found.iter().zip(expected).all(near), "{found:?}");
    };
    close(0, [4.0, f64::NAN, f64::NAN, (3.0 + 0.2) / 4.0]);
    close(1, [3.0, 8.0, 8.0, 1.0]);
    close(2, [1.0, 5.0, 1.0, 0.2]);
    let place = row(&vectors, 1, &["function", "location"]);
    assert_eq!(place, [&Item::from("main"), &Item::from("app.c:10-15")]);
    // Nothing is known of what a binary without such instructions calculates.
    assert!(
        table("used-vectors", &recorded(vec![made(2)]))
            .rows
            .is_empty()
    );
}

#[test]
fn ratios_are_of_ranks_with_counters_and_unknown_ranks_have_no_sum() {
    let mut run = whole(2);
    run.header.counters = vec!["page_faults".into(), "instructions".into(), "cycles".into()];
    run.header.threads_asked = Some(4);
    for sample in &mut run.samples {
        // Rank 1 had no cycles.
        sample.counters = [7, 100, if sample.rank == 0 { 50 } else { 0 }].into();
    }
    run.usage[1].read_bytes = None;
    let runs = recorded(vec![run]);
    let counters = table("used-counters", &runs);
    let of = |what: &str, columns: &[&str]| -> Vec<f64> {
        let named = counters.column("what").expect("names");
        let at = named.iter().position(|n| **n == Item::from(what));
        numbers(&row(&counters, at.expect("a row"), columns))
    };
    assert_eq!(of("instructions per cycle", &["total"]), [2.0]);
    assert_eq!(of("instructions", &["threads"]), [4.0]);
    assert!(of("instructions", &["total"])[0] > 0.0);
    let cycles = of("cycles", &["total", "most_rank"]);
    assert!(cycles[0].is_nan() && cycles[1] == 0.0, "{cycles:?}");
    let files = table("used-files", &runs);
    let read = numbers(&row(&files, 0, &["total", "most"]));
    assert!(read[0].is_nan() && read[1] > 0.0, "{read:?}");
}
