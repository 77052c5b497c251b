//! What loops depend on, as the compiler's plugin tells it: true for nearly all planted cases, unknown in the rest, and
//! never wrong.

use crate::build::run;
use headwater_model::dependence::{Agreement, Origin};
use headwater_model::psg::{ModuleStructure, Vertex};
use headwater_structure::{Options, analyse, compare, framed, pass_source, read_section};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Versions of LLVM.
const VERSIONS: [u32; 2] = [19, 22];

/// The plugins, each built once.
fn plugins() -> &'static [(u32, PathBuf)] {
    static BUILT: OnceLock<(TempDir, Vec<(u32, PathBuf)>)> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("pass.cpp"), pass_source()).expect("writes");
        let build = |version: &u32| {
            let config = format!("/usr/lib/llvm-{version}/bin/llvm-config");
            let flags = Command::new(config).arg("--cxxflags").output().ok()?;
            let flags = String::from_utf8_lossy(&flags.stdout).into_owned();
            let name = format!("pass-{version}.so");
            let own = [
                "-fPIC",
                "-shared",
                "-fno-rtti",
                "-w",
                "-o",
                &name,
                "pass.cpp",
            ];
            let flags: Vec<&str> = flags.split_whitespace().chain(own).collect();
            run(dir.path(), "g++", &flags)?;
            Some((*version, dir.path().join(name)))
        };
        let all = VERSIONS.iter().filter_map(build).collect();
        (dir, all)
    });
    &built.1
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compiled/dependence")
}

/// Compiles a source with the plugin, or `plain`.
fn object(
    dir: &Path,
    compiler: &str,
    plugin: Option<&Path>,
    flags: &[&str],
    source: &str,
) -> Option<()> {
    let path = sources().join(source);
    let include = Command::new("mpicc.openmpi")
        .arg("--showme:incdirs")
        .output();
    let include = include.ok()?;
    let include = String::from_utf8_lossy(&include.stdout).into_owned();
    let mut args = vec!["-w".to_string(), "-g".into(), "-c".into()];
    args.extend(include.split_whitespace().map(|i| format!("-I{i}")));
    args.push(format!("-I{}", "/usr/lib/x86_64-linux-gnu/openmpi/lib"));
    args.extend(plugin.map(|p| format!("-fpass-plugin={}", p.display())));
    args.extend(flags.iter().map(|f| f.to_string()));
    args.push(path.display().to_string());
    if compiler.starts_with("flang") {
        args.retain(|a| a != "-w");
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    run(dir, compiler, &args)
}

/// What stands behind `= ` in comments, by file and line.
fn expected(files: &[&str]) -> BTreeMap<(String, u32), Vec<String>> {
    let mut out = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(sources().join(file)).expect("reads");
        for (number, line) in (1..).zip(text.lines()) {
            let told = line
                .split("// = ")
                .nth(1)
                .or_else(|| line.split("! = ").nth(1));
            if let Some(told) = told {
                let mut words: Vec<String> = told.split_whitespace().map(str::to_string).collect();
                words.sort();
                out.insert((file.to_string(), number), words);
            }
        }
    }
    out
}

/// How many loops are told as expected, and how many may be unknown in part; a wrong one fails.
fn judged(structure: &ModuleStructure, files: &[&str], what: &str) -> (usize, usize) {
    let expected = expected(files);
    let all = &structure.dependences;
    let (mut good, mut unknown) = (0, 0);
    for dependence in all.vertices.iter().filter(|d| d.own) {
        let Some(own) = all.conditions(dependence).next().filter(|c| c.bound) else {
            continue;
        };
        let file = own.file.as_deref().unwrap_or("");
        let file = file.rsplit('/').next().unwrap_or(file).to_string();
        let Some(truth) = expected.get(&(file.clone(), own.line)) else {
            continue;
        };
        let word = |o: Origin| format!("{o:?}").to_lowercase();
        let mut told: Vec<String> = own.sources.iter().map(|s| word(s.origin)).collect();
        told.sort();
        told.dedup();
        if told == *truth {
            good += 1;
            continue;
        }
        let open = told.iter().any(|t| t == "unknown");
        told.retain(|t| t != "unknown");
        let within = told.iter().all(|t| truth.contains(t));
        assert!(
            open && within,
            "{what}: {file}:{} comes from {truth:?}, and is said to come from {told:?}",
            own.line
        );
        unknown += 1;
    }
    (good, unknown)
}

