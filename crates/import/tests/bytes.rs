//! Any bytes are a trace or are refused: never a panic, nor memory without end.

mod support;

use headwater_import::import;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use support::archive;
use tempfile::TempDir;

/// The files of an archive, by their names in it.
fn whole() -> &'static Vec<(PathBuf, Vec<u8>)> {
    static FILES: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = archive(dir.path(), "patterns", &[]);
        let names = ["traces.otf2", "traces.def", "traces/0.def"].map(String::from);
        let events = (0..4).map(|rank| format!("traces/{rank}.evt"));
        let read = |name: String| {
            let bytes = std::fs::read(path.join(&name)).expect("a file");
            (PathBuf::from(name), bytes)
        };
        names.into_iter().chain(events).map(read).collect()
    })
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
    if let Err(e) = import(dir.path(), &out, |_, _| ()) {
        assert!(!e.to_string().contains('\n'), "{e}");
        assert!(!out.exists(), "{e}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn archives_of_any_bytes_are_no_panic(
        changes in prop::collection::vec((0..7_usize, any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of((0..7_usize, any::<prop::sample::Index>())),
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
