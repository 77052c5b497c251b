//! Names of places: what calls and samples are in the source.

use super::question::{Question, lines};
use crate::progress::Progress;
use headwater_graph::is_runtime_library;
use headwater_model::psg::{Function, ModuleStructure};
use headwater_model::run::{Module, Run, python};
use headwater_structure::{Options, analyse};
use headwater_trace::trace::{BEGIN, Frame, Trace};
use headwater_virtual_run::{Place, Places};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::slice;

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source {
    file: String,
    first: u32,
    last: u32,
    function: String,
    /// Functions that are asked about, and that have called this one, directly or not.
    called_from: Vec<String>,
}

/// Structures of modules, by path.
pub type Structures = BTreeMap<String, ModuleStructure>;

/// The structures of the modules that a trace goes through.
pub fn structures(trace: &Trace, run: Option<&Run>, progress: Progress) -> Structures {
    let from_run = run.into_iter().flat_map(|r| &r.modules);
    let from_run = from_run.filter(|m| !m.is_python()).map(|m| &m.path);
    let mut paths: Vec<&String> = trace.modules.values().chain(from_run).collect();
    paths.sort();
    paths.dedup();
    paths.retain(|p| !is_runtime_library(p) && Path::new(p).is_file());
    let stage = progress.stage("analysing the program and its libraries", paths.len());
    let all = paths.into_iter().filter_map(|path| {
        let structure = analyse(Path::new(path), &Options::default()).ok()?;
        stage.step();
        Some((path.clone(), structure))
    });
    let mut all: Structures = all.collect();
    // Files of Python have the functions and lines of the run, and loops if they were not changed since.
    if let Some(run) = run {
        let whole = Options::default().max_loop_depth;
        let of_run = headwater_load::structures(slice::from_ref(run), Vec::new(), whole, &|| {});
        let is_own = |m: &Module| m.is_python() && !is_runtime_library(&m.path);
        let own = of_run.iter().filter(|(module, _)| is_own(module));
        all.extend(own.map(|(module, s)| (module.path.clone(), s.clone())));
    }
    all
}

/// Names of the places of a trace.
#[derive(Debug)]
pub struct Named<'a> {
    trace: &'a Trace,
    structures: &'a Structures,
    sources: Vec<Source>,
    /// Where calls are, by signature.
    calls: BTreeMap<u64, Source>,
}

impl<'a> Named<'a> {
    /// Names of calls; those of computation come with [`Self::samples`].
    pub fn new(trace: &'a Trace, structures: &'a Structures) -> Self {
        let mut this = Self {
            trace,
            structures,
            sources: Vec::new(),
            calls: BTreeMap::new(),
        };
        let calls = trace.signatures.iter();
        this.calls = calls.map(|(id, s)| (*id, this.call(&s.frames))).collect();
        this
    }

    /// Where a call is: in the innermost frame that belongs to the program.
    fn call(&self, frames: &[Frame]) -> Source {
        let mut inward = frames.iter().rev();
        let found = inward.find_map(|frame| {
            let path = self.trace.modules.get(&frame.module)?;
            if let Some((file, function)) = python::function_of_trace(path) {
                if is_runtime_library(file) {
                    return None;
                }
                let line = u32::try_from(frame.offset.checked_sub(1)?).ok()?;
                return Some(Source {
                    file: file.to_string(),
                    first: line,
                    last: line,
                    function: function.to_string(),
                    called_from: Vec::new(),
                });
            }
            let structure = self.structures.get(path)?;
            let address = frame.offset.checked_sub(1)?;
            let (file, line) = structure.line(address)?;
            let function = structure.locate(address);
            let function = function.and_then(|(f, _)| structure.functions.get(f));
            Some(Source {
                file: file.to_string(),
                first: line,
                last: line,
                function: function
                    .map_or("", |f| structure.string(f.name))
                    .to_string(),
                called_from: Vec::new(),
            })
        });
        found.unwrap_or_default()
    }

