//! The frames of a thread, innermost first, in runs: one run for each call of the evaluator.

use crate::layout::{Chain, Layout, OWNED_BY_EVALUATOR};
use crate::memory::Memory;

/// Frames that are read at the most.
pub const MOST: usize = 192;

/// A frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Frame {
    /// Its code object.
    pub code: u64,
    /// Where it is in its code, as its version has it.
    pub at: u64,
}

/// The frames that one call of the evaluator runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// The index behind its outermost frame.
    pub end: usize,
    /// An address in the evaluator's frame on the machine's stack; 0 if the version has none.
    pub stack: u64,
}

/// Frames of a thread.
pub struct Stack {
    frames: [Frame; MOST],
    count: usize,
    runs: [Run; MOST],
    calls: usize,
    /// Whether there are more frames than fit. The outermost run is then cut off.
    pub cut: bool,
}

/// Why reading ends before the outermost frame.
enum End {
    /// There is no more room.
    Full,
    /// Memory is not what it should be.
    Wrong,
}

/// A word that must be there.
fn there<T>(word: Option<T>) -> Result<T, End> {
    word.ok_or(End::Wrong)
}

/// Bytes of a frame that are read.
const FRAME: usize = 112;
/// The same from 3.11 on, where the locals are behind it, and from 3.14 on.
const SHORT_FRAME: usize = 72;
const LONGER_FRAME: usize = 80;

impl Stack {
    /// No frames.
    pub const fn new() -> Self {
        const NONE: Frame = Frame { code: 0, at: 0 };
        Self {
            frames: [NONE; MOST],
            count: 0,
            runs: [Run { end: 0, stack: 0 }; MOST],
            calls: 0,
            cut: false,
        }
    }

    /// The frames, innermost first.
    pub fn frames(&self) -> &[Frame] {
        self.frames.get(..self.count).unwrap_or(&[])
    }

    /// The runs, innermost first.
    pub fn runs(&self) -> &[Run] {
        self.runs.get(..self.calls).unwrap_or(&[])
    }

    /// Reads the frames of the thread whose state is at `state`. Returns `false` if they are not what they should be;
    /// then there are none.
    pub fn read(&mut self, memory: &impl Memory, layout: &Layout, state: u64) -> bool {
        (self.count, self.calls, self.cut) = (0, 0, false);
        let read = match layout.chain {
            Chain::Objects { frame, marks } => self.objects(memory, layout, state, frame, marks),
            Chain::Marks {
                mark,
                frame,
                next,
                is_entry,
            } => {
                let first = state.wrapping_add(mark);
                self.marks(memory, layout, first, (frame, next, is_entry))
            }
            Chain::Entries { mark, frame, owner } => {
                let at = match mark {
                    Some(mark) => memory.word(state.wrapping_add(mark)),
                    None => Some(state),
                };
                there(at).and_then(|at| self.entries(memory, layout, at.wrapping_add(frame), owner))
            }
        };
        match read {
            Ok(()) => true,
            Err(End::Full) => {
                self.cut = true;
                self.close(0);
                true
            }
            Err(End::Wrong) => {
                (self.count, self.calls) = (0, 0);
                false
            }
        }
    }

    fn push(&mut self, frame: Frame) -> Result<(), End> {
        let place = self.frames.get_mut(self.count).ok_or(End::Full)?;
        *place = frame;
        self.count += 1;
        Ok(())
    }

    /// Ends the run of a call of the evaluator. A call that has no frame yet is none.
    fn close(&mut self, stack: u64) {
        let begin = self.runs().last().map_or(0, |r| r.end);
        if self.count > begin
            && let Some(run) = self.runs.get_mut(self.calls)
        {
            *run = Run {
                end: self.count,
                stack,
            };
            self.calls += 1;
        }
    }

    fn objects(
        &mut self,
        memory: &impl Memory,
        layout: &Layout,
        state: u64,
        frame: u64,
        marks: Option<(u64, u64)>,
    ) -> Result<(), End> {
        let mut at = there(memory.word(state.wrapping_add(frame)))?;
        let mut mark = match marks {
            Some((mark, _)) => there(memory.word(state.wrapping_add(mark)))?,
            None => 0,
        };
        while at != 0 {
            let bytes: [u8; FRAME] = there(bytes(memory, at))?;
            let number = there(
                bytes
                    .get(layout.frame_at as usize..)
                    .and_then(|b| b.get(..4)),
            )?;
            let number = i32::from_ne_bytes(there(number.try_into().ok())?);
            self.push(Frame {
                code: there(word(&bytes, layout.frame_code))?,
                at: number as u64,
            })?;
            self.close(mark);
            at = there(word(&bytes, layout.frame_previous))?;
            if let Some((_, next)) = marks {
                mark = there(memory.word(mark.wrapping_add(next)))?;
            }
        }
        Ok(())
    }

