//! A run written and read back is the run it was; damaged ones are errors, never a panic.

use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use headwater_format::{FormatError, open_run, read_run, spool::read_spool, write_run};
use headwater_model::run::*;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::path::Path;
use std::sync::Arc;

fn sample_run() -> Run {
    let context = |parent, offset, exact| Context {
        parent,
        module: 0,
        offset,
        exact,
    };
    Run {
        header: Header {
            name: "app.2".into(),
            ranks: 2,
            counters: vec!["page_faults".into()],
            nodes: vec!["n".into()],
            cores: vec![2],
            ..Default::default()
        },
        symbols: vec![Symbol {
            module: 0,
            offset: 16,
            function: true,
            name: "main".into(),
            file: "a.c".into(),
            first_line: 3,
            last_line: 9,
            ..Default::default()
        }],
        modules: vec![Module {
            path: "/home/u/app".into(),
            build_id: "ab12".into(),
        }],
        contexts: vec![context(CtxId::NONE, 16, false), context(CtxId(0), 32, true)],
        functions: vec!["MPI_Allreduce".into()],
        comms: vec![Comm {
            hash: u64::MAX,
            size: 2,
        }],
        ranks: (0..2)
            .map(|rank| RankInfo {
                rank,
                complete: rank == 0,
                cpus: "0-1".into(),
                cpu_ns: (rank == 0).then_some(7),
                core: (rank == 0).then_some(1),
                ..Default::default()
            })
            .collect(),
        threads: vec![ThreadInfo {
            rank: 1,
            thread: 1,
            made_by: CtxId(0),
            cpu_ns: 8,
            ..Default::default()
        }],
        teams: vec![TeamWork {
            thread: 1,
            team: CtxId(0),
            from: CtxId(0),
            to: CtxId(1),
            wait_ns: 3,
            ..Default::default()
        }],
        waits: vec![ThreadWait {
            locks: 5,
            thread: 1,
            ctx: CtxId(1),
            kind: WaitKind::Critical,
            holder: u16::MAX,
            count: 2,
            ..Default::default()
        }],
        regions: vec![Region {
            rank: 1,
            ctx: CtxId(1),
            begun: 4,
            ended: 3,
            count: 3,
            max_ns: 9,
            ..Default::default()
        }],
        region_times: vec![RegionTime {
            part: RegionPart::Slowest,
            index: 2,
            count: 1,
            wall_ns: 9,
            ..Default::default()
        }],
        usage: vec![Usage {
            rank: 1,
            peak_memory_bytes: Some(1 << 30),
            reads: Some(0),
            ..Default::default()
        }],
        file_systems: vec![FileSystem {
            rank: 1,
            name: "lustre".into(),
            mpi_opened: 2,
            open_at_end: 1,
            long_calls: 3,
            long_ns: 7,
        }],
        energy: vec![Energy {
            rank: 1,
            zone: "package-0".into(),
            wall_ns: 5,
            ..Default::default()
        }],
        samples: vec![Sample {
            rank: 1,
            after: CtxId::NONE,
            ctx: CtxId(1),
            count: 3,
            cpu_ns: 15,
            counters: vec![7],
            ..Default::default()
        }],
        segments: vec![Segment {
            from: CtxId::NONE,
            to: CtxId(0),
            count: 9,
            wall_ns: 100,
            cpu_ns: 90,
            ..Default::default()
        }],
        calls: vec![MpiCalls {
            ctx: CtxId(0),
            comm: u16::MAX,
            peer: peer::ANY,
            tag: i32::MIN,
            count: 5,
            ..Default::default()
        }],
        messages: vec![MessageEdge {
            src: 1,
            send_ctx: CtxId(0),
            sampled: 2,
            ..Default::default()
        }],
        collectives: vec![CollectiveWait {
            rank: 1,
            ctx: CtxId(0),
            wait_ns: 12,
            ..Default::default()
        }],
        events: (0..4)
            .map(|i| Event {
                rank: i / 2,
                ctx: CtxId(0),
                kind: EventKind::Send,
                first_of_call: true,
                link: i,
                peer: u32::MAX,
                enter_ns: u64::from(10 + i),
                ..Default::default()
            })
            // The next thread begins before the row above it.
            .chain([Event {
                rank: 1,
                thread: 1,
                ctx: CtxId(0),
                peer: u32::MAX,
                enter_ns: 5,
                ..Default::default()
            }])
            .collect(),
    }
}

