//! What the values of a signature's events are: positions of fields, found once for each signature.

use headwater_mpi_abi::constants::ABSENT;
use headwater_mpi_abi::{Class, FUNCTIONS, Kind, Mode, fields, id_of};
use headwater_simulate as simulate;

/// The fields of a function.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Name of the function.
    pub name: &'static str,
    pub class: Class,
    pub mode: Mode,
    fields: Vec<(&'static str, Kind)>,
    pub comm: Option<usize>,
    pub peers: [Option<usize>; 2],
    pub tags: [Option<usize>; 2],
    pub counts: [Option<usize>; 2],
    pub types: [Option<usize>; 2],
    pub request: Option<usize>,
    pub requests: Option<usize>,
    pub status_source: Option<usize>,
    pub status_tag: Option<usize>,
    pub flag: Option<usize>,
    /// Of a call that sends: when it ends.
    pub sends: simulate::Mode,
    /// Whether it makes a datatype or a group.
    pub makes_type: bool,
    pub makes_group: bool,
}

impl Shape {
    /// The shape of a function; `None` of one that this version does not know.
    pub fn of(function: &str) -> Option<Self> {
        let id = id_of(function)?;
        let known = FUNCTIONS.get(usize::from(id.0))?;
        let fields: Vec<_> = fields(id.0).iter().map(|f| (f.name, f.kind)).collect();
        let nth = |wanted: &[Kind], n: usize| {
            let mut all = fields.iter().enumerate();
            let found = all.by_ref().filter(|(_, (_, k))| wanted.contains(k));
            found.map(|(i, _)| i).nth(n)
        };
        let two = |wanted: &[Kind]| [nth(wanted, 0), nth(wanted, 1)];
        Some(Self {
            name: known.name,
            class: known.class,
            mode: known.mode,
            comm: nth(&[Kind::Comm], 0),
            peers: two(&[Kind::Peer, Kind::Root]),
            tags: two(&[Kind::Tag]),
            counts: two(&[Kind::Count, Kind::Counts]),
            types: two(&[Kind::Datatype, Kind::Datatypes]),
            request: nth(&[Kind::NewRequest, Kind::Request], 0),
            requests: nth(&[Kind::Requests], 0),
            status_source: nth(&[Kind::StatusSource, Kind::StatusSources], 0),
            status_tag: nth(&[Kind::StatusTag, Kind::StatusTags], 0),
            flag: nth(&[Kind::Flag], 0),
            sends: match known.name {
                n if n.contains("Ssend") || n.contains("Issend") => simulate::Mode::Synchronous,
                n if n.contains("Bsend") || n.contains("Ibsend") => simulate::Mode::Eager,
                _ => simulate::Mode::Standard,
            },
            makes_type: nth(&[Kind::NewDatatype], 0).is_some(),
            makes_group: nth(&[Kind::NewGroup], 0).is_some(),
            fields,
        })
    }

    /// The position of the first field of a kind.
    pub fn at(&self, kind: Kind) -> Option<usize> {
        self.fields.iter().position(|(_, k)| *k == kind)
    }

    /// The position of a field by name.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|(n, _)| *n == name)
    }
}

/// The value at a position that may be missing.
pub fn value(values: &[i64], at: Option<usize>) -> i64 {
    at.and_then(|at| values.get(at)).copied().unwrap_or(ABSENT)
}
