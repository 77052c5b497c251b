//! A diagnosis to show, and source lines that come from no file.

#![allow(dead_code, reason = "each test file uses its part")]

use headwater_model::RankSet;
use headwater_model::diagnosis::*;
use headwater_model::psg::VertexKind;
use headwater_report::{Excerpt, SourceLines, TextOptions, text};

/// What is left of the source.
#[derive(Clone, Copy)]
pub enum Source {
    /// As the program was built from.
    There,
    /// Changed since.
    Newer,
    /// Nothing.
    Gone,
}

impl SourceLines for Source {
    fn lines(&self, _module: &str, _file: &str, first: u32, last: u32) -> Excerpt {
        if matches!(self, Self::Gone) {
            return Excerpt::Gone;
        }
        Excerpt::Lines {
            lines: (first..=last).map(|l| format!("    line {l};")).collect(),
            newer: matches!(self, Self::Newer),
        }
    }
}

/// A place in `app.c`, or one without lines.
pub fn place(kind: VertexKind, name: &str, lines: Option<(u32, u32)>) -> Place {
    Place {
        kind,
        name: name.into(),
        function: name.into(),
        file: lines.map(|_| "/home/u/src/app.c".into()),
        first_line: lines.map_or(0, |l| l.0),
        last_line: lines.map_or(0, |l| l.1),
        hot_line: lines.map_or(0, |l| l.0 + 1),
        module: "/home/u/app".into(),
        address: 0x1234,
    }
}

/// A run at `ranks` ranks on two cores.
pub fn scale(ranks: u32) -> ScaleSummary {
    ScaleSummary {
        run: format!("app.{ranks}"),
        ranks,
        threads_each: None,
        threads: ranks,
        cores: 2,
        wall_seconds: 4.0 / f64::from(ranks),
        model_seconds: 3.0 / f64::from(ranks),
        runq_share: 0.5,
        efficiencies: Efficiencies {
            parallel: Some(0.7),
            load_balance: Some(0.72),
            communication: Some(0.97),
            serialisation: (ranks > 4).then_some(0.99),
            transfer: None,
            computation_scaling: Some(0.95),
            global: Some(0.665),
            ..Efficiencies::default()
        },
        startup_seconds: 0.3,
        window_share: Some(0.42),
        window_events: Some(5120.0),
        replayed_share: (ranks > 4).then_some(0.38),
    }
}

/// Every fourth rank late in `boundary`.
pub fn diagnosis(ranks: u32, lines: Option<(u32, u32)>) -> Diagnosis {
    let late: RankSet = (0..ranks).step_by(4).collect();
    let cause = Cause {
        class: CauseClass::UnevenWork,
        place: place(VertexKind::Loop, "boundary", lines),
        call_path: vec![
            place(VertexKind::Function, "main", lines),
            place(VertexKind::Loop, "boundary", lines),
        ],
        called_from: None,
        ranks: late.clone(),
        scale: ranks,
        cost_seconds: 0.5,
        cost_share: 0.3,
        gain_seconds: 0.4,
        gain_share: 0.25,
        gain_range_seconds: (0.35, 0.45),
        explanation: "Some ranks spend more time here than the others, who wait for them.".into(),
        path: vec![
            Step {
                what: "wait in MPI_Allreduce".into(),
                ranks: RankSet::all(ranks),
                place: place(VertexKind::MpiCall, "MPI_Allreduce", lines),
                seconds: 0.3,
                clock: Clock::Virtual,
            },
            Step {
                what: "compute".into(),
                ranks: late,
                place: place(VertexKind::Loop, "boundary", lines),
                seconds: 0.5,
                clock: Clock::Cpu,
            },
        ],
        waiting_seconds: Some(6.0),
        clock: Clock::Cpu,
        by_rank: (0..ranks)
            .map(|r| if r % 4 == 0 { 0.9 } else { 0.4 })
            .collect(),
        by_scale: vec![(2, 2.0, 2.5), (ranks, 0.5, 0.9)],
        by_thread: None,
        evidence: vec![Evidence {
            chain: Vec::new(),
            text: "a figure that supports it".into(),
        }],
        regions: Vec::new(),
        only_if: None,
        repeated: None,
    };
    let account = account(&cause, ranks);
    Diagnosis {
        schema: SCHEMA,
        program: "/home/u/app".into(),
        mpi_library: "Open MPI v4.1.4".into(),
        scaling: Scaling::Strong,
        scaling_reason: "guessed: the arguments are the same at all scales".into(),
        scaling_certain: true,
        headline: vec![
            "From 2 to 16 ranks the program becomes 4 times as fast, of 8 times possible.".into(),
        ],
        notes: vec!["There were more ranks than cores.".into()],
        scales: vec![scale(2), scale(ranks)],
        causes: vec![cause],
        account,
        other_reading: None,
        non_scalable: vec![],
        abnormal: vec![],
        missing: vec!["Hardware counters were not recorded.".into()],
    }
}

/// What a cause and small places lose of 1.6 s.
fn account(cause: &Cause, ranks: u32) -> Account {
    let part = |kind, seconds| LossPart {
        kind,
        seconds,
        share: seconds / 1.6,
    };
    Account {
        ranks,
        against: Against::Ideal,
        of_seconds: 1.6,
        loss_seconds: 0.55,
        loss_share: 0.55 / 1.6,
        parts: vec![
            part(LossKind::Causes, 0.4),
            part(LossKind::SmallGrowth, 0.1),
            part(LossKind::Unknown, 0.05),
        ],
        small: Some(SmallLosses {
            places: 12,
            largest: vec![SmallLoss {
                place: cause.place.clone(),
                seconds: 0.02,
            }],
            shared: vec!["they are in app.c".into()],
            steps: vec![SmallStep {
                place: cause.place.clone(),
                share: 0.35,
                without: Vec::new(),
            }],
        }),
    }
}

/// The report at `width` without colour.
pub fn shown(d: &Diagnosis, source: Source, width: usize) -> String {
    let options = TextOptions {
        color: false,
        width,
        top: 3,
        source: &source,
    };
    text(d, &options)
}

/// A second kind of cause: all ranks, one line, another class.
pub fn second(ranks: u32) -> Cause {
    let call = Place {
        name: "MPI_Alltoall".into(),
        function: "transpose".into(),
        ..place(VertexKind::MpiCall, "", Some((71, 71)))
    };
    Cause {
        class: CauseClass::CollectiveAlgorithm,
        place: call.clone(),
        call_path: vec![place(VertexKind::Function, "main", Some((1, 90))), call],
        ranks: RankSet::all(ranks),
        cost_seconds: 0.012,
        cost_share: 0.064,
        gain_seconds: 0.006,
        gain_share: 0.032,
        gain_range_seconds: (0.004, 0.008),
        path: vec![],
        waiting_seconds: None,
        clock: Clock::Wall,
        by_rank: vec![0.012; ranks as usize],
        by_scale: vec![(2, 0.0, 0.0), (ranks, 0.012, 0.012)],
        ..diagnosis(ranks, None).causes.remove(0)
    }
}
