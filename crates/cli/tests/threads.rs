//! Programs without MPI: recorded by themselves, and at several numbers of threads.

mod support;

use std::path::Path;
use std::process::{Command, Output};
use support::{BARRIER, collector, headwater, said};

/// Threads, as many as its first argument says, that each compute their part; its second argument is its exit code.
const PROGRAM: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int threads = 2;
static void *work(void *arg) {
    volatile double x = 1;
    for (long k = 1; k <= 60000000 / threads; k++)
        x += 1.0 / (k + x);
    return arg;
}
int main(int argc, char **argv) {
    pthread_t made[64];
    if (argc > 1)
        threads = atoi(argv[1]);
    for (int i = 0; i < threads; i++)
        pthread_create(&made[i], NULL, work, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(made[i], NULL);
    printf("threads %d\n", threads);
    return argc > 2 ? atoi(argv[2]) : 0;
}
"#;

fn built(dir: &Path) {
    app(dir, PROGRAM);
}

/// The program of this source, as `app`.
fn app(dir: &Path, source: &str) {
    std::fs::write(dir.join("app.c"), source).expect("a source");
    compiled(dir, "-pthread app.c -o app -ldl");
}

fn compiled(dir: &Path, arguments: &str) {
    let cc = Command::new("cc")
        .args(["-g", "-O1"])
        .args(arguments.split(' '))
        .current_dir(dir)
        .status();
    assert!(cc.expect("a compiler").success());
}

fn run(dir: &Path, args: &[&str]) -> Output {
    headwater(dir)
        .env("HEADWATER_COLLECTOR", collector())
        .args(args)
        .output()
        .expect("runs")
}

#[test]
fn scales_of_threads_are_recorded_and_compared() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    built(at);
    let line = [
        "run",
        "-q",
        "--threads",
        "2,1",
        "--json=d.json",
        "--",
        "./app",
        "{threads}",
    ];
    let out = run(at, &line);
    assert!(out.status.success(), "{}", said(&out));
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        "threads 1\nthreads 2\n"
    );
    let text = std::fs::read_to_string(at.join("d.json")).expect("a diagnosis");
    let d: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(d["scaling"], "strong", "{text}");
    let scales = d["scales"].as_array().expect("scales");
    let threads: Vec<_> = scales.iter().map(|s| s["threads_each"].as_u64()).collect();
    assert_eq!(threads, [Some(1), Some(2)]);
    let headline = d["headline"].to_string();
    assert!(headline.contains("From 1 to 2 threads"), "{headline}");
    for scale in scales {
        let e = &scale["efficiencies"]["threads"];
        assert!(
            e["parallel"].as_f64().is_some_and(|p| p > 0.0 && p <= 1.0),
            "{e}"
        );
    }
    // The same runs by themselves; the number of threads is part of the scale.
    let out = run(at, &["diagnose", "app.1.t1", "app.1.t2"]);
    assert!(out.status.success(), "{}", said(&out));
    let out = run(at, &["diagnose", "app.1.t2", "app.1.t2"]);
    assert_eq!(out.status.code(), Some(2), "{}", said(&out));
}

/// Makes four threads, of which as many compute as its argument says; the others wait until these are done.
const IDLE: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int working, done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void *work(void *number) {
    volatile double x = 1;
    if ((long)number < working)
        for (long k = 1; k <= 60000000 / working; k++)
            x += 1.0 / (k + x);
    pthread_mutex_lock(&lock);
    done += (long)number < working;
    pthread_cond_broadcast(&changed);
    while (done < working)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t made[4];
    working = argc > 1 ? atoi(argv[1]) : 1;
    for (long i = 0; i < 4; i++)
        pthread_create(&made[i], NULL, work, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(made[i], NULL);
    return 0;
}
"#;

#[test]
fn a_script_may_start_a_program_of_which_some_threads_idle() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    app(at, IDLE);
    std::fs::write(at.join("start.sh"), "exec ./app \"$@\"\n").expect("a script");
    let line = ["run", "-q", "--threads", "1,2", "--json=d.json", "--"];
    let line = [&line[..], &["sh", "start.sh", "{threads}"]].concat();
    let out = run(at, &line);
    assert!(out.status.success(), "{}", said(&out));
    let text = std::fs::read_to_string(at.join("d.json")).expect("a diagnosis");
    let d: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let headline = d["headline"].to_string();
    assert!(headline.contains("From 1 to 2 threads"), "{headline}");
}

/// Opens a library, has a thread compute in it, and closes the library.
const OPENS: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
int main(void) {
    void *plugin = dlopen("./plugin.so", RTLD_NOW);
    void *(*work)(void *) = (void *(*)(void *))dlsym(plugin, "work");
    pthread_t made;
    pthread_create(&made, NULL, work, NULL);
    pthread_join(made, NULL);
    return dlclose(plugin);
}
"#;

