//! The table of passes in the documentation is that of the catalogue.

use headwater_dataflow::flow::{Kind, Pass};
use headwater_diagnosis::pass::all;
use std::sync::Arc;

/// The table of all passes as the documentation has it.
fn table_of_passes() -> String {
    let kind = |kind: &Kind| {
        let words = kind.to_string();
        let article = ["a set of a ", "a "]
            .iter()
            .find_map(|a| words.strip_prefix(a));
        article.unwrap_or(&words).to_string()
    };
    let row = |pass: &Arc<Pass>| {
        let inputs = pass.inputs.iter();
        let mut takes: Vec<String> = inputs
            .map(|i| format!("{} ({})", i.name, kind(&i.kind)))
            .collect();
        if pass.more {
            takes.push("…".to_string());
        }
        let parameters = pass.parameters.iter();
        let parameters: Vec<String> = parameters.map(|p| format!("`{}`", p.name)).collect();
        let about = pass.about.trim_end_matches('.');
        let (takes, parameters) = (takes.join(", "), parameters.join(", "));
        format!("| `{}` | {about} | {takes} | {parameters} |\n", pass.name)
    };
    let rows: String = all().iter().map(row).collect();
    format!("| pass | result | takes | parameters |\n| --- | --- | --- | --- |\n{rows}")
}

#[test]
fn every_pass_is_in_the_documentation() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ANALYSES.md");
    let page = std::fs::read_to_string(path).expect("the page is there");
    let begin = page.find("| pass | result").expect("a table");
    let end = begin + page[begin..].find("\n\n").expect("its end") + 1;
    let table = table_of_passes();
    if std::env::var_os("HEADWATER_REMAKE").is_some() {
        let new = [&page[..begin], &table, &page[end..]].concat();
        std::fs::write(path, new).expect("writes");
        return;
    }
    assert_eq!(
        &page[begin..end],
        table,
        "remake it with HEADWATER_REMAKE=1"
    );
}
