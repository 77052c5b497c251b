//! A program in Rust, by the `mpi` crate: bare and recorded it says the same, and the diagnosis names its functions.
//!
//! It is no member of the workspace, as its crate makes bindings of the MPI library's header with libclang, which
//! users do not need.

use crate::mpi::Mpi;
use crate::setup;
use crate::shell::{Done, HANGING, output, root, within};
use headwater_format::spool::read_spool;
use headwater_model::run::{CtxId, Run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian's clang, which other tests need as well, has its library.
const LIBCLANG: &str = "/usr/lib/llvm-14/lib";

/// The function that the cause is in, and those that the calls of some MPI functions have above them.
const CAUSE: &str = "rust_mpi::relax";
const CALLERS: [(&str, &str); 2] = [
    ("MPI_Recv", "rust_mpi::pass_on"),
    ("MPI_Allreduce", "rust_mpi::sum_up"),
];

/// Builds it for a library.
fn built(mpi: Mpi) -> Result<PathBuf, String> {
    let target = setup::target().join("rust-mpi").join(mpi.name());
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet", "--manifest-path"]);
    cargo.arg(root().join("xtask/rust-mpi/Cargo.toml"));
    cargo
        .env("CARGO_TARGET_DIR", &target)
        .env("MPICC", format!("mpicc.{}", mpi.compilers()));
    if std::env::var_os("LIBCLANG_PATH").is_none() {
        cargo.env("LIBCLANG_PATH", LIBCLANG);
    }
    output(&mut cargo)?;
    Ok(target.join("release/rust-mpi"))
}

/// The functions, inlined ones too, on the call path of the first call of an MPI function.
fn callers(run: &Run, function: &str) -> Result<String, String> {
    let mut of = run.calls.iter();
    let call = of.find(|c| run.function(c.func) == function);
    let mut ctx = call.map_or(CtxId::NONE, |c| c.ctx);
    let mut names = Command::new("addr2line");
    names.args(["-C", "-f", "-i", "-e", &run.header.program]);
    while let Some(at) = ctx.index().and_then(|i| run.contexts.get(i)) {
        let module = run.modules.get(at.module as usize);
        if module.is_some_and(|m| m.path == run.header.program) {
            names.arg(format!("{:x}", at.lookup()));
        }
        ctx = at.parent;
    }
    output(&mut names)
}

/// What the run and its diagnosis have to say.
fn named(dir: &Path) -> Done {
    // Before it is made into tables.
    let run = read_spool(&dir.join("spool")).map_err(|e| e.to_string())?;
    let mut diagnose = Command::new(setup::headwater());
    let text = output(diagnose.args(["diagnose", "--json"]).arg(dir))?;
    let diagnosis: Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    let cause = &diagnosis["causes"][0]["place"];
    if cause["function"] != CAUSE {
        return Err(format!("the cause should be in {CAUSE}, not in {cause}"));
    }
    for (function, caller) in CALLERS {
        let names = callers(&run, function)?;
        if !names.lines().any(|n| n.starts_with(caller)) {
            return Err(format!("{function} should be called by {caller}: {names}"));
        }
    }
    Ok(())
}

/// Runs it on four ranks under Open MPI and two under MPICH.
pub fn rust() -> Done {
    for (mpi, ranks) in [(Mpi::Open, 4), (Mpi::Mpich, 2)] {
        let program = built(mpi)?;
        let dir = setup::target().join("rust-mpi/run");
        let _ = std::fs::remove_dir_all(&dir);
        let run = |recorded: bool| {
            let mut command = within(HANGING, &mpi.mpirun(ranks)?);
            if recorded {
                setup::recorded(&mut command, &dir.join("spool"));
            }
            output(command.arg(&program))
        };
        let (bare, recorded) = (run(false)?, run(true)?);
        if bare != recorded {
            return Err(format!("bare it says {bare}, recorded {recorded}"));
        }
        named(&dir)?;
        println!(
            "rust on {}: recorded, and its functions are named",
            mpi.name()
        );
    }
    Ok(())
}