const PLUGIN: &str = r#"
__attribute__((noinline)) double inner(long n) {
    volatile double x = 1;
    for (long k = 1; k <= n; k++)
        x += 1.0 / (k + x);
    return x;
}
void *work(void *arg) {
    return inner(60000000) > 0 ? arg : 0;
}
"#;

#[test]
fn a_library_that_was_opened_late_and_closed_has_names_and_callers() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    app(at, OPENS);
    std::fs::write(at.join("plugin.c"), PLUGIN).expect("a source");
    compiled(at, "-shared -fPIC plugin.c -o plugin.so");
    let out = run(at, &["record", "-q", "-o", "r", "--", "./app"]);
    assert!(out.status.success(), "{}", said(&out));
    let out = run(at, &["export", "-q", "-o", "stacks", "folded", "r"]);
    assert!(out.status.success(), "{}", said(&out));
    let stacks = std::fs::read_to_string(at.join("stacks")).expect("stacks");
    let microseconds = |of: fn(&&str) -> bool| -> f64 {
        (stacks.lines().filter(of))
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    };
    let inner = microseconds(|line| line.contains(";work;inner"));
    let all = microseconds(|line| !line.contains("[waiting]"));
    assert!(inner > 0.9 * all, "{stacks}");
}

#[test]
fn a_program_that_ignores_the_number_of_threads_is_told_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    built(dir.path());
    // Fewer, and more; the second scale shows it.
    for threads in ["1,4,8", "1,2,4", "3,4"] {
        let out = run(
            dir.path(),
            &["run", "-q", "--threads", threads, "--", "./app"],
        );
        assert_eq!(out.status.code(), Some(2), "{threads}: {}", said(&out));
        let text = said(&out);
        assert!(
            text.contains("./app ran with 2 threads whatever it was asked for")
                && text.contains("./app {threads}"),
            "{threads}: {text}"
        );
        let ran = String::from_utf8_lossy(&out.stdout);
        assert_eq!(ran, "threads 2\n".repeat(2), "{threads}");
    }
}

/// Goes into the background as daemons do: with two children, of which it waits for the first. The second one ends soon.
const DAEMON: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    pid_t child = fork();
    if (child > 0) {
        waitpid(child, NULL, 0);
        _exit(0);
    }
    setsid();
    if (fork() == 0) {
        close(0), close(1), close(2);
        sleep(3);
    }
    _exit(0);
}
"#;

#[test]
fn what_a_daemon_does_in_the_background_is_said_to_be_missing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    support::built("cc", at, "daemon", DAEMON, &[]).expect("a compiler");
    let out = run(at, &["record", "-o", "d", "--", "./daemon"]);
    assert_eq!(out.status.code(), Some(0), "{}", said(&out));
    let text = said(&out);
    assert!(
        text.contains("which the program had started, goes on") && text.contains("foreground"),
        "{text}"
    );
    let out = run(at, &["diagnose", "-q", "d", "--json"]);
    let report = String::from_utf8_lossy(&out.stdout);
    assert!(
        report.contains("as a daemon does: nothing of it is"),
        "{report}"
    );
}

#[test]
fn one_process_is_recorded_with_its_own_exit_code() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    built(dir.path());
    let json = ["record", "--json", "-o", "json", "--", "./app", "3", "7"];
    let json = run(dir.path(), &json).stdout;
    let json = String::from_utf8_lossy(&json);
    assert!(json.contains("\"threads\":3"), "{json}");
    let out = run(dir.path(), &["record", "-o", "t3", "--", "./app", "3", "7"]);
    assert_eq!(out.status.code(), Some(7), "{}", said(&out));
    assert!(
        said(&out).contains("one process without MPI"),
        "{}",
        said(&out)
    );
    let out = run(dir.path(), &["diagnose", "t3"]);
    assert!(
        said(&out).is_empty() && out.status.success(),
        "{}",
        said(&out)
    );
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.contains("(3 threads)"), "{text}");
    for paradigm in [
        "profile",
        "contention",
        "critical-path",
        "wait-states",
        "efficiencies",
        "resources",
    ] {
        let out = run(dir.path(), &["analyse", paradigm, "t3"]);
        assert!(out.status.success(), "{paradigm}: {}", said(&out));
    }
}

#[test]
fn a_script_is_no_program_without_mpi() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = run(dir.path(), &["record", "--", "sh", "-c", "true"]);
    assert_eq!(out.status.code(), Some(2), "{}", said(&out));
    assert!(said(&out).contains("runs a script"), "{}", said(&out));
}

