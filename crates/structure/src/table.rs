//! Jump tables: what the code before an indirect jump says of the table that it reads, for any processor.
//!
//! Compilers form the address of a table in one register, load an entry of it through another that a
//! comparison bounds, mostly add what distances count from, and jump. Registers are followed through
//! the code as it is; `x86` and `arm` say what each instruction does to them. What does not fit
//! leaves a register unknown, and then there is no table.

use crate::elf::Image;

/// A table of jump targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Table {
    /// Where it is.
    pub at: u64,
    /// What its distances count from; 0 as long as nothing was added to the entry.
    pub base: u64,
    /// Bytes of an entry: 8 for addresses, fewer for distances.
    pub entry: u8,
    /// Distances are multiples of two to this power.
    pub shift: u8,
    /// Whether distances have a sign.
    pub signed: bool,
    /// Entries, where a comparison bounds them.
    pub entries: Option<u32>,
    /// Whether a register's last address was taken for its place, though it was written since, by code
    /// that is before this but may not lead here. Then all entries must be targets.
    pub guess: bool,
}

impl Table {
    /// Entries of a table without a bound, and the longest that is believed.
    const MOST: u32 = 4096;

    /// Its targets, sorted, up to the first that is none (`valid`) and not beyond `end`, where another
    /// table begins.
    pub fn targets(&self, image: &Image<'_>, end: u64, valid: impl Fn(u64) -> bool) -> Vec<u64> {
        let Some(bytes) = image.bytes_at(self.at) else {
            return Vec::new();
        };
        let size = usize::from(self.entry.clamp(1, 8));
        let room = usize::try_from(end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let entries = bytes.get(..room.min(bytes.len())).unwrap_or(&[]);
        let mut out: Vec<u64> = entries
            .chunks_exact(size)
            .zip((self.at..).step_by(size))
            .take(self.entries.unwrap_or(Self::MOST).min(Self::MOST) as usize)
            .map(|(entry, slot)| self.target(image, entry, slot))
            .take_while(|t| valid(*t))
            .collect();
        let wanted = self.entries.map_or(2, |n| n as usize);
        if self.guess && out.len() < wanted {
            return Vec::new();
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    fn target(&self, image: &Image<'_>, entry: &[u8], slot: u64) -> u64 {
        let little = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        let raw = entry.iter().rev().fold(0, little);
        if entry.len() == 8 {
            return image.relocated(slot).unwrap_or(raw);
        }
        let unused = 64 - 8 * entry.len() as u32;
        let distance = if self.signed {
            (raw << unused) as i64 >> unused
        } else {
            raw as i64
        };
        let distance = distance << u32::from(self.shift.min(3));
        self.base.wrapping_add_signed(distance)
    }
}

/// What a register holds, as far as tables go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Held {
    /// Anything.
    #[default]
    Unknown,
    /// An address that the code itself contains.
    Address(u64),
    /// A number from 0 to below this.
    Below(u32),
    /// An entry of a table.
    Entry(Table),
    /// An entry, loaded through a bounded index, of a table that is not known.
    Lost,
}

/// What a comparison is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A register.
    Register(usize),
    /// Memory at a distance from a register.
    Memory(usize, u64),
}

/// The state of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stack {
    /// As the caller left it: no frame yet.
    #[default]
    Untouched,
    /// With a frame of this function.
    Grown,
    /// The frame has been taken off.
    Restored,
}

/// Where an indirect jump goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leap {
    /// To a target of this table.
    Through(Table),
    /// Into this function, but nothing says where.
    Unknown,
    /// Out of this function: a call through a pointer in its last place.
    Away,
}

/// Follows registers through code, one instruction after the other.
#[derive(Default)]
pub struct Registers {
    held: [Held; 32],
    /// The last address that each held; 0 for none.
    pointed: [u64; 32],
    compared: Option<(Place, u32)>,
    /// Memory that a comparison bounded.
    bounded: Option<(Place, u32)>,
    /// The state of the stack.
    pub stack: Stack,
}

/// A register of ours, for entries that are jumped to without being loaded, where there are fewer.
pub const SCRATCH: usize = 31;

impl Registers {
    /// What register `n` holds.
    pub fn get(&self, n: usize) -> Held {
        self.held.get(n).copied().unwrap_or_default()
    }

