//! Memory for the buffers of a call: as long as its counts and datatypes say.

use super::{Player, Shared};
use crate::library::address;
use crate::memory::touched;
use crate::plan::{Buffer, Plan, Times};
use crate::resolve::Value;
use crate::sizes::{Extent, Range};
use headwater_mpi_abi::constants::{ABSENT, NULL, buffer};
use headwater_mpi_abi::{Class, Family, Field, Kind};

/// An `int` has to hold the size of a buffer.
const MOST_ATTACHED: i64 = i32::MAX as i64;

/// Whether a field is the size of a buffer for sends.
pub(super) fn is_buffer_size(plan: &Plan, field: &Field) -> bool {
    let names = [
        "MPI_Buffer_attach",
        "MPI_Comm_attach_buffer",
        "MPI_Session_attach_buffer",
    ];
    field.name == "size" && names.iter().any(|n| plan.function.name.starts_with(n))
}

impl Player<'_> {
    /// The address of a buffer, the `which`-th one of its function.
    pub(super) fn buffer(
        &mut self,
        shared: &mut Shared,
        plan: &Plan,
        which: usize,
        own: &Buffer,
        values: &[Value],
    ) -> Option<u64> {
        let marker = values.get(own.field).map_or(ABSENT, Value::number);
        if marker == buffer::IN_PLACE {
            return Some(self.mpi.abi.in_place);
        }
        if marker == ABSENT {
            return Some(0);
        }
        if let Some(size) = own.kept.and_then(|i| values.get(i)) {
            if marker == buffer::BOTTOM {
                return Some(0);
            }
            let attached = plan.function.class != Class::WinCreate;
            let size = match attached {
                true => self.attached_size(size.number()),
                false => size.number(),
            };
            let bytes = usize::try_from(size).unwrap_or(0);
            let Some(mut memory) = touched(bytes / 8 + 8) else {
                return self.lacks(plan, bytes);
            };
            let place = address(&mut memory);
            match attached {
                true => shared.attached.push(memory),
                false => self.window = Some(memory),
            }
            return Some(place);
        }
        let range = self.range(shared, plan, own, values)?;
        let bytes = range.bytes();
        if bytes == 0 && marker == buffer::BOTTOM {
            return Some(0);
        }
        // One region for what is sent and another for what is received.
        let receives = plan.buffers.len() == 1
            && (matches!(
                plan.function.class,
                Class::Recv | Class::FileAll | Class::File
            ) || plan.function.name.contains("get"));
        let region = self
            .regions
            .get_mut(which.min(2).max(usize::from(receives)))?;
        let place = region.at_least(bytes);
        if place == 0 {
            return self.lacks(plan, bytes);
        }
        Some(place.wrapping_add_signed(-range.low))
    }

    /// Which memory a buffer has.
    fn range(
        &self,
        shared: &mut Shared,
        plan: &Plan,
        own: &Buffer,
        values: &[Value],
    ) -> Option<Range> {
        let at = |i: Option<usize>| i.and_then(|i| values.get(i));
        let mut range = Range::default();
        let count = match (own.count, at(own.count)) {
            (None, _) if own.datatype.is_none() => return Some(range),
            (None, _) => &Value::Number(1),
            (_, Some(count)) => count,
            _ => return Some(range),
        };
        let datatypes = at(own.datatype);
        let mut extent = |number: i64| -> Option<Extent> {
            if number == ABSENT || number == NULL {
                return Some(Extent::BYTES);
            }
            let handle = shared.handles.get(Kind::Datatype, number)?;
            Some(shared.sizes.extent(self.mpi, number, handle))
        };
        let of = match datatypes {
            None => Extent::BYTES,
            Some(Value::Number(number)) if count.number() != ABSENT || count.list().is_some() => {
                extent(*number)?
            }
            Some(_) => Extent::BYTES,
        };
        if let Some(counts) = count.list() {
            if own.times == Times::Sum {
                range.add(0, counts.iter().sum(), of);
                return Some(range);
            }
            let places = at(own.displacements).and_then(Value::list).unwrap_or(&[]);
            let datatypes = datatypes.and_then(Value::list);
            for (i, count) in counts.iter().enumerate() {
                let place = places.get(i).copied().unwrap_or(0);
                match datatypes.and_then(|d| d.get(i)) {
                    // Here, displacements are bytes.
                    Some(datatype) if *count > 0 => range.add(place, *count, extent(*datatype)?),
                    Some(_) => {}
                    None => range.add(place.saturating_mul(of.step), *count, of),
                }
            }
            return Some(range);
        }
        let parts = at(own.parts).map_or(1, Value::number);
        let times = self.times(shared, plan, own.times, values)?;
        let count = count.number().max(0);
        range.add(0, count.saturating_mul(parts).saturating_mul(times), of);
        Some(range)
    }

    fn times(
        &self,
        shared: &mut Shared,
        plan: &Plan,
        times: Times,
        values: &[Value],
    ) -> Option<i64> {
        if matches!(times, Times::Once | Times::Sum) {
            return Some(1);
        }
        let number = values.get(plan.comm?)?.number();
        let handle = shared.handles.get(Kind::Comm, number)?;
        let members = shared.sizes.members(self.mpi, number, handle);
        Some(i64::from(match times {
            Times::Larger => members.own.max(members.all),
            Times::Sources => members.sources,
            Times::Destinations => members.destinations,
            _ => members.all,
        }))
    }

    /// Bytes of a buffer for sends. What libraries need for each message beyond its data (`MPI_BSEND_OVERHEAD`) is some 100
    /// bytes, and 512 by the standard ABI.
    pub(super) fn attached_size(&self, recorded: i64) -> i64 {
        match self.mpi.abi.family {
            Family::Standard => recorded
                .saturating_mul(6)
                .saturating_add(512)
                .min(MOST_ATTACHED),
            _ => recorded,
        }
    }
}
