//! Statements that a clean run executes, with how often, by gcov's counters.
//!
//! The code is built once with counters and run on its smallest scale, each rank with counters of its own. A site
//! is a statement that the source's tokenizer accepts and that some rank executed.

use super::codes::{Code, Tree};
use super::fortran;
use super::tokens::{self, Statement};
use crate::setup;
use crate::shell::output;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds that the run with counters may take: it is not optimised.
const LONGEST_COUNTED: u32 = 300;

/// An executed statement.
#[derive(Clone, Debug)]
pub struct Site {
    /// File, relative to the tree.
    pub file: PathBuf,
    /// The statement.
    pub statement: Statement,
    /// Function that holds it.
    pub function: String,
    /// Executions on each rank.
    pub counts: Vec<u64>,
    /// Share of the executed lines of all patchable files that its function has, 0 to 1.
    pub heat: f64,
    /// Statements that call its function.
    pub callers: usize,
    /// Whether its function is inline by its declaration, or small and static.
    pub inlined: bool,
    /// Whether it is in a template.
    pub template: bool,
}

impl Site {
    /// Most executions of a rank.
    pub fn count(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// Whether all ranks execute it equally often.
    pub fn is_even(&self) -> bool {
        self.counts.windows(2).all(|w| w[0] == w[1])
    }
}

#[derive(Deserialize)]
struct Report {
    files: Vec<FileReport>,
}

#[derive(Deserialize)]
struct FileReport {
    file: String,
    lines: Vec<LineReport>,
    functions: Vec<FunctionReport>,
}

#[derive(Deserialize)]
struct LineReport {
    line_number: u32,
    count: u64,
    #[serde(default)]
    function_name: String,
}

#[derive(Deserialize)]
struct FunctionReport {
    name: String,
    demangled_name: String,
    start_line: u32,
    end_line: u32,
}

/// Executions of one file's lines, and its functions.
#[derive(Clone, Debug, Default)]
struct Counted {
    /// By line: count of each rank.
    lines: BTreeMap<u32, Vec<u64>>,
    /// By line: function.
    function: BTreeMap<u32, String>,
    /// By name: demangled name, first and last line.
    functions: BTreeMap<String, (String, u32, u32)>,
}

type Counts = BTreeMap<PathBuf, Counted>;

/// The sites of a code: found once and then read again from what gcov said.
pub fn sites(code: &Code, clean: &Tree) -> Result<Vec<Site>, String> {
    let smallest = code.scales.first().copied().unwrap_or(2);
    let ranks = code.processes(smallest);
    let store = setup::target()
        .join("truth")
        .join(&code.name)
        .join("counters");
    let done = store.join("done");
    let recipe = super::manifest::sha256(format!("{code:?}").as_bytes());
    let mark = std::fs::read_to_string(&done).unwrap_or_default();
    if !mark.ends_with(&recipe) {
        let tree = code.prepare_coverage()?;
        run_counted(&tree, smallest, &store)?;
        std::fs::write(&done, format!("{}\n{recipe}", tree.root().display()))
            .map_err(|e| e.to_string())?;
    }
    let covered = std::fs::read_to_string(&done).map_err(|e| e.to_string())?;
    let covered = covered.lines().next().unwrap_or("").to_string();
    let patchable: BTreeSet<PathBuf> = clean.patchable().into_iter().collect();
    let mut counts = Counts::new();
    for rank in 0..ranks {
        let file = store.join(format!("{rank}.json"));
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        for line in text.lines() {
            let report = serde_json::from_str(line).map_err(|e| format!("gcov: {e}"))?;
            add(
                &mut counts,
                report,
                Path::new(&covered),
                &patchable,
                rank as usize,
                ranks as usize,
            );
        }
    }
    Ok(of_counts(&counts, clean.root()))
}

/// Runs the program with counters, and gcov on the counters of each rank.
fn run_counted(tree: &Tree, scale: u32, store: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(store);
    std::fs::create_dir_all(store).map_err(|e| e.to_string())?;
    let each: Vec<OsString> = [
        "sh",
        "-c",
        "GCOV_PREFIX=\"$0/${OMPI_COMM_WORLD_RANK:-0}\" exec \"$@\"",
    ]
    .into_iter()
    .map(OsString::from)
    .chain([store.as_os_str().to_owned()])
    .collect();
    output(&mut tree.command_within(LONGEST_COUNTED, scale, &[], &each)?)?;
    for rank in 0..tree.code().processes(scale) {
        let place = store.join(rank.to_string());
        let mut files = Vec::new();
        counters(&place, &mut files);
        if files.is_empty() {
            return Err(format!(
                "{}: rank {rank} wrote no counters",
                tree.code().name
            ));
        }
        let mut text = String::new();
        for file in &files {
            // gcov wants the notes of the compiler beside the counters.
            let inside = file.strip_prefix(&place).map_err(|e| e.to_string())?;
            let notes = Path::new("/").join(inside).with_extension("gcno");
            let _ = std::os::unix::fs::symlink(&notes, file.with_extension("gcno"));
        }
        for some in files.chunks(100) {
            let mut gcov = Command::new("gcov");
            gcov.args(["--json-format", "--stdout"]).args(some);
            text += &output(gcov.current_dir(&place))?;
        }
        std::fs::write(store.join(format!("{rank}.json")), text).map_err(|e| e.to_string())?;
        let _ = std::fs::remove_dir_all(place);
    }
    Ok(())
}

fn counters(place: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            counters(&path, out);
        } else if path.extension().is_some_and(|e| e == "gcda") {
            out.push(path);
        }
    }
    out.sort();
}

