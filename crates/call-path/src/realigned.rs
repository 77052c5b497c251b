//! Frames of functions that align their stack.
//!
//! A function that keeps vectors on its stack aligns the stack pointer. GCC then stores where the caller's stack ended (the
//! CFA of DWARF) in a slot of the frame, and the unwind table says which slot: the expression reads memory, which framehop
//! does not do (DWARF 5, sections 2.5 and 6.4.2). It would take the frame pointer instead, and everything above the frame
//! would be wrong. So such frames are recognised here. Most modules have none: their tables are searched once for the bytes of
//! such an expression.

use crate::unwind::Sections;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Reader, ReaderOffset,
    Register, RegisterRule, UnwindContext, UnwindContextStorage, UnwindExpression, UnwindSection,
    UnwindTableRow, X86_64, constants,
};
use memchr::memmem;
use std::sync::atomic::{AtomicU8, Ordering};

/// Places that are remembered; a power of two.
const PLACES: usize = 256;

type Bytes = EndianSlice<'static, LittleEndian>;

/// What a row of an unwind table needs, without an allocation: x86-64 has 17 registers that a rule may be for.
struct Few;

impl<T: ReaderOffset> UnwindContextStorage<T> for Few {
    type Rules = [(Register, RegisterRule<T>); 32];
    type Stack = [UnwindTableRow<T, Self>; 4];
}

/// Where a frame that aligns its stack keeps what it found there: distances from its frame pointer, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slots {
    /// Of the address behind its return address, where the caller's stack ended.
    cfa: i16,
    /// Of the caller's frame pointer.
    frame_pointer: i16,
}

/// Whether a module has functions that align their stack. Found out when it is first asked for.
#[derive(Default)]
pub struct Aligns(AtomicU8);

impl Aligns {
    const NO: u8 = 1;
    const YES: u8 = 2;

    /// Whether it may have some.
    #[inline]
    pub fn may(&self, of: &Sections) -> bool {
        match self.0.load(Ordering::Relaxed) {
            Self::NO => false,
            Self::YES => true,
            _ => self.search(of),
        }
    }

    #[cold]
    fn search(&self, of: &Sections) -> bool {
        // DW_CFA_def_cfa_expression, the length of the expression, DW_OP_breg6.
        const EXPRESSIONS: [[u8; 3]; 2] = [[0x0f, 0x03, 0x76], [0x0f, 0x04, 0x76]];
        let bytes = of.eh_frame.map_or(&[][..], |frames| frames.1);
        let has = |expression: &[u8; 3]| memmem::find(bytes, expression).is_some();
        let may = EXPRESSIONS.iter().any(has);
        let known = if may { Self::YES } else { Self::NO };
        self.0.store(known, Ordering::Relaxed);
        may
    }
}

/// What is above a frame.
pub enum Above {
    /// It does not align its stack: its table says what is above it.
    InTable,
    /// Its caller.
    Caller(Caller),
    /// It aligns its stack, and its slots cannot be read or are none.
    Unknown,
}

/// What such a frame returns to.
pub struct Caller {
    pub return_address: u64,
    /// The slot of the return address.
    pub slot: u64,
    pub stack_pointer: u64,
    pub frame_pointer: u64,
}

/// The places that were looked at.
pub struct Known {
    places: Box<[(u64, Option<Slots>)]>,
    /// The tables by which they were.
    tables: u64,
}

impl Known {
    /// None yet.
    pub fn new() -> Self {
        Self {
            places: vec![(0, None); PLACES].into_boxed_slice(),
            tables: 0,
        }
    }

    /// The slots of the frame in which an instruction at `address` runs, by the tables with this number, in which its module has
    /// these sections. `None` for any other frame.
    #[inline]
    pub fn slots(&mut self, tables: u64, address: u64, sections: &Sections) -> Option<Slots> {
        if self.tables != tables {
            self.places.fill((0, None));
            self.tables = tables;
        }
        let at = (address ^ address >> 9) as usize % PLACES;
        match self.places.get(at) {
            Some((known, slots)) if *known == address => *slots,
            _ => {
                let slots = look_up(sections, address);
                if let Some(place) = self.places.get_mut(at) {
                    *place = (address, slots);
                }
                slots
            }
        }
    }
}

impl Slots {
    /// What the frame returns to; `word` reads its stack, and `frame_pointer` is its own. `None` if the slots cannot be read, or
    /// the caller's stack would not be above the frame.
    pub fn caller(
        self,
        stack_pointer: u64,
        frame_pointer: u64,
        mut word: impl FnMut(u64) -> Option<u64>,
    ) -> Option<Caller> {
        let mut at = |distance: i16| word(frame_pointer.wrapping_add_signed(i64::from(distance)));
        let (cfa, frame_pointer) = (at(self.cfa)?, at(self.frame_pointer)?);
        let slot = cfa.checked_sub(8).filter(|slot| *slot >= stack_pointer)?;
        Some(Caller {
            return_address: word(slot)?,
            slot,
            stack_pointer: cfa,
            frame_pointer,
        })
    }
}

#[cold]
fn look_up(of: &Sections, address: u64) -> Option<Slots> {
    let mut context = UnwindContext::<usize, Few>::new_in();
    let ((header_at, header), (frames_at, frames)) = (of.eh_frame_hdr?, of.eh_frame?);
    let bases = BaseAddresses::default()
        .set_eh_frame_hdr(header_at)
        .set_eh_frame(frames_at);
    let header = EhFrameHdr::new(header, LittleEndian)
        .parse(&bases, 8)
        .ok()?;
    let mut section = EhFrame::new(frames, LittleEndian);
    section.set_address_size(8);
    let row = header.table()?.unwind_info_for_address(
        &section,
        &bases,
        &mut context,
        address,
        EhFrame::cie_from_offset,
    );
    let row = row.ok()?;
    let rules = (
        row.cfa(),
        row.register(X86_64::RBP),
        row.register(X86_64::RA),
    );
    let (
        CfaRule::Expression(cfa),
        Some(RegisterRule::Expression(saved)),
        Some(RegisterRule::Offset(-8)),
    ) = rules
    else {
        return None;
    };
    Some(Slots {
        cfa: distance(*cfa, &section, true)?,
        frame_pointer: distance(saved, &section, false)?,
    })
}

/// The distance that an expression adds to the frame pointer, if it does nothing else; `reads` if it then reads memory there.
fn distance(
    expression: UnwindExpression<usize>,
    section: &EhFrame<Bytes>,
    reads: bool,
) -> Option<i16> {
    let mut bytes = expression.get(section).ok()?.0;
    let is_from_pointer = bytes.read_u8().ok()? == constants::DW_OP_breg6.0;
    let distance = bytes.read_sleb128().ok()?;
    let reads_it = !reads || bytes.read_u8().ok()? == constants::DW_OP_deref.0;
    let is_all = is_from_pointer && reads_it && bytes.is_empty();
    i16::try_from(distance).ok().filter(|_| is_all)
}
