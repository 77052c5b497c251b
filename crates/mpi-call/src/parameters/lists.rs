//! Reads numbers, lists and texts of the program.

use crate::args::Args;
use crate::parameters::communicators::About;
use crate::parameters::{LONGEST_LIST, Parameters};
use headwater_mpi_abi::{Form, Length};

/// The longest text that is recorded.
const LONGEST_TEXT: usize = 4096;

/// No memory of a program is below: addresses there are constants of the library.
const LOWEST: u64 = 4096;

/// Displacements from here on are addresses.
const ADDRESSES: i64 = 1 << 32;

/// An integer of 64 bits.
pub fn long(args: &Args, at: u8) -> i64 {
    let raw = args.raw(at);
    if args.fortran() {
        pointed_long(args, at)
    } else {
        raw as i64
    }
}

/// An integer of 64 bits behind an address.
pub fn pointed_long(args: &Args, at: u8) -> i64 {
    let raw = args.raw(at);
    if raw < LOWEST {
        return 0;
    }
    // SAFETY: the program passes the address of such an integer.
    unsafe { (raw as *const i64).read_unaligned() }
}

/// An `int` behind an address.
pub fn pointed_int(args: &Args, at: u8) -> i64 {
    if args.raw(at) < LOWEST {
        return 0;
    }
    i64::from(args.int_at(at, 0))
}

/// How many elements a list has; `about` is the communicator of the call.
pub fn length(args: &Args, length: Length, about: Option<&About>) -> Option<usize> {
    let int = |at| usize::try_from(args.int(at)).ok();
    let elements = |list, n| {
        let valid = args.raw(list) >= LOWEST && n <= LONGEST_LIST;
        valid.then(|| (0..n).map(move |i| i64::from(args.int_at(list, i))))
    };
    match length {
        Length::One => Some(0),
        Length::Argument { at, wide, times } => {
            let n = if wide {
                long(args, at)
            } else {
                i64::from(args.int(at))
            };
            usize::try_from(n).ok()?.checked_mul(usize::from(times))
        }
        Length::Sum { list, at } => match int(at)? {
            0 => Some(0),
            n => usize::try_from(elements(list, n)?.sum::<i64>()).ok(),
        },
        Length::Last { list, at } => match int(at)? {
            0 => Some(0),
            n => usize::try_from(elements(list, n)?.next_back()?).ok(),
        },
        by_comm => about.map(|a| a.length(by_comm) as usize),
    }
}

/// Whether an argument is the address of a list.
pub fn is_list(args: &Args, at: u8) -> bool {
    args.raw(at) >= LOWEST
}

impl Parameters {
    /// Empties the list. Returns whether it has room for so many elements.
    pub(super) fn room(&mut self, n: usize) -> bool {
        self.list.clear();
        let has_room = n <= LONGEST_LIST && self.list.try_reserve(n).is_ok();
        self.lost |= !has_room;
        has_room
    }

    /// Reads a list of `n` numbers.
    pub(super) fn read_numbers(&mut self, args: &Args, at: u8, form: Form, n: usize) {
        let first = args.raw(at) as *const i64;
        let wide = form == Form::Longs || form == Form::OldLongs && !args.fortran();
        if wide {
            // SAFETY: the program passes a list of as many elements as it says.
            let element = |i| unsafe { first.add(i).read_unaligned() };
            self.list.extend((0..n).map(element));
        } else {
            self.list
                .extend((0..n).map(|i| i64::from(args.int_at(at, i))));
        }
    }

    /// Makes displacements that are addresses relative to the lowest of them: each process has other addresses.
    pub(super) fn make_relative(&mut self) {
        let lowest = self.list.iter().copied().min().unwrap_or(0);
        if lowest >= ADDRESSES {
            self.list.iter_mut().for_each(|d| *d -= lowest);
        }
    }
}

/// The text at an argument, which in Fortran is the one of this number behind the arguments of C and the error code.
/// Blanks at its end do not count in Fortran.
pub fn text(args: &Args, at: u8, roles: usize, number: usize) -> Option<&[u8]> {
    let first = args.raw(at);
    if first < LOWEST {
        return None;
    }
    let first = first as *const u8;
    // SAFETY: a text of the program's. NUL ends it, or it is as long as the program says.
    let byte = |i: usize| unsafe { first.add(i).read() };
    let most = if args.fortran() {
        let length = args.raw(u8::try_from(roles + 1 + number).ok()?);
        usize::try_from(length).ok()?.min(LONGEST_TEXT)
    } else {
        LONGEST_TEXT
    };
    let mut n = (0..most).take_while(|i| byte(*i) != 0).count();
    while args.fortran() && n > 0 && byte(n - 1) == b' ' {
        n -= 1;
    }
    // SAFETY: these bytes were just read, and the program's call is still under way.
    Some(unsafe { std::slice::from_raw_parts(first, n) })
}
