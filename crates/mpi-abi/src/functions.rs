//! The table of MPI functions, generated from `functions.txt`.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Index into [`FUNCTIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FuncId(pub u16);

/// What kind of call a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Starts MPI.
    Init,
    /// Ends MPI.
    Finalize,
    /// Opens a session: a part of the program uses MPI, with or without [`Class::Init`].
    SessionInit,
    /// Closes a session.
    SessionFinalize,
    /// Sends a message.
    Send,
    /// Receives a message.
    Recv,
    /// Does both.
    SendRecv,
    /// Looks for a message.
    Probe,
    /// Waits for requests.
    Wait,
    /// Asks for requests.
    Test,
    /// Starts persistent requests.
    Start,
    /// Gives a request up.
    RequestFree,
    /// Barrier.
    Barrier,
    /// Collective in which every rank needs data of every rank.
    NToN,
    /// Collective in which every rank needs data of the root.
    OneToAll,
    /// Collective in which the root needs data of every rank.
    AllToOne,
    /// Collective in which a rank needs data of the lower ranks.
    Scan,
    /// Collective among neighbours of a topology.
    Neighbour,
    /// Collective that opens a file.
    FileOpen,
    /// Collective on a file.
    FileAll,
    /// Collective that closes a file.
    FileClose,
    /// Reads, writes or changes a file, which concerns the calling rank alone.
    File,
    /// Makes a communicator.
    CommCreate,
    /// Gives a communicator up.
    CommFree,
    /// Gives a datatype up.
    TypeFree,
    /// Calls a request off.
    Cancel,
    /// Starts processes.
    Spawn,
    /// Makes a window of memory for one-sided communication.
    WinCreate,
    /// Gives a window up.
    WinFree,
    /// Opens a window to some ranks.
    WinPost,
    /// Begins access to windows of some ranks.
    WinStart,
    /// Ends that access.
    WinComplete,
    /// Waits for, or asks for, the end of others' access.
    WinWait,
    /// Asks for the lock of one or all targets of a window.
    WinLock,
    /// Waits until what was asked of them is done there.
    WinFlush,
    /// Gives that lock back.
    WinUnlock,
    /// Makes a request that sends or receives messages part by part.
    Channel,
    /// Says that parts of such a message may go.
    Ready,
    /// Asks for a part of such a message.
    Arrived,
    /// Switches recording; variadic in C, where only the first argument is known.
    Control,
    /// Answers at once from what the process knows, and calls nothing of the program's but error handlers.
    Local,
    /// Anything else: timed and counted only.
    Other,
}

/// Whose coming a member of a collective waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nobody's.
    Nobody,
    /// The root's.
    Root,
    /// Those of lower ranks.
    Lower,
    /// All members'.
    All,
}

impl Class {
    /// Whom a member of a collective of this class needs, be it the root or not. A topology's neighbours are not
    /// recorded: there, as in what is not known, all are needed. (Wait states of collectives as Scalasca defines
    /// them.)
    pub fn needs(self, is_root: bool) -> Needs {
        match self {
            Class::OneToAll if is_root => Needs::Nobody,
            Class::OneToAll => Needs::Root,
            Class::AllToOne if !is_root => Needs::Nobody,
            Class::Scan => Needs::Lower,
            _ => Needs::All,
        }
    }

    /// Whether calls of this class complete what other calls have posted.
    pub fn is_completing(self) -> bool {
        matches!(self, Class::Wait | Class::Test)
    }
}

/// When a call's work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// By the end of the call.
    Blocking,
    /// By a later wait or test.
    Nonblocking,
    /// Whenever the request it makes is started and completed.
    Persistent,
}

/// What an argument means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Not looked at.
    X,
    /// Communicator.
    Comm,
    /// Pointer to a communicator.
    Newcomm,
    /// Pointer to a request.
    Req,
    /// Array of requests.
    Reqs,
    /// Length of that array.
    N,
    /// Pointer to a status.
    Status,
    /// Array of statuses.
    Statuses,
    /// Pointer to a completion flag.
    Flag,
    /// Pointer to the index of a completed request.
    Index,
    /// Array of such indices.
    Indices,
    /// Pointer to their number.
    Outcount,
    /// A matched message, or pointer to one.
    Message,
    /// Number of elements, sent where the call sends and receives.
    Count,
    /// Numbers of elements by rank.
    Counts,
    /// Number of elements received.
    Rcount,
    /// Numbers of elements received by rank.
    Rcounts,
    /// Datatype, of the sent data where the call sends and receives.
    Type,
    /// Datatypes by rank.
    Types,
    /// Datatype of received data.
    Rtype,
    /// Receiving rank.
    Dest,
    /// Sending rank.
    Source,
    /// Tag.
    Tag,
    /// Tag of the received message.
    Rtag,
    /// Root of a collective.
    Root,
    /// Window.
    Win,
    /// Pointer to a window.
    Newwin,
    /// Group of ranks.
    Group,
    /// What the program promises of a synchronisation.
    Assert,
    /// Whether a lock is exclusive.
    Lock,
    /// Pointer to a session.
    Newsession,
    /// Number of parts of a message.
    Parts,
    /// First of some parts.
    Low,
    /// Last of them.
    High,
    /// A request, by value.
    Given,
    /// A file.
    File,
    /// Pointer to a file.
    Newfile,
}

