//! The Program Structure Graph of one module (ScalAna, section III-A; PerFlow, section 3.2).
//!
//! A module is an executable or a shared library. Each function is a tree of vertices. Calls are leaves: they are not
//! expanded ahead, because contexts are joined along the call paths that were seen. Nothing here depends on where the
//! module was loaded, so a vertex has the same identity in all ranks, runs and scales.

use crate::dependence::Dependences;
use crate::run::{Part, Symbol};
use serde::{Deserialize, Serialize};

/// What a vertex represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum VertexKind {
    /// A function; the root of its tree.
    Function,
    /// A function that the compiler inlined, at the place where it was inlined.
    Inlined,
    /// A natural loop.
    Loop,
    /// A loop with more than one entry.
    IrreducibleLoop,
    /// A branch region: code that a condition decides about.
    Branch,
    /// A direct call of a function of the program or its libraries.
    Call,
    /// A call of an MPI function.
    MpiCall,
    /// A call through the PLT or GOT to another module that is not MPI.
    ExternalCall,
    /// A call through a pointer.
    IndirectCall,
    /// A direct call that can come back to this function.
    RecursiveCall,
    /// Creation or joining of a thread.
    ThreadCall,
    /// A lock operation.
    LockCall,
    /// Straight computation.
    Comp,
}

impl VertexKind {
    /// Whether this is a loop of either kind.
    pub fn is_loop(self) -> bool {
        matches!(self, Self::Loop | Self::IrreducibleLoop)
    }

    /// Whether this decides what runs: a loop or a branch.
    pub fn is_control(self) -> bool {
        self.is_loop() || self == Self::Branch
    }

    /// Whether this is a call of any kind.
    pub fn is_call(self) -> bool {
        use VertexKind::*;
        matches!(
            self,
            Call | MpiCall | ExternalCall | IndirectCall | RecursiveCall | ThreadCall | LockCall
        )
    }
}

/// Index of a string in [`ModuleStructure::strings`].
pub type StringId = u32;

/// Index of a vertex in its function.
pub type VertexId = u32;

/// A node of a function's tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Vertex {
    /// What it is.
    pub kind: VertexKind,
    /// The enclosing vertex; `None` for the function itself, which is vertex 0.
    pub parent: Option<VertexId>,
    /// Callee of a call or name of an inlined function, where known.
    pub name: Option<StringId>,
    /// Source file, where debug information has one.
    pub file: Option<StringId>,
    /// First source line, 0 where unknown.
    pub first_line: u32,
    /// Last source line, 0 where unknown.
    pub last_line: u32,
    /// Lowest address of the vertex, as in the module's symbol values.
    pub address: u64,
}

/// A function and its tree of vertices in pre-order; vertex 0 is the function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Function {
    /// Name for people (demangled), or `func@0x1234` where there is no symbol.
    pub name: StringId,
    /// Name in the symbol table, where there is one.
    pub symbol: Option<StringId>,
    /// Address ranges `[start, end)`; the first holds the entry.
    pub ranges: Vec<(u64, u64)>,
    /// The tree.
    pub vertices: Vec<Vertex>,
    /// Which vertex owns which addresses: `(start, end, vertex)`, sorted by start, without overlap; the
    /// vertex is the innermost one (a call vertex owns just its call instruction).
    pub owners: Vec<(u64, u64, VertexId)>,
}

/// A row of the line table: from `address` to the next row's, the code comes from this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LineRow {
    /// First address.
    pub address: u64,
    /// Source file; `None` ends a sequence.
    pub file: Option<StringId>,
    /// Source line, 0 where unknown.
    pub line: u32,
}

/// Vertex counts before and after contraction (ScalAna, Table II).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Vertices before contraction.
    pub before: usize,
    /// Vertices after contraction.
    pub after: usize,
    /// Loops after contraction.
    pub loops: usize,
    /// Branches after contraction.
    pub branches: usize,
    /// Computation vertices after contraction.
    pub comps: usize,
    /// MPI calls after contraction.
    pub mpi: usize,
}

