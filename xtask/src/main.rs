//! Development commands: `cargo xtask demo`, `test`, `score`, `bench` and what they are made of.

mod apt;
mod bench;
mod compiled;
mod compilers;
mod docs;
mod dose;
mod figures;
mod fuzz;
mod imb;
mod judge;
mod kills;
mod lossless;
mod memory;
mod merge;
mod mpi;
mod mpich_suite;
mod needs;
mod python;
mod races;
mod readers;
mod request;
mod rust_program;
mod score;
mod setup;
mod shell;
mod simulated;
mod skeletons;
mod suites;
mod testbed;
mod traces;
mod truth;
mod viewer;
mod wheels;

use std::process::ExitCode;

/// What a newcomer needs first.
const FIRST: &str = "cargo xtask COMMAND
  demo                      install what is missing, build, record a testbed program, print the diagnosis
  test                      install what is missing, check, run all tests, diagnose a part of the testbed and of
                            the real codes
  score [CASE…]             diagnose testbed programs and compare with what is known
                            [--mpi openmpi|intel|mpich] [--json FILE]
                            --threads, --python  those without MPI, at scales of threads, or those in Python
                            --repeat K  so many diagnoses each, and true costs from pairs of runs
                            --pairs N   interleaved pairs for a true cost (5 with --repeat, else 0)
                            --sweep     doses halved until not found any more
  bench [ROW…]              print the figures that the project is held to, or rows of what recording costs;
                            one that became worse than testbed/bench/baseline.json is an error
                            --against OLD.so     the rows, as the collector over another one
                            --baseline           write the rows there
  help                      all commands, by topic";

/// All other commands, by topic.
const TOPICS: &str = "
Build and install
  setup                     install what is missing
  testbed [CASE…]           build testbed programs         [--mpi openmpi|intel|mpich]
  skeletons [NAME…]         build the programs whose traces are measured  [--mpi openmpi|intel|mpich]
  wheel                     the wheel for Python, with the command and the collector in it

Is the answer true?
  truth                     plant causes into real codes, diagnose them and compare with the true costs
                            --seed S --cases N   what is drawn (1, 12)
                            --repeat K           each scale is recorded so often for a diagnosis (1)
                            --code NAME          of these codes only
                            --load               beside two busy loops and a disk writer
                            --resume             go on after an interruption
                            --minutes M          begin no round of 32 cases after that
                            --doc                write docs/ACCURACY.md
                            --out DIR, --keep    place of the results; recordings stay there
                            --built              with the release that is built
                            --rejudge            diagnose the recordings that were kept again, record none
                            --ci                 the fixed selection of every CI run
  dependences               plant loops with known bounds into real codes that are compiled with the plugin, and see
                            what is said of the bounds
                            --seed S --cases N   what is drawn (1, 10)
                            --code NAME          into these codes (hypre-ij, tachyon)
                            --doc                write the table into docs/COMPILER.md
                            --built              with the release that is built
  compiled                  compile the testbed with the plugin: vertices, agreement with the machine code, compile time
  codes [NAME…]             fetch, build and run the real codes of the bench [--coverage] [--list]

Does recording disturb or lose anything?
  memory                    what recording adds to the memory of a rank with 1,000 and 10,000 call paths
  traces [NAME…]            bytes of whole-run traces, and what merging them takes
  simulated [CASE…]         run times in virtual time and of replays, over those of the runs, on 2 ranks
  simulated --what-if [CASE…]
                            answers to what-if questions, over the run times of programs without their cause
  merge                     what merging the ranks' data takes, of 64 ranks and of up to 65,536 generated ones
  kills [N]                 kill a rank at each of N (500) random moments and read what was kept
                            [--seed S]
  launchers                 record under every launcher that is here, in each way; Slurm is started for it
  suites [SUITE]            other people's tests, bare and recorded: the verdicts must be the same
                            mpi4py               its own tests, under Open MPI and Intel MPI
                            mpich [N] [PART…]    MPICH's, of at most N (4) ranks, or some parts of them;
                                                 of more than 2 under Intel MPI
                            imb                  Intel's benchmarks, with their figures
                            rust                 a program in Rust: its functions are named
  lossless [PROGRAM…]       record programs with a plain log of all events, and compare their traces with it
                            [-n RANKS,…] [--mpi openmpi|intel|mpich]  or one program of yours behind --
  races                     ThreadSanitizer on the collector's tables, with threads that call MPI at the same time
  fuzz [READER…]            each reader of files that others make, on files changed at random
                            --minutes M          for all of them together (10)

