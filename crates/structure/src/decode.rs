//! Instructions as far as they steer the flow of control.

use crate::elf::Machine;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// What an instruction does to the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// Goes on to the next.
    Next,
    /// Jumps.
    Jump(u64),
    /// Jumps or goes on.
    Branch(u64),
    /// Jumps to what a register holds, perhaps read from a table.
    Indirect(Table),
    /// Jumps to what a slot in memory holds.
    JumpSlot(u64),
    /// Calls a function.
    Call(u64),
    /// Calls what a slot in memory holds.
    CallSlot(u64),
    /// Calls what a register or memory holds.
    CallIndirect,
    /// Returns or stops.
    End,
}

/// A jump table, as far as the code around the jump tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Table {
    /// Where it is; 0 where unknown.
    pub at: u64,
    /// What its distances count from.
    pub base: u64,
    /// Bytes of an entry: 8 for addresses, fewer for distances.
    pub entry: u8,
    /// Distances are multiples of two to this power.
    pub shift: u8,
    /// Whether distances have a sign.
    pub signed: bool,
    /// Entries, where a comparison bounds them.
    pub entries: Option<u32>,
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
}

/// Decodes `code` at `address` from the first to the last byte.
pub fn decode(machine: Machine, code: &[u8], address: u64) -> Vec<Op> {
    match machine {
        Machine::X86 => x86(code, address),
        Machine::Arm => arm(code, address),
    }
}

fn x86(code: &[u8], address: u64) -> Vec<Op> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NO_INVALID_CHECK);
    let mut out = Vec::with_capacity(code.len() / 4);
    let mut instruction = Instruction::default();
    let mut hints = Hints::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let i = &instruction;
        let slot = || {
            (i.op0_kind() == OpKind::Memory && i.is_ip_rel_memory_operand())
                .then(|| i.ip_rel_memory_address())
        };
        let steer = match i.flow_control() {
            FlowControl::UnconditionalBranch => Steer::Jump(i.near_branch_target()),
            FlowControl::ConditionalBranch => Steer::Branch(i.near_branch_target()),
            FlowControl::Call => Steer::Call(i.near_branch_target()),
            FlowControl::IndirectCall => slot().map_or(Steer::CallIndirect, Steer::CallSlot),
            FlowControl::IndirectBranch => {
                slot().map_or_else(|| Steer::Indirect(hints.table(i)), Steer::JumpSlot)
            }
            FlowControl::Return | FlowControl::Exception => Steer::End,
            FlowControl::Interrupt if i.mnemonic() != Mnemonic::Int => Steer::End,
            _ => Steer::Next,
        };
        hints.see(i);
        if i.mnemonic() == Mnemonic::Hlt {
            out.push(Op {
                at: i.ip(),
                len: i.len() as u8,
                steer: Steer::End,
            });
        } else {
            out.push(Op {
                at: i.ip(),
                len: i.len().max(1) as u8,
                steer,
            });
        }
    }
    out
}

/// What the instructions before an indirect jump say of its table.
#[derive(Default)]
struct Hints {
    table: u64,
    table_seen: u64,
    bound: u64,
    bound_seen: u64,
    now: u64,
}

impl Hints {
    fn see(&mut self, i: &Instruction) {
        self.now += 1;
        match i.mnemonic() {
            Mnemonic::Lea if i.is_ip_rel_memory_operand() => {
                (self.table, self.table_seen) = (i.ip_rel_memory_address(), self.now)
            }
            Mnemonic::Cmp
                if matches!(
                    i.op1_kind(),
                    OpKind::Immediate8
                        | OpKind::Immediate8to32
                        | OpKind::Immediate8to64
                        | OpKind::Immediate32
                        | OpKind::Immediate32to64
                        | OpKind::Immediate16
                        | OpKind::Immediate8to16
                ) =>
            {
                (self.bound, self.bound_seen) = (i.immediate(1), self.now);
            }
            _ => {}
        }
    }

    fn table(&self, i: &Instruction) -> Table {
        const NEAR: u64 = 24;
        let bound =
            (self.now < self.bound_seen + NEAR && self.bound_seen > 0).then_some(self.bound);
        let entries = bound
            .and_then(|b| u32::try_from(b).ok())
            .and_then(|b| b.checked_add(1))
            .filter(|n| *n <= 4096);
        let absolute = i.op0_kind() == OpKind::Memory
            && i.memory_base() == Register::None
            && i.memory_index_scale() == 8;
        if absolute {
            return Table {
                at: i.memory_displacement64(),
                entry: 8,
                entries,
                ..Table::default()
            };
        }
        let near = self.table_seen > 0 && self.now < self.table_seen + NEAR;
        let at = if near { self.table } else { 0 };
        Table {
            at,
            base: at,
            entry: 4,
            shift: 0,
            signed: true,
            entries,
        }
    }
}

fn arm(code: &[u8], address: u64) -> Vec<Op> {
    let words = code
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
    let mut hints = crate::arm_table::Hints::default();
    words
        .zip((address..).step_by(4))
        .map(|(w, at)| {
            let to = |distance: i64| at.wrapping_add_signed(distance);
            let steer = match w {
                _ if w >> 26 == 0b000101 => Steer::Jump(to(signed(w & 0x3ff_ffff, 26) * 4)),
                _ if w >> 26 == 0b100101 => Steer::Call(to(signed(w & 0x3ff_ffff, 26) * 4)),
                _ if w >> 24 == 0x54 => Steer::Branch(to(signed(w >> 5 & 0x7_ffff, 19) * 4)),
                // cbz, cbnz; tbz, tbnz
                _ if w >> 25 & 0x3f == 0b011010 => {
                    Steer::Branch(to(signed(w >> 5 & 0x7_ffff, 19) * 4))
                }
                _ if w >> 25 & 0x3f == 0b011011 => {
                    Steer::Branch(to(signed(w >> 5 & 0x3fff, 14) * 4))
                }
                _ if w & 0xffff_fc1f == 0xd61f_0000 => Steer::Indirect(hints.table(w)),
                _ if w & 0xffff_fc1f == 0xd63f_0000 => Steer::CallIndirect,
                _ if w & 0xffff_fc1f == 0xd65f_0000
                    || w & 0xffe0_001f == 0xd420_0000
                    || w >> 16 == 0 =>
                {
                    Steer::End
                }
                _ => Steer::Next,
            };
            hints.see(w, at);
            Op { at, len: 4, steer }
        })
        .collect()
}

/// The lowest `bits` of `value` as a number with a sign.
pub fn signed(value: u32, bits: u32) -> i64 {
    i64::from((value << (32 - bits)) as i32 >> (32 - bits))
}
