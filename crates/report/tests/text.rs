//! Reports as people see them.

mod support;

use headwater_model::diagnosis::*;
use headwater_report::{TextOptions, json, text};
use support::{Source, diagnosis, scale, second, shown};

#[test]
fn a_cause_is_reported_in_full() {
    let d = diagnosis(16, Some((20, 29)));
    insta::assert_snapshot!(shown(&d, Source::There, 80));
}

#[test]
fn two_causes_stand_in_one_table() {
    let mut d = diagnosis(16, Some((20, 29)));
    d.causes.push(second(16));
    d.causes[1].called_from = Some("spectral_step".into());
    insta::assert_snapshot!(shown(&d, Source::Newer, 80));
}

/// Three causes of different kinds, one of them on a single rank.
fn several() -> Diagnosis {
    let mut d = diagnosis(16, Some((20, 29)));
    d.causes.push(second(16));
    let mut third = diagnosis(16, Some((40, 48))).causes.remove(0);
    third.class = CauseClass::OneOff;
    third.ranks = [4].into_iter().collect();
    third.explanation = "Rank 4 once takes very long here; every other time it does not.".into();
    third.gain_seconds = 0.004;
    third.gain_share = 0.031;
    third.path.truncate(1);
    third.clock = Clock::Virtual;
    d.causes.push(third);
    d.headline = vec![
        "From 2 to 16 ranks the program becomes 4 times as fast, of 8 times possible.".into(),
        "The main cause is uneven work in the loop in boundary at app.c:20-29 on ranks 0,4,8,12: mending it gains up to 25 %.".into(),
        "The next: collective growing by its algorithm in the call of MPI_Alltoall at app.c:71 (3 %); one more is reported below.".into(),
    ];
    d
}

#[test]
fn a_cause_in_a_region_says_so() {
    let mut d = diagnosis(16, Some((20, 29)));
    d.causes[0].regions = vec!["solve".into()];
    let title = headwater_report::cause_title(&d.causes[0]);
    assert!(title.ends_with(", in region solve"), "{title}");
    let report = shown(&d, Source::There, 200);
    let head = report.lines().find(|l| l.starts_with("1. "));
    assert!(
        head.is_some_and(|l| l.ends_with(", in region solve")),
        "{report}"
    );
}

#[test]
fn several_causes_fit_a_narrow_terminal() {
    insta::assert_snapshot!(shown(&several(), Source::There, 60));
}

#[test]
fn only_the_first_are_reported_in_full_if_so_asked() {
    let options = TextOptions {
        color: false,
        width: 80,
        top: 1,
        source: &Source::There,
    };
    let report = text(&several(), &options);
    assert!(
        report.contains("2 more causes in the table above"),
        "{report}"
    );
    assert!(!report.contains("2. collective"), "{report}");
    assert!(!report.contains('\u{1b}'), "no colour was asked for");
}

#[test]
fn colour_marks_what_is_to_be_seen_first() {
    let mut d = several();
    d.causes.truncate(1);
    let options = TextOptions {
        color: true,
        width: 80,
        top: 1,
        source: &Source::Gone,
    };
    insta::assert_snapshot!(text(&d, &options).replace('\u{1b}', "␛"));
}

#[test]
fn nothing_found_fits_a_narrow_terminal() {
    let mut d = diagnosis(16, None);
    d.causes.clear();
    d.account.parts.remove(0);
    d.headline
        .push("At 16 ranks 34 % is lost, and no single place explains it.".into());
    insta::assert_snapshot!(shown(&d, Source::Gone, 60));
}

#[test]
fn places_without_a_file_are_reported_by_name() {
    let mut d = diagnosis(16, None);
    let place = &mut d.causes[0].place;
    place.kind = headwater_model::psg::VertexKind::Function;
    place.name = "the start-up before the first MPI call".into();
    (place.module, place.function) = (String::new(), String::new());
    d.causes[0].path[1].place = d.causes[0].place.clone();
    let report = shown(&d, Source::Gone, 80);
    for line in [
        "1. uneven work: the start-up before the first MPI call\n",
        "      the start-up before the first MPI call, ranks 0,4,8,12\n",
        "compute: 500 ms at the start-up before the first MPI",
    ] {
        assert!(report.contains(line), "{line}\n{report}");
    }
}

