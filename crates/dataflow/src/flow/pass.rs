//! A pass: its arguments, its outputs, and the function that makes the outputs from the arguments.

use super::{Kind, Parameter, Parameters, PassError, StageResult, Value};
use crate::algorithm::Interrupted;
use crate::run::Recorded;
use crate::set::{Set, SetError};
use headwater_model::report::Section;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An argument of a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name in messages.
    pub name: Cow<'static, str>,
    /// What may flow into it.
    pub kind: Kind,
    /// Whether a set must have members: without any, the result is an error, not an empty result.
    pub some: bool,
}

/// The kind of an output of a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gives {
    /// Always this kind.
    Kind(Kind),
    /// A set of the view of the argument with this number.
    AsArgument(usize),
}

/// A parameter of a pass, with its default.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its value if none is given; the kind of this value is the kind of the parameter.
    pub default: Parameter,
    /// What it means, with its unit.
    pub about: Cow<'static, str>,
    /// The least value of a figure.
    pub least: Option<f64>,
    /// Whether a figure is a whole number.
    pub whole: bool,
}

impl Declared {
    /// What a value must be, in words.
    pub(crate) fn needs(&self) -> String {
        let what = match self.whole {
            true => "a whole number",
            false => self.default.words(),
        };
        match self.least {
            Some(least) => format!("{what} from {least} on"),
            None => what.to_string(),
        }
    }

    /// Whether a value is of the parameter's kind and in its range.
    pub(crate) fn takes(&self, value: &Parameter) -> bool {
        let same = std::mem::discriminant(value) == std::mem::discriminant(&self.default);
        let in_range = |x: f64| {
            let whole = !self.whole || x.fract() == 0.0;
            x.is_finite() && whole && self.least.is_none_or(|least| x >= least)
        };
        same && !matches!(value, Parameter::Number(x) if !in_range(*x))
    }
}

/// What a pass does with its arguments.
pub type Function = dyn Fn(&Call<'_>) -> Result<Vec<Value>, PassError> + Send + Sync;

/// A pass.
pub struct Pass {
    /// Its name, under which it is saved.
    pub name: Cow<'static, str>,
    /// What it does, one sentence.
    pub about: Cow<'static, str>,
    /// Its arguments.
    pub inputs: Vec<Port>,
    /// Whether the last argument may come several times.
    pub more: bool,
    /// Parameters.
    pub parameters: Vec<Declared>,
    /// Its outputs.
    pub outputs: Vec<Gives>,
    /// Whether equal arguments produce equal results, so that results may be cached.
    pub cached: bool,
    /// The function that does the work.
    pub function: Arc<Function>,
    /// What the pass was made from, as a number that the caller chooses. Passes with equal names, numbers and output
    /// counts are saved as one.
    pub made_of: Option<usize>,
    /// Distinguishes it from all passes made before, so that none gets the results of another pass with its name.
    pub(super) number: u64,
}

/// Number of passes made so far.
static MADE: AtomicU64 = AtomicU64::new(0);

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pass({})", self.name)
    }
}

