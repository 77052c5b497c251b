//! Ranks killed at random moments: whatever a process had recorded until then can be read.
//!
//! A kill comes at a drawn moment after the start: in `MPI_Init`, in the steps, in `MPI_Finalize`. Then
//! the spool is read, as diagnosing does, and the last sign of life of the killed rank is compared with
//! the moment. It takes programs that call MPI all the time: in others the last call is long ago,
//! whatever was kept.

use crate::mpi::Mpi;
use crate::request::Request;
use crate::setup;
use crate::shell::Done;
use crate::testbed::{Case, build_all};
use headwater_format::FormatError;
use headwater_format::spool::layout::{self, read_header};
use headwater_format::spool::read_spool;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Programs of the testbed that call MPI every few milliseconds.
const PROGRAMS: [&str; 8] = [
    "cg_delay",
    "even_cg",
    "even_ring",
    "even_stencil",
    "sharedlib",
    "slowcoll",
    "ssor",
    "wavefront",
];

/// Ranks of each run.
const RANKS: u32 = 2;

/// The most that may be missing before the kill, seconds.
const MOST_MISSING: f64 = 0.2;

/// Moments are drawn from the start to this, or to a little behind the end of a program that is quicker.
const LATEST: Duration = Duration::from_millis(1000);

/// What came of a kill.
enum Outcome {
    /// The program was over.
    TooLate,
    /// The rank had not begun to record, or all was merged already.
    Nothing,
    /// So many seconds before the kill are missing.
    Missing(f64),
}

/// Kills as many ranks as are wanted, one a run, and prints what came of it.
pub fn kills(wanted: u32, seed: u64) -> Done {
    let collector = setup::collector()?;
    let built = build_all(&Request {
        cases: PROGRAMS.map(String::from).to_vec(),
        ..Default::default()
    })?;
    let place = setup::target().join("kills");
    let mut random = Random(seed);
    let mut lengths = Vec::new();
    for case in &built {
        let start = Instant::now();
        let mut child = launch(case, &collector, &place)?;
        while start.elapsed() < LATEST && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(1));
        }
        lengths.push(start.elapsed().min(LATEST).mul_f64(1.05));
        end(&mut child, &place);
    }
    let (mut done, mut late, mut nothing, mut missing) = (0, 0, 0, Vec::new());
    while done < wanted {
        let which = random.below(built.len() as u64) as usize;
        let (Some(case), Some(length)) = (built.get(which), lengths.get(which)) else {
            return Err("no testbed program was built".into());
        };
        let after = length.mul_f64(random.below(1 << 20) as f64 / f64::from(1 << 20));
        let rank = random.below(u64::from(RANKS));
        let what = format!(
            "{} killed after {:.3} s (seed {seed})",
            case.name,
            after.as_secs_f64()
        );
        match kill(case, &collector, &place, rank, after).map_err(|e| format!("{what}: {e}"))? {
            Outcome::TooLate => {
                late += 1;
                if late > 4 * wanted + 20 {
                    return Err("programs end before they can be killed".into());
                }
                continue;
            }
            Outcome::Nothing => nothing += 1,
            Outcome::Missing(seconds) => {
                if seconds > MOST_MISSING {
                    println!("{what}: the last {seconds:.3} s of rank {rank} are missing");
                }
                missing.push(seconds);
            }
        }
        done += 1;
    }
    missing.sort_by(f64::total_cmp);
    let most = missing.last().copied().unwrap_or(0.0);
    println!(
        "{done} kills (seed {seed}): every spool could be read; {nothing} before recording began or after it was merged; missing before the kill: median {:.1} ms, at most {:.1} ms",
        missing.get(missing.len() / 2).copied().unwrap_or(0.0) * 1e3,
        most * 1e3
    );
    if most > MOST_MISSING {
        return Err(format!(
            "{most:.3} s are missing before a kill, more than {MOST_MISSING}"
        ));
    }
    Ok(())
}

/// Starts a program under the collector; its ranks leave their process numbers in `place`.
fn launch(case: &Case, collector: &Path, place: &Path) -> Result<Child, String> {
    let _ = std::fs::remove_dir_all(place);
    std::fs::create_dir_all(place.join("spool")).map_err(|e| e.to_string())?;
    let ours = r#"echo $$ > "$0/pid.$OMPI_COMM_WORLD_RANK.part" && mv "$0/pid.$OMPI_COMM_WORLD_RANK.part" "$0/pid.$OMPI_COMM_WORLD_RANK"
        export HEADWATER_SPOOL="$0/spool" LD_PRELOAD="$1"; shift; exec "$@""#;
    Mpi::Open
        .mpirun(RANKS)?
        .args(["sh", "-c", ours])
        .arg(place)
        .arg(collector)
        .arg(&case.program)
        .args(case.manifest.arguments(RANKS, None))
        .current_dir(place)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot start mpirun: {e}"))
}

fn kill(
    case: &Case,
    collector: &Path,
    place: &Path,
    rank: u64,
    after: Duration,
) -> Result<Outcome, String> {
    let start = Instant::now();
    let mut child = launch(case, collector, place)?;
    let file = place.join(format!("pid.{rank}"));
    while !file.exists() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(after.saturating_sub(start.elapsed()));
    let number = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let moment = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_err(|e| e.to_string())?;
    let killed = signal(&number);
    let _ = child.wait();
    let spool = place.join("spool");
    match read_spool(&spool) {
        Ok(_) | Err(FormatError::NothingRecorded(_)) if !killed => Ok(Outcome::TooLate),
        Err(FormatError::NothingRecorded(_)) => Ok(Outcome::Nothing),
        Err(e) => Err(e.to_string()),
        Ok(_) => match own_file(&spool, number.trim()) {
            None => Ok(Outcome::Nothing),
            Some(file) => Ok(last_sign(&file)?.map_or(Outcome::Nothing, |last| {
                Outcome::Missing(moment.as_secs_f64() - last)
            })),
        },
    }
}

/// The file of one process.
fn own_file(spool: &Path, number: &str) -> Option<PathBuf> {
    let ending = format!(".{number}.spool");
    let mut files = std::fs::read_dir(spool).ok()?.flatten().map(|f| f.path());
    files.find(|f| f.to_string_lossy().ends_with(&ending))
}

/// Ends a run that nobody waits for any more.
fn end(child: &mut Child, place: &Path) {
    for rank in 0..RANKS {
        if let Ok(number) = std::fs::read_to_string(place.join(format!("pid.{rank}"))) {
            signal(&number);
        }
    }
    let _ = child.wait();
}

/// Kills a process; returns whether there was one.
fn signal(number: &str) -> bool {
    Command::new("kill")
        .args(["-9", number.trim()])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}

/// When the process was last seen, seconds since 1970; nothing where it made the file and wrote nothing yet.
fn last_sign(file: &Path) -> Result<Option<f64>, String> {
    let bytes = std::fs::read(file).map_err(|e| e.to_string())?;
    let header = read_header(&bytes).filter(|h| h.unix_ns != 0);
    Ok(header.map(|header| {
        let last = layout::last_sign(&header, &layout::threads(&header, &bytes));
        (header.unix_ns + last) as f64 * 1e-9
    }))
}

/// Drawn numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }
}