#[test]
fn many_ranks_and_no_lines_still_fit() {
    insta::assert_snapshot!(shown(&diagnosis(1024, None), Source::Gone, 80));
}

#[test]
fn no_loss_is_a_proper_answer() {
    let mut d = diagnosis(16, None);
    d.causes.clear();
    d.account = Account::default();
    d.headline.push("No scaling loss found.".into());
    for s in &mut d.scales {
        s.efficiencies = Efficiencies {
            parallel: Some(0.96),
            load_balance: Some(0.98),
            communication: Some(0.98),
            global: Some(0.95),
            ..Default::default()
        };
    }
    insta::assert_snapshot!(shown(&d, Source::Gone, 80));
}

#[test]
fn computation_scaling_is_split_where_counters_show_how() {
    let rows = |d: &Diagnosis| {
        let text = shown(d, Source::Gone, 80);
        let rows = text.lines().filter(|l| l.contains("scaling  "));
        let names: Vec<String> = rows
            .map(|l| {
                l.split("  ")
                    .find(|n| !n.is_empty())
                    .unwrap_or("")
                    .trim()
                    .to_string()
            })
            .collect();
        names
    };
    let mut d = diagnosis(16, None);
    assert_eq!(rows(&d), ["computation scaling"]);
    let last = d.scales.last_mut().expect("a scale");
    last.efficiencies.instruction_scaling = Some(0.9);
    let two = ["computation scaling", "instruction scaling"];
    assert_eq!(rows(&d), two, "without cycles");
    let last = d.scales.last_mut().expect("a scale");
    last.efficiencies.ipc_scaling = Some(1.1);
    last.efficiencies.frequency_scaling = Some(0.96);
    let all = [&two[..], &["IPC scaling", "frequency scaling"]].concat();
    assert_eq!(rows(&d), all);
}

#[test]
fn one_scale_is_not_compared() {
    let mut d = diagnosis(16, Some((20, 20)));
    d.causes.clear();
    d.scaling = Scaling::Single;
    d.scaling_reason = "one scale was given".into();
    d.account = Account::default();
    let mut only = scale(16);
    only.efficiencies.computation_scaling = None;
    only.efficiencies.global = None;
    d.scales = vec![only];
    d.headline = vec!["One scale was given (16 ranks).".into()];
    insta::assert_snapshot!(shown(&d, Source::There, 80));
}

#[test]
fn loss_without_a_cause_is_admitted() {
    let mut d = diagnosis(16, None);
    d.causes.clear();
    let report = shown(&d, Source::Gone, 80);
    assert!(
        report.contains("Yet the global efficiency at 16 ranks is 0.67"),
        "{report}"
    );
}

#[test]
fn causes_that_explain_little_of_the_loss_do_not_hide_it() {
    let mut d = diagnosis(16, None);
    let says = |d: &Diagnosis| shown(d, Source::Gone, 200).contains("explain less than half");
    assert!(!says(&d));
    d.causes[0].gain_share = 0.1;
    assert!(says(&d));
}

#[test]
fn what_limits_a_cause_is_in_the_table() {
    let mut d = diagnosis(16, Some((20, 29)));
    d.causes[0].only_if = Some(Scaling::Strong);
    d.causes[0].repeated = Some(Repeated { found: 1, of: 3 });
    d.scaling_certain = false;
    let causes = vec![second(16)];
    d.other_reading = Some(Reading {
        scaling: Scaling::Weak,
        headline: vec!["The run takes 2 times as long.".into()],
        causes,
    });
    // Lines end where they are full.
    let report = shown(&d, Source::Gone, 100);
    let report: Vec<&str> = report.split_whitespace().collect();
    let report = report.join(" ");
    for words in [
        "the gain is likely 22–28 %; only under strong scaling; found in 1 of 3 diagnoses with one recording left out",
        "Causes if the problem grows with the ranks",
        "strong scaling, which is not certain",
    ] {
        assert!(report.contains(words), "{words}\n{report}");
    }
}

