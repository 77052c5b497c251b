//! The first passes of a diagnosis: runs at their scales, and the places in them that scale badly or in which ranks
//! differ (PerFlow, Listing 7: differential analysis with hot spots, and imbalance analysis).

use crate::measure::marks::{self, Marks};
use crate::measure::scales::Scales;
use crate::pass::found;
use headwater_dataflow::flow::{Call, Gives, Kind, Pass, PassError, StageResult};
use headwater_model::diagnosis::Scaling;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "scales",
            "Runs of one program at different scales, prepared for finding causes.",
            |call| {
                let runs = (0..call.inputs().len()).map(|i| call.run(i));
                let runs = runs.collect::<Result<Vec<_>, _>>()?;
                found(Scales::new(runs, said(call)?, call.interrupted())?)
            },
        )
        .takes("run", Kind::Run)
        .and_more()
        .with("scaling", "", SCALING)
        .gives(Gives::Kind(Kind::Finding(Scales::STAGE))),
        Pass::new(
            "non-scalable",
            "Places whose time shrinks less over the scales than it should, by slope and by share of the loss.",
            |call| {
                let scales = call.found::<Scales>(0)?;
                let (pag, all) = (scales.pag(), scales.compared());
                let marks = marks::non_scalable(pag, all, &scales.times, scales.scaling);
                found(Marks(marks))
            },
        )
        .takes("scales", Kind::Finding(Scales::STAGE))
        .gives(Gives::Kind(Kind::Finding(Marks::STAGE))),
        Pass::new(
            "abnormal",
            "Places in which some ranks take much longer than others at the largest scale.",
            |call| {
                let scales = call.found::<Scales>(0)?;
                let threshold = call.number("threshold");
                let marks = if scales.ranks_alike() {
                    marks::abnormal(scales.pag(), &scales.all, &scales.times, threshold)
                } else {
                    Vec::new()
                };
                found(Marks(marks))
            },
        )
        .takes("scales", Kind::Finding(Scales::STAGE))
        .with(
            "threshold",
            1.3,
            "how many times as much as the others late ranks must have",
        )
        .figure_from(1.0)
        .gives(Gives::Kind(Kind::Finding(Marks::STAGE))),
    ]
}

/// The meaning of the parameter `scaling`.
pub(super) const SCALING: &str = "strong or weak; guessed from the arguments of the runs if empty";

/// The parameter `scaling` of a call.
pub(super) fn said(call: &Call<'_>) -> Result<Option<Scaling>, PassError> {
    match call.text("scaling") {
        "" => Ok(None),
        "strong" => Ok(Some(Scaling::Strong)),
        "weak" => Ok(Some(Scaling::Weak)),
        other => {
            let what = format!("there is no {other} scaling; there is strong and weak");
            Err(PassError::Argument("scaling".to_string(), what))
        }
    }
}
