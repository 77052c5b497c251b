//! Functions of GNU's OpenMP runtime that are wrapped: name, number of arguments, and what they do
//! (`openmp::Does`).
//!
//! Not here: functions that nobody waits in, as `GOMP_loop_end_nowait`; those that hand out parts of a loop, as
//! `GOMP_loop_dynamic_next`; and `GOMP_teams_reg`, which runs its teams one after the other on the calling thread.

pub const OPENMP: [(&str, usize, &str); 53] = [
    ("GOMP_parallel", 4, "Region"),
    ("GOMP_parallel_reductions", 4, "Reducing"),
    ("GOMP_parallel_sections", 5, "Region"),
    ("GOMP_parallel_loop_static", 8, "Region"),
    ("GOMP_parallel_loop_dynamic", 8, "Region"),
    ("GOMP_parallel_loop_guided", 8, "Region"),
    ("GOMP_parallel_loop_runtime", 7, "Region"),
    ("GOMP_parallel_loop_nonmonotonic_dynamic", 8, "Region"),
    ("GOMP_parallel_loop_nonmonotonic_guided", 8, "Region"),
    ("GOMP_parallel_loop_nonmonotonic_runtime", 7, "Region"),
    ("GOMP_parallel_loop_maybe_nonmonotonic_runtime", 7, "Region"),
    // Before GCC 4.9 the calling thread does its own part, and ends the region by itself.
    ("GOMP_parallel_start", 3, "Start"),
    ("GOMP_parallel_sections_start", 4, "Start"),
    ("GOMP_parallel_loop_static_start", 7, "Start"),
    ("GOMP_parallel_loop_dynamic_start", 7, "Start"),
    ("GOMP_parallel_loop_guided_start", 7, "Start"),
    ("GOMP_parallel_loop_runtime_start", 6, "Start"),
    ("GOMP_parallel_end", 0, "End"),
    ("GOMP_barrier", 0, "Barrier"),
    ("GOMP_barrier_cancel", 0, "Barrier"),
    ("GOMP_loop_end", 0, "Barrier"),
    ("GOMP_loop_end_cancel", 0, "Barrier"),
    ("GOMP_sections_end", 0, "Barrier"),
    ("GOMP_sections_end_cancel", 0, "Barrier"),
    ("GOMP_task", 10, "Task"),
    ("GOMP_taskloop", 11, "TaskLoop"),
    ("GOMP_taskloop_ull", 11, "TaskLoop"),
    ("GOMP_taskwait", 0, "Waits(Tasks)"),
    ("GOMP_taskwait_depend", 1, "Waits(Tasks)"),
    ("GOMP_taskgroup_end", 0, "Waits(Tasks)"),
    ("GOMP_ordered_start", 0, "Waits(Ordered)"),
    ("GOMP_doacross_wait", 16, "Waits(Ordered)"),
    ("GOMP_doacross_ull_wait", 16, "Waits(Ordered)"),
    ("GOMP_single_copy_start", 0, "Waits(Condition)"),
    ("GOMP_single_copy_end", 1, "Waits(Condition)"),
    ("GOMP_critical_start", 0, "Take(Unnamed)"),
    ("GOMP_critical_end", 0, "Give(Unnamed)"),
    ("GOMP_critical_name_start", 1, "Take(First)"),
    ("GOMP_critical_name_end", 1, "Give(First)"),
    ("GOMP_atomic_start", 0, "Take(Atomic)"),
    ("GOMP_atomic_end", 0, "Give(Atomic)"),
    // Behind each of these the one that tries.
    ("omp_set_lock", 1, "Lock"),
    ("omp_test_lock", 1, "Try"),
    ("omp_set_lock_", 1, "Lock"),
    ("omp_test_lock_", 1, "Try"),
    ("omp_set_nest_lock", 1, "Lock"),
    ("omp_test_nest_lock", 1, "Try"),
    ("omp_set_nest_lock_", 1, "Lock"),
    ("omp_test_nest_lock_", 1, "Try"),
    ("omp_unset_lock", 1, "Give(First)"),
    ("omp_unset_lock_", 1, "Give(First)"),
    ("omp_unset_nest_lock", 1, "Give(First)"),
    ("omp_unset_nest_lock_", 1, "Give(First)"),
];

/// Events that LLVM's and Intel's runtimes report: the number that OpenMP gives them, and what it is
/// (`openmp::Event`).
pub const OMPT: [(u32, &str); 8] = [
    (3, "ParallelBegin"),
    (4, "ParallelEnd"),
    (6, "TaskSchedule"),
    (7, "ImplicitTask"),
    (17, "MutexReleased"),
    (23, "SyncRegion"),
    (26, "MutexAcquire"),
    (27, "MutexAcquired"),
];
