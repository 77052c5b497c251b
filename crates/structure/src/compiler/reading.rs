//! Reads the section that the compiler's plugin writes, as it is in a linked file: the records of all translation units,
//! one behind the other.
//!
//! Each record has its own magic, version, length and checksum, so that objects of different age can be linked together.
//! Bytes may be anything: what does not fit is a sentence in `problems`, and records before it count.

use super::record::{
    Argument, At, Base, Call, CompiledFunction, CompilerVertex, GlobalVariable, Kind, Left, Node,
    Offset, Op, Record, WrittenGlobal,
};

/// The plugin's number of this format.
pub const VERSION: u32 = 6;
/// Bytes before the body of a record: magic, version, length, checksum.
const HEADER: usize = 16;
/// Bytes of a section at the most: no module has more by far.
pub const LONGEST: usize = 128 << 20;
const MAGIC: &[u8; 4] = b"HWPS";
/// Values and states of memory of all records of a section at the most: a few bytes there are many in memory.
const MOST_NODES: usize = 16 << 20;

/// Bits of a node's first number that are its op. Each one above says whether a field follows, in the order of the fields
/// in the record but for the operands, which are its end. Most nodes have operands and a line in the file of the node
/// before, so that one byte says it.
const OP_BITS: u32 = 4;
const HAS_OPERANDS: u32 = 1 << OP_BITS;
const HAS_LINE: u32 = 2 << OP_BITS;
/// The file is that of the last node that has one.
const SAME_FILE: u32 = 4 << OP_BITS;
const OTHER_FILE: u32 = 8 << OP_BITS;
const HAS_NAME: u32 = 16 << OP_BITS;
const HAS_OF: u32 = 32 << OP_BITS;
const HAS_MORE: u32 = 64 << OP_BITS;
const HAS_OFFSET: u32 = 128 << OP_BITS;
const HAS_DATA: u32 = 256 << OP_BITS;
const UNKNOWN_FIELDS: u32 = !((512 << OP_BITS) - 1);
const _: () = assert!(OPS.len() <= 1 << OP_BITS);

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

