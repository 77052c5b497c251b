//! `link-flags`: what to add at link time where MPI is linked statically.

use super::Outcome;
use crate::args::LinkFlagsArgs;
use crate::output::{SCHEMA, print, quoted};
use headwater_launch::link_flags;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// What `headwater link-flags --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LinkFlags {
    /// Version of this format.
    schema: u32,
    /// The collector as a static archive, which is among the options.
    archive: PathBuf,
    /// Options for the compiler that links, in order; they are before the MPI library.
    flags: Vec<String>,
}

/// `headwater link-flags`.
pub fn command(args: &LinkFlagsArgs) -> Outcome {
    let found = link_flags().map_err(|e| e.to_string())?;
    if args.json.wanted() {
        return args.json.give_value(&LinkFlags {
            schema: SCHEMA,
            archive: found.archive,
            flags: found.flags,
        });
    }
    let words: Vec<String> = found.flags.iter().map(|f| quoted(f)).collect();
    print(&(words.join(" ") + "\n"))
}
