//! The page that documents the schema, `docs/FORMAT.md`, made from the same description of columns
//! that the writer and the reader use. A test holds that the page in the tree is the one made here.

use super::columns::{Column, Name, StoredEvent, Table, Values, sample_columns};
use super::run::{HEADER_NAME, VERSION};
use headwater_model::run::*;
use serde_json::Value;
use std::fmt::Write;

/// The text of `docs/FORMAT.md`; `header` is the JSON schema of [`Header`].
pub fn format_document(header: &Value) -> String {
    let mut out = format!(
        "# A recorded run (format {VERSION})\n\n\
         Made from the tables' description in `crates/format`; to remake it after a change there:\n\
         `HEADWATER_REMAKE=1 cargo test -p headwater-format --test document`.\n\n\
         A run is one directory. `{HEADER_NAME}` is written last: a directory that has it is whole. Its `format` is the\n\
         version, and a reader refuses a newer one; `header` says what was run and how it was measured; `tables` names\n\
         the tables that have rows (in format 1 it is an object whose keys are the tables, and those without rows are files\n\
         too). Each of these is a Parquet file, `TABLE.parquet`. A \"row in TABLE\" counts from 0.\n\
         Columns that end in `_ns` are nanoseconds. What does not apply is null; flags are 0 or 1.\n"
    );
    fields(&mut out, header);
    fn add<R: Table>(out: &mut String) {
        describe(out, R::NAME, &R::columns());
    }
    add::<Module>(&mut out);
    add::<Symbol>(&mut out);
    out += "\nOf modules without machine code: files of Python, and the program of a run that was imported.\n";
    add::<Context>(&mut out);
    add::<Name>(&mut out);
    add::<Comm>(&mut out);
    add::<RankInfo>(&mut out);
    add::<ThreadInfo>(&mut out);
    describe(&mut out, "samples", &sample_columns(&[]));
    out += "\nBehind these, one unsigned column for each of the header's `counters`: its growth; what is not there was not measured.\n";
    add::<Segment>(&mut out);
    add::<TeamWork>(&mut out);
    add::<ThreadWait>(&mut out);
    add::<Region>(&mut out);
    add::<RegionTime>(&mut out);
    add::<MpiCalls>(&mut out);
    add::<MessageEdge>(&mut out);
    add::<CollectiveWait>(&mut out);
    add::<StoredEvent>(&mut out);
    add::<Usage>(&mut out);
    add::<FileSystem>(&mut out);
    add::<Energy>(&mut out);
    out += "\nThese three are not in older and in imported runs.\n";
    out
}

/// The fields of `run.json`'s header.
fn fields(out: &mut String, header: &Value) {
    *out += "\n## header\n\n| field | type | meaning |\n| --- | --- | --- |\n";
    let all = header.get("properties").and_then(Value::as_object);
    for (name, field) in all.into_iter().flatten() {
        let kind = match field.get("type") {
            Some(Value::Array(kinds)) => kinds
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" or "),
            kind => kind.and_then(Value::as_str).unwrap_or("").to_string(),
        };
        let meaning = field.get("description").and_then(Value::as_str);
        let words: Vec<&str> = meaning.unwrap_or("").split_whitespace().collect();
        let meaning = words.join(" ").replace("[`", "`").replace("`]", "`");
        let _ = writeln!(out, "| `{name}` | {kind} | {meaning} |");
    }
}

fn describe<R>(out: &mut String, table: &str, columns: &[Column<R>]) {
    let _ = write!(
        out,
        "\n## {table}.parquet\n\n| column | type | meaning |\n| --- | --- | --- |\n"
    );
    for c in columns {
        let kind = match c.values {
            Values::Unsigned(..) => "uint64",
            Values::Signed(..) => "int64",
            Values::Text(..) => "text",
        };
        let _ = writeln!(out, "| `{}` | {kind} | {} |", c.name, c.meaning);
    }
}
