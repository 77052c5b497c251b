//! Numbers in a file, written and read by one code.
//!
//! A [`Coder`] writes the number that it is given and returns it, or ignores what it is given and returns the number
//! that it has read. So the body of a file is described once ([`super::body`]), and a reader cannot differ from its
//! writer.

use super::Error;

/// What a number is. The packed form has statistics for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Field {
    Size,
    Blocks,
    Start,
    Dims,
    Iters,
    Stride,
    SetRef,
    Count,
    Text,
    Derived,
    Raw,
    Number,
    ListMode,
    ListValue,
    Thread,
    Row,
    IsLoop,
    Signature,
    Known,
    Function,
    Kinds,
    Kind,
    PathStep,
    Module,
    Offset,
    Columns,
    Column,
    Distance,
    Parts,
    Form,
    Value,
    Identity,
    Terms,
    Term,
    Rest,
    Length,
    TermStride,
    Delta,
    Before,
    Runs,
    Same,
    Regular,
    Near,
    Min,
    Spread,
    Sum,
    Bucket,
    Half,
    Loss,
    Grain,
    UnitMode,
    Units,
    Table,
    Hit,
    Recent,
    Miss,
    Base,
    Around,
    Single,
    Histogram,
}

/// How many things there are that a number may depend on.
pub(super) const HINTS: usize = 4;

/// What numbers may depend on.
pub(super) type Hints = [u32; HINTS];

/// They depend on nothing.
pub(super) const NOTHING: Hints = [0; HINTS];

/// A writer or a reader of numbers.
pub(super) trait Coder {
    /// Writes or reads a number. `context` separates its statistics from those of other numbers of this field.
    fn number(&mut self, field: Field, context: u32, value: u64) -> Result<u64, Error>;

    /// A number that is 0 or 1.
    fn flag(&mut self, field: Field, context: u32, value: bool) -> Result<bool, Error>;

    /// A number with a sign.
    fn signed(&mut self, field: Field, context: u32, value: i64) -> Result<i64, Error>;

    /// A byte of a text, after another one.
    fn byte(&mut self, field: Field, before: u8, value: u8) -> Result<u8, Error>;

    /// A number from 0 to `most`, which is probably of about as many bits as `most`.
    fn below(&mut self, field: Field, context: u32, value: u64, most: u64) -> Result<u64, Error>;

    /// A number that is probably about as large as `expected`.
    fn around(
        &mut self,
        field: Field,
        context: u32,
        value: u64,
        _expected: u64,
    ) -> Result<u64, Error> {
        self.number(field, context, value)
    }

    /// What the numbers that follow may depend on, each of these by itself; 0 for nothing.
    fn about(&mut self, _: Hints) {}

    /// Numbers up to now. It grows alike in a writer and its reader.
    fn numbers(&self) -> u64;

    /// Whether what can be predicted takes next to nothing.
    fn is_packed(&self) -> bool {
        false
    }

    /// What follows is of this part of the body, for counting; returns the part before.
    fn part(&mut self, _: &'static str) -> &'static str {
        ""
    }
}

/// Writes numbers as bytes: seven bits in each, the lowest first (LEB128).
#[derive(Default)]
pub(super) struct PlainWriter {
    pub bytes: Vec<u8>,
    numbers: u64,
}

pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub(super) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends a number, seven bits in each byte, the lowest first.
pub(super) fn write_leb(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads such a number from the front. `None` if it is cut or has more than 64 bits.
pub(super) fn read_leb(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(first & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

impl Coder for PlainWriter {
    fn number(&mut self, _: Field, _: u32, value: u64) -> Result<u64, Error> {
        self.numbers += 1;
        write_leb(&mut self.bytes, value);
        Ok(value)
    }

    fn flag(&mut self, field: Field, context: u32, value: bool) -> Result<bool, Error> {
        self.number(field, context, u64::from(value))?;
        Ok(value)
    }

    fn signed(&mut self, field: Field, context: u32, value: i64) -> Result<i64, Error> {
        self.number(field, context, zigzag(value))?;
        Ok(value)
    }

    fn byte(&mut self, _: Field, _: u8, value: u8) -> Result<u8, Error> {
        self.numbers += 1;
        self.bytes.push(value);
        Ok(value)
    }

    fn below(&mut self, field: Field, context: u32, value: u64, _: u64) -> Result<u64, Error> {
        self.number(field, context, value)
    }

    fn numbers(&self) -> u64 {
        self.numbers
    }
}

/// Reads what [`PlainWriter`] has written.
pub(super) struct PlainReader<'a> {
    pub bytes: &'a [u8],
    numbers: u64,
}

impl<'a> PlainReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, numbers: 0 }
    }
}

impl Coder for PlainReader<'_> {
    fn number(&mut self, _: Field, _: u32, _: u64) -> Result<u64, Error> {
        self.numbers += 1;
        read_leb(&mut self.bytes).ok_or(Error::Malformed)
    }

    fn flag(&mut self, field: Field, context: u32, _: bool) -> Result<bool, Error> {
        match self.number(field, context, 0)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Error::Malformed),
        }
    }

    fn signed(&mut self, field: Field, context: u32, _: i64) -> Result<i64, Error> {
        Ok(unzigzag(self.number(field, context, 0)?))
    }

    fn byte(&mut self, _: Field, _: u8, _: u8) -> Result<u8, Error> {
        self.numbers += 1;
        let (first, rest) = self.bytes.split_first().ok_or(Error::Malformed)?;
        self.bytes = rest;
        Ok(*first)
    }

    fn below(&mut self, field: Field, context: u32, _: u64, most: u64) -> Result<u64, Error> {
        let value = self.number(field, context, 0)?;
        (value <= most).then_some(value).ok_or(Error::Malformed)
    }

    fn numbers(&self) -> u64 {
        self.numbers
    }
}
