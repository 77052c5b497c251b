//! `doctor`: what this machine has and lacks for recording.

use super::{Outcome, diagnose};
use headwater_launch::collector_path;
use serde_json::json;
use std::path::Path;

struct Finding {
    what: &'static str,
    good: bool,
    text: String,
}

/// `headwater doctor`.
pub fn command(as_json: bool) -> Outcome {
    let findings = [
        collector(),
        launchers(),
        cores(),
        counters(),
        clock(),
        cache(),
    ];
    if as_json {
        let rows: Vec<_> = findings
            .iter()
            .map(|f| json!({"what": f.what, "good": f.good, "text": f.text}))
            .collect();
        return super::print(
            &(serde_json::to_string_pretty(&rows).map_err(|e| e.to_string())? + "\n"),
        );
    }
    let line = |f: &Finding| {
        format!(
            "{} {:<12} {}\n",
            if f.good { "ok  " } else { "look" },
            f.what,
            f.text
        )
    };
    super::print(&findings.iter().map(line).collect::<String>())
}

fn collector() -> Finding {
    match collector_path() {
        Ok(path) => Finding {
            what: "collector",
            good: true,
            text: path.display().to_string(),
        },
        Err(e) => Finding {
            what: "collector",
            good: false,
            text: e.to_string(),
        },
    }
}

fn launchers() -> Finding {
    let names = [
        "mpirun.openmpi",
        "mpirun.mpich",
        "mpiexec.hydra",
        "mpirun",
        "mpiexec",
        "srun",
        "flux",
    ];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there: Vec<&str> = names
        .into_iter()
        .filter(|n| std::env::split_paths(&path).any(|d| d.join(n).is_file()))
        .collect();
    let text = if there.is_empty() {
        "none found; install an MPI library, or load its module".to_string()
    } else {
        there.join(", ")
    };
    Finding {
        what: "launchers",
        good: !there.is_empty(),
        text,
    }
}

fn cores() -> Finding {
    let n = std::thread::available_parallelism().map_or(1, |n| n.get());
    Finding {
        what: "cores",
        good: true,
        text: format!("{n}; with more ranks than that, computation is compared in CPU time"),
    }
}

fn counters() -> Finding {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid")
        .ok()
        .and_then(|t| t.trim().parse::<i32>().ok());
    let hardware = Path::new("/sys/bus/event_source/devices/cpu").exists()
        || Path::new("/sys/bus/event_source/devices/armv8_pmuv3_0").exists();
    let (good, text) = match (level, hardware) {
        (None, _) => (false, "the kernel offers no performance events; page faults, switches and run-queue delay are recorded all the same".to_string()),
        (Some(_), false) => (false, "this machine has no hardware counters (a virtual machine, perhaps); software counters are recorded all the same".to_string()),
        (Some(l), true) if l > 2 => (false, format!("perf_event_paranoid is {l}; ask for 2 or less to have hardware counters")),
        (Some(l), true) => (true, format!("hardware counters are there (perf_event_paranoid {l})")),
    };
    Finding {
        what: "counters",
        good,
        text,
    }
}

fn clock() -> Finding {
    let source =
        std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .unwrap_or_default();
    let source = source.trim().to_string();
    let good = source == "tsc" || cfg!(not(target_arch = "x86_64"));
    let text = if good {
        format!("{source}: readable in some 10 ns")
    } else {
        format!("{source}: the kernel does not trust the processor's counter; times may drift")
    };
    Finding {
        what: "clock",
        good,
        text,
    }
}

fn cache() -> Finding {
    match diagnose::cache_dir() {
        Some(dir) => Finding {
            what: "cache",
            good: true,
            text: dir.display().to_string(),
        },
        None => Finding {
            what: "cache",
            good: false,
            text: "no home directory; set XDG_CACHE_HOME to keep analysed modules".to_string(),
        },
    }
}
