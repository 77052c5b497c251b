//! How the fields of a function are read, decided once for each function.

use crate::parameters::memo::may_be_remembered;
use headwater_mpi_abi::{Class, FUNCTIONS, Field, Form, Function, Kind, Length, Role, fields};

/// How the value of a field is read. What most calls have has a way of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Not before the call.
    Afterwards,
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
    /// All fields.
    pub steps: Box<[Step]>,
    /// The fields that are read after the call, by their number.
    pub after: Box<[(u8, &'static Field)]>,
    /// Whether some list is as long as the communicator says, or of importance at the root alone.
    pub needs_comm: bool,
    /// The one that says whether the call has found or completed something.
    pub flag: Option<(u8, &'static Field)>,
    /// Whether the call looks for a message.
    pub probes: bool,
    /// Whether the call completes requests.
    pub completes: bool,
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
        let position = |role| function.position(role).and_then(|at| u8::try_from(at).ok());
        let mut plan = Self {
            function,
            steps: all.iter().map(Step::new).collect(),
            after: numbered().filter(|(_, f)| f.after).collect(),
            needs_comm: all.iter().any(|f| f.at_root || depends_on_comm(f.length)),
            flag: numbered().find(|(_, f)| f.kind == Kind::Flag && f.after),
            probes: function.class == Class::Probe,
            completes: function.class.is_completing(),
            is_plain: false,
            status: position(Role::Status),
            statuses: position(Role::Statuses),
        };
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
        let way = match (field.after, field.form, field.kind) {
            (true, ..) => Way::Afterwards,
            (_, Form::Address, _) => Way::Buffer,
            (_, Form::Int, Int | Count) => Way::Int,
            (_, Form::Int, Peer | Tag) => Way::MaybeWild,
            (_, Form::Handle, Comm) => Way::Comm,
            (_, Form::Handle, Datatype) => Way::Datatype,
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
