//! What the command's tests share: the command itself, its collector, programs built on the spot.

#![allow(dead_code)] // each test file uses its part

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The collector as this test was built, made on demand.
pub fn collector() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "-p", "headwater-collector"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(built.is_ok_and(|s| s.success()), "the collector builds");
    let bin = Path::new(env!("CARGO_BIN_EXE_headwater"));
    let target = bin.parent().and_then(Path::parent).expect("target folder");
    target.join("release/libheadwater_collector.so")
}

/// The command, run in `dir` with caches there.
pub fn headwater(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command
        .current_dir(dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// What a command said on standard error.
pub fn said(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// Builds `source` as `dir/name`; `None` where the compiler is not installed.
pub fn built(
    compiler: &str,
    dir: &Path,
    name: &str,
    source: &str,
    more: &[&str],
) -> Option<PathBuf> {
    let file = dir.join(format!("{name}.c"));
    std::fs::write(&file, source).expect("writes a source file");
    let program = dir.join(name);
    let status = Command::new(compiler)
        .args(["-g", "-O1", "-o"])
        .arg(&program)
        .arg(&file)
        .args(more)
        .status();
    match status {
        Ok(s) => {
            assert!(s.success(), "{compiler} builds {name}");
            Some(program)
        }
        Err(_) => {
            eprintln!("{compiler} is not installed: not tested");
            None
        }
    }
}