fn structure(dir: &Path, module: &str) -> ModuleStructure {
    analyse(&dir.join(module), &Options::default()).expect("an ELF file")
}

/// A program of two sources in C, `cases`, with the plugin; `None` if there is no compiler.
fn program(dir: &Path, clang: &str, plugin: &Path, level: &str, sources: [&str; 2]) -> Option<()> {
    for source in sources {
        object(dir, clang, Some(plugin), &[level], source)?;
    }
    let [one, other] = sources.map(|source| source.replace(".c", ".o"));
    let args = [&one, &other, "-o", "cases"];
    run(dir, "mpicc.openmpi", &args).expect("links");
    Some(())
}

#[test]
fn planted_dependences_in_c_are_told_and_never_wrong() {
    let sources = ["main.c", "other.c"];
    for (version, plugin) in plugins() {
        let clang = format!("clang-{version}");
        for level in ["-O2", "-O3", "-O0"] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let dir = dir.path();
            if program(dir, &clang, plugin, level, sources).is_none() {
                return;
            }
            let s = structure(dir, "cases");
            let what = format!("{clang} {level}");
            let (good, unknown) = judged(&s, &sources, &what);
            assert!(
                good >= 45 && unknown * 10 <= good,
                "{what}: {good}, {unknown}"
            );
            let both = compare(&dir.join("cases"), &Options::default());
            let both = both.expect("an ELF file").expect("a section");
            let agree = |a: &Agreement| a.share().is_some_and(|s| s >= 0.98);
            assert!(agree(&both.loops) && agree(&both.mpi), "{what}: {both:?}");
        }
    }
}

/// Addresses that are kept, pointers that may point to the same, definitions that are replaced, and branches that join:
/// many of these cannot be known, but none may be said to come from constants.
#[test]
fn what_memory_and_control_hide_is_never_told_wrongly() {
    let Some((version, plugin)) = plugins().first() else {
        return;
    };
    let clang = format!("clang-{version}");
    for level in ["-O2", "-O0"] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dir = dir.path();
        let sources = ["hard.c", "hard_other.c"];
        if program(dir, &clang, plugin, level, sources).is_none() {
            return;
        }
        let (good, unknown) = judged(&structure(dir, "cases"), &sources, level);
        assert!(good >= 18 && good + unknown >= 31, "{good}, {unknown}");
    }
}

/// What MPI was not given it does not call, whoever else may call it through a pointer.
#[test]
fn what_functions_behind_pointers_set_is_told_where_mpi_is_given_none() {
    for (version, plugin) in plugins() {
        let clang = format!("clang-{version}");
        for (given, expected) in [("0", (3, 0)), ("(void *)MPI_Op_create", (2, 1))] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let dir = dir.path();
            object(dir, &clang, Some(plugin), &["-O2"], "pointed.c").expect("compiles");
            let text = format!("int MPI_Op_create(void); void *volatile kept = {given};\n");
            let giving = dir.join("giving.c");
            std::fs::write(&giving, text).expect("writes");
            let giving = giving.display().to_string();
            object(dir, &clang, Some(plugin), &["-O2"], &giving).expect("compiles");
            let objects = ["pointed.o", "giving.o", "-o", "cases"];
            run(dir, "mpicc.openmpi", &objects).expect("links");
            let told = judged(&structure(dir, "cases"), &["pointed.c"], given);
            assert_eq!(told, expected, "{given} {clang}");
        }
    }
}

