//! The bench of true dependences: loops whose bounds come from a known origin, planted into real codes that are compiled
//! with `headwater cc` and `cxx`, and what the structure then says of them (`cargo xtask dependences`).
//!
//! Code, cause, way of the value and place are drawn by a seed. A place that does not compile or is not in the program is
//! drawn again. What is said counts as true if all origins and no other are named, as unknown if an unknown part is
//! named beside true ones, and as wrong in any other case.

mod judge;
mod plant;

use super::codes::{Code, Language, Tree};
use super::plan::Random;
use crate::compilers;
use crate::docs;
use crate::setup;
use crate::shell::Done;
use judge::{Verdict, judge};
use plant::{Wish, places, plant, wish};
use std::path::{Path, PathBuf};

/// Codes that are planted into if none is named.
const CODES: [&str; 2] = ["hypre-ij", "tachyon"];

/// The table's place in the documentation.
const MARKS: (&str, &str) = ("<!-- planted -->", "<!-- end of planted -->");

/// Places that are tried for a case.
const TRIES: usize = 40;

/// What the command line asks for.
struct Request {
    seed: u64,
    cases: usize,
    codes: Vec<String>,
    doc: bool,
    built: bool,
}

impl Request {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut out = Self {
            seed: 1,
            cases: 10,
            codes: Vec::new(),
            doc: false,
            built: false,
        };
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            let mut value = || rest.next().ok_or(format!("{word} wants a value"));
            let number = |text: &String| text.parse().map_err(|_| format!("{word} wants a number"));
            match word.as_str() {
                "--seed" => out.seed = number(value()?)?,
                "--cases" => out.cases = number(value()?)? as usize,
                "--code" => out.codes.push(value()?.clone()),
                "--doc" => out.doc = true,
                "--built" => out.built = true,
                _ => return Err(format!("{word} is not known")),
            }
        }
        if out.codes.is_empty() {
            out.codes = CODES.map(str::to_string).to_vec();
        }
        Ok(out)
    }
}

/// A planted case and what was said of it.
struct Case {
    code: String,
    wish: Wish,
    file: PathBuf,
    line: u32,
    function: String,
    verdict: Verdict,
}

/// `cargo xtask dependences`.
///
/// # Errors
/// A code does not build, or something is said wrongly: one line says which.
pub fn command(arguments: &[String]) -> Done {
    let request = Request::parse(arguments)?;
    let all = Code::all()?;
    let named = |name: &String| {
        let code = all.iter().find(|c| c.name == *name);
        let code = code.ok_or(format!("there is no code {name}"))?;
        let fits = |l: &Language| matches!(l, Language::C | Language::Cpp);
        match code.languages.iter().all(fits) {
            true => Ok(code),
            false => Err(format!("{name} is not in C or C++ alone")),
        }
    };
    let codes: Vec<&Code> = request.codes.iter().map(named).collect::<Result<_, _>>()?;
    if !request.built {
        setup::build_command()?;
    }
    let mut trees = Vec::new();
    let mut rows = compilers::HEAD.to_string();
    for code in &codes {
        println!("building {} with the plugin", code.name);
        let tree = code.prepare_compiled()?;
        let times = std::fs::read_to_string(tree.times()).unwrap_or_default();
        let found = compilers::compared(&tree.program())?;
        rows += &compilers::row(&code.name, &found, &times);
        trees.push(tree);
    }
    print!("{rows}");
    let mut cases = Vec::new();
    for number in 0..request.cases {
        let mut random = Random::new(request.seed, number as u64);
        let tree = &trees[random.below(trees.len())];
        let case = one(tree, &mut random, number);
        // The tree is clean again, whatever happened.
        tree.restore()?;
        let case = case?;
        println!("{}", row(&case));
        cases.push(case);
    }
    for tree in &trees {
        tree.clean()?;
    }
    let table = table(&request, &cases);
    println!("\n{table}");
    if request.doc {
        docs::put("docs/COMPILER.md", MARKS, &table)?;
    }
    match cases.iter().filter(|c| c.verdict.is_wrong()).count() {
        0 => Ok(()),
        wrong => Err(format!("{wrong} dependences are said wrongly")),
    }
}

/// Plants one case where it can be, and looks at what is said of it.
fn one(tree: &Tree, random: &mut Random, number: usize) -> Result<Case, String> {
    let files = tree.patchable();
    let mut why = String::new();
    for _ in 0..TRIES {
        let wish = wish(random, number);
        let file = &files[random.below(files.len())];
        let original = std::fs::read(tree.root().join(file)).map_err(|e| e.to_string())?;
        let source = String::from_utf8_lossy(&original).into_owned();
        let all = places(&source, &wish);
        if all.is_empty() {
            continue;
        }
        let at = &all[random.below(all.len())];
        let Some(patched) = plant(&source, at, &wish, number) else {
            continue;
        };
        tree.patch(file, patched.text.as_bytes())?;
        match tree.rebuild() {
            Ok(()) => {
                let found = judge(&tree.program(), file, patched.line, wish.cause.truth)?;
                if let Some((function, verdict)) = found {
                    return Ok(Case {
                        code: tree.code().name.clone(),
                        wish,
                        file: file.clone(),
                        line: patched.line,
                        function,
                        verdict,
                    });
                }
                why = format!("{}: the loop is not in the program", file.display());
            }
            Err(e) => why = e,
        }
        tree.restore()?;
    }
    Err(format!(
        "no place for case {number} of {} in {TRIES} tries: {why}",
        tree.code().name
    ))
}

fn row(case: &Case) -> String {
    let Case { wish, verdict, .. } = case;
    let how = if wish.repeats {
        "its own statement"
    } else {
        "arithmetic"
    };
    let kind = if wish.cause.uneven {
        "uneven"
    } else {
        "non-shrinking"
    };
    format!(
        "| {} | `{}:{}` in `{}` | {kind}: {} | {} | {how} | {} | {} | {} |",
        case.code,
        base(&case.file),
        case.line,
        case.function,
        wish.cause.words,
        wish.carrier_words,
        wish.cause.truth.join(", "),
        verdict.said.join(", "),
        verdict.word()
    )
}

fn base(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn table(request: &Request, cases: &[Case]) -> String {
    let count = |word: &str| cases.iter().filter(|c| c.verdict.word() == word).count();
    let mut out = format!(
        "`cargo xtask dependences --seed {} --cases {}`: {} true, {} unknown, {} wrong.\n\n",
        request.seed,
        request.cases,
        count("true"),
        count("unknown"),
        count("wrong")
    );
    out += "| code | place | planted cause | way of the value | loop of | truth | said | |\n";
    out += "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for case in cases {
        out += &format!("{}\n", row(case));
    }
    out
}
