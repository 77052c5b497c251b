//! What a call has said, for the next one with the same arguments.
//!
//! Only functions whose fields depend on nothing but the arguments themselves and on handles are remembered by their
//! arguments: those without lists, texts, and what is behind an address. Of all others, it is of use that the values are
//! the same again: whoever has seen them needs not look at them.

use crate::args::{Args, PASSED};
use crate::parameters::plan::{Plan, Way};
use headwater_mpi_abi::constants::ABSENT;
use headwater_mpi_abi::{Form, Kind, MOST_FIELDS};

/// The arguments of a call, and what they say.
#[repr(C)]
pub struct Memo {
    /// A number that the caller has given the values; [`Memo::NONE`] since they have changed.
    pub row: u32,
    function: u16,
    fields: u8,
    wild: bool,
    /// What was made and given up before is counted (see [`super::tables::Handles`]); 0 if there was no call yet.
    changes: u64,
    arguments: [u64; PASSED],
    values: [i64; MOST_FIELDS],
}

impl Memo {
    /// Where whoever reads one as bytes finds how many values it has, in one byte, and the values.
    pub const FIELDS_AT: usize = std::mem::offset_of!(Self, fields);
    /// As above.
    pub const VALUES_AT: usize = std::mem::offset_of!(Self, values);

    /// The values have no number.
    pub const NONE: u32 = u32::MAX;

    /// No call yet.
    pub const NOTHING: Self = Self {
        changes: 0,
        function: 0,
        wild: false,
        arguments: [0; PASSED],
        fields: 0,
        values: [ABSENT; MOST_FIELDS],
        row: Self::NONE,
    };

    /// Whether it has the values of such a call, and if so, whether that receives from whoever sends.
    #[inline]
    pub(super) fn of(&self, function: u16, plan: &Plan, args: &Args, changes: u64) -> Option<bool> {
        let passed = args.passed(plan.function.roles.len());
        let is_same = self.changes == changes
            && self.function == function
            && self.arguments.get(..passed.len()) == Some(passed);
        is_same.then_some(self.wild)
    }

    /// Remembers a call of a function whose fields depend on nothing but the arguments themselves and on handles.
    pub(super) fn set(
        &mut self,
        function: u16,
        plan: &Plan,
        args: &Args,
        changes: u64,
        (values, wild): (&[i64; MOST_FIELDS], bool),
    ) {
        let passed = args.passed(plan.function.roles.len());
        if let Some(place) = self.arguments.get_mut(..passed.len()) {
            place.copy_from_slice(passed);
        }
        (self.function, self.changes, self.wild) = (function, changes, wild);
        self.fields = plan.fields as u8;
        (self.values, self.row) = (*values, Self::NONE);
    }

    /// A call of another function with so many fields begins.
    #[inline]
    pub(super) fn begin(&mut self, function: u16, fields: usize) {
        if self.changes != 0 || self.function != function {
            (self.function, self.changes, self.row) = (function, 0, Self::NONE);
            (self.fields, self.values) = (fields as u8, [ABSENT; MOST_FIELDS]);
        }
    }

    /// The value of one field.
    #[inline]
    pub(super) fn put(&mut self, field: u8, value: i64) {
        if let Some(place) = self.values.get_mut(usize::from(field))
            && *place != value
        {
            (*place, self.row) = (value, Self::NONE);
        }
    }

    /// The values of the function's fields in the last call.
    #[inline]
    pub fn values(&self) -> &[i64] {
        self.values.get(..usize::from(self.fields)).unwrap_or(&[])
    }
}

/// Whether the fields of a function depend on nothing but the arguments themselves and on handles.
pub(super) fn may_be_remembered(plan: &Plan) -> bool {
    plan.function.roles.len() <= PASSED
        && !plan.completes
        && plan.before.iter().all(|(_, step)| match step.way {
            Way::Other => match step.field.form {
                Form::Int | Form::Long | Form::OldLong => true,
                Form::Handle => step.field.kind != Kind::Request,
                _ => false,
            },
            _ => true,
        })
}
