//! The program that a trace is of: runs of one program are compared, those of others are not.

use headwater_model::run::UNNAMED;

/// A program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path, or its name.
    pub path: String,
    named: bool,
}

impl Program {
    /// The program as the user names it, or else as the trace does.
    pub fn of(given: Option<&str>, traced: Option<String>) -> Self {
        let path = given.map(str::to_string).or(traced);
        let path = path.filter(|p| !p.is_empty());
        Self {
            named: path.is_some(),
            path: path.unwrap_or_else(|| UNNAMED.to_string()),
        }
    }

    /// The name of its file, by which its places are known: the same wherever a job has its copy.
    pub fn file(&self) -> &str {
        file(&self.path)
    }

    /// What users must know where nobody names it.
    pub fn note(&self) -> Vec<String> {
        let note = "The trace does not name its program, so nobody can check that runs are of the same one: import it with --program NAME to say which it is.";
        match self.named {
            true => Vec::new(),
            false => vec![note.to_string()],
        }
    }
}

/// The name of the file at a path.
pub fn file(path: &str) -> &str {
    path.rsplit('/').find(|p| !p.is_empty()).unwrap_or(path)
}