    /// The samples of a run: rank, signature of the call before, number of the place, seconds. What is called from one of
    /// the functions that are `asked` about is a place of its own.
    pub fn samples(&mut self, run: &Run, asked: &[&str]) -> Vec<(u32, u64, u32, f64)> {
        let mut signatures: HashMap<Vec<(Cow<str>, u64)>, u64> = HashMap::new();
        for (identity, signature) in &self.trace.signatures {
            let path = |f: &Frame| self.trace.modules.get(&f.module).map_or("", String::as_str);
            let frames = (signature.frames.iter()).map(|f| (Cow::Borrowed(path(f)), f.offset));
            signatures.insert(frames.collect(), *identity);
        }
        let functions = python_functions(run);
        let mut before: HashMap<u32, Option<u64>> = HashMap::new();
        let mut numbers: HashMap<Source, u32> = HashMap::new();
        let mut out = Vec::new();
        for sample in run.samples.iter().filter(|s| s.thread == 0) {
            let after = sample.after.0;
            let signature = *before
                .entry(after)
                .or_insert_with(|| signatures.get(&frames_of(run, &functions, after)).copied());
            let source = signature.and_then(|_| self.source(run, sample.ctx.0, asked));
            let (Some(signature), Some(source)) = (signature, source) else {
                continue;
            };
            let next = numbers.len() as u32;
            let number = *numbers.entry(source.clone()).or_insert_with(|| {
                self.sources.push(source);
                next
            });
            out.push((sample.rank, signature, number, sample.cpu_ns as f64 * 1e-9));
        }
        out
    }

    /// The innermost loop, or the function, that a context is in, in the innermost module that is the program's own.
    fn source(&self, run: &Run, mut ctx: u32, asked: &[&str]) -> Option<Source> {
        let mut found: Option<Source> = None;
        // Contexts come after those that they are in.
        while let Some(context) = run.contexts.get(ctx as usize) {
            let module = run.modules.get(context.module as usize);
            let structure = module.and_then(|m| self.structures.get(&m.path));
            let place = structure.and_then(|s| Some((s, s.locate(context.lookup())?)));
            if let Some((structure, (number, vertex))) = place {
                let function = structure.functions.get(number)?;
                let name = structure.string(function.name);
                match &mut found {
                    None => found = Some(innermost(structure, function, vertex)?),
                    Some(found) if asked.contains(&name) => found.called_from.push(name.into()),
                    Some(_) => {}
                }
                if asked.is_empty() {
                    break;
                }
            }
            ctx = context.parent.0;
        }
        if let Some(found) = &mut found {
            found.called_from.sort();
            found.called_from.dedup();
        }
        found
    }

    /// The name of a place.
    pub fn of(&self, place: Place) -> String {
        match place {
            Place::Call(signature) => self.call_name(signature),
            Place::Between { before, after } => format!(
                "computation from {} to {}",
                self.call_name(before),
                self.call_name(after)
            ),
            Place::Source(number) => self
                .sources
                .get(number as usize)
                .map_or_else(String::new, Source::name),
        }
    }

    fn call_name(&self, signature: u64) -> String {
        if signature == BEGIN {
            return "the beginning".to_string();
        }
        let function = self.trace.signatures.get(&signature);
        let function = function.map_or("", |s| s.function.as_str());
        match self.calls.get(&signature).filter(|s| s.first > 0) {
            Some(at) => format!("{function} at {}", at.lines()),
            None => function.to_string(),
        }
    }

    /// The places that a question means.
    pub fn find(&self, places: &Places, question: &Question) -> Result<Vec<(u32, Place)>, String> {
        let wanted = question.place.as_str();
        let named = |signature: &u64| {
            let own = self.calls.get(signature).is_some_and(|s| s.is(wanted));
            let function = self.trace.signatures.get(signature);
            own || function.is_some_and(|s| s.function == wanted)
        };
        let all = |meant: &dyn Fn(&Place) -> bool| -> Vec<(u32, Place)> {
            places.iter().filter(|(_, p)| meant(p)).collect()
        };
        let source = |n: &u32| self.sources.get(*n as usize);
        let found = match question.is_about_computation() {
            false => all(&|p| matches!(p, Place::Call(s) if named(s))),
            true => {
                let inside = all(
                    &|p| matches!(p, Place::Source(n) if source(n).is_some_and(|s| s.is_in(wanted))),
                );
                let around = || {
                    all(
                        &|p| matches!(p, Place::Source(n) if source(n).is_some_and(|s| s.is(wanted))),
                    )
                };
                let before = || all(&|p| matches!(p, Place::Between { after, .. } if named(after)));
                let mut found = inside;
                if found.is_empty() {
                    found = around();
                }
                if found.is_empty() {
                    found = before();
                }
                found
            }
        };
        match found.is_empty() {
            false => Ok(found),
            true => Err(format!(
                "what if {}: the trace has no such place; near: {}",
                question.text,
                self.near(wanted, question.is_about_computation())
            )),
        }
    }