impl Role {
    /// How many there are.
    pub const COUNT: usize = Role::Newfile as usize + 1;
}

/// One function.
#[derive(Debug)]
pub struct Function {
    /// Name in C.
    pub name: &'static str,
    /// Kind of call.
    pub class: Class,
    /// When its work is done.
    pub mode: Mode,
    /// Meaning of each argument, in order.
    pub roles: &'static [Role],
}

impl Function {
    /// Position of the first argument with a role.
    pub fn position(&self, role: Role) -> Option<usize> {
        self.roles.iter().position(|r| *r == role)
    }

    /// Whether all ranks of a communicator call it together to move data or wait.
    pub fn is_collective(&self) -> bool {
        use Class::*;
        matches!(
            self.class,
            Barrier
                | NToN
                | OneToAll
                | AllToOne
                | Scan
                | Neighbour
                | FileOpen
                | FileAll
                | FileClose
        )
    }

    /// Whether it moves or changes what is in files.
    pub fn is_about_files(&self) -> bool {
        use Class::*;
        matches!(self.class, FileOpen | FileAll | FileClose | File)
    }

    /// Whether no rank can leave it before every rank has entered it.
    pub fn is_synchronising(&self) -> bool {
        matches!(self.class, Class::Barrier | Class::NToN) && self.mode == Mode::Blocking
    }

    /// Whether ranks wait in it for the root.
    pub fn is_one_to_all(&self) -> bool {
        self.class == Class::OneToAll
    }

    /// Whether it starts or ends MPI.
    pub fn is_start_or_end(&self) -> bool {
        matches!(self.class, Class::Init | Class::Finalize)
    }
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// Looks a function up by its C name.
pub fn id_of(name: &str) -> Option<FuncId> {
    FUNCTIONS
        .binary_search_by(|f| f.name.cmp(name))
        .ok()
        .map(|i| FuncId(i as u16))
}

/// Looks a function up by its C name. Analyses do it for each row of a run, so it is faster than [`id_of`]; but the first
/// call allocates, so it is not for the recorder.
pub fn by_name(name: &str) -> Option<&'static Function> {
    static BY_NAME: LazyLock<FxHashMap<&str, &Function>> =
        LazyLock::new(|| FUNCTIONS.iter().map(|f| (f.name, f)).collect());
    BY_NAME.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_found_by_name() {
        assert!(FUNCTIONS.windows(2).all(|w| w[0].name < w[1].name));
        assert!(by_name("MPI_Allreduce").is_some_and(Function::is_synchronising));
        assert!(
            by_name("MPI_Iallreduce").is_some_and(|f| f.is_collective() && !f.is_synchronising())
        );
        assert!(by_name("MPI_Nothing").is_none());
    }

    /// With the error code and the length of a string that Fortran adds.
    #[test]
    fn what_answers_at_once_takes_its_arguments_in_registers() {
        let local = FUNCTIONS.iter().filter(|f| f.class == Class::Local);
        for f in local {
            let text = usize::from(f.name.ends_with("_name"));
            assert!(f.roles.len() + 1 + text <= 6, "{}", f.name);
        }
    }

    #[test]
    fn calls_that_name_a_partner_have_what_a_message_needs() {
        for f in FUNCTIONS.iter().filter(|f| f.class == Class::Send) {
            for role in [Role::Dest, Role::Tag, Role::Comm, Role::Count, Role::Type] {
                assert!(f.position(role).is_some(), "{} lacks {role:?}", f.name);
            }
        }
        for f in FUNCTIONS.iter().filter(|f| f.is_collective()) {
            let of = [Role::Comm, Role::Win, Role::File, Role::Newfile];
            assert!(of.iter().any(|r| f.position(*r).is_some()), "{}", f.name);
            let requested = f.position(Role::Req).is_some();
            assert_eq!(requested, f.mode != Mode::Blocking, "{}", f.name);
        }
    }
}
