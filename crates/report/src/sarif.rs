//! Causes in the Static Analysis Results Interchange Format (OASIS, SARIF 2.1.0), which code hosts and editors show beside
//! the code.
//!
//! A cause is a result; its path is a code flow, from the symptom to the cause. Ranks and figures are its properties. The
//! address of a file is a relative reference where debug information has a relative path (section 3.4 of the standard).

use crate::gcc::{line, message, word};
use headwater_model::diagnosis::{Cause, CauseClass, Diagnosis, Place};
use headwater_model::printable::printable;
use headwater_model::words::{self, Subject};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where the schema of the format is.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Gain above which a cause is an error for such tools, a share of the run time.
const GRAVE: f64 = 0.2;

/// A file name as a reference: everything but what may stand in the path of one is escaped.
fn reference(file: &str) -> String {
    let mut out = String::new();
    if file.starts_with('/') {
        out.push_str("file://");
    }
    for byte in file.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// A place, with a message where there is one.
fn location(place: &Place, message: Option<String>) -> Value {
    let mut out = json!({
        "logicalLocations": [{ "name": place.function, "kind": "function" }],
    });
    if let (Some(file), Some(line)) = (&place.file, line(place)) {
        let last = place.last_line.max(line);
        out["physicalLocation"] = json!({
            "artifactLocation": { "uri": reference(file) },
            "region": { "startLine": line, "endLine": last },
        });
    }
    if let Some(text) = message {
        out["message"] = json!({ "text": text });
    }
    out
}

fn result(c: &Cause, subject: Subject) -> Value {
    let level = if c.gain_share >= GRAVE {
        "error"
    } else {
        "warning"
    };
    let steps = c.path.iter().map(|s| {
        let ranks = subject.who(&s.ranks, c.scale, 40);
        let text = format!("{ranks} {} {}", s.what, words::seconds(s.seconds));
        json!({ "location": location(&s.place, Some(text)) })
    });
    let steps: Vec<Value> = steps.collect();
    let mut out = json!({
        "ruleId": word(c),
        "level": level,
        "message": { "text": message(c, subject) },
        "locations": [location(&c.place, None)],
        "properties": {
            "ranks": c.ranks.to_string(),
            "scale": c.scale,
            "cost_seconds": c.cost_seconds,
            "cost_share": c.cost_share,
            "gain_seconds": c.gain_seconds,
            "gain_share": c.gain_share,
            "evidence": c.evidence.iter().map(|e| e.text.as_str()).collect::<Vec<_>>(),
        },
    });
    if !steps.is_empty() {
        out["codeFlows"] = json!([{ "threadFlows": [{ "locations": steps }] }]);
    }
    out
}

/// The causes as SARIF, with a newline at the end; `version` is that of the command.
pub fn sarif(d: &Diagnosis, version: &str) -> String {
    let classes: BTreeMap<String, CauseClass> =
        d.causes.iter().map(|c| (word(c), c.class)).collect();
    let rules = classes.iter().map(|(id, class)| {
        json!({ "id": id, "shortDescription": { "text": words::capitalised(class.words()) } })
    });
    let notes = d.notes.iter().chain(&d.missing);
    let notes = notes.map(|n| json!({ "level": "note", "message": { "text": n } }));
    let value = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "headwater",
                "version": version,
                "rules": rules.collect::<Vec<Value>>(),
            } },
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notes.collect::<Vec<Value>>(),
            }],
            "results": d.causes.iter().map(|c| result(c, d.subject())).collect::<Vec<Value>>(),
            "properties": { "program": d.program, "headline": d.headline },
        }],
    });
    let text = serde_json::to_string_pretty(&value).unwrap_or_default() + "\n";
    printable(&text).into_owned()
}