/// Adds what one object's counters say. Lines of a template or header come from several objects.
fn add(
    counts: &mut Counts,
    report: Report,
    covered: &Path,
    patchable: &BTreeSet<PathBuf>,
    rank: usize,
    ranks: usize,
) {
    for file in report.files {
        let Some(path) = in_tree(&file.file, covered, patchable) else {
            continue;
        };
        let counted = counts.entry(path).or_default();
        for line in file.lines {
            let by_rank = counted.lines.entry(line.line_number);
            let by_rank = by_rank.or_insert_with(|| vec![0; ranks]);
            if let Some(count) = by_rank.get_mut(rank) {
                *count += line.count;
            }
            counted
                .function
                .entry(line.line_number)
                .or_insert(line.function_name);
        }
        for f in file.functions {
            let range = (f.demangled_name, f.start_line, f.end_line);
            counted.functions.entry(f.name).or_insert(range);
        }
    }
}

/// A file of gcov as one that may be patched. Relative names are of an unknown directory: the one file that ends so.
fn in_tree(name: &str, covered: &Path, patchable: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let path = Path::new(name);
    if let Ok(inside) = path.strip_prefix(covered) {
        return patchable.get(inside).cloned();
    }
    if path.is_absolute() {
        return None;
    }
    let plain: PathBuf = path
        .components()
        .filter(|c| c.as_os_str() != "." && c.as_os_str() != "..")
        .collect();
    let mut all = patchable.iter().filter(|p| p.ends_with(&plain));
    let first = all.next()?;
    all.next().is_none().then(|| first.clone())
}

/// Sites of counted files.
fn of_counts(counts: &Counts, root: &Path) -> Vec<Site> {
    let total = |c: &Counted| -> u64 { c.lines.values().flatten().sum() };
    let all: u64 = counts.values().map(total).sum();
    let sources: BTreeMap<&PathBuf, String> = counts
        .keys()
        .filter_map(|f| {
            Some((
                f,
                String::from_utf8(std::fs::read(root.join(f)).ok()?).ok()?,
            ))
        })
        .collect();
    let calls = call_counts(counts, &sources);
    let mut out = Vec::new();
    for (file, counted) in counts {
        let Some(source) = sources.get(file) else {
            continue;
        };
        let name = file.to_string_lossy();
        let statements = if is_fortran(&name) {
            fortran::statements(source, fortran::is_fixed(&name))
        } else {
            tokens::statements(source)
        };
        let mut heat: BTreeMap<&str, u64> = BTreeMap::new();
        for (line, by_rank) in &counted.lines {
            let function = counted.function.get(line).map_or("", String::as_str);
            *heat.entry(function).or_default() += by_rank.iter().sum::<u64>();
        }
        for statement in statements {
            let line = statement.parallel_body.unwrap_or(statement.first);
            let Some(by_rank) = counted
                .lines
                .get(&line)
                .or_else(|| counted.lines.get(&statement.first))
            else {
                continue;
            };
            let function = counted
                .function
                .get(&statement.first)
                .cloned()
                .unwrap_or_default();
            if by_rank.iter().all(|c| *c == 0) || function.is_empty() {
                continue;
            }
            let (demangled, first, last) = counted
                .functions
                .get(&function)
                .cloned()
                .unwrap_or_default();
            let plain = plain_name(&demangled);
            let declared = lines_of(source, first.saturating_sub(1), first + 1);
            let small = declared.contains("static ") && last.saturating_sub(first) < 25;
            out.push(Site {
                file: file.clone(),
                function: demangled.clone(),
                counts: by_rank.clone(),
                heat: heat
                    .get(function.as_str())
                    .map_or(0.0, |h| *h as f64 / all.max(1) as f64),
                callers: calls.get(&plain).copied().unwrap_or(0),
                inlined: declared.contains("inline") || small,
                template: demangled.contains('<'),
                statement,
            });
        }
    }
    out
}

