//! A program of `programs/` under one library: compiled, run by two ranks bare or with the collector,
//! and what was recorded read back.

use crate::library::{DEBIAN, Library, WHEELS, target};
use headwater_format::spool::read_spool;
use headwater_model::run::{Context, Run};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// Jobs run one after the other: more ranks than cores are slow, not more telling.
static MACHINE: Mutex<()> = Mutex::new(());

pub fn alone() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The collector as it is now, made on demand.
pub fn collector() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let built = Command::new(cargo)
        .arg("toolset")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "the collector builds: {said}");
    target().join("release/libheadwater_collector.so")
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
    pub program: PathBuf,
    mpi: &'static Library,
}

/// The program under every library of the distribution that is there.
pub fn cases(source: &str) -> impl Iterator<Item = Case> + '_ {
    DEBIAN.iter().filter_map(|mpi| case(mpi, source, &[]))
}

/// The program, compiled with more options, under every library that is there.
pub fn everywhere<'a>(source: &'a str, options: &'a [&'a str]) -> impl Iterator<Item = Case> + 'a {
    let all = DEBIAN.iter().chain(&WHEELS);
    all.filter_map(move |mpi| case(mpi, source, options))
}

/// The program, compiled with more options, under the distribution's library of this name.
pub fn under(library: &str, source: &str, options: &[&str]) -> Option<Case> {
    let mpi = DEBIAN.iter().find(|mpi| mpi.name == library)?;
    case(mpi, source, options)
}

fn case(mpi: &'static Library, source: &str, options: &[&str]) -> Option<Case> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let program = dir.path().join(source.split('.').next()?);
    mpi.compiled(source, &program, options)?;
    Some(Case {
        dir,
        library: mpi.name,
        program,
        mpi,
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
        let launcher = self.mpi.launcher();
        let mut command = Command::new(before[0]);
        command
            .args(&before[1..])
            .arg(launcher.get_program())
            .args(launcher.get_args())
            .envs(launcher.get_envs().filter_map(|(k, v)| Some((k, v?))))
            .args(["-n", "2", "sh", "-c", shell, "sh"])
            .arg(&self.program)
            .args(arguments)
            .env("SPOOL", self.spool())
            .env("COLLECTOR", collector())
            .current_dir(self.dir.path())
            .output()
            .expect("the launcher runs")
    }

    /// Builds a library that the program opens, beside it.
    pub fn with_library(&self, source: &str, name: &str) {
        self.with_library_by(source, name, &[]);
    }

    /// The same, compiled with more options.
    pub fn with_library_by(&self, source: &str, name: &str, options: &[&str]) {
        let to = self.dir.path().join(name);
        let options = [&["-shared", "-fPIC"], options].concat();
        let built = self.mpi.compiled(source, &to, &options);
        built.expect("the compiler is there");
    }

    pub fn record(&self, arguments: &[&str]) -> Output {
        self.run(&format!("{RECORDED} {PLAIN}"), arguments)
    }

    /// Runs bare and recorded, by `around` both times; output and code must be the same. What two ranks
    /// print must be one write each, or launchers mix it: under MPICH `puts` makes two.
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

    /// The function of the program that an address of a call path is in.
    pub fn function_at(&self, run: &Run, at: &Context) -> Option<String> {
        let module = run.modules.get(at.module as usize)?;
        let out = Command::new("addr2line")
            .args(["-C", "-f", "-e", &module.path])
            .arg(format!("{:x}", at.lookup()))
            .output()
            .expect("binutils are there");
        let text = String::from_utf8_lossy(&out.stdout);
        text.lines().next().map(str::to_string)
    }

    pub fn recorded(&self) -> Run {
        read_spool(&self.spool()).unwrap_or_else(|e| panic!("{}: {e}", self.library))
    }
}
