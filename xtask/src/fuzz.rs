//! `cargo xtask fuzz`: each reader of files that others make, given files that are changed at random. libFuzzer keeps those
//! changes that reach new code, so it finds its way behind what a reader checks first.

use crate::mpi::Mpi;
use crate::request::Request;
use crate::setup;
use crate::shell::{Done, output, root, within};
use crate::testbed::build_all;
use crate::wheels;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The readers (`fuzz/targets`).
pub const TARGETS: [&str; 11] = [
    "spool",
    "run",
    "structure",
    "compiler",
    "otf2",
    "paraver",
    "scalana",
    "flow",
    "trace",
    "python",
    "cpython",
];

/// Readers of one file, which are given its bytes alone.
const OF_ONE_FILE: [&str; 5] = ["structure", "compiler", "flow", "python", "cpython"];

/// Minutes for all of them together, where nothing else is said.
const MINUTES: f64 = 10.0;

/// A file takes at most so many seconds, and the reader so much memory, MiB.
const LONGEST: u32 = 20;
const MOST_MEMORY: u32 = 2048;

/// Counters of the compiler that libFuzzer goes by; its own part of the program is without.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Reads the command line: minutes for all, and which readers.
pub fn command(arguments: &[String]) -> Done {
    let (mut minutes, mut targets) = (MINUTES, Vec::new());
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--minutes" => {
                let given = rest.next().and_then(|v| v.parse().ok());
                minutes = given
                    .filter(|m: &f64| *m > 0.0)
                    .ok_or("--minutes wants a number above 0")?;
            }
            name => match TARGETS.iter().find(|t| **t == name) {
                Some(target) => targets.push(*target),
                None => {
                    return Err(format!(
                        "there is no reader {name} here; there are {}",
                        TARGETS.join(", ")
                    ));
                }
            },
        }
    }
    if targets.is_empty() {
        targets = TARGETS.to_vec();
    }
    setup::build()?;
    fuzz(minutes, &targets, 0)
}

/// Gives each of the readers its part of so many minutes. The command is built. What is changed depends on `seed`,
/// which is drawn where it is 0.
///
/// # Errors
/// A reader panics, or takes too long or too much memory: the file that it was given is named.
pub fn fuzz(minutes: f64, targets: &[&str], seed: u32) -> Done {
    let place = setup::target().join("fuzz");
    let programs = build(&place)?;
    let seconds = (60.0 * minutes / targets.len() as f64).ceil() as u32;
    for target in targets {
        println!("fuzzing {target} for {seconds} s");
        let own = place.join(target);
        let whole = seeds(target, &own)?;
        let found = own.join("found");
        std::fs::create_dir_all(&found).map_err(|e| e.to_string())?;
        let mut command = Command::new(programs.join(target));
        command
            .env("HEADWATER_FUZZ_WHOLE", whole)
            .arg(own.join("corpus"))
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-timeout={LONGEST}"))
            .arg(format!("-rss_limit_mb={MOST_MEMORY}"))
            .arg(format!("-artifact_prefix={}/", found.display()))
            .arg(format!("-seed={seed}"))
            .args(["-verbosity=0", "-print_final_stats=0"]);
        output(&mut within(seconds + 2 * LONGEST, &command)).map_err(|e| {
            format!(
                "{target}: {e}\nthe file that it was given is in {}",
                found.display()
            )
        })?;
    }
    Ok(())
}

/// Builds the readers; returns where their programs are.
fn build(place: &Path) -> Result<PathBuf, String> {
    println!("building the readers with counters");
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|l| l.strip_prefix("host: "));
    let host = host.ok_or("rustc -vV does not name its host")?;
    let built = place.join("build");
    // With a target, the flags are not those of what runs in the build.
    let mut cargo = Command::new("cargo");
    cargo
        .args([
            "build",
            "--quiet",
            "--release",
            "--target",
            host,
            "--manifest-path",
        ])
        .arg(root().join("fuzz/Cargo.toml"))
        .env("CARGO_TARGET_DIR", &built)
        .env("RUSTFLAGS", FLAGS);
    // What the compiler says goes where ours goes: the end of it alone does not name the reason.
    let ended = cargo
        .status()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    if !ended.success() {
        return Err(format!("the readers could not be built ({ended})"));
    }
    Ok(built.join(host).join("release"))
}

/// Makes the files that a reader begins with: a whole directory, and in `corpus` each of its files behind its number in it.
/// What was found in earlier runs stays. Gives the directory.
fn seeds(target: &str, own: &Path) -> Result<PathBuf, String> {
    let (whole, corpus) = (own.join("whole"), own.join("corpus"));
    std::fs::create_dir_all(&corpus).map_err(|e| e.to_string())?;
    // Made anew, as formats change.
    let _ = std::fs::remove_dir_all(&whole);
    make(target, &whole)?;
    let numbered = !OF_ONE_FILE.contains(&target);
    for (i, file) in files(&whole).iter().enumerate() {
        let mut bytes = Vec::new();
        if numbered {
            bytes.push(u8::try_from(i).map_err(|_| "there are too many files")?);
        }
        bytes.extend(std::fs::read(file).map_err(|e| e.to_string())?);
        std::fs::write(corpus.join(format!("seed-{i}")), bytes).map_err(|e| e.to_string())?;
    }
    Ok(whole)
}

/// Files of a directory and those in it, in the order in which the readers count them.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => out.extend(files(&path)),
            path => out.push(path),
        }
    }
    out.sort();
    out
}

