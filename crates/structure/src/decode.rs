//! Instructions as far as they steer the flow of control, and what they calculate.

use crate::arithmetic::Work;
use crate::elf::Machine;
use crate::table::{Leap, Registers, Stack};
use rustc_hash::FxHashMap;

/// What an instruction does to the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// Goes on to the next.
    Next,
    /// Jumps.
    Jump(u64),
    /// Jumps or goes on.
    Branch(u64),
    /// Jumps to what a register or indexed memory holds.
    Leap(Leap),
    /// Jumps to what a slot in memory holds.
    JumpSlot(u64),
    /// Calls a function.
    Call(u64),
    /// Calls what a slot in memory holds.
    CallSlot(u64),
    /// Calls what a register or memory holds.
    CallIndirect,
    /// Returns.
    Return,
    /// Stops the program.
    Stop,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Address.
    pub at: u64,
    /// Bytes.
    pub len: u8,
    /// Effect.
    pub steer: Steer,
    /// What it calculates.
    pub work: Work,
}

impl Op {
    /// First address behind it.
    pub fn end(&self) -> u64 {
        self.at.wrapping_add(u64::from(self.len))
    }
}

/// Decodes `code` at `address` from the first to the last byte.
pub fn decode(machine: Machine, code: &[u8], address: u64) -> Vec<Op> {
    match machine {
        Machine::X86 => crate::x86::decode(code, address),
        Machine::Arm => crate::arm::decode(code, address),
    }
}

/// What is before an instruction.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Behind {
    #[default]
    Other,
    /// Perhaps one that does not come back.
    Call,
    Jump,
}

/// Registers followed through code whose instructions follow one another, though the flow jumps:
/// behind a jump, or a call that may not come back, the
/// stack is as it was where a jump to there came from.
#[derive(Default)]
pub struct Follow {
    /// What they hold.
    pub registers: Registers,
    stacks: FxHashMap<u64, Stack>,
    behind: Behind,
}

impl Follow {
    /// Before the instruction at `at`.
    pub fn arrive(&mut self, at: u64) {
        if self.behind == Behind::Other {
            return;
        }
        let known = self.stacks.get(&at).copied();
        let stack = &mut self.registers.stack;
        *stack = known.unwrap_or(match (&stack, self.behind) {
            (Stack::Restored, Behind::Jump) => Stack::Grown,
            _ => *stack,
        });
    }

    /// Behind an instruction at `at` that steers so.
    pub fn leave(&mut self, steer: Steer, at: u64) {
        if let Steer::Jump(to) | Steer::Branch(to) = steer
            && to > at
        {
            self.stacks.entry(to).or_insert(self.registers.stack);
        }
        // Behind a call the frame is there, though what the call was handed is off the stack again.
        if matches!(
            steer,
            Steer::Call(_) | Steer::CallSlot(_) | Steer::CallIndirect
        ) && self.registers.stack == Stack::Restored
        {
            self.registers.stack = Stack::Grown;
        }
        self.behind = match steer {
            Steer::Next | Steer::Branch(_) => Behind::Other,
            Steer::Call(_) | Steer::CallSlot(_) | Steer::CallIndirect => Behind::Call,
            _ => Behind::Jump,
        };
    }
}
