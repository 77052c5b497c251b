//! A recorded run as others read it: each table by polars, pandas and DuckDB, which must agree.

use crate::request::Request;
use crate::setup;
use crate::shell::{Done, output};
use crate::testbed::build_all;
use std::process::Command;

/// Packages of the Python index.
const PACKAGES: [&str; 4] = ["polars", "pandas", "pyarrow", "duckdb"];

/// Run with the run's directory as argument.
const SCRIPT: &str = r#"
import glob, json, sys
import duckdb, pandas, polars

tables = sorted(glob.glob(sys.argv[1] + "/*.parquet"))
assert len(tables) > 8, tables
for path in tables:
    frame = polars.read_parquet(path)
    other = pandas.read_parquet(path)
    counted = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0]
    assert frame.height == len(other) == counted, path
    assert frame.columns == list(other.columns), path
calls = duckdb.sql(f"SELECT sum(count) FROM '{sys.argv[1]}/calls.parquet'").fetchall()[0][0]
assert calls > 0
assert json.load(open(sys.argv[1] + "/run.json"))["header"]["ranks"] == 2
print(f"{len(tables)} tables read alike by polars, pandas and DuckDB")
"#;

/// Records a run and has it read.
pub fn readers() -> Done {
    let place = setup::target().join("readers");
    let python = place.join("bin/python");
    if !place.join("ready").exists() {
        println!(
            "installing {} into {}",
            PACKAGES.join(", "),
            place.display()
        );
        output(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
        output(
            Command::new(&python)
                .args(["-m", "pip", "-q", "install"])
                .args(PACKAGES),
        )?;
        std::fs::write(place.join("ready"), "").map_err(|e| e.to_string())?;
    }
    let request = Request {
        cases: vec!["zeus".into()],
        ..Default::default()
    };
    let built = build_all(&request)?;
    let program = built.first().ok_or("the program is missing")?;
    let out = setup::target().join("readers-run");
    let _ = std::fs::remove_dir_all(&out);
    let mut record = Command::new(setup::headwater());
    record.args(["run", "-n", "2", "-o"]).arg(&out).arg("--");
    output(record.arg(&program.program))?;
    print!(
        "{}",
        output(
            Command::new(&python)
                .args(["-c", SCRIPT])
                .arg(out.join(format!("{}.2", program.name)))
        )?
    );
    Ok(())
}
