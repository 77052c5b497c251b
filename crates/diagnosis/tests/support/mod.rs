//! The diagnosis of runs made by hand.

#[path = "../../../dataflow/tests/support/mod.rs"]
mod made;

use headwater_diagnosis::{DiagnoseError, Options, impossible};
use headwater_graph::Structures;
use headwater_model::diagnosis::Diagnosis;
use headwater_model::run::Run;
#[allow(unused_imports, reason = "a test file may make its own runs")]
pub use made::*;

/// The diagnosis of runs, of which none may say the impossible.
#[allow(dead_code, reason = "a test file may want the plain one")]
pub fn diagnose(
    runs: Vec<Run>,
    structures: Structures,
    options: &Options,
) -> Result<Diagnosis, DiagnoseError> {
    let d = headwater_diagnosis::diagnose(runs, structures, options)?;
    assert_eq!(impossible(&d), Vec::<String>::new());
    Ok(d)
}
