//! A mark of a thread's frames: a hash of where they are and of their functions. The path of a call is known if the mark
//! is, so it is made at each call from Python, and reads as few words as tell one function from another.

use crate::layout::{At, Chain, Layout, OWNED_BY_EVALUATOR};
use crate::memory::Memory;
use crate::stack::MOST;

/// An odd number without a pattern, by which words are mixed.
const MIXES: u64 = 0x9e37_79b9_7f4a_7c15;

/// The mark of the thread whose state is at `state`; `None` if its frames cannot be read.
pub fn mark(memory: &impl Memory, layout: &Layout, state: u64) -> Option<u64> {
    let word = |at: u64, offset: u64| memory.word(at.wrapping_add(offset));
    let (mut at, owner) = match layout.chain {
        Chain::Objects { frame, .. } => (word(state, frame)?, None),
        Chain::Marks { mark, frame, .. } => (word(word(state, mark)?, frame)?, None),
        Chain::Entries { mark, frame, owner } => {
            let from = match mark {
                Some(mark) => word(state, mark)?,
                None => state,
            };
            (word(from, frame)?, Some(owner))
        }
    };
    let mut mark = MIXES;
    let mut mix = |word: u64| mark = (mark.rotate_left(23) ^ word).wrapping_mul(MIXES);
    // An evaluator's frame may be alone in its run.
    for _ in 0..4 * MOST {
        if at == 0 {
            break;
        }
        let is_evaluators = match owner {
            Some(owner) => {
                let around = word(at, owner & !7)?;
                (around >> (8 * (owner & 7))) as u8 >= OWNED_BY_EVALUATOR
            }
            None => false,
        };
        if !is_evaluators {
            let code = word(at, layout.frame_code)? & !7;
            let instruction = word(at, layout.frame_at)?;
            mix(code);
            mix(match layout.at {
                At::Address(_) => instruction,
                At::Bytes | At::Instructions => instruction & u64::from(u32::MAX),
            });
            // What another code object would have that is at the same address later. Of the first line, the word that it
            // is in does not change either.
            for field in [layout.file, layout.name, layout.line_table] {
                mix(word(code, field)?);
            }
            mix(word(code, layout.first_line & !7)?);
        }
        at = word(at, layout.frame_previous)?;
    }
    Some(mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::tests::{STATE, image, layout};

    #[test]
    fn a_mark_is_another_one_for_other_frames_and_functions() {
        for minor in 9..=12 {
            let layout = layout(minor);
            let mut whole = image(minor);
            for code in [0x100, 0x200, 0x300] {
                whole.map(code, 152);
            }
            let is = mark(&whole, &layout, STATE);
            assert!(
                is.is_some() && is == mark(&whole, &layout, STATE),
                "3.{minor}"
            );
            for frame in [0x2000, 0x3000, 0x4000] {
                let mut other = whole.clone();
                other.put(frame + layout.frame_at, &[9]);
                assert_ne!(mark(&other, &layout, STATE), is, "3.{minor}");
            }
            for field in [
                layout.file,
                layout.name,
                layout.line_table,
                layout.first_line,
            ] {
                let mut other = whole.clone();
                other.put(0x200 + field, &[9]);
                assert_ne!(mark(&other, &layout, STATE), is, "3.{minor}");
            }
            // Another frame, and none any more.
            let mut other = whole.clone();
            other.word_at(0x3000 + layout.frame_previous, 0);
            assert_ne!(mark(&other, &layout, STATE), is, "3.{minor}");
            for missing in whole.0.keys() {
                let mut other = whole.clone();
                other.0.remove(missing);
                let now = mark(&other, &layout, STATE);
                assert!(now.is_none() || now == is, "3.{minor}: {missing:#x}");
            }
            // A circle ends.
            let mut other = whole.clone();
            other.word_at(0x3000 + layout.frame_previous, 0x3000);
            assert!(mark(&other, &layout, STATE).is_some());
        }
    }
}
