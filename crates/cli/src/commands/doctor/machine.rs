//! What the machine lets one measure: cores, performance events, clocks, room.

use super::Finding;
use rustix::fs::{Access, access, statvfs};
use std::path::Path;

/// Room that a run wants at least, in bytes: the tables of some tens of ranks while they are recorded.
const ROOM: u64 = 256 << 20;
/// Shared memory that MPI libraries want at least, in bytes: what they take for some ranks of a node.
const SHARED: u64 = 128 << 20;
/// Capabilities that performance events ask for, as bits: `CAP_PERFMON`, and `CAP_SYS_ADMIN` before it.
const MAY_MEASURE: u64 = 1 << 38 | 1 << 21;
/// What to do where performance events may be refused.
const PERMIT: &str = "sysctl kernel.perf_event_paranoid=2, or ask for it";

fn line(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_string()).filter(|t| !t.is_empty())
}

/// How many cores there are.
pub fn cores() -> Finding {
    let n = std::thread::available_parallelism().map_or(1, |n| n.get());
    let text = format!("{n}; with more ranks than that, computation is compared in CPU time");
    Finding::good("cores", text)
}

/// `perf_event_paranoid`, and whether it restricts this user.
fn paranoid() -> (Option<i32>, bool) {
    let level = line("/proc/sys/kernel/perf_event_paranoid").and_then(|t| t.parse().ok());
    let status = line("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let mask = mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
    (level, mask.unwrap_or(0) & MAY_MEASURE != 0)
}

/// What samples can come from.
pub fn sampling() -> Finding {
    const WHAT: &str = "sampling";
    const TIMER: &str =
        "samples come from CPU time timers, which lean towards what runs at the kernel's tick";
    match paranoid() {
        (Some(level), true) => Finding::good(
            WHAT,
            format!(
                "performance events are permitted (perf_event_paranoid {level}, and this user may measure)"
            ),
        ),
        (Some(level), false) if level <= 2 => Finding::good(
            WHAT,
            format!("performance events are permitted (perf_event_paranoid {level})"),
        ),
        (Some(level), false) => Finding::look(
            WHAT,
            format!(
                "performance events may be refused (perf_event_paranoid {level}; some kernels permit at any level); where they are, {TIMER}"
            ),
            PERMIT,
        ),
        (None, _) => Finding::look(
            WHAT,
            format!("the kernel offers no performance events (a container, perhaps): {TIMER}"),
            "allow perf_event_open in the container's profile",
        ),
    }
}

/// Whether hardware counters can be had.
pub fn counters() -> Finding {
    const WHAT: &str = "counters";
    const ANYWAY: &str =
        "page faults, switches, migrations and run-queue delay are recorded anyway";
    let sources = ["cpu", "cpu_core", "armv8_pmuv3", "armv8_pmuv3_0"];
    let hardware = sources
        .iter()
        .any(|s| Path::new("/sys/bus/event_source/devices").join(s).exists());
    let (level, may) = paranoid();
    match level {
        Some(level) if hardware && (may || level <= 2) => Finding::good(
            WHAT,
            format!("hardware counters are there and permitted (perf_event_paranoid {level})"),
        ),
        Some(level) if hardware => Finding::look(
            WHAT,
            format!(
                "hardware counters are there and may be refused (perf_event_paranoid {level}); {ANYWAY}"
            ),
            PERMIT,
        ),
        _ => Finding::look(
            WHAT,
            format!("no hardware counters here; {ANYWAY}"),
            "on a virtual machine the host must pass them on; without them, equal work that runs slower cannot be distinguished from more work",
        ),
    }
}

/// Whether the kernel reports the time spent waiting for a core.
pub fn run_queue() -> Finding {
    const WHAT: &str = "run queue";
    match line("/proc/self/schedstat") {
        Some(_) => Finding::good(
            WHAT,
            "the kernel reports how long a thread waits for a core",
        ),
        None => Finding::look(
            WHAT,
            "the kernel does not report how long a thread waits for a core",
            "a kernel with CONFIG_SCHED_INFO has it; without it, ranks that share a core cannot be distinguished from late ranks",
        ),
    }
}

/// What `ptrace` limits mean.
pub fn tracing() -> Finding {
    let level = line("/proc/sys/kernel/yama/ptrace_scope");
    let level = level.and_then(|t| t.parse::<u32>().ok()).unwrap_or(0);
    Finding::good(
        "ptrace",
        if level == 0 {
            "not restricted; Headwater does not need it".to_string()
        } else {
            format!(
                "ptrace_scope is {level}; Headwater does not need it, but MPI libraries then copy messages within a node twice, recorded or not"
            )
        },
    )
}

/// Whether the clock is one that costs nothing to read.
pub fn clock() -> Finding {
    const WHAT: &str = "clock";
    let source = line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match source.as_deref() {
        Some("tsc") => Finding::good(WHAT, "tsc: readable in some 10 ns"),
        Some(other) if cfg!(not(target_arch = "x86_64")) => Finding::good(WHAT, other),
        other => Finding::look(
            WHAT,
            format!(
                "{}: the kernel does not trust the processor's counter; times may drift",
                other.unwrap_or("unknown")
            ),
            "compare clocks of ranks with care; on a virtual machine ask for an invariant TSC",
        ),
    }
}

fn free(path: &Path) -> Option<u64> {
    let s = statvfs(path).ok()?;
    Some(s.f_bavail.saturating_mul(s.f_frsize))
}

/// Room for a run in the current directory.
pub fn room() -> Finding {
    const WHAT: &str = "disk room";
    const ELSEWHERE: &str = "record elsewhere: headwater record -o DIR/NAME";
    let here = Path::new(".");
    let writable = access(here, Access::WRITE_OK).is_ok();
    match free(here) {
        _ if !writable => Finding::look(WHAT, "the current directory cannot be written", ELSEWHERE),
        Some(bytes) if bytes >= ROOM => Finding::good(WHAT, format!("{} MiB here", bytes >> 20)),
        Some(bytes) => Finding::look(
            WHAT,
            format!(
                "{} MiB here; a full disk cuts a recording short",
                bytes >> 20
            ),
            ELSEWHERE,
        ),
        None => Finding::look(WHAT, "how much there is here cannot be found", ELSEWHERE),
    }
}

/// Room for the MPI library's own shared memory.
pub fn shared_memory() -> Finding {
    const WHAT: &str = "shared memory";
    match free(Path::new("/dev/shm")) {
        Some(bytes) if bytes >= SHARED => {
            Finding::good(WHAT, format!("{} MiB in /dev/shm", bytes >> 20))
        }
        Some(bytes) => Finding::look(
            WHAT,
            format!(
                "{} MiB in /dev/shm, where MPI libraries keep messages within a node: programs may end with a bus error",
                bytes >> 20
            ),
            "in a container, start it with --shm-size=1g",
        ),
        None => Finding::look(
            WHAT,
            "there is no /dev/shm, where MPI libraries keep messages within a node",
            "mount a tmpfs there",
        ),
    }
}

/// Where analysed modules are cached.
pub fn cache() -> Finding {
    const WHAT: &str = "cache";
    let Some(dir) = headwater_load::cache_dir() else {
        return Finding::look(
            WHAT,
            "there is no home directory for a cache, so programs are analysed again each time",
            "set XDG_CACHE_HOME",
        );
    };
    let there = dir.ancestors().find(|d| d.exists()).unwrap_or(&dir);
    if access(there, Access::WRITE_OK).is_ok() {
        return Finding::good(WHAT, dir.display().to_string());
    }
    Finding::look(
        WHAT,
        format!(
            "{} cannot be written, so programs are analysed again each time",
            dir.display()
        ),
        "set XDG_CACHE_HOME to a directory that can be written",
    )
}
