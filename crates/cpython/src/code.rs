//! A code object: which function it is, and the line of an instruction in it.

use crate::layout::{At, Layout};
use crate::memory::Memory;
use crate::text;
use headwater_model::hash::mix2;

/// Bytes of a file's path, and of a function's name, with a NUL behind them.
pub const PATH: usize = 448;
/// See [`PATH`].
pub const NAME: usize = 112;

/// Offset of an object's type, and of the number of its items.
const TYPE: u64 = 8;
const ITEMS: u64 = 16;
/// Offset of the bytes of a bytes object.
const BYTES: u64 = 32;

/// Where the fields of a code object are that are read: its type, and all behind it up to the line table.
const FIELDS: usize = 136;

/// A line table is no longer, bytes.
const LONGEST_TABLE: u64 = 1 << 20;

/// A code object that is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Code {
    address: u64,
    file: u64,
    name: u64,
    line_table: u64,
    items: u64,
    first_line: u32,
}

/// A function, as a recording names it.
pub struct Function {
    /// Its file.
    pub file: [u8; PATH],
    /// Its name with those around it (`Solver.step`), from 3.11 on; before, its own name.
    pub name: [u8; NAME],
    /// Its first line, decorators included.
    pub first_line: u32,
}

/// The file of frames that the interpreter puts between those of the program: in 3.12, and from 3.13 on.
const SHIMS: [&[u8]; 2] = [b"<shim>\0", b"__init__\0"];

impl Function {
    /// Whether it is the interpreter's own, between functions of the program.
    pub fn is_shim(&self) -> bool {
        SHIMS.iter().any(|file| self.file.starts_with(file))
    }
}

impl Code {
    /// The code object at `address`; `None` if that is no object of the type at `code_type`.
    #[inline]
    pub fn read(
        memory: &impl Memory,
        layout: &Layout,
        code_type: u64,
        address: u64,
    ) -> Option<Self> {
        let mut fields = [0u8; FIELDS];
        if address == 0
            || !address.is_multiple_of(8)
            || !memory.read(address.checked_add(TYPE)?, &mut fields)
        {
            return None;
        }
        let bytes = |offset: u64, count: usize| {
            let at = usize::try_from(offset.checked_sub(TYPE)?).ok()?;
            fields.get(at..at + count)
        };
        let word = |offset: u64| Some(u64::from_ne_bytes(bytes(offset, 8)?.try_into().ok()?));
        let number = |offset: u64| Some(i32::from_ne_bytes(bytes(offset, 4)?.try_into().ok()?));
        if word(TYPE)? != code_type {
            return None;
        }
        let this = Self {
            address,
            file: word(layout.file)?,
            name: word(layout.name)?,
            line_table: word(layout.line_table)?,
            items: word(ITEMS)?,
            first_line: number(layout.first_line)?.try_into().ok()?,
        };
        Some(this)
    }

    /// Whether it is a function of the program, and not the interpreter's own code, which has no name.
    pub fn is_function(&self) -> bool {
        self.file != 0 && self.name != 0
    }

    /// A hash by which it differs from another code object that was at the same address before.
    #[inline]
    pub fn hash(&self) -> u64 {
        let all = mix2(self.file, self.name);
        mix2(all ^ self.line_table, u64::from(self.first_line))
    }

    /// Its first line.
    pub fn first_line(&self) -> u32 {
        self.first_line
    }

    /// What the function is called, and where it is.
    pub fn function(&self, memory: &impl Memory, layout: &Layout) -> Option<Function> {
        let mut out = Function {
            file: [0; PATH],
            name: [0; NAME],
            first_line: self.first_line,
        };
        text::read(memory, layout, self.file, &mut out.file)?;
        text::read(memory, layout, self.name, &mut out.name)?;
        Some(out)
    }

    /// The line of the instruction at `at` of a frame; the function's first line before its first instruction, and for
    /// instructions without a line. `None` if there is no such instruction.
    pub fn line(&self, memory: &impl Memory, layout: &Layout, at: u64) -> Option<u32> {
        let Some(offset) = self.offset(layout, at)? else {
            return Some(self.first_line);
        };
        let length = memory.word(self.line_table.checked_add(ITEMS)?)?;
        if length > LONGEST_TABLE {
            return None;
        }
        let table = Bytes {
            memory,
            at: self.line_table.checked_add(BYTES)?,
            left: length,
            piece: [0; PIECE],
            read: 0,
            used: 0,
        };
        let line = layout.lines.line(table, self.first_line, offset);
        Some(line.unwrap_or(self.first_line))
    }