/// All records of a section, and what is wrong with it.
pub fn read(section: &[u8]) -> (Vec<Record>, Vec<String>) {
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    let mut rest = section;
    let mut nodes = MOST_NODES;
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
            let mut reader = Reader { rest: body, nodes };
            match reader.record() {
                Some(record) => records.push(record),
                None if reader.nodes == 0 => {
                    problems.push(format!(
                        "has more than {MOST_NODES} values: those of further records are not used"
                    ));
                }
                None => problems.push("damaged: a record does not fit together".to_string()),
            }
            nodes = reader.nodes;
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

/// The bytes of a record that are not read yet, and how many more nodes the section may have.
struct Reader<'a> {
    rest: &'a [u8],
    nodes: usize,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
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

    /// A number that is there, or 0.
    fn small_if(&mut self, there: bool) -> Option<u32> {
        if there { self.small() } else { Some(0) }
    }

    fn signed(&mut self) -> Option<i64> {
        let zigzag = self.number()?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// A list; each element takes a byte at least, so a length beyond what is left is wrong.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = usize::try_from(self.number()?).ok()?;
        if length > self.rest.len() {
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
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn offset(&mut self) -> Option<Offset> {
        let mode = self.number()?;
        let at = self.signed()?;
        match mode {
            0 => Some(Offset::At(at)),
            1 => Some(Offset::Asked(at)),
            2 => Some(Offset::Any),
            _ => None,
        }
    }

    fn record(&mut self) -> Option<Record> {
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
        self.rest.is_empty().then_some(Record {
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
        let nodes = self.nodes()?;
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

    fn nodes(&mut self) -> Option<Vec<Node>> {
        let (mut next, mut file) = (0u32, 0u32);
        self.list(|r| {
            r.nodes = r.nodes.checked_sub(1)?;
            let node = r.node(next, file)?;
            next = next.checked_add(1)?;
            if node.at.file != 0 {
                file = node.at.file;
            }
            Some(node)
        })
    }

    /// A node by its number, where `file` is that of the last one that has any.
    fn node(&mut self, number: u32, file: u32) -> Option<Node> {
        let fields = self.small()?;
        let has = |field: u32| fields & field != 0;
        if has(UNKNOWN_FIELDS) || (has(SAME_FILE) && (has(OTHER_FILE) || file == 0)) {
            return None;
        }
        let op = *OPS.get((fields & (HAS_OPERANDS - 1)) as usize)?;
        let line = self.small_if(has(HAS_LINE))?;
        let other = self.small_if(has(OTHER_FILE))?;
        Some(Node {
            op,
            at: At {
                file: if has(SAME_FILE) { file } else { other },
                line,
            },
            name: self.small_if(has(HAS_NAME))?,
            of: self.small_if(has(HAS_OF))?,
            more: if has(HAS_MORE) { self.number()? } else { 0 },
            offset: if has(HAS_OFFSET) {
                self.offset()?
            } else {
                Offset::At(0)
            },
            data: self.small_if(has(HAS_DATA))?,
            operands: if has(HAS_OPERANDS) {
                // By how many nodes they are before this one.
                self.list(|r| u32::try_from(i64::from(number).checked_sub(r.signed()?)?).ok())?
            } else {
                Vec::new()
            },
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

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(bytes: &[u8]) -> Option<Vec<Node>> {
        let mut reader = Reader {
            rest: bytes,
            nodes: 10,
        };
        let all = reader.nodes()?;
        reader.rest.is_empty().then_some(all)
    }

    #[test]
    fn nodes_have_the_fields_that_they_say() {
        // Two bytes for what needs more than seven bits.
        let fields = |op: u32, fields: u32| {
            let all = op | fields;
            [all as u8 | 128, (all >> 7) as u8]
        };
        let plain = [1, 0];
        let all = nodes(&plain).expect("a node");
        assert_eq!((all[0].op, all[0].at), (Op::Const, At::default()));
        assert_eq!((all[0].offset, all[0].operands.len()), (Offset::At(0), 0));

        let every = HAS_OPERANDS
            | HAS_LINE
            | OTHER_FILE
            | HAS_NAME
            | HAS_OF
            | HAS_MORE
            | HAS_OFFSET
            | HAS_DATA;
        // The second node is before the first one by -1, which is 1 in the record.
        let mut bytes = vec![3];
        bytes.extend(fields(6, every));
        bytes.extend([7, 3, 4, 5, 6, 1, 3, 1, 2, 0, 1]);
        bytes.extend(fields(1, SAME_FILE | HAS_LINE));
        bytes.push(9);
        bytes.extend(fields(1, HAS_OPERANDS));
        bytes.extend([1, 4]);
        let all = nodes(&bytes).expect("three nodes");
        let first = &all[0];
        assert_eq!((first.op, first.at), (Op::Out, At { file: 3, line: 7 }));
        assert_eq!((first.name, first.of, first.more), (4, 5, 6));
        assert_eq!((first.offset, first.data), (Offset::Asked(-2), 1));
        assert_eq!(first.operands, [0, 1]);
        assert_eq!(all[1].at, At { file: 3, line: 9 });
        assert_eq!((all[2].at, &all[2].operands[..]), (At::default(), &[0][..]));

        let wrong = |op: u32, of: u32, more: &[u8]| {
            let bytes = [&[1], &fields(op, of)[..], more].concat();
            assert!(nodes(&bytes).is_none(), "{of:#x}");
        };
        wrong(0, SAME_FILE, &[]);
        wrong(0, 512 << OP_BITS, &[]);
        // One before the first node.
        wrong(1, HAS_OPERANDS, &[1, 2]);
        assert!(nodes(&[11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_none());
    }

    #[test]
    fn the_plugin_has_the_same_numbers() {
        let source = crate::PASS_SOURCE;
        let says = |text: String| assert!(source.contains(&text), "{text}");
        says(format!("constexpr unsigned Version = {VERSION};"));
        says(format!("constexpr unsigned OpBits = {OP_BITS};"));
        let fields = [
            ("HasOperands", HAS_OPERANDS),
            ("HasLine", HAS_LINE),
            ("SameFile", SAME_FILE),
            ("OtherFile", OTHER_FILE),
            ("HasName", HAS_NAME),
            ("HasA", HAS_OF),
            ("HasC", HAS_MORE),
            ("HasOffset", HAS_OFFSET),
            ("HasAlternatives", HAS_DATA),
        ];
        for (name, value) in fields {
            says(format!("{name} = {} << OpBits", value >> OP_BITS));
        }
    }

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
