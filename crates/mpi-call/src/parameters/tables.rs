//! What a process knows about its handles.
//!
//! The threads of a process share it. As for messages, a lock protects it only if they may call MPI at the same time.

use crate::library::{Conversion, Library};
use crate::messages::{Exclusive, Shared};
use crate::parameters::communicators::About;
use crate::parameters::plan::Plan;
use crate::parameters::table::Table;
use headwater_mpi_abi::constants::{NULL, UNKNOWN};
use headwater_mpi_abi::{FIRST_MADE, FIRST_MADE_COMM, Family, Kind, Native, PREDEFINED};

/// What is known about a request.
#[derive(Clone, Copy, Default)]
pub struct Posted {
    /// Whether it can be started again.
    pub persistent: bool,
    /// Whether it receives from whoever sends, or with any tag.
    pub wild: bool,
}

/// The handles of a process.
pub struct Handles {
    pub comms: Table<About>,
    pub requests: Table<Posted>,
    /// Number of the next communicator.
    pub next_comm: i64,
    pub datatypes: Table<()>,
    ops: Table<()>,
    groups: Table<()>,
    windows: Table<()>,
    files: Table<()>,
    infos: Table<()>,
    errhandlers: Table<()>,
    messages: Table<()>,
    sessions: Table<()>,
    /// How many handles but requests were made or given up, and one more.
    pub changes: u64,
}

impl Handles {
    fn none() -> Self {
        Self {
            comms: Table::new(FIRST_MADE_COMM),
            requests: Table::new(0),
            next_comm: FIRST_MADE_COMM,
            datatypes: Table::new(FIRST_MADE),
            ops: Table::new(FIRST_MADE),
            groups: Table::new(FIRST_MADE),
            windows: Table::new(0),
            files: Table::new(0),
            infos: Table::new(FIRST_MADE),
            errhandlers: Table::new(FIRST_MADE),
            messages: Table::new(0),
            sessions: Table::new(0),
            changes: 1,
        }
    }

    /// The table of a kind of handle about which nothing more is known.
    pub fn plain(&mut self, kind: Kind) -> Option<&mut Table<()>> {
        Some(match kind.handle() {
            Kind::Datatype | Kind::Datatypes => &mut self.datatypes,
            Kind::Op => &mut self.ops,
            Kind::Group => &mut self.groups,
            Kind::Window => &mut self.windows,
            Kind::File => &mut self.files,
            Kind::Info => &mut self.infos,
            Kind::Errhandler => &mut self.errhandlers,
            Kind::Message => &mut self.messages,
            Kind::Session => &mut self.sessions,
            _ => return None,
        })
    }

    /// The number of a handle that exists.
    #[inline]
    pub fn number(&mut self, kind: Kind, handle: u64) -> i64 {
        match kind {
            Kind::Datatype => self.datatypes.number(handle),
            Kind::Comm => self.comms.number(handle),
            Kind::Op => self.ops.number(handle),
            Kind::Request => self.requests.number(handle),
            _ => self.plain(kind).map_or(UNKNOWN, |t| t.number(handle)),
        }
    }

    /// The number of a handle that the call gives up.
    pub fn free(&mut self, kind: Kind, handle: u64) -> i64 {
        self.changes += 1;
        match kind.handle() {
            Kind::Comm => self.comms.free(handle),
            _ => self.plain(kind).map_or(UNKNOWN, |t| t.free(handle)),
        }
    }

    fn fix(&mut self, kind: Kind, handle: u64, number: i64) {
        match kind {
            Kind::Comm => self.comms.fix(handle, number),
            Kind::Request => self.requests.fix(handle, number),
            _ => {
                if let Some(table) = self.plain(kind) {
                    table.fix(handle, number);
                }
            }
        }
    }

    fn lost(&self) -> bool {
        let plain = [
            &self.datatypes,
            &self.ops,
            &self.groups,
            &self.windows,
            &self.files,
            &self.infos,
            &self.errhandlers,
            &self.messages,
            &self.sessions,
        ];
        self.comms.lost || self.requests.lost || plain.iter().any(|t| t.lost)
    }
}

