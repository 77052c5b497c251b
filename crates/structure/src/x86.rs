//! x86-64: instructions that steer, and what all do to registers as far as jump tables go.

use crate::arithmetic;
use crate::decode::{Follow, Op, Steer};
use crate::table::{Held, Place, Registers, SCRATCH, Stack};
use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

/// Decodes `code` at `address`.
pub fn decode(code: &[u8], address: u64) -> Vec<Op> {
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NO_INVALID_CHECK);
    let mut out = Vec::with_capacity(code.len() / 4);
    let mut instruction = Instruction::default();
    let mut follow = Follow::default();
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        let i = &instruction;
        follow.arrive(i.ip());
        let steer = steer(i, &mut follow.registers);
        see(&mut follow.registers, i);
        follow.leave(steer, i.ip());
        let len = i.len().max(1) as u8;
        out.push(Op {
            at: i.ip(),
            len,
            steer,
            work: arithmetic::of_x86(i.mnemonic()),
        });
    }
    out
}

fn steer(i: &Instruction, registers: &mut Registers) -> Steer {
    let slot = || {
        (i.op0_kind() == OpKind::Memory && i.is_ip_rel_memory_operand())
            .then(|| i.ip_rel_memory_address())
    };
    match i.flow_control() {
        FlowControl::Next if i.mnemonic() == Mnemonic::Hlt => Steer::Stop,
        FlowControl::UnconditionalBranch => Steer::Jump(i.near_branch_target()),
        FlowControl::ConditionalBranch => Steer::Branch(i.near_branch_target()),
        FlowControl::Call => Steer::Call(i.near_branch_target()),
        FlowControl::IndirectCall => slot().map_or(Steer::CallIndirect, Steer::CallSlot),
        FlowControl::IndirectBranch => match slot() {
            Some(slot) => Steer::JumpSlot(slot),
            None if i.op0_kind() == OpKind::Memory => {
                load(registers, i, SCRATCH, false);
                Steer::Leap(registers.leap(SCRATCH))
            }
            None => Steer::Leap(registers.leap(number(i.op0_register()).unwrap_or(SCRATCH))),
        },
        FlowControl::Return => Steer::Return,
        FlowControl::Exception => Steer::Stop,
        FlowControl::Interrupt if i.mnemonic() != Mnemonic::Int => Steer::Stop,
        _ => Steer::Next,
    }
}