    /// Register `d` now holds this.
    pub fn set(&mut self, d: usize, held: Held) {
        if let Some(slot) = self.held.get_mut(d) {
            *slot = held;
        }
        if let (Held::Address(address), Some(last)) = (held, self.pointed.get_mut(d)) {
            *last = address;
        }
    }

    /// The address in register `n`, and whether it is a guess.
    pub fn address(&self, n: usize) -> Option<(u64, bool)> {
        match (self.get(n), self.pointed.get(n)) {
            (Held::Address(address), _) => Some((address, false)),
            (Held::Unknown, Some(&last)) if last > 0 => Some((last, true)),
            _ => None,
        }
    }

    /// Nothing is known of these registers any more.
    pub fn forget(&mut self, registers: impl IntoIterator<Item = usize>) {
        registers
            .into_iter()
            .for_each(|r| self.set(r, Held::Unknown));
    }

    /// `d = n + distance`.
    pub fn add(&mut self, d: usize, n: usize, distance: u64) {
        let new = match self.get(n) {
            Held::Address(a) => Held::Address(a.wrapping_add(distance)),
            held if distance == 0 => held,
            _ => Held::Unknown,
        };
        self.set(d, new);
    }

    /// `d = n + (m << shift)`.
    pub fn sum(&mut self, d: usize, n: usize, m: usize, shift: u32) {
        let with = |table: Table, base: Option<(u64, bool)>| match base {
            Some((base, guess)) => Held::Entry(Table {
                base,
                shift: shift as u8,
                guess: table.guess | guess,
                ..table
            }),
            None => Held::Lost,
        };
        let new = match (self.get(n), self.get(m)) {
            (_, Held::Entry(table)) => with(table, self.address(n)),
            (Held::Entry(table), _) if shift == 0 => with(table, self.address(m)),
            (Held::Lost, _) | (_, Held::Lost) => Held::Lost,
            _ => Held::Unknown,
        };
        self.set(d, new);
    }

    /// `d` is what the table at an address has at an index.
    pub fn entry(
        &mut self,
        d: usize,
        at: Option<(u64, bool)>,
        index: Held,
        entry: u8,
        signed: bool,
    ) {
        let entries = match index {
            Held::Below(n) => Some(n),
            _ => None,
        };
        let new = match at {
            Some((at, guess)) => Held::Entry(Table {
                at,
                entry,
                signed,
                entries,
                guess,
                ..Table::default()
            }),
            _ if entries.is_some() => Held::Lost,
            _ => Held::Unknown,
        };
        self.set(d, new);
    }

    /// `d` is loaded from `place`.
    pub fn load(&mut self, d: usize, place: Place) {
        let known = self.bounded.filter(|b| b.0 == place);
        self.set(d, known.map_or(Held::Unknown, |b| Held::Below(b.1)));
    }

    /// The entry in `d` has a sign that counts.
    pub fn extend(&mut self, d: usize) {
        if let Some(Held::Entry(table)) = self.held.get_mut(d) {
            table.signed = true;
        }
    }

    /// `place` is compared with a number.
    pub fn compare(&mut self, place: Place, with: u64) {
        self.compared = u32::try_from(with).ok().map(|w| (place, w));
    }

    /// A conditional jump that bounds what was compared: below it, or with `equal` up to it; `None`
    /// for conditions that bound nothing.
    pub fn bound(&mut self, equal: Option<bool>) {
        let (Some((place, with)), Some(equal)) = (self.compared.take(), equal) else {
            return;
        };
        let below = with.saturating_add(u32::from(equal));
        match place {
            Place::Register(r) => self.set(r, Held::Below(below)),
            Place::Memory(..) => self.bounded = Some((place, below)),
        }
    }

    /// Where a jump to what register `n` holds goes.
    ///
    /// Without a table it is a call in the last place if the frame is off the stack, or never was on it
    /// and no bounded index led here.
    pub fn leap(&self, n: usize) -> Leap {
        match (self.get(n), self.stack) {
            (Held::Entry(table), _) if table.base != 0 || table.entry == 8 => Leap::Through(table),
            (Held::Lost | Held::Entry(_), Stack::Untouched) | (_, Stack::Grown) => Leap::Unknown,
            _ => Leap::Away,
        }
    }
}
