//! What a call has said, for the next one with the same arguments.
//!
//! It is of use only for functions whose fields depend on nothing but the arguments themselves and on handles: no lists,
//! no texts, nothing behind an address.

use crate::args::{Args, PASSED};
use crate::parameters::plan::{Plan, Way};
use headwater_mpi_abi::constants::ABSENT;
use headwater_mpi_abi::{Form, Kind, MOST_FIELDS};

/// The arguments of a call, and what they say.
pub struct Memo {
    /// What was made and given up before is counted (see [`super::tables::Handles`]); 0 if there was no call yet.
    changes: u64,
    function: u16,
    wild: bool,
    arguments: [u64; PASSED],
    values: [i64; MOST_FIELDS],
}

impl Memo {
    /// No call yet.
    pub const NOTHING: Self = Self {
        changes: 0,
        function: 0,
        wild: false,
        arguments: [0; PASSED],
        values: [ABSENT; MOST_FIELDS],
    };

    /// The values of such a call, and whether it receives from whoever sends; `None` if it is another one.
    #[inline]
    pub(super) fn of(
        &self,
        function: u16,
        plan: &Plan,
        args: &Args,
        changes: u64,
    ) -> Option<(&[i64], bool)> {
        let passed = args.passed(plan.function.roles.len());
        let is_same = self.changes == changes
            && self.function == function
            && self.arguments.get(..passed.len()) == Some(passed);
        let values = self.values.get(..plan.steps.len());
        values.filter(|_| is_same).map(|values| (values, self.wild))
    }

    /// Remembers a call.
    pub(super) fn set(
        &mut self,
        function: u16,
        plan: &Plan,
        args: &Args,
        changes: u64,
        said: (&[i64; MOST_FIELDS], bool),
    ) {
        let passed = args.passed(plan.function.roles.len());
        if let Some(place) = self.arguments.get_mut(..passed.len()) {
            place.copy_from_slice(passed);
        }
        let n = plan.steps.len();
        if let (Some(place), Some(values)) = (self.values.get_mut(..n), said.0.get(..n)) {
            place.copy_from_slice(values);
        }
        (self.function, self.changes, self.wild) = (function, changes, said.1);
    }
}

/// Whether the fields of a function depend on nothing but the arguments themselves and on handles.
pub(super) fn may_be_remembered(plan: &Plan) -> bool {
    plan.function.roles.len() <= PASSED
        && !plan.completes
        && plan.steps.iter().all(|step| match step.way {
            Way::Other => match step.field.form {
                Form::Int | Form::Long | Form::OldLong => true,
                Form::Handle => step.field.kind != Kind::Request,
                _ => false,
            },
            _ => true,
        })
}
