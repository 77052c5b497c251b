//! What recording adds to the memory of a rank that sends from many call paths: its maps in the kernel's words, bare and
//! recorded, and the difference by what it is for.

use crate::bench::built;
use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, HANGING, within};
use headwater_format::spool::layout::{Desc, FileHeader, Kind, read_header};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

/// A program whose memory is looked at.
struct Case {
    what: &'static str,
    ranks: u32,
    /// Digits of the number of call paths.
    digits: u32,
    /// What the project is held to, kB.
    bar: i64,
    /// The most that may be added, kB.
    most: i64,
}

const CASES: [Case; 2] = [
    Case {
        what: "1,000 call paths, 64 peers",
        ranks: 65,
        digits: 3,
        bar: 3 << 10,
        most: 3600,
    },
    Case {
        what: "10,000 call paths",
        ranks: 2,
        digits: 4,
        bar: 4 << 10,
        most: 6144,
    },
];

/// Memory by which ranks of one node talk to each other. How much of it a rank has seen depends on when
/// messages came; it is not counted.
const LIBRARYS: &str = "(shared memory of the MPI library)";

/// Resident memory by what it is mapped from, kB.
type Maps = BTreeMap<String, i64>;

/// Prints the differences; an error where one is more than it may be.
pub fn memory() -> Done {
    let program = built("contexts")?;
    CASES.iter().try_for_each(|case| {
        let (more, rows) = added(case, &program)?;
        let sum = sum(&more);
        println!(
            "memory of a rank with {}, {rows}: {sum} kB more are resident",
            case.what
        );
        for (name, kb) in more.iter().filter(|(_, kb)| kb.abs() >= 32) {
            println!("  {kb:6} kB  {name}");
        }
        if sum > case.most {
            let most = case.most;
            return Err(format!(
                "recording adds {sum} kB to a rank, more than {most}"
            ));
        }
        Ok(())
    })
}

/// Prints a line for each case, with its bar. A bar that is not reached is no error.
pub fn bars() -> Done {
    let program = built("contexts")?;
    CASES.iter().try_for_each(|case| {
        let sum = sum(&added(case, &program)?.0);
        let mark = if sum <= case.bar { "ok  " } else { "over" };
        println!(
            "{mark} memory a rank, {}: {sum} kB (bar {})",
            case.what, case.bar
        );
        Ok(())
    })
}

/// What recording adds in all, kB.
fn sum(more: &[(String, i64)]) -> i64 {
    let ours = more.iter().filter(|(name, _)| name != LIBRARYS);
    ours.map(|(_, kb)| kb).sum()
}

/// What recording adds, by what it is for, in kB, the most first; and how much was recorded.
fn added(case: &Case, program: &Path) -> Result<(Vec<(String, i64)>, String), String> {
    let place = setup::target().join("memory");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|e| e.to_string())?;
    let spool = place.join("spool");
    let run = |recorded: bool, maps: &Path| {
        let mut command = within(HANGING, &Mpi::Open.mpirun(case.ranks)?);
        if recorded {
            setup::recorded(&mut command, &spool);
        }
        // The program ends without MPI_Finalize, of which the launcher has something to say.
        let ended = command
            .arg(program)
            .arg(maps)
            .arg(case.digits.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        ended.map_err(|e| format!("cannot start {command:?}: {e}"))?;
        std::fs::read_to_string(maps).map_err(|e| format!("{}: {e}", maps.display()))
    };
    let bare = resident(&run(false, &place.join("bare"))?, None);
    let maps = run(true, &place.join("recorded"))?;
    let header = header_of_rank_0(&spool)?;
    let rows = |kind: Kind| {
        let of = header.in_use().filter(|d| d.kind == kind as u32);
        of.map(|d| d.count).sum::<u32>()
    };
    let paths = 10_u32.pow(case.digits);
    if rows(Kind::Contexts) < paths || rows(Kind::Calls) < paths {
        return Err(format!("only {} calls were recorded", rows(Kind::Calls)));
    }
    let recorded = resident(&maps, Some(&header));
    let names: Vec<&String> = recorded.keys().chain(bare.keys()).collect();
    let of = |maps: &Maps, name: &str| maps.get(name).copied().unwrap_or(0);
    let mut more: Vec<(String, i64)> = names
        .into_iter()
        .map(|n| (n.clone(), of(&recorded, n) - of(&bare, n)))
        .collect();
    more.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    more.dedup();
    let (contexts, calls) = (rows(Kind::Contexts), rows(Kind::Calls));
    Ok((more, format!("{contexts} contexts, {calls} rows of calls")))
}

/// The header of rank 0's process file.
fn header_of_rank_0(spool: &Path) -> Result<FileHeader, String> {
    let files = std::fs::read_dir(spool).map_err(|e| e.to_string())?;
    let mut headers = files.flatten().filter_map(|f| {
        let bytes = std::fs::read(f.path()).ok()?;
        read_header(&bytes)
    });
    headers
        .find(|h| h.rank == 0)
        .ok_or("rank 0 recorded nothing".into())
}

/// Resident memory of a process, from its maps; the spool's by the table at that place of it.
fn resident(maps: &str, header: Option<&FileHeader>) -> Maps {
    let mut out = Maps::new();
    let mut name = String::new();
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first == "Rss:" {
            let kb: i64 = words.next().and_then(|w| w.parse().ok()).unwrap_or(0);
            *out.entry(name.clone()).or_default() += kb;
        } else if !first.ends_with(':') {
            let offset = words.nth(1).and_then(|w| u64::from_str_radix(w, 16).ok());
            let path = words.nth(2).unwrap_or("memory without a file");
            let file = path.rsplit('/').next().unwrap_or(path);
            let code = file.contains(".so") || file == "contexts";
            name = match header.filter(|_| path.ends_with(".spool")) {
                Some(header) => table(header, offset.unwrap_or(0)),
                None if code => file.to_string(),
                None if path.starts_with('/') => LIBRARYS.to_string(),
                None => "memory without a file".into(),
            };
        }
    }
    out
}

/// What lies at an offset of the spool.
fn table(header: &FileHeader, offset: u64) -> String {
    const NAMES: [(Kind, &str); 11] = [
        (Kind::Modules, "modules"),
        (Kind::Comms, "communicators"),
        (Kind::Contexts, "contexts"),
        (Kind::Segments, "segments"),
        (Kind::Calls, "calls"),
        (Kind::Samples, "samples"),
        (Kind::Events, "events"),
        (Kind::Messages, "messages"),
        (Kind::Threads, "threads"),
        (Kind::Teams, "teams"),
        (Kind::Waits, "waits"),
    ];
    let here = |d: &&Desc| d.offset == offset;
    let kind = header.in_use().find(here).map_or(0, |d| d.kind);
    let name = NAMES.iter().find(|(k, _)| *k as u32 == kind);
    format!("spool: {}", name.map_or("header", |(_, n)| n))
}
