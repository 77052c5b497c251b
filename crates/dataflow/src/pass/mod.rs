//! General passes, by name (PerFlow, section 4.3.2).
//!
//! A pass is a row of a table: its arguments, outputs and parameters, and a plain function on sets. The function is
//! public too, so that it can be used without a dataflow. An error about an argument has the names of the argument and
//! of the pass; see
//! [`FlowError`](crate::flow::FlowError).

mod attribution;
mod backtracking;
mod breakdown;
mod call_tree;
mod called_from;
mod causal;
mod choose;
mod clusters;
mod contended;
mod contention;
mod differential;
mod edge_differential;
mod flat_profile;
mod graph;
mod groups;
mod hotspot;
mod imbalance;
mod matching;
mod matrix;
mod models;
mod owners;
mod pattern;
mod profile;
mod ratios;
mod resources;
mod source;
mod table;
mod ways;

pub use attribution::attribution;
pub use backtracking::backtracking;
pub use breakdown::breakdown;
pub use causal::causal;
pub use clusters::cluster_ranks;
pub use contention::contention;
pub use differential::{PLACES, Scale as Compared, differential, same_places};
pub use edge_differential::edge_differential;
pub use graph::{communities, components, whole};
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

use crate::flow::{Catalogue, Pass, PassError};
use crate::run::together::{RunError, same_program};
use headwater_graph::RankRows;
use headwater_graph::view::View;
use headwater_model::run::Header;
use std::sync::LazyLock;

/// The general passes, without those that make tables for people.
pub fn passes() -> Vec<Pass> {
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
        contended::passes(),
        ways::passes(),
        graph::passes(),
        matching::passes(),
        differential::passes(),
        edge_differential::passes(),
        resources::passes(),
    ];
    lists.into_iter().flatten().collect()
}

/// The passes that make tables for people.
pub fn tables() -> Vec<Pass> {
    table::passes()
}

/// A catalogue of the general passes alone.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> =
        LazyLock::new(|| Catalogue::new(passes().into_iter().chain(tables()), &[]));
    &CATALOGUE
}

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
///
/// # Errors
/// If they are of two programs.
pub fn of_one_program(first: &Header, second: &Header, argument: &str) -> Result<(), PassError> {
    let wrong = |e: RunError| PassError::Argument(argument.to_string(), e.to_string());
    same_program(first, second).map_err(wrong)
}
