//! Jump tables of AArch64: what the instructions before `br` say of the table they read.
//!
//! Compilers write `adrp`/`add` (or `adr`) for the table, a load of 1, 2, 4 or 8 bytes from it, mostly an
//! `adr` for what distances count from, and an `add` that joins the two. Registers are followed through
//! straight code only; what does not fit leaves the table unknown.

use crate::decode::{Table, signed};

/// Instructions after which a comparison no longer bounds a table.
const NEAR: u64 = 24;

/// What a register holds, as far as tables go.
#[derive(Clone, Copy, Default)]
enum Held {
    #[default]
    Unknown,
    Address(u64),
    /// An entry of a table.
    Entry(Table),
}

/// Follows registers through code, one instruction after the other.
#[derive(Default)]
pub struct Hints {
    held: [Held; 32],
    bound: u64,
    bound_seen: u64,
    now: u64,
}

fn register(word: u32, at: u32) -> usize {
    (word >> at & 31) as usize
}

impl Hints {
    /// Takes note of the instruction `w` at `at`.
    pub fn see(&mut self, w: u32, at: u64) {
        self.now += 1;
        let (d, n, m) = (register(w, 0), register(w, 5), register(w, 16));
        let far = || signed((w >> 5 & 0x7_ffff) << 2 | w >> 29 & 3, 21);
        // cmp with an immediate: a subtraction that only sets flags
        if w & 0x7fc0_001f == 0x7100_001f {
            (self.bound, self.bound_seen) = (u64::from(w >> 10 & 0xfff), self.now);
            return;
        }
        let new = match w {
            _ if w & 0x9f00_0000 == 0x9000_0000 => {
                Held::Address((at & !0xfff).wrapping_add_signed(far() << 12))
            }
            _ if w & 0x9f00_0000 == 0x1000_0000 => Held::Address(at.wrapping_add_signed(far())),
            // add with an immediate
            _ if w & 0xffc0_0000 == 0x9100_0000 => match self.held[n] {
                Held::Address(a) => Held::Address(a.wrapping_add(u64::from(w >> 10 & 0xfff))),
                _ => Held::Unknown,
            },
            // a load with a register as index
            _ if w & 0x3f20_0c00 == 0x3820_0800 => self.entry(w, n),
            // add of a register that is extended or shifted left
            _ if w & 0xffe0_0000 == 0x8b20_0000 => self.sum(n, m, w >> 10 & 7, w >> 13 & 7),
            _ if w & 0xffe0_0000 == 0x8b00_0000 => self.sum(n, m, w >> 10 & 0x3f, 3),
            // Compares, stores and jumps write no register that matters; all else does.
            _ if w >> 26 & 7 == 0b101 || w & 0x0ac0_0000 == 0x0800_0000 => return,
            _ => Held::Unknown,
        };
        self.held[d] = new;
    }

    fn entry(&self, w: u32, n: usize) -> Held {
        let opcode = w >> 22 & 3;
        match self.held[n] {
            Held::Address(at) if opcode != 0 => Held::Entry(Table {
                at,
                base: 0,
                entry: 1 << (w >> 30),
                shift: 0,
                signed: opcode > 1,
                entries: self.entries(),
            }),
            _ => Held::Unknown,
        }
    }

    fn sum(&self, n: usize, m: usize, shift: u32, extension: u32) -> Held {
        let (base, mut table) = match (self.held[n], self.held[m]) {
            (Held::Address(base), Held::Entry(table)) => (base, table),
            (Held::Entry(table), Held::Address(base)) if shift == 0 => (base, table),
            _ => return Held::Unknown,
        };
        // sxtb, sxth, sxtw
        table.signed |= (4..7).contains(&extension) && table.entry == 1 << (extension - 4);
        (table.base, table.shift) = (base, shift as u8);
        Held::Entry(table)
    }

    fn entries(&self) -> Option<u32> {
        let near = self.bound_seen > 0 && self.now < self.bound_seen + NEAR;
        near.then_some(self.bound as u32 + 1)
    }

    /// The table that `br` in the word `w` jumps through.
    pub fn table(&self, w: u32) -> Table {
        match self.held[register(w, 5)] {
            Held::Entry(table) if table.base != 0 || table.entry == 8 => table,
            _ => Table::default(),
        }
    }
}
