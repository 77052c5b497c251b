//! Words and notes: from candidates to causes that a reader understands.
//!
//! `teller` makes causes from candidates, with their `path` from symptom to cause. `apart` distinguishes causes at the
//! same place. `explanation`, `words` and `notes` write the sentences. `repeat` judges a diagnosis by those without one
//! recording, and `reading` joins the two answers where strong and weak scaling are both possible.

pub mod cause_maker;
pub mod dependence;
pub mod explanation;
pub mod notes;
pub mod path;
pub mod reading;
pub mod regions;
pub mod repeat;
pub mod same_place;
pub mod words;
