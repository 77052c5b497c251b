//! What a module that is not a file consists of: functions, and loops, branches, calls and computation in them. An
//! imported trace contains them in place of a program (ScalAna, section III-A).

/// Name of the function that holds what is in no vertex of an imported program's structure.
pub const OUTSIDE: &str = "outside of the tree";

/// What a program is called that nobody names.
pub const UNNAMED: &str = "unnamed program";

/// A function of a module that is not a file, or a part of the function before it. A function ends where the next
/// function begins, a part where the next symbol begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// Index into [`Run::modules`](super::Run::modules).
    pub module: u32,
    /// Its first offset.
    pub offset: u64,
    /// Whether it is a function.
    pub function: bool,
    /// What it is, if it is no function.
    pub part: Part,
    /// Offset of the part of the same function that it is in; 0 for none but the function.
    pub around: u64,
    /// Name of the function, or of the one that is called.
    pub name: String,
    /// Source file; empty where unknown.
    pub file: String,
    /// First source line, 0 where unknown.
    pub first_line: u32,
    /// Last source line, 0 where unknown.
    pub last_line: u32,
}

/// What a part of a function is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Part {
    /// A call of a function, MPI's included.
    #[default]
    Call = 0,
    /// A loop.
    Loop = 1,
    /// A branch.
    Branch = 2,
    /// A call through a pointer.
    IndirectCall = 3,
    /// A call that can come back to its function.
    RecursiveCall = 4,
    /// Straight computation.
    Comp = 5,
}

impl Part {
    /// All parts, by their codes.
    pub const ALL: [Self; 6] = [
        Self::Call,
        Self::Loop,
        Self::Branch,
        Self::IndirectCall,
        Self::RecursiveCall,
        Self::Comp,
    ];

    /// The part with this code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_their_codes() {
        for (code, part) in (0..).zip(Part::ALL) {
            assert_eq!((part as u8, Part::from_code(code)), (code, Some(part)));
        }
        assert_eq!(Part::from_code(6), None);
    }
}
