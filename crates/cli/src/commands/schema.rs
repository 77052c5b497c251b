//! `schema`: the JSON schemas of what `--json` prints, made from the types that are printed.

use super::{Outcome, doctor, link_flags, record, replay, show, simulate, structure};
use crate::args::Described;
use crate::output::print;
use headwater_model::diagnosis::Diagnosis;
use headwater_model::report::Report;
use headwater_viewer::model::Page;
use schemars::{Schema, schema_for};

/// `headwater schema`.
pub fn command(which: Described) -> Outcome {
    let schema: Schema = match which {
        Described::Diagnose => schema_for!(Diagnosis),
        Described::Analyse => schema_for!(Report),
        Described::Record => schema_for!(record::RecordJson),
        Described::Show => schema_for!(show::Shown),
        Described::Simulate => schema_for!(simulate::Simulation),
        Described::Replay => schema_for!(replay::Replay),
        Described::Structure => schema_for!(structure::Structure),
        Described::Doctor => schema_for!(doctor::Doctor),
        Described::LinkFlags => schema_for!(link_flags::LinkFlags),
        Described::Page => schema_for!(Page),
    };
    let text = serde_json::to_string_pretty(&schema);
    print(&(text.map_err(|e| format!("cannot make JSON of the schema: {e}"))? + "\n"))
}
