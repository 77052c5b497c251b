//! Files of ScalAna: what is exported and imported again is the same tree with the same figures.

use headwater_export::{ExportError, Recorded, Wanted, scalana};
use headwater_graph::{Structures, brought};
use headwater_import::{Settings, import_all};
use headwater_model::run::Run;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// Files by their paths.
type Files = BTreeMap<String, String>;

fn export(runs: Vec<Run>, wanted: &Wanted) -> Result<Files, ExportError> {
    let structures = Structures::new(brought(&runs));
    let recorded = Recorded::join(runs, structures).expect("runs that can be analysed");
    let mut files = Files::new();
    scalana::write(&recorded, wanted, &mut |path, bytes| {
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        assert!(
            files.insert(path.to_string(), text).is_none(),
            "{path} twice"
        );
        Ok(())
    })?;
    Ok(files)
}

fn import(files: &Files) -> Vec<Run> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path().join("files");
    for (path, text) in files {
        let path = root.join(path);
        let around = path.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(around).expect("a directory");
        std::fs::write(path, text).expect("a file");
    }
    let out = dir.path().join("runs");
    let runs = import_all(&[root], &out, &Settings::default(), |_, _| ());
    runs.expect("runs")
        .into_iter()
        .map(|(_, run)| run)
        .collect()
}

/// A tree with the samples of two ranks.
#[derive(Clone, Debug)]
struct Node {
    id: usize,
    code: i64,
    lines: (u32, u32),
    samples: [u32; 2],
    children: Vec<Node>,
}

/// Makes trees of numbers.
struct Maker<'a> {
    numbers: std::slice::Iter<'a, u32>,
    ids: usize,
    functions: Vec<Node>,
}

/// Types of vertices in a function, MPI's among them.
const INSIDE: [i64; 12] = [-1, -1, -2, -3, -5, -5, -6, -7, -8, -9, 37, 15];

impl Maker<'_> {
    fn next(&mut self, below: u32) -> u32 {
        self.numbers.next().map_or(0, |n| n % below.max(1))
    }

    fn node(&mut self, code: i64, lines: (u32, u32)) -> Node {
        self.ids += 1;
        Node {
            id: self.ids - 1,
            code,
            lines,
            samples: [self.next(4) * self.next(30), self.next(40)],
            children: Vec::new(),
        }
    }

    fn function(&mut self, depth: u32) -> Node {
        // One that was made before is called again.
        if depth > 0 && self.next(4) == 0 && !self.functions.is_empty() {
            let which = self.next(self.functions.len() as u32);
            let mut again = self.functions[which as usize].clone();
            self.sample(&mut again);
            return again;
        }
        let first = 1000 * (self.ids as u32 + 1);
        let mut node = self.node(-4, (first, first + 500));
        node.children = self.inside(first, depth);
        self.functions.push(node.clone());
        node
    }

    /// Other samples for a call of a function.
    fn sample(&mut self, node: &mut Node) {
        node.samples = [self.next(30), self.next(3)];
        node.children.iter_mut().for_each(|c| self.sample(c));
    }

    fn inside(&mut self, first: u32, depth: u32) -> Vec<Node> {
        let most = if depth > 4 { 0 } else { 4 };
        let count = self.next(most + 1);
        (0..count).map(|_| self.part(first, depth)).collect()
    }

    fn part(&mut self, first: u32, depth: u32) -> Node {
        let which = self.next(INSIDE.len() as u32);
        let code = INSIDE[which as usize];
        let from = match self.next(8) {
            0 => 0,
            _ => first + self.next(20),
        };
        let to = from + if from > 0 { self.next(9) } else { 0 };
        let mut node = self.node(code, (from, to));
        match code {
            -3..=-1 => node.children = self.inside(first, depth + 1),
            -5 if depth < 5 => node.children = vec![self.function(depth + 1)],
            -7 if depth < 5 => {
                for _ in 0..self.next(3) {
                    let one = self.function(depth + 1);
                    if !node.children.iter().any(|c| c.id == one.id) {
                        node.children.push(one);
                    }
                }
            }
            _ => {}
        }
        node
    }
}

/// The tree of some numbers; one sample at least is in it.
fn tree(numbers: &[u32]) -> Node {
    let mut maker = Maker {
        numbers: numbers.iter(),
        ids: 0,
        functions: Vec::new(),
    };
    let mut main = maker.function(0);
    main.samples[0] += 1;
    main
}

