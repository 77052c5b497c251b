//! The linker's stubs: whom a call of one reaches.

use crate::arm;
use crate::decode::{Steer, decode};
use crate::elf::{Image, Machine};
use rustc_hash::FxHashMap;

/// Names of functions by the addresses of their stubs.
pub fn names<'i>(image: &'i Image<'_>) -> FxHashMap<u64, &'i str> {
    let plt = image.sections.iter().filter(|s| s.code && s.is_stubs());
    plt.flat_map(|s| (s.address..s.end()).step_by(8))
        .filter_map(|at| Some((at, name(image, at)?)))
        .collect()
}

fn name<'i>(image: &'i Image<'_>, address: u64) -> Option<&'i str> {
    let bytes = image.bytes_at(address)?;
    let bytes = bytes.get(..bytes.len().min(16))?;
    let slot = match image.machine {
        // Nothing, or a landing pad, is before the jump.
        Machine::X86 => decode(image.machine, bytes, address)
            .iter()
            .take(2)
            .find_map(|o| match o.steer {
                Steer::JumpSlot(slot) => Some(slot),
                _ => None,
            })?,
        Machine::Arm => arm::slot(bytes, address)?,
    };
    image.got.get(&slot).map(String::as_str)
}
