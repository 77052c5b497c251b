//! The line of an instruction, by the line table of its code object.
//!
//! CPython has had three forms of this table. Each is a list of stretches of instructions, in their order.

/// Forms of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Table {
    /// Pairs of how far the address and the line go on (`co_lnotab`, 3.9).
    Pairs,
    /// Pairs of the length of a stretch and the change of the line before it (`co_linetable` of 3.10).
    Ranges,
    /// Stretches with columns (`co_linetable` from 3.11 on).
    Locations,
}

/// In place of a change of the line: the stretch has no line.
const NO_LINE: i8 = -128;

/// Kinds of stretches with columns.
const NOWHERE: u8 = 15;
const LONG: u8 = 14;
const NO_COLUMNS: u8 = 13;
const ONE_LINE: u8 = 10;

impl Table {
    /// The line of the instruction that is `offset` bytes behind the first one, in a function that begins at
    /// `first_line`; `None` if it has none, or if the table ends before it.
    pub fn line(
        self,
        mut table: impl Iterator<Item = u8>,
        first_line: u32,
        offset: u64,
    ) -> Option<u32> {
        let line = match self {
            Self::Pairs => pairs(&mut table, i64::from(first_line), offset),
            Self::Ranges => ranges(&mut table, i64::from(first_line), offset),
            Self::Locations => locations(&mut table, i64::from(first_line), offset),
        };
        line.and_then(|line| u32::try_from(line).ok())
    }
}

fn pairs(table: &mut impl Iterator<Item = u8>, mut line: i64, offset: u64) -> Option<i64> {
    let mut at = 0u64;
    while let (Some(bytes), Some(lines)) = (table.next(), table.next()) {
        at += u64::from(bytes);
        if at > offset {
            break;
        }
        line += i64::from(lines as i8);
    }
    Some(line)
}

fn ranges(table: &mut impl Iterator<Item = u8>, mut line: i64, offset: u64) -> Option<i64> {
    let mut end = 0u64;
    while let (Some(bytes), Some(lines)) = (table.next(), table.next()) {
        end += u64::from(bytes);
        let lines = lines as i8;
        if lines != NO_LINE {
            line += i64::from(lines);
        }
        if offset < end {
            return (lines != NO_LINE).then_some(line);
        }
    }
    None
}

fn locations(table: &mut impl Iterator<Item = u8>, mut line: i64, offset: u64) -> Option<i64> {
    let mut end = 0u64;
    loop {
        let first = table.next()?;
        let kind = first >> 3 & 15;
        // Each instruction has two bytes.
        end += 2 * (u64::from(first & 7) + 1);
        match kind {
            NOWHERE => {}
            LONG => {
                line = line.checked_add(signed(table)?)?;
                for _ in 0..3 {
                    number(table)?;
                }
            }
            NO_COLUMNS => line = line.checked_add(signed(table)?)?,
            ONE_LINE.. => {
                line += i64::from(kind - ONE_LINE);
                table.next()?;
                table.next()?;
            }
            _ => {
                table.next()?;
            }
        }
        if offset < end {
            return (kind != NOWHERE).then_some(line);
        }
    }
}

/// A number in pieces of six bits, the lowest first.
fn number(table: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let mut value = 0;
    for shift in (0..60).step_by(6) {
        let byte = table.next()?;
        value |= u64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            return Some(value);
        }
    }
    None
}

/// The same with its sign in the lowest bit.
fn signed(table: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let value = number(table)?;
    let size = (value >> 1) as i64;
    Some(if value & 1 == 0 { size } else { -size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(table: Table, bytes: &[u8], offset: u64) -> Option<u32> {
        table.line(bytes.iter().copied(), 10, offset)
    }

    #[test]
    fn pairs_say_where_lines_begin() {
        // Line 11 from 4 on, 9 from 10 on.
        let table = [4, 1, 6, 0xfe];
        for (offset, is) in [(0, 10), (3, 10), (4, 11), (9, 11), (10, 9), (500, 9)] {
            assert_eq!(line(Table::Pairs, &table, offset), Some(is), "{offset}");
        }
    }

    #[test]
    fn ranges_may_have_no_line() {
        let table = [4, 1, 2, 0x80, 6, 2];
        for (offset, is) in [
            (0, Some(11)),
            (4, None),
            (6, Some(13)),
            (11, Some(13)),
            (12, None),
        ] {
            assert_eq!(line(Table::Ranges, &table, offset), is, "{offset}");
        }
    }

    #[test]
    fn locations_of_all_kinds_are_read() {
        let kind = |kind: u8, units: u8| 0x80 | kind << 3 | (units - 1);
        let table = [
            // One instruction on line 10, by a short form.
            kind(3, 1),
            0x12,
            // Two on line 12.
            kind(12, 2),
            1,
            2,
            // One nowhere.
            kind(NOWHERE, 1),
            // One on line 12 + 70, without columns: 140 in pieces.
            kind(NO_COLUMNS, 1),
            0x40 | (140 & 63),
            140 >> 6,
            // One on the line before that, in the long form.
            kind(LONG, 1),
            3,
            0,
            5,
            9,
        ];
        for (offset, is) in [
            (0, Some(10)),
            (2, Some(12)),
            (4, Some(12)),
            (6, None),
            (8, Some(82)),
            (10, Some(81)),
            (12, None),
        ] {
            assert_eq!(line(Table::Locations, &table, offset), is, "{offset}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_line_or_none(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            offset in any::<u64>(),
            first in any::<u32>(),
        ) {
            for table in [Table::Pairs, Table::Ranges, Table::Locations] {
                table.line(bytes.iter().copied(), first, offset);
            }
        }
    }
}
