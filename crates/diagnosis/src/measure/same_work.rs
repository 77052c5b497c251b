//! Whether a place does the same on all ranks and at all scales, by what the compiler knows of its bounds and conditions
//! (ScalAna, section III-A).

use crate::measure::scale::Scale;
use headwater_graph::{Deciding, Pag, VertexIx};
use headwater_model::dependence::{Origin, Source};
use headwater_model::psg::VertexKind;

/// Origins that differ between ranks or scales.
pub const VARYING: [Origin; 4] = [
    Origin::Size,
    Origin::Rank,
    Origin::Message,
    Origin::Reduction,
];

/// Whether the compiler knows all that decides how much a place does.
pub fn is_known(deciding: &Deciding<'_>) -> bool {
    deciding.complete && deciding.conditions.iter().all(|(_, c)| c.is_known())
}

/// Whether how often a place runs does not depend on the number of ranks, and is the same on all of them: only constants and
/// arguments of the program decide it.
pub fn runs_the_same(deciding: &Deciding<'_>) -> bool {
    let varies = VARYING.iter().any(|origin| deciding.depends_on(*origin));
    is_known(deciding) && !varies && deciding.all(is_equal_everywhere)
}

/// Whether a place surely does the same work at all scales. Functions of other libraries do what their arguments say, so
/// with calls of them nothing is sure; nor is it where arguments decide that are not `same_arguments` at all scales.
fn does_the_same(pag: &Pag, v: VertexIx, same_arguments: bool) -> bool {
    use VertexKind::{ExternalCall, IndirectCall, LockCall, ThreadCall};
    let leaves = |inner: VertexIx| {
        let kind = pag.top.get(inner).kind;
        matches!(kind, ExternalCall | IndirectCall | LockCall | ThreadCall)
    };
    let deciding = pag.deciding(v);
    runs_the_same(&deciding)
        && (same_arguments || !deciding.depends_on(Origin::Input))
        && !pag.inside(v).any(leaves)
}

/// Whether the compiler knows that the work of some vertices is the same at two scales.
pub fn stays(pag: &Pag, scales: [&Scale; 2], vertices: &[VertexIx]) -> bool {
    let [first, last] = scales.map(Scale::run);
    // Imported runs have no arguments.
    let same_arguments = !first.is_imported() && first.header.command == last.header.command;
    vertices
        .iter()
        .all(|v| does_the_same(pag, *v, same_arguments))
}

/// Whether all ranks have the same value. What a communicator of some ranks adds to its size, or to what these ranks have
/// together, stands beside it as a source of its own; input that was read may differ, arguments of the program do not.
pub fn is_equal_everywhere(source: &Source) -> bool {
    let call = source.chain.last().map(|l| l.name.to_ascii_lowercase());
    let call = call.unwrap_or_default();
    // What neighbours gather differs.
    let together = || {
        let of_all = ["bcast", "allreduce", "allgather"];
        of_all.iter().any(|name| call.contains(name)) && !call.contains("neighbor")
    };
    match source.origin {
        Origin::Constant | Origin::Size => true,
        Origin::Input => call == "main",
        Origin::Message | Origin::Reduction => together(),
        Origin::Rank | Origin::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::dependence::Link;

    #[test]
    fn what_all_ranks_get_together_is_the_same_everywhere() {
        let of = |origin, call: &str| {
            let link = Link {
                name: call.to_string(),
                file: None,
                line: 1,
            };
            is_equal_everywhere(&Source {
                origin,
                chain: vec![link],
            })
        };
        for call in ["MPI_Bcast", "MPI_Iallgatherv", "mpi_allgather_"] {
            assert!(of(Origin::Message, call), "{call}");
        }
        for call in ["MPI_Recv", "MPI_Scatter", "MPI_Ineighbor_allgather"] {
            assert!(!of(Origin::Message, call), "{call}");
        }
        assert!(of(Origin::Reduction, "MPI_Allreduce") && !of(Origin::Reduction, "MPI_Scan"));
        assert!(of(Origin::Input, "main") && !of(Origin::Input, "getenv"));
    }
}
