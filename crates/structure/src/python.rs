//! Functions, loops and lines of a source file of Python, from its blocks; nothing is run.
//!
//! Places have the offsets that a recording gives them (`headwater_model::run::python`), so what the source says fits
//! the frames of a run. Python's blocks are its indentation: `python_lines` reads the statements, and each statement
//! that is indented less ends the blocks before it.

use crate::StructureError;
use crate::python_lines::{Statement, statements};
use headwater_model::psg::ModuleStructure;
use headwater_model::run::{Part, Symbol, python};
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of a source file at the most.
const LONGEST: u64 = 1 << 24;

/// Python itself allows no more blocks in each other.
const DEEPEST: usize = 100;

/// Name of the code of a file outside of its functions.
const MODULE: &str = "<module>";

/// A loop of a function.
struct Loop {
    first_line: u32,
    last_line: u32,
    /// The loop around it.
    around: Option<usize>,
}

/// A line of a function.
struct Line {
    /// The loop that it is in.
    around: Option<usize>,
    /// What it calls, if it calls anything.
    call: Option<String>,
}

/// A function, the body of a class, or the code of the file outside of both.
struct Function {
    /// Its name with those around it.
    name: String,
    first_line: u32,
    last_line: u32,
    loops: Vec<Loop>,
    lines: BTreeMap<u32, Line>,
}

/// What is in a source file.
pub struct PythonSource {
    path: String,
    functions: Vec<Function>,
}

/// Whether a file is one of Python, by its name.
pub fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "py")
}

impl PythonSource {
    /// Reads the source at `path`.
    ///
    /// # Errors
    /// A file that cannot be read, or whose blocks cannot be found.
    pub fn read(path: &Path) -> Result<Self, StructureError> {
        let bytes = headwater_files::read(path, LONGEST).map_err(|source| StructureError::Io {
            path: path.to_path_buf(),
            source,
        })?;
        let text = String::from_utf8_lossy(&bytes);
        Self::of(&path.display().to_string(), &text).map_err(|why| StructureError::NotPython {
            path: path.to_path_buf(),
            why,
        })
    }

    /// What is in this text.
    fn of(path: &str, text: &str) -> Result<Self, String> {
        let mut reader = Reader::new();
        for statement in statements(text)? {
            reader.take(&statement)?;
        }
        Ok(Self {
            path: path.to_string(),
            functions: reader.functions,
        })
    }

    /// The structure of the file alone.
    pub fn structure(&self) -> ModuleStructure {
        let mut symbols = Vec::new();
        for function in &self.functions {
            let offset = python::function(function.first_line, &function.name);
            self.put(function, offset, &function.name, &mut symbols);
        }
        self.made(symbols.into_iter().map(|s| (s.offset, s)).collect())
    }

