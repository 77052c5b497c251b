//! Any bytes are a trace or are refused: never a panic, nor memory without end.

mod support;

use headwater_import::import;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use support::archive;
use tempfile::TempDir;

/// Bytes from one that is changed to the next.
const EACH: usize = 151;

/// The files of an archive, by their names in it.
fn files(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let numbers: &[u32] = if name == "locks" { &[1, 2] } else { &[] };
    let path = archive(dir.path(), name, numbers);
    let mut names = ["traces.otf2", "traces.def"].map(PathBuf::from).to_vec();
    let locations = std::fs::read_dir(path.join("traces")).expect("a directory");
    names.extend(locations.map(|l| Path::new("traces").join(l.expect("a file").file_name())));
    names.sort();
    let read = |name: PathBuf| {
        let bytes = std::fs::read(path.join(&name)).expect("a file");
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

/// The files of an archive of four ranks.
fn whole() -> &'static Vec<(PathBuf, Vec<u8>)> {
    static FILES: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| files("patterns"))
}

fn lay(dir: &Path, files: &[(PathBuf, Vec<u8>)]) {
    std::fs::create_dir_all(dir.join("traces")).expect("makes a directory");
    for (name, bytes) in files {
        std::fs::write(dir.join(name), bytes).expect("writes");
    }
}

/// Imports; what comes of it is a value or an error of one line.
fn take(dir: &TempDir) {
    let out = dir.path().join("run");
    let before = std::fs::read_dir(dir.path()).expect("a directory").count();
    match import(dir.path(), &out, None, |_, _| ()) {
        Ok(run) => {
            let read = headwater_format::read_run(&out).expect("is a run");
            assert_eq!(read.calls.len(), run.calls.len());
        }
        Err(e) => {
            assert!(!e.to_string().contains('\n'), "{e}");
            let left = std::fs::read_dir(dir.path()).expect("a directory").count();
            assert_eq!(left, before, "{e}");
        }
    }
}

/// A number of which the first byte is 255 is the largest there is, and what follows in its record is skipped.
#[test]
fn the_largest_and_no_numbers_anywhere_are_no_panic() {
    for name in ["patterns", "threads", "pauses", "windows", "locks"] {
        let whole = files(name);
        for file in 0..whole.len() {
            for at in (0..whole[file].1.len()).step_by(EACH) {
                for value in [255, 0] {
                    let mut files = whole.clone();
                    files[file].1[at] = value;
                    let dir = tempfile::tempdir().expect("a temporary directory");
                    lay(dir.path(), &files);
                    take(&dir);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn archives_of_any_bytes_are_no_panic(
        changes in prop::collection::vec((0..10_usize, any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of((0..10_usize, any::<prop::sample::Index>())),
    ) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut files = whole().clone();
        for (file, at, byte) in changes {
            let bytes = &mut files[file].1;
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some((file, at)) = cut {
            let bytes = &mut files[file].1;
            bytes.truncate(at.index(bytes.len()));
        }
        lay(dir.path(), &files);
        take(&dir);
    }
}

#[test]
fn bytes_that_are_no_archive_are_no_panic() {
    let mut seed = 7_u64;
    for _ in 0..60 {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut files = whole().clone();
        for (_, bytes) in files.iter_mut().skip(1) {
            // Behind a head as it should be.
            for byte in bytes.iter_mut().skip(18) {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (seed >> 40) as u8 % 90;
            }
        }
        lay(dir.path(), &files);
        take(&dir);
    }
}
