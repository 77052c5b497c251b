//! `cargo xtask truth`: the plan carried out, case after case.

use super::accuracy;
use super::case::Bench;
use super::codes::{Code, Language, Trait};
use super::load::Load;
use super::plan::{Offer, Wish, plan};
use super::record::record;
use super::results::{self, Row};
use super::run::Runner;
use super::score::score;
use super::sites;
use crate::setup;
use crate::shell::{Done, root};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Request {
    seed: u64,
    cases: u64,
    /// Codes; all where empty.
    codes: Vec<String>,
    /// Beside two busy loops and a disk writer.
    load: bool,
    /// Recordings stay there.
    keep: bool,
    /// Directory for results.
    out: PathBuf,
    /// Writes docs/ACCURACY.md.
    doc: bool,
    /// Goes on with the results that are there.
    resume: bool,
    /// The fixed selection of every CI run.
    ci: bool,
    /// Takes the release that is built.
    built: bool,
}

/// Seed and number of cases of every CI run.
const CI: (u64, u64) = (11, 12);

/// Of the planted cases of a CI run, the share whose first cause must be strictly right.
const CI_FLOOR: f64 = 0.6;

/// Recordings of each case, each diagnosed alone.
const RECORDINGS: usize = 2;

impl Request {
    /// From the command line.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut out = Self {
            seed: 1,
            cases: 12,
            codes: Vec::new(),
            load: false,
            keep: false,
            out: setup::target().join("truth/results"),
            doc: false,
            resume: false,
            ci: false,
            built: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} wants a value"));
            match arg.as_str() {
                "--seed" => out.seed = seed(value()?)?,
                "--cases" => {
                    let text = value()?;
                    out.cases = text.parse().map_err(|_| format!("{arg} wants a number"))?;
                }
                "--code" => out.codes.push(value()?.clone()),
                "--out" => out.out = value()?.into(),
                "--load" => out.load = true,
                "--keep" => out.keep = true,
                "--doc" => out.doc = true,
                "--resume" => out.resume = true,
                "--built" => out.built = true,
                "--ci" => (out.ci, (out.seed, out.cases)) = (true, CI),
                other => return Err(format!("{other} is not known")),
            }
        }
        Ok(out)
    }
}

/// A seed: a number, or `0x` and hexadecimal digits.
fn seed(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("--seed wants a number, or 0x and hexadecimal digits, not {text}"))
}

fn offer(code: &Code) -> Offer {
    let has = |l| code.languages.contains(&l);
    Offer {
        name: code.name.clone(),
        threads: code.threads > 1,
        plants: code.languages.iter().any(|l| *l != Language::Python),
        messages: has(Language::C) || has(Language::Cpp),
        templates: code.traits.contains(&Trait::Templates),
    }
}

/// The codes of a request.
fn codes(request: &Request) -> Result<Vec<Code>, String> {
    let mut all = Code::all()?;
    if let Some(unknown) = request
        .codes
        .iter()
        .find(|n| !all.iter().any(|c| c.name == **n))
    {
        return Err(format!("there is no code {unknown}"));
    }
    all.retain(|c| request.codes.is_empty() || request.codes.contains(&c.name));
    all.retain(|c| !request.ci || c.ci);
    if all.is_empty() {
        return Err("no code is left to plant in".into());
    }
    Ok(all)
}

/// The commit that is measured.
pub fn commit() -> String {
    let mut git = std::process::Command::new("git");
    git.args(["rev-parse", "HEAD"]).current_dir(root());
    crate::shell::output(&mut git).map_or("unknown".into(), |t| t.trim().to_string())
}