    fn marks(
        &mut self,
        memory: &impl Memory,
        layout: &Layout,
        first: u64,
        (frame, next, is_entry): (u64, u64, u64),
    ) -> Result<(), End> {
        let mut mark = there(memory.word(first))?;
        let mut at = there(memory.word(mark.wrapping_add(frame)))?;
        while at != 0 {
            let outer = loop {
                let bytes: [u8; SHORT_FRAME] = there(bytes(memory, at))?;
                self.push(self.frame(layout, &bytes)?)?;
                let previous = there(word(&bytes, layout.frame_previous))?;
                if *there(bytes.get(is_entry as usize))? != 0 {
                    break previous;
                }
                at = previous;
            };
            self.close(mark);
            mark = there(memory.word(mark.wrapping_add(next)))?;
            // The outermost mark is no evaluator's.
            at = there(memory.word(mark.wrapping_add(frame)))?;
            if at != outer {
                return Err(End::Wrong);
            }
        }
        Ok(())
    }

    fn entries(
        &mut self,
        memory: &impl Memory,
        layout: &Layout,
        first: u64,
        owner: u64,
    ) -> Result<(), End> {
        let mut at = there(memory.word(first))?;
        // An evaluator's frame may be alone in its run, and those are not counted.
        for _ in 0..4 * MOST {
            if at == 0 {
                let begin = self.runs().last().map_or(0, |r| r.end);
                return (begin == self.count).then_some(()).ok_or(End::Wrong);
            }
            let mut room = [0; LONGER_FRAME];
            let bytes = match owner < SHORT_FRAME as u64 {
                true => there(room.get_mut(..SHORT_FRAME))?,
                false => &mut room[..],
            };
            if !at.is_multiple_of(8) || !memory.read(at, bytes) {
                return Err(End::Wrong);
            }
            if *there(bytes.get(owner as usize))? >= OWNED_BY_EVALUATOR {
                self.close(at);
            } else {
                self.push(self.frame(layout, bytes)?)?;
            }
            at = there(word(bytes, layout.frame_previous))?;
        }
        Err(End::Full)
    }

    /// The frame of these bytes. The lowest bits of a reference to an object may say what kind of reference it is.
    fn frame(&self, layout: &Layout, bytes: &[u8]) -> Result<Frame, End> {
        Ok(Frame {
            code: there(word(bytes, layout.frame_code))? & !7,
            at: there(word(bytes, layout.frame_at))?,
        })
    }
}

impl Default for Stack {
    fn default() -> Self {
        Self::new()
    }
}

/// The bytes of a structure.
fn bytes<const N: usize>(memory: &impl Memory, at: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    (at.is_multiple_of(8) && memory.read(at, &mut bytes)).then_some(bytes)
}

