//! What a run of the bench is asked for, and where its results are.

use crate::setup;
use std::path::PathBuf;

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) seed: u64,
    pub(super) cases: u64,
    /// Codes; all where empty.
    pub(super) codes: Vec<String>,
    /// Beside two busy loops and a disk writer.
    pub(super) load: bool,
    /// How often each scale is recorded for one diagnosis.
    pub(super) repeat: usize,
    /// Recordings stay there.
    pub(super) keep: bool,
    /// Directory for results.
    pub(super) out: PathBuf,
    /// Writes docs/ACCURACY.md.
    pub(super) doc: bool,
    /// Begins no further round of cases after so many minutes.
    pub(super) minutes: Option<f64>,
    /// Goes on with the results that are there.
    pub(super) resume: bool,
    /// The fixed selection of every CI run.
    pub(super) ci: bool,
    /// Takes the release that is built.
    pub(super) built: bool,
    /// Diagnoses the recordings that were kept again, instead of making any.
    pub(super) rejudge: bool,
}

/// Seed and number of cases of every CI run.
const CI: (u64, u64) = (11, 12);

impl Request {
    /// From the command line.
    pub fn parse(args: &[String]) -> Result<Self, String> {
        let mut out = Self {
            seed: 1,
            cases: 12,
            codes: Vec::new(),
            load: false,
            repeat: 1,
            keep: false,
            out: setup::target().join("truth/results"),
            doc: false,
            minutes: None,
            resume: false,
            ci: false,
            built: false,
            rejudge: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(format!("{arg} wants a value"));
            match arg.as_str() {
                "--seed" => out.seed = seed(value()?)?,
                "--cases" => {
                    let text = value()?;
                    out.cases = text.parse().map_err(|_| format!("{arg} wants a number"))?;
                }
                "--repeat" => {
                    let text = value()?;
                    let repeat = text.parse().ok().filter(|n| *n > 0);
                    out.repeat = repeat.ok_or(format!("{arg} wants a number above 0"))?;
                }
                "--code" => out.codes.push(value()?.clone()),
                "--minutes" => {
                    let minutes = value()?.parse().ok().filter(|m: &f64| *m > 0.0);
                    out.minutes = Some(minutes.ok_or(format!("{arg} wants a number above 0"))?);
                }
                "--out" => out.out = value()?.into(),
                "--load" => out.load = true,
                "--keep" => out.keep = true,
                "--doc" => out.doc = true,
                "--resume" => out.resume = true,
                "--built" => out.built = true,
                "--rejudge" => out.rejudge = true,
                "--ci" => (out.ci, (out.seed, out.cases)) = (true, CI),
                other => return Err(format!("{other} is not known")),
            }
        }
        Ok(out)
    }

    /// What the names of this bench's files begin with.
    pub(super) fn stem(&self) -> String {
        let load = if self.load { "-load" } else { "" };
        let repeat = match self.repeat {
            1 => String::new(),
            n => format!("-repeat-{n}"),
        };
        format!("{:x}{repeat}{load}", self.seed)
    }

    /// One line for each case.
    pub(super) fn results(&self) -> PathBuf {
        self.out.join(format!("{}.jsonl", self.stem()))
    }

    /// The recordings of a case.
    pub(super) fn recordings(&self, number: u64) -> PathBuf {
        self.out.join(format!("{}-case-{number}", self.stem()))
    }
}

/// A seed: a number, or `0x` and hexadecimal digits.
fn seed(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("--seed wants a number, or 0x and hexadecimal digits, not {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_number_or_hexadecimal_digits() {
        assert_eq!(seed("17"), Ok(17));
        assert_eq!(seed("0xf08cf4c0"), Ok(0xf08c_f4c0));
        assert!(seed("f08cf4c").is_err());
    }

    #[test]
    fn results_of_one_kind_do_not_replace_those_of_another() {
        let stem = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
            Request::parse(&words).map(|r| r.stem())
        };
        assert_eq!(stem(&["--seed", "0xab"]), Ok("ab".into()));
        let both = ["--seed", "0xab", "--repeat", "3", "--load"];
        assert_eq!(stem(&both), Ok("ab-repeat-3-load".into()));
        assert!(stem(&["--repeat", "0"]).is_err());
    }

    #[test]
    fn the_selection_for_ci_is_fixed() {
        let request = Request::parse(&["--ci".to_string()]).expect("a request");
        assert_eq!((request.seed, request.cases), CI);
    }
}
