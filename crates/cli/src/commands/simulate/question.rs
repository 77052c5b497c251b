//! What-if questions as they are typed.

use headwater_simulate::{Edit, Op};

/// A place and how it is different.
#[derive(Clone, Debug)]
pub struct Question {
    /// As it was typed.
    pub text: String,
    /// The place.
    pub place: String,
    /// The change.
    pub edit: Edit,
}

impl Question {
    /// Reads `PLACE CHANGE`.
    pub fn of(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (place, edit) = match *words {
            [ref place @ .., "balanced"] => (place, Edit::Balanced),
            [ref place @ .., "gone"] => (place, Edit::Compute(0.0)),
            [ref place @ .., "half"] => (place, Edit::Bytes(0.5)),
            [ref place @ .., "no-wait"] => (place, Edit::NoWait),
            [ref place @ .., "faster", factor] => match factor.parse::<f64>() {
                Ok(f) if f.is_finite() && f > 0.0 => (place, Edit::Compute(1.0 / f)),
                _ => {
                    return Err(format!(
                        "what if {text}: give a factor above 0, as faster 2"
                    ));
                }
            },
            _ => (&[][..], Edit::NoWait),
        };
        if place.is_empty() {
            return Err(format!(
                "what if {text}: give a place and balanced, faster F, gone, half or no-wait, as 'solve.c:7-8 balanced'"
            ));
        }
        Ok(Self {
            text: text.to_string(),
            place: place.join(" "),
            edit,
        })
    }

    /// The function that it is about; what this function calls is a part of it.
    pub fn function(&self) -> Option<&str> {
        let function = self.is_about_computation() && lines(&self.place).is_none();
        function.then_some(self.place.as_str())
    }

    /// The calls that the place must have for the change to be one.
    pub fn needs(&self) -> Option<CallKind> {
        match self.edit {
            Edit::Bytes(_) => Some(CallKind::Data),
            Edit::NoWait => Some(CallKind::Collective),
            Edit::Balanced | Edit::Compute(_) => None,
        }
    }

    /// Whether it is about computation, not about calls.
    pub fn is_about_computation(&self) -> bool {
        matches!(self.edit, Edit::Balanced | Edit::Compute(_))
    }
}

/// Calls that a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Those that send data.
    Data,
    /// Collectives.
    Collective,
}

impl CallKind {
    /// Whether an operation is of this kind.
    pub fn is(self, op: &Op) -> bool {
        match op {
            Op::Collective { bytes, .. } => self == Self::Collective || *bytes > 0,
            Op::Send { .. } => self == Self::Data,
            _ => false,
        }
    }
}

impl std::fmt::Display for CallKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Data => "call that sends data",
            Self::Collective => "collective",
        })
    }
}

/// The file and lines that a place names; `None` if it is a function.
pub fn lines(place: &str) -> Option<(&str, u32, u32)> {
    let (file, lines) = place.rsplit_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    Some((file, first.parse().ok()?, last.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read() {
        let edit = |text| Question::of(text).map(|q| (q.place, q.edit));
        assert_eq!(
            edit("zeus.c:7-8 balanced"),
            Ok(("zeus.c:7-8".to_string(), Edit::Balanced))
        );
        let compute = Edit::Compute(0.5);
        assert_eq!(
            edit("operator new faster 2"),
            Ok(("operator new".to_string(), compute))
        );
        for wrong in [
            "",
            "gone",
            "solve",
            "solve faster",
            "solve faster 0",
            "solve faster x",
        ] {
            assert!(edit(wrong).is_err(), "{wrong}");
        }
        assert_eq!(lines("a:b.c:7-8"), Some(("a:b.c", 7, 8)));
        assert_eq!(lines("b.c:7"), Some(("b.c", 7, 7)));
        assert_eq!(lines("solve"), None);
    }
}
