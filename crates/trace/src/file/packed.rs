//! The packed form: numbers as bits of an adaptive binary arithmetic coder.
//!
//! Each bit is coded with the probability that it had before in its contexts ([`super::mixing`]), so what is as usual
//! takes next to nothing.
//! A file of two kilobytes gives a general compressor little to learn from; here each field has statistics of its own
//! from the first number on. Only the leading bits of a number are modelled: the others are noise.

use super::Error;
use super::codec::{Coder, Field, HINTS, Hints, NOTHING};
use super::mixing::{self, Contexts, Mixing};

/// How many numbers a byte may give at most, on average: it bounds what a hostile file makes its reader do.
pub(super) const NUMBERS_PER_BYTE: u64 = 32;
/// That many are allowed in any case.
pub(super) const NUMBERS_AT_FIRST: u64 = 4096;
/// Larger bodies stay plain.
pub(super) const MOST_NUMBERS: u64 = 1 << 24;

/// Codes single bits: the interval from `low` to `high` is divided by their probabilities.
trait Bits {
    fn bit(&mut self, bit: bool, one: u32) -> Result<bool, Error>;
}

/// Where to divide an interval: ones are below.
fn middle(low: u64, high: u64, one: u32) -> u64 {
    let range = high - low;
    let one = u64::from(one.clamp(24, 65536 - 24));
    low + (range >> 16) * one + (((range & 0xffff) * one) >> 16)
}

struct BitWriter {
    low: u64,
    high: u64,
    bytes: Vec<u8>,
}

impl Bits for BitWriter {
    fn bit(&mut self, bit: bool, one: u32) -> Result<bool, Error> {
        let middle = middle(self.low, self.high, one);
        if bit {
            self.high = middle;
        } else {
            self.low = middle + 1;
        }
        while (self.low ^ self.high) >> 56 == 0 {
            self.bytes.push((self.high >> 56) as u8);
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
        }
        Ok(bit)
    }
}

impl BitWriter {
    /// The shortest end that lies in the interval; a reader takes zeros for what follows.
    fn finish(mut self) -> Vec<u8> {
        for bytes in 0..=8_u32 {
            let kept = u64::MAX.checked_shl(64 - 8 * bytes).unwrap_or(0);
            let mut value = self.low & kept;
            if value < self.low {
                value = value.wrapping_add(kept & kept.wrapping_neg());
            }
            if (self.low..=self.high).contains(&value) {
                self.bytes
                    .extend(value.to_be_bytes().iter().take(bytes as usize));
                break;
            }
        }
        self.bytes
    }
}

/// Counts bits instead of writing them.
struct BitCounter(f64);

impl Bits for BitCounter {
    fn bit(&mut self, bit: bool, one: u32) -> Result<bool, Error> {
        let one = f64::from(one.clamp(24, 65536 - 24)) / 65536.0;
        self.0 -= if bit { one } else { 1.0 - one }.log2();
        Ok(bit)
    }
}

struct BitReader<'a> {
    low: u64,
    high: u64,
    at: u64,
    bytes: &'a [u8],
}

impl BitReader<'_> {
    fn next(&mut self) -> u64 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                u64::from(*first)
            }
            None => 0,
        }
    }
}

impl Bits for BitReader<'_> {
    fn bit(&mut self, _: bool, one: u32) -> Result<bool, Error> {
        let middle = middle(self.low, self.high, one);
        let bit = self.at <= middle;
        if bit {
            self.high = middle;
        } else {
            self.low = middle + 1;
        }
        while (self.low ^ self.high) >> 56 == 0 {
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
            self.at = self.at << 8 | self.next();
        }
        Ok(bit)
    }
}

/// Numbers made of bits.
struct Packed<B> {
    bits: B,
    mixing: Mixing,
    hints: Hints,
    numbers: u64,
    most_numbers: u64,
}

/// Writes the packed form.
pub(super) struct PackedWriter(Packed<BitWriter>);

