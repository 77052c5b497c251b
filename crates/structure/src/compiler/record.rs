//! The section that the compiler's plugin writes (`pass`), as it is in a linked file: the records of
//! all translation units, one behind the other.
//!
//! Each record has its own magic, version, length and checksum, so that objects of different age can be linked together.
//! Bytes may be anything: what does not fit is a sentence in `problems`, and records before it count.

/// The plugin's number of this format.
pub const VERSION: u32 = 3;
/// Bytes before the body of a record: magic, version, length, checksum.
const HEADER: usize = 16;
/// Bytes of a section at the most: no module has more by far.
pub const LONGEST: usize = 128 << 20;
const MAGIC: &[u8; 4] = b"HWPS";

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

const OPS: [Op; 16] = [
    Op::Const,
    Op::Mix,
    Op::Param,
    Op::Entry,
    Op::Global,
    Op::Result,
    Op::Out,
    Op::Store,
    Op::Unknown,
    Op::Kept,
    Op::Open,
    Op::Points,
    Op::MayPoint,
    Op::Inner,
    Op::MayAlias,
    Op::After,
];

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

/// All records of a section, and what is wrong with it.
pub fn read(section: &[u8]) -> (Vec<Record>, Vec<String>) {
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    let mut rest = section;
    while !rest.is_empty() {
        let word = |at: usize| {
            let bytes = rest.get(at..at + 4)?;
            Some(u32::from_le_bytes(bytes.try_into().ok()?))
        };
        let (Some(version), Some(length), Some(sum)) = (word(4), word(8), word(12)) else {
            problems.push("cut short".to_string());
            break;
        };
        if !rest.starts_with(MAGIC) {
            problems.push("damaged: a record does not begin where it should".to_string());
            break;
        }
        let body = (length as usize)
            .checked_add(HEADER)
            .and_then(|end| rest.get(HEADER..end));
        let Some(body) = body else {
            problems.push("cut short".to_string());
            break;
        };
        rest = &rest[HEADER + body.len()..];
        if version != VERSION {
            problems.push(format!(
                "written by a plugin of format {version}, and this is {VERSION}: compile again with headwater cc"
            ));
        } else if checksum(body) != sum {
            problems.push("damaged: a checksum does not fit".to_string());
        } else {
            match Reader(body).record() {
                Some(record) => records.push(record),
                None => problems.push("damaged: a record does not fit together".to_string()),
            }
        }
    }
    problems.sort();
    problems.dedup();
    (records, problems)
}

/// A record of a body.
pub fn framed(version: u32, body: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    for word in [version, body.len() as u32, checksum(body)] {
        out.extend(word.to_le_bytes());
    }
    out.extend(body);
    out
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |h, b| {
        (h ^ u32::from(*b)).wrapping_mul(0x0100_0193)
    })
}

