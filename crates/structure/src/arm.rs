//! AArch64: instructions that steer, and what all do to registers as far as jump tables go.

use crate::arithmetic;
use crate::decode::{Op, Steer};
use crate::table::{Held, Place, Registers, Stack};

/// Decodes `code` at `address`.
pub fn decode(code: &[u8], address: u64) -> Vec<Op> {
    let words = code
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    let mut follow = crate::decode::Follow::default();
    words
        .zip((address..).step_by(4))
        .map(|(w, at)| {
            follow.arrive(at);
            let steer = steer(w, at, &follow.registers);
            see(&mut follow.registers, w, at);
            follow.leave(steer, at);
            Op {
                at,
                len: 4,
                steer,
                work: arithmetic::of_arm(w),
            }
        })
        .collect()
}

fn steer(w: u32, at: u64, registers: &Registers) -> Steer {
    let to = |from: u32, bits: u32| {
        let field = w >> from & ((1 << bits) - 1);
        at.wrapping_add_signed(signed(field, bits) * 4)
    };
    match w {
        _ if w >> 26 == 0b000101 => Steer::Jump(to(0, 26)),
        _ if w >> 26 == 0b100101 => Steer::Call(to(0, 26)),
        // b.cond; cbz, cbnz; tbz, tbnz
        _ if w >> 24 == 0x54 || w >> 25 & 0x3f == 0b011010 => Steer::Branch(to(5, 19)),
        _ if w >> 25 & 0x3f == 0b011011 => Steer::Branch(to(5, 14)),
        // br, blr and ret, with and without authentication
        _ if w & 0xfeff_f000 == 0xd61f_0000 => Steer::Leap(registers.leap(register(w, 5))),
        _ if w & 0xfeff_f000 == 0xd63f_0000 => Steer::CallIndirect,
        _ if w & 0xffff_f000 == 0xd65f_0000 => Steer::Return,
        // brk, udf
        _ if w & 0xffe0_001f == 0xd420_0000 || w >> 16 == 0 => Steer::Stop,
        _ => Steer::Next,
    }
}

fn register(word: u32, at: u32) -> usize {
    (word >> at & 31) as usize
}

/// The lowest `bits` of `value` as a number with a sign.
fn signed(value: u32, bits: u32) -> i64 {
    i64::from((value << (32 - bits)) as i32 >> (32 - bits))
}

/// What the instruction `w` at `at` does to the registers.
fn see(registers: &mut Registers, w: u32, at: u64) {
    let (d, n, m) = (register(w, 0), register(w, 5), register(w, 16));
    let far = || signed((w >> 5 & 0x7_ffff) << 2 | w >> 29 & 3, 21);
    let immediate = u64::from(w >> 10 & 0xfff) << ((w >> 22 & 1) * 12);
    // What an epilogue takes back from the stack, code behind it never sees.
    let back = w & 0x0a40_0000 == 0x0840_0000 && n == 31 && (19..31).contains(&d);
    if let Some(stack) = stack(w) {
        registers.stack = stack;
        return;
    } else if back {
        return;
    }
    match w {
        // A subtraction of an immediate that only sets flags is a comparison.
        _ if w & 0x7f80_001f == 0x7100_001f => {
            registers.compare(Place::Register(n), immediate);
        }
        // b.hi and b.ls, b.hs and b.lo
        _ if w >> 24 == 0x54 => registers.bound(match w & 15 {
            8 | 9 => Some(true),
            2 | 3 => Some(false),
            _ => None,
        }),
        // bl, blr
        _ if w >> 26 == 0b100101 || w & 0xfeff_f000 == 0xd63f_0000 => registers.forget(0..19),
        // adrp, adr
        _ if w & 0x9f00_0000 == 0x9000_0000 => {
            let page = (at & !0xfff).wrapping_add_signed(far() << 12);
            registers.set(d, Held::Address(page));
        }
        _ if w & 0x9f00_0000 == 0x1000_0000 => {
            registers.set(d, Held::Address(at.wrapping_add_signed(far())));
        }
        // add of an immediate; mov
        _ if w & 0xff80_0000 == 0x9100_0000 => registers.add(d, n, immediate),
        _ if w & 0x7fe0_ffe0 == 0x2a00_03e0 => registers.add(d, m, 0),
        // uxtb, uxth, sxtw of what is known
        _ if w & 0x7f80_0000 == 0x5300_0000 && w >> 16 & 63 == 0 && w >> 10 & 63 >= 7 => {
            registers.add(d, n, 0);
        }
        _ if w & 0xffff_fc00 == 0x9340_7c00 => {
            registers.add(d, n, 0);
            registers.extend(d);
        }
        // A load with a register as index, with its sign or without.
        _ if w & 0x3f20_0c00 == 0x3820_0800 && w >> 22 & 3 != 0 => {
            let (at, index) = (registers.address(n), registers.get(m));
            registers.entry(d, at, index, 1 << (w >> 30), w >> 22 & 3 > 1);
        }
        // add of a register that is extended (sxtb, sxth, sxtw) or shifted left
        _ if w & 0xffe0_0000 == 0x8b20_0000 => {
            let extension = w >> 13 & 7;
            if let Held::Entry(table) = registers.get(m)
                && extension >= 4
                && u32::from(table.entry) == 1 << (extension - 4)
            {
                registers.extend(m);
            }
            registers.sum(d, n, m, w >> 10 & 7);
        }
        _ if w & 0xffe0_0000 == 0x8b00_0000 => registers.sum(d, n, m, w >> 10 & 63),
        // Stores and jumps write no register that matters.
        _ if w >> 26 & 7 == 0b101 || w & 0x0ac0_0000 == 0x0800_0000 => {}
        // ldp writes two.
        _ if w & 0x3a40_0000 == 0x2840_0000 => registers.forget([d, register(w, 10)]),
        _ => registers.forget([d]),
    }
}

/// What an instruction does to the stack.
fn stack(w: u32) -> Option<Stack> {
    // A load or store that moves the stack pointer, of two registers or of one.
    let pair = w & 0x3a80_03e0 == 0x2880_03e0;
    let single = w & 0x3b20_07e0 == 0x3800_07e0;
    match w {
        _ if pair || single => Some(if w >> 22 & 1 == 1 {
            Stack::Restored
        } else {
            Stack::Grown
        }),
        // sub, add of an immediate; mov sp, x29
        _ if w & 0xff80_03ff == 0xd100_03ff => Some(Stack::Grown),
        _ if w & 0xff80_03ff == 0x9100_03ff || w == 0x9100_03bf => Some(Stack::Restored),
        _ => None,
    }
}

/// The slot of `adrp x16, page; ldr x17, [x16, offset]`, perhaps behind a landing pad.
pub fn slot(bytes: &[u8], address: u64) -> Option<u64> {
    let words: Vec<u32> = bytes
        .chunks_exact(4)
        .take(3)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect();
    let at = words
        .iter()
        .take(2)
        .position(|w| w & 0x9f00_001f == 0x9000_0010)?;
    let (adrp, ldr) = (*words.get(at)?, *words.get(at + 1)?);
    let page = signed((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3, 21) << 12;
    let base = address.wrapping_add(4 * at as u64) & !0xfff;
    (ldr & 0xffc0_03ff == 0xf940_0211).then(|| {
        base.wrapping_add_signed(page)
            .wrapping_add(u64::from(ldr >> 10 & 0xfff) * 8)
    })
}