/// A copy of an object to itself once took all memory of the machine.
#[test]
fn what_a_value_is_made_of_takes_bounded_memory() {
    for (version, plugin) in plugins() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dir = dir.path();
        let source = sources().join("large.c").display().to_string();
        let clang = format!("clang-{version}");
        let plugin = format!("-fpass-plugin={}", plugin.display());
        let limited = ["--as=1500000000", &clang, &plugin];
        let options = ["-g", "-O2", "-c", &source];
        run(dir, "prlimit", &[&limited[..], &options].concat()).expect("compiles");
        run(dir, "gcc", &["large.o", "-o", "cases"]).expect("links");
        assert_eq!(
            judged(&structure(dir, "cases"), &["large.c"], "large"),
            (2, 0)
        );
    }
}

/// What the arguments of the call of a function come from, by position.
fn parameters(s: &ModuleStructure, of: &str) -> Vec<(u32, Vec<Origin>)> {
    let is_of = |d: &&headwater_model::dependence::Dependence| {
        let vertices = s.functions.get(d.function as usize).map(|f| &f.vertices);
        let vertex = vertices.and_then(|v| v.get(d.vertex as usize));
        let name = vertex.and_then(|v| v.name);
        name.is_some_and(|n| s.string(n) == of)
    };
    let call = s.dependences.vertices.iter().find(is_of).expect("a call");
    let all = call.parameters.iter();
    let mut out: Vec<(u32, Vec<Origin>)> = all
        .map(|p| (p.position, p.sources.iter().map(|s| s.origin).collect()))
        .collect();
    for (_, origins) in &mut out {
        origins.sort();
        origins.dedup();
    }
    out
}

/// Names that are not what they seem, neighbours in memory, other types of the same memory, texts, and what is called back.
#[test]
fn what_was_once_told_wrongly_is_told_or_unknown() {
    for (version, plugin) in plugins() {
        let clang = format!("clang-{version}");
        for level in [&["-O2"][..], &["-O3", "-march=x86-64-v3"], &["-O0"]] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let dir = dir.path();
            let sources = ["doubted.c", "doubted_other.c"];
            for source in sources {
                if object(dir, &clang, Some(plugin), level, source).is_none() {
                    return;
                }
            }
            let args = ["doubted.o", "doubted_other.o", "-o", "cases", "-lm"];
            run(dir, "mpicc.openmpi", &args).expect("links");
            let what = format!("{clang} {level:?}");
            let s = structure(dir, "cases");
            let (good, unknown) = judged(&s, &sources, &what);
            let least = if level == ["-O2"] { 10 } else { 4 };
            assert!(
                good >= least && good + unknown >= 16,
                "{what}: {good}, {unknown}"
            );
            use Origin::{Rank, Size};
            let sent = parameters(&s, "MPI_Send");
            assert_eq!(sent, [(2, vec![Size]), (4, vec![Rank, Size])], "{what}");
        }
    }
}

/// The linker optimises all units together, from what the plugin has seen of each.
#[test]
fn a_program_that_the_linker_optimises_is_told_too() {
    for (version, plugin) in plugins() {
        let clang = format!("clang-{version}");
        if !Path::new(&format!("/usr/lib/llvm-{version}/lib/LLVMgold.so")).exists() {
            eprintln!("the linker has no plugin of LLVM {version}: not tested");
            continue;
        }
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dir = dir.path();
        let sources = ["doubted.c", "doubted_other.c"];
        for source in sources {
            if object(dir, &clang, Some(plugin), &["-O2", "-flto"], source).is_none() {
                return;
            }
        }
        let library = "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi.so";
        let args = ["-flto", "doubted.o", "doubted_other.o", library, "-lm"];
        let args = [&args[..], &["-o", "cases"]].concat();
        run(dir, &clang, &args).expect("links");
        let (good, unknown) = judged(&structure(dir, "cases"), &sources, &clang);
        assert!(good >= 9 && good + unknown >= 18, "{good}, {unknown}");
    }
}

