//! Files of ScalAna's artifact: what becomes of them, and which are refused.

use headwater_import::{ImportError, Settings, import, import_all};
use headwater_model::run::{CtxId, OUTSIDE, Part, Run, Symbol};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `main` calls MPI_Init, and then in a loop a function through a pointer and MPI_Allreduce. Beside its tree are `work`,
/// which nobody calls directly, and `other`, which is never reached. Types beyond ScalAna's are unknown.
const OUT: &str = "3
0 -4 -4 -4 4 0 0 10 60
1 0 0 0 0 0 0 12 12
2 -1 -1 -1 2 0 0 20 40
3 -7 -7 -7 0 0 0 22 22
4 37 37 37 0 0 0 30 30
5 -8 -1 -5 0 0 0 45 50
6 2 2 2 0 0 0 58 58
7 -4 -4 -4 1 0 1 100 130
8 -1 -1 -1 0 0 1 110 120
9 -4 -4 -4 1 0 1 200 210
10 -10 -10 -10 0 -1 -1 -1 -1
1
/home/u/app
2
main.c
work.c
";

/// The call through a pointer reaches `work` once, and MPI_Allreduce runs three times; MPI_Init is never left.
const LOG: &str = "Y 1 0
Y 3 -7
Y 7 -4
T 7 -4
T 3 -7
Y 4 37
T 4 37
Y 4 37
T 4 37
Y 4 37
T 4 37
";

/// Two samples in the loop of `work`, one of them with a library's frame inside; one in MPI_Allreduce; one in what was
/// merged; one in the loop of `main` itself; two outside: of a thread, and in the library alone.
const SAMPLES: &str = "work.c:115
main.c:22
start.c:3

libm.c:7 (discriminator 2)
work.c:112
main.c:22

main.c:30

main.c:47

main.c:35

pool.c:5
clone.c:3

??:?
";

fn write(dir: &Path, files: &[(&str, &str)]) {
    std::fs::create_dir_all(dir).expect("a directory");
    for (name, text) in files {
        std::fs::write(dir.join(name), text).expect("a file");
    }
}

fn imported(dir: &Path) -> Result<Run, ImportError> {
    let out = dir.with_file_name("run");
    import(dir, &out, Some("app"), |_, _| ())
}

fn symbol(run: &Run, ctx: CtxId) -> &Symbol {
    let context = ctx.index().and_then(|i| run.contexts.get(i));
    let at = context.expect("a context").lookup();
    let own = run.symbols.iter().rev().find(|s| s.offset <= at);
    own.expect("a symbol")
}

/// Samples of a rank by the first line of their vertex; 0 is outside.
fn by_line(run: &Run, rank: u32) -> BTreeMap<u32, u32> {
    let mut out = BTreeMap::new();
    for sample in run.samples.iter().filter(|s| s.rank == rank) {
        let symbol = symbol(run, sample.ctx);
        assert_eq!(symbol.first_line == 0, symbol.name == OUTSIDE);
        *out.entry(symbol.first_line).or_default() += sample.count;
    }
    out
}

#[test]
fn stacks_become_samples_of_the_completed_tree() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let scale = dir.path().join("4");
    let files = [
        ("out.txt", OUT),
        ("LOG0.TXT", LOG),
        ("SAMPLE0.TXT-symb", SAMPLES),
        // Without empty lines, what addr2line does not know ends a stack.
        (
            "SAMPLE2.TXT-symb",
            "main.c:30\n??:0\nwork.c:100\nmain.c:22\n??:0\n??:0\n",
        ),
    ];
    write(&scale, &files);
    let run = imported(&scale).expect("a run");
    // The directory is named 4, rank 1 has no file, and neither has rank 3.
    assert_eq!(
        (run.header.ranks, &*run.header.incomplete),
        (4, &[1, 3][..])
    );
    assert_eq!(run.header.sampling_hz, 200.0);
    // The loop of `main` has 35 between its vertices, which is computation from 31 on.
    let first = [(0, 2), (31, 1), (45, 1), (110, 2)];
    assert_eq!(by_line(&run, 0), first.into_iter().collect());
    assert_eq!(by_line(&run, 2), [(100, 1)].into_iter().collect());
    let calls: Vec<_> = (run.calls.iter())
        .map(|c| (c.rank, run.function(c.func), c.count, c.wall_ns))
        .collect();
    let ms = 1_000_000;
    assert_eq!(
        calls,
        [
            (0, "MPI_Init", 1, 0),
            (0, "MPI_Allreduce", 3, 5 * ms),
            (2, "MPI_Allreduce", 0, 5 * ms),
        ]
    );
    // `work` is called through the pointer in the loop.
    let work = run
        .samples
        .iter()
        .find(|s| symbol(&run, s.ctx).first_line == 110);
    let caller = work.map(|s| run.contexts[s.ctx.index().expect("one")].parent);
    let caller = symbol(&run, caller.expect("a caller"));
    assert_eq!((caller.part, caller.first_line), (Part::IndirectCall, 22));
    let said = run.header.missing.join("\n");
    for words in [
        "no communication edges",
        "200 samples per second, as in ScalAna's paper",
        "2 of 9 samples (22.22 %)",
        "1 vertices have types",
        "Of some MPI vertices the number of calls is not known",
    ] {
        assert!(said.contains(words), "no \"{words}\" in: {said}");
    }
}

