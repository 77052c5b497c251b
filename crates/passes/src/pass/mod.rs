//! The built-in passes, by name (PerFlow, section 4.3.2).
//!
//! A pass is a row of a table: its arguments, outputs and parameters, and a plain function on sets. The function is
//! public too, so that it can be used without a dataflow. An error about an argument has the names of the argument and
//! of the pass; see [`FlowError`].

mod answer;
mod attribution;
mod backtracking;
mod breakdown;
mod call_tree;
mod called_from;
mod causal;
mod causes;
mod choose;
mod clusters;
mod contention;
mod critical;
mod delay_cost;
mod differential;
mod edge_differential;
mod efficiencies;
mod finders;
mod flat_profile;
mod graph;
mod groups;
mod hotspot;
mod imbalance;
mod marks;
mod matching;
mod matrix;
mod models;
mod owners;
mod pattern;
mod profile;
mod ratios;
mod source;
mod table;
mod wait_states;
mod ways;

pub use answer::Answer;
pub use attribution::attribution;
pub use backtracking::backtracking;
pub use breakdown::breakdown;
pub use causal::causal;
pub use clusters::cluster_ranks;
pub use contention::contention;
pub use delay_cost::delay_cost;
pub use differential::{PLACES, Scale as Compared, differential, same_places};
pub use edge_differential::edge_differential;
pub use graph::{communities, components};
pub use groups::{classify, group};
pub use hotspot::hotspot;
pub use imbalance::imbalance;
pub use matching::matching;
pub use matrix::communication_matrix;
pub use models::{Over, scaling_models};
pub use ratios::counter_ratios;
pub use source::{on_ranks, over_ranks};
pub use table::{location, section_of};
pub use ways::{common_ancestor, depth_first, longest_path, reach, shortest_path};

use crate::cause::Candidates;
use crate::delay;
use crate::flow::{Catalogue, Finding, FlowError, Found, Pass, PassError, Value};
use crate::marks::Marks;
use crate::proposal::{Charged, Proposals};
use crate::scales::Scales;
use crate::teller::Ways;
use crate::together::{RunError, same_program};
use headwater_graph::RankRows;
use headwater_graph::view::View;
use headwater_model::run::Header;
use std::sync::{Arc, LazyLock};

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    let lists = [
        source::passes(),
        choose::passes(),
        groups::passes(),
        hotspot::passes(),
        imbalance::passes(),
        clusters::passes(),
        models::passes(),
        attribution::passes(),
        ratios::passes(),
        breakdown::passes(),
        flat_profile::passes(),
        call_tree::passes(),
        matrix::passes(),
        profile::passes(),
        causal::passes(),
        backtracking::passes(),
        contention::passes(),
        ways::passes(),
        graph::passes(),
        matching::passes(),
        differential::passes(),
        edge_differential::passes(),
        critical::passes(),
        wait_states::passes(),
        efficiencies::passes(),
        marks::passes(),
        finders::passes(),
        causes::passes(),
        delay_cost::passes(),
        answer::passes(),
        table::passes(),
    ];
    let stages = [
        Scales::STAGE,
        Marks::STAGE,
        Proposals::STAGE,
        Charged::STAGE,
        Candidates::STAGE,
        Ways::STAGE,
        delay::Costs::STAGE,
        causes::Causes::STAGE,
        Answer::STAGE,
    ];
    Catalogue::new(lists.into_iter().flatten(), &stages)
});

/// Figures of a metric over ranks; if it is not known by rank, an error that names the metrics that are.
fn by_rank<'a>(view: &'a View, metric: &str) -> Result<&'a RankRows, PassError> {
    // A change has no figures by rank: for a differential, those of the second run are used.
    let after = || view.rows.get(&format!("after_{metric}"));
    let rows = view.rows.get(metric).or_else(after).map(|rows| &**rows);
    rows.ok_or_else(|| {
        let known: Vec<&str> = view.rows.keys().map(String::as_str).collect();
        let known = if known.is_empty() {
            "nothing is".to_string()
        } else {
            format!("known are {}", known.join(", "))
        };
        let what = format!("{metric} is not known by rank; {known}");
        PassError::Argument("metric".to_string(), what)
    })
}

/// Refuses to compare figures of two programs; `argument` is where the second one's figures come from.
fn of_one_program(first: &Header, second: &Header, argument: &str) -> Result<(), PassError> {
    let wrong = |e: RunError| PassError::Argument(argument.to_string(), e.to_string());
    same_program(first, second).map_err(wrong)
}

/// All built-in passes, and the stages of a diagnosis.
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
fn found(what: impl Found) -> Result<Vec<Value>, PassError> {
    Ok(vec![Finding::new(what).into()])
}
