//! Structures of small programs, compiled here by several compilers in several ways.

use headwater_model::psg::{ModuleStructure, VertexKind};
use headwater_structure::{Options, analyse};
use std::path::{Path, PathBuf};
use std::process::Command;

const C: &str = "int MPI_Barrier(void *);
static inline double inner(double *x, int n) {
    double s = 0;
    for (int i = 0; i < n; i++)
        s = 0.5 * s + x[i];
    return s;
}
__attribute__((noinline)) int depth(int n) {
    return n < 2 ? n : depth(n - 1) + depth(n - 2);
}
__attribute__((noinline)) double nest(double *x, int n) {
    double s = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            s = 0.5 * s + x[i] * x[k];
    return s;
}
double work(double *x, int n, int rank) {
    double s = 0;
    for (int k = 0; k < n; k++) {
        s += inner(x, n);
        if (rank == 3)
            MPI_Barrier(x);
    }
    return s + depth(n) + nest(x, n);
}
";

/// Compiles `C` with a compiler and flags to a shared object; `None` where the compiler is not there.
fn compile(dir: &Path, compiler: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = dir.join("work.c");
    std::fs::write(&source, C).ok()?;
    let out = dir.join("libwork.so");
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-o"])
        .arg(&out)
        .args(flags)
        .arg(&source)
        .status();
    match status {
        Ok(s) => s.success().then_some(out),
        Err(_) => {
            eprintln!("{compiler} is not installed: not tested");
            None
        }
    }
}

/// First and last lines of the vertices of one kind in a function.
fn lines(s: &ModuleStructure, function: &str, kind: VertexKind) -> Vec<(u32, u32)> {
    let f = s
        .functions
        .iter()
        .find(|f| s.string(f.name) == function)
        .expect("the function is found");
    f.vertices
        .iter()
        .filter(|v| v.kind == kind)
        .map(|v| (v.first_line, v.last_line))
        .collect()
}

#[test]
fn loops_calls_and_inlined_functions_have_their_lines() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let ways: [(&str, &[&str]); 6] = [
        ("gcc", &["-g", "-O0"]),
        ("gcc", &["-g", "-O2"]),
        ("gcc", &["-g", "-O3"]),
        ("gcc", &["-gdwarf-4", "-O2"]),
        ("gcc", &["-gdwarf-5", "-gz", "-O2"]),
        ("aarch64-linux-gnu-gcc", &["-g", "-O2"]),
    ];
    for (compiler, flags) in ways {
        let Some(file) = compile(dir.path(), compiler, flags) else {
            continue;
        };
        let s = analyse(&file, &Options::default()).expect("an ELF file");
        let nest = lines(&s, "nest", VertexKind::Loop);
        let near = |want: (u32, u32)| nest.iter().any(|l| l.0 == want.0 && l.1 == want.1);
        assert!(
            near((13, 15)) && near((14, 15)),
            "{compiler} {flags:?}: {nest:?}"
        );
        assert_eq!(
            lines(&s, "work", VertexKind::MpiCall),
            vec![(23, 23)],
            "{compiler} {flags:?}"
        );
        assert!(
            lines(&s, "work", VertexKind::Branch)
                .iter()
                .any(|l| l.0 == 22),
            "{compiler} {flags:?}"
        );
        assert!(
            !lines(&s, "depth", VertexKind::RecursiveCall).is_empty(),
            "{compiler} {flags:?}"
        );
        if flags.contains(&"-O2") {
            let f = s
                .functions
                .iter()
                .find(|f| s.string(f.name) == "work")
                .expect("work");
            let mut around = vec![false; f.vertices.len()];
            for (i, v) in f.vertices.iter().enumerate() {
                around[i] =
                    v.kind == VertexKind::Inlined || v.parent.is_some_and(|p| around[p as usize]);
            }
            let inside = f
                .vertices
                .iter()
                .zip(around)
                .filter(|(v, a)| *a && v.kind == VertexKind::Loop);
            let found: Vec<(u32, u32)> = inside.map(|(v, _)| (v.first_line, v.last_line)).collect();
            assert!(found.contains(&(4, 5)), "{compiler} {flags:?}: {found:?}");
        }
    }
}

