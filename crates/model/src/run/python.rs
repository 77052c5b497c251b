//! Places in a file of Python, as offsets in a module.
//!
//! A module whose path is that of the source has functions, their lines, and loops around these. The offsets follow from
//! what they are, so a place has the same offset in all ranks and runs, and for whoever reads the source. A function
//! begins at its own offset; behind it are its lines, and before each line the loops that begin there.

use crate::hash::mix2;
use crate::printable::on_one_line;

/// Bits of a place within a function: of the line, counted from the first one, and of what is on it.
const INSIDE: u32 = 24;
const ON_LINE: u32 = 6;
/// Bits of a function's name.
const NAME: u32 = 16;

/// What is on a line: the line itself, and before that the loops that begin there, outermost first.
const LINE: u64 = (1 << ON_LINE) - 1;

/// The offset of a function with this first line, decorators included, and its name with those around it.
pub fn function(first_line: u32, name: &str) -> u64 {
    let word = |bytes: &[u8]| bytes.iter().fold(0, |w, b| w << 8 | u64::from(*b));
    let hash = name.as_bytes().chunks(8).fold(0, |h, c| mix2(h, word(c)));
    // Bit 63 is not used, and neither is offset 0.
    let first_line = u64::from(first_line.clamp(1, (1 << 23) - 1));
    first_line << (INSIDE + NAME) | (hash >> (64 - NAME)) << INSIDE
}

fn inside(function: u64, line: u32, on_line: u64) -> u64 {
    let first_line = (function >> (INSIDE + NAME)) as u32;
    let behind = line.saturating_sub(first_line);
    let behind = behind.min((1 << (INSIDE - ON_LINE)) - 1);
    function | u64::from(behind) << ON_LINE | on_line
}

/// The offset of a line of the function at this offset.
pub fn line(function: u64, line: u32) -> u64 {
    inside(function, line, LINE)
}

/// The offset of a loop that begins on a line, as the loop of this number there.
pub fn begin_of_loop(function: u64, line: u32, number: u32) -> u64 {
    inside(function, line, u64::from(number).min(LINE - 2) + 1)
}

/// The function and the line of an offset.
pub fn place(offset: u64) -> (u64, u32) {
    let first_line = (offset >> (INSIDE + NAME)) as u32;
    let behind = (offset >> ON_LINE) as u32 & ((1 << (INSIDE - ON_LINE)) - 1);
    (offset >> INSIDE << INSIDE, first_line + behind)
}

/// What the name of a function of Python begins with among the modules of a trace.
const FUNCTION: &str = "python:";
/// What is between its file and its own name.
const IN: &str = " in ";

/// The name by which a trace has a function of Python as a module: there a line is an offset, and has one more than its
/// number, as what a call returns to is behind it.
pub fn module_of_trace(file: &str, function: &str) -> String {
    on_one_line(&format!("{FUNCTION}{file}{IN}{function}"))
}

/// The file and the name of the function that a module of a trace stands for; `None` if that is no function of Python.
pub fn function_of_trace(module: &str) -> Option<(&str, &str)> {
    module.strip_prefix(FUNCTION)?.rsplit_once(IN)
}

/// The place of an offset in such a module, as `solver.py:42 in Solver.step`.
pub fn place_in_trace(module: &str, offset: u64) -> Option<String> {
    let (file, function) = function_of_trace(module)?;
    let file = file.rsplit('/').next().unwrap_or(file);
    Some(format!("{file}:{}{IN}{function}", offset.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_trace_are_lines_in_functions() {
        let name = module_of_trace("/home/u/in in/solver.py", "Solver.step");
        let place = place_in_trace(&name, 43);
        assert_eq!(place.as_deref(), Some("solver.py:42 in Solver.step"));
        let odd = module_of_trace("a\nb", "f\x1b[1m");
        assert!(!odd.contains(char::is_control), "{odd:?}");
        assert_eq!(place_in_trace("/usr/bin/a in b", 7), None);
        assert_eq!(place_in_trace("python:x", 7), None);
    }

    #[test]
    fn places_are_in_the_order_of_the_source() {
        let (step, other) = (function(40, "Solver.step"), function(40, "Solver.other"));
        assert_ne!(step, other);
        let places = [
            step,
            begin_of_loop(step, 42, 0),
            begin_of_loop(step, 42, 1),
            line(step, 42),
            line(step, 43),
            function(44, "main"),
        ];
        assert!(places.is_sorted(), "{places:x?}");
        assert_eq!(place(line(step, 43)), (step, 43));
        assert_eq!(place(begin_of_loop(step, 42, 900)), (step, 42));
        assert!(begin_of_loop(step, 42, 900) < line(step, 42));
        // A function is never as long; its last lines are one place.
        assert!(line(step, u32::MAX) < function(41, ""));
        assert!(function(u32::MAX, "x") < 1 << 63 && function(0, "") > 0);
    }
}