impl Pass {
    /// A pass without arguments and outputs.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        about: impl Into<Cow<'static, str>>,
        function: impl Fn(&Call<'_>) -> Result<Vec<Value>, PassError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            inputs: Vec::new(),
            more: false,
            parameters: Vec::new(),
            outputs: Vec::new(),
            cached: true,
            function: Arc::new(function),
            made_of: None,
            number: MADE.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Adds an argument.
    pub fn takes(mut self, name: impl Into<Cow<'static, str>>, kind: Kind) -> Self {
        let (name, some) = (name.into(), false);
        self.inputs.push(Port { name, kind, some });
        self
    }

    /// Adds an argument that must have members.
    pub fn takes_some(self, name: impl Into<Cow<'static, str>>, kind: Kind) -> Self {
        let mut pass = self.takes(name, kind);
        if let Some(port) = pass.inputs.last_mut() {
            port.some = true;
        }
        pass
    }

    /// Allows the last argument several times.
    pub fn and_more(mut self) -> Self {
        self.more = true;
        self
    }

    /// Adds a parameter.
    pub fn with(
        mut self,
        name: impl Into<Cow<'static, str>>,
        default: impl Into<Parameter>,
        about: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.parameters.push(Declared {
            name: name.into(),
            default: default.into(),
            about: about.into(),
            least: None,
            whole: false,
        });
        self
    }

    /// Sets the least value of the last parameter, a figure.
    pub fn figure_from(mut self, least: f64) -> Self {
        if let Some(declared) = self.parameters.last_mut() {
            declared.least = Some(least);
        }
        self
    }

    /// Makes the last parameter a whole number with this least value.
    pub fn whole_from(self, least: f64) -> Self {
        let mut pass = self.figure_from(least);
        if let Some(declared) = pass.parameters.last_mut() {
            declared.whole = true;
        }
        pass
    }

    /// Adds an output.
    pub fn gives(mut self, what: Gives) -> Self {
        self.outputs.push(what);
        self
    }

    /// Whether both are saved as one pass.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let of = |pass: &Self| (pass.outputs.len(), pass.cached, pass.made_of);
        let made_alike = self.made_of.is_some() && self.name == other.name && of(self) == of(other);
        self.number == other.number || made_alike
    }

    /// The declaration of argument `i`.
    pub(crate) fn argument(&self, i: usize) -> Option<&Port> {
        let last = self.inputs.last().filter(|_| self.more);
        self.inputs.get(i).or(last)
    }
}

/// One use of a pass: its arguments and parameters.
pub struct Call<'a> {
    pub(crate) pass: &'a Pass,
    pub(crate) inputs: &'a [Value],
    pub(crate) parameters: &'a Parameters,
    pub(crate) interrupted: &'a (dyn Fn() -> bool + Sync),
}

