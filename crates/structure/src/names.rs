//! What names of functions show.

use headwater_model::psg::VertexKind;

/// Whether a callee is an MPI function: C, PMPI, or Fortran in any of the three bindings.
pub fn is_mpi_name(name: &str) -> bool {
    let base = name.split('@').next().unwrap_or(name);
    let c = base
        .strip_prefix("PMPI_")
        .or_else(|| base.strip_prefix("MPI_"));
    let fortran = base
        .strip_prefix("mpi_")
        .or_else(|| base.strip_prefix("pmpi_"));
    let upper = |s: &str| s.starts_with(|c: char| c.is_ascii_uppercase());
    let word = |s: &str| {
        !s.is_empty()
            && s.chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    c.is_some_and(upper) || fortran.is_some_and(word)
}

/// Functions that do not come back; a `*` means the rest of a name.
const NO_RETURN: [&str; 44] = [
    "abort",
    "exit",
    "_exit",
    "_Exit",
    "quick_exit",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "pthread_exit",
    "err",
    "errx",
    "verr",
    "verrx",
    "__assert*",
    "__libc_fatal",
    "__libc_start_main",
    "__stack_chk_fail",
    "__fortify_fail",
    "__chk_fail",
    "__cxa_throw",
    "__cxa_rethrow",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_throw_bad_array_new_length",
    "__cxa_pure_virtual",
    "__cxa_call_unexpected",
    "__cxa_call_terminate",
    "__clang_call_terminate",
    "_Unwind_Resume",
    "_ZSt9terminatev",
    "_ZSt10unexpectedv",
    "_gfortran_stop*",
    "_gfortran_error_stop*",
    "_gfortran_runtime_error",
    "_gfortran_runtime_error_at",
    "_ZN4core9panicking*",
    "_gfortran_os_error*",
    "_gfortran_exit_*",
    "MPI_Abort",
    "PMPI_Abort",
    "mpi_abort_",
    "mpi_abort_f08_",
    "pmpi_abort_",
];

/// Whether a call of this name does not come back.
pub fn never_returns(name: &str) -> bool {
    let base = name.split('@').next().unwrap_or(name);
    NO_RETURN.iter().any(|known| match known.strip_suffix('*') {
        Some(beginning) => base.starts_with(beginning),
        None => base == *known,
    }) || base.starts_with("_ZSt") && base.contains("__throw_")
}

/// What a call of this name is, where the name shows it.
pub fn call_kind(name: &str) -> Option<VertexKind> {
    match name {
        _ if is_mpi_name(name) => Some(VertexKind::MpiCall),
        _ if is_thread_name(name) => Some(VertexKind::ThreadCall),
        _ if is_lock_name(name) => Some(VertexKind::LockCall),
        _ => None,
    }
}

/// Whether a call makes, ends or waits for a thread.
fn is_thread_name(name: &str) -> bool {
    matches!(
        name,
        "pthread_create" | "pthread_join" | "pthread_detach" | "thrd_create" | "thrd_join"
    ) || name.starts_with("GOMP_parallel")
        || name.starts_with("__kmpc_fork_")
}

/// Whether a call takes, releases or waits on a lock.
fn is_lock_name(name: &str) -> bool {
    [
        "pthread_mutex_",
        "pthread_rwlock_",
        "pthread_spin_",
        "pthread_cond_",
        "pthread_barrier_",
        "sem_wait",
        "sem_post",
        "GOMP_critical",
        "omp_set_lock",
        "omp_unset_lock",
        "omp_set_nest_lock",
        "omp_unset_nest_lock",
        "GOMP_barrier",
        "__kmpc_critical",
        "__kmpc_end_critical",
        "__kmpc_barrier",
    ]
    .iter()
    .any(|p| name.starts_with(p))
}

/// Suffixes of what a compiler makes of one function: copies for known arguments, parts, copies by file,
/// bodies of OpenMP regions.
const COPIES: [&str; 8] = [
    ".constprop.",
    ".isra.",
    ".part.",
    ".cold",
    ".lto_priv.",
    ".llvm.",
    "._omp_fn.",
    ".omp_outlined",
];

/// A symbol without what the compiler has put behind the name: the source knows nothing of it. A bare
/// number is that of a procedure inside another one.
fn source_name(symbol: &str) -> &str {
    let name = COPIES.iter().filter_map(|s| symbol.find(s)).min();
    let name = &symbol[..name.filter(|at| *at > 0).unwrap_or(symbol.len())];
    match name.rsplit_once('.') {
        Some((own, number)) if !own.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => own,
        _ => name,
    }
}

/// The name for people.
pub fn demangle(symbol: &str) -> String {
    let name = source_name(symbol);
    // What gfortran makes of a procedure of a module.
    if let Some((module, procedure)) = name.strip_prefix("__").and_then(|n| n.split_once("_MOD_")) {
        return format!("{module}::{procedure}");
    }
    if name.starts_with("_R") || name.starts_with("_ZN") && name.contains("17h") {
        let text = format!("{:#}", rustc_demangle::demangle(name));
        if text != name {
            return text;
        }
    }
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
    {
        let options = cpp_demangle::DemangleOptions::new()
            .no_params()
            .no_return_type();
        if let Ok(text) = symbol.demangle_with_options(&options) {
            return text;
        }
    }
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mpi_is_recognised_in_every_binding() {
        for name in [
            "MPI_Send",
            "PMPI_Allreduce",
            "mpi_send_",
            "mpi_irecv_f08_",
            "mpi_bcast_f08ts_",
            "mpi_init__",
            "MPI_Send@GLIBC",
        ] {
            assert!(is_mpi_name(name), "{name}");
        }
        for name in [
            "MPIR_Err",
            "ompi_mpi_init",
            "send",
            "mpi_",
            "MPI_",
            "compi_send",
        ] {
            assert!(!is_mpi_name(name), "{name}");
        }
    }

    #[test]
    fn names_are_made_readable() {
        assert_eq!(demangle("_ZN3foo3barEi"), "foo::bar");
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle("__slabs_MOD_transform"), "slabs::transform");
        let copies = [
            "correct.constprop.0",
            "correct.isra.0.constprop.3",
            "correct.1",
            "correct.cold",
            "correct._omp_fn.0",
            "correct.omp_outlined_debug__",
        ];
        assert!(copies.iter().all(|name| demangle(name) == "correct"));
        assert_eq!(demangle("_ZN3foo3barEi.part.0"), "foo::bar");
        assert_eq!([demangle(".L5"), demangle(".5")], [".L5", ".5"]);
    }
}
