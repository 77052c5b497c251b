//! A case recorded by Headwater and diagnosed, as its users do it.

use super::codes::Tree;
use super::manifest::Manifest;
use crate::setup;
use crate::shell::{HANGING, output, within};
use headwater_model::diagnosis::Diagnosis;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the recording on so many ranks is.
fn spool(place: &Path, ranks: u32) -> PathBuf {
    place.join(format!("p{ranks}"))
}

/// Records all scales once and diagnoses them alone; the JSON is written beside the recordings.
pub fn record(tree: &Tree, manifest: &Manifest, place: &Path) -> Result<Diagnosis, String> {
    let _ = std::fs::remove_dir_all(place);
    std::fs::create_dir_all(place).map_err(|e| e.to_string())?;
    let dose = manifest
        .planted
        .as_ref()
        .map_or(&[][..], |p| &p.environment);
    let mut environment = dose.to_vec();
    environment.push(("HW_DIR".into(), place.display().to_string()));
    for ranks in &manifest.scales {
        let each = [
            setup::headwater().into(),
            "exec".into(),
            "--quiet".into(),
            "--spool".into(),
            spool(place, *ranks).into(),
            "--".into(),
        ];
        output(&mut tree.command_under(*ranks, &environment, &each)?)
            .map_err(|e| format!("recording on {ranks} ranks: {e}"))?;
    }
    // What the planted code wrote says nothing.
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("io.") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    diagnose(manifest, place)
}

/// Diagnoses a recording that is there.
pub fn diagnose(manifest: &Manifest, place: &Path) -> Result<Diagnosis, String> {
    let runs: Vec<PathBuf> = manifest.scales.iter().map(|n| spool(place, *n)).collect();
    let mut command = Command::new(setup::headwater());
    command.args(["diagnose", "--quiet", "--json"]);
    if manifest.wish.scaling_given {
        command.args(["--scaling", &manifest.scaling]);
    }
    let text = output(&mut within(HANGING, command.args(&runs)))?;
    std::fs::write(place.join("diagnosis.json"), &text).map_err(|e| e.to_string())?;
    serde_json::from_str(&text).map_err(|e| format!("the diagnosis cannot be read: {e}"))
}
