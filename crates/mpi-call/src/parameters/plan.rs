//! How the fields of a function are read, decided once for each function.

use crate::parameters::memo::may_be_remembered;
use headwater_mpi_abi::{Class, FUNCTIONS, Field, Form, Function, Kind, Length, Role, fields};

/// How the value of a field is read. What most calls have has a way of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Kind of a buffer.
    Buffer,
    /// `int` as it is.
    Int,
    /// `int` that may be a wildcard.
    MaybeWild,
    /// Communicator.
    Comm,
    /// Datatype.
    Datatype,
    /// As the field says.
    Other,
}

/// A field, and how it is read.
pub struct Step {
    pub field: &'static Field,
    pub way: Way,
    /// Whether it has no meaning if data are in place.
    pub about_data: bool,
}

/// The fields of a function.
pub struct Plan {
    pub function: &'static Function,
    /// How many fields it has.
    pub fields: usize,
    /// The fields that are read before the call, by their number.
    pub before: Box<[(u8, Step)]>,
    /// The fields that are read after the call, by their number.
    pub after: Box<[(u8, &'static Field)]>,
    /// Whether some list is as long as the communicator says, or of importance at the root alone.
    pub needs_comm: bool,
    /// The one that says whether the call has found or completed something.
    pub flag: Option<(u8, &'static Field)>,
    /// If nothing but a new request is read after the call: its number, and the argument that points to it.
    pub only_request: Option<(u8, u8)>,
    /// Whether nothing but statuses is read after the call.
    pub only_statuses: bool,
    /// Whether the call looks for a message.
    pub probes: bool,
    /// Whether the call completes requests.
    pub completes: bool,
    /// Where the number of completed requests and their indices are, and the index of the only one.
    pub indices: Option<(u8, u8)>,
    pub index: Option<u8>,
    /// Whether the fields depend on the arguments themselves and on handles only.
    pub is_plain: bool,
    /// Where the status and the statuses are.
    pub status: Option<u8>,
    pub statuses: Option<u8>,
}

impl Plan {
    fn new(id: u16, function: &'static Function) -> Self {
        let all = fields(id);
        let numbered = || (0u8..).zip(all.iter());
        let after = |kind| all.iter().find(|f| f.after && f.kind == kind).map(|f| f.at);
        let position = |role| function.position(role).and_then(|at| u8::try_from(at).ok());
        let mut plan = Self {
            function,
            fields: all.len(),
            before: numbered()
                .filter(|(_, f)| !f.after)
                .map(|(i, f)| (i, Step::new(f)))
                .collect(),
            after: numbered().filter(|(_, f)| f.after).collect(),
            needs_comm: all.iter().any(|f| f.at_root || depends_on_comm(f.length)),
            flag: numbered().find(|(_, f)| f.kind == Kind::Flag && f.after),
            only_request: None,
            only_statuses: all.iter().all(|f| !f.after || f.form == Form::Status),
            probes: function.class == Class::Probe,
            completes: function.class.is_completing(),
            indices: after(Kind::Outcount).zip(after(Kind::Indices)),
            index: after(Kind::Index),
            is_plain: false,
            status: position(Role::Status),
            statuses: position(Role::Statuses),
        };
        if let [(i, field)] = &*plan.after
            && (field.form, field.kind) == (Form::Pointed, Kind::NewRequest)
        {
            plan.only_request = Some((*i, field.at));
        }
        plan.is_plain = may_be_remembered(&plan);
        plan
    }

    /// The plans of all functions.
    pub fn all() -> Vec<Self> {
        let numbered = (0u16..).zip(&FUNCTIONS);
        numbered.map(|(id, f)| Self::new(id, f)).collect()
    }
}

impl Step {
    fn new(field: &'static Field) -> Self {
        use Kind::*;
        let way = match (field.form, field.kind) {
            (Form::Address, _) => Way::Buffer,
            (Form::Int, Int | Count) => Way::Int,
            (Form::Int, Peer | Tag) => Way::MaybeWild,
            (Form::Handle, Comm) => Way::Comm,
            (Form::Handle, Datatype) => Way::Datatype,
            _ => Way::Other,
        };
        Self {
            field,
            way,
            about_data: matches!(
                field.kind,
                Count | Counts | Displacements | Datatype | Datatypes
            ),
        }
    }
}

fn depends_on_comm(length: Length) -> bool {
    use Length::*;
    matches!(
        length,
        Members | OwnGroup | Sources | Destinations | Dimensions
    )
}
