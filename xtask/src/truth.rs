//! The bench of true causes: real codes, planted causes, truth measured without us, and the score.

pub mod codes;
mod interposer;
mod case;
mod choose;
mod cost;
mod fortran;
mod manifest;
mod plan;
mod plant;
mod record;
mod run;
mod sites;
mod tokens;
