//! `cargo xtask truth`: the plan carried out, case after case.

use super::accuracy;
use super::case::Bench;
use super::codes::{Code, Language, Trait};
use super::gate::gate;
use super::load::Load;
use super::manifest::Manifest;
use super::plan::{Offer, Wish, plan};
use super::record::{are_there, diagnose, record};
pub use super::request::Request;
use super::results::{self, Row};
use super::run::Runner;
use super::score::score;
use super::sites;
use crate::setup;
use crate::shell::{Done, root};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Cases of which those of one code follow each other, as a patched tree is put right again for the next code. Of a bench
/// that is ended between two rounds, each code has had about as many cases as the others.
const ROUND: u64 = 32;

/// Recordings of each case, each diagnosed alone.
const RECORDINGS: usize = 2;

fn offer(code: &Code) -> Offer {
    let has = |l| code.languages.contains(&l);
    Offer {
        name: code.name.clone(),
        threads: code.threads > 1,
        mpi: code.mpi,
        // Where threads work without OpenMP, planted code cannot know whether others work beside it.
        plants: code.languages.iter().any(|l| *l != Language::Python)
            && (code.mpi || code.traits.contains(&Trait::Openmp)),
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
    if request.rejudge {
        return rejudge(request);
    }
    let codes = codes(request)?;
    let offers: Vec<Offer> = codes.iter().map(offer).collect();
    let mut wishes = plan(request.seed, request.cases, &offers);
    wishes.sort_by_key(|w| {
        (
            w.number / ROUND,
            offers.iter().position(|o| o.name == w.code),
            w.number,
        )
    });
    std::fs::create_dir_all(&request.out).map_err(|e| format!("{}: {e}", request.out.display()))?;
    let file = request.results();
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
    let mut last: Option<&Wish> = None;
    for wish in &wishes {
        if rows.iter().any(|r| r.number == wish.number) {
            continue;
        }
        let begins = last.is_none_or(|l| l.number / ROUND != wish.number / ROUND);
        let over = |minutes: f64| start.elapsed().as_secs_f64() > 60.0 * minutes;
        if begins && request.minutes.is_some_and(over) {
            println!(
                "the time is over; --resume goes on with case {}",
                wish.number
            );
            break;
        }
        let before = last.replace(wish).filter(|l| l.code != wish.code);
        if let Some(Ok(bench)) = before.and_then(|l| benches.get(&l.code)) {
            bench.tree.clean()?;
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
    report(request, rows)
}

/// Diagnoses the kept recordings of a bench again and replaces its results.
fn rejudge(request: &Request) -> Done {
    let file = request.results();
    let mut rows = results::read(&file);
    if rows.is_empty() {
        return Err(format!("{} has no results", file.display()));
    }
    for row in rows.iter_mut().filter(|r| r.counts()) {
        let place = request.recordings(row.number);
        let Some(manifest) = row.manifest.as_ref().filter(|_| place.exists()) else {
            println!("case {}: no recordings were kept", row.number);
            (row.scored, row.once, row.failures) = Default::default();
            row.dropped = Some("its recordings were not kept".into());
            continue;
        };
        let manifest = manifest.clone();
        let all = (0..RECORDINGS).all(|round| {
            let place = place.join(round.to_string());
            are_there(&manifest, &place, request.repeat)
        });
        if !all {
            println!(
                "case {}: not all recordings were kept; it stays as it was",
                row.number
            );
            continue;
        }
        (row.scored, row.once, row.failures) = Default::default();
        for round in 0..RECORDINGS {
            judge(row, &manifest, &place.join(round.to_string()), request);
        }
        announce(row);
    }
    results::replace(&file, &rows)?;
    report(request, rows)
}

/// Adds the scores of a recording to a row.
fn judge(row: &mut Row, manifest: &Manifest, place: &Path, request: &Request) {
    let mut of = |repeat: usize| {
        let diagnosis = diagnose(manifest, place, repeat);
        let scored = diagnosis.map(|d| score(manifest, &d));
        scored.map_err(|e| row.failures.push(e)).ok()
    };
    let once = (request.repeat > 1).then(|| of(1)).flatten();
    let all = of(request.repeat);
    row.once.extend(once);
    row.scored.extend(all);
}

/// Writes the page and prints the figures.
fn report(request: &Request, mut rows: Vec<Row>) -> Done {
    let file = request.results();
    rows.sort_by_key(|r| r.number);
    let text = accuracy::page(request, &commit(), &rows);
    let page = file.with_extension("md");
    std::fs::write(&page, &text).map_err(|e| format!("{}: {e}", page.display()))?;
    accuracy::print(&rows);
    if request.repeat > 1 {
        println!("each scale recorded once:");
        accuracy::print(&rows.iter().map(Row::recorded_once).collect::<Vec<_>>());
    }
    println!("the whole table with all misses: {}", page.display());
    if request.doc {
        let doc = root().join("docs/ACCURACY.md");
        std::fs::write(&doc, &text).map_err(|e| format!("{}: {e}", doc.display()))?;
    }
    if request.ci { gate(&rows) } else { Ok(()) }
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
    let mut runner = Runner::new(&request.out.join("run"))?;
    tree.clean()?;
    let usual = runner.usual(&tree, &code.scales)?;
    let (_, largest) = usual.last_key_value().ok_or("the code has no scales")?;
    Ok(Bench {
        code,
        tree,
        sites,
        runner,
        largest_run: largest.clone(),
        usual,
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
        once: Vec::new(),
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
    let sealed = request.out.join(format!("{}-sealed.jsonl", request.stem()));
    results::append(&sealed, &(wish.number, &hash))?;
    let mut row = Row {
        number: wish.number,
        code: wish.code.clone(),
        dropped: None,
        manifest: None,
        hash,
        scored: Vec::new(),
        once: Vec::new(),
        failures: Vec::new(),
        seconds: 0.0,
    };
    let place = request.recordings(wish.number);
    // Truth was measured without it.
    let load = Load::start(request.load, &request.out)?;
    for round in 0..RECORDINGS {
        let place = place.join(round.to_string());
        match record(&bench.tree, &manifest, &place, request.repeat) {
            Ok(()) => judge(&mut row, &manifest, &place, request),
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
