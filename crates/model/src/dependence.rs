//! What a loop's bound or a branch's condition depends on, as a compiler's data flow shows it (ScalAna, section III-A).

use crate::psg::VertexId;
use serde::{Deserialize, Serialize};

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The number of the rank, or its place in a topology.
    Rank,
    /// The number of ranks.
    Size,
    /// A received message.
    Message,
    /// The result of a reduction.
    Reduction,
    /// Arguments of the program, its environment, or what it read.
    Input,
    /// Constants alone.
    Constant,
    /// Not known.
    Unknown,
}

impl Origin {
    /// The origin in words: "comes from …".
    pub fn words(self) -> &'static str {
        match self {
            Self::Rank => "the rank",
            Self::Size => "the number of ranks",
            Self::Message => "a received message",
            Self::Reduction => "the result of a reduction",
            Self::Input => "the program's input",
            Self::Constant => "constants",
            Self::Unknown => "an unknown value",
        }
    }
}

/// A variable, or a call, that a value passes through.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// Name of the variable or of the called function.
    pub name: String,
    /// Source file, where debug information has one.
    pub file: Option<String>,
    /// Source line, 0 where unknown.
    pub line: u32,
}

/// One origin of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// Where the value comes from.
    pub origin: Origin,
    /// From the loop or branch to the origin: variables on the way, then the call.
    pub chain: Vec<Link>,
}

/// The bound of a loop, or the condition of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Condition {
    /// Whether it is a loop's bound.
    pub bound: bool,
    /// Source file, where debug information has one.
    pub file: Option<String>,
    /// Source line, 0 where unknown.
    pub line: u32,
    /// Its origins, by the function that gives them; constants only where there is no other.
    pub sources: Vec<Source>,
}

impl Source {
    /// `` `n` comes from MPI_Comm_rank at main.c:12 ``, or what is known of it.
    pub fn words(&self) -> String {
        let at = |l: &Link| match (&l.file, l.line) {
            (Some(file), line) if line > 0 => {
                format!(" at {}:{line}", file.rsplit('/').next().unwrap_or(file))
            }
            _ => String::new(),
        };
        let calls = |l: &Link| {
            !matches!(self.origin, Origin::Input | Origin::Unknown)
                && l.name.to_lowercase().contains("mpi_")
        };
        match &self.chain[..] {
            [.., call] if calls(call) => format!("{}{}", call.name, at(call)),
            _ => self.origin.words().to_string(),
        }
    }

    /// The variable that stands in the loop or branch itself.
    pub fn variable(&self) -> Option<&str> {
        let first = self.chain.first()?;
        let is_call = self.chain.len() == 1
            && (first.name == "main" || first.name.to_lowercase().contains("mpi_"));
        (!is_call).then_some(first.name.as_str())
    }
}

impl Condition {
    /// The source of one origin.
    pub fn source(&self, origin: Origin) -> Option<&Source> {
        self.sources.iter().find(|s| s.origin == origin)
    }

    /// Whether everything that it depends on is known.
    pub fn is_known(&self) -> bool {
        self.source(Origin::Unknown).is_none()
    }
}

/// What decides how often a vertex runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dependence {
    /// Index of the function in the module.
    pub function: u32,
    /// The vertex in the function: a loop, a branch or a call.
    pub vertex: VertexId,
    /// Its own bound or condition, then those around it in its function, innermost first: indices into
    /// [`Dependences::conditions`].
    pub conditions: Vec<u32>,
    /// Whether the first of these is its own.
    pub own: bool,
    /// Parameters of an MPI call that depend on the rank, the number of ranks or what was received.
    pub parameters: Vec<Parameter>,
}

/// An argument of an MPI call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameter {
    /// Its position, from 1.
    pub position: u32,
    /// Where its value comes from.
    pub sources: Vec<Source>,
}

/// What a compiler said of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dependences {
    /// Compilers that wrote it; empty where none did.
    pub makers: Vec<String>,
    /// Bounds and conditions, each once.
    pub conditions: Vec<Condition>,
    /// Vertices that the compiler has too, by function and vertex.
    pub vertices: Vec<Dependence>,
}

impl Dependences {
    /// What is known of a vertex; `None` where only the machine code has it.
    pub fn of(&self, function: u32, vertex: VertexId) -> Option<&Dependence> {
        let key = |d: &Dependence| (d.function, d.vertex);
        let at = self.vertices.binary_search_by_key(&(function, vertex), key);
        at.ok().and_then(|i| self.vertices.get(i))
    }

    /// The bounds and conditions of a vertex, its own first.
    pub fn conditions<'a>(&'a self, of: &'a Dependence) -> impl Iterator<Item = &'a Condition> {
        let all = of.conditions.iter();
        all.filter_map(|i| self.conditions.get(*i as usize))
    }
}

/// Loops and MPI calls of the functions that both have, by function and source line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Functions that both have.
    pub functions: usize,
    /// Functions that only the machine code has.
    pub functions_of_binary: usize,
    /// Functions that only the compiler has: inlined everywhere, or not linked.
    pub functions_of_compiler: usize,
    /// Vertices of the compiler before contraction.
    pub before: usize,
    /// Vertices of the compiler after contraction.
    pub after: usize,
    /// Loops.
    pub loops: Agreement,
    /// Calls of MPI.
    pub mpi: Agreement,
    /// Parts of what the compiler wrote that are not compared because they cannot be read, a sentence each.
    pub problems: Vec<String>,
}

/// How many places agree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Agreement {
    /// Places that both have.
    pub both: usize,
    /// Of these, loops whose header is at another line in one of them, in the same range of lines.
    pub by_range: usize,
    /// Loops of the machine code that are parts of the compiler's, made by vectorising or unrolling.
    pub parts: usize,
    /// Places that one front end has alone, a sentence each.
    pub others: Vec<String>,
    /// Of these, places that may be in both: the other front end has one alone in the same lines or nearby, or merged it.
    pub unclear: usize,
    /// Of these again, calls of the compiler that are known to be in both: it merged them into calls without a line, and
    /// no other line is left that these could have.
    pub merged: usize,
}

impl Agreement {
    /// Share of all places that agree by line, 0 to 1; `None` where there are none.
    pub fn share(&self) -> Option<f64> {
        let all = self.both + self.others.len();
        (all > 0).then(|| self.both as f64 / all as f64)
    }

    /// Share of what is known to be in both, by its line or merged, of what is or may be in both.
    pub fn share_of_common(&self) -> Option<f64> {
        let all = self.both + self.unclear;
        (all > 0).then(|| (self.both + self.merged) as f64 / all as f64)
    }
}