/// What a call certainly wrote before the loop decides, whatever decides whether the loop's function runs. Loops that almost
/// fit this rule may be unknown, and must not be told wrongly.
#[test]
fn globals_that_a_call_before_the_loop_wrote_are_told() {
    for (version, plugin) in plugins() {
        let clang = format!("clang-{version}");
        for level in ["-O2", "-O0"] {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let dir = dir.path();
            let sources = ["globals.c", "globals_other.c"];
            if program(dir, &clang, plugin, level, sources).is_none() {
                return;
            }
            let what = format!("{clang} {level}");
            let (good, unknown) = judged(&structure(dir, "cases"), &sources, &what);
            assert!(
                good >= 7 && good + unknown >= 16,
                "{what}: {good}, {unknown}"
            );
        }
    }
}

/// The lines of the calls of `MPI_Send`, and whether their file is known.
fn sends(dir: &Path) -> Vec<(bool, u32, u32)> {
    let s = structure(dir, "cases");
    let is_send = |v: &&Vertex| v.name.is_some_and(|n| s.string(n) == "MPI_Send");
    let all = s.functions.iter().flat_map(|f| &f.vertices).filter(is_send);
    let mut lines: Vec<_> = all
        .map(|v| (v.file.is_some(), v.first_line, v.last_line))
        .collect();
    lines.sort_unstable();
    lines
}

/// Two equal calls become one, to which debug information gives no line.
#[test]
fn a_merged_call_has_the_lines_of_those_that_it_was_made_of() {
    for (version, plugin) in plugins() {
        let clang = format!("clang-{version}");
        let dir = tempfile::tempdir().expect("a temporary directory");
        let dir = dir.path();
        let link = |object: &str| run(dir, "mpicc.openmpi", &[object, "-o", "cases"]);
        if object(dir, &clang, Some(plugin), &["-O2"], "folded.c").is_none() {
            return;
        }
        link("folded.o").expect("links");
        assert_eq!(sends(dir), [(true, 11, 15)], "{clang}");
        let both = compare(&dir.join("cases"), &Options::default());
        let both = both.expect("an ELF file").expect("a section").mpi;
        assert_eq!(
            (both.both, both.merged, both.unclear),
            (4, 2, 2),
            "{both:?}"
        );
        // Without the compiler's structure, nobody knows them.
        object(dir, &clang, None, &["-O2"], "folded.c").expect("compiles");
        link("folded.o").expect("links");
        assert_eq!(sends(dir), [(false, 0, 0)], "{clang}");
        // Line 6 is there twice: one copy is merged with line 22, the other one has its line.
        object(dir, &clang, Some(plugin), &["-O2"], "folded_twice.c").expect("compiles");
        link("folded_twice.o").expect("links");
        assert_eq!(sends(dir), [(false, 0, 0), (true, 6, 6)], "{clang}");
    }
}

#[test]
fn planted_dependences_in_fortran_are_told_and_never_wrong() {
    let Some((version, plugin)) = plugins().first() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dir = dir.path();
    let flang = format!("flang-new-{version}");
    for source in ["cases.f90", "work.f90"] {
        if object(dir, &flang, Some(plugin), &["-O2"], source).is_none() {
            return;
        }
    }
    let library = [
        "/usr/lib/x86_64-linux-gnu/openmpi/lib/libmpi_mpifh.so",
        "-o",
        "cases",
    ];
    run(
        dir,
        &flang,
        &[&["cases.o", "work.o"], &library[..]].concat(),
    )
    .expect("links");
    let (good, unknown) = judged(&structure(dir, "cases"), &["cases.f90"], &flang);
    assert!(good >= 11 && unknown * 10 <= good, "{good}, {unknown}");
    object(dir, &flang, Some(plugin), &["-O2"], "hard.f90").expect("compiles");
    let hard = [&["hard.o", "work.o"], &library[..]].concat();
    run(dir, &flang, &hard).expect("links");
    let (good, unknown) = judged(&structure(dir, "cases"), &["hard.f90"], &flang);
    assert!(good + unknown >= 2, "{good}, {unknown}");
    object(dir, &flang, Some(plugin), &["-O2"], "doubted.f90").expect("compiles");
    let doubted = [&["doubted.o", "work.o"], &library[..]].concat();
    run(dir, &flang, &doubted).expect("links");
    let (good, unknown) = judged(&structure(dir, "cases"), &["doubted.f90"], &flang);
    assert!(good >= 1 && good + unknown >= 3, "{good}, {unknown}");
}