#[test]
fn a_run_reads_back_as_it_was_written() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let dir = dir.path().join("app.2");
    let run = sample_run();
    write_run(&dir, &run).expect("writes");
    assert_eq!(read_run(&dir).expect("reads"), run);
    assert!(matches!(write_run(&dir, &run), Err(FormatError::Exists(_))));
}

#[test]
fn a_run_from_before_threads_were_recorded_can_be_read() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut run = sample_run();
    write_run(dir.path(), &run).expect("writes");
    let header = dir.path().join("run.json");
    let text = std::fs::read_to_string(&header).expect("reads");
    let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let later = [
        "threads",
        "teams",
        "waits",
        "usage",
        "file_systems",
        "energy",
    ];
    for table in later {
        std::fs::remove_file(dir.path().join(format!("{table}.parquet"))).expect("removes");
        assert!(read_run(dir.path()).is_err(), "{table} was written");
        json["tables"]
            .as_array_mut()
            .expect("tables")
            .retain(|name| name != table);
        std::fs::write(&header, json.to_string()).expect("writes");
    }
    (run.threads, run.teams, run.waits) = Default::default();
    (run.usage, run.file_systems, run.energy) = Default::default();
    assert_eq!(read_run(dir.path()).expect("reads"), run);
    // Earlier headers described each table.
    let names = json["tables"].as_array().expect("tables").clone();
    let described = names
        .iter()
        .filter_map(|n| Some((n.as_str()?.to_string(), serde_json::json!({}))));
    json["tables"] = serde_json::Value::Object(described.collect());
    std::fs::write(&header, json.to_string()).expect("writes");
    assert!(
        read_run(dir.path()).is_err(),
        "this format has a list there"
    );
    json["format"] = 1.into();
    std::fs::write(&header, json.to_string()).expect("writes");
    count_events_from_the_row_before(dir.path());
    assert_eq!(read_run(dir.path()).expect("reads"), run);
}

/// Makes the events of [`sample_run`] what formats 1 and 2 had: links as numbers, starts from the start of the row before.
fn count_events_from_the_row_before(dir: &Path) {
    let path = dir.join("events.parquet");
    let file = std::fs::File::open(&path).expect("opens");
    let mut reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|r| r.build())
        .expect("a reader");
    let batch = reader.next().expect("a batch").expect("reads");
    let schema = batch.schema();
    let columns = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, column)| {
            let older = |name, values: [u64; 5]| -> (String, ArrayRef) {
                (
                    String::from(name),
                    Arc::new(UInt64Array::from_iter_values(values)),
                )
            };
            match field.name().as_str() {
                "link_step" => older("link", [0, 1, 2, 3, 0]),
                "idle_ns" => older("enter_ns", [10, 1, 12, 1, 5]),
                name => (name.to_string(), Arc::clone(column)),
            }
        });
    let batch = RecordBatch::try_from_iter(columns.collect::<Vec<_>>()).expect("a batch");
    let file = std::fs::File::create(&path).expect("makes");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("writes");
    writer.close().expect("closes");
}

#[test]
fn a_table_without_rows_is_no_file() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut run = sample_run();
    run.waits.clear();
    run.samples.clear();
    write_run(dir.path(), &run).expect("writes");
    assert!(!dir.path().join("waits.parquet").exists());
    assert!(!dir.path().join("samples.parquet").exists());
    assert_eq!(read_run(dir.path()).expect("reads"), run);
}

