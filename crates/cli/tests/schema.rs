//! The published schemas are those of the command, and its real output fits them.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{PROGRAM, built, collector, headwater, said};

const DESCRIBED: [&str; 10] = [
    "diagnose",
    "analyse",
    "record",
    "show",
    "simulate",
    "replay",
    "structure",
    "doctor",
    "link-flags",
    "page",
];

fn page(command: &str) -> PathBuf {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    docs.join(format!("{command}.json"))
}

fn schema(command: &str) -> Value {
    let text = std::fs::read_to_string(page(command)).expect("a published schema");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn the_published_schemas_are_those_of_the_command() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for command in DESCRIBED {
        let out = headwater(dir.path())
            .args(["schema", command])
            .output()
            .expect("runs");
        assert!(out.status.success(), "{}", said(&out));
        let made = String::from_utf8_lossy(&out.stdout);
        if std::env::var_os("HEADWATER_REMAKE").is_some() {
            std::fs::write(page(command), made.as_bytes()).expect("writes the schema");
        }
        let kept = std::fs::read_to_string(page(command)).unwrap_or_default();
        assert_eq!(kept, made, "remake it with HEADWATER_REMAKE=1");
    }
}

/// Where `value` does not fit `schema`. Knows the words that our schemas use, and refuses others.
fn misfit(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let schema = match schema {
        Value::Bool(true) => return None,
        Value::Object(s) => s,
        _ => return Some(format!("{at}: {schema} is no schema")),
    };
    let inner = |s: &Value, v: &Value, at: &str| misfit(root, s, v, at);
    let is = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    };
    for (word, rule) in schema {
        let fits = match word.as_str() {
            "$schema" | "title" | "description" | "format" | "$defs" | "default" | "pattern" => {
                true
            }
            "type" => match rule {
                Value::Array(kinds) => kinds.iter().any(|k| is(k.as_str().unwrap_or(""))),
                kind => is(kind.as_str().unwrap_or("")),
            },
            "minimum" => value
                .as_f64()
                .is_none_or(|v| v >= rule.as_f64().unwrap_or(0.0)),
            "maximum" => value
                .as_f64()
                .is_none_or(|v| v <= rule.as_f64().unwrap_or(0.0)),
            "minItems" | "maxItems" => {
                let n = rule.as_u64();
                let count = value.as_array().map(|a| a.len() as u64);
                if word == "minItems" {
                    count >= n
                } else {
                    count <= n
                }
            }
            "const" => value == rule,
            "enum" => rule.as_array().is_some_and(|all| all.contains(value)),
            "required" => rule
                .as_array()
                .into_iter()
                .flatten()
                .all(|name| value.get(name.as_str().unwrap_or("")).is_some()),
            "$ref" => {
                let name = rule.as_str().unwrap_or("").trim_start_matches('#');
                let target = root.pointer(name);
                if let Some(wrong) = inner(target.expect("a definition"), value, at) {
                    return Some(wrong);
                }
                true
            }
            "oneOf" | "anyOf" => rule
                .as_array()
                .is_some_and(|all| all.iter().any(|s| inner(s, value, at).is_none())),
            "properties" => {
                let fields = value.as_object().into_iter().flatten();
                for (name, field) in fields {
                    let at = format!("{at}.{name}");
                    let Some(rule) = rule.get(name) else {
                        return Some(format!("{at} is not in the schema"));
                    };
                    if let Some(wrong) = inner(rule, field, &at) {
                        return Some(wrong);
                    }
                }
                true
            }
            "items" => {
                let items = value.as_array().into_iter().flatten();
                let mut wrong = items.filter_map(|v| inner(rule, v, &format!("{at}[]")));
                if let Some(wrong) = wrong.next() {
                    return Some(wrong);
                }
                true
            }
            "prefixItems" => {
                let pairs = rule.as_array().into_iter().flatten();
                let pairs = pairs.zip(value.as_array().into_iter().flatten());
                let mut wrong = pairs.filter_map(|(s, v)| inner(s, v, &format!("{at}[]")));
                if let Some(wrong) = wrong.next() {
                    return Some(wrong);
                }
                true
            }
            other => return Some(format!("{at}: the schema's word {other} is not known here")),
        };
        if !fits {
            return Some(format!("{at}: {value} is against {word} {rule}"));
        }
    }
    None
}

fn assert_fits(command: &str, text: &str) {
    let schema = schema(command);
    let value: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(misfit(&schema, &schema, &value, command), None);
    let fields = value.as_object().expect("an object");
    assert!(
        fields.contains_key("schema") && fields.len() > 1,
        "{command}"
    );
}

#[test]
fn output_fits_its_schema() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| std::fs::read_to_string(dir.path().join(name)).expect("a file");
    let run = |args: &[&str]| {
        let out = headwater(dir.path())
            .env("HEADWATER_COLLECTOR", collector())
            .args(args)
            .output()
            .expect("runs");
        assert!(out.status.success(), "{args:?}: {}", said(&out));
        out
    };
    assert_fits(
        "doctor",
        &String::from_utf8_lossy(&run(&["doctor", "--json"]).stdout),
    );
    let Some(program) = built("mpicc.openmpi", dir.path(), "app", PROGRAM, &[]) else {
        return;
    };
    let program = program.display().to_string();
    run(&["structure", "--json=s.json", &program]);
    assert_fits("structure", &file("s.json"));
    let out = run(&["run", "-n", "2,3", "--json=d.json", "--", &program]);
    assert_fits("diagnose", &file("d.json"));
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(
        text.matches("value").count(),
        2,
        "only the program's: {text}"
    );
    assert_eq!(said(&out), "", "no progress beside JSON");
    let launch = ["mpirun.openmpi", "--oversubscribe", "-n", "2", &program];
    let out = run(&[&["record", "-o", "p2", "--json", "--"][..], &launch].concat());
    let text = String::from_utf8_lossy(&out.stdout);
    let (own, output) = text.split_once('\n').expect("lines");
    assert_eq!(own, "value 49", "the program's output comes first");
    assert_fits("record", output);
    run(&[&["trace", "-o", "t2", "--"][..], &launch].concat());
    let question = "app.c:20 no-wait";
    let out = run(&["simulate", "t2", "--json", "--what-if", question]);
    assert_fits("simulate", &String::from_utf8_lossy(&out.stdout));
    let command = env!("CARGO_BIN_EXE_headwater");
    let out = std::process::Command::new("mpirun.openmpi")
        .args(["--oversubscribe", "-n", "2"])
        .args([command, "replay", "--json=replay.json", "t2"])
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .current_dir(dir.path())
        .output()
        .expect("mpirun starts");
    assert!(out.status.success(), "{}", said(&out));
    assert_fits("replay", &file("replay.json"));
    let mistaken = ["simulate", "t2", "--what-if", "nowhere.c:7 balanced"];
    let out = headwater(dir.path()).args(mistaken).output().expect("runs");
    assert_eq!(out.status.code(), Some(2));
    assert!(
        said(&out).contains("the trace has no such place"),
        "{}",
        said(&out)
    );
    for paradigm in headwater_diagnosis::paradigm::ALL {
        let out = run(&["analyse", paradigm.name, "--json", "p2", "p2"]
            [..4 + usize::from(paradigm.takes == headwater_diagnosis::paradigm::Takes::Two)]);
        assert_fits("analyse", &String::from_utf8_lossy(&out.stdout));
    }
}