#[test]
fn marks_without_a_cause_are_counted() {
    let mut d = diagnosis(16, None);
    let c = d.causes.remove(0);
    d.non_scalable.push(Marked {
        place: c.place,
        ranks: c.ranks,
        seconds: 0.1,
        loss_share: 0.1,
        slope: None,
        r_squared: None,
        model: None,
        aggregation: Aggregation::Mean,
        aggregates: vec![],
        ratio: 1.0,
    });
    let report = shown(&d, Source::Gone, 200);
    assert!(
        report.contains("do not scale: 1; differing between ranks: 0"),
        "{report}"
    );
}

#[test]
fn a_missing_figure_is_a_dash() {
    let mut d = diagnosis(16, None);
    for s in &mut d.scales {
        s.efficiencies.transfer = None;
        s.efficiencies.parallel = Some(f64::NAN);
    }
    d.causes[0].gain_seconds = f64::NAN;
    let report = shown(&d, Source::Gone, 80);
    for row in ["transfer", "parallel efficiency"] {
        let line = report.lines().find(|l| l.trim().starts_with(row)).unwrap();
        assert_eq!(line.matches('–').count(), 2, "{line}");
    }
    assert!(!report.contains("NaN"), "{report}");
}

#[test]
fn no_line_is_wider_than_asked_for() {
    let mut d = diagnosis(1024, Some((20, 29)));
    d.causes.push(second(1024));
    d.scales = (1..=10).map(|i| scale(1 << i)).collect();
    d.causes[0].place.file = Some(format!("/{}", "very/deep/".repeat(30)));
    d.causes[0].place.function = "a_name_".repeat(30);
    for width in [60, 80, 96, 200] {
        let report = shown(&d, Source::There, width);
        for line in report.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(report.contains("1024"), "no scale is left out");
    }
}

#[test]
fn colour_changes_no_word() {
    let mut d = diagnosis(16, Some((20, 29)));
    d.causes.push(second(16));
    let options = TextOptions {
        color: true,
        width: 80,
        top: 3,
        source: &Source::There,
    };
    let coloured = text(&d, &options);
    assert!(coloured.contains('\u{1b}'));
    let mut plain = String::new();
    let mut inside = false;
    for c in coloured.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            c if !inside => plain.push(c),
            _ => {}
        }
    }
    assert_eq!(plain, shown(&d, Source::There, 80));
}

#[test]
fn json_reads_back_as_it_was() {
    let d = diagnosis(16, Some((20, 29)));
    let back: Diagnosis = serde_json::from_str(&json(&d)).unwrap();
    assert_eq!(back, d);
    assert_eq!(json(&d), json(&d));
    assert!(json(&d).ends_with('\n'));
}

#[test]
fn a_process_is_reported_without_ranks() {
    let mut d = diagnosis(1, Some((20, 29)));
    d.mpi_library.clear();
    d.headline.clear();
    d.notes.clear();
    d.scaling_reason = "one scale was given".into();
    d.scales = vec![scale(1)];
    d.scales[0].threads_each = Some(4);
    d.scales[0].run = "app.t4".into();
    let c = &mut d.causes[0];
    c.class = CauseClass::ThreadImbalance;
    c.ranks = [0].into_iter().collect();
    c.explanation = "Some threads compute longer.".into();
    c.evidence.clear();
    for step in &mut c.path {
        step.ranks = [0].into_iter().collect();
        step.what = "wait for a thread".into();
        step.place = c.place.clone();
    }
    c.by_thread = Some(ThreadTimes {
        rank: 0,
        threads: vec![0, 1],
        seconds: vec![1.0, 2.0],
        concerned: vec![1],
    });
    c.called_from = None;
    d.account.small = None;
    let without = |d: &Diagnosis| {
        let report = shown(d, Source::Newer, 80);
        let others = report.replace("without MPI;", "");
        assert!(
            !others.contains("rank") && !others.contains("MPI"),
            "{report}"
        );
        assert!(report.contains(", without MPI;"), "{report}");
    };
    without(&d);
    d.causes.clear();
    without(&d);
}
