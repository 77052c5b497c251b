//! `analyse`: recorded runs to the answer of one question, by a dataflow of passes.

use super::{Outcome, diagnose};
use crate::args::{AnalyseArgs, FlowFormat};
use crate::output::{self, print};
use crate::progress::Progress;
use headwater_passes::Recorded;
use headwater_passes::flow::{Cache, Runner};
use headwater_passes::paradigm;
use headwater_report::{ReportOptions, report_json, report_text};

/// `headwater analyse`.
pub fn command(args: &AnalyseArgs, quiet: bool) -> Outcome {
    let paradigm = paradigm::by_name(&args.paradigm).map_err(|e| e.to_string())?;
    if let Some(format) = args.flow {
        let flow = (paradigm.build)(args.runs.len().max(1)).map_err(|e| e.to_string())?;
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
    let report = paradigm.run(&recorded, &Runner::quiet(&cache));
    let report = report.map_err(|e| e.to_string())?;
    drop(stage);
    if args.json.wanted() {
        return args.json.give(&report_json(&report));
    }
    let options = ReportOptions {
        color: args.color.wanted(),
        width: output::width().clamp(60, 200),
        rows: args.rows,
    };
    print(&report_text(&report, &options))
}