/// Carries a request out.
pub fn truth(request: &Request) -> Done {
    if !request.built {
        setup::build()?;
    }
    let codes = codes(request)?;
    let offers: Vec<Offer> = codes.iter().map(offer).collect();
    let mut wishes = plan(request.seed, request.cases, &offers);
    // All cases of a code together, so that its tree is made once.
    wishes.sort_by_key(|w| (offers.iter().position(|o| o.name == w.code), w.number));
    std::fs::create_dir_all(&request.out).map_err(|e| format!("{}: {e}", request.out.display()))?;
    let kind = if request.load { "-load" } else { "" };
    let file = request.out.join(format!("{:x}{kind}.jsonl", request.seed));
    if !request.resume {
        let _ = std::fs::remove_file(&file);
    }
    let mut rows = results::read(&file);
    rows.retain(|r| {
        wishes
            .iter()
            .any(|w| w.number == r.number && w.code == r.code)
    });
    println!(
        "seed {:#x}, {} cases of {} codes; results in {}",
        request.seed,
        wishes.len(),
        codes.len(),
        file.display()
    );
    let (start, mut done, all) = (Instant::now(), 0u32, wishes.len());
    let mut benches: BTreeMap<String, Result<Bench<'_>, String>> = BTreeMap::new();
    for wish in &wishes {
        if rows.iter().any(|r| r.number == wish.number) {
            continue;
        }
        let Some(code) = codes.iter().find(|c| c.name == wish.code) else {
            continue;
        };
        let bench = benches
            .entry(code.name.clone())
            .or_insert_with(|| prepare(code, request));
        let row = match bench {
            Ok(bench) => one(bench, request, wish)?,
            Err(e) => dropped(wish, e.clone(), 0.0),
        };
        results::append(&file, &row)?;
        rows.push(row);
        done += 1;
        let left = all - rows.len().min(all);
        let each = start.elapsed().as_secs_f64() / f64::from(done);
        println!("  {left} left, about {:.0} min", each * left as f64 / 60.0);
    }
    for bench in benches.values().flatten() {
        let _ = bench.tree.restore();
    }
    rows.sort_by_key(|r| r.number);
    let text = accuracy::page(request.seed, request.load, &commit(), &rows);
    let page = file.with_extension("md");
    std::fs::write(&page, &text).map_err(|e| format!("{}: {e}", page.display()))?;
    accuracy::print(&rows);
    println!("the whole table with all misses: {}", page.display());
    if request.doc {
        let doc = root().join("docs/ACCURACY.md");
        std::fs::write(&doc, &text).map_err(|e| format!("{}: {e}", doc.display()))?;
    }
    if request.ci { verdict(&rows) } else { Ok(()) }
}

fn prepare<'a>(code: &'a Code, request: &Request) -> Result<Bench<'a>, String> {
    println!("preparing {}", code.name);
    let tree = code.prepare()?;
    let sites = if offer(code).plants {
        sites::sites(code, &tree)?
    } else {
        Vec::new()
    };
    println!("{}: {} executed statements", code.name, sites.len());
    let runner = Runner::new(&request.out.join("run"))?;
    Ok(Bench {
        code,
        tree,
        sites,
        runner,
    })
}

fn dropped(wish: &Wish, why: String, seconds: f64) -> Row {
    println!(
        "drop case {} ({}, {:?}): {why}",
        wish.number, wish.code, wish.what
    );
    Row {
        number: wish.number,
        code: wish.code.clone(),
        dropped: Some(why),
        manifest: None,
        hash: String::new(),
        scored: Vec::new(),
        failures: Vec::new(),
        seconds,
    }
}