/// How many instructions of a vertex calculate in vector registers, without those of the vertices inside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arithmetic {
    /// Index of the function.
    pub function: u32,
    /// Vertex in the function.
    pub vertex: VertexId,
    /// Floating-point arithmetic, and packed integer arithmetic.
    pub all: u32,
    /// Those of them that calculate several values at once.
    pub packed: u32,
}

/// What is known of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModuleStructure {
    /// Path it was read from.
    pub path: String,
    /// GNU build id in hexadecimal, or empty.
    pub build_id: String,
    /// Functions, sorted by the start of their first range.
    pub functions: Vec<Function>,
    /// Line table, sorted by address.
    pub lines: Vec<LineRow>,
    /// All names and files.
    pub strings: Vec<String>,
    /// Counts before and after contraction.
    pub counts: Counts,
    /// What loops and branches depend on, if a compiler with our plugin made the module.
    #[serde(default)]
    pub dependences: Dependences,
    /// Arithmetic by function and vertex, sorted; vertices without are left out.
    #[serde(default)]
    pub arithmetic: Vec<Arithmetic>,
    /// What could not be found out, a sentence each (no debug information, unknown machine code …).
    pub problems: Vec<String>,
}

impl ModuleStructure {
    /// The structure of a module that is not a file, from its symbols in the order of their offsets: functions, and
    /// their parts. Of two symbols with one offset the first counts, and parts before the first function are ignored.
    pub fn of_symbols<'a>(symbols: impl IntoIterator<Item = &'a Symbol>) -> Self {
        let mut this = Self::default();
        let mut last = None;
        for symbol in symbols {
            if last.is_some_and(|at| symbol.offset <= at) {
                continue;
            }
            last = Some(symbol.offset);
            this.add(symbol);
        }
        this.close(u64::MAX);
        this
    }

    fn add(&mut self, symbol: &Symbol) {
        if symbol.function {
            self.close(symbol.offset);
        } else if self.functions.is_empty() {
            return;
        }
        let name = self.keep(&symbol.name);
        let is_named = symbol.function || !symbol.name.is_empty();
        let file = (!symbol.file.is_empty()).then(|| self.keep(&symbol.file));
        let vertex = Vertex {
            kind: VertexKind::Function,
            parent: None,
            name: is_named.then_some(name),
            file,
            first_line: symbol.first_line,
            last_line: symbol.last_line,
            address: symbol.offset,
        };
        if symbol.function {
            self.functions.push(Function {
                name,
                symbol: None,
                ranges: vec![(symbol.offset, u64::MAX)],
                vertices: vec![vertex],
                owners: Vec::new(),
            });
        } else if let Some(function) = self.functions.last_mut() {
            let id = function.vertices.len() as VertexId;
            if let Some(owner) = function.owners.last_mut() {
                owner.1 = symbol.offset;
            }
            // What it is in has a smaller offset.
            let around = (function.owners)
                .binary_search_by_key(&symbol.around, |o| o.0)
                .ok()
                .and_then(|i| function.owners.get(i));
            let around = around.map_or(0, |o| o.2);
            function.owners.push((symbol.offset, u64::MAX, id));
            function.vertices.push(Vertex {
                kind: match symbol.part {
                    Part::Call => VertexKind::Call,
                    Part::Loop => VertexKind::Loop,
                    Part::Branch => VertexKind::Branch,
                    Part::IndirectCall => VertexKind::IndirectCall,
                    Part::RecursiveCall => VertexKind::RecursiveCall,
                    Part::Comp => VertexKind::Comp,
                },
                parent: Some(around),
                ..vertex
            });
        }
    }

    /// Ends the last function, and the last call in it, at `end`.
    fn close(&mut self, end: u64) {
        let Some(function) = self.functions.last_mut() else {
            return;
        };
        function.ranges.iter_mut().for_each(|r| r.1 = end);
        if let Some(owner) = function.owners.last_mut() {
            owner.1 = end;
        }
    }

    fn keep(&mut self, text: &str) -> StringId {
        self.strings.push(text.to_string());
        (self.strings.len() - 1) as StringId
    }

    /// The arithmetic of a function, by vertex.
    pub fn arithmetic(&self, function: u32) -> &[Arithmetic] {
        let from = self.arithmetic.partition_point(|a| a.function < function);
        let rest = self.arithmetic.get(from..).unwrap_or(&[]);
        let end = rest.partition_point(|a| a.function == function);
        rest.get(..end).unwrap_or(&[])
    }

    /// The string of an id; empty for an unknown id.
    pub fn string(&self, id: StringId) -> &str {
        self.strings.get(id as usize).map_or("", String::as_str)
    }

    /// The function and its innermost vertex that own `address`.
    pub fn locate(&self, address: u64) -> Option<(usize, VertexId)> {
        // Functions may have cold parts far away, so try the nearest by first range, then all.
        let holds = |f: &Function| f.ranges.iter().any(|&(a, b)| (a..b).contains(&address));
        let after = self
            .functions
            .partition_point(|f| f.ranges.first().is_none_or(|r| r.0 <= address));
        let near = after.checked_sub(1).filter(|&i| holds(&self.functions[i]));
        let index = near.or_else(|| self.functions.iter().position(holds))?;
        let function = &self.functions[index];
        let after = function.owners.partition_point(|o| o.0 <= address);
        let owner = after
            .checked_sub(1)
            .map(|i| function.owners[i])
            .filter(|o| address < o.1);
        Some((index, owner.map_or(0, |o| o.2)))
    }

    /// Source file and line of `address`.
    pub fn line(&self, address: u64) -> Option<(&str, u32)> {
        let after = self.lines.partition_point(|row| row.address <= address);
        let row = after.checked_sub(1).map(|i| self.lines[i])?;
        row.file
            .filter(|_| row.line > 0)
            .map(|file| (self.string(file), row.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_function_are_in_one_another() {
        let symbol = |offset, part, around, name: &str| Symbol {
            offset,
            part,
            around,
            name: name.to_string(),
            ..Default::default()
        };
        let main = Symbol {
            function: true,
            ..symbol(16, Part::Call, 0, "main")
        };
        let all = [
            main,
            symbol(20, Part::Loop, 0, ""),
            symbol(22, Part::Loop, 20, ""),
            symbol(24, Part::Call, 22, "MPI_Send"),
            symbol(26, Part::Comp, 20, ""),
            // Of no part that comes before it.
            symbol(28, Part::Branch, 30, ""),
        ];
        let structure = ModuleStructure::of_symbols(&all);
        let vertices = &structure.functions[0].vertices;
        let parents: Vec<Option<VertexId>> = vertices.iter().map(|v| v.parent).collect();
        assert_eq!(parents, [None, Some(0), Some(1), Some(2), Some(1), Some(0)]);
        let kinds: Vec<VertexKind> = vertices.iter().map(|v| v.kind).collect();
        use VertexKind::*;
        assert_eq!(kinds, [Function, Loop, Loop, Call, Comp, Branch]);
        assert_eq!(vertices[1].name, None);
        assert_eq!(structure.locate(25), Some((0, 3)));
    }

    #[test]
    fn symbols_are_functions_with_calls_up_to_the_next_one() {
        let symbol = |offset, function, name: &str, line| Symbol {
            offset,
            function,
            name: name.to_string(),
            first_line: line,
            ..Default::default()
        };
        let all = [
            symbol(5, false, "nobody's", 0),
            symbol(16, true, "main", 3),
            symbol(20, false, "MPI_Send", 7),
            symbol(20, false, "twice", 0),
            symbol(32, true, "solve", 9),
        ];
        let structure = ModuleStructure::of_symbols(&all);
        let at = |address| {
            let (function, vertex) = structure.locate(address)?;
            let found = structure
                .functions
                .get(function)?
                .vertices
                .get(vertex as usize)?;
            Some((structure.string(found.name?), found.first_line))
        };
        assert_eq!(at(15), None);
        assert_eq!(at(16), Some(("main", 3)));
        assert_eq!(
            (at(20), at(31)),
            (Some(("MPI_Send", 7)), Some(("MPI_Send", 7)))
        );
        assert_eq!(at(1 << 60), Some(("solve", 9)));
    }
}