impl PackedWriter {
    pub(super) fn new() -> Self {
        Self(Packed::new(
            BitWriter {
                low: 0,
                high: u64::MAX,
                bytes: Vec::new(),
            },
            MOST_NUMBERS,
        ))
    }

    /// The bytes; `None` if a reader would not take so few for so many numbers.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        let numbers = self.0.numbers;
        let bytes = self.0.bits.finish();
        (numbers <= most_numbers(bytes.len())).then_some(bytes)
    }
}

/// Counts what the packed form takes.
pub(super) struct PackedCounter(Packed<BitCounter>);

impl PackedCounter {
    pub(super) fn new() -> Self {
        Self(Packed::new(BitCounter(0.0), MOST_NUMBERS))
    }

    /// Bits up to now.
    pub(super) fn bits(&self) -> f64 {
        self.0.bits.0
    }
}

fn most_numbers(bytes: usize) -> u64 {
    (bytes as u64 * NUMBERS_PER_BYTE + NUMBERS_AT_FIRST).min(MOST_NUMBERS)
}

/// Reads the packed form.
pub(super) struct PackedReader<'a>(Packed<BitReader<'a>>);

impl<'a> PackedReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let most = most_numbers(bytes.len());
        let mut bits = BitReader {
            low: 0,
            high: u64::MAX,
            at: 0,
            bytes,
        };
        for _ in 0..8 {
            bits.at = bits.at << 8 | bits.next();
        }
        Self(Packed::new(bits, most))
    }

    /// Bytes that were not read.
    pub(super) fn left(&self) -> usize {
        self.0.bits.bytes.len()
    }
}

/// In place of a context: all of a field.
const ANY: u32 = 0xff_ffff;

const _: () = assert!(2 + HINTS <= mixing::MOST);

/// A number whose bits depend on all bits of another one (the multiplier is that of Fibonacci hashing).
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

/// Numbers of one class have as many bits, and the same [`CLASS_BITS`] behind the highest one. Small numbers have a class
/// each.
fn class(number: u64) -> u64 {
    let shift = (u64::BITS - number.leading_zeros()).saturating_sub(CLASS_BITS + 1);
    match shift {
        0 => number,
        shift => (u64::from(shift) << CLASS_BITS) + (number >> shift),
    }
}

const CLASS_BITS: u32 = 2;

/// Where in a number a bit is.
#[derive(Clone, Copy)]
enum Part {
    Flag,
    Byte,
    Length,
    Leading(u32),
    Sign,
}

/// Places of bits whose probabilities lie together, a power of 2. More would be faster, but a hostile file could have one
/// bit in each of very many contexts.
const PLACES: u32 = 8;

impl Part {
    fn number(self) -> u32 {
        match self {
            // Bytes have fields of their own.
            Self::Flag | Self::Byte => 0,
            Self::Length => 1,
            Self::Sign => 2,
            Self::Leading(length) => 3 + length,
        }
    }

    /// How many places its bits have, up to [`PLACES`].
    fn places(self) -> u32 {
        match self {
            Self::Flag | Self::Sign => 1,
            Self::Leading(_) => 1 << MODELLED,
            Self::Byte | Self::Length => PLACES,
        }
    }
}

/// So many bits behind the highest one are modelled, at most.
const MODELLED: u32 = 3;

impl<B: Bits> Packed<B> {
    fn new(bits: B, most_numbers: u64) -> Self {
        Self {
            bits,
            mixing: Mixing::default(),
            hints: NOTHING,
            numbers: 0,
            most_numbers,
        }
    }

    fn count(&mut self) -> Result<(), Error> {
        self.numbers += 1;
        (self.numbers <= self.most_numbers)
            .then_some(())
            .ok_or(Error::Malformed)
    }

