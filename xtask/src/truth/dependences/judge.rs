//! What the structure says of a planted loop, and whether it is true.

use crate::setup;
use crate::shell::output;
use headwater_model::dependence::Origin;
use headwater_model::psg::ModuleStructure;
use std::path::Path;
use std::process::Command;

/// What is said of a loop's bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Origins, sorted; none if nothing is said.
    pub said: Vec<String>,
    word: &'static str,
}

impl Verdict {
    fn new(mut said: Vec<String>, truth: &[&str]) -> Self {
        said.sort();
        said.dedup();
        let mut known: Vec<&str> = said.iter().map(String::as_str).collect();
        known.retain(|s| *s != "unknown");
        let within = known.iter().all(|s| truth.contains(s));
        let all = truth.iter().all(|t| known.contains(t));
        let word = match (within, all, known.len() == said.len()) {
            (true, true, true) => "true",
            (true, _, false) => "unknown",
            (true, _, true) if said.is_empty() => "unknown",
            _ => "wrong",
        };
        Self { said, word }
    }

    pub fn word(&self) -> &'static str {
        self.word
    }

    pub fn is_wrong(&self) -> bool {
        self.word == "wrong"
    }
}

/// The function with the loop of a file and line in it, and the verdict on what is said; `None` if the program has no such
/// loop. Of several copies the worst counts.
pub fn judge(
    program: &Path,
    file: &Path,
    line: u32,
    truth: &[&str],
) -> Result<Option<(String, Verdict)>, String> {
    let mut command = Command::new(setup::headwater());
    command
        .args(["structure", "--quiet", "--json"])
        .arg(program);
    let text = output(&mut command)?;
    let structure: ModuleStructure = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    Ok(judged(&structure, file, line, truth))
}

fn judged(
    structure: &ModuleStructure,
    file: &Path,
    line: u32,
    truth: &[&str],
) -> Option<(String, Verdict)> {
    let base = file.file_name()?.to_string_lossy();
    let mut worst: Option<(String, Verdict)> = None;
    for (number, function) in (0u32..).zip(&structure.functions) {
        for (vertex, v) in (0u32..).zip(&function.vertices) {
            let name = v.file.map_or("", |f| structure.string(f));
            if !v.kind.is_loop() || v.first_line != line || !name.ends_with(&*base) {
                continue;
            }
            let all = &structure.dependences;
            let own = all.of(number, vertex).filter(|d| d.own);
            let own = own.and_then(|d| all.conditions(d).next());
            let sources = own.map_or(&[][..], |c| &c.sources);
            let said = sources.iter().map(|s| word(s.origin)).collect();
            let verdict = Verdict::new(said, truth);
            let rank = |v: &Verdict| {
                ["true", "unknown", "wrong"]
                    .iter()
                    .position(|w| *w == v.word)
            };
            if worst.as_ref().is_none_or(|w| rank(&verdict) > rank(&w.1)) {
                worst = Some((structure.string(function.name).to_string(), verdict));
            }
        }
    }
    worst
}

fn word(origin: Origin) -> String {
    format!("{origin:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_beside_the_truth_is_wrong() {
        let word = |said: &[&str], truth: &[&str]| {
            Verdict::new(said.iter().map(|s| s.to_string()).collect(), truth).word()
        };
        let both = ["rank", "size"];
        assert_eq!(word(&["size", "rank", "rank"], &both), "true");
        assert_eq!(word(&["rank", "unknown"], &both), "unknown");
        assert_eq!(word(&["unknown"], &both), "unknown");
        assert_eq!(word(&[], &both), "unknown");
        // A part of the truth is not all of it, and nothing hints at the rest.
        assert_eq!(word(&["size"], &both), "wrong");
        assert_eq!(word(&["rank", "message"], &both), "wrong");
        assert_eq!(word(&["constant"], &["rank"]), "wrong");
        assert_eq!(word(&["constant", "unknown"], &["rank"]), "wrong");
    }
}
