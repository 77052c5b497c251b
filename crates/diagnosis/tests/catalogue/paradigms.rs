//! Paradigms: what their tables say of runs made by hand.

use super::programs::{made, recorded};
use super::support;
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::{Cache, Runner};
use headwater_diagnosis::paradigm::{ALL, ParadigmError, by_name};
use headwater_diagnosis::pass::catalogue;
use headwater_diagnosis::{Options, diagnose};
use headwater_graph::Structures;
use headwater_model::report::{Item, Report, Section};

fn report(name: &str, ranks: &[u32]) -> Report {
    let cache = Cache::default();
    let paradigm = by_name(name).expect("a paradigm");
    paradigm
        .run(
            &recorded(ranks),
            &Options::default(),
            &Runner::quiet(&cache),
        )
        .expect("runs")
}

fn section<'a>(report: &'a Report, name: &str) -> &'a Section {
    report
        .sections
        .iter()
        .find(|s| s.name == name)
        .expect("a section")
}

fn words(section: &Section, column: &str) -> Vec<String> {
    let all = section.column(column).expect("a column").into_iter();
    all.map(|i| match i {
        Item::Text(t) => t.clone(),
        other => format!("{other:?}"),
    })
    .collect()
}

fn figures(section: &Section, column: &str) -> Vec<f64> {
    let all = section.column(column).expect("a column").into_iter();
    all.map(|i| match i {
        Item::Number(x) => (x * 1000.0).round() / 1000.0,
        _ => f64::NAN,
    })
    .collect()
}

#[test]
fn every_paradigm_builds_a_flow_that_can_be_saved() {
    for paradigm in ALL {
        let flow = (paradigm.build)(2, &Options::default()).expect("its passes are there");
        flow.check().expect("they fit");
        let again = headwater_dataflow::flow::Flow::from_json(&flow.to_json(), &[], catalogue());
        assert_eq!(again.expect("reads").to_string(), flow.to_string());
    }
}

#[test]
fn scalability_analysis_is_the_diagnosis_in_tables() {
    // However the runs are named.
    let report = report("scalability", &[4, 2]);
    let causes = section(&report, "causes");
    let runs = vec![made(2), made(4)];
    let diagnosis = diagnose(runs, support::structure(3), &Options::default()).expect("two runs");
    assert!(!diagnosis.causes.is_empty());
    let gains: Vec<f64> = diagnosis.causes.iter().map(|c| c.gain_seconds).collect();
    assert_eq!(
        causes.column("gain_seconds").expect("a column"),
        gains
            .iter()
            .map(|g| Item::Number(*g))
            .collect::<Vec<_>>()
            .iter()
            .collect::<Vec<_>>()
    );
    let steps: usize = diagnosis.causes.iter().map(|c| c.path.len()).sum();
    assert_eq!(section(&report, "paths").rows.len(), steps);
    assert_eq!(
        words(section(&report, "answer"), "sentence")[0],
        diagnosis.headline[0]
    );
    for (name, marks) in [
        ("non_scalable", &diagnosis.non_scalable),
        ("abnormal", &diagnosis.abnormal),
    ] {
        let names: Vec<&str> = marks.iter().map(|m| m.place.name.as_str()).collect();
        assert_eq!(words(section(&report, name), "name"), names, "{name}");
    }
}

#[test]
fn delay_cost_joins_who_waits_with_who_is_late() {
    let report = report("scalability", &[4]);
    let cost = section(&report, "delay_cost");
    // Three ranks wait a second each, as the barrier ends a phase.
    assert_eq!(words(cost, "call"), ["MPI_Barrier"]);
    assert_eq!(words(cost, "cause_location"), ["app.c:20-25"]);
    assert_eq!(words(cost, "late_ranks"), ["3"]);
    assert_eq!(figures(cost, "wait_seconds"), [3.0]);
}