impl Call<'_> {
    /// The arguments.
    pub fn inputs(&self) -> &[Value] {
        self.inputs
    }

    /// The parameters that were given.
    pub fn parameters(&self) -> &Parameters {
        self.parameters
    }

    /// Says whether the caller interrupted it; for work that can take long.
    pub fn interrupted(&self) -> Interrupted<'_> {
        self.interrupted
    }

    /// The argument or parameter to blame when an operation on sets failed: the parameter that asked for something that
    /// does not exist. If there is none, it is the first set; if sets are of different graphs, the first one whose
    /// graph differs from that of the first set.
    pub(crate) fn blamed(&self, error: &SetError) -> String {
        let asked = match error {
            SetError::NoAttribute(word, _)
            | SetError::NotFigures(word)
            | SetError::Expression(word, ..)
            | SetError::Kinds(word, _)
            | SetError::Length(word, ..) => Some(word.as_str()),
            SetError::OtherGraph(..) => None,
        };
        let says = |p: &Declared, fits: &dyn Fn(&str) -> bool| match self.parameter(&p.name) {
            Some(Parameter::Text(text)) => fits(text),
            Some(Parameter::List(all)) => all.iter().any(|text| fits(text)),
            _ => false,
        };
        let parameter = |word: &str| {
            let all = || self.pass.parameters.iter();
            let whole = all().find(|p| says(p, &|text| text == word));
            whole.or_else(|| all().find(|p| says(p, &|text| text.contains(word))))
        };
        if let Some(parameter) = asked.and_then(parameter) {
            return parameter.name.to_string();
        }
        let sets = || {
            (0..)
                .zip(self.inputs)
                .filter_map(|(i, v)| Some((i, v.set()?)))
        };
        let first = sets().next();
        let other = first.and_then(|(_, a)| sets().find(|(_, b)| !a.view().shares_graph(b.view())));
        let at = other.filter(|_| asked.is_none()).or(first);
        let port = self.pass.argument(at.map_or(0, |(i, _)| i));
        port.map_or(String::new(), |p| p.name.to_string())
    }

    fn wrong<T>(&self, i: usize, needs: &str) -> Result<T, PassError> {
        let name = self.pass.argument(i).map_or("", |p| &*p.name).to_string();
        Err(PassError::Argument(name, format!("it is no {needs}")))
    }

    /// Argument `i` as a set.
    ///
    /// # Errors
    /// If it is not a set.
    pub fn set(&self, i: usize) -> Result<&Set, PassError> {
        match self.inputs.get(i) {
            Some(Value::Set(set)) => Ok(set),
            _ => self.wrong(i, "set"),
        }
    }

    /// Argument `i` as a set of vertices, for passes that use no edges.
    ///
    /// # Errors
    /// If it is not a set, or has edges but no vertices.
    pub fn vertices(&self, i: usize) -> Result<&Set, PassError> {
        let set = self.set(i)?;
        if set.vertices().is_empty() && !set.edges().is_empty() {
            return self.wrong(i, "set of vertices: it has edges alone");
        }
        Ok(set)
    }

    /// Argument `i` as a set of edges, for passes that use no vertices.
    ///
    /// # Errors
    /// If it is not a set, or has vertices but no edges.
    pub fn edges(&self, i: usize) -> Result<&Set, PassError> {
        let set = self.set(i)?;
        if set.edges().is_empty() && !set.vertices().is_empty() {
            return self.wrong(i, "set of edges: it has vertices alone");
        }
        Ok(set)
    }

    /// Argument `i` as a run.
    ///
    /// # Errors
    /// If it is none.
    pub fn run(&self, i: usize) -> Result<&Recorded, PassError> {
        match self.inputs.get(i) {
            Some(Value::Run(run)) => Ok(run),
            _ => self.wrong(i, "run"),
        }
    }

    /// Argument `i` as a table.
    ///
    /// # Errors
    /// If it is none.
    pub fn section(&self, i: usize) -> Result<&Arc<Section>, PassError> {
        match self.inputs.get(i) {
            Some(Value::Section(section)) => Ok(section),
            _ => self.wrong(i, "table"),
        }
    }

    /// Argument `i` as a stage of a diagnosis.
    pub fn found<T: StageResult>(&self, i: usize) -> Result<&T, PassError> {
        let found = match self.inputs.get(i) {
            Some(Value::Finding(finding)) => finding.get(),
            _ => None,
        };
        match found {
            Some(found) => Ok(found),
            None => self.wrong(i, &T::STAGE.to_string()),
        }
    }

    /// A parameter, as given or as declared.
    fn parameter(&self, name: &str) -> Option<&Parameter> {
        let declared = self.pass.parameters.iter().find(|p| p.name == name);
        let given = self.parameters.0.get(name);
        given.or(declared.map(|d| &d.default))
    }

    /// A figure; NaN for a parameter that the pass does not declare.
    pub fn number(&self, name: &str) -> f64 {
        match self.parameter(name) {
            Some(Parameter::Number(x)) => *x,
            _ => f64::NAN,
        }
    }

    /// A count: a figure that is declared as a whole number; 0 for a parameter that the pass does not declare.
    pub fn count(&self, name: &str) -> usize {
        self.number(name) as usize
    }

    /// A word; empty for a parameter that the pass does not declare.
    pub fn text(&self, name: &str) -> &str {
        match self.parameter(name) {
            Some(Parameter::Text(t)) => t,
            _ => "",
        }
    }

    /// Words; none for a parameter that the pass does not declare.
    pub fn list(&self, name: &str) -> &[String] {
        match self.parameter(name) {
            Some(Parameter::List(l)) => l,
            _ => &[],
        }
    }

    /// Yes or no.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.parameter(name), Some(Parameter::Flag(true)))
    }

    /// Returns an error if the caller interrupted the flow; long passes call it now and then.
    ///
    /// # Errors
    /// If the caller interrupted it.
    pub fn go_on(&self) -> Result<(), PassError> {
        if (self.interrupted)() {
            return Err(PassError::Interrupted);
        }
        Ok(())
    }
}