#[test]
fn what_was_compiled_otherwise_makes_it_unknown_and_is_said() {
    let Some((version, plugin)) = plugins().first() else {
        return;
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dir = dir.path();
    let clang = format!("clang-{version}");
    if object(dir, &clang, Some(plugin), &["-O2"], "main.c").is_none() {
        return;
    }
    object(dir, "gcc", None, &["-O2"], "other.c").expect("compiles");
    run(dir, "mpicc.openmpi", &["main.o", "other.o", "-o", "mixed"]).expect("links");
    let s = structure(dir, "mixed");
    let told = |s: &ModuleStructure, text: &str| {
        let found = s.problems.iter().filter(|p| p.contains(text));
        assert_eq!(found.count(), 1, "{text}: {:?}", s.problems);
    };
    told(&s, "functions were compiled without headwater's plugin");
    let (good, unknown) = judged(&s, &["main.c"], "mixed");
    assert!(good > 10 && unknown > 0, "{good}, {unknown}");

    // A name as a runtime's does not make a function one.
    let named = "int n; void Convert_grid(int m) { n = m; }\nvoid __m_set(int m) { n = m; }\n";
    std::fs::write(dir.join("named.c"), named).expect("writes");
    run(dir, "gcc", &["-g", "-c", "named.c"]).expect("compiles");
    object(dir, &clang, Some(plugin), &["-O2"], "other.c").expect("compiles");
    let count = |objects: &[&str]| {
        run(dir, "mpicc.openmpi", &[objects, &["-o", "named"]].concat()).expect("links");
        let problems = structure(dir, "named").problems;
        problems.iter().find_map(|p| {
            let (count, _) = p.split_once(" functions were compiled without")?;
            count.parse::<usize>().ok()
        })
    };
    assert_eq!(count(&["main.o", "other.o"]), None);
    assert_eq!(count(&["main.o", "other.o", "named.o"]), Some(2));

    // The machine code's structure is the same with any section.
    run(
        dir,
        "objcopy",
        &["--dump-section", ".headwater.psg=psg", "main.o"],
    )
    .expect("dumps");
    let section = std::fs::read(dir.join("psg")).expect("reads");
    let with = |bytes: &[u8]| {
        std::fs::write(dir.join("other.psg"), bytes).expect("writes");
        let change = [
            "--update-section",
            ".headwater.psg=other.psg",
            "mixed",
            "changed",
        ];
        run(dir, "objcopy", &change).expect("changes");
        let changed = structure(dir, "changed");
        assert_eq!(changed.functions, s.functions);
        changed
    };
    let cut = with(&section[..section.len() / 2]);
    told(&cut, "is cut short; that of the machine code is used");
    assert_eq!(cut.dependences.vertices, []);
    let mut old = section.clone();
    old[4] = 0;
    told(&with(&old), "written by a plugin of format 0");
    // What is not compared is said, not counted as different.
    let compared = headwater_structure::compare(&dir.join("changed"), &Options::default());
    let compared = compared.expect("reads").expect("a section");
    let said = compared.problems.join(" ");
    assert!(said.contains("a plugin of format 0"), "{said}");
    let mut damaged = section.clone();
    damaged[60] ^= 1;
    told(&with(&damaged), "a checksum does not fit");
    told(&with(b"what"), "is cut short");

    // Bodies of any bytes, with a checksum that fits.
    let body = &section[16..];
    let mut state = 7u64;
    let mut below = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % n
    };
    for _ in 0..100 {
        let mut bytes = body.to_vec();
        for _ in 0..1 + below(5) {
            let at = below(bytes.len());
            bytes[at] = below(256) as u8;
        }
        read_section(&framed(&bytes));
    }
    assert!(read_section(&framed(body)) > 50);
}