#[test]
fn scales_that_do_not_belong_together_are_refused_by_the_pass_that_needs_them() {
    let cache = Cache::default();
    let paradigm = by_name("scalability").expect("a paradigm");
    let refused = |runs: &[Recorded]| {
        let report = paradigm.run(runs, &Options::default(), &Runner::quiet(&cache));
        report.expect_err("refused").to_string()
    };
    let said = "pass scales, argument run: ";
    let e = refused(&recorded(&[4, 4]));
    assert_eq!(
        e,
        format!("{said}runs app.4 and app.4 both have 4 ranks; give one run for each scale")
    );
    let apart = [recorded(&[2]), recorded(&[4])].concat();
    let e = refused(&apart);
    assert_eq!(
        e,
        format!("{said}the runs are on several graphs; join all scales together")
    );
}

#[test]
fn a_profile_has_all_time_once() {
    let report = report("profile", &[4]);
    let flat = section(&report, "flat_profile");
    let own: f64 = figures(flat, "time_seconds").iter().sum();
    let tree = section(&report, "call_tree");
    let levels = figures(tree, "level");
    let totals = figures(tree, "total_seconds");
    let outermost: f64 = (levels.iter().zip(&totals))
        .filter(|(level, _)| **level == 0.0)
        .map(|(_, total)| total)
        .sum();
    // Three ranks wait a second for the fourth, which computes for it.
    assert!(own > 4.0, "{own}");
    assert!((own - outermost).abs() < 0.02 * own, "{own} {outermost}");
    assert!(words(flat, "function").contains(&"MPI_Barrier".to_string()));
    let shares: f64 = figures(flat, "time_share").iter().sum();
    assert!((shares - 1.0).abs() < 0.01, "{shares}");
    // Nothing is longer than what it is in.
    for (at, level) in levels.iter().enumerate().filter(|l| *l.1 > 0.0) {
        let around = (0..at).rev().find(|i| levels[*i] == level - 1.0);
        let around = around.expect("a place is below another");
        assert!(totals[at] <= totals[around] + 1e-3, "{at}");
    }
}