/// The bytes of a record that are not read yet.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A list; each element takes a byte at least, so a length beyond what is left is wrong.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = usize::try_from(self.number()?).ok()?;
        if length > self.0.len() {
            return None;
        }
        // Not with room for all: elements are larger than their bytes.
        let mut all = Vec::new();
        for _ in 0..length {
            all.push(one(self)?);
        }
        Some(all)
    }

    fn numbers(&mut self) -> Option<Vec<u32>> {
        self.list(Self::small)
    }

    fn pair(&mut self) -> Option<(u32, u32)> {
        Some((self.small()?, self.small()?))
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn offset(&mut self) -> Option<Offset> {
        let mode = self.number()?;
        let zigzag = self.number()?;
        let at = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        match mode {
            0 => Some(Offset::At(at)),
            1 => Some(Offset::Asked(at)),
            2 => Some(Offset::Any),
            _ => None,
        }
    }

    fn record(mut self) -> Option<Record> {
        let strings = self.list(Self::text)?;
        let (source, maker) = self.pair()?;
        let globals = self.list(|r| {
            let (symbol, flags) = r.pair()?;
            Some(GlobalVariable {
                symbol,
                local: flags & 1 != 0,
                escapes: flags & 2 != 0,
                defined: flags & 4 != 0,
            })
        })?;
        let taken = self.numbers()?;
        let aliases = self.list(Self::pair)?;
        let functions = self.list(Self::function)?;
        self.0.is_empty().then_some(Record {
            strings,
            source,
            maker,
            globals,
            taken,
            aliases,
            functions,
        })
    }

    fn function(&mut self) -> Option<CompiledFunction> {
        let symbol = self.small()?;
        let (_name, line) = self.pair()?;
        let flags = self.number()?;
        let before = usize::try_from(self.number()?).ok()?;
        let _parameters = self.small()?;
        let nodes = self.list(Self::node)?;
        let vertices = self.list(Self::vertex)?;
        let calls = self.list(|r| {
            let (callee, vertex) = r.pair()?;
            Some(Call {
                callee,
                vertex,
                quiet: r.small()? != 0,
                arguments: r.list(Self::argument)?,
            })
        })?;
        let this = CompiledFunction {
            symbol,
            line,
            local: flags & 1 != 0,
            address_taken: flags & 2 != 0,
            weak: flags & 4 != 0,
            before,
            nodes,
            vertices,
            calls,
            result: self.small()?,
            outs: self.list(|r| {
                Some(Left {
                    parameter: r.small()?,
                    after: r.small()?,
                    between: r.small()?,
                })
            })?,
            kept: self.numbers()?,
            globals: self.list(|r| {
                Some(WrittenGlobal {
                    symbol: r.small()?,
                    seen: r.small()?,
                    after: r.small()?,
                })
            })?,
        };
        this.fits().then_some(this)
    }

    fn node(&mut self) -> Option<Node> {
        Some(Node {
            op: *OPS.get(usize::try_from(self.number()?).ok()?)?,
            name: self.small()?,
            at: At {
                file: self.small()?,
                line: self.small()?,
            },
            of: self.small()?,
            more: self.number()?,
            offset: self.offset()?,
            data: self.small()?,
            operands: self.numbers()?,
        })
    }

    fn vertex(&mut self) -> Option<CompilerVertex> {
        let kind = match self.number()? {
            0 => Kind::Loop,
            1 => Kind::Branch,
            2 => Kind::Call,
            _ => return None,
        };
        Some(CompilerVertex {
            kind,
            parent: self.small()?.checked_sub(1),
            at: At {
                file: self.small()?,
                line: self.small()?,
            },
            last: self.small()?,
            call: {
                let _inlined = self.small()?;
                self.small()?
            },
            conditions: self.numbers()?,
        })
    }

    fn argument(&mut self) -> Option<Argument> {
        let (value, content) = self.pair()?;
        let (base, which) = (self.small()?, self.number()?);
        let number = u32::try_from(which).ok();
        Some(Argument {
            value,
            content,
            base: match base & 7 {
                0 => Base::None(number.and_then(|n| n.checked_sub(1))),
                1 => Base::Local(number?),
                2 => Base::Parameter(number?),
                3 => Base::Global(number?),
                4 => Base::Elsewhere,
                _ => return None,
            },
            kept: base & 8 != 0,
            shared: base & 16 != 0,
            offset: self.offset()?,
        })
    }
}

impl CompiledFunction {
    /// A vertex and those around it, innermost first.
    pub fn around(&self, vertex: Option<u32>) -> impl Iterator<Item = &CompilerVertex> {
        let get = |v: u32| self.vertices.get(v as usize);
        std::iter::successors(vertex.and_then(get), move |v| v.parent.and_then(get))
    }

    /// Whether vertices come behind their parents; other numbers are checked where they are used.
    fn fits(&self) -> bool {
        let ordered = |(i, v): (usize, &CompilerVertex)| v.parent.is_none_or(|p| (p as usize) < i);
        self.vertices.iter().enumerate().all(ordered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_behind_one_of_another_version_are_read() {
        // No strings, globals or functions.
        let good = framed(VERSION, &[0; 7]);
        let old = framed(VERSION + 1, b"whatever");
        let (records, problems) = read(&[good.clone(), old, good.clone()].concat());
        assert_eq!((records.len(), problems.len()), (2, 1));
        assert!(problems[0].contains("compile again"), "{problems:?}");
        let (records, problems) = read(&[&good[..], &good[..good.len() - 1]].concat());
        assert_eq!(
            (records.len(), &problems[..]),
            (1, &["cut short".to_string()][..])
        );
        let mut damaged = good.clone();
        *damaged.last_mut().expect("bytes") = 1;
        assert_eq!(read(&damaged).0.len(), 0);
        assert_eq!(read(&framed(VERSION, &[255; 40])).0.len(), 0);
    }
}
