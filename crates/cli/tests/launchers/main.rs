//! Every launcher that is here, and every way to put us before a program under it: the environment has to
//! reach each rank by the launcher's own means, which the user should not have to know.

mod slurm;
#[path = "../support/mod.rs"]
mod support;

use headwater_format::open_run;
use slurm::Slurm;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{collector, headwater, said, target};

/// Done, or what went wrong.
type Done = Result<(), String>;

/// Two ranks that meet, send and meet again.
const PROGRAM: &str = "#include <mpi.h>
int main(int argc, char **argv) {
    int rank, size, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 0; step < 20; step++) {
        if (rank == 0)
            MPI_Send(&step, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return size == 2 ? 0 : 1;
}
";

/// Whose compiler and launcher.
#[derive(Clone, Copy, PartialEq)]
enum Mpi {
    /// Debian's, whose compiler this is.
    Debian(&'static str),
    /// The wheel that `cargo xtask setup` installs, or that `HEADWATER_IMPI` names.
    Intel,
}

const OPENMPI: Mpi = Mpi::Debian("mpicc.openmpi");
const MPICH: Mpi = Mpi::Debian("mpicc.mpich");

/// A launcher with the library whose programs it starts.
struct Row {
    /// The line for two ranks.
    line: &'static str,
    /// Whose.
    mpi: Mpi,
    /// What hands the environment on where we are not there to do it; `$` and `%` are the collector and
    /// where it spools to.
    by_hand: &'static str,
}

const fn row(line: &'static str, mpi: Mpi, by_hand: &'static str) -> Row {
    Row { line, mpi, by_hand }
}

const OPEN: &str = "-x LD_PRELOAD=$ -x HEADWATER_SPOOL=%";
const HYDRA: &str = "-genv LD_PRELOAD $ -genv HEADWATER_SPOOL %";
const SRUN: &str = "--export=ALL,LD_PRELOAD=$,HEADWATER_SPOOL=%";

const ROWS: [Row; 7] = [
    row("mpirun.openmpi --oversubscribe -n 2", OPENMPI, OPEN),
    row("mpiexec.mpich -n 2", MPICH, HYDRA),
    row("mpiexec.hydra -n 2", Mpi::Intel, HYDRA),
    row("srun --mpi=pmix -n 2", OPENMPI, SRUN),
    row("srun --mpi=pmi2 --label -n 2", MPICH, SRUN),
    row("srun --mpi=pmix --export=NONE -n 2", OPENMPI, ""),
    row(
        "flux run -n 2",
        OPENMPI,
        "--env=LD_PRELOAD=$ --env=HEADWATER_SPOOL=%",
    ),
];

/// How long one run may take, seconds.
const PATIENCE: &str = "60";

/// Runs a command and returns its output; on failure the end of what it said.
fn output(command: &mut Command) -> Result<String, String> {
    let out = command.stdin(Stdio::null()).output();
    let out = out.map_err(|e| format!("cannot start {command:?}: {e}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = said(&out);
    let last: Vec<&str> = said.lines().rev().take(4).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!("{}: {}", out.status, last.join(" | ")))
}

fn intel() -> Option<PathBuf> {
    let given = std::env::var_os("HEADWATER_IMPI").map(PathBuf::from);
    let mut places = given.into_iter().chain([target().join("impi")]);
    places.find(|p| p.join("bin/mpiexec.hydra").exists() && p.join("include/mpi.h").exists())
}

/// What a row means on this machine.
struct Found {
    launcher: PathBuf,
    compiler: PathBuf,
    /// What both need in the environment.
    needs: Vec<(&'static str, PathBuf)>,
}

impl Row {
    fn name(&self) -> &str {
        self.line.split(' ').next().unwrap_or("")
    }

    /// What it means; `None` where that is not here.
    fn found(&self) -> Option<Found> {
        let in_path = |name: &str| {
            let dirs = std::env::var_os("PATH")?;
            let mut places = std::env::split_paths(&dirs).map(|d| d.join(name));
            places.find(|p| p.is_file())
        };
        match self.mpi {
            Mpi::Debian(compiler) => Some(Found {
                launcher: in_path(self.name())?,
                compiler: in_path(compiler)?,
                needs: Vec::new(),
            }),
            Mpi::Intel => {
                let dir = intel()?;
                Some(Found {
                    launcher: dir.join("bin").join(self.name()),
                    compiler: dir.join("bin/mpicc"),
                    needs: vec![
                        ("I_MPI_FABRICS", "shm".into()),
                        ("LD_LIBRARY_PATH", dir.join("lib")),
                        ("I_MPI_ROOT", dir),
                    ],
                })
            }
        }
    }

    /// Tries each way; returns what it is called, and whether the run was recorded whole. `None` where the
    /// launcher is not here.
    fn ways(&self, dir: &Path, slurm: Option<&Path>) -> Option<Vec<(&'static str, Done)>> {
        let Found {
            launcher,
            compiler,
            needs,
        } = self.found()?;
        std::fs::create_dir_all(dir).expect("makes a directory");
        std::fs::write(dir.join("app.c"), PROGRAM).expect("writes a source file");
        let mut compile = Command::new(compiler);
        compile.args(["-g", "-o", "app", "app.c"]).current_dir(dir);
        let compiled = output(compile.envs(needs.iter().cloned()));
        assert_eq!(compiled, Ok(String::new()), "{}", self.line);
        let app = dir.join("app").display().to_string();
        let words = |line: &str| -> Vec<String> {
            let words = line.split(' ').filter(|w| !w.is_empty());
            words.map(str::to_string).collect()
        };
        let mut launch = words(self.line);
        launch[0] = launcher.display().to_string();
        let ours = words(&format!("{} record -o", env!("CARGO_BIN_EXE_headwater")));
        let app = std::slice::from_ref(&app);
        let run = |name: &str, line: Vec<String>| -> Done {
            let mut command = Command::new("timeout");
            // What `headwater` sets for these tests holds for the launcher too.
            let base = headwater(dir);
            let set = base.get_envs().filter_map(|(k, v)| Some((k, v?)));
            command.envs(set).env("HEADWATER_COLLECTOR", collector());
            command
                .args(["-k", "5", PATIENCE])
                .args(line)
                .current_dir(dir);
            command.envs(needs.iter().cloned());
            if let Some(conf) = slurm {
                command.env("SLURM_CONF", conf);
            }
            output(&mut command)?;
            whole(&dir.join(name))
        };
        let before = [&ours[..], &words("before --"), &launch, app].concat();
        let behind = [&launch[..], &ours, &words("behind"), app].concat();
        let mut tried = vec![("before it", run("before", before))];
        // Where nothing of the environment comes, neither does where these tests have the collector.
        if !self.by_hand.is_empty() {
            tried.push(("behind it", run("behind", behind)));
            let set = self
                .by_hand
                .replace('$', &collector().display().to_string());
            let set = set.replace('%', &dir.join("hand/spool").display().to_string());
            let line = [&launch[..], &words(&set), app].concat();
            tried.push(("by LD_PRELOAD", run("hand", line)));
        }
        Some(tried)
    }
}

/// Whether the run in `dir` holds all that its two ranks did.
fn whole(dir: &Path) -> Done {
    let run = open_run(dir).map_err(|e| e.to_string())?;
    let calls = |name: &str| -> u64 {
        let all = run.calls.iter();
        all.filter(|c| run.function(c.func) == name)
            .map(|c| c.count)
            .sum()
    };
    let joined: u64 = run.messages.iter().map(|m| m.sampled).sum();
    let found = (
        run.header.ranks,
        calls("MPI_Send"),
        calls("MPI_Allreduce"),
        joined,
    );
    if found != (2, 20, 40, 20) || !run.header.incomplete.is_empty() {
        return Err(format!(
            "ranks, sends, reductions and joined messages are {found:?}, of ranks {:?} a part only",
            run.header.incomplete
        ));
    }
    Ok(())
}

#[test]
fn every_launcher_that_is_here_is_recorded_in_every_way() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let slurm = Slurm::start(&dir.path().join("slurm"));
    if let Err(why) = &slurm {
        eprintln!("Slurm is not tried: {why}");
    }
    let mut wrong = Vec::new();
    for (number, row) in ROWS.iter().enumerate() {
        let conf = slurm.as_ref().ok().map(Slurm::configuration);
        let here = row.name() != "srun" || conf.is_some();
        let place = dir.path().join(number.to_string());
        let Some(ways) = here.then(|| row.ways(&place, conf.as_deref())).flatten() else {
            eprintln!("{} is not here, so it is not tried", row.line);
            continue;
        };
        for (way, done) in ways {
            let said = done.map_or_else(|e| e, |()| "recorded".to_string());
            eprintln!("{:<40} {way:<14} {said}", row.line);
            if said != "recorded" {
                wrong.push(format!("{}, {way}: {said}", row.line));
            }
        }
    }
    drop(slurm);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