#[test]
fn a_stripped_library_still_has_functions_and_loops() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(file) = compile(dir.path(), "gcc", &["-O2", "-s"]) else {
        return;
    };
    let s = analyse(&file, &Options::default()).expect("an ELF file");
    assert!(
        s.functions.iter().any(|f| s.string(f.name) == "nest"),
        "exported names stay"
    );
    assert!(s.counts.loops >= 3 && s.counts.mpi == 1, "{:?}", s.counts);
    assert!(
        s.problems
            .iter()
            .any(|p| p.contains("no debug information"))
    );
}

#[test]
fn split_debug_information_is_found() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(file) = compile(dir.path(), "gcc", &["-g", "-O2"]) else {
        return;
    };
    let run = |program: &str, args: &[&str]| {
        Command::new(program)
            .args(args)
            .current_dir(dir.path())
            .status()
            .is_ok_and(|s| s.success())
    };
    let split = run(
        "objcopy",
        &["--only-keep-debug", "libwork.so", "libwork.debug"],
    ) && run("strip", &["--strip-debug", "libwork.so"])
        && run(
            "objcopy",
            &["--add-gnu-debuglink=libwork.debug", "libwork.so"],
        );
    assert!(split, "binutils are there with gcc");
    let s = analyse(&file, &Options::default()).expect("an ELF file");
    assert_eq!(lines(&s, "work", VertexKind::MpiCall), vec![(23, 23)]);
}

#[test]
fn bytes_of_any_kind_are_no_panic() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(file) = compile(dir.path(), "gcc", &["-g", "-O2"]) else {
        return;
    };
    let whole = std::fs::read(&file).expect("reads");
    let broken = dir.path().join("broken.so");
    let mut state = 1u64;
    for round in 0..150 {
        let mut bytes = whole.clone();
        if round % 3 == 0 {
            bytes.truncate(whole.len() * round / 150);
        }
        for _ in 0..20 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = (state >> 20) as u8;
            }
        }
        std::fs::write(&broken, &bytes).expect("writes");
        let _ = analyse(&broken, &Options::default());
    }
}

const SWITCH: &str = "int f(int x, int y) {
    for (int i = 0; i < y; i++)
        switch (x + i) {
        case 0: y = 3 - y; break;
        case 1: return y - 7;
        case 2: x ^= 12; break;
        case 3: return y / 3;
        case 4: x <<= 3; break;
        case 5: return y % 5;
        case 6: x = y * y; break;
        case 7: y += 99; break;
        case 8: return 2 * y + 1;
        }
    return y;
}
";

#[test]
fn jump_tables_are_followed() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (source, out) = (dir.path().join("f.c"), dir.path().join("libf.so"));
    std::fs::write(&source, SWITCH).expect("writes");
    for compiler in ["gcc", "aarch64-linux-gnu-gcc"] {
        let status = Command::new(compiler)
            .args(["-g", "-O2", "-shared", "-fPIC", "-nostartfiles", "-o"])
            .args([&out, &source])
            .status();
        if status.is_err() {
            eprintln!("{compiler} is not installed: not tested");
            continue;
        }
        let s = analyse(&out, &Options::default()).expect("an ELF file");
        assert_eq!(lines(&s, "f", VertexKind::Loop).len(), 1, "{compiler}");
        // Without start files: their code jumps to functions through registers.
        let jumps = s.problems.iter().find(|p| p.contains("indirect jumps"));
        assert!(jumps.is_none(), "{compiler}: {jumps:?}");
    }
}

#[test]
fn debug_information_shared_by_dwz_is_found() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let Some(file) = compile(dir.path(), "gcc", &["-g", "-O2"]) else {
        return;
    };
    let twin = dir.path().join("twin.so");
    std::fs::copy(&file, &twin).expect("copies");
    let dwz = Command::new("dwz")
        .args(["-m", "shared.debug", "-M"])
        .arg(dir.path().join("shared.debug"))
        .args(["libwork.so", "twin.so"])
        .current_dir(dir.path())
        .status();
    if dwz.is_err() {
        eprintln!("dwz is not installed: not tested");
        return;
    }
    let s = analyse(&file, &Options::default()).expect("an ELF file");
    assert_eq!(lines(&s, "work", VertexKind::MpiCall), vec![(23, 23)]);
    assert!(s.strings.iter().any(|n| n == "inner"), "the inlined name");
}
