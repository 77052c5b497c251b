//! Development commands: `cargo xtask demo`, `test`, `score`, `bench` and what they are made of.

mod bench;
mod mpi;
mod score;
mod setup;
mod shell;
mod testbed;

use std::process::ExitCode;

const USAGE: &str = "cargo xtask COMMAND
  demo                      install what is missing, build, record a testbed program, print the diagnosis
  test                      install what is missing, check, run all tests, diagnose a part of the testbed
  setup                     install what is missing
  testbed [CASE…]           build testbed programs         [--mpi openmpi|intel|mpich]
  score [CASE…]             diagnose testbed programs and compare with what is known
                            [--mpi openmpi|intel|mpich] [--runs N]
  bench                     print the figures that the project is held to";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or(&[]);
    let done = match args.first().map(String::as_str) {
        Some("demo") => demo(),
        Some("test") => test(),
        Some("setup") => setup::setup(true),
        Some("testbed") => {
            score::Request::parse(rest).and_then(|r| testbed::build_all(&r).map(|_| ()))
        }
        Some("score") => setup::build()
            .and_then(|()| score::Request::parse(rest))
            .and_then(|r| score::score(&r)),
        Some("bench") => setup::build().and_then(|()| bench::bench()),
        _ => {
            println!("{USAGE}");
            return ExitCode::from(u8::from(!args.is_empty()) * 2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::from(2)
        }
    }
}

fn demo() -> shell::Done {
    setup::setup(false)?;
    setup::build()?;
    let request = score::Request {
        cases: vec!["zeus".into()],
        ..Default::default()
    };
    let built = testbed::build_all(&request)?;
    let Some(case) = built.first() else {
        return Err("the demonstration program is missing".into());
    };
    let out = shell::root().join("target/demo");
    let _ = std::fs::remove_dir_all(&out);
    let program = case.program.display().to_string();
    shell::run(
        setup::headwater().as_str(),
        &[
            "run",
            "-n",
            "2,4,8,16",
            "-o",
            &out.display().to_string(),
            "--",
            &program,
        ],
    )
}

fn test() -> shell::Done {
    setup::setup(true)?;
    for args in [
        &["fmt", "--all", "--check"][..],
        &[
            "clippy",
            "--quiet",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        &[
            "build",
            "--release",
            "--quiet",
            "-p",
            "headwater",
            "-p",
            "headwater-collector",
        ],
        &["test", "--quiet", "--workspace"],
    ] {
        println!("cargo {}", args.join(" "));
        shell::run("cargo", args)?;
    }
    score::check_part()
}