#[test]
fn what_is_no_run_is_said_to_be_none() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    assert!(matches!(read_run(dir.path()), Err(FormatError::NotARun(_))));
    assert!(matches!(
        read_spool(dir.path()),
        Err(FormatError::NothingRecorded(_))
    ));
    std::fs::write(dir.path().join("unknown-library"), "Somebody's MPI").expect("writes");
    let error = open_run(dir.path()).expect_err("nothing was recorded");
    assert!(error.to_string().contains("Somebody's MPI"), "{error}");
    std::fs::write(dir.path().join("run.json"), r#"{"format": 99}"#).expect("writes");
    assert!(matches!(
        read_run(dir.path()),
        Err(FormatError::Newer { found: 99, .. })
    ));
}

#[test]
fn tables_cut_anywhere_are_damage_not_a_panic() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run_dir = dir.path().join("app.2");
    write_run(&run_dir, &sample_run()).expect("writes");
    let table = run_dir.join("segments.parquet");
    let whole = std::fs::read(&table).expect("reads");
    for len in (0..whole.len()).step_by(37) {
        std::fs::write(&table, &whole[..len]).expect("writes");
        assert!(
            matches!(read_run(&run_dir), Err(FormatError::Damaged { .. })),
            "cut to {len} bytes"
        );
    }
    std::fs::remove_file(&table).expect("removes");
    assert!(matches!(read_run(&run_dir), Err(FormatError::Io { .. })));
}

#[test]
fn ranks_that_left_nothing_are_not_believed_in_any_number() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut run = sample_run();
    run.header.ranks = 1 << 24;
    write_run(dir.path(), &run).expect("writes");
    match read_run(dir.path()) {
        Err(FormatError::Damaged { why, .. }) => assert!(why.contains("16777216 ranks"), "{why}"),
        other => panic!("{:?}", other.map(|run| run.header.ranks)),
    }
}

/// A process's data without rows.
fn blob(rank: u32, finished: bool) -> Vec<u8> {
    use headwater_format::spool::layout::*;
    let mut header = read_header(&vec![0; size_of::<FileHeader>()]).expect("as long as a header");
    (header.magic, header.version) = (MAGIC, VERSION);
    (header.rank, header.size) = (rank, 2);
    (header.finished, header.cpu_ns) = (u32::from(finished), 5);
    header_bytes(&header).to_vec()
}

#[test]
fn a_merged_file_that_is_cut_gives_the_ranks_that_are_whole() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut bytes = headwater_format::spool::layout::MERGED_MAGIC
        .to_le_bytes()
        .to_vec();
    for blob in [blob(0, true), blob(1, true)] {
        bytes.extend((blob.len() as u64).to_le_bytes());
        bytes.extend(blob);
    }
    let read = |len: usize| {
        std::fs::write(dir.path().join("merged.spool"), &bytes[..len]).expect("writes");
        read_spool(dir.path())
    };
    let whole = read(bytes.len()).expect("a whole file");
    assert_eq!((whole.ranks.len(), whole.header.missing.len()), (2, 0));
    let cut = read(bytes.len() - 1).expect("rank 0 is whole");
    assert_eq!((cut.ranks.len(), &cut.header.incomplete[..]), (1, &[1][..]));
    assert!(cut.header.missing[0].contains("nothing is left of rank 1."));
    assert!(matches!(read(1000), Err(FormatError::Damaged { .. })));
}

#[test]
fn what_a_rank_did_not_live_to_measure_is_missing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for rank in 0..2 {
        let file = dir.path().join(format!("host.{rank}.spool"));
        std::fs::write(file, blob(rank, rank == 0)).expect("writes");
    }
    let run = read_spool(dir.path()).expect("two ranks");
    let cpu: Vec<_> = run.ranks.iter().map(|r| r.cpu_ns).collect();
    assert_eq!(cpu, [Some(5), None]);
    assert!(run.ranks[1].minor_faults.is_none());
    assert!(run.header.missing[0].contains("rank 1"));
}

