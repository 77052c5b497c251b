//! `schema`: the JSON schema of what `--json` gives, made from the types that give it.

use super::{Outcome, doctor, link_flags, record, structure};
use crate::args::Described;
use crate::output::print;
use headwater_model::diagnosis::Diagnosis;
use headwater_model::report::Report;
use schemars::{Schema, schema_for};

/// `headwater schema`.
pub fn command(which: Described) -> Outcome {
    let schema: Schema = match which {
        Described::Diagnose => schema_for!(Diagnosis),
        Described::Analyse => schema_for!(Report),
        Described::Record => schema_for!(record::Told),
        Described::Structure => schema_for!(structure::Told),
        Described::Doctor => schema_for!(doctor::Told),
        Described::LinkFlags => schema_for!(link_flags::Told),
    };
    let text = serde_json::to_string_pretty(&schema);
    print(&(text.map_err(|e| format!("cannot make JSON of the schema: {e}"))? + "\n"))
}
