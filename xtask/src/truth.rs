//! The bench of true causes: real codes, planted causes, truth measured without us, and the score.

mod accuracy;
pub mod bench;
mod case;
mod choose;
// The bench uses less than the codes offer.
#[allow(dead_code, unused_imports)]
pub mod codes;
mod cost;
pub mod dependences;
mod fortran;
mod gate;
mod interposer;
mod load;
mod manifest;
mod plan;
mod plant;
mod record;
mod request;
mod results;
mod run;
mod score;
mod sites;
mod tokens;
