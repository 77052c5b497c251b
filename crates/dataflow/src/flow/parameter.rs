//! Parameters of passes: values that are set when a flow is built, and do not flow between passes.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// Yes or no.
    Flag(bool),
    /// A figure.
    Number(f64),
    /// A word.
    Text(String),
    /// Words.
    List(Vec<String>),
}

impl Parameter {
    /// What it is, in words.
    pub fn words(&self) -> &'static str {
        match self {
            Self::Flag(_) => "true or false",
            Self::Number(_) => "a figure",
            Self::Text(_) => "a word",
            Self::List(_) => "a list of words",
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(b) => write!(f, "{b}"),
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(t) => write!(f, "{t:?}"),
            Self::List(l) => write!(f, "{l:?}"),
        }
    }
}

impl From<bool> for Parameter {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<f64> for Parameter {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Parameter {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl<const N: usize> From<[&str; N]> for Parameter {
    fn from(words: [&str; N]) -> Self {
        Self::List(words.map(str::to_string).to_vec())
    }
}

/// Parameters by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(pub BTreeMap<String, Parameter>);

impl Parameters {
    /// No parameters: each has the default that the pass declares.
    pub fn none() -> Self {
        Self::default()
    }

    /// These parameters with one more.
    pub fn with(mut self, name: &str, value: impl Into<Parameter>) -> Self {
        self.0.insert(name.to_string(), value.into());
        self
    }
}

/// One parameter.
pub fn with(name: &str, value: impl Into<Parameter>) -> Parameters {
    Parameters::none().with(name, value)
}