/// The tree after the run: what `work` did is below the call, and computation is behind the other vertices.
const STAT: &str = "0 -4 2 0 0 10 60 0 0 
1 -1 2 0 0 20 40 5 0.05 
2 37 0 0 0 30 30 90 0.9 
3 -9 0 0 0 31 40 4 0.04 
4 2 0 0 0 58 58 0 0 
1
/home/u/app
1
main.c
";

#[test]
fn samples_of_stat_files_are_taken_as_they_are() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    // With a number of trees before, with the columns of out.txt, of a rank without samples.
    let counted = format!("1\n{STAT}");
    let idle = "0 -4 -4 -4 2 0 0 10 60 0 -nan
1 -1 -1 -1 2 0 0 20 40 0 -nan
2 37 37 37 0 0 0 30 30 0 -nan
3 -9 -9 -9 0 0 0 31 40 0 -nan
4 2 2 2 0 0 0 58 58 0 -nan
1
/home/u/app
1
main.c
";
    write(&a, &[("stat0.txt", STAT), ("stat1.txt", &counted)]);
    write(
        &b,
        &[
            ("stat0.txt", STAT),
            ("stat1.txt", idle),
            ("stat2.txt", STAT),
        ],
    );
    let settings = Settings {
        sampling_hz: Some(100),
        ..Default::default()
    };
    let out = dir.path().join("all");
    let runs = import_all(&[a, b], &out, &settings, |_, _| ()).expect("two runs");
    let dirs: Vec<PathBuf> = runs.iter().map(|r| r.0.clone()).collect();
    assert_eq!(dirs, [out.join("all.2"), out.join("all.3")]);
    let run = &runs[0].1;
    for rank in 0..2 {
        // One of a hundred is in no vertex.
        let all = [(0, 1), (20, 5), (31, 4)];
        assert_eq!(by_line(run, rank), all.into_iter().collect());
    }
    assert_eq!(run.header.wall_seconds, 1.0);
    assert_eq!(by_line(&runs[1].1, 1), BTreeMap::new());
    // What is behind the call in the loop comes before it again, and so does the loop's own time.
    let ends =
        |s: &headwater_model::run::Segment| [s.from, s.to].map(|c| symbol(run, c).first_line);
    let mut segments: Vec<_> = run.segments.iter().map(ends).collect();
    segments.dedup();
    assert_eq!(segments, [[30, 30]]);
    // Both scales have the same places.
    assert_eq!(run.symbols, runs[1].1.symbols);
    let read = headwater_format::read_run(&dirs[0]).expect("a run");
    assert_eq!(&read.header.name, "all.2");
}