    fn bit(
        &mut self,
        bit: bool,
        field: Field,
        context: u32,
        part: Part,
        at: u32,
    ) -> Result<bool, Error> {
        let number = part.number();
        let of = |context: u32| {
            u64::from(field as u8) << 56
                | u64::from(context & 0xff_ffff) << 32
                | u64::from(number) << 16
                | u64::from((at / PLACES) & 0xffff)
        };
        let own = of(context);
        let mut contexts = Contexts {
            all: [of(ANY), own, 0, 0, 0, 0],
            count: 2,
            weights: 0,
            places: part.places() as usize,
        };
        let hints = (1..).zip(self.hints).filter(|(_, hint)| *hint != 0);
        for ((place, hint), context) in hints.zip(contexts.all.iter_mut().skip(2)) {
            *context = scattered(scattered(own) ^ u64::from(hint) << 3 ^ place);
            contexts.count += 1;
        }
        contexts.weights =
            (contexts.count as u64) << 16 | u64::from(field as u8) << 8 | u64::from(number.min(4));
        let mixed = self.mixing.mix(&contexts, (at % PLACES) as usize);
        let bit = self.bits.bit(bit, mixed.one)?;
        self.mixing.learn(&mixed, bit);
        Ok(bit)
    }

    /// The bits below the highest one of a number of `length` bits; the first of them are modelled.
    fn mantissa(
        &mut self,
        field: Field,
        context: u32,
        value: u64,
        length: u32,
    ) -> Result<u64, Error> {
        if length == 0 {
            return Ok(0);
        }
        let modelled = if length <= 8 { MODELLED } else { 1 };
        let mut read = 1_u64;
        for i in (0..length - 1).rev() {
            let bit = value >> i & 1 == 1;
            let bit = if length - 2 - i < modelled {
                self.bit(bit, field, context, Part::Leading(length), read as u32)?
            } else {
                self.bits.bit(bit, 1 << 15)?
            };
            read = read << 1 | u64::from(bit);
        }
        Ok(read)
    }

    fn magnitude(&mut self, field: Field, context: u32, value: u64) -> Result<u64, Error> {
        let length = u64::BITS - value.leading_zeros();
        let mut read = 0;
        while read < u64::BITS && self.bit(read < length, field, context, Part::Length, read)? {
            read += 1;
        }
        self.mantissa(field, context, value, read)
    }

    fn number(&mut self, field: Field, context: u32, value: u64) -> Result<u64, Error> {
        self.count()?;
        self.magnitude(field, context, value)
    }

    fn flag(&mut self, field: Field, context: u32, value: bool) -> Result<bool, Error> {
        self.count()?;
        self.bit(value, field, context, Part::Flag, 0)
    }

    fn signed(&mut self, field: Field, context: u32, value: i64) -> Result<i64, Error> {
        self.count()?;
        let magnitude = self.magnitude(field, context, value.unsigned_abs())?;
        if magnitude == 0 {
            return Ok(0);
        }
        let negative = self.bit(value < 0, field, context, Part::Sign, 0)?;
        let value = magnitude as i64;
        Ok(if negative {
            value.wrapping_neg()
        } else {
            value
        })
    }

    fn around(
        &mut self,
        field: Field,
        context: u32,
        value: u64,
        expected: u64,
    ) -> Result<u64, Error> {
        let expected = class(expected) as i64;
        let class = self.signed(field, context, class(value) as i64 - expected)?;
        let class = expected.checked_add(class).ok_or(Error::Malformed)?;
        let class = u64::try_from(class).map_err(|_| Error::Malformed)?;
        // The class is the shift and then the leading bits, of which the highest one has made the shift larger by one.
        let shift = (class >> CLASS_BITS).saturating_sub(1);
        if shift + u64::from(CLASS_BITS) >= u64::from(u64::BITS) {
            return Err(Error::Malformed);
        }
        let mut read = class - (shift << CLASS_BITS);
        for i in (0..shift).rev() {
            read = read << 1 | u64::from(self.bits.bit(value >> i & 1 == 1, 1 << 15)?);
        }
        Ok(read)
    }

