//! `doctor`: what this machine has and lacks for recording, and what to do about it.

mod launching;
mod machine;

use super::{Outcome, compile};
use crate::args::DoctorArgs;
use crate::output::{SCHEMA, print};
use schemars::JsonSchema;
use serde::Serialize;

/// What `headwater doctor --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Doctor {
    /// Version of this format.
    schema: u32,
    /// What was looked at.
    findings: Vec<Finding>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Finding {
    /// What it is.
    what: &'static str,
    /// Whether it is as recording wants it.
    good: bool,
    /// What was found.
    found: String,
    /// What to do; null where nothing needs to be done.
    advice: Option<String>,
}

impl Finding {
    fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self {
            what,
            good: true,
            found: found.into(),
            advice: None,
        }
    }

    fn look(what: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            what,
            good: false,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }
}

/// `headwater doctor`.
pub fn command(args: &DoctorArgs) -> Outcome {
    let mut findings = vec![launching::collector()];
    findings.extend(launching::launchers());
    findings.extend(args.program.as_deref().map(launching::program));
    findings.extend([
        launching::set_id(),
        machine::cores(),
        machine::sampling(),
        machine::counters(),
        machine::run_queue(),
        machine::tracing(),
        machine::clock(),
        machine::room(),
        machine::shared_memory(),
        machine::cache(),
        compiler(),
    ]);
    if args.json.wanted() {
        return args.json.give_value(&Doctor {
            schema: SCHEMA,
            findings,
        });
    }
    print(&findings.iter().map(lines).collect::<String>())
}

/// Whether `headwater cc`, `cxx` and `fc` can be used.
fn compiler() -> Finding {
    const WHAT: &str = "compiler";
    let versions: Vec<String> = compile::versions_here()
        .iter()
        .map(u32::to_string)
        .collect();
    match versions.is_empty() {
        false => Finding::good(
            WHAT,
            format!(
                "headwater cc, cxx and fc say why ranks differ, with LLVM {}",
                versions.join(" or ")
            ),
        ),
        true => Finding::look(
            WHAT,
            "headwater cc, cxx and fc cannot be used: there is no LLVM that their plugin is known to work with; recording and diagnosis do not need it",
            compile::what_it_needs(),
        ),
    }
}

fn lines(f: &Finding) -> String {
    let mark = if f.good { "ok  " } else { "look" };
    let advice = f.advice.as_ref();
    let advice = advice.map_or_else(String::new, |a| format!("{:20}→ {a}\n", ""));
    format!("{mark} {:<14} {}\n{advice}", f.what, f.found)
}