#[test]
fn files_that_contradict_themselves_are_refused_by_their_line() {
    let stat = |from: &str, to: &str| {
        assert!(STAT.contains(from), "{from}");
        STAT.replacen(from, to, 1)
    };
    let out = |from: &str, to: &str| {
        assert!(OUT.contains(from), "{from}");
        OUT.replacen(from, to, 1)
    };
    let alone = |text: String, words: &'static [&'static str]| (vec![("stat0.txt", text)], words);
    let of_out = |text: String, words: &'static [&'static str]| {
        let samples = ("SAMPLE0.TXT-symb", "main.c:30\n".to_string());
        (vec![("out.txt", text), samples], words)
    };
    let with = |name, text: &str, words: &'static [&'static str]| {
        let samples = ("SAMPLE0.TXT-symb", SAMPLES.to_string());
        let all = vec![
            ("out.txt", OUT.to_string()),
            samples,
            (name, text.to_string()),
        ];
        (all, words)
    };
    let cases = [
        alone(String::new(), &["stat0.txt, line 0: the file is empty"]),
        alone(
            stat("0 -4 2", "0 -4 3"),
            &["line 1: vertex 0 should have 3 children, but the tables begin after 2"],
        ),
        alone(
            stat("-4 2 0 0 10", "-4 99999999999 0 0 10"),
            &["line 1", "99999999999 children"],
        ),
        alone(
            stat("0 -4 2", "0 -4 1"),
            &["line 5: the number of directories should be here"],
        ),
        alone(STAT[..60].to_string(), &["line 3"]),
        alone(
            stat("30 90 0.9", "30 90"),
            &["line 3: a vertex has 9 columns here (or 11), and there are 8"],
        ),
        alone(
            stat("3 -9", "1 -9"),
            &["line 4: vertex 1 is another one than vertex 1 on line 2"],
        ),
        alone(
            stat("2 37 0 0 0", "2 37 0 0 7"),
            &["line 3: file 7 is not in the table of 1"],
        ),
        alone(
            stat("2 37 0 0 0", "2 37 0 3 0"),
            &["line 3: directory 3 is not"],
        ),
        alone(stat("90 0.9", "90 0.09"), &["line 2", "by line 3"]),
        alone(
            stat("90 0.9", "90 1.9"),
            &["line 3: the share of time is not between 0 and 1: 1.9"],
        ),
        alone(
            stat("90 0.9", "90 0"),
            &["line 3: 90 samples cannot be a share of 0"],
        ),
        alone(
            stat("90 0.9", "-90 0.9"),
            &["line 3: the number of samples is no number"],
        ),
        alone(
            stat("\n1\nmain.c\n", "\n2\nmain.c\n"),
            &["there should be 2 files, but the file ends after 1"],
        ),
        alone(
            stat("\n1\nmain.c\n", "\n"),
            &["ends before its table of files"],
        ),
        (
            vec![
                ("stat0.txt", STAT.to_string()),
                ("stat1.txt", stat("20 40", "20 41")),
            ],
            &[
                "stat1.txt, line 2: the tree is not that of",
                "vertex 1 is another one",
            ],
        ),
        (
            vec![
                ("stat0.txt", STAT.to_string()),
                ("out.txt", OUT.to_string()),
            ],
            &[
                "stat0.txt, line 2: vertex 1 is of another type on line 3 of",
                "out.txt",
            ],
        ),
        of_out(
            out("3\n0", "0"),
            &["out.txt, line 1: it should be the number of trees alone"],
        ),
        of_out(
            out("3\n0", "9\n0"),
            &["line 13: the tables begin before all trees are there"],
        ),
        of_out(out("3\n0", "0\n0"), &["line 2"]),
        of_out(
            out("1 0 0 0 0 0 0 12 12", "1 x 0 0 0 0 0 12 12"),
            &["line 3: the type is no number that can be there: x"],
        ),
        with(
            "LOG0.TXT",
            "Y 4 37\nT 4 37\nT 4 37\n",
            &["LOG0.TXT, line 3: vertex 4 is left, and was not entered before"],
        ),
        with(
            "LOG0.TXT",
            "Y 99 -1\n",
            &["line 1", "out.txt has no vertex 99"],
        ),
        with(
            "LOG0.TXT",
            "Y 4 -1\n",
            &["line 1: vertex 4 is of another type on line 6 of"],
        ),
        with(
            "LOG0.TXT",
            "X 4 37\n",
            &["line 1: an event is Y or T, and not X"],
        ),
        with(
            "LOG0.TXT",
            "Y 4\n",
            &["line 1: an event is Y or T, the id of a vertex and its type"],
        ),
        with(
            "SAMPLE1.TXT-symb",
            "main.c:30\nmain.c\n",
            &["SAMPLE1.TXT-symb, line 2: a frame is a file, a colon and a line"],
        ),
        with(
            "in.txt",
            "3 MPI_Send\n3 MPI_Recv\n",
            &["in.txt, line 2: 3 is the id of MPI_Send as well"],
        ),
        with(
            "headwater.txt",
            "samples-per-second 0\n",
            &["headwater.txt, line 1: 0 are no samples per second"],
        ),
        (
            vec![("SAMPLE0.TXT-symb", SAMPLES.to_string())],
            &["the tree of vertices is missing", "out.txt is not there"],
        ),
        (
            vec![("SAMPLE0.TXT", "0x4005\n".to_string())],
            &["SAMPLE0.TXT", "parse.sh"],
        ),
        (
            vec![
                ("out.txt", OUT.to_string()),
                ("SAMPLE0.TXT-symb", "a.c:1\n".to_string()),
            ],
            &["no sample is at a vertex of the tree"],
        ),
        (
            vec![
                ("stat0.txt", STAT.to_string()),
                ("stat00.txt", STAT.to_string()),
            ],
            &["stat00.txt", "of the same rank as", "stat0.txt"],
        ),
        (
            vec![(
                "stat0.txt",
                "0 -4 0 -1 -1 -1 -1 999999999999 1\n0\n0\n".to_string(),
            )],
            &["rank 0 has 999999999999 samples"],
        ),
    ];
    for (files, words) in cases {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let scale = dir.path().join("scale");
        let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (*n, t.as_str())).collect();
        write(&scale, &files);
        let error = imported(&scale).expect_err("refused").to_string();
        for word in words {
            assert!(error.contains(word), "no \"{word}\" in: {error}");
        }
        assert_eq!(error.lines().count(), 1, "{error}");
        let there = std::fs::read_dir(dir.path()).expect("a directory").count();
        assert_eq!(there, 1, "nothing is left: {error}");
    }
}

