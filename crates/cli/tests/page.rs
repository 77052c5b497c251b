//! The page of a diagnosis: one file, or served; nothing from outside runs in it, and its figures are those of the JSON.

mod support;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use support::{headwater, said};

/// Ends a script, a comment and a line of one, begins others, and would drive a terminal.
const EVIL: &str = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\u{2028}\u{1b}[2J\u{202e}&amp;\"'";

/// Twenty barriers to which the first task comes late, as a trace of Paraver, in a region of this name.
fn lay(dir: &Path, region: &str) {
    let end = 20 * 250_000_000u64 + 10_000_000;
    let tasks = ["1:1,1:1,1:1,1:1", "1:2:3:4"];
    let mut trace = format!(
        "#Paraver (21/11/2026 at 10:00):{end}_ns:1(4):1:4({}),1\nc:1:1:4:{}\n",
        tasks[0], tasks[1]
    );
    let mut all = |at: u64, events: &str, tasks: std::ops::RangeInclusive<u32>| {
        for task in tasks {
            trace += &format!("2:{task}:1:{task}:1:{at}:{events}\n");
        }
    };
    all(100, "50000003:31", 1..=4);
    all(1_000_000, "50000003:0:60000019:1:60000119:1", 1..=4);
    for i in 0..20u64 {
        let begin = 1_000_000 + i * 250_000_000;
        all(begin + 100_000_000, "50000002:8", 2..=4);
        all(begin + 240_000_000, "50000002:8", 1..=1);
        all(begin + 250_000_000, "50000002:0", 1..=4);
    }
    all(end - 5_000_000, "60000019:0:50000003:32", 1..=4);
    all(end, "50000003:0", 1..=4);
    let names = format!(
        "EVENT_TYPE\n9 50000002 MPI Collective Comm\nVALUES\n8 MPI_Barrier\n\n\
         EVENT_TYPE\n9 50000003 MPI Other\nVALUES\n31 MPI_Init\n32 MPI_Finalize\n\n\
         EVENT_TYPE\n0 60000019 User function\nVALUES\n1 {region}\n\n\
         EVENT_TYPE\n0 60000119 User function line\nVALUES\n1 20 ({EVIL}.c, app)\n"
    );
    std::fs::write(dir.join("app.prv"), trace).expect("writes");
    std::fs::write(dir.join("app.pcf"), names).expect("writes");
}

/// The run `run`, whose names are markup.
fn imported(dir: &Path) {
    imported_as(dir, "run", EVIL);
}

fn imported_as(dir: &Path, run: &str, region: &str) {
    lay(dir, region);
    let out = headwater(dir)
        .args(["import", "app.prv", "-o", run])
        .output();
    let out = out.expect("runs");
    assert!(out.status.success(), "{}", said(&out));
}

/// What stands between two texts, and how often the first occurs.
fn between<'t>(text: &'t str, begin: &str, end: &str) -> (&'t str, usize) {
    let inside = text
        .split_once(begin)
        .and_then(|(_, rest)| rest.split_once(end));
    (inside.map_or("", |i| i.0), text.matches(begin).count())
}

