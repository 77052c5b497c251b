//! A case recorded by Headwater and diagnosed, as its users do it.

use super::codes::Tree;
use super::manifest::Manifest;
use crate::setup;
use crate::shell::{Done, HANGING, output, within};
use headwater_model::diagnosis::Diagnosis;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a repetition, from 0, of the recording on so many ranks is.
fn spool(place: &Path, ranks: u32, repetition: usize) -> PathBuf {
    place.join(format!("p{ranks}.{repetition}"))
}

/// Records all scales, and all again, `repeat` times altogether, as `headwater run --repeat` does.
pub fn record(tree: &Tree, manifest: &Manifest, place: &Path, repeat: usize) -> Done {
    let _ = std::fs::remove_dir_all(place);
    std::fs::create_dir_all(place).map_err(|e| e.to_string())?;
    let dose = manifest
        .planted
        .as_ref()
        .map_or(&[][..], |p| &p.environment);
    let mut environment = dose.to_vec();
    environment.push(("HW_DIR".into(), place.display().to_string()));
    for repetition in 0..repeat {
        for ranks in &manifest.scales {
            let each = [
                setup::headwater().into(),
                "exec".into(),
                "--quiet".into(),
                "--spool".into(),
                spool(place, *ranks, repetition).into(),
                "--".into(),
            ];
            output(&mut tree.command_under(*ranks, &environment, &each)?)
                .map_err(|e| format!("recording on {ranks} ranks: {e}"))?;
        }
    }
    // What the planted code wrote says nothing.
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("io.") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Whether so many repetitions of a recording are there.
pub fn are_there(manifest: &Manifest, place: &Path, repeat: usize) -> bool {
    let of_scale = |n: &u32| (0..repeat).all(|i| spool(place, *n, i).exists());
    manifest.scales.iter().all(of_scale)
}

/// Diagnoses the first `repeat` repetitions of a recording together; the JSON is written beside them.
pub fn diagnose(manifest: &Manifest, place: &Path, repeat: usize) -> Result<Diagnosis, String> {
    let of_scale = |n: &u32| (0..repeat).map(|i| spool(place, *n, i)).collect::<Vec<_>>();
    let runs: Vec<PathBuf> = manifest.scales.iter().flat_map(of_scale).collect();
    let mut command = Command::new(setup::headwater());
    command.args(["diagnose", "--quiet", "--json"]);
    if manifest.wish.scaling_given {
        command.args(["--scaling", &manifest.scaling]);
    }
    let text = output(&mut within(HANGING, command.args(&runs)))?;
    std::fs::write(place.join(format!("diagnosis.{repeat}.json")), &text)
        .map_err(|e| e.to_string())?;
    serde_json::from_str(&text).map_err(|e| format!("the diagnosis cannot be read: {e}"))
}