/// The handles of a process, and what differs between libraries.
pub struct Tables {
    /// The library.
    pub(super) library: &'static Library,
    /// About the world and the process itself.
    pub(super) world: About,
    pub(super) alone: About,
    op: Conversion,
    info: Conversion,
    errhandler: Conversion,
    file: Conversion,
    /// The library's function that counts the bytes of a message, and whether it writes 64 bits; 0 for none.
    pub(super) count_bytes: (usize, bool),
    /// Addresses of Fortran's `MPI_BOTTOM`.
    pub(super) fortran_bottom: [u64; 2],
    plans: Vec<Plan>,
    handles: Shared<Handles>,
}

impl Tables {
    /// What is known when rank `rank` of `size` begins; `threaded` says whether threads may call MPI at the same time.
    /// `symbol` returns the address that the program sees for a variable of the library, 0 for none. The program may
    /// have a copy of its own, so [`Library::find`], which knows the library's functions, is not enough.
    pub fn new(
        library: &'static Library,
        rank: u32,
        size: u32,
        threaded: bool,
        symbol: &dyn Fn(&str) -> u64,
    ) -> Self {
        let conversion = |name: &str, bytes| {
            let ending = match library.abi.family {
                Family::Standard => "fromint",
                _ => "f2c",
            };
            let function = (library.find)(&format!("MPI_{name}_{ending}"));
            // SAFETY: the library's conversion takes an int and returns a handle. There may be none.
            unsafe { Conversion::new(function, bytes) }
        };
        let bytes = library.abi.handle_bytes;
        let wide = (library.find)("MPI_Get_elements_x");
        let count_bytes = match wide {
            0 => ((library.find)("MPI_Get_count"), false),
            wide => (wide, true),
        };
        Self {
            library,
            world: About::members(rank, size),
            alone: About::members(0, 1),
            op: conversion("Op", bytes),
            info: conversion("Info", bytes),
            errhandler: conversion("Errhandler", bytes),
            // A file's handle is an address in every library.
            file: conversion("File", 8),
            count_bytes,
            fortran_bottom: ["mpi_fortran_bottom_", "mpi_fortran_bottom"].map(symbol),
            plans: Plan::all(),
            handles: Shared::new(predefined(library, symbol), threaded),
        }
    }

    /// The handles, for the calling thread alone. A thread that holds them must not ask for them again.
    #[inline]
    pub(super) fn handles(&self) -> Exclusive<'_, Handles> {
        self.handles.lock()
    }

    /// How many handles but requests were made or given up, and one more.
    #[inline]
    pub(super) fn changes(&self) -> u64 {
        self.handles().changes
    }

    /// How the fields of a function are read.
    #[inline]
    pub(super) fn plan(&self, function: u16) -> Option<&Plan> {
        self.plans.get(usize::from(function))
    }

    /// Whether there were more handles of some kind than have numbers.
    pub fn lost(&self) -> bool {
        self.handles().lost()
    }

    /// How handles of a kind are passed.
    #[inline]
    pub(super) fn conversion(&self, kind: Kind) -> &Conversion {
        match kind.handle() {
            Kind::Comm => &self.library.comm,
            Kind::Request | Kind::Requests => &self.library.request,
            Kind::Op => &self.op,
            Kind::Group => &self.library.group,
            Kind::Window => &self.library.win,
            Kind::File => &self.file,
            Kind::Info => &self.info,
            Kind::Errhandler => &self.errhandler,
            Kind::Message => &self.library.message,
            Kind::Session => &self.library.session,
            _ => &self.library.datatype,
        }
    }
}

/// The handles that a library has predefined.
fn predefined(library: &Library, symbol: &dyn Fn(&str) -> u64) -> Handles {
    let mut all = Handles::none();
    for known in &PREDEFINED {
        let handle = match known.native(library.abi.family) {
            Some(Native::Value(value)) => value,
            Some(Native::Symbol(name)) => symbol(name),
            None => 0,
        };
        all.fix(known.kind, handle, known.number);
    }
    // Where the library's own are known otherwise.
    let byte = PREDEFINED.iter().find(|p| p.name == "MPI_BYTE");
    all.fix(
        Kind::Datatype,
        library.byte,
        byte.map_or(NULL, |b| b.number),
    );
    all.fix(Kind::Comm, library.world, 0);
    all.fix(Kind::Comm, library.comm_null, NULL);
    all
}
