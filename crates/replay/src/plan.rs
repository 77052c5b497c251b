//! How the arguments of a function are made, decided once for each function.

use headwater_mpi_abi::{
    Class, FUNCTIONS, Field, Form, Function, Kind, Mode, Role, fields, is_callback,
};

/// An argument that is no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// Memory for a result.
    Result,
    /// A status.
    Status,
    /// Memory that an earlier call has allocated.
    Allocated,
    /// A function that the library may call.
    Callback,
}

/// How often a buffer has as many elements as its call says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Once.
    Once,
    /// For each member that takes part.
    Members,
    /// For each member of the own group or of the other one, whichever has more.
    Larger,
    /// For each neighbour from which data come.
    Sources,
    /// For each neighbour to which they go.
    Destinations,
    /// A list has the counts, all for one buffer.
    Sum,
}

/// A buffer: positions of fields that say how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The buffer itself.
    pub field: usize,
    /// Number of elements, or the list of such numbers.
    pub count: Option<usize>,
    /// Displacements.
    pub displacements: Option<usize>,
    /// Datatype or the list of datatypes; bytes without one.
    pub datatype: Option<usize>,
    /// Number of parts.
    pub parts: Option<usize>,
    /// How often.
    pub times: Times,
    /// Bytes of memory that the library keeps, as windows and attached buffers.
    pub kept: Option<usize>,
}

/// What a flag of 1 has to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Await {
    /// Nothing.
    Nothing,
    /// Requests are done.
    Requests,
    /// A message is there.
    Message,
    /// The call says so itself.
    Itself,
}

/// A function.
#[derive(Debug)]
pub struct Plan {
    /// The function.
    pub function: &'static Function,
    /// Its fields.
    pub fields: &'static [Field],
    /// Arguments that are no fields, with their positions.
    pub others: Vec<(usize, Other)>,
    /// Its buffers.
    pub buffers: Vec<Buffer>,
    /// The field that is its communicator.
    pub comm: Option<usize>,
    /// What makes sure that it finds what it found in the recording.
    pub awaits: Await,
    /// Whether memory that is passed must stay: the call does not block.
    pub keeps: bool,
}

impl Plan {
    /// The plan of a function.
    pub fn new(id: u16) -> Option<Self> {
        let function = FUNCTIONS.get(usize::from(id))?;
        let all = fields(id);
        let free = |at: &usize| !all.iter().any(|f| usize::from(f.at) == *at);
        let others = (0..function.roles.len()).filter(free);
        let others = others.map(|at| (at, other(id, function, at))).collect();
        Some(Self {
            function,
            fields: all,
            others,
            buffers: buffers(function, all),
            comm: all.iter().position(|f| f.kind == Kind::Comm),
            awaits: awaits(function, all),
            keeps: function.mode != Mode::Blocking,
        })
    }

    /// The position of the first field of a kind.
    pub fn position(&self, kind: Kind) -> Option<usize> {
        self.fields.iter().position(|f| f.kind == kind)
    }
}

fn other(id: u16, function: &Function, at: usize) -> Other {
    match function.roles.get(at) {
        _ if is_callback(id, at) => Other::Callback,
        Some(Role::Status | Role::Statuses) => Other::Status,
        _ if function.name == "MPI_Free_mem" => Other::Allocated,
        _ => Other::Result,
    }
}

fn awaits(function: &Function, all: &[Field]) -> Await {
    let has = |kind| all.iter().any(|f| f.kind == kind && f.after);
    let name = function.name;
    if function.class == Class::Probe {
        Await::Message
    } else if function.class == Class::Test
        || name.starts_with("MPI_Request_get_status")
        || function.class.is_completing() && has(Kind::Indices)
    {
        Await::Requests
    } else if ["MPI_Win_test", "MPI_Parrived"].contains(&name) {
        Await::Itself
    } else {
        Await::Nothing
    }
}

