//! Small graphs to search for, written as edges: `a>b b>c:mutex`.

use crate::flow::PassError;

/// Patterns that have a name.
pub(super) type Library = &'static [(&'static str, &'static str)];

/// An edge of a pattern: its ends, and its kind.
#[derive(Debug, PartialEq)]
pub(super) struct Drawn {
    pub(super) src: usize,
    pub(super) dst: usize,
    /// Its kind or type.
    pub(super) kind: Option<String>,
}

/// A small graph.
#[derive(Debug, PartialEq)]
pub(super) struct Pattern {
    /// Names of its vertices.
    pub(super) names: Vec<String>,
    /// Its edges.
    pub(super) edges: Vec<Drawn>,
}

impl Pattern {
    /// Reads a pattern, or the name of one in `library`; `argument` is the argument that it was given for.
    pub(super) fn read(argument: &str, text: &str, library: Library) -> Result<Self, PassError> {
        let known = library.iter().find(|p| p.0 == text).map(|p| p.1);
        let wrong = |what: String| PassError::Argument(argument.to_string(), what);
        let mut names: Vec<String> = Vec::new();
        let mut edges = Vec::new();
        for edge in known.unwrap_or(text).split_whitespace() {
            let (ends, kind) = match edge.split_once(':') {
                Some((ends, kind)) => (ends, Some(kind.to_string())),
                None => (edge, None),
            };
            let Some((src, dst)) = ends
                .split_once('>')
                .filter(|e| !e.0.is_empty() && !e.1.is_empty())
            else {
                let names: Vec<&str> = library.iter().map(|p| p.0).collect();
                let named = if names.is_empty() {
                    String::new()
                } else {
                    format!(", and no pattern; there are {}", names.join(", "))
                };
                return Err(wrong(format!("\"{edge}\" is no edge such as a>b{named}")));
            };
            let mut number = |name: &str| {
                let known = names.iter().position(|n| n == name);
                known.unwrap_or_else(|| {
                    names.push(name.to_string());
                    names.len() - 1
                })
            };
            let (src, dst) = (number(src), number(dst));
            edges.push(Drawn { src, dst, kind });
        }
        if edges.is_empty() {
            return Err(wrong("a pattern without an edge".to_string()));
        }
        let pattern = Self { names, edges };
        match pattern.unconnected().split_last() {
            None => Ok(pattern),
            Some((last, others)) => {
                let (all, are) = match others {
                    [] => ((*last).to_string(), "is"),
                    others => (format!("{} and {last}", others.join(", ")), "are"),
                };
                let first = pattern.names.first().map_or("", String::as_str);
                let what =
                    format!("{all} {are} not joined with {first}; a pattern must be connected");
                Err(wrong(what))
            }
        }
    }

    /// Names of vertices that no path joins with the first.
    fn unconnected(&self) -> Vec<&str> {
        let mut joined: Vec<bool> = (0..self.names.len()).map(|v| v == 0).collect();
        // One round for each vertex that could be reached: patterns are written by hand, so they are small.
        for _ in &self.names {
            for Drawn { src, dst, .. } in &self.edges {
                let either = joined[*src] || joined[*dst];
                (joined[*src], joined[*dst]) = (either, either);
            }
        }
        let names = self.names.iter().zip(joined);
        names.filter(|n| !n.1).map(|n| n.0.as_str()).collect()
    }
}