#[test]
fn records_lost_on_a_full_disk_are_distinguished_from_those_of_full_tables() {
    use headwater_format::spool::layout::*;
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (rank, disk_full) in [(0, 0), (1, 1)] {
        let mut header = read_header(&blob(rank, true)).expect("a header");
        (header.lost, header.tables) = (disk_full, 2);
        for (desc, kind) in header.descs.iter_mut().zip([Kind::Calls, Kind::Messages]) {
            (desc.kind, desc.dropped) = (kind as u32, 3);
        }
        let file = dir.path().join(format!("host.{rank}.spool"));
        std::fs::write(file, header_bytes(&header)).expect("writes");
    }
    let header = read_spool(dir.path()).expect("two ranks").header;
    assert_eq!(header.disk_full, [1]);
    assert_eq!(
        header.missing,
        [
            "The disk was full: records of rank 1 were lost, at least 3.",
            "Records of rank 0 were lost, 3 in all: their tables were full or could not grow.",
        ]
    );
}

#[test]
fn what_one_header_says_is_held_against_the_others() {
    use headwater_format::spool::layout::*;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let put = |name: u32, rank: u32, size: u32| {
        let mut bytes = blob(rank, true);
        let mut header = read_header(&bytes).expect("a header");
        (header.rank, header.size) = (rank, size);
        bytes = header_bytes(&header).to_vec();
        std::fs::write(dir.path().join(format!("host.{name}.spool")), bytes).expect("writes");
    };
    let why = || match read_spool(dir.path()) {
        Err(FormatError::Damaged { why, .. }) => why,
        Err(e) => e.to_string(),
        Ok(run) => format!("{} ranks", run.header.ranks),
    };
    (0..4).for_each(|rank| put(rank, rank, 4));
    assert_eq!(why(), "4 ranks");
    put(3, 3, 100_000);
    assert!(why().contains("is of a run of 100000 ranks, and others beside it are of one of 4"));
    put(3, 7, 4);
    assert!(why().contains("it holds rank 7 of 4 ranks"));
    // A rank that was killed before it knew its number, and one that never was.
    put(3, 0, 0);
    assert_eq!(why(), "4 ranks");
    (0..4).for_each(|rank| put(rank, rank, 1 << 24));
    assert!(why().contains("it says that there were 16777216 ranks, and only 4 left data"));
    // Nodes that kept theirs to themselves.
    (0..4).for_each(|rank| put(rank, rank, 4096));
    assert_eq!(why(), "4096 ranks");
}

#[test]
fn processes_that_each_ran_alone_are_counted() {
    use headwater_format::spool::layout::*;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let put = |name: u32, process: u32| {
        let mut header = read_header(&blob(0, true)).expect("a header");
        (header.size, header.pid) = (1, process);
        let file = dir.path().join(format!("host.{name}.spool"));
        std::fs::write(file, header_bytes(&header)).expect("writes");
    };
    let missing = || {
        let run = read_spool(dir.path()).expect("a run of one rank");
        assert_eq!(run.header.ranks, 1);
        run.header.missing
    };
    put(1, 41);
    // One that was killed after its data were merged, and before its own file was removed.
    put(2, 41);
    assert!(missing().is_empty(), "{:?}", missing());
    put(3, 42);
    put(4, 43);
    let sentences = missing();
    assert_eq!(sentences.len(), 1, "{sentences:?}");
    assert!(sentences[0].starts_with("3 processes each ran as rank 0 of 1"));
}