fn buffers(function: &Function, all: &[Field]) -> Vec<Buffer> {
    let is_buffer = |f: &Field| f.form == Form::Address;
    let starts = all.iter().enumerate().filter(|(_, f)| is_buffer(f));
    starts
        .map(|(field, own)| {
            // What follows up to the next buffer; if that comes at once, the two have their length in common.
            let mut from = field + 1;
            while all.get(from).is_some_and(is_buffer) {
                from += 1;
            }
            let rest = all.get(from..).unwrap_or(&[]);
            let end = rest.iter().position(is_buffer).unwrap_or(rest.len());
            let group = rest.get(..end).unwrap_or(&[]);
            let find = |kinds: &[Kind]| {
                let at = group.iter().position(|f| kinds.contains(&f.kind));
                at.map(|at| from + at)
            };
            let named = |name: &str| {
                group
                    .iter()
                    .position(|f| f.name == name)
                    .map(|at| from + at)
            };
            let is_channel = function.class == Class::Channel;
            let count = match is_channel {
                true => named("count"),
                false => find(&[Kind::Count, Kind::Counts]),
            };
            let has_list = count
                .and_then(|c| all.get(c))
                .is_some_and(|f| f.kind.is_list());
            Buffer {
                field,
                count,
                displacements: find(&[Kind::Displacements]),
                datatype: find(&[Kind::Datatype, Kind::Datatypes]),
                parts: named("partitions").filter(|_| is_channel),
                times: times(function, own.name, has_list),
                kept: named("size"),
            }
        })
        .collect()
}

fn times(function: &Function, buffer: &str, has_list: bool) -> Times {
    let name = function.name.to_lowercase();
    let has = |part: &str| name.contains(part);
    let neighbours = has("neighbor");
    match buffer {
        _ if has_list && has("reduce_scatter") => Times::Sum,
        _ if has_list || !function.is_collective() => Times::Once,
        "sendbuf" if has("reduce_scatter_block") => Times::Larger,
        "recvbuf" if has("reduce_scatter_block") => Times::Once,
        "sendbuf" if has("alltoall") && neighbours => Times::Destinations,
        "recvbuf" if (has("alltoall") || has("gather")) && neighbours => Times::Sources,
        "sendbuf" if has("alltoall") || has("scatter") => Times::Members,
        "recvbuf" if has("alltoall") || has("gather") => Times::Members,
        _ => Times::Once,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_mpi_abi::id_of;

    fn lengths(function: &str) -> Vec<String> {
        let plan = Plan::new(id_of(function).expect("a function").0).expect("its plan");
        let name = |at: Option<usize>| at.map_or("-", |at| plan.fields[at].name);
        let of = |b: &Buffer| {
            let (count, places) = (name(b.count), name(b.displacements));
            let (datatype, times) = (name(b.datatype), b.times);
            format!("{count} {places} {datatype} {times:?}")
        };
        plan.buffers.iter().map(of).collect()
    }

    #[test]
    fn every_buffer_has_its_length() {
        for (function, expected) in [
            ("MPI_Send", &["count - datatype Once"][..]),
            ("MPI_Allreduce", &["count - datatype Once"; 2]),
            (
                "MPI_Igather",
                &["sendcount - sendtype Once", "recvcount - recvtype Members"],
            ),
            (
                "MPI_Scatterv",
                &[
                    "sendcounts displs sendtype Once",
                    "recvcount - recvtype Once",
                ],
            ),
            (
                "MPI_Alltoallw",
                &[
                    "sendcounts sdispls sendtypes Once",
                    "recvcounts rdispls recvtypes Once",
                ],
            ),
            (
                "MPI_Neighbor_alltoall",
                &[
                    "sendcount - sendtype Destinations",
                    "recvcount - recvtype Sources",
                ],
            ),
            (
                "MPI_Reduce_scatter_block",
                &["recvcount - datatype Larger", "recvcount - datatype Once"],
            ),
            ("MPI_Ireduce_scatter", &["recvcounts - datatype Sum"; 2]),
            ("MPI_Compare_and_swap", &["- - datatype Once"; 3]),
            (
                "MPI_Get_accumulate",
                &[
                    "origin_count - origin_datatype Once",
                    "result_count - result_datatype Once",
                ],
            ),
            (
                "MPI_Unpack",
                &["insize - - Once", "outcount - datatype Once"],
            ),
            ("MPI_Win_create", &["- - - Once"]),
            ("MPI_Psend_init", &["count - datatype Once"]),
        ] {
            assert_eq!(lengths(function), expected, "{function}");
        }
        let window = Plan::new(id_of("MPI_Win_create").expect("a function").0);
        assert_eq!(window.expect("its plan").buffers[0].kept, Some(1));
    }

    #[test]
    fn every_function_has_a_plan() {
        for id in 0..FUNCTIONS.len() as u16 {
            let plan = Plan::new(id).expect("a plan");
            assert!(plan.function.roles.len() <= crate::library::MOST_ARGUMENTS);
        }
        assert!(Plan::new(u16::MAX).is_none());
    }
}
