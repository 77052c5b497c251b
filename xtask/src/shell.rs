//! Running other programs.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Done, or what went wrong.
pub type Done = Result<(), String>;

/// The root of the checkout.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, std::path::Path::to_path_buf)
}

/// Seconds after which what a command of ours runs under MPI is taken to hang.
pub const HANGING: u32 = 300;

/// The same command, which is ended where it takes longer than so many seconds.
pub fn within(seconds: u32, command: &Command) -> Command {
    let mut out = Command::new("timeout");
    out.args(["-k", "5", &seconds.to_string()])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => out.env(name, value),
            None => out.env_remove(name),
        };
    }
    out
}

/// Runs a program from the root; its output goes where ours goes.
pub fn run(program: &str, args: &[&str]) -> Done {
    let status = Command::new(program)
        .args(args)
        .current_dir(root())
        .status();
    match status {
        Ok(s) if s.success() => Ok(()),
        Ok(s) => Err(format!("{program} {} failed ({s})", args.join(" "))),
        Err(e) => Err(format!("cannot start {program}: {e}")),
    }
}

/// Runs a command and returns its output; on failure the end of what it said.
pub fn output(command: &mut Command) -> Result<String, String> {
    let out = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("cannot start {command:?}: {e}"))?;
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    let last: Vec<&str> = said.lines().rev().take(4).collect();
    Err(format!(
        "{:?} failed ({}): {}",
        command.get_program(),
        out.status,
        last.into_iter().rev().collect::<Vec<_>>().join(" | ")
    ))
}
