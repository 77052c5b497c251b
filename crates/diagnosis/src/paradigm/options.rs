//! What the user may set about a question.

use crate::measure::floor::LEAST_SHARE;
use headwater_model::diagnosis::Scaling;

/// What the user may set.
#[derive(Clone, Debug)]
pub struct Options {
    /// Strong or weak scaling, if the user says; otherwise guessed.
    pub scaling: Option<Scaling>,
    /// How many times longer late ranks must take for a place to be listed as abnormal (ScalAna's `AbnormThd`); causes
    /// do not depend on it.
    pub abnorm_threshold: f64,
    /// Smallest cost of a cause that is reported, as a share of the run time.
    pub least_share: f64,
    /// The region that causes must be in, if the user names one.
    pub region: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scaling: None,
            abnorm_threshold: 1.3,
            least_share: LEAST_SHARE,
            region: None,
        }
    }
}
