//! Arguments of `view`, and how causes are printed.

use clap::{Args as ClapArgs, ValueEnum};
use headwater_model::diagnosis::Scaling;
use std::path::PathBuf;

/// Strong or weak.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    /// The problem stays the same on more ranks.
    Strong,
    /// The problem grows with the number of ranks.
    Weak,
}

impl Kind {
    /// As an analysis takes it.
    pub fn scaling(self) -> Scaling {
        match self {
            Self::Strong => Scaling::Strong,
            Self::Weak => Scaling::Weak,
        }
    }
}

/// How causes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Printed {
    /// The report.
    Report,
    /// A line for each cause, as GCC prints warnings.
    Gcc,
}

/// Arguments of `view`.
#[derive(Debug, ClapArgs)]
pub struct ViewArgs {
    /// Directories of recorded runs. Several runs of one scale are combined.
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Also compare with a run of another build of the program. Can be repeated.
    #[arg(long, value_name = "RUN")]
    pub against: Vec<PathBuf>,
    /// The port; by default any free one.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// Print the address, and open no browser.
    #[arg(long)]
    pub no_open: bool,
    /// How the problem grows; by default guessed from the program's arguments and the measured work.
    #[arg(long, value_name = "KIND")]
    pub scaling: Option<Kind>,
    /// Merge loops that are nested deeper than this into the loop around them.
    #[arg(long, value_name = "DEPTH", default_value_t = 10)]
    pub max_loop_depth: usize,
    /// Show source lines only of files in this directory and below. By default: near the program, below the current
    /// directory or in /usr. Can be repeated.
    #[arg(long, value_name = "DIR")]
    pub source: Vec<PathBuf>,
    /// Show no source lines.
    #[arg(long, conflicts_with = "source")]
    pub no_source: bool,
}
