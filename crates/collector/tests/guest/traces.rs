//! Traces of whole runs: where they are if something went wrong.

use crate::case::{Case, PLAIN, RECORDED, alone, cases};
use headwater_mpi_abi::{fields, id_of};
use headwater_trace::open::{ENDING, read};
use headwater_trace::trace::Trace;
use std::path::Path;
use std::process::Command;

/// Said before the program to have it traced.
const TRACED: &str = "export HEADWATER_TRACE=1;";

/// The traces in the spool, by name.
fn traces(case: &Case) -> Vec<(String, Trace)> {
    let files = std::fs::read_dir(case.spool()).expect("a spool");
    let names = files.map(|f| f.expect("a file").file_name().into_string().expect("UTF-8"));
    let mut traces: Vec<_> = names
        .filter(|name| name.starts_with("whole.trace"))
        .filter(|name| !name.ends_with(".part") && !name.ends_with(ENDING))
        .map(|name| {
            let bytes = std::fs::read(case.spool().join(&name)).expect("a trace");
            let trace = Trace::from_bytes(&bytes);
            (name, trace.expect("a whole trace"))
        })
        .collect();
    traces.sort_by(|a, b| a.0.cmp(&b.0));
    traces
}

#[test]
fn a_rank_keeps_its_trace_if_that_of_the_run_is_not_written() {
    let _alone = alone();
    for case in cases("small_files.c") {
        let out = case.run(&format!("{TRACED} {RECORDED} {PLAIN}"), &[]);
        assert!(out.status.success(), "{}", case.library);
        let ranks: Vec<_> = traces(&case).iter().map(|t| t.1.ranks.to_vec()).collect();
        assert_eq!(ranks, [[1]], "{}", case.library);
    }
}

#[test]
fn two_jobs_in_one_spool_keep_their_traces() {
    let _alone = alone();
    for case in cases("steps.c") {
        for _ in 0..2 {
            let out = case.run(&format!("{TRACED} {RECORDED} {PLAIN}"), &["3"]);
            assert!(out.status.success(), "{}", case.library);
        }
        let ranks: Vec<_> = traces(&case).iter().map(|t| t.1.ranks.to_vec()).collect();
        assert_eq!(ranks, [[0, 1], [0, 1]], "{}", case.library);
    }
}

#[test]
fn threads_of_a_killed_process_leave_their_traces() {
    let _alone = alone();
    for case in cases("killed_threads.c") {
        let out = case.run(&format!("{TRACED} {RECORDED} {PLAIN}"), &[]);
        // Some libraries have no threads.
        if out.status.success() {
            continue;
        }
        let traces = traces(&case);
        let threads = traces.iter().flat_map(|(_, trace)| trace.streams.keys());
        let (first, others): (Vec<u32>, Vec<u32>) = threads.partition(|thread| **thread == 0);
        assert!(!first.is_empty() && !others.is_empty(), "{}", case.library);
    }
}

#[test]
fn the_call_in_which_a_rank_hangs_is_known_after_it_is_killed() {
    let _alone = alone();
    for case in cases("hung.c") {
        let out = case.run(&format!("{TRACED} {RECORDED} {PLAIN}"), &[]);
        assert!(!out.status.success(), "{}", case.library);
        let files = std::fs::read_dir(case.spool()).expect("a spool");
        let files = files.map(|file| file.expect("a file").path());
        let calls = files.filter(|path| path.to_string_lossy().ends_with(ENDING));
        let calls = calls.map(|path| read(&std::fs::read(path).expect("a file")).expect("a call"));
        let open: Vec<_> = calls
            .flat_map(|trace| {
                let open = trace.open.iter().map(|call| {
                    let function = trace.signatures[&call.signature].function.clone();
                    (call.rank, function, call.values.clone())
                });
                open.collect::<Vec<_>>()
            })
            .collect();
        let [(1, function, values)] = &*open else {
            panic!("{}: {open:?}", case.library);
        };
        assert_eq!(function, "MPI_Recv", "{}", case.library);
        let fields = fields(id_of("MPI_Recv").expect("a function").0);
        let of = |name| values[fields.iter().position(|f| f.name == name).expect("a field")];
        assert_eq!(["source", "tag"].map(of), [0, 7], "{}", case.library);
    }
}

#[test]
fn what_a_rank_did_before_it_hangs_is_written_while_it_hangs() {
    let _alone = alone();
    for case in cases("hung.c") {
        let spool = case.spool();
        let spool = spool.to_str().expect("UTF-8");
        let out = case.run(&format!("{TRACED} {RECORDED} {PLAIN}"), &[spool]);
        assert!(!out.status.success(), "{}", case.library);
        let traces = traces(&case);
        let [(_, trace)] = &*traces else {
            panic!("{}: {traces:?}", case.library);
        };
        assert_eq!(trace.ranks.to_vec(), [1], "{}", case.library);
        // MPI_Comm_rank and three times MPI_Barrier.
        let kept: Vec<u64> = trace.losses.iter().map(|loss| loss.kept).collect();
        assert_eq!(kept, [4], "{}", case.library);
        assert!(!trace.streams[&0].is_empty(), "{}", case.library);
    }
}

/// The addresses of a function in a program, as text.
fn addresses(program: &Path, function: &str) -> String {
    let out = Command::new("nm").arg("-S").arg(program).output();
    let out = String::from_utf8(out.expect("binutils are there").stdout).expect("UTF-8");
    let line = out.lines().find(|line| line.ends_with(function));
    let words: Vec<&str> = line.expect("a function").split_whitespace().collect();
    let number = |word| u64::from_str_radix(word, 16).expect("a number");
    let (from, size) = (number(words[0]), number(words[1]));
    format!("{from:#x}-{:#x}", from + size)
}

#[test]
fn places_in_a_range_of_addresses_are_one() {
    let _alone = alone();
    for case in cases("sites.c") {
        let alike = format!("sites:{}", addresses(&case.program, " inside"));
        let run = |alike: &str| {
            let _ = std::fs::remove_dir_all(case.spool());
            let alike = format!("export HEADWATER_TRACE_ALIKE={alike};");
            let out = case.run(&format!("{TRACED} {alike} {RECORDED} {PLAIN}"), &[]);
            assert!(out.status.success(), "{}", case.library);
            let traces = traces(&case);
            let signatures = traces[0].1.signatures.values();
            signatures.filter(|s| s.function == "MPI_Send").count()
        };
        assert_eq!(run(""), 5, "{}", case.library);
        assert_eq!(run(&alike), 2, "{}", case.library);
        assert_eq!(run("sites"), 1, "{}", case.library);
    }
}