    fn byte(&mut self, field: Field, before: u8, value: u8) -> Result<u8, Error> {
        self.count()?;
        let mut read = 1_u32;
        for i in (0..8).rev() {
            let bit = self.bit(
                value >> i & 1 == 1,
                field,
                u32::from(before),
                Part::Byte,
                read,
            )?;
            read = read << 1 | u32::from(bit);
        }
        Ok(read as u8)
    }

    fn below(&mut self, field: Field, context: u32, value: u64, most: u64) -> Result<u64, Error> {
        self.count()?;
        let longest = u64::BITS - most.leading_zeros();
        let shorter = longest.saturating_sub(u64::BITS - value.leading_zeros());
        let mut read = 0;
        while read < longest && self.bit(read < shorter, field, context, Part::Length, read)? {
            read += 1;
        }
        // Leading bits are modelled by how much shorter the number is.
        let length = longest - read;
        if length == 0 {
            return Ok(0);
        }
        let mut number = 1_u64;
        for i in (0..length - 1).rev() {
            let bit = value >> i & 1 == 1;
            let bit = if length - 2 - i < 1 {
                self.bit(bit, field, context, Part::Leading(read), number as u32)?
            } else {
                self.bits.bit(bit, 1 << 15)?
            };
            number = number << 1 | u64::from(bit);
        }
        (number <= most).then_some(number).ok_or(Error::Malformed)
    }
}

macro_rules! coder {
    ($type:ty) => {
        impl Coder for $type {
            fn number(&mut self, field: Field, context: u32, value: u64) -> Result<u64, Error> {
                self.0.number(field, context, value)
            }

            fn flag(&mut self, field: Field, context: u32, value: bool) -> Result<bool, Error> {
                self.0.flag(field, context, value)
            }

            fn signed(&mut self, field: Field, context: u32, value: i64) -> Result<i64, Error> {
                self.0.signed(field, context, value)
            }

            fn byte(&mut self, field: Field, before: u8, value: u8) -> Result<u8, Error> {
                self.0.byte(field, before, value)
            }

            fn below(
                &mut self,
                field: Field,
                context: u32,
                value: u64,
                most: u64,
            ) -> Result<u64, Error> {
                self.0.below(field, context, value, most)
            }

            fn around(
                &mut self,
                field: Field,
                context: u32,
                value: u64,
                expected: u64,
            ) -> Result<u64, Error> {
                self.0.around(field, context, value, expected)
            }

            fn about(&mut self, hints: Hints) {
                self.0.hints = hints;
            }

            fn numbers(&self) -> u64 {
                self.0.numbers
            }

            fn is_packed(&self) -> bool {
                true
            }
        }
    };
}

coder!(PackedWriter);
coder!(PackedCounter);
coder!(PackedReader<'_>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_each_other() {
        let mut numbers: Vec<u64> = (0..4096).collect();
        numbers.extend((12..64).flat_map(|bit| (0..8).map(move |i| (8 + i) << (bit - 3))));
        numbers.push(u64::MAX);
        for pair in numbers.windows(2) {
            let step = class(pair[1]) - class(pair[0]);
            assert!(step <= 1, "{pair:?}");
        }
        assert_eq!((class(7), class(8), class(9), class(10)), (7, 8, 8, 9));
    }

    #[test]
    fn numbers_around_others_come_back() {
        let numbers: Vec<u64> = (0..64)
            .flat_map(|bit| [(1 << bit) - 1, 1 << bit, 3 << (bit.max(1) - 1)])
            .chain([u64::MAX])
            .collect();
        let pairs = || numbers.iter().zip(numbers.iter().rev());
        let mut writer = PackedWriter::new();
        for (value, expected) in pairs() {
            let written = writer.around(Field::Sum, 0, *value, *expected);
            assert_eq!(written, Ok(*value));
        }
        let bytes = writer.finish().unwrap();
        let mut reader = PackedReader::new(&bytes);
        for (value, expected) in pairs() {
            assert_eq!(reader.around(Field::Sum, 0, 0, *expected), Ok(*value));
        }
    }
}
