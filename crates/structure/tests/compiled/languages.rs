//! Languages other than C.

use crate::build::{around, function, library, lines};
use headwater_model::psg::{ModuleStructure, VertexKind};
use headwater_structure::{Options, analyse};

#[test]
fn fortran_loops_and_calls_have_their_lines() {
    let source = "subroutine relax(x, n, comm)
  implicit none
  integer, intent(in) :: n, comm
  real(8), intent(inout) :: x(n, n)
  integer :: i, j, k, ierr
  external :: mpi_allreduce
  real(8) :: s, t
  do k = 1, 100
    do j = 2, n
      do i = 2, n
        x(i, j) = 0.5d0 * x(i - 1, j) / x(i, j - 1)
      end do
    end do
    s = x(n, n)
    call mpi_allreduce(s, t, 1, 17, 1, comm, ierr)
    if (ierr /= 0) stop 1
  end do
end subroutine
";
    let dir = tempfile::tempdir().expect("a temporary directory");
    for flag in ["-O0", "-O1", "-O2"] {
        let flags = ["-g", flag];
        let Some(file) = library(dir.path(), "gfortran", &flags, "f90", source) else {
            return;
        };
        let s = analyse(&file, &Options::default()).expect("an ELF file");
        let loops = lines(&s, "relax_", VertexKind::Loop);
        assert_eq!(loops.len(), 3, "{flag}: {loops:?}");
        for first in [8, 9, 10] {
            assert!(loops.iter().any(|l| l.0 == first), "{flag}: {loops:?}");
        }
        let calls = around(&s, "relax_");
        let reduce = calls.iter().find(|c| c.contains("mpi mpi_allreduce_ 15"));
        let reduce = reduce.unwrap_or_else(|| panic!("{flag}: {calls:?}"));
        assert!(reduce.starts_with("loop 8-"), "{flag}: {reduce}");
        // A stop is no way out of the loop.
        let stop = calls.iter().find(|c| c.contains("_gfortran_stop"));
        assert!(
            stop.is_some_and(|c| !c.contains("loop")),
            "{flag}: {calls:?}"
        );
    }
}

#[test]
fn inlined_templates_are_vertices_with_their_own_lines() {
    let source = "extern \"C\" int MPI_Barrier(void *);
template <class T> struct grid {
    T *at;
    long size;
    template <class F> void each(F f) {
        for (long i = 0; i < size; i++)
            f(at[i]);
    }
};
namespace solver {
template <class T> T norm(grid<T> &g) {
    T sum = 0;
    g.each([&](T &x) { sum = sum * 0.5 + x / (1 + x * x); });
    return sum;
}
template <class T> __attribute__((noinline)) T solve(grid<T> &g, int n) {
    T sum = 0;
    for (int k = 0; k < n; k++) {
        sum += norm(g);
        MPI_Barrier(&g);
    }
    return sum;
}
}
double run(double *x, long n) {
    grid<double> g{x, n};
    return solver::solve(g, 3);
}
";
    let dir = tempfile::tempdir().expect("a temporary directory");
    for compiler in ["g++", "aarch64-linux-gnu-g++"] {
        let Some(file) = library(dir.path(), compiler, &["-g", "-O2"], "cpp", source) else {
            continue;
        };
        let s = analyse(&file, &Options::default()).expect("an ELF file");
        let names = s.functions.iter().map(|f| s.string(f.name));
        let solve = names.into_iter().find(|n| n.contains("solver::solve"));
        let solve = solve.expect("a readable name").to_string();
        let calls = around(&s, &solve);
        assert!(
            calls.iter().all(|c| c.starts_with("loop 18-")),
            "{compiler}: {calls:?}"
        );
        // The loop of `each` is inside `each` inside `norm`.
        let f = function(&s, &solve);
        let each = f
            .vertices
            .iter()
            .find(|v| v.kind.is_loop() && v.first_line == 6);
        let up = |v: &u32| f.vertices[*v as usize].parent;
        let way = std::iter::successors(each.expect("a loop").parent, up);
        let inlined = way.filter_map(|v| f.vertices[v as usize].name);
        let inlined: Vec<&str> = inlined.map(|n| s.string(n)).collect();
        let starts = |at: usize, name: &str| inlined.get(at).is_some_and(|n| n.starts_with(name));
        assert!(
            starts(0, "each") && starts(1, "norm"),
            "{compiler}: {inlined:?}"
        );
    }
}

/// Arithmetic of the loops of a function: all, and packed.
fn arithmetic(s: &ModuleStructure, name: &str) -> (u32, u32) {
    let found = s.functions.iter().position(|f| s.string(f.name) == name);
    let number = found.expect("a function");
    let vertices = &s.functions[number].vertices;
    let own = s.arithmetic(number as u32).iter();
    let in_loops = own.filter(|a| {
        let around = |v: &u32| vertices.get(*v as usize).and_then(|v| v.parent);
        let mut all = std::iter::successors(Some(a.vertex), around);
        all.any(|v| vertices[v as usize].kind.is_loop())
    });
    in_loops.fold((0, 0), |sum, a| (sum.0 + a.all, sum.1 + a.packed))
}

#[test]
fn vector_arithmetic_of_loops_is_counted() {
    // The second loop depends on its own last iteration, so no compiler makes vectors of it; the third only counts.
    let source = "void axpy(double *restrict y, const double *restrict x, double a) {
        for (int i = 0; i < 4096; i++)
            y[i] = y[i] + a * x[i];
    }
    double chain(double x) {
        for (int i = 0; i < 4096; i++)
            x = x * x + 0.5;
        return x;
    }
    int first(const char *text) {
        int i = 0;
        while (text[i] != 0 && i < 4096)
            i++;
        return i;
    }";
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut seen = 0;
    let ways = [
        ("gcc", "-mavx2"),
        ("gcc", "-msse2"),
        ("aarch64-linux-gnu-gcc", "-O3"),
    ];
    for (compiler, flag) in ways {
        let flags = ["-O3", "-fno-trapping-math", "-g", flag];
        let Some(file) = library(dir.path(), compiler, &flags, "c", source) else {
            continue;
        };
        let s = analyse(&file, &Options::default()).expect("an ELF file");
        let (all, packed) = arithmetic(&s, "axpy");
        assert!(
            packed > 0 && packed == all,
            "{compiler} {flag}: {packed} of {all}"
        );
        let (all, packed) = arithmetic(&s, "chain");
        assert!(
            all > 0 && packed == 0,
            "{compiler} {flag}: {packed} of {all}"
        );
        assert_eq!(arithmetic(&s, "first"), (0, 0), "{compiler} {flag}");
        seen += 1;
    }
    assert!(seen > 0 || !cfg!(target_arch = "x86_64"), "gcc is there");
}
