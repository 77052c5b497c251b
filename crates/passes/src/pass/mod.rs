//! The built-in passes, by name (PerFlow, section 4.3.2).
//!
//! A pass is a row of a table: what it takes and gives, its parameters, and a plain function on sets, which is
//! public too, so that a pass can be used without a dataflow.

mod backtracking;
mod breakdown;
mod causal;
mod causes;
mod choose;
mod contention;
mod critical;
mod differential;
mod efficiencies;
mod finders;
mod hotspot;
mod imbalance;
mod marks;
mod profile;
mod source;
mod table;
mod wait_states;

pub use backtracking::backtracking;
pub use breakdown::breakdown;
pub use causal::causal;
pub use contention::contention;
pub use differential::{Scale as Compared, differential};
pub use hotspot::hotspot;
pub use imbalance::imbalance;
pub use table::section_of;

use crate::flow::{Finding, FlowError, Found, Pass, PassError, Value};
use std::sync::{Arc, LazyLock};

static ALL: LazyLock<Vec<Arc<Pass>>> = LazyLock::new(|| {
    let lists = [
        source::passes(),
        choose::passes(),
        hotspot::passes(),
        imbalance::passes(),
        breakdown::passes(),
        profile::passes(),
        causal::passes(),
        backtracking::passes(),
        contention::passes(),
        differential::passes(),
        critical::passes(),
        wait_states::passes(),
        efficiencies::passes(),
        marks::passes(),
        finders::passes(),
        causes::passes(),
        table::passes(),
    ];
    lists.into_iter().flatten().map(Arc::new).collect()
});

/// All built-in passes.
pub fn all() -> &'static [Arc<Pass>] {
    &ALL
}

/// A built-in pass.
///
/// # Errors
/// If there is none of that name.
pub fn by_name(name: &str) -> Result<&'static Arc<Pass>, FlowError> {
    ALL.iter().find(|p| p.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|p| &*p.name).collect();
        FlowError::NoPass(name.to_string(), names.join(", "))
    })
}

/// What a pass gives that gives one stage of a diagnosis.
fn found(what: impl Found) -> Result<Vec<Value>, PassError> {
    Ok(vec![Finding::new(what).into()])
}
