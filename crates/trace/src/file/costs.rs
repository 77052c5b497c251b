//! What the parts of a packed file take: the bits of each field, counted as they are coded.

use super::Error;
use super::codec::{Coder, Field, Hints};
use super::packed::PackedCounter;
use std::collections::BTreeMap;

/// Counts instead of writing.
pub(super) struct Counter {
    coder: PackedCounter,
    part: &'static str,
    /// Bits by part of the body and by field.
    pub(super) bits: BTreeMap<(&'static str, String), f64>,
}

impl Counter {
    pub(super) fn new() -> Self {
        Self {
            coder: PackedCounter::new(),
            part: "head",
            bits: BTreeMap::new(),
        }
    }

    fn counted<T>(&mut self, field: Field, write: impl FnOnce(&mut PackedCounter) -> T) -> T {
        let before = self.coder.bits();
        let written = write(&mut self.coder);
        let key = (self.part, format!("{field:?}"));
        *self.bits.entry(key).or_default() += self.coder.bits() - before;
        written
    }
}

impl Coder for Counter {
    fn number(&mut self, field: Field, context: u32, value: u64) -> Result<u64, Error> {
        self.counted(field, |coder| coder.number(field, context, value))
    }

    fn flag(&mut self, field: Field, context: u32, value: bool) -> Result<bool, Error> {
        self.counted(field, |coder| coder.flag(field, context, value))
    }

    fn signed(&mut self, field: Field, context: u32, value: i64) -> Result<i64, Error> {
        self.counted(field, |coder| coder.signed(field, context, value))
    }

    fn byte(&mut self, field: Field, before: u8, value: u8) -> Result<u8, Error> {
        self.counted(field, |coder| coder.byte(field, before, value))
    }

    fn below(&mut self, field: Field, context: u32, value: u64, most: u64) -> Result<u64, Error> {
        self.counted(field, |coder| coder.below(field, context, value, most))
    }

    fn around(
        &mut self,
        field: Field,
        context: u32,
        value: u64,
        expected: u64,
    ) -> Result<u64, Error> {
        self.counted(field, |coder| coder.around(field, context, value, expected))
    }

    fn about(&mut self, hints: Hints) {
        self.coder.about(hints);
    }

    fn numbers(&self) -> u64 {
        self.coder.numbers()
    }

    fn is_packed(&self) -> bool {
        true
    }

    fn part(&mut self, part: &'static str) -> &'static str {
        std::mem::replace(&mut self.part, part)
    }
}