    /// Bytes from the first instruction to that of a frame; `None` inside if the frame has not begun.
    fn offset(&self, layout: &Layout, at: u64) -> Option<Option<u64>> {
        let number = i64::from(at as i32);
        match layout.at {
            At::Bytes => Some(u64::try_from(number).ok()),
            At::Instructions => Some(u64::try_from(2 * number).ok()),
            At::Address(code) => {
                let first = self.address.checked_add(code)?;
                match at.checked_sub(first) {
                    Some(offset) => (offset < self.items.checked_mul(2)?).then_some(Some(offset)),
                    // One instruction before the first.
                    None => (at + 2 == first).then_some(None),
                }
            }
        }
    }
}

/// Bytes of a table that are read at once.
const PIECE: usize = 512;

/// The bytes of an object, as far as they can be read.
struct Bytes<'m, M> {
    memory: &'m M,
    at: u64,
    left: u64,
    piece: [u8; PIECE],
    read: usize,
    used: usize,
}

impl<M: Memory> Iterator for Bytes<'_, M> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        if self.used == self.read {
            let count = self.left.min(PIECE as u64) as usize;
            let piece = self.piece.get_mut(..count)?;
            if count == 0 || !self.memory.read(self.at, piece) {
                return None;
            }
            (self.read, self.used) = (count, 0);
            self.at += count as u64;
            self.left -= count as u64;
        }
        self.used += 1;
        self.piece.get(self.used - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::DEBUG_WORDS;
    use crate::memory::image::Image;

    const TYPE_OBJECT: u64 = 0x1000;
    const CODE: u64 = 0x2000;
    const FILE: u64 = 0x3000;
    const QUALNAME: u64 = 0x4000;
    const TABLE: u64 = 0x5000;

    fn layout() -> Layout {
        Layout::of((3, 11), &[0; DEBUG_WORDS]).expect("a known version")
    }

    /// A function of three instructions on lines 41, 42 and 42, as 3.11 has it.
    fn image() -> Image {
        let mut image = Image::default();
        image.map(CODE, 184 + 6);
        image.word_at(CODE + TYPE, TYPE_OBJECT);
        image.word_at(CODE + ITEMS, 3);
        image.put(CODE + 72, &41i32.to_ne_bytes());
        image.word_at(CODE + 112, FILE);
        image.word_at(CODE + 128, QUALNAME);
        image.word_at(CODE + 136, TABLE);
        text::tests::put(&mut image, FILE, "/home/u/solver.py");
        text::tests::put(&mut image, QUALNAME, "Solver.step");
        let table = [0x80, 0, 0x80 | 11 << 3 | 1, 0, 0];
        image.word_at(TABLE + ITEMS, table.len() as u64);
        image.put(TABLE + BYTES, &table);
        image
    }

    #[test]
    fn a_function_is_its_file_its_name_and_its_lines() {
        let (image, layout) = (image(), layout());
        let code = Code::read(&image, &layout, TYPE_OBJECT, CODE).expect("a code object");
        let function = code.function(&image, &layout).expect("a function");
        assert!(function.file.starts_with(b"/home/u/solver.py\0"));
        assert!(function.name.starts_with(b"Solver.step\0") && !function.is_shim());
        let at = |offset: i64| code.line(&image, &layout, (CODE + 184).wrapping_add_signed(offset));
        let lines: Vec<Option<u32>> = [-4, -2, 0, 2, 4, 6].into_iter().map(at).collect();
        let is = [None, Some(41), Some(41), Some(42), Some(42), None];
        assert_eq!(lines, is);
    }

    #[test]
    fn what_is_no_function_is_none() {
        let (mut image, layout) = (image(), layout());
        let read = |image: &Image, at| Code::read(image, &layout, TYPE_OBJECT, at);
        assert!(read(&image, CODE).is_some());
        for at in [0, CODE + 1, FILE, 1 << 60, u64::MAX - 7] {
            assert_eq!(read(&image, at), None, "{at:#x}");
        }
        let before = read(&image, CODE).expect("a code object").hash();
        image.word_at(CODE + 136, TABLE + 64);
        let other = read(&image, CODE).expect("a code object");
        assert_ne!(before, other.hash());
        assert_eq!(other.line(&image, &layout, CODE + 184), None);
        assert!(other.is_function());
        image.word_at(CODE + 112, 0);
        assert!(read(&image, CODE).is_some_and(|code| !code.is_function()));
    }
}
