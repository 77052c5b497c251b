//! A call path in which Python's frames replace those of the interpreter.
//!
//! Each call of the evaluator is one frame of the machine's stack, and one run of Python's frames. Frames of the
//! interpreter's other code, between Python's frames and around them, are left out. Frames of other modules, such as
//! extensions, remain.

use crate::stack::{Frame, Stack};

/// A path on the machine's stack, innermost first.
pub struct Native<'p> {
    /// Addresses of code.
    pub code: &'p [u64],
    /// Slots on the stack in which the addresses are; 0 for the innermost one. A frame is between its own slot and the
    /// next one.
    pub slots: &'p [u64],
}

/// Whose code an address is.
pub trait Owner {
    /// Whether it is the interpreter's.
    fn is_interpreter(&self, address: u64) -> bool;
    /// Whether it is the evaluator's.
    fn is_evaluator(&self, address: u64) -> bool;
}

/// A frame of the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Out {
    /// Of the machine's stack.
    Native(u64),
    /// Of Python.
    Python(Frame),
}

/// Gives the frames of the path to `put`, innermost first, until it returns `false`. Returns `false` if no frame of
/// Python is in the path, or if the two do not fit together: then the path remains what it is.
pub fn splice(
    native: &Native<'_>,
    python: &Stack,
    owner: &impl Owner,
    mut put: impl FnMut(Out) -> bool,
) -> bool {
    let one_is_cut = python.cut && python.runs().len() == 1;
    let by_stack = one_is_cut || python.runs().iter().any(|r| r.stack != 0);
    let evaluators = || native.code.iter().filter(|a| owner.is_evaluator(**a));
    // An evaluator that has just begun, or is about to return, has no frame of Python.
    let mut skipped = match by_stack {
        true => 0,
        false => usize::from(evaluators().count() == python.runs().len() + 1),
    };
    let mut runs = python.runs().iter().peekable();
    let mut begin = 0;
    let mut any = false;
    for (i, address) in native.code.iter().enumerate() {
        let is_interpreter = owner.is_interpreter(*address);
        let from = native.slots.get(i).copied().unwrap_or(u64::MAX);
        let to = native.slots.get(i + 1).copied().unwrap_or(u64::MAX);
        let run = runs.next_if(|run| match run.stack {
            0 if by_stack => is_interpreter,
            0 => {
                let here = owner.is_evaluator(*address);
                let skips = here && skipped > 0;
                skipped -= usize::from(skips);
                here && !skips
            }
            // Where the last frame ends is not known.
            stack => (from..to).contains(&stack) && (is_interpreter || to != u64::MAX),
        });
        if let Some(run) = run {
            if !is_interpreter {
                return false;
            }
            any = true;
            for frame in python.frames().get(begin..run.end).unwrap_or(&[]) {
                if !put(Out::Python(*frame)) {
                    return true;
                }
            }
            begin = run.end;
        } else if !is_interpreter && !put(Out::Native(*address)) {
            return any;
        }
        // What lies further in than this frame was passed by.
        if runs.peek().is_some_and(|r| r.stack != 0 && r.stack < from) {
            return false;
        }
        if runs.peek().is_none() && python.cut {
            return any;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{DEBUG_WORDS, Layout};
    use crate::memory::image::Image;

    /// Code from 1000 on is the interpreter's, and from 1500 on the evaluator's.
    struct Code;

    impl Owner for Code {
        fn is_interpreter(&self, address: u64) -> bool {
            address >= 1000
        }

        fn is_evaluator(&self, address: u64) -> bool {
            address >= 1500
        }
    }

    /// Frames with code 8, 16, …, in runs of these lengths with these places on the stack, as 3.12 or 3.9 have them.
    fn python(runs: &[(u64, u64)]) -> Stack {
        let by_stack = runs.iter().any(|r| r.1 != 0);
        let version = (3, if by_stack { 12 } else { 9 });
        let layout = Layout::of(version, &[0; DEBUG_WORDS]).expect("a known version");
        let mut image = Image::default();
        image.map(0x10000, 128);
        image.word_at(0x10000 + 56, 0x20000);
        let mut slot = if by_stack { 0x20000 } else { 0x10000 + 24 };
        let mut code = 0;
        let link = |image: &mut Image, slot: &mut u64, at: u64| {
            image.word_at(*slot, at);
            image.map(at, 128);
            *slot = at + if by_stack { 8 } else { 24 };
        };
        for (count, stack) in runs {
            for _ in 0..*count {
                code += 8;
                let at = 0x30000 + 0x1000 * code;
                link(&mut image, &mut slot, at);
                image.word_at(at + if by_stack { 0 } else { 32 }, code);
            }
            if by_stack {
                link(&mut image, &mut slot, *stack);
                image.put(*stack + 70, &[3]);
            }
        }
        image.word_at(slot, 0);
        let mut stack = Stack::new();
        assert!(stack.read(&image, &layout, 0x10000));
        stack
    }

    /// The path, with Python's frames as negative numbers; `None` if it remains what it is.
    fn spliced(native: &[u64], python: &Stack) -> Option<Vec<i64>> {
        // The frame of index i is from 0x1000 * i on.
        let slots: Vec<u64> = (0..native.len() as u64).map(|i| 0x1000 * i).collect();
        let mut out = Vec::new();
        let native = Native {
            code: native,
            slots: &slots,
        };
        splice(&native, python, &Code, |frame| {
            out.push(match frame {
                Out::Native(address) => address as i64,
                Out::Python(frame) => -(frame.code as i64) / 8,
            });
            out.len() < 100
        })
        .then_some(out)
    }

    #[test]
    fn runs_replace_the_evaluators_that_run_them() {
        // An extension that called back, below a function that the interpreter called for main.
        let native = [7, 1001, 1500, 1002, 8, 1500, 1003, 9];
        let both = [-1, -2, 8, -3, 9];
        let path = [7].into_iter().chain(both).collect::<Vec<i64>>();
        let is = python(&[(2, 0x2100), (1, 0x5100)]);
        assert_eq!(spliced(&native, &is), Some(path));
        let is = python(&[(1, 0), (1, 0)]);
        assert_eq!(spliced(&native, &is), Some(vec![7, -1, 8, -2, 9]));
    }

    #[test]
    fn an_evaluator_without_frames_is_left_out() {
        let native = [1500, 1001, 8, 1500, 9];
        let is = python(&[(1, 0x3100)]);
        assert_eq!(spliced(&native, &is), Some(vec![8, -1, 9]));
        let is = python(&[(1, 0)]);
        assert_eq!(spliced(&native, &is), Some(vec![8, -1, 9]));
    }

    #[test]
    fn a_path_that_ends_below_a_root_has_the_frames_below_it() {
        let is = python(&[(1, 0x1100), (5, 0x9100)]);
        assert_eq!(spliced(&[7, 1500, 8], &is), Some(vec![7, -1, 8]));
        // All of it is below the root.
        assert_eq!(spliced(&[7, 8], &python(&[(5, 0x9100)])), None);
    }

    #[test]
    fn what_does_not_fit_together_remains() {
        // In a frame of an extension, and on no part of this stack.
        assert_eq!(spliced(&[7, 1500, 8], &python(&[(1, 0x2100)])), None);
        let elsewhere = python(&[(1, 0x100), (1, 0x1100)]);
        assert_eq!(spliced(&[1500, 1500, 8], &elsewhere), Some(vec![-1, -2, 8]));
        let beyond = python(&[(1, 0x2100), (1, 0x1100)]);
        assert_eq!(spliced(&[7, 8, 1500, 9], &beyond), None);
        assert_eq!(spliced(&[7, 1001], &Stack::new()), None);
    }

    #[test]
    fn deep_recursion_is_cut_where_there_is_no_more_room() {
        let is = python(&[(1, 0x1100), (500, 0x3100)]);
        assert!(is.cut);
        let path = spliced(&[7, 1500, 8, 1500, 9], &is).expect("frames");
        assert_eq!(path.first_chunk(), Some(&[7, -1, 8, -2, -3]));
        assert_eq!(path.len(), 100);
    }
}
