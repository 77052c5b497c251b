//! Prints what the parts of traces take. An argument is a trace, or a directory with one trace of each rank, which are
//! merged along the tree as they are when a run ends.
use headwater_trace::trace::{Node, Trace};
use std::collections::BTreeMap;
use std::path::Path;

fn one(path: &Path) -> Trace {
    let bytes = std::fs::read(path).unwrap();
    Trace::from_bytes(&bytes).unwrap()
}

/// Ranks from `rank` on, of which there are `ranks` in the subtree.
fn merged(all: &mut BTreeMap<u32, Trace>, rank: u32, ranks: u32) -> Option<Trace> {
    if ranks == 1 {
        return all.remove(&rank);
    }
    let mine = merged(all, rank, ranks / 2);
    let theirs = merged(all, rank + ranks / 2, ranks / 2);
    let (Some(mut mine), Some(theirs)) = (mine.clone(), theirs.clone()) else {
        return mine.or(theirs);
    };
    mine.merge(theirs);
    Some(mine)
}

fn read(path: &Path) -> Trace {
    if path.is_file() {
        return one(path);
    }
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let trace = one(&entry.unwrap().path());
        if let Some(rank) = trace.ranks.only() {
            all.insert(rank, trace);
        }
    }
    let ranks = all.keys().next_back().unwrap() + 1;
    merged(&mut all, 0, ranks.next_power_of_two()).unwrap()
}

fn main() {
    let by_field = std::env::var_os("FIELDS").is_some();
    let mut table: BTreeMap<(&str, String), Vec<f64>> = BTreeMap::new();
    let paths: Vec<String> = std::env::args().skip(1).collect();
    for (column, path) in paths.iter().enumerate() {
        let mut trace = read(Path::new(path));
        trace.round_times();
        trace.drop_small_outliers();
        let nodes: usize = trace.streams.values().flatten().map(Node::nodes).sum();
        let packed = trace.to_packed_bytes();
        println!(
            "{path}: {} ranks, {nodes} nodes, {} signatures, {} lists, {} bytes plain, {} packed",
            trace.ranks.len(),
            trace.signatures.len(),
            trace.lists.len(),
            trace.to_bytes().len(),
            packed.len(),
        );
        assert_eq!(Trace::from_bytes(&packed), Ok(trace.clone()));
        for (part, field, bits) in trace.packed_costs() {
            let field = if by_field { field } else { String::new() };
            let row = table.entry((part, field)).or_default();
            row.resize(paths.len(), 0.0);
            row[column] += bits / 8.0;
        }
    }
    for ((part, field), bytes) in table {
        let bytes: Vec<String> = bytes.iter().map(|n| format!("{n:8.0}")).collect();
        println!("{part:24} {field:12} {}", bytes.join(" "));
    }
}
