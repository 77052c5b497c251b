//! `analyse`: recorded runs to the answer of one question, by a dataflow of passes.

use super::{Outcome, diagnose};
use crate::args::{AnalyseArgs, FlowFormat, Kind};
use crate::output::{self, print, print_screened};
use crate::progress::Progress;
use headwater_dataflow::Recorded;
use headwater_dataflow::flow::{Cache, Runner};
use headwater_diagnosis::Options;
use headwater_diagnosis::paradigm;
use headwater_diagnosis::paradigm::{Paradigm, Setting};
use headwater_report::{ReportOptions, report_json, report_text};

/// `headwater analyse`.
pub fn command(args: &AnalyseArgs, quiet: bool) -> Outcome {
    let paradigm = paradigm::by_name(&args.paradigm).map_err(|e| e.to_string())?;
    let options = options(args, paradigm)?;
    if let Some(format) = args.flow {
        let flow = (paradigm.build)(args.runs.len().max(1), &options);
        let flow = flow.map_err(|e| e.to_string())?;
        return print(&match format {
            FlowFormat::Text => flow.to_string(),
            FlowFormat::Svg => flow.svg(),
            FlowFormat::Json => flow.to_json(),
        });
    }
    let progress = Progress::new(quiet, args.json.wanted());
    let runs = diagnose::open(&args.runs, progress)?;
    let structures = diagnose::structures(&runs, args.max_loop_depth, progress);
    let stage = progress.stage("analysing", 0);
    let recorded = Recorded::join(runs, structures).map_err(|e| e.to_string())?;
    let cache = Cache::default();
    let runner = Runner {
        progress: &|event| stage.at(event),
        ..Runner::quiet(&cache)
    };
    let report = paradigm.run(&recorded, &options, &runner);
    let report = report.map_err(|e| e.to_string())?;
    drop(stage);
    if args.json.wanted() {
        return args.json.give(&report_json(&report));
    }
    let shown = ReportOptions {
        color: args.color.wanted(),
        width: output::width(),
        rows: args.rows,
    };
    print_screened(&report_text(&report, &shown))
}

/// What the user sets, if the paradigm heeds it.
fn options(args: &AnalyseArgs, paradigm: &Paradigm) -> Result<Options, String> {
    let given = [
        ("--scaling", Setting::Scaling, args.scaling.is_some()),
        (
            "--abnorm-threshold",
            Setting::AbnormThreshold,
            args.abnorm_threshold.is_some(),
        ),
    ];
    for (flag, setting, given) in given {
        if given && !paradigm.settings.contains(&setting) {
            let all = paradigm::ALL.iter();
            let heed = all.filter(|p| p.settings.contains(&setting));
            let heed: Vec<&str> = heed.map(|p| p.name).collect();
            let name = paradigm.name;
            return Err(format!(
                "{flag} means nothing to {name}; it is for {}",
                heed.join(", ")
            ));
        }
    }
    let default = Options::default();
    Ok(Options {
        scaling: args.scaling.map(Kind::scaling),
        abnorm_threshold: args.abnorm_threshold.unwrap_or(default.abnorm_threshold),
        ..default
    })
}
