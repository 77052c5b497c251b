//! The elementary values of an OTF2 file: integers without leading zeros behind a byte that says how many bytes they
//! have, whole ones where they may be changed later, and text up to a NUL; in the byte order that the head of each
//! chunk names.

/// First byte of a chunk.
pub const CHUNK_HEAD: u8 = 3;
const BIG: u8 = 0x23;
const LITTLE: u8 = 0x42;

/// Bytes that are read one value after the other; `None` where they end too early or are no such value.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    rest: &'a [u8],
    big: bool,
}

impl<'a> Bytes<'a> {
    /// The bytes of a chunk behind its mark and its byte order.
    pub fn of_chunk(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(2)?;
        let big = match head {
            [CHUNK_HEAD, BIG] => true,
            [CHUNK_HEAD, LITTLE] => false,
            _ => return None,
        };
        Some(Self { rest, big })
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(n)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next `n` bytes, to be read for themselves.
    pub fn part(&mut self, n: u64) -> Option<Self> {
        let rest = self.take(usize::try_from(n).ok()?)?;
        Some(Self { rest, ..*self })
    }

    /// What a record says of itself: its data.
    pub fn record(&mut self) -> Option<Self> {
        let length = match self.u8()? {
            u8::MAX => self.whole_u64()?,
            short => u64::from(short),
        };
        self.part(length)
    }

    /// One byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        let taken = self.take(bytes)?;
        let join = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        Some(if self.big {
            taken.iter().fold(0, join)
        } else {
            taken.iter().rev().fold(0, join)
        })
    }

    /// Eight bytes.
    pub fn whole_u64(&mut self) -> Option<u64> {
        self.number(8)
    }

    /// Four bytes.
    pub fn whole_u32(&mut self) -> Option<u32> {
        self.number(4).map(|n| n as u32)
    }

    /// A floating-point number.
    pub fn f64(&mut self) -> Option<f64> {
        self.whole_u64().map(f64::from_bits)
    }

    /// An integer of up to eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        match self.u8()? {
            u8::MAX => Some(u64::MAX),
            bytes @ 0..=8 => self.number(usize::from(bytes)),
            _ => None,
        }
    }

    /// An integer of up to four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        match self.u8()? {
            u8::MAX => Some(u32::MAX),
            bytes @ 0..=4 => self.number(usize::from(bytes)).map(|n| n as u32),
            _ => None,
        }
    }

    /// A signed integer of up to eight bytes.
    pub fn i64(&mut self) -> Option<i64> {
        self.u64().map(|n| n as i64)
    }

    /// Text.
    pub fn text(&mut self) -> Option<String> {
        let end = self.rest.iter().position(|b| *b == 0)?;
        let text = String::from_utf8_lossy(self.take(end)?).into_owned();
        self.u8()?;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_bytes_as_they_need_in_either_order() {
        let little = [3, 0x42, 2, 0x34, 0x12, 0xff, 0, 5, 1, 2, 3, 4, 5];
        let mut bytes = Bytes::of_chunk(&little).unwrap();
        assert_eq!(bytes.u32(), Some(0x1234));
        assert_eq!((bytes.u32(), bytes.u64()), (Some(u32::MAX), Some(0)));
        assert_eq!(bytes.u64(), Some(0x05_0403_0201));
        assert_eq!(bytes.u8(), None);
        let mut bytes = Bytes::of_chunk(&[3, 0x23, 2, 0x12, 0x34, 9]).unwrap();
        assert_eq!(bytes.u64(), Some(0x1234));
        assert_eq!(bytes.u64(), None, "no number has nine bytes");
        assert!(Bytes::of_chunk(&[3, 0x24]).is_none());
    }

    #[test]
    fn a_record_is_as_long_as_it_says() {
        let mut bytes = Bytes::of_chunk(&[3, 0x42, 3, b'a', b'b', 0, 7, 9]).unwrap();
        let mut record = bytes.record().unwrap();
        assert_eq!(record.text().as_deref(), Some("ab"));
        assert_eq!((record.left(), bytes.left()), (0, 2));
        assert!(bytes.record().is_none(), "longer than there are bytes");
    }
}
