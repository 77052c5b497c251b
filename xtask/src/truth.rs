//! The bench of true causes: real codes, planted causes, truth measured without us, and the score.

// The planter and the scorer use what no command here uses.
#[allow(dead_code, unused_imports)]
pub mod codes;