#[test]
fn an_mpi_profile_has_the_sections_of_mpip() {
    let report = report("mpi-profile", &[4]);
    let tasks = section(&report, "time_by_task");
    // Three others wait a second for rank 3.
    assert_eq!(figures(tasks, "rank"), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(figures(tasks, "app_seconds"), [3.5; 4]);
    let time = section(&report, "time_by_site");
    assert_eq!(words(time, "call")[0], "MPI_Barrier");
    assert_eq!(figures(time, "site"), [1.0, 2.0, 3.0]);
    assert_eq!(figures(time, "time_seconds")[0], 3.0);
    assert_eq!(figures(time, "count"), [400.0; 3]);
    let sites = section(&report, "call_sites");
    assert_eq!(figures(sites, "line")[0], 27.0);
    let sent = section(&report, "sent_by_site");
    assert_eq!(words(sent, "call"), ["MPI_Allreduce", "MPI_Send"]);
    assert_eq!(figures(sent, "total_bytes"), [3200.0; 2]);
    assert_eq!(figures(sent, "sent_share"), [0.5; 2]);
    let by_rank = section(&report, "time_by_site_and_rank");
    assert_eq!(by_rank.rows.len(), 12);
    assert!(
        figures(by_rank, "min_seconds")[0].is_nan(),
        "it is not recorded"
    );
    let sizes = section(&report, "message_sizes");
    assert_eq!(figures(sizes, "from_bytes"), [8.0; 3]);
}

#[test]
fn communication_tells_why_ranks_differ() {
    let report = report("communication", &[4]);
    assert_eq!(
        words(section(&report, "hotspots"), "name")[0],
        "MPI_Barrier"
    );
    let uneven = section(&report, "imbalanced");
    assert_eq!(words(uneven, "name"), ["MPI_Barrier"]);
    assert_eq!(words(uneven, "late_ranks"), ["0-2"]);
    assert_eq!(figures(uneven, "excess_seconds"), [1.0]);
    assert_eq!(words(uneven, "reason"), ["load before"]);
    assert_eq!(figures(uneven, "load_before_seconds"), [1.0]);
}

#[test]
fn causal_analysis_ends_with_what_nothing_is_behind() {
    let report = report("causal", &[4]);
    let all = section(&report, "imbalanced");
    assert_eq!(
        all.rows.len(),
        4,
        "the barrier on three ranks, the loop on one: {all:?}"
    );
    let causes = section(&report, "causes");
    assert_eq!(words(causes, "location"), ["app.c:20-25"]);
    assert_eq!(words(causes, "called_from"), ["main"]);
    assert_eq!(figures(causes, "rank"), [3.0]);
}

#[test]
fn the_critical_path_goes_through_the_late_rank() {
    let report = report("critical-path", &[4]);
    let path = section(&report, "critical_path");
    assert_eq!(words(path, "location")[0], "app.c:20-25");
    assert_eq!(words(path, "path_ranks")[0], "3");
    assert_eq!(figures(path, "on_path_seconds"), [2.0, 1.0, 0.5]);
    assert_eq!(figures(path, "imbalance_seconds")[0], 0.75);
}

#[test]
fn wait_states_have_their_names() {
    let report = report("wait-states", &[4]);
    let states = section(&report, "wait_states");
    assert_eq!(words(states, "state"), ["wait at barrier"]);
    assert_eq!(figures(states, "wait_seconds"), [3.0]);
    let calls = section(&report, "wait_states_by_call");
    assert_eq!(figures(calls, "on_rank"), [3.0]);
}

#[test]
fn what_two_runs_take_is_compared_place_by_place() {
    let report = report("differential", &[2, 4]);
    let grown = section(&report, "grown");
    // The barrier's waits are only in the larger run; work that is split takes no longer in all.
    assert_eq!(words(grown, "name")[0], "MPI_Barrier");
    assert!((figures(grown, "time_seconds")[0] - 3.0).abs() < 0.01);
    let lines: Vec<String> = words(grown, "location");
    assert!(!lines.contains(&"app.c:10-15".to_string()), "{lines:?}");
}

#[test]
fn two_builds_are_compared_as_two_runs_of_one_are() {
    let other = |build_id: &mut String| *build_id = "cd".to_string();
    let mut runs = vec![made(4), made(2), made(4)];
    for run in &mut runs[1..] {
        run.modules.iter_mut().for_each(|m| other(&mut m.build_id));
    }
    let structure = support::structure(3);
    let structures = structure.iter().flat_map(|(module, structure)| {
        let mut new = (module.clone(), structure.clone());
        other(&mut new.0.build_id);
        other(&mut new.1.build_id);
        [(module.clone(), structure.clone()), new]
    });
    let recorded = Recorded::join(runs, Structures::new(structures)).expect("whole runs");
    let ranks: Vec<u32> = recorded.iter().map(|r| r.run().header.ranks).collect();
    assert_eq!(ranks, [4, 2, 4], "in the order given");
    assert!(recorded[1].shares_graph(&recorded[2]) && !recorded[0].shares_graph(&recorded[1]));
    let cache = Cache::default();
    let compare = |runs: &[Recorded]| {
        let paradigm = by_name("differential").expect("a paradigm");
        paradigm
            .run(runs, &Options::default(), &Runner::quiet(&cache))
            .expect("runs")
    };
    let same = compare(&[recorded[0].clone(), recorded[2].clone()]);
    assert!(same.sections.iter().all(|s| s.rows.is_empty()), "{same:?}");
    let report = compare(&[recorded[1].clone(), recorded[0].clone()]);
    let grown = section(&report, "grown");
    assert_eq!(words(grown, "name")[0], "MPI_Barrier");
    assert!((figures(grown, "time_seconds")[0] - 3.0).abs() < 0.01);
}

#[test]
fn efficiencies_of_scales_are_those_of_the_diagnosis() {
    let report = report("efficiencies", &[4, 2]);
    let table = section(&report, "efficiencies");
    assert_eq!(
        figures(table, "ranks"),
        [2.0, 4.0],
        "by ranks, however they were named"
    );
    let balance = figures(table, "load_balance");
    assert!(balance[0] > 0.99 && balance[1] < 0.9, "{balance:?}");
}

#[test]
fn growth_over_three_runs_is_reported_from_run_to_run() {
    let report = report("contention", &[2, 3, 4]);
    let change = |name: &str| {
        let table = section(&report, name);
        let at = words(table, "name").iter().position(|n| n == "MPI_Barrier");
        at.map(|i| figures(table, "time_seconds")[i])
    };
    assert_eq!(
        change("grown"),
        Some(3.0),
        "all waiting came with the fourth rank"
    );
    assert_eq!(
        (change("grown_1_2"), change("grown_2_3")),
        (Some(0.0), Some(3.0))
    );
    assert_eq!(
        figures(section(&report, "grown"), "after_time_seconds")[0],
        3.0
    );
}

#[test]
fn contention_has_its_tables_where_nobody_contends() {
    let report = report("contention", &[2, 4]);
    assert!(section(&report, "contention").rows.len() <= 1);
    assert!(!section(&report, "grown").rows.is_empty());
}

#[test]
fn behind_contention_is_looked_for_places_with_a_problem() {
    let several = report("contention", &[2, 4]);
    // Rank 3 is late in the second loop, and the third one is not divided by ranks. The first is as hot, and has no
    // problem.
    let behind = words(section(&several, "behind"), "location");
    assert_eq!(behind[0], "app.c:20-25");
    assert!(!behind.contains(&"app.c:10-15".to_string()), "{behind:?}");
    // One run alone does not say what grew.
    let one = report("contention", &[4]);
    assert!(one.sections.iter().all(|s| s.name != "behind"));
}

#[test]
fn what_a_rank_does_in_a_file_is_its_computation_and_in_a_profile_a_call() {
    let pieces = [
        support::piece("MPI_File_write", |_, _| 1.0),
        support::piece("MPI_Barrier", |_, _| 0.5),
    ];
    let mut run = support::run(4, &pieces);
    // Rank 3 writes for two seconds, and the others wait for it in the barrier.
    for call in &mut run.calls {
        let writes = call.func == 0;
        call.wall_ns = u64::from(writes == (call.rank == 3)) * 2_000_000_000;
    }
    run.ranks.iter_mut().for_each(|r| r.wall_ns = 3_500_000_000);
    run.header.wall_seconds = 3.5;
    let recorded = Recorded::join(vec![run], support::structure(2)).expect("a whole run");
    let cache = Cache::default();
    let report = |name: &str| {
        let paradigm = by_name(name).expect("a paradigm");
        let report = paradigm.run(&recorded, &Options::default(), &Runner::quiet(&cache));
        report.expect("runs")
    };
    let efficiencies = report("efficiencies");
    let balance = figures(section(&efficiencies, "efficiencies"), "load_balance");
    assert_eq!(balance, [0.571], "two of 3.5 seconds on the mean");
    let path = report("critical-path");
    let path = section(&path, "critical_path");
    assert_eq!(words(path, "name")[0], "MPI_File_write");
    let profile = report("mpi-profile");
    let time = section(&profile, "time_by_site");
    assert_eq!(words(time, "call"), ["MPI_Barrier", "MPI_File_write"]);
    assert_eq!(figures(time, "time_seconds"), [6.0, 2.0]);
}

fn section_note(report: &Report, name: &str) -> String {
    section(report, name).note.clone().unwrap_or_default()
}

#[test]
fn a_profile_says_what_is_not_in_it() {
    let cache = Cache::default();
    let runner = Runner::quiet(&cache);
    let profile = by_name("mpi-profile").expect("a paradigm");
    let report = profile
        .run(&recorded(&[2]), &Options::default(), &runner)
        .expect("runs");
    let note = |name| section_note(&report, name);
    assert!(!note("time_by_task").contains("besides the first"));
    assert!(note("sent_by_site").contains("empty messages"));
    let mut threads = made(2);
    threads.calls[0].thread = 1;
    let threads = Recorded::join(vec![threads], support::structure(3)).expect("a whole run");
    let report = profile
        .run(&threads, &Options::default(), &runner)
        .expect("runs");
    assert!(section_note(&report, "time_by_task").contains("besides the first"));
}

#[test]
fn runs_that_do_not_fit_are_refused() {
    let cache = Cache::default();
    let runner = Runner::quiet(&cache);
    let profile = by_name("mpi-profile").expect("a paradigm");
    let e = profile
        .run(&recorded(&[2, 4]), &Options::default(), &runner)
        .expect_err("one run");
    assert_eq!(e.to_string(), "mpi-profile takes one run, and 2 were given");
    let unknown = by_name("mpi").expect_err("none");
    assert!(matches!(unknown, ParadigmError::Unknown(..)));
}