/// Whether a file is Fortran by its name.
pub fn is_fortran(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or("").to_lowercase();
    matches!(
        ending.as_str(),
        "f" | "for" | "ftn" | "f90" | "f95" | "f03" | "f08"
    )
}

fn lines_of(source: &str, first: u32, last: u32) -> String {
    let skip = first.saturating_sub(1) as usize;
    let count = (last + 1).saturating_sub(first) as usize;
    source
        .lines()
        .skip(skip)
        .take(count)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Name without class, arguments and template arguments.
fn plain_name(demangled: &str) -> String {
    let mut depth = 0;
    let mut plain = String::new();
    for c in demangled.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => break,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let last = plain.rsplit([':', ' ']).next();
    last.unwrap_or("").to_string()
}

/// Executed lines that name a function with an opening bracket, by function.
fn call_counts(counts: &Counts, sources: &BTreeMap<&PathBuf, String>) -> BTreeMap<String, usize> {
    let names: BTreeSet<String> = counts
        .values()
        .flat_map(|c| c.functions.values())
        .map(|f| plain_name(&f.0))
        .collect();
    let mut out: BTreeMap<String, usize> = BTreeMap::new();
    for (file, counted) in counts {
        let Some(source) = sources.get(file) else {
            continue;
        };
        for (number, line) in (1u32..).zip(source.lines()) {
            if counted
                .lines
                .get(&number)
                .is_none_or(|c| c.iter().all(|n| *n == 0))
            {
                continue;
            }
            let starts = counted.functions.values().any(|f| f.1 == number);
            for (at, _) in line.match_indices('(').filter(|_| !starts) {
                let head = line.get(..at).unwrap_or("").trim_end();
                let word = head
                    .rsplit(|c: char| !(c.is_alphanumeric() || c == '_'))
                    .next();
                if let Some(name) = word.filter(|w| names.contains(*w)) {
                    *out.entry(name.to_string()).or_default() += 1;
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_ranks_become_sites() {
        let dir = std::env::temp_dir().join(format!("headwater-sites-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a directory");
        let source = "static void g(int n)\n{\n  int i;\n  for (i = 0; i < n; i++)\n    a[i] = 1;\n}\nvoid f(void)\n{\n  g(1);\n  g(2);\n}\n";
        std::fs::write(dir.join("a.c"), source).expect("a file");
        let patchable: BTreeSet<PathBuf> = [PathBuf::from("a.c")].into();
        let line = |n: u32, count: u64, f: &str| {
            format!("{{\"line_number\":{n},\"count\":{count},\"function_name\":\"{f}\"}}")
        };
        let function = |n: &str, a: u32, b: u32| {
            format!(
                "{{\"name\":\"{n}\",\"demangled_name\":\"{n}\",\"start_line\":{a},\"end_line\":{b}}}"
            )
        };
        let mut counts = Counts::new();
        for rank in 0..2u64 {
            let text = format!(
                "{{\"files\":[{{\"file\":\"{}/a.c\",\"lines\":[{},{},{},{}],\"functions\":[{},{}]}}]}}",
                dir.display(),
                line(4, 2 + rank, "g"),
                line(5, 100, "g"),
                line(9, 1, "f"),
                line(10, 1, "f"),
                function("g", 1, 6),
                function("f", 7, 11)
            );
            let report = serde_json::from_str(&text).expect("a report");
            add(&mut counts, report, &dir, &patchable, rank as usize, 2);
        }
        let all = of_counts(&counts, &dir);
        let _ = std::fs::remove_dir_all(&dir);
        let site = all
            .iter()
            .find(|s| s.statement.first == 4)
            .expect("the loop");
        assert_eq!(site.counts, [2, 3]);
        assert!(!site.is_even() && site.inlined && site.callers == 2 && site.heat > 0.9);
        assert_eq!(all.iter().filter(|s| s.function == "f").count(), 2);
    }

    #[test]
    fn names_lose_classes_and_arguments() {
        assert_eq!(plain_name("void A::B<int>::f<double>(int)"), "f");
        assert_eq!(plain_name("ns::f(int)"), "f");
        assert_eq!(plain_name("hypre_Axpy"), "hypre_Axpy");
    }
}
