//! Programs that name their tasks by Intel's ITT: its static part, as it is published, finds the collector.

use crate::case::{Case, PLAIN, RECORDED, alone, under};
use crate::counts::{calls, said};
use crate::regions::{around, of};
use std::path::PathBuf;
use std::process::Command;

/// Where the sources of ITT are.
///
/// Of the packages for other systems, a fresh machine has none: they are not asked for.
fn sources() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let here = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let out = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--filter-platform", &here])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let package = packages.iter().find(|p| p["name"] == "ittapi-sys");
    let manifest = package.and_then(|p| p["manifest_path"].as_str());
    let manifest = PathBuf::from(manifest.expect("a development dependency"));
    manifest.with_file_name("c-library")
}

fn case() -> Option<Case> {
    let at = sources();
    let include = format!("-I{}", at.join("include").display());
    let inner = format!("-I{}", at.join("src/ittnotify").display());
    let part = at.join("src/ittnotify/ittnotify_static.c");
    let part = part.display().to_string();
    under(
        "openmpi",
        "itt.c",
        &[&include, &inner, &part, "-ldl", "-pthread"],
    )
}

#[test]
fn tasks_and_frames_of_itt_are_regions() {
    let _alone = alone();
    let Some(case) = case() else {
        return;
    };
    let bare = case.run(PLAIN, &[]);
    let named = r#"export INTEL_LIBITTNOTIFY64="$COLLECTOR";"#;
    let out = case.run(&format!("{RECORDED} {named} {PLAIN}"), &[]);
    assert_eq!(
        (out.status, &out.stdout),
        (bare.status, &bare.stdout),
        "{out:?}"
    );
    let run = case.recorded();
    for rank in 0..2 {
        for name in ["late", "step", "solve"] {
            let rows = of(&run, rank, name);
            let counts: Vec<_> = rows.iter().map(|r| (r.begun, r.ended, r.count)).collect();
            assert_eq!(counts, [(200, 200, 200)], "{name}");
        }
        assert!(of(&run, rank, "early").is_empty());
    }
    for call in calls(&run, "MPI_Barrier") {
        assert_eq!(around(&run, call.ctx), ["late", "step", "solve"]);
    }
    // A task ends those inside of it, also those of other domains.
    for call in calls(&run, "MPI_Allreduce") {
        assert_eq!(around(&run, call.ctx), ["outer", "inner"]);
    }
    for call in calls(&run, "MPI_Bcast") {
        assert!(around(&run, call.ctx).is_empty());
    }
    assert_eq!(said(&run, "did not nest: inner (2 times)"), 1);
    // Another tool's library, which this one is not: the program runs as it does alone.
    let out = case.run(&format!("{named} {PLAIN}"), &[]);
    assert_eq!(
        (out.status, out.stdout),
        (bare.status, bare.stdout),
        "{:?}",
        out.stderr
    );
}