/// A word of it.
fn word(bytes: &[u8], offset: u64) -> Option<u64> {
    let word = bytes.get(offset as usize..)?.get(..8)?;
    Some(u64::from_ne_bytes(word.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::layout::DEBUG_WORDS;
    use crate::memory::image::Image;

    pub(crate) const STATE: u64 = 0x1000;

    pub(crate) fn layout(minor: u8) -> Layout {
        Layout::of((3, minor), &[0; DEBUG_WORDS]).expect("a known version")
    }

    /// Three frames, the innermost two in one run from 3.11 on. Code objects are at 0x100, 0x200, 0x300; what the
    /// evaluator has on its stack is at 0x9000 and 0xa000.
    pub(crate) fn image(minor: u8) -> Image {
        let mut image = Image::default();
        image.map(STATE, 256);
        let frames = [0x2000, 0x3000, 0x4000];
        for (i, at) in (0..).zip(frames) {
            image.map(at, 128);
            let next = if i == 2 { 0 } else { frames[i as usize + 1] };
            let code = 0x100 * (i + 1);
            match minor {
                9 | 10 => {
                    image.word_at(at + 24, next);
                    image.word_at(at + 32, code);
                    image.put(at + if minor == 9 { 104 } else { 96 }, &[7, 0, 0, 0]);
                }
                11 => {
                    image.word_at(at + 32, code);
                    image.word_at(at + 48, next);
                    image.word_at(at + 56, code + 7);
                    image.put(at + 68, &[u8::from(i > 0)]);
                }
                _ => {
                    let next = match i {
                        0 => next,
                        1 => 0x9000,
                        _ => 0xa000,
                    };
                    image.word_at(at, code);
                    image.word_at(at + 8, next);
                    image.word_at(at + 56, code + 7);
                }
            }
        }
        match minor {
            9 => image.word_at(STATE + 24, 0x2000),
            10 => {
                image.word_at(STATE + 24, 0x2000);
                image.word_at(STATE + 48, 0x8000);
                for (mark, next) in [
                    (0x8000, 0x9000),
                    (0x9000, 0xa000),
                    (0xa000, 0xb000),
                    (0xb000, 0),
                ] {
                    image.map(mark, 16);
                    image.word_at(mark + 8, next);
                }
            }
            11 => {
                image.word_at(STATE + 56, 0x9000);
                for (mark, frame, next) in [
                    (0x9000, 0x2000, 0xa000),
                    (0xa000, 0x4000, 0xb000),
                    (0xb000, 0, 0),
                ] {
                    image.map(mark, 24);
                    image.word_at(mark + 8, frame);
                    image.word_at(mark + 16, next);
                }
            }
            _ => {
                image.word_at(STATE + 56, 0xc000);
                image.word_at(0xc000, 0x2000);
                for (entry, next) in [(0x9000, 0x4000), (0xa000, 0)] {
                    image.map(entry, 80);
                    image.word_at(entry + 8, next);
                    image.put(entry + 70, &[3]);
                }
            }
        }
        image
    }

    #[test]
    fn frames_of_all_versions_are_in_runs() {
        for minor in 9..=12 {
            let mut stack = Stack::new();
            assert!(
                stack.read(&image(minor), &layout(minor), STATE),
                "3.{minor}"
            );
            let codes: Vec<u64> = stack.frames().iter().map(|f| f.code).collect();
            assert_eq!(codes, [0x100, 0x200, 0x300], "3.{minor}");
            let runs: Vec<(usize, u64)> = stack.runs().iter().map(|r| (r.end, r.stack)).collect();
            let is: &[(usize, u64)] = match minor {
                9 => &[(1, 0), (2, 0), (3, 0)],
                10 => &[(1, 0x8000), (2, 0x9000), (3, 0xa000)],
                _ => &[(2, 0x9000), (3, 0xa000)],
            };
            assert_eq!(runs, is, "3.{minor}");
        }
    }

    #[test]
    fn a_frame_may_have_its_owner_behind_its_stack_pointer() {
        // As 3.14 has it, whose state leads to the frame itself, and whose references have lowest bits.
        let layout = Layout {
            chain: Chain::Entries {
                mark: None,
                frame: 72,
                owner: 74,
            },
            ..layout(12)
        };
        let mut image = Image::default();
        image.map(STATE, 256);
        image.word_at(STATE + 72, 0x2000);
        for at in [0x2000, 0x9000] {
            image.map(at, 80);
        }
        image.word_at(0x2000, 0x101);
        image.word_at(0x2008, 0x9000);
        image.put(0x9000 + 74, &[3]);
        let mut stack = Stack::new();
        assert!(stack.read(&image, &layout, STATE));
        assert_eq!(stack.frames().first().map(|f| f.code), Some(0x100));
        assert_eq!(stack.runs().first().map(|r| r.stack), Some(0x9000));
    }

    #[test]
    fn what_does_not_fit_together_has_no_frames() {
        for minor in 9..=12 {
            let whole = image(minor);
            let mut stack = Stack::new();
            // Without any one byte of it, there are frames as before or none at all.
            let mut before = Stack::new();
            assert!(before.read(&whole, &layout(minor), STATE));
            for missing in whole.0.keys() {
                let mut image = whole.clone();
                image.0.remove(missing);
                if stack.read(&image, &layout(minor), STATE) {
                    assert_eq!(stack.frames(), before.frames());
                } else {
                    assert!(stack.frames().is_empty() && stack.runs().is_empty());
                }
            }
        }
        let mut image = image(11);
        // The frame outside the innermost run is another one than that of the next mark.
        image.word_at(0xa000 + 8, 0x3000);
        assert!(!Stack::new().read(&image, &layout(11), STATE));
    }

    #[test]
    fn any_word_may_be_wrong() {
        let wrong = [0, 1, 8, 0x2000, 0x9000, 1 << 60, u64::MAX - 7, u64::MAX];
        for minor in 9..=12 {
            let whole = image(minor);
            let words = whole.0.keys().filter(|at| at.is_multiple_of(8));
            for (at, word) in words.flat_map(|at| wrong.map(|word| (*at, word))) {
                let mut image = whole.clone();
                image.word_at(at, word);
                let mut stack = Stack::new();
                let read = stack.read(&image, &layout(minor), STATE);
                assert!(stack.frames().len() <= MOST && (read || stack.runs().is_empty()));
            }
            assert!(!Stack::new().read(&whole, &layout(minor), u64::MAX - 7));
        }
    }

    #[test]
    fn a_circle_of_frames_ends() {
        for (minor, previous) in [(9, 24), (10, 24), (11, 48), (12, 8)] {
            let mut image = image(minor);
            image.word_at(0x2000 + previous, 0x2000);
            let mut stack = Stack::new();
            if stack.read(&image, &layout(minor), STATE) {
                assert!(stack.cut && stack.frames().len() == MOST, "3.{minor}");
            }
        }
        let mut image = image(12);
        image.word_at(0x9000 + 8, 0x9000);
        assert!(Stack::new().read(&image, &layout(12), STATE));
    }
}