/// As ScalAna writes it, with so many samples outside of the tree.
fn stat(main: &Node, rank: usize, outside: u32) -> String {
    fn all(node: &Node, rank: usize) -> u32 {
        let inside = node.children.iter().map(|c| all(c, rank));
        node.samples[rank] + inside.sum::<u32>()
    }
    fn line(node: &Node, rank: usize, all: u32, out: &mut String) {
        let Node { id, code, .. } = node;
        let [first, last] = [node.lines.0, node.lines.1].map(|l| match l {
            0 => -1,
            l => i64::from(l),
        });
        let samples = node.samples[rank];
        let share = f64::from(samples) / f64::from(all);
        let n = node.children.len();
        let _ = writeln!(out, "{id} {code} {n} 0 0 {first} {last} {samples} {share} ");
        node.children.iter().for_each(|c| line(c, rank, all, out));
    }
    let mut out = String::new();
    line(main, rank, all(main, rank) + outside, &mut out);
    out + "1\n/src\n1\na.c\n"
}

/// What is the same in a tree that was written again: the ways to vertices, with their samples.
fn ways(stat: &str) -> Vec<(String, u64)> {
    let mut out = Vec::new();
    let mut open: Vec<(String, usize)> = Vec::new();
    for line in stat.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() < 9 {
            break;
        }
        let code = match words[1] {
            "-3" => "-2",
            "-8" => "-9",
            code => code,
        };
        let around = open.last().map_or("", |o| &o.0);
        let way = format!("{around}/{code}:{}-{}", words[5], words[6]);
        out.push((way.clone(), words[7].parse().expect("samples")));
        if let Some(last) = open.last_mut() {
            last.1 -= 1;
        }
        open.push((way, words[2].parse().expect("children")));
        while open.last().is_some_and(|o| o.1 == 0) {
            open.pop();
        }
    }
    out.sort();
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn random_trees_come_back(
        numbers in prop::collection::vec(any::<u32>(), 0..200),
        outside in 0_u32..50,
    ) {
        let main = tree(&numbers);
        let stats = [0, 1].map(|rank| stat(&main, rank, outside));
        let name = |rank: usize| format!("2/stat{rank}.txt");
        let files: Files = [0, 1].map(|r| (name(r), stats[r].clone())).into();
        let first = export(import(&files), &Wanted::default()).expect("files");
        for rank in [0, 1] {
            prop_assert_eq!(ways(&first[&name(rank)]), ways(&stats[rank]), "{}", stats[rank]);
        }
        let again = export(import(&first), &Wanted::default()).expect("files");
        prop_assert_eq!(first, again);
    }
}

#[test]
fn all_scales_have_one_tree_and_a_rank_can_be_chosen() {
    let small = "0 -4 1 0 0 1 9 3 1 \n1 37 0 0 0 5 5 0 0 \n1\n/src\n1\na.c\n";
    let large =
        "0 -4 2 0 0 1 9 1 0.25 \n1 37 0 0 0 5 5 1 0.25 \n2 -9 0 0 0 6 9 2 0.5 \n1\n/src\n1\na.c\n";
    let files: Files = [
        ("1/stat0.txt", small),
        ("2/stat0.txt", large),
        ("2/stat1.txt", large),
    ]
    .map(|(path, text)| (path.to_string(), text.to_string()))
    .into();
    let all = export(import(&files), &Wanted::default()).expect("files");
    let names: BTreeSet<&str> = all.keys().map(String::as_str).collect();
    let of_scale = [
        "headwater.txt",
        "in.txt",
        "out.txt",
        "stat0.txt",
        "viewer/in.txt",
        "viewer/stat0.txt",
    ];
    let mut wanted: BTreeSet<String> = ["1", "2"]
        .into_iter()
        .flat_map(|p| of_scale.map(|f| format!("{p}/{f}")))
        .collect();
    wanted.insert("2/stat1.txt".to_string());
    assert_eq!(names, wanted.iter().map(String::as_str).collect());
    assert_eq!(all["1/out.txt"], all["2/out.txt"]);
    insta::assert_snapshot!("scalana_out", all["1/out.txt"]);
    insta::assert_snapshot!("scalana_stat", all["2/stat1.txt"]);
    insta::assert_snapshot!("scalana_viewer", all["2/viewer/stat0.txt"]);
    insta::assert_snapshot!("scalana_extra", all["2/headwater.txt"]);
    let one = Wanted {
        ranks: "1".parse().ok(),
        ..Default::default()
    };
    let mut runs = import(&files);
    let of_two = vec![runs.remove(1)];
    let chosen = export(of_two, &one).expect("files");
    assert_eq!(chosen["2/stat1.txt"].lines().count(), 7);
    assert!(!chosen.contains_key("2/stat0.txt"));
    let refused = export(runs, &one).expect_err("there is no rank 1");
    assert!(refused.to_string().contains("no rank 1"), "{refused}");
    let table = Wanted {
        table: Some("edges".into()),
        ..Default::default()
    };
    let refused = export(Vec::new(), &table).expect_err("no table");
    assert!(
        refused.to_string().contains("takes no --table"),
        "{refused}"
    );
}
