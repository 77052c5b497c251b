//! A program of `programs/` under one library: compiled, run by two ranks bare or with the collector,
//! and what was recorded read back.

use headwater_format::spool::read_spool;
use headwater_model::run::Run;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

const LIBRARIES: [&str; 2] = ["openmpi", "mpich"];

/// Jobs run one after the other: more ranks than cores are slow, not more telling.
static MACHINE: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The collector as it is now, made on demand.
fn collector() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "-p", "headwater-collector"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.is_ok_and(|s| s.success()), "the collector builds");
    let test = std::env::current_exe().expect("this program has a path");
    let target = test
        .ancestors()
        .nth(3)
        .expect("tests lie in the target folder");
    target.join("release/libheadwater_collector.so")
}

/// Compiles a program of `programs/`; `None` where the compiler is not installed.
fn compiled(dir: &Path, source: &str, library: &str) -> Option<PathBuf> {
    let compiler = match source.rsplit('.').next() {
        Some("c") => "mpicc",
        Some("cpp") => "mpicxx",
        _ => "mpif90",
    };
    let program = dir.join(source.split('.').next().unwrap_or(source));
    let status = Command::new(format!("{compiler}.{library}"))
        .args(["-g", "-O1", "-w", "-o"])
        .arg(&program)
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/programs")
                .join(source),
        )
        .current_dir(dir)
        .status();
    match status {
        Ok(status) => {
            assert!(status.success(), "{source} compiles for {library}");
            Some(program)
        }
        Err(_) => {
            eprintln!("{compiler}.{library} is not installed: {source} was not tested with it");
            None
        }
    }
}

/// What runs in place of the program, by a shell: `"$@"` is the program with its arguments.
pub const PLAIN: &str = r#"exec "$@""#;

/// Said before it to have it recorded.
pub const RECORDED: &str =
    r#"export HEADWATER_SPOOL="${SPOOL_HERE-$SPOOL}" LD_PRELOAD="$COLLECTOR";"#;

/// A program under one library.
pub struct Case {
    pub dir: TempDir,
    pub library: &'static str,
    program: PathBuf,
}

/// The program under every library that is there.
pub fn cases(source: &str) -> impl Iterator<Item = Case> + '_ {
    LIBRARIES.into_iter().filter_map(move |library| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let program = compiled(dir.path(), source, library)?;
        Some(Case {
            dir,
            library,
            program,
        })
    })
}

impl Case {
    pub fn spool(&self) -> PathBuf {
        self.dir.path().join("spool")
    }

    /// Two ranks, each by a shell that sees `SPOOL` and `COLLECTOR`; 124 where they never end.
    pub fn run(&self, shell: &str, arguments: &[&str]) -> Output {
        self.run_inside(&["timeout", "-k", "5", "60"], shell, arguments)
    }

    /// The same, with words before the launcher.
    pub fn run_inside(&self, before: &[&str], shell: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(before[0]);
        command
            .args(&before[1..])
            .arg(format!("mpirun.{}", self.library));
        if self.library == "openmpi" {
            command.args(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
        }
        command
            .args(["-n", "2", "sh", "-c", shell, "sh"])
            .arg(&self.program)
            .args(arguments)
            .env("SPOOL", self.spool())
            .env("COLLECTOR", collector())
            .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
            .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
            .current_dir(self.dir.path())
            .output()
            .expect("the launcher runs")
    }

    pub fn record(&self, arguments: &[&str]) -> Output {
        self.run(&format!("{RECORDED} {PLAIN}"), arguments)
    }

    /// Runs bare and recorded, by `around` both times; output and code must be the same.
    pub fn unchanged(&self, around: &str, arguments: &[&str]) -> Output {
        let bare = self.run(&format!("{around} {PLAIN}"), arguments);
        let recorded = self.run(&format!("{around} {RECORDED} {PLAIN}"), arguments);
        let what = format!("{} under {}", self.program.display(), self.library);
        assert_eq!(
            (bare.status.code(), String::from_utf8_lossy(&bare.stdout)),
            (
                recorded.status.code(),
                String::from_utf8_lossy(&recorded.stdout)
            ),
            "{what}: {}",
            String::from_utf8_lossy(&recorded.stderr)
        );
        recorded
    }

    pub fn recorded(&self) -> Run {
        read_spool(&self.spool()).unwrap_or_else(|e| panic!("{}: {e}", self.library))
    }
}