    /// Names that may have been meant.
    fn near(&self, wanted: &str, computation: bool) -> String {
        let named = lines(wanted);
        let mut all: Vec<&Source> = match computation && !self.sources.is_empty() {
            true => self.sources.iter().collect(),
            false => self.calls.values().collect(),
        };
        all.retain(|s| s.first > 0);
        all.sort();
        all.dedup();
        let distance = |s: &&Source| match named {
            Some((file, first, _)) if s.has_file(file) => s.first.abs_diff(first),
            _ if s.function.contains(wanted) => 0,
            _ => u32::MAX,
        };
        all.sort_by_key(distance);
        let names: Vec<String> = all.iter().take(5).map(|s| s.name()).collect();
        match names.is_empty() {
            true => "none has a name, because the program has no debug information".to_string(),
            false => names.join(", "),
        }
    }
}

/// The innermost loop around a vertex, or its function.
fn innermost(structure: &ModuleStructure, function: &Function, mut vertex: u32) -> Option<Source> {
    let at = loop {
        let at = function.vertices.get(vertex as usize)?;
        match at.parent {
            Some(parent) if !at.kind.is_loop() => vertex = parent,
            _ => break at,
        }
    };
    Some(Source {
        file: at.file.map_or("", |f| structure.string(f)).to_string(),
        first: at.first_line,
        last: at.last_line,
        function: structure.string(function.name).to_string(),
        called_from: Vec::new(),
    })
}

/// Names of the functions of Python, by module and offset.
fn python_functions(run: &Run) -> HashMap<(u32, u64), &str> {
    let python = |module: u32| {
        let module = run.modules.get(module as usize);
        module.is_some_and(Module::is_python)
    };
    let functions = run.symbols.iter().filter(|s| s.function);
    let of_python = functions.filter(|s| python(s.module));
    of_python
        .map(|s| ((s.module, s.offset), s.name.as_str()))
        .collect()
}

/// The frames of a context as a trace has them, outermost first. `functions` are those of Python.
fn frames_of<'r>(
    run: &'r Run,
    functions: &HashMap<(u32, u64), &str>,
    mut ctx: u32,
) -> Vec<(Cow<'r, str>, u64)> {
    let mut frames = Vec::new();
    while let Some(context) = run.contexts.get(ctx as usize) {
        let module = run.modules.get(context.module as usize);
        let path = module.map_or("", |m| m.path.as_str());
        let (function, line) = python::place(context.lookup());
        match functions.get(&(context.module, function)) {
            Some(name) => {
                let module = python::module_of_trace(path, name);
                frames.push((Cow::Owned(module), u64::from(line) + 1));
            }
            // A trace has code alone.
            None if module.is_some_and(|m| m.region().is_some()) => {}
            None => frames.push((Cow::Borrowed(path), context.offset)),
        }
        ctx = context.parent.0;
    }
    frames.reverse();
    frames
}

impl Source {
    fn lines(&self) -> String {
        let file = self.file.rsplit('/').next().unwrap_or_default();
        match self.last > self.first {
            true => format!("{file}:{}-{}", self.first, self.last),
            false => format!("{file}:{}", self.first),
        }
    }

    fn name(&self) -> String {
        match self.first {
            0 => self.function.clone(),
            _ => format!("{} ({})", self.lines(), self.function),
        }
    }

    fn has_file(&self, wanted: &str) -> bool {
        let rest = self.file.strip_suffix(wanted);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    }

    /// Whether a place has a line in common with it, or names its function.
    fn is(&self, wanted: &str) -> bool {
        match lines(wanted) {
            Some((file, first, last)) => {
                self.has_file(file) && self.first <= last && self.last >= first
            }
            None => self.is_of(wanted),
        }
    }

    /// Whether it is in a function, or called from it.
    fn is_of(&self, function: &str) -> bool {
        self.function == function || self.called_from.iter().any(|f| f == function)
    }

    /// Whether it is inside of a place.
    fn is_in(&self, wanted: &str) -> bool {
        match lines(wanted) {
            Some((file, first, last)) => {
                self.has_file(file) && self.first >= first && self.last <= last
            }
            None => self.is_of(wanted),
        }
    }
}
