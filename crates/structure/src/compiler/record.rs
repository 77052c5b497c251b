//! What the compiler's plugin (`pass`) says of translation units: functions, with their vertices, calls and values.

/// Where in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offset {
    /// At a byte.
    At(i64),
    /// This many bytes before the one that is asked for.
    Asked(i64),
    /// Anywhere.
    Any,
}

/// What a node of the graph of dependences is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A constant.
    Const,
    /// Made of its operands.
    Mix,
    /// A parameter.
    Param,
    /// Memory behind a parameter, when the function is entered.
    Entry,
    /// A global variable.
    Global,
    /// What a call returns.
    Result,
    /// What a call leaves in memory that it was given.
    Out,
    /// A store: its value and what was there before.
    Store,
    /// Not known.
    Unknown,
    /// Not known, if a call keeps the address that it is given.
    Kept,
    /// Not known, if others have the address of a global variable.
    Open,
    /// What others may have written where a parameter points to.
    Points,
    /// Not known, if a parameter may point to a global variable.
    MayPoint,
    /// What a call shows to others, of memory that it was given, before it is done.
    Inner,
    /// Not known, if two parameters may point to the same.
    MayAlias,
    /// What a call leaves in a global variable that it is not given.
    After,
}

/// A place in the source; strings are numbers of the record's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct At {
    pub file: u32,
    pub line: u32,
}

/// A value, or the state of a piece of memory.
#[derive(Clone, Debug)]
pub struct Node {
    pub op: Op,
    /// Variable of the source; 0 for none.
    pub name: u32,
    pub at: At,
    /// Parameter, call or symbol, by `op`.
    pub of: u32,
    /// Argument of a call, or bytes of a store.
    pub more: u64,
    pub offset: Offset,
    /// How many operands are the value itself, where the others only decide which; 0 for all.
    pub data: u32,
    pub operands: Vec<u32>,
}

/// Kinds of vertices of the compiler's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Loop,
    Branch,
    Call,
}

/// A loop, branch or call as the compiler sees it.
#[derive(Clone, Debug)]
pub struct CompilerVertex {
    pub kind: Kind,
    pub parent: Option<u32>,
    pub at: At,
    /// Last line.
    pub last: u32,
    pub call: u32,
    pub conditions: Vec<u32>,
}

/// What memory an argument points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// It is no pointer, or one to constants: the number, where there is one.
    None(Option<u32>),
    /// An object of the caller, by its number.
    Local(u32),
    /// What a parameter of the caller points to.
    Parameter(u32),
    /// A global variable.
    Global(u32),
    /// Something else.
    Elsewhere,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub struct Argument {
    pub value: u32,
    /// State of the memory that it points to.
    pub content: u32,
    pub base: Base,
    /// Whether the called function may keep the pointer, as far as the caller's unit knows.
    pub kept: bool,
    /// Whether others have the address of the object already.
    pub shared: bool,
    pub offset: Offset,
}

/// A call site.
#[derive(Clone, Debug)]
pub struct Call {
    /// Symbol; 0 for a call through a pointer.
    pub callee: u32,
    pub vertex: u32,
    /// Whether it enters no function of the program, and writes only what it is given.
    pub quiet: bool,
    pub arguments: Vec<Argument>,
}

/// What a function leaves where a parameter points to.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    pub parameter: u32,
    /// State when it returns.
    pub after: u32,
    /// States that others see before.
    pub between: u32,
}

/// A global variable that a function writes.
#[derive(Clone, Copy, Debug)]
pub struct WrittenGlobal {
    pub symbol: u32,
    /// States that others may see.
    pub seen: u32,
    /// State when it returns.
    pub after: u32,
}

/// A function.
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    pub symbol: u32,
    pub line: u32,
    pub local: bool,
    pub address_taken: bool,
    /// Whether linking may take another definition.
    pub weak: bool,
    /// Vertices before contraction.
    pub before: usize,
    pub nodes: Vec<Node>,
    pub vertices: Vec<CompilerVertex>,
    pub calls: Vec<Call>,
    pub result: u32,
    /// What parameters point to: when the function returns, and what others see before.
    pub outs: Vec<Left>,
    /// Parameters whose pointer is kept somewhere.
    pub kept: Vec<u32>,
    /// Globals that it writes.
    pub globals: Vec<WrittenGlobal>,
}

/// A global variable as one unit sees it.
#[derive(Clone, Copy, Debug)]
pub struct GlobalVariable {
    pub symbol: u32,
    pub local: bool,
    /// Whether its address is kept somewhere.
    pub escapes: bool,
    /// Whether the unit defines it.
    pub defined: bool,
}

/// One translation unit.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub strings: Vec<String>,
    pub source: u32,
    pub maker: u32,
    pub globals: Vec<GlobalVariable>,
    /// Functions that all units see, whose address this one takes.
    pub taken: Vec<u32>,
    /// Other names of functions: the name, and the function.
    pub aliases: Vec<(u32, u32)>,
    pub functions: Vec<CompiledFunction>,
}

impl Record {
    /// A string by its number.
    pub fn string(&self, number: u32) -> &str {
        self.strings.get(number as usize).map_or("", String::as_str)
    }
}

impl CompiledFunction {
    /// A vertex and those around it, innermost first.
    pub fn around(&self, vertex: Option<u32>) -> impl Iterator<Item = &CompilerVertex> {
        let get = |v: u32| self.vertices.get(v as usize);
        std::iter::successors(vertex.and_then(get), move |v| v.parent.and_then(get))
    }

    /// Whether vertices come behind their parents; other numbers are checked where they are used.
    pub(super) fn fits(&self) -> bool {
        let ordered = |(i, v): (usize, &CompilerVertex)| v.parent.is_none_or(|p| (p as usize) < i);
        self.vertices.iter().enumerate().all(ordered)
    }
}
