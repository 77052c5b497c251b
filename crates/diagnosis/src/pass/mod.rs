//! The steps of a diagnosis as passes, and the catalogue of all built-in passes.

mod answer;
mod causes;
mod critical;
mod delay_cost;
mod efficiencies;
mod finders;
mod marks;
mod wait_states;

pub use answer::Answer;
pub use delay_cost::delay_cost;
pub use efficiencies::of_diagnosis as efficiencies;
pub use wait_states::wait_state;

use crate::explain::cause_maker::BacktrackingPaths;
use crate::find::candidate::Candidates;
use crate::find::proposal::{Charged, Proposals};
use crate::measure::marks::Marks;
use crate::measure::scales::Scales;
use crate::price::delay;
use headwater_dataflow::flow::{
    Catalogue, Finding, FlowError, Pass, PassError, StageResult, Value,
};
use headwater_dataflow::pass as general;
use std::sync::{Arc, LazyLock};

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let lists = [
        general::passes(),
        critical::passes(),
        wait_states::passes(),
        efficiencies::passes(),
        marks::passes(),
        finders::passes(),
        causes::passes(),
        delay_cost::passes(),
        answer::passes(),
        general::tables(),
    ];
    let stages = [
        Scales::STAGE,
        Marks::STAGE,
        Proposals::STAGE,
        Charged::STAGE,
        Candidates::STAGE,
        BacktrackingPaths::STAGE,
        delay::Costs::STAGE,
        causes::Causes::STAGE,
        Answer::STAGE,
    ];
    Catalogue::new(lists.into_iter().flatten(), &stages)
});

/// All built-in passes, general ones and those of a diagnosis, and the stages of a diagnosis.
pub fn catalogue() -> &'static Catalogue {
    &CATALOGUE
}

/// All built-in passes.
pub fn all() -> &'static [Arc<Pass>] {
    CATALOGUE.passes()
}

/// A built-in pass.
///
/// # Errors
/// If there is none of that name.
pub fn by_name(name: &str) -> Result<&'static Arc<Pass>, FlowError> {
    CATALOGUE.by_name(name)
}

/// The result of a pass that returns one stage of a diagnosis.
fn found(what: impl StageResult) -> Result<Vec<Value>, PassError> {
    Ok(vec![Finding::new(what).into()])
}