/// The number of a general register, whatever part of it is named.
fn number(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

const RAX: usize = 0;
const RSP: usize = 4;
/// Registers that a call may change: rax, rcx, rdx, rsi, rdi, r8 to r11.
const LOST_IN_CALLS: [usize; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];

/// What an instruction does to the registers.
fn see(registers: &mut Registers, i: &Instruction) {
    let mnemonic = i.mnemonic();
    let target = (i.op_count() > 0 && i.op0_kind() == OpKind::Register)
        .then(|| number(i.op0_register()))
        .flatten();
    let source = (i.op_count() > 1 && i.op1_kind() == OpKind::Register)
        .then(|| number(i.op1_register()))
        .flatten();
    if let Some(stack) = stack(mnemonic, target) {
        registers.stack = stack;
    }
    match (mnemonic, target) {
        (Mnemonic::Cmp, _) => compare(registers, i, target),
        (Mnemonic::Call, _) => registers.forget(LOST_IN_CALLS),
        // What an epilogue takes back, code behind it never sees.
        (Mnemonic::Test | Mnemonic::Push | Mnemonic::Pop | Mnemonic::Nop, _) => {}
        (Mnemonic::Cdqe, _) => registers.extend(RAX),
        (Mnemonic::Lea, Some(d)) => lea(registers, i, d),
        (Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd, Some(d)) => {
            let signed = matches!(mnemonic, Mnemonic::Movsx | Mnemonic::Movsxd);
            match (i.op1_kind(), source) {
                (OpKind::Memory, _) => load(registers, i, d, signed),
                (_, Some(n)) => {
                    registers.add(d, n, 0);
                    if signed {
                        registers.extend(d);
                    }
                }
                _ => registers.set(d, immediate(i).map_or(Held::Unknown, Held::Address)),
            }
        }
        (Mnemonic::Add, Some(d)) => match (source, immediate(i)) {
            (Some(m), _) => registers.sum(d, d, m, 0),
            (None, Some(distance)) => registers.add(d, d, distance),
            _ => registers.forget([d]),
        },
        (Mnemonic::And, Some(d)) => {
            let most = immediate(i).filter(|m| *m < 1 << 12);
            registers.set(d, most.map_or(Held::Unknown, |m| Held::Below(m as u32 + 1)));
        }
        (_, Some(d)) => registers.forget([d]),
        _ => match i.condition_code() {
            ConditionCode::a | ConditionCode::be => registers.bound(Some(true)),
            ConditionCode::ae | ConditionCode::b => registers.bound(Some(false)),
            ConditionCode::None => {}
            _ => registers.bound(None),
        },
    }
}

fn stack(mnemonic: Mnemonic, target: Option<usize>) -> Option<Stack> {
    match mnemonic {
        Mnemonic::Push => Some(Stack::Grown),
        Mnemonic::Pop | Mnemonic::Leave => Some(Stack::Restored),
        Mnemonic::Sub if target == Some(RSP) => Some(Stack::Grown),
        Mnemonic::Add | Mnemonic::Lea | Mnemonic::Mov if target == Some(RSP) => {
            Some(Stack::Restored)
        }
        _ => None,
    }
}

fn immediate(i: &Instruction) -> Option<u64> {
    use OpKind::*;
    let kind = i.op1_kind();
    matches!(
        kind,
        Immediate8
            | Immediate16
            | Immediate32
            | Immediate64
            | Immediate8to16
            | Immediate8to32
            | Immediate8to64
            | Immediate32to64
    )
    .then(|| i.immediate(1))
}

/// The memory that an instruction names, where it is a fixed distance from a register.
fn place(i: &Instruction) -> Option<Place> {
    (i.memory_index() == Register::None)
        .then(|| number(i.memory_base()))
        .flatten()
        .map(|base| Place::Memory(base, i.memory_displacement64()))
}

fn compare(registers: &mut Registers, i: &Instruction, target: Option<usize>) {
    let what = match target {
        Some(r) => Some(Place::Register(r)),
        None if i.op0_kind() == OpKind::Memory => place(i),
        None => None,
    };
    if let (Some(place), Some(with)) = (what, immediate(i)) {
        registers.compare(place, with);
    }
}

fn lea(registers: &mut Registers, i: &Instruction, d: usize) {
    let (base, index) = (number(i.memory_base()), number(i.memory_index()));
    match (base, index) {
        _ if i.is_ip_rel_memory_operand() => {
            registers.set(d, Held::Address(i.ip_rel_memory_address()));
        }
        (Some(n), None) => registers.add(d, n, i.memory_displacement64()),
        // An index made into a distance.
        (None, Some(m)) => registers.add(d, m, i.memory_displacement64()),
        (Some(n), Some(m)) if i.memory_displacement64() == 0 && i.memory_index_scale() == 1 => {
            registers.sum(d, n, m, 0);
        }
        _ => registers.forget([d]),
    }
}

/// `d` is loaded from memory: from a table where there is an index, else perhaps from a place that was
/// compared.
fn load(registers: &mut Registers, i: &Instruction, d: usize, signed: bool) {
    let (base, index) = (number(i.memory_base()), number(i.memory_index()));
    let distance = i.memory_displacement64();
    let at = |found: Option<(u64, bool)>| found.map(|(a, guess)| (a.wrapping_add(distance), guess));
    let (table, index) = match (base, index) {
        (Some(n), Some(m)) => {
            let plain = i.memory_index_scale() == 1;
            let swapped = plain && matches!(registers.get(m), Held::Address(_));
            let (n, m) = if swapped { (m, n) } else { (n, m) };
            (at(registers.address(n)), registers.get(m))
        }
        (None, Some(m)) => (Some((distance, false)), registers.get(m)),
        _ => {
            match place(i) {
                Some(place) => registers.load(d, place),
                None => registers.forget([d]),
            }
            return;
        }
    };
    let size = i.memory_size().size() as u8;
    registers.entry(d, table, index, size, signed);
}

/// Bytes of an instruction that only fills room, at the beginning of `bytes`; else 0.
pub fn padding(bytes: &[u8]) -> usize {
    let i = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
    let fills = matches!(i.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
    // Exchanging a register with itself is the old way.
    let same = i.mnemonic() == Mnemonic::Xchg && i.op0_register() == i.op1_register();
    if fills || same && i.op1_kind() == OpKind::Register {
        i.len()
    } else {
        0
    }
}
