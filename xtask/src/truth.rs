//! The bench of true causes: real codes, planted causes, truth measured without us, and the score.

pub mod codes;