Exports, Python and pages
  readers                   recorded tables and exported formats, each read by its own tool
  viewer                    build the page of a diagnosis and compare it with the crate's; look through pages of the
                            testbed in real browsers
  python [ARGUMENT…]        install the wheel and run the tests of the module; arguments are pytest's
  python-figures            what an import and Python's part of a dataflow take
  api                       docs/API.md and the stubs, made from the docstrings
  guide                     docs/GUIDE.md, its analyses run and what they say put in
  readme                    the demonstration: its report for README.md, pictures of its page for docs/pictures";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or(&[]);
    let done = match args.first().map(String::as_str) {
        Some("demo") => {
            demo().map(|text| println!("{text}\nThe same as a page: {}", demo_page().display()))
        }
        Some("readme") => demo().and_then(|text| readme(&text)),
        Some("test") => test(),
        Some("setup") => setup::setup(true),
        Some("testbed") => {
            request::Request::parse(rest).and_then(|r| testbed::build_all(&r).map(|_| ()))
        }
        Some("traces") => traces::command(rest),
        Some("simulated") => simulated::command(rest),
        Some("skeletons") => skeletons::command(rest),
        Some("score") => setup::build()
            .and_then(|()| request::Request::parse(rest))
            .and_then(|r| score::score(&r)),
        Some("codes") => truth::codes::check(rest),
        Some("truth") => truth::bench::Request::parse(rest).and_then(|r| truth::bench::truth(&r)),
        Some("compiled") => compiled::command(rest),
        Some("dependences") => truth::dependences::command(rest),
        Some("kills") => kills(rest),
        Some("fuzz") => fuzz::command(rest),
        Some("launchers") => shell::run(
            "cargo",
            &[
                "test",
                "-p",
                "headwater",
                "--test",
                "launchers",
                "--",
                "--nocapture",
            ],
        ),
        Some("suites") => setup::build().and_then(|()| suites(rest)),
        Some("viewer") => viewer::viewer(),
        Some("readers") => setup::build().and_then(|()| readers::readers()),
        Some("lossless") => lossless::command(rest),
        Some("races") => races::races(),
        Some("memory") => setup::build().and_then(|()| memory::memory()),
        Some("merge") => setup::build().and_then(|()| merge::merge()),
        Some("wheel") => python::wheel().map(|wheel| println!("{}", wheel.display())),
        Some("python-figures") => python::figures(),
        Some("api") => python::api(),
        Some("guide") => python::guide(),
        Some("python") => python::python(rest),
        Some("bench") => bench::command(rest),
        None => {
            println!("{FIRST}");
            Ok(())
        }
        Some("help" | "--help" | "-h") => {
            println!("{FIRST}\n{TOPICS}");
            Ok(())
        }
        Some(other) => Err(format!("{other} is not known\n{FIRST}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::from(2)
        }
    }
}

/// Records the demonstration program and returns the report.
fn demo() -> Result<String, String> {
    setup::setup(false)?;
    setup::build_command()?;
    let request = request::Request {
        cases: vec!["zeus".into()],
        ..Default::default()
    };
    let built = testbed::build_all(&request)?;
    let Some(case) = built.first() else {
        return Err("the demonstration program is missing".into());
    };
    let (out, page) = (setup::target().join("demo"), demo_page());
    let _ = std::fs::remove_dir_all(&out);
    let _ = std::fs::remove_file(&page);
    println!("recording {} on 2, 4, 8 and 16 ranks", case.name);
    let mut command = std::process::Command::new(setup::headwater());
    command
        .args(["run", "-n", "2,4,8,16", "-o"])
        .arg(&out)
        .arg("--html")
        .arg(&page)
        .arg("--")
        .arg(&case.program)
        .stderr(std::process::Stdio::inherit());
    shell::output(&mut command)
}

/// The page of the demonstration's diagnosis.
fn demo_page() -> std::path::PathBuf {
    setup::target().join("demo.html")
}

/// Puts the demonstration's report into the README, and pictures of its page into docs/pictures.
fn readme(report: &str) -> shell::Done {
    viewer::pictures(&demo_page())?;
    // The program's own output comes before the answer.
    let start = report.find("From ").unwrap_or(0);
    let report = setup::without_machine_paths(&report[start..]);
    let text = format!("```text\n{report}```\n");
    docs::put("README.md", ("<!-- report -->", "<!-- end -->"), &text)
}

/// Reads the number of kills and the seed that moments are drawn from.
fn kills(arguments: &[String]) -> shell::Done {
    let (mut count, mut seed) = (500, 1);
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let number = |v: Option<&String>| {
            v.and_then(|v| v.parse().ok())
                .ok_or(format!("{word} wants a number"))
        };
        match word.as_str() {
            "--seed" => seed = number(rest.next())?,
            _ => count = number(Some(word))?,
        }
    }
    kills::kills(
        u32::try_from(count).map_err(|_| "that is too many".to_string())?,
        seed,
    )
}

/// Runs the suite that is named, or all of them.
fn suites(arguments: &[String]) -> shell::Done {
    let rest = arguments.get(1..).unwrap_or(&[]);
    match arguments.first().map(String::as_str) {
        Some("mpi4py") => suites::suites(),
        Some("mpich") => mpich_suite::mpich(rest),
        Some("imb") => imb::imb(),
        Some("rust") => rust_program::rust(),
        None => suites::suites()
            .and_then(|()| mpich_suite::mpich(&[]))
            .and_then(|()| imb::imb())
            .and_then(|()| rust_program::rust()),
        Some(other) => Err(format!(
            "there is no suite {other} here; mpi4py, mpich, imb and rust are"
        )),
    }
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
        &setup::RELEASE,
        &["test", "--quiet", "--workspace"],
    ] {
        println!("cargo {}", args.join(" "));
        shell::run("cargo", args)?;
    }
    readers::readers()?;
    viewer::viewer()?;
    python::python(&[])?;
    kills::kills(10, 1)?;
    fuzz::fuzz(1.0, &fuzz::TARGETS, 1)?;
    score::check_part()?;
    truth::bench::Request::parse(&["--ci".to_string(), "--built".to_string()])
        .and_then(|r| truth::bench::truth(&r))
}
