//! Lines of a source file, or why there are none.

/// What there is to show of a place in a source file.
#[derive(Clone, Debug, PartialEq)]
pub enum Excerpt {
    /// The file is not there, or is none that can be shown.
    Gone,
    /// The file lies where nothing may be shown of: debug information can name any file of the reader's.
    Withheld,
    /// Nobody wants to see source.
    Unwanted,
    /// The lines asked for, as far as there are any.
    Lines {
        /// Without line ends.
        lines: Vec<String>,
        /// Whether the file was changed after the module was built.
        newer: bool,
    },
}
