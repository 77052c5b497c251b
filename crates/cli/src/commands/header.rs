//! `header`: the file by which a program names its regions, in its language.

use super::Outcome;
use crate::args::Language;
use crate::output::print;

/// `headwater header`.
pub fn command(language: Language) -> Outcome {
    print(match language {
        Language::C => include_str!("../../../collector/include/headwater.h"),
        Language::Fortran => include_str!("../../../collector/include/headwater_regions.f90"),
        Language::Python => include_str!("../../../collector/include/headwater_regions.py"),
    })
}
