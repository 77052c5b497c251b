//! Whether a place does the same on all ranks and at all scales, by what the compiler knows of its bounds and conditions
//! (ScalAna, section III-A).

use headwater_graph::Deciding;
use headwater_model::dependence::{Origin, Source};

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

/// Whether how often a place runs does not depend on the number of ranks, and is the same on all of them.
pub fn stays(deciding: &Deciding<'_>) -> bool {
    let varies = VARYING.iter().any(|origin| deciding.depends_on(*origin));
    is_known(deciding) && !varies && deciding.all(is_equal_everywhere)
}

/// The same where arguments of the program are not the same at all scales: they may decide it too.
pub fn stays_with_other_arguments(deciding: &Deciding<'_>) -> bool {
    stays(deciding) && !deciding.depends_on(Origin::Input)
}

/// Whether all ranks have the same value. What a communicator of some ranks adds to its size, or to what these ranks have
/// together, stands beside it as a source of its own; input that was read may differ, arguments of the program do not.
pub fn is_equal_everywhere(source: &Source) -> bool {
    let call = source.chain.last().map(|l| l.name.to_ascii_lowercase());
    let call = call.unwrap_or_default();
    let together = || {
        ["bcast", "allreduce", "allgather"]
            .iter()
            .any(|name| call.contains(name))
    };
    match source.origin {
        Origin::Constant | Origin::Size => true,
        Origin::Input => call == "main",
        Origin::Message | Origin::Reduction => together(),
        Origin::Rank | Origin::Unknown => false,
    }
}