/// Lays what a reader reads into `whole`, which is not there.
fn make(target: &str, whole: &Path) -> Done {
    match target {
        "otf2" => {
            let mut python = Command::new(wheels::otf2()?.join("bin/python"));
            python.arg(root().join("crates/import/tests/archives.py"));
            return output(python.arg("patterns").arg(whole)).map(|_| ());
        }
        "spool" | "run" => return recorded(target, whole),
        _ => std::fs::create_dir_all(whole).map_err(|e| e.to_string())?,
    }
    match target {
        "paraver" | "scalana" | "trace" => kept(target, whole),
        "structure" => programs(whole),
        "compiler" => sections(whole),
        "python" => scripts(whole),
        "cpython" => memory(whole),
        _ => flows(whole),
    }
}

fn kept(target: &str, whole: &Path) -> Done {
    for file in files(&root().join("fuzz/seeds").join(target)) {
        let name = file.file_name().unwrap_or_default();
        std::fs::copy(&file, whole.join(name)).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(())
}

fn programs(whole: &Path) -> Done {
    const SOURCE: &str = "int f(int n) { int s = 0; for (int i = 0; i < n; i++) if (i & s) s += i; return s; }\nint main(int c, char **v) { return f(c) + (v != 0); }\n";
    let file = whole.with_file_name("program.c");
    std::fs::write(&file, SOURCE).map_err(|e| e.to_string())?;
    for (name, flags) in [("dwarf-5", "-g"), ("dwarf-4", "-gdwarf-4"), ("bare", "-s")] {
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", flags, "-o"]).arg(whole.join(name));
        output(gcc.arg(&file))?;
    }
    Ok(())
}

/// What the compiler's plugin writes: the section, and the body of its record.
fn sections(whole: &Path) -> Done {
    let object = whole.with_file_name("cases.o");
    let source = root().join("crates/structure/tests/compiled/dependence/main.c");
    let mut compile = Command::new(setup::headwater());
    compile.args(["cc", "-w", "-O2", "-g", "-c"]).arg(source);
    output(compile.arg("-o").arg(&object))?;
    let section = whole.join("section");
    let mut dump = Command::new("objcopy");
    dump.arg("--dump-section");
    dump.arg(format!(".headwater.psg={}", section.display()));
    output(dump.arg(&object))?;
    let bytes = std::fs::read(&section).map_err(|e| e.to_string())?;
    let body = bytes.get(16..).unwrap_or_default();
    std::fs::write(whole.join("body"), body).map_err(|e| e.to_string())
}

/// Scripts of the testbed.
fn scripts(whole: &Path) -> Done {
    let all = files(&root().join("testbed/python"));
    let is_script = |f: &&PathBuf| f.extension().is_some_and(|e| e == "py");
    for file in all.iter().filter(is_script) {
        let name = file.file_name().unwrap_or_default();
        std::fs::copy(file, whole.join(name)).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(())
}

/// Memory of a Python 3.12: a thread with one frame, and its function.
fn memory(whole: &Path) -> Done {
    const BEGIN: u64 = 0x1_0000;
    let word_at = [
        // The state leads to the mark, and the mark to the frame.
        (56, BEGIN + 0x200),
        (0x200, BEGIN + 0x280),
        // The frame: its code, the evaluator's frame, the instruction.
        (0x280, BEGIN + 0x400),
        (0x288, BEGIN + 0x300),
        (0x2b8, BEGIN + 0x400 + 192),
        // The evaluator's frame is its own, and the outermost.
        (0x340, 3 << 48),
        // The code: type, instructions, file, name, lines.
        (0x408, BEGIN),
        (0x410, 3),
        (0x440, 41 << 32),
        (0x470, BEGIN + 0x500),
        (0x480, BEGIN + 0x540),
        (0x488, BEGIN + 0x580),
        // Two strings and a table.
        (0x510, 4),
        (0x520, 0xe4),
        (0x528, u64::from_le_bytes(*b"a.py\0\0\0\0")),
        (0x550, 1),
        (0x560, 0xe4),
        (0x568, u64::from_le_bytes(*b"f\0\0\0\0\0\0\0")),
        (0x590, 2),
        (0x5a0, 0x0080),
    ];
    let mut bytes = vec![0; 0x600];
    for (at, word) in word_at {
        let place = bytes.get_mut(at..at + 8).ok_or("a word outside")?;
        place.copy_from_slice(&u64::to_le_bytes(word));
    }
    // The version comes first, counted from 3.9.
    bytes.insert(0, 3);
    std::fs::write(whole.join("python3.12"), bytes).map_err(|e| e.to_string())
}

fn flows(whole: &Path) -> Done {
    for name in ["profile", "scalability", "contention"] {
        let mut flow = Command::new(setup::headwater());
        let text = output(flow.args(["analyse", name, "--flow=json"]))?;
        std::fs::write(whole.join(name), text).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Records a testbed program on two ranks: the collector's files, or the run that is made of them.
fn recorded(target: &str, whole: &Path) -> Done {
    let built = build_all(&Request {
        cases: vec!["zeus".into()],
        ..Default::default()
    })?;
    let case = built.first().ok_or("the testbed program is missing")?;
    let mut launch = Mpi::Open.mpirun(2)?;
    if target == "spool" {
        setup::recorded(&mut launch, whole);
        return output(launch.arg(&case.program)).map(|_| ());
    }
    output(setup::record(&launch, whole).arg(&case.program)).map(|_| ())
}