#[test]
fn spool_bytes_of_any_kind_are_no_panic() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("host.1.spool");
    let mut bytes = headwater_format::spool::layout::MAGIC
        .to_le_bytes()
        .to_vec();
    bytes.extend(headwater_format::spool::layout::VERSION.to_le_bytes());
    let mut state = 7u64;
    for len in (0..40_000).step_by(3999) {
        while bytes.len() < len {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            bytes.push((state >> 60) as u8);
        }
        std::fs::write(&file, &bytes[..len.min(bytes.len())]).expect("writes");
        let _ = read_spool(dir.path());
    }
    std::fs::write(dir.path().join("merged.spool"), b"nonsense").expect("writes");
    assert!(matches!(
        read_spool(dir.path()),
        Err(FormatError::Damaged { .. })
    ));
}

/// One page of repeated values represents any number of rows, as no writer makes it.
#[test]
fn a_small_table_that_claims_many_rows_is_refused() {
    const ROWS: usize = 1 << 21;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = dir.path().join("run");
    write_run(&run, &sample_run()).expect("writes");
    let path = run.join("calls.parquet");
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_data_page_row_count_limit(ROWS)
        .set_write_batch_size(ROWS)
        .set_max_row_group_row_count(Some(ROWS))
        .build();
    let column: ArrayRef = Arc::new(UInt64Array::from(vec![7; ROWS]));
    let batch = RecordBatch::try_from_iter([("count", column)]).expect("a column");
    let file = std::fs::File::create(&path).expect("a file");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("writes");
    writer.close().expect("closes");
    let bytes = std::fs::metadata(&path).expect("a file").len();
    assert!(bytes < 2000, "{bytes}");
    let refused = read_run(&run).expect_err("no writer made it").to_string();
    assert!(
        refused.contains("calls.parquet is damaged (it claims 2097152 rows,"),
        "{refused}"
    );
}

/// A run whose calls all repeat, which takes the least that a run can take.
#[test]
fn rows_that_all_repeat_are_read() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut run = sample_run();
    run.calls = vec![run.calls[0].clone(); 200_000];
    write_run(dir.path(), &run).expect("writes");
    assert_eq!(read_run(dir.path()).expect("reads").calls.len(), 200_000);
}

/// Only a user who may change owners of files can test this, which the tests' own machine allows.
#[test]
fn what_another_user_has_not_finished_is_left_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let spool = dir.path().join("spool");
    std::fs::create_dir(&spool).expect("a directory");
    let file = spool.join("node.0.1.spool");
    std::fs::write(&file, [0; 4096]).expect("a file");
    for path in [&file, &spool] {
        if std::os::unix::fs::chown(path, Some(4711), None).is_err() {
            return;
        }
        let error = open_run(dir.path()).expect_err("it is not ours");
        assert!(
            matches!(error, FormatError::AnotherOwner { owner: 4711, .. }),
            "{error}"
        );
        std::os::unix::fs::chown(path, Some(0), None).expect("as before");
    }
}

/// A link inside an unfinished run may lead to any other file of the user.
#[test]
fn links_in_an_unfinished_run_are_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (run, other) = (dir.path().join("run"), dir.path().join("other"));
    let spool = run.join("spool");
    std::fs::create_dir_all(&spool).expect("a directory");
    std::fs::create_dir(&other).expect("a directory");
    std::fs::write(other.join("node.0.1.spool"), [0; 4096]).expect("a file");
    let link = |from: &Path, to: &Path| std::os::unix::fs::symlink(from, to).expect("a link");
    let refused = |path: &Path| {
        let refused = open_run(&run).expect_err("there is a link");
        assert!(
            matches!(&refused, FormatError::Link(p) if p == path),
            "{refused}"
        );
    };
    let file = spool.join("node.0.1.spool");
    link(&other.join("node.0.1.spool"), &file);
    refused(&file);
    std::fs::remove_dir_all(&spool).expect("removes");
    link(&other, &spool);
    refused(&spool);
    // The run itself may be named by a link of the user's.
    std::fs::remove_file(&spool).expect("removes");
    std::fs::rename(&other, &spool).expect("moves");
    let named = dir.path().join("named");
    link(&run, &named);
    assert!(!matches!(open_run(&named), Err(FormatError::Link(_))));
}