    /// The structure of the file, in which functions and lines of a run are at the same offsets. `None` if the run has a
    /// function that is not in the file: it was another one then.
    pub fn structure_of(&self, run: &ModuleStructure) -> Option<ModuleStructure> {
        let mut all: BTreeMap<u64, Symbol> = BTreeMap::new();
        // Before 3.11, the code of a file begins with its first statement.
        let key = |name: &'_ str, first_line| match own_name(name) {
            MODULE => (MODULE.to_string(), 0),
            own => (own.to_string(), first_line),
        };
        let mut own: BTreeMap<(String, u32), &Function> = BTreeMap::new();
        for function in &self.functions {
            own.entry(key(&function.name, function.first_line))
                .or_insert(function);
        }
        for function in &run.functions {
            let root = function.vertices.first()?;
            let name = run.string(function.name);
            let last = own_name(name);
            let mut symbols = Vec::new();
            match own.get(&key(name, root.first_line)) {
                Some(own) => self.put(own, root.address, name, &mut symbols),
                // Comprehensions and the like have no name in the source.
                None if last.starts_with('<') => {}
                None => return None,
            }
            all.extend(symbols.into_iter().map(|s| (s.offset, s)));
            for vertex in &function.vertices {
                let is_call = vertex.kind.is_call();
                let symbol = all.entry(vertex.address).or_insert_with(|| Symbol {
                    offset: vertex.address,
                    function: vertex.parent.is_none(),
                    part: Part::Comp,
                    name: vertex.name.map_or("", |n| run.string(n)).to_string(),
                    file: self.path.clone(),
                    first_line: vertex.first_line,
                    last_line: vertex.last_line,
                    ..Default::default()
                });
                if is_call && !symbol.function {
                    symbol.part = Part::Call;
                }
            }
        }
        Some(self.made(all))
    }

    fn made(&self, symbols: BTreeMap<u64, Symbol>) -> ModuleStructure {
        let mut structure = ModuleStructure::of_symbols(symbols.values());
        structure.path.clone_from(&self.path);
        let count = |part: Part| {
            symbols
                .values()
                .filter(|s| !s.function && s.part == part)
                .count()
        };
        let counts = &mut structure.counts;
        (counts.before, counts.after) = (symbols.len(), symbols.len());
        (counts.loops, counts.comps) = (count(Part::Loop), count(Part::Comp));
        structure
    }

    /// Adds the symbols of a function at `offset`.
    fn put(&self, function: &Function, offset: u64, name: &str, symbols: &mut Vec<Symbol>) {
        let symbol = |offset, first_line, last_line| Symbol {
            offset,
            file: self.path.clone(),
            first_line,
            last_line,
            ..Default::default()
        };
        symbols.push(Symbol {
            function: true,
            name: name.to_string(),
            ..symbol(offset, function.first_line, function.last_line)
        });
        let mut begins: Vec<u64> = Vec::new();
        let mut on_line: BTreeMap<u32, u32> = BTreeMap::new();
        for one in &function.loops {
            let number = on_line.entry(one.first_line).or_insert(0);
            let begin = python::begin_of_loop(offset, one.first_line, *number);
            *number += 1;
            symbols.push(Symbol {
                part: Part::Loop,
                around: around(&begins, one.around),
                ..symbol(begin, one.first_line, one.last_line)
            });
            begins.push(begin);
        }
        for (number, line) in &function.lines {
            symbols.push(Symbol {
                part: if line.call.is_some() {
                    Part::Call
                } else {
                    Part::Comp
                },
                around: around(&begins, line.around),
                name: line.call.clone().unwrap_or_default(),
                ..symbol(python::line(offset, *number), *number, *number)
            });
        }
    }
}

/// The name of a function without those around it.
fn own_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The offset of a loop; 0 for none.
fn around(begins: &[u64], number: Option<usize>) -> u64 {
    number.and_then(|n| begins.get(n)).copied().unwrap_or(0)
}

/// A block that is open.
struct Block {
    /// The indentation of the statement that began it.
    indent: usize,
    function: usize,
    /// The loop that its statements are in.
    around: Option<usize>,
    /// If it is the block of a loop: that.
    own_loop: Option<usize>,
    /// What the names of functions in it begin with.
    prefix: String,
}

/// What has been read of a file.
struct Reader {
    functions: Vec<Function>,
    open: Vec<Block>,
    /// The first decorator of the function that follows.
    decorated: Option<u32>,
}

impl Reader {
    fn new() -> Self {
        let mut reader = Self {
            functions: Vec::new(),
            open: Vec::new(),
            decorated: None,
        };
        reader.begin(MODULE.to_string(), 1);
        reader
    }

    fn begin(&mut self, name: String, first_line: u32) -> usize {
        self.functions.push(Function {
            name,
            first_line,
            last_line: first_line,
            loops: Vec::new(),
            lines: BTreeMap::new(),
        });
        self.functions.len() - 1
    }