#[test]
fn deep_trees_and_functions_that_call_themselves_through_pointers_come_to_an_end() {
    let deep = |depth: usize| {
        let line = |at: usize| {
            let children = usize::from(at + 1 < depth);
            format!("{at} -1 {children} -1 -1 -1 -1 0 0\n")
        };
        let lines: String = (0..depth).map(line).collect();
        // The root is a function.
        lines.replacen("0 -1", "0 -4", 1).replace(
            &format!("{} -1 0 -1 -1 -1 -1 0 0", depth - 1),
            &format!("{} -1 0 -1 -1 -1 -1 2 1", depth - 1),
        ) + "0\n0\n"
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let scale = dir.path().join("scale");
    write(&scale, &[("stat0.txt", &deep(900))]);
    let run = imported(&scale).expect("a run");
    assert_eq!(run.samples.len(), 1);
    write(&scale, &[("stat0.txt", &deep(2000))]);
    let again = import(&scale, &dir.path().join("again"), None, |_, _| ());
    let error = again.expect_err("too deep").to_string();
    assert!(
        error.contains("line 1001: more than 1000 vertices"),
        "{error}"
    );
    // Two functions that call each other, and each itself.
    let out = "3
0 -4 -4 -4 1 0 0 1 9
1 -7 -7 -7 0 0 0 5 5
2 -4 -4 -4 1 0 0 20 29
3 -7 -7 -7 0 0 0 25 25
4 -4 -4 -4 1 0 0 40 49
5 -7 -7 -7 0 0 0 45 45
1
d
1
a.c
";
    let log = "Y 1 -7\nY 2 -4\nY 3 -7\nY 4 -4\nY 5 -7\nY 2 -4\nY 3 -7\nY 2 -4\nY 5 -7\nY 4 -4\n";
    let files = [
        ("out.txt", out),
        ("LOG0.TXT", log),
        ("SAMPLE0.TXT-symb", "a.c:46\na.c:25\na.c:5\n"),
    ];
    let scale = dir.path().join("calls");
    write(&scale, &files);
    let run = import(&scale, &dir.path().join("called"), None, |_, _| ()).expect("a run");
    assert_eq!(by_line(&run, 0), [(46, 1)].into_iter().collect());
}

/// What a word of a file is changed to.
const WORDS: [&str; 12] = [
    "",
    "-1",
    "-2",
    "-4",
    "-7",
    "0",
    "1",
    "7",
    "2147483648",
    "1e308",
    "99999999999999999999",
    "\n\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_files_say_there_is_a_run_or_one_line(
        which in 0_usize..5,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..WORDS.len()), 1..4),
    ) {
        let mut files = [
            ("out.txt", OUT.to_string()),
            ("LOG0.TXT", LOG.to_string()),
            ("SAMPLE0.TXT-symb", SAMPLES.to_string()),
            ("in.txt", "0 MPI_Init\n37 MPI_Allreduce\n".to_string()),
            ("stat1.txt", STAT.to_string()),
        ];
        let mut words: Vec<&str> = files[which].1.split_inclusive([' ', '\n', ':']).collect();
        for (at, to) in &changes {
            let at = at.index(words.len());
            words[at] = WORDS[*to];
        }
        files[which].1 = words.join(" ");
        let dir = tempfile::tempdir().expect("a temporary directory");
        let scale = dir.path().join("scale");
        // The file of vertices with samples is of another program, so it is there only to be changed itself.
        let last = if which == 4 { 5 } else { 4 };
        let first = if which == 4 { 3 } else { 0 };
        let files: Vec<(&str, &str)> = files[first..last].iter().map(|(n, t)| (*n, t.as_str())).collect();
        write(&scale, &files);
        match imported(&scale) {
            Ok(run) => prop_assert!(run.header.ranks > 0),
            Err(e) => {
                let e = e.to_string();
                prop_assert_eq!(e.lines().count(), 1, "{}", e);
                prop_assert!(!dir.path().join("run").exists());
            }
        }
    }
}
