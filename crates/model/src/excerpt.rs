//! Lines of a source file, or the reason why there are none.

/// What can be shown of a place in a source file.
#[derive(Clone, Debug, PartialEq)]
pub enum Excerpt {
    /// The file does not exist, or cannot be shown.
    Gone,
    /// The file is at a location that must not be shown: debug information can name any of the reader's files.
    Withheld,
    /// Source was not requested.
    Unwanted,
    /// The lines asked for, as far as there are any.
    Lines {
        /// The lines, without line ends.
        lines: Vec<String>,
        /// Whether the file was changed after the module was built.
        newer: bool,
    },
}
