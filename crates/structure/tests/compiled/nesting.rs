//! Loops, calls and inlined functions have their lines, however they were compiled.

use crate::build::{COMPILERS, around, barrier, libraries, lines, module};
use headwater_model::psg::VertexKind;
use headwater_structure::{Options, analyse};

pub const SOURCE: &str = "int MPI_Barrier(void *);
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
int main(int n, char **v) {
    double x[64] = {n};
    return work(x, n, n) > 0;
}
";

#[test]
fn every_way_of_compiling_gives_the_same_lines() {
    let shared = ["-shared", "-fPIC"];
    let ways: [&[&str]; 8] = [
        &["-g", "-O0"],
        &["-g", "-O2"],
        &["-g", "-O3"],
        &["-gdwarf-4", "-O2"],
        &["-gdwarf-5", "-gz", "-O2"],
        &["-gdwarf-4", "-gz=zlib-gnu", "-O2"],
        &["-g", "-O2", "-pie"],
        &["-g", "-O2", "-no-pie", "-fno-pie"],
    ];
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (compiler, way) in COMPILERS
        .iter()
        .flat_map(|c| ways.iter().map(move |w| (c, w)))
    {
        let Some(other) = barrier(dir.path(), compiler) else {
            continue;
        };
        let executable = way.iter().any(|f| f.ends_with("pie"));
        let flags = [way, &if executable { [other, "-g"] } else { shared }[..]].concat();
        let Some(file) = module(dir.path(), compiler, &flags, "c", SOURCE) else {
            continue;
        };
        let s = analyse(&file, &Options::default()).expect("an ELF file");
        let case = format!("{compiler} {way:?}");
        let nest = lines(&s, "nest", VertexKind::Loop);
        assert!(
            nest.contains(&(13, 15)) && nest.contains(&(14, 15)),
            "{case}: {nest:?}"
        );
        assert!(
            !lines(&s, "depth", VertexKind::RecursiveCall).is_empty(),
            "{case}"
        );
        let calls = around(&s, "work");
        let barrier = calls.iter().find(|c| c.ends_with("mpi MPI_Barrier 23"));
        let barrier = barrier.unwrap_or_else(|| panic!("{case}: {calls:?}"));
        assert!(barrier.contains("branch 22"), "{case}: {barrier}");
        assert!(barrier.starts_with("loop 20-"), "{case}: {barrier}");
        if !way.contains(&"-O0") {
            let inlined = lines(&s, "work", VertexKind::Inlined);
            assert!(
                inlined.iter().any(|l| l.0 >= 2 && l.1 <= 6),
                "{case}: {inlined:?}"
            );
            let loops = lines(&s, "work", VertexKind::Loop);
            assert!(loops.contains(&(4, 5)), "{case}: {loops:?}");
        }
        assert_eq!(s.problems, Vec::<String>::new(), "{case}");
        let c = s.counts;
        let inlined = |v: &&headwater_model::psg::Vertex| v.kind == VertexKind::Inlined;
        let all = s.functions.iter().flat_map(|f| &f.vertices).filter(inlined);
        assert!(c.before >= all.count() + c.loops + c.mpi, "{case}: {c:?}");
    }
}

#[test]
fn a_loop_around_a_big_inlined_function_is_not_in_it() {
    let source = "int MPI_Barrier(void *), MPI_Send(void *);
static inline void tell(double *x, int n) {
    for (int i = 1; i < n; i++) {
        x[i] = x[i - 1] / x[i] + x[0] / (1 + x[i]);
        MPI_Send(x + i);
    }
}
void f(double *x, int n) {
    for (int k = 0; k < n; k++) {
        tell(x, k);
        MPI_Barrier(x);
    }
}
";
    for (how, s) in libraries(source, &["-g -O2"]) {
        let calls = around(&s, "f");
        let starts = |call: &String| call.starts_with("loop 9-1");
        assert!(calls.iter().all(starts), "{how}: {calls:?}");
        let inside = calls.iter().find(|c| c.contains("MPI_Send"));
        let inside = inside.expect("the inlined call");
        assert!(inside.contains("inlined tell"), "{how}: {inside}");
    }
}

#[test]
fn a_branch_stands_where_it_and_its_calls_were_inlined_from() {
    let source = "int MPI_Barrier(void *), MPI_Send(void *);
static inline void stamp(int *x) {
    if (x[1] > 3)
        MPI_Send(x);
}
static inline int chief(int *x) {
    return x[7] * x[8] == 3;
}
void f(int *x, int n) {
    for (int k = 0; k < n; k++)
        stamp(x + k);
    if (chief(x))
        MPI_Barrier(x);
}
";
    for (how, s) in libraries(source, &["-g -O2"]) {
        let calls = around(&s, "f");
        let [send, barrier] = &calls[..] else {
            panic!("{how}: {calls:?}");
        };
        let stamp = send.find("inlined stamp").zip(send.find("branch 3"));
        assert!(stamp.is_some_and(|(a, b)| a < b), "{how}: {send}");
        assert!(!barrier.contains("inlined"), "{how}: {barrier}");
        assert!(barrier.contains("branch"), "{how}: {barrier}");
    }
}

#[test]
fn code_moved_into_a_loop_does_not_move_its_first_line() {
    let source = "void g(double *x, int n);
void f(double *x, int n, double dose, int rank) {
    const int often = rank >= n - n / 4 - (n < 4);
    for (int i = 0; i < n; i++)
        x[i] = i % 256;
    for (int k = 0; k < 240; k++) {
        for (int j = 0; j < 10; j++) {
            for (int i = 1; i < n; i++)
                x[i] = 0.5 * x[i] + 0.4 * x[i - 1];
            if (often && j < (int)(10 * dose))
                g(x, n);
        }
        g(x + 1, n);
    }
}
";
    for (how, s) in libraries(source, &["-g -O2", "-g -O3"]) {
        let loops = lines(&s, "f", VertexKind::Loop);
        // On AArch64 the rounding of line 4 is made ready once and kept through the loop of line 6.
        assert!(loops.contains(&(4, 5)), "{how}: {loops:?}");
        assert!(loops.iter().any(|l| l.0 == 6), "{how}: {loops:?}");
    }
}