    fn take(&mut self, statement: &Statement) -> Result<(), String> {
        while self
            .open
            .last()
            .is_some_and(|b| b.indent >= statement.indent)
        {
            self.open.pop();
        }
        for block in &self.open {
            if let Some(function) = self.functions.get_mut(block.function) {
                function.last_line = statement.last_line;
                if let Some(own) = block.own_loop.and_then(|l| function.loops.get_mut(l)) {
                    own.last_line = statement.last_line;
                }
            }
        }
        let (function, around, prefix) = match self.open.last() {
            Some(block) => (block.function, block.around, block.prefix.clone()),
            None => (0, None, String::new()),
        };
        if let Some(module) = self.functions.first_mut() {
            module.last_line = statement.last_line;
        }
        if statement.text.starts_with('@') {
            self.decorated.get_or_insert(statement.first_line);
            self.line(statement, function, around, None);
            return Ok(());
        }
        let first_line = self.decorated.take().unwrap_or(statement.first_line);
        let (mut word, mut rest) = first_word(&statement.text);
        if word == "async" {
            (word, rest) = first_word(rest);
        }
        let (mut own, mut inside, mut behind) = (function, around, prefix.clone());
        let mut own_loop = None;
        match word {
            "def" | "class" => {
                let name = format!("{prefix}{}", first_word(rest).0);
                behind = match word {
                    "def" => format!("{name}.<locals>."),
                    _ => format!("{name}."),
                };
                own = self.begin(name, first_line);
                inside = None;
                self.line(statement, function, around, None);
                if let Some(own) = self.functions.get_mut(own) {
                    own.last_line = statement.last_line;
                }
                if !statement.opens_block {
                    self.line(statement, own, None, body(rest).and_then(called));
                }
            }
            "for" | "while" => {
                if let Some(function) = self.functions.get_mut(function) {
                    function.loops.push(Loop {
                        first_line: statement.first_line,
                        last_line: statement.last_line,
                        around,
                    });
                    own_loop = Some(function.loops.len() - 1);
                    inside = own_loop;
                }
                self.line(statement, function, inside, body(rest).and_then(called));
            }
            _ if HEADS.contains(&word) => {
                let call = called(rest).or_else(|| body(rest).and_then(called));
                self.line(statement, function, around, call);
            }
            _ => self.line(statement, function, around, called(&statement.text)),
        }
        if statement.opens_block {
            if self.open.len() >= DEEPEST {
                return Err(format!("blocks are nested deeper than {DEEPEST}"));
            }
            self.open.push(Block {
                indent: statement.indent,
                function: own,
                around: inside,
                own_loop,
                prefix: behind,
            });
        }
        Ok(())
    }

    /// Adds the lines of a statement to a function.
    fn line(
        &mut self,
        statement: &Statement,
        function: usize,
        around: Option<usize>,
        call: Option<String>,
    ) {
        if let Some(function) = self.functions.get_mut(function) {
            for number in statement.first_line..=statement.last_line {
                let call = call.clone().filter(|_| number == statement.first_line);
                function
                    .lines
                    .entry(number)
                    .or_insert(Line { around, call });
            }
        }
    }
}

/// Words that begin a block and an expression or a statement behind them.
const HEADS: [&str; 9] = [
    "if", "elif", "else", "try", "except", "finally", "with", "case", "match",
];

/// Words before a value that is computed.
const BEFORE_VALUES: [&str; 8] = [
    "return", "await", "yield", "from", "raise", "assert", "not", "del",
];

/// Words that may have a bracket behind them and are no functions.
const NO_FUNCTIONS: [&str; 8] = ["in", "is", "and", "or", "lambda", "except", "import", "as"];

/// The word that a text begins with, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()))
}

/// What is behind the colon that ends the head of a block, on the same line.
fn body(head: &str) -> Option<&str> {
    let mut brackets = 0i64;
    let colon = head.find(|c| {
        brackets += match c {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        c == ':' && brackets == 0
    })?;
    head.get(colon + 1..)
}

/// What a statement calls, if it is a call or assigns or returns the value of one, and that has a name. Of several on
/// one line, it is not known which of them took the time.
fn called(text: &str) -> Option<String> {
    if text.trim_end_matches([';', ' ']).contains(';') {
        return None;
    }
    let mut value = match text.split_once('=') {
        Some((to, value)) if !to.contains('(') => value.trim_start(),
        _ => text.trim_start(),
    };
    loop {
        let (word, rest) = first_word(value);
        if !BEFORE_VALUES.contains(&word) {
            break;
        }
        value = rest.trim_start();
    }
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let end = value.find(|c| !is_name(c))?;
    let (name, rest) = (value.get(..end)?, value.get(end..)?);
    let is_call =
        rest.starts_with('(') && name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_call && !NO_FUNCTIONS.contains(&name)).then(|| name.to_string())
}

#[cfg(test)]
mod tests;