/// One case from planting to score.
fn one(bench: &Bench<'_>, request: &Request, wish: &Wish) -> Result<Row, String> {
    let start = Instant::now();
    let manifest = match bench.make(request.seed, wish) {
        Ok(manifest) => manifest,
        Err(e) => return Ok(dropped(wish, e, start.elapsed().as_secs_f64())),
    };
    let noise = manifest
        .planted
        .as_ref()
        .filter(|p| !p.truth.is_case())
        .map(|p| {
            let t = &p.truth;
            format!("costs {:.4} s, with a noise of {:.4} s", t.seconds, t.noise)
        });
    let hash = manifest.hash()?;
    if let Some(why) = noise {
        let mut row = dropped(wish, why, start.elapsed().as_secs_f64());
        (row.hash, row.manifest) = (hash, Some(manifest));
        return Ok(row);
    }
    let sealed = request.out.join(format!("{:x}-sealed.jsonl", request.seed));
    results::append(&sealed, &(wish.number, &hash))?;
    let mut row = Row {
        number: wish.number,
        code: wish.code.clone(),
        dropped: None,
        manifest: None,
        hash,
        scored: Vec::new(),
        failures: Vec::new(),
        seconds: 0.0,
    };
    let place = request
        .out
        .join(format!("{:x}-case-{}", request.seed, wish.number));
    // Truth was measured without it.
    let load = Load::start(request.load, &request.out)?;
    for round in 0..RECORDINGS {
        match record(&bench.tree, &manifest, &place.join(round.to_string())) {
            Ok(diagnosis) => row.scored.push(score(&manifest, &diagnosis)),
            Err(e) => row.failures.push(e),
        }
    }
    drop(load);
    if !request.keep {
        let _ = std::fs::remove_dir_all(&place);
    }
    row.manifest = Some(manifest);
    row.seconds = start.elapsed().as_secs_f64();
    announce(&row);
    Ok(row)
}

fn announce(row: &Row) {
    let Some(manifest) = &row.manifest else {
        return;
    };
    let wanted = manifest
        .planted
        .as_ref()
        .map_or("control".to_string(), |p| {
            let share = 100.0 * p.truth.share;
            format!(
                "{} at {}:{}-{}, {share:.1} %",
                p.class, p.file, p.lines[0], p.lines[1]
            )
        });
    let hash = row.hash.get(..12).unwrap_or("");
    println!(
        "case {} {} {hash}: {wanted} ({:.0} s)",
        row.number, row.code, row.seconds
    );
    for scored in &row.scored {
        let good = if row.is_control() {
            scored.unsupported.is_empty()
        } else {
            scored.verdict.strict
        };
        let mark = if good { "ok  " } else { "MISS" };
        println!(
            "  {mark} {}",
            scored.said.first().map_or("nothing", String::as_str)
        );
    }
    for failure in &row.failures {
        println!("  FAIL {failure}");
    }
}

/// What a CI run must hold.
fn verdict(rows: &[Row]) -> Done {
    let counted: Vec<&Row> = rows.iter().filter(|r| r.counts()).collect();
    let scored = |control: bool| {
        let of = counted.iter().filter(move |r| r.is_control() == control);
        of.flat_map(|r| &r.scored).collect::<Vec<_>>()
    };
    let mut wrong = Vec::new();
    for row in &counted {
        wrong.extend(
            row.failures
                .iter()
                .map(|f| format!("case {}: {f}", row.number)),
        );
        let impossible = row.scored.iter().flat_map(|s| &s.impossible);
        wrong.extend(impossible.map(|i| format!("case {}: {i}", row.number)));
    }
    for control in scored(true) {
        wrong.extend(
            control
                .unsupported
                .iter()
                .map(|f| format!("false finding: {f}")),
        );
    }
    let planted = scored(false);
    let hits = planted.iter().filter(|s| s.verdict.strict).count();
    if (hits as f64) < CI_FLOOR * planted.len() as f64 {
        wrong.push(format!("{hits} strict hits of {}", planted.len()));
    }
    if counted.len() * 2 < rows.len() {
        wrong.push(format!(
            "only {} of {} cases could be made",
            counted.len(),
            rows.len()
        ));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_number_or_hexadecimal_digits() {
        assert_eq!(seed("17"), Ok(17));
        assert_eq!(seed("0xf08cf4c0"), Ok(0xf08c_f4c0));
        assert!(seed("f08cf4c").is_err());
    }

    #[test]
    fn the_selection_for_ci_is_fixed() {
        let request = Request::parse(&["--ci".to_string()]).expect("a request");
        assert_eq!((request.seed, request.cases), CI);
    }
}
