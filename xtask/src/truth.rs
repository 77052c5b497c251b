//! The bench of true causes: real codes, planted causes, truth measured without us, and the score.

pub mod codes;
mod interposer;
mod accuracy;
pub mod bench;
mod case;
mod choose;
mod cost;
mod fortran;
mod load;
mod manifest;
mod plan;
mod plant;
mod record;
mod results;
mod run;
mod score;
mod sites;
mod tokens;
