//! The page's front end: built anew it is byte by byte the one that is in the crate, and real browsers go through every view
//! of pages of the testbed.

use crate::shell::{self, Done, root};
use crate::{request, setup, testbed};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Testbed programs whose pages are looked at, and what their recordings have besides; the last one has no cause.
const CASES: [(&str, Besides); 4] = [
    ("zeus", Besides::Against),
    ("wavefront", Besides::Nothing),
    ("msggrow", Besides::Trace),
    ("even_stencil", Besides::Nothing),
];

/// What a recording, or its page, has besides the usual.
#[derive(Clone, Copy)]
enum Besides {
    Nothing,
    /// The whole run in the timeline.
    Trace,
    /// A run without the cause, to compare with.
    Against,
}

impl Besides {
    /// What the data of the page have because of it.
    fn data(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Trace => r#""whole":true"#,
            Self::Against => r#""elsewhere":"#,
        }
    }
}

/// A trace of another tool.
const IMPORTED: &str = "fuzz/seeds/paraver/app.prv";

/// Where a page has its data.
const DATA: &str = r#"<script type="application/json" id="headwater-data">"#;

fn web() -> PathBuf {
    root().join("crates/viewer/web")
}

fn npm(arguments: &[&str], pages: &Path) -> Done {
    println!("npm {}", arguments.join(" "));
    let mut command = Command::new("npm");
    command
        .args(arguments)
        .current_dir(web())
        .env("PAGES", pages);
    let status = command.stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("npm {} failed ({status})", arguments.join(" "))),
        Err(e) => Err(format!("cannot start npm: {e}")),
    }
}

/// Builds, compares and tests the front end.
pub fn viewer() -> Done {
    setup::setup(true)?;
    setup::build_command()?;
    let pages = setup::target().join("pages");
    let _ = std::fs::remove_dir_all(&pages);
    std::fs::create_dir_all(&pages).map_err(|e| e.to_string())?;
    npm(&["ci", "--no-audit", "--no-fund"], &pages)?;
    build(&pages)?;
    make_pages(&pages)?;
    npm(&["test"], &pages)
}

/// Builds the page; it must be the one that is in the crate.
fn build(pages: &Path) -> Done {
    let built = root().join("crates/viewer/dist/index.html");
    let read = || std::fs::read(&built).map_err(|e| format!("{}: {e}", built.display()));
    let before = read()?;
    npm(&["run", "build"], pages)?;
    if read()? != before {
        return Err(
            "crates/viewer/dist is not built from crates/viewer/web; commit what was built now"
                .into(),
        );
    }
    Ok(())
}

/// Records programs of the testbed, and takes the data out of their pages.
fn make_pages(pages: &Path) -> Done {
    let request = request::Request {
        cases: CASES.map(|(name, _)| name.to_string()).to_vec(),
        ..Default::default()
    };
    for (case, (_, besides)) in testbed::build_all(&request)?.iter().zip(CASES) {
        println!("recording {} on 2 and 4 ranks", case.name);
        let runs = pages.join(format!("{}.runs", case.name));
        let html = pages.join(format!("{}.html", case.name));
        let mut command = recording("2,4", &runs);
        match besides {
            Besides::Nothing => {}
            Besides::Trace => {
                command.arg("--trace");
            }
            Besides::Against => {
                let other = pages.join(format!("{}.other", case.name));
                // The first argument is the dose of the cause.
                let mut without = recording("4", &other);
                shell::output(without.arg("--").arg(&case.program).arg("0"))?;
                command.arg("--against").arg(only_run(&other)?);
            }
        }
        command
            .arg("--html")
            .arg(&html)
            .arg("--")
            .arg(&case.program);
        shell::output(&mut command)?;
        let json = pages.join(format!("{}.json", case.name));
        take(&html, &json)?;
        let data = std::fs::read_to_string(&json).map_err(|e| e.to_string())?;
        if !data.contains(besides.data()) {
            return Err(format!("{} has no {}", json.display(), besides.data()));
        }
    }
    imported(pages)
}

/// `headwater run` into a directory, without the program.
fn recording(ranks: &str, runs: &Path) -> Command {
    let mut command = Command::new(setup::headwater());
    command.args(["run", "-q", "-n", ranks, "-o"]).arg(runs);
    command
}

/// The run in a directory that has one.
fn only_run(dir: &Path) -> Result<PathBuf, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", dir.display());
    let first = std::fs::read_dir(dir).map_err(failed)?.next();
    let first = first.ok_or(format!("{} has no run", dir.display()))?;
    Ok(first.map_err(failed)?.path())
}

/// The page of another tool's trace.
fn imported(pages: &Path) -> Done {
    let run = pages.join("imported.run");
    let mut import = Command::new(setup::headwater());
    import
        .arg("import")
        .arg(root().join(IMPORTED))
        .arg("-o")
        .arg(&run);
    shell::output(&mut import)?;
    let html = pages.join("imported.html");
    let mut diagnose = Command::new(setup::headwater());
    diagnose
        .args(["diagnose", "-q"])
        .arg(&run)
        .arg("--html")
        .arg(&html);
    shell::output(&mut diagnose)?;
    take(&html, &pages.join("imported.json"))
}

/// Views whose pictures are in the documentation, by address and name of the picture.
const PICTURES: [(&str, &str); 6] = [
    ("answer", "answer"),
    ("cause/1", "cause-1"),
    ("program", "program"),
    ("ranks", "ranks"),
    ("timeline", "timeline"),
    ("graph", "graph"),
];

/// Makes docs/pictures from a page.
pub fn pictures(html: &Path) -> Done {
    setup::setup(true)?;
    let made = setup::target().join("pictures");
    let _ = std::fs::remove_dir_all(&made);
    std::fs::create_dir_all(&made).map_err(|e| e.to_string())?;
    let data = made.join("data.json");
    take(html, &data)?;
    let text = std::fs::read_to_string(&data).map_err(|e| e.to_string())?;
    std::fs::write(&data, setup::without_machine_paths(&text)).map_err(|e| e.to_string())?;
    npm(&["ci", "--no-audit", "--no-fund"], &made)?;
    let mut node = Command::new("node");
    node.arg("tests/browsers/pictures.js")
        .args([&data, &made])
        .args(PICTURES.map(|(address, _)| address))
        .current_dir(web())
        .env("LOOKS", "1280-light");
    shell::output(&mut node)?;
    let docs = root().join("docs/pictures");
    std::fs::create_dir_all(&docs).map_err(|e| e.to_string())?;
    for (_, name) in PICTURES {
        let (from, to) = (
            made.join(format!("{name}-1280-light.png")),
            docs.join(format!("{name}.png")),
        );
        std::fs::copy(&from, &to).map_err(|e| format!("{}: {e}", from.display()))?;
    }
    Ok(())
}

/// Takes the data out of a page.
fn take(html: &Path, json: &Path) -> Done {
    let text = std::fs::read_to_string(html).map_err(|e| format!("{}: {e}", html.display()))?;
    let data = text
        .split_once(DATA)
        .and_then(|(_, rest)| rest.split_once("</script>"));
    let (data, _) = data.ok_or(format!("{} has no data", html.display()))?;
    std::fs::write(json, data).map_err(|e| e.to_string())
}
