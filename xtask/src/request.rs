//! What the command line asks of the testbed.

use crate::mpi::Mpi;
use std::path::PathBuf;

/// What to build, run and score.
#[derive(Debug, Default)]
pub struct Request {
    /// Programs; all where empty.
    pub cases: Vec<String>,
    /// Whether programs without MPI are meant, at scales of threads.
    pub threads: bool,
    /// Whether programs in Python are meant.
    pub python: bool,
    /// MPI library.
    pub mpi: Mpi,
    /// Diagnoses of each program; 0 is taken as 1.
    pub repeat: u32,
    /// Pairs of runs with and without the dose that price each cause; none where 0.
    pub pairs: usize,
    /// Whether to halve the doses until a cause is no longer found.
    pub sweep: bool,
    /// File for the same figures as JSON.
    pub json: Option<PathBuf>,
}

/// Fewest pairs whose scatter says anything.
const FEWEST_PAIRS: usize = 5;

impl Request {
    /// From the command line.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut out = Self::default();
        let mut pairs = None;
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} wants a value"));
            let number = |v: &String| v.parse().map_err(|_| format!("{arg} wants a number"));
            match arg.as_str() {
                "--mpi" => out.mpi = Mpi::by_name(value()?)?,
                "--repeat" => out.repeat = number(value()?)?,
                "--pairs" => pairs = Some(number(value()?)? as usize),
                "--threads" => out.threads = true,
                "--python" => out.python = true,
                "--sweep" => out.sweep = true,
                "--json" => out.json = Some(value()?.into()),
                "--case" => out.cases.push(value()?.clone()),
                other if other.starts_with('-') => return Err(format!("{other} is not known")),
                other => out.cases.push(other.to_string()),
            }
        }
        let usual = if out.repeat > 1 { FEWEST_PAIRS } else { 0 };
        out.pairs = match pairs.unwrap_or(usual) {
            0 => 0,
            n => n.max(FEWEST_PAIRS),
        };
        Ok(out)
    }
}