fn data(html: &str) -> Value {
    let begin = r#"<script type="application/json" id="headwater-data">"#;
    let (json, count) = between(html, begin, "</script>");
    assert_eq!(count, 1);
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn names_from_outside_are_text_in_the_page() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    imported(at);
    let out = headwater(at)
        .args(["diagnose", "run", "--html", "page.html", "--json=d.json"])
        .output()
        .expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    let html = std::fs::read_to_string(at.join("page.html")).expect("a page");
    assert!(!html.contains("<script>alert") && !html.contains("<img"));
    assert!(!html.contains(['\u{2028}', '\u{202e}', '\u{1b}']));
    // The script, the data, and nothing else of the kind.
    assert_eq!(html.matches("</script>").count(), 2);
    let page = data(&html);
    let json = std::fs::read_to_string(at.join("d.json")).expect("JSON");
    let diagnosis: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(page["diagnosis"], diagnosis, "the figures are the same");
    let strings = page["contexts"]["strings"].as_array().expect("names");
    let evil = strings
        .iter()
        .filter_map(Value::as_str)
        .find(|s| s.contains("alert(1)"));
    assert!(
        evil.is_some_and(|s| s.contains("</script><script>")),
        "the name is as it was"
    );
    let (text, _) = between(&html, r#"<pre id="headwater-text">"#, "</pre>");
    assert!(
        text.contains("Efficiencies"),
        "a browser without scripts shows the report"
    );
    // A recording of one scale, from another tool.
    assert_eq!(page["runs"][0]["imported"], true);
    assert_eq!(page["runs"].as_array().map(Vec::len), Some(1));
    assert!(page["live"].is_null());
    // The cause is drawn: a wait for the late rank, and its computation.
    let cause = &page["causes"][0];
    let hops = cause["pictures"][0]["hops"].as_array().expect("a picture");
    assert_eq!(hops[0]["kind"], "wait");
    let last = hops.last().expect("hops");
    assert_eq!(
        (&last["kind"], &last["rank"]),
        (&Value::from("computation"), &Value::from(0))
    );
    assert_eq!(
        cause["by_rank"]["values"],
        diagnosis["causes"][0]["by_rank"]
    );
    let (policy, _) = between(
        &html,
        "http-equiv=\"Content-Security-Policy\" content=\"",
        "\"",
    );
    assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'none'"));
    assert!(!policy.contains("unsafe-inline") && !policy.contains("unsafe-eval"));
}

#[test]
fn another_build_is_compared_at_the_places_of_both() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    imported(at);
    imported_as(at, "same", EVIL);
    imported_as(at, "renamed", "another");
    let diagnose = |against: &[&str]| {
        let words = ["diagnose", "run", "--html", "page.html"];
        let mut command = headwater(at);
        command.args(words).args(against).output().expect("runs")
    };
    let out = diagnose(&["--against", "none"]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(said(&out).trim().lines().count(), 1, "{}", said(&out));
    let out = diagnose(&["--against", "same", "--against", "renamed"]);
    assert!(out.status.success(), "{}", said(&out));
    let page = data(&std::fs::read_to_string(at.join("page.html")).expect("a page"));
    let time = |of: &Value| of["metrics"]["time"]["inclusive"].clone();
    let own = time(&page["contexts"]["scales"][0]);
    let [same, renamed] = [0, 1].map(|i| &page["contexts"]["others"][i]);
    assert_eq!(time(&same["scale"]), own);
    assert_eq!(same["elsewhere"]["time"], 0.0);
    // All its time is still inside the program.
    assert_eq!(time(&renamed["scale"])[0], own[0]);
    assert!(
        renamed["elsewhere"]["time"].as_f64() > Some(1.0),
        "{renamed:#}"
    );
}

#[test]
fn what_cannot_be_written_is_refused_in_one_line() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    imported(at);
    std::fs::create_dir(at.join("folder")).expect("a folder");
    for (file, word) in [
        ("folder", "folder is a directory"),
        ("none/page.html", "there is no directory none"),
        ("/dev/null", "it is no regular file"),
        (
            "/proc/page.html",
            "cannot write /proc/page.html: No such file",
        ),
    ] {
        let out = headwater(at)
            .args(["diagnose", "run", "--html", file])
            .output();
        let out = out.expect("runs");
        assert_eq!(out.status.code(), Some(2), "{file}: {}", said(&out));
        let words = said(&out);
        assert!(
            words.contains(word) && words.lines().count() == 1,
            "{file}: {words}"
        );
        assert!(!words.contains(".headwater"), "no file of ours: {words}");
        assert!(out.stdout.is_empty(), "it is said before the diagnosis");
    }
    // A file that is there is kept, as with every output.
    std::fs::write(at.join("page.html"), "old").expect("a file");
    let page = || {
        headwater(at)
            .args(["diagnose", "run", "--html", "page.html"])
            .output()
            .expect("runs")
    };
    assert_eq!(page().status.code(), Some(2));
    let html = || std::fs::read_to_string(at.join("page.html")).expect("a page");
    assert_eq!(html(), "old");
    std::fs::remove_file(at.join("page.html")).expect("removes");
    assert!(page().status.success());
    assert!(html().starts_with("<!doctype html>"));
    let left = std::fs::read_dir(at).expect("a folder").flatten();
    let hidden = left.filter(|e| e.file_name().to_string_lossy().starts_with(".headwater"));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn editors_and_ci_get_lines_and_sarif() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    imported(at);
    let run = |args: &[&str]| {
        let out = headwater(at).args(args).output().expect("runs");
        assert!(out.status.success(), "{args:?}: {}", said(&out));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let json: Value = serde_json::from_str(&run(&["diagnose", "run", "--json"])).expect("JSON");
    let causes = json["causes"].as_array().expect("causes");
    assert!(!causes.is_empty());
    let lines = run(&["diagnose", "run", "--format=gcc"]);
    assert_eq!(lines.lines().count(), causes.len(), "a line each: {lines}");
    assert!(lines.lines().all(|l| l.contains(": warning: ")), "{lines}");
    let sarif: Value = serde_json::from_str(&run(&["diagnose", "run", "--sarif"])).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), causes.len());
    assert_eq!(results[0]["ruleId"], causes[0]["class"]);
    assert_eq!(
        results[0]["properties"]["gain_seconds"],
        causes[0]["gain_seconds"]
    );
    run(&["diagnose", "run", "--sarif=found.sarif"]);
    assert!(at.join("found.sarif").is_file());
    let both = headwater(at)
        .args(["diagnose", "run", "--sarif", "--json"])
        .output();
    assert_eq!(both.expect("runs").status.code(), Some(2));
}