/// Processes without MPI that start those that use it are not the run, and do not prevent it.
#[test]
fn what_starts_ranks_is_not_recorded_in_their_place() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let Some(app) = support::built("mpicc.openmpi", at, "barrier", BARRIER, &[]) else {
        return;
    };
    let app = app.display().to_string();
    let ranks = ["mpirun.openmpi", "--oversubscribe", "-n", "2", &app];
    for (name, before, command, wanted) in [
        ("t2", &["timeout", "100"][..], &ranks[..], 2),
        ("e2", &["env", "A=b"][..], &ranks[..], 2),
        ("t1", &["timeout", "100"][..], &ranks[4..], 1),
    ] {
        let line = [&["record", "-q", "-o", name, "--"][..], before, command].concat();
        let out = run(at, &line);
        assert!(out.status.success(), "{name}: {}", said(&out));
        let run = headwater_format::read_run(&at.join(name)).expect("a run");
        assert_eq!(run.header.ranks, wanted, "{name}");
        assert!(run.header.program.ends_with("/barrier"), "{:?}", run.header);
        assert!(run.header.uses_mpi(), "{name}");
    }
}

#[test]
fn what_only_becomes_another_program_is_no_run() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    built(at);
    let Some(fixed) = support::built("cc", at, "fixed", PROGRAM, &["-static", "-pthread"]) else {
        return;
    };
    let fixed = fixed.display().to_string();
    let fixed = fixed.as_str();
    for (line, word) in [
        (&["env", fixed][..], "became another program"),
        (&["env", "sh", "-c", "exit 0"][..], "became another program"),
        (&[fixed][..], "is statically linked"),
    ] {
        let out = run(at, &[&["record", "-o", "none", "--"][..], line].concat());
        assert_eq!(out.status.code(), Some(2), "{line:?}: {}", said(&out));
        assert!(said(&out).contains(word), "{line:?}: {}", said(&out));
        assert!(!at.join("none").exists(), "{line:?}");
    }
}

#[test]
fn threads_behind_a_launcher_need_a_number_of_ranks() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    built(dir.path());
    for command in [&["mpirun", "-n", "2", "./app"][..], &["./app", "{np}"][..]] {
        let line = [&["run", "--threads", "1,2", "--"][..], command].concat();
        let out = run(dir.path(), &line);
        assert_eq!(out.status.code(), Some(2), "{}", said(&out));
        let text = said(&out);
        assert!(text.contains("say on how many ranks"), "{text}");
    }
}

/// A hybrid program: ranks, each with the threads that OpenMP gives it.
const HYBRID: &str = r#"
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int got, rank, ranks, threads = 0;
    double sum = 0, all;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &got);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int step = 0; step < 10; step++) {
        double part = 0;
#pragma omp parallel reduction(+ : part)
        {
#pragma omp single
            threads = omp_get_num_threads();
#pragma omp for
            for (int k = 1; k <= 12000000 / ranks; k++)
                part += 1.0 / (k + part);
        }
        MPI_Allreduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += all;
    }
    if (rank == 0)
        printf("%d ranks of %d threads\n", ranks, threads);
    MPI_Finalize();
    return sum < 0;
}
"#;

#[test]
fn a_hybrid_program_is_recorded_on_a_grid_of_ranks_and_threads() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = dir.path();
    let flags = ["-O2", "-fopenmp"];
    if support::built("mpicc.openmpi", at, "hybrid", HYBRID, &flags).is_none() {
        return;
    }
    let launcher = [
        "--",
        "mpirun.openmpi",
        "--oversubscribe",
        "--bind-to",
        "none",
        "-n",
        "{np}",
    ];
    let grid = [
        "run",
        "-q",
        "-n",
        "1,2",
        "--threads",
        "2,1",
        "--json=d.json",
    ];
    let out = run(at, &[&grid[..], &launcher, &["./hybrid"]].concat());
    assert!(out.status.success(), "{}", said(&out));
    let all = [(1, 1), (1, 2), (2, 1), (2, 2)];
    let ran = all.map(|(ranks, threads)| format!("{ranks} ranks of {threads} threads\n"));
    assert_eq!(String::from_utf8_lossy(&out.stdout), ran.concat());
    let text = std::fs::read_to_string(at.join("d.json")).expect("a diagnosis");
    let d: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let scales = d["scales"].as_array().expect("scales").iter();
    let scales: Vec<_> = scales
        .map(|s| (s["ranks"].as_u64(), s["threads_each"].as_u64()))
        .collect();
    assert_eq!(scales, all.map(|(r, t)| (Some(r), Some(t))), "{text}");
    // Each of them is a run of its own, and the largest one has efficiencies between ranks and between threads.
    let end = &d["scales"][3]["efficiencies"];
    for figure in [&end["load_balance"], &end["threads"]["load_balance"]] {
        let figure = figure.as_f64();
        assert!(figure.is_some_and(|f| f > 0.5 && f <= 1.0), "{end}");
    }
    let out = run(at, &["diagnose", "hybrid.1.t1", "hybrid.2.t2"]);
    assert!(out.status.success(), "{}", said(&out));
}
