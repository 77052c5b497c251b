//! The bench's own layer between a program and its MPI library: built here, its figures read here.
//!
//! Nothing of Headwater's collector is in it, so that what it measures can judge the collector.

use crate::setup;
use crate::shell::{output, root};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What one rank did between `MPI_Init` and `MPI_Finalize`, or a program without MPI from its start to its end.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub struct RankFigures {
    /// CPU seconds outside MPI, of all its threads.
    pub cpu_outside: f64,
    /// CPU seconds inside MPI.
    pub cpu_inside: f64,
    /// Wall seconds.
    pub wall: f64,
    /// Wall seconds inside MPI.
    pub wall_inside: f64,
    /// Seconds asleep outside MPI, in `usleep` and `fsync`.
    pub asleep: f64,
    /// MPI calls other than tests and probes.
    pub calls: u64,
    /// Those of them in which all ranks wait for one another.
    #[serde(default)]
    pub meetings: u64,
    /// Times that it gave its core up to wait for something, inside MPI or outside.
    pub switches: u64,
    /// CPU seconds of the planted code.
    #[serde(default)]
    pub planted_cpu: f64,
    /// Seconds that the planted code slept, without the wait for a core after it.
    #[serde(default)]
    pub planted_asleep: f64,
    /// Executions of the planted code.
    #[serde(default)]
    pub planted_entries: u64,
}

impl RankFigures {
    /// Seconds that the rank was busy by itself: CPU time outside MPI and time asleep there.
    pub fn own_seconds(&self) -> f64 {
        self.cpu_outside + self.asleep
    }

    /// Seconds of these that the planted code took.
    pub fn planted_seconds(&self) -> f64 {
        self.planted_cpu + self.planted_asleep
    }
}

/// Fortran calls have the error code and hidden lengths of text after the arguments of the C call.
const FORTRAN_EXTRA: usize = 4;

/// The wrappers of all functions in the table (name, class, mode, roles of the arguments).
pub fn wrappers(table: &str) -> String {
    let mut out = String::new();
    let lines = table.lines().filter(|l| !l.starts_with('#'));
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, class, mode, roles @ ..] = words.as_slice() else {
            continue;
        };
        // A variadic call has no fixed registers to pass on.
        if *name == "MPI_Pcontrol" {
            continue;
        }
        let kind = match (*class, *mode) {
            ("test" | "probe", _) => "POLL",
            ("barrier" | "n-to-n", "blocking") => "MEETING",
            _ => "CALL",
        };
        let lower = name.to_lowercase();
        let symbols = [
            (name.to_string(), format!("P{name}"), roles.len()),
            (
                format!("{lower}_"),
                format!("p{lower}_"),
                roles.len() + FORTRAN_EXTRA,
            ),
            (
                format!("{lower}_f08_"),
                format!("p{lower}_f08_"),
                roles.len() + FORTRAN_EXTRA,
            ),
        ];
        let (before, after) = match *class {
            "init" => ("", "begin(); "),
            "finalize" => ("end(); ", ""),
            _ => ("", ""),
        };
        for (symbol, real, count) in symbols {
            let numbered = |prefix: &str| -> String {
                let all: Vec<String> = (0..count).map(|i| format!("{prefix}{i}")).collect();
                all.join(", ")
            };
            let types = if count == 0 {
                "void".into()
            } else {
                numbered("long a")
            };
            let _ = writeln!(
                out,
                "long {symbol}({types}) {{ static long (*real)({types}); long r; \
                 if (!real) real = next(\"{real}\", \"{symbol}\"); {before}enter({kind}); \
                 r = real({}); leave(); {after}return r; }}",
                numbered("a")
            );
        }
    }
    out
}

/// Builds the layer; returns the library. Another bench may be using it, so it is replaced as a whole.
pub fn build() -> Result<PathBuf, String> {
    let place = setup::target().join("truth/interposer");
    let dir = place.join(std::process::id().to_string());
    std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let table = root().join("crates/mpi-abi/functions.txt");
    let text = std::fs::read_to_string(&table).map_err(|e| format!("{}: {e}", table.display()))?;
    let header = dir.join("wrappers.h");
    std::fs::write(&header, wrappers(&text)).map_err(|e| format!("{}: {e}", header.display()))?;
    let (made, library) = (dir.join("libinterpose.so"), place.join("libinterpose.so"));
    // Linked with the library, so that it is there too where Python loads it for itself alone.
    output(
        Command::new("mpicc.openmpi")
            .args(["-O2", "-shared", "-fPIC", "-I"])
            .arg(&dir)
            .arg("-o")
            .arg(&made)
            .arg(root().join("xtask/truth/interpose.c"))
            .args(["-Wl,--no-as-needed", "-lmpi", "-ldl"]),
    )?;
    std::fs::rename(&made, &library).map_err(|e| format!("{}: {e}", library.display()))?;
    let _ = std::fs::remove_dir_all(dir);
    Ok(library)
}

/// Reads the figures of all ranks.
pub fn read(dir: &Path, ranks: u32) -> Result<Vec<RankFigures>, String> {
    let one = |rank: u32| {
        let file = dir.join(format!("rank.{rank}"));
        let text = std::fs::read_to_string(&file)
            .map_err(|_| format!("rank {rank} did not reach MPI_Finalize or its end"))?;
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))
    };
    (0..ranks).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_wrapped_for_c_and_both_fortran_bindings() {
        let text = wrappers("# note\nMPI_Send send blocking x count type dest tag comm\n");
        assert_eq!(text.lines().count(), 3);
        assert!(
            text.contains("long MPI_Send(long a0, long a1, long a2, long a3, long a4, long a5)")
        );
        assert!(text.contains("long mpi_send_(") && text.contains("long mpi_send_f08_("));
        assert!(text.contains("enter(CALL)"));
    }

    #[test]
    fn polls_are_not_counted_and_variadic_calls_left_alone() {
        assert!(wrappers("MPI_Test test nonblocking req flag status").contains("enter(POLL)"));
        assert!(wrappers("MPI_Barrier barrier blocking comm").contains("enter(MEETING)"));
        assert_eq!(wrappers("MPI_Pcontrol other blocking x"), "");
    }
}
