//! Replays of lossy traces, by random choice on which all ranks agree beforehand (ScalaReplay II, section 3.5).
//!
//! Values that are in histograms are drawn ([`crate::draws`]). Each draw depends on the seed, the rank, the event and the parameter
//! alone, so all ranks know what each of them draws, without a message. Before the replay, each rank reads the events of all
//! ranks ([`agree()`]): a traversal context for each has a clock that sums up the recorded times, and collectives bring clocks
//! together. What remains of it is which messages the rank will receive, in the order of their senders' clocks.
//!
//! In the replay, a rank makes all its calls but receives. Before each call it posts the receives of messages whose senders'
//! clocks are not later than its own one after the call ([`receives`]). Where the program received, it waits for the
//! messages that were sent before its own clock. So whoever waits, waits only for what is earlier on the common clocks, and
//! nothing can deadlock.

mod agree;
mod receives;
mod refuse;
mod steps;

pub use agree::{Agreement, Message, agree};
pub(crate) use receives::Receives;
pub use refuse::check;
pub(crate) use steps::Changes;