/// A running `headwater view`.
struct Viewing {
    child: Child,
    port: u16,
    token: String,
}

impl Viewing {
    fn new(dir: &Path) -> Self {
        let mut child = headwater(dir)
            .args(["view", "--no-open", "run"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("standard output");
        BufReader::new(out)
            .read_line(&mut line)
            .expect("an address");
        let rest = line
            .trim()
            .strip_prefix("http://127.0.0.1:")
            .expect("an address");
        let (port, token) = rest.split_once("/?token=").expect("a token");
        Self {
            port: port.parse().expect("a port"),
            token: token.to_string(),
            child,
        }
    }

    /// The status and body of a request with some headers.
    fn ask(&self, target: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        let mut head = format!("GET {target} HTTP/1.1\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all((head + "\r\n").as_bytes()).expect("sends");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("receives");
        let code = answer.get(9..12).and_then(|c| c.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or("", |a| a.1);
        (code, body.to_string())
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_server_answers_its_own_page_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    imported(dir.path());
    let mut view = Viewing::new(dir.path());
    let host = view.host();
    let page = format!("/?token={}", view.token);
    let own = ("Host", host.as_str());
    let (code, body) = view.ask(&page, &[own]);
    assert_eq!(code, 200);
    let value = data(&body);
    assert_eq!(value["live"]["token"], view.token.as_str());
    // What is not from this page is refused.
    for (target, headers) in [
        ("/", vec![own]),
        ("/?token=0", vec![own]),
        (page.as_str(), vec![]),
        (page.as_str(), vec![("Host", "evil.example")]),
        (page.as_str(), vec![own, ("Origin", "http://evil.example")]),
        (page.as_str(), vec![own, ("Origin", "null")]),
        ("/tile/ranks?scale=0", vec![own]),
        ("/tile/ranks?scale=0", vec![own, ("X-Headwater-Token", "0")]),
    ] {
        let (code, body) = view.ask(target, &headers);
        assert_eq!(code, 403, "{target} {headers:?}: {body}");
        assert!(!body.contains("alert"), "{target}");
    }
    let token = view.token.clone();
    let with = [own, ("X-Headwater-Token", token.as_str())];
    let (code, body) = view.ask("/tile/ranks?scale=0&metric=time&columns=1", &with);
    let tile: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        (code, &tile["groups"][0]["ranks"]),
        (200, &Value::from("0-3"))
    );
    for target in [
        "/tile/ranks?scale=7",
        "/tile/timeline?scale=0&window=99",
        "/tile/source?frame=4294967295",
        "/tile/graph?scale=0&frame=99999",
        "/etc/passwd",
        "/../../etc/passwd",
    ] {
        assert_eq!(view.ask(target, &with).0, 404, "{target}");
    }
    let range = "/tile/timeline?scale=0&from_ns=18446744073709551615&to_ns=1&ranks=1-0";
    assert!(matches!(view.ask(range, &with).0, 200 | 404));
    // A taken port is one line.
    let port = view.port.to_string();
    let out = headwater(dir.path())
        .args(["view", "--port", &port, "run"])
        .output();
    let out = out.expect("runs");
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(said(&out).lines().count(), 1, "{}", said(&out));
    assert!(said(&out).contains("is taken"));
    // Ctrl-C is how it ends.
    let pid = view.child.id().to_string();
    let status = Command::new("kill").args(["-INT", &pid]).status();
    assert!(status.expect("kill").success());
    assert_eq!(view.child.wait().expect("ends").code(), Some(0));
}

#[test]
fn without_runs_there_is_one_line() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = headwater(dir.path())
        .args(["view", "--no-open", "nothing"])
        .output();
    let out = out.expect("runs");
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(said(&out).lines().count(), 1, "{}", said(&out));
}
