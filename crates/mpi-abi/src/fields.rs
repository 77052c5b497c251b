//! The fields of an event: which parameters of a call a replay needs, for each function in a fixed order.
//!
//! They are generated from `functions.txt`. A field has a name, as in the MPI standard, and a [`Kind`], which says what
//! its value means. Where the value comes from is for those that read calls (`mpi-call`); readers of traces need the
//! names and kinds alone.

/// What the value of a field means. A value is a number, or the number of a list or text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A number without further meaning.
    Int,
    /// Number of elements.
    Count,
    /// Bytes: an extent, a displacement or the size of memory.
    Size,
    /// Offset in a file.
    Offset,
    /// Offset of a view of a file; [`crate::constants::CURRENT`] is where it is.
    View,
    /// 1 if it is true, 0 if not.
    Flag,
    /// Not the address, only what kind of buffer it is, see [`crate::constants::buffer`].
    Buffer,
    /// Rank in the communicator, window or group of the call.
    Peer,
    /// The same of the root of a collective.
    Root,
    /// Tag.
    Tag,
    /// Color of a split.
    Color,
    /// How a file is opened, see [`crate::constants`] for this and the next ones.
    Amode,
    /// What the program promises of a synchronisation.
    Assert,
    /// How a window is locked.
    Lock,
    /// By what a communicator is split.
    SplitType,
    /// What an offset refers to.
    Whence,
    /// Order of the elements of an array.
    Order,
    /// Class of a type.
    Typeclass,
    /// Level of thread support.
    ThreadLevel,
    /// Communicator.
    Comm,
    /// Communicator that the call has made.
    NewComm,
    /// Communicator that the call gives up.
    FreedComm,
    /// Datatype.
    Datatype,
    /// Datatype that the call has made.
    NewDatatype,
    /// Datatype that the call gives up.
    FreedDatatype,
    /// Operation of a reduction.
    Op,
    /// Operation that the call has made.
    NewOp,
    /// Operation that the call gives up.
    FreedOp,
    /// Group.
    Group,
    /// Group that the call has made.
    NewGroup,
    /// Group that the call gives up.
    FreedGroup,
    /// Window.
    Window,
    /// Window that the call has made.
    NewWindow,
    /// Window that the call gives up.
    FreedWindow,
    /// File.
    File,
    /// File that the call has opened.
    NewFile,
    /// File that the call closes.
    FreedFile,
    /// Info.
    Info,
    /// Info that the call has made.
    NewInfo,
    /// Info that the call gives up.
    FreedInfo,
    /// Error handler.
    Errhandler,
    /// Error handler that the call has made.
    NewErrhandler,
    /// Error handler that the call gives up.
    FreedErrhandler,
    /// Session.
    Session,
    /// Session that the call has opened.
    NewSession,
    /// Session that the call closes.
    FreedSession,
    /// Request.
    Request,
    /// Request that the call has made.
    NewRequest,
    /// Matched message that the call receives.
    Message,
    /// Matched message that the call has found.
    NewMessage,
    /// Index of a completed request, from 0.
    Index,
    /// Number of completed requests.
    Outcount,
    /// Source of a message that was received from any or with any tag, or probed.
    StatusSource,
    /// Tag of such a message.
    StatusTag,
    /// Bytes of such a message.
    Received,
    /// List of numbers.
    Ints,
    /// List of flags.
    Flags,
    /// List of ranks.
    Ranks,
    /// List of numbers of elements.
    Counts,
    /// List of displacements. If all are addresses, they are relative to the lowest of them.
    Displacements,
    /// List of distributions of an array.
    Distributions,
    /// List of their arguments.
    DistributionArgs,
    /// List of datatypes.
    Datatypes,
    /// List of requests.
    Requests,
    /// List of indices of completed requests, from 0.
    Indices,
    /// List as [`Kind::StatusSource`], in the order of the statuses.
    StatusSources,
    /// List as [`Kind::StatusTag`].
    StatusTags,
    /// List as [`Kind::Received`].
    ReceivedSizes,
    /// Text.
    Text,
}

impl Kind {
    /// Whether the value is the number of a list.
    pub fn is_list(self) -> bool {
        self.element().is_some()
    }

    /// The kind of the elements of a list.
    pub fn element(self) -> Option<Kind> {
        use Kind::*;
        Some(match self {
            Ints => Int,
            Flags => Flag,
            Ranks => Peer,
            Counts => Count,
            Displacements | DistributionArgs => Size,
            Distributions => Int,
            Datatypes => Datatype,
            Requests => Request,
            Indices => Index,
            StatusSources => StatusSource,
            StatusTags => StatusTag,
            ReceivedSizes => Received,
            _ => return None,
        })
    }

    /// For a handle that a call makes or gives up: the kind of the handle. Any other kind is returned as it is.
    pub fn handle(self) -> Kind {
        use Kind::*;
        match self {
            NewComm | FreedComm => Comm,
            NewDatatype | FreedDatatype => Datatype,
            NewOp | FreedOp => Op,
            NewGroup | FreedGroup => Group,
            NewWindow | FreedWindow => Window,
            NewFile | FreedFile => File,
            NewInfo | FreedInfo => Info,
            NewErrhandler | FreedErrhandler => Errhandler,
            NewSession | FreedSession => Session,
            NewRequest => Request,
            NewMessage => Message,
            other => other,
        }
    }

    /// Whether it is a handle that a call has made.
    pub fn is_new(self) -> bool {
        use Kind::*;
        matches!(
            self,
            NewComm
                | NewDatatype
                | NewOp
                | NewGroup
                | NewWindow
                | NewFile
                | NewInfo
                | NewErrhandler
                | NewSession
                | NewRequest
                | NewMessage
        )
    }

    /// Whether it is a handle that a call gives up.
    pub fn is_freed(self) -> bool {
        self.handle() != self && !self.is_new()
    }
}

/// How an argument holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// An address, of which only the kind is of interest.
    Address,
    /// An `int`.
    Int,
    /// An integer of 64 bits.
    Long,
    /// The same in C. In Fortran an `INTEGER`, as functions of MPI 1 have it.
    OldLong,
    /// A handle.
    Handle,
    /// The address of a handle.
    Pointed,
    /// The address of an `int`.
    PointedInt,
    /// The address of an integer of 64 bits.
    PointedLong,
    /// An array of `int`.
    Ints,
    /// An array of integers of 64 bits.
    Longs,
    /// The same as with [`Form::OldLong`].
    OldLongs,
    /// An array of handles.
    Handles,
    /// A text that NUL ends, in Fortran its length.
    Text,
    /// A status, or an array of statuses.
    Status,
}

/// How long a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// It is no list.
    One,
    /// As the communicator; between two groups, as the other one.
    Members,
    /// As the group of the communicator that the process is in.
    OwnGroup,
    /// As the neighbours from which the process receives.
    Sources,
    /// As the neighbours to which it sends.
    Destinations,
    /// As the dimensions of the communicator.
    Dimensions,
    /// As an argument says, so many times.
    Argument {
        /// Its position.
        at: u8,
        /// Whether it has 64 bits.
        wide: bool,
        /// The factor.
        times: u8,
    },
    /// The sum of as many elements of a list of `int` as an argument says.
    Sum {
        /// Position of the list.
        list: u8,
        /// Position of the number of its elements.
        at: u8,
    },
    /// The last element of such a list.
    Last {
        /// Position of the list.
        list: u8,
        /// Position of the number of its elements.
        at: u8,
    },
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the parameter in the MPI standard.
    pub name: &'static str,
    /// What its value means.
    pub kind: Kind,
    /// Position of the argument.
    pub at: u8,
    /// How the argument holds it.
    pub form: Form,
    /// How long it is, if it is a list.
    pub length: Length,
    /// Whether the library writes it.
    pub after: bool,
    /// Whether it is of no importance on ranks other than the root.
    pub at_root: bool,
}

/// The most fields that a function has.
pub const MOST_FIELDS: usize = 16;

include!(concat!(env!("OUT_DIR"), "/fields.rs"));

/// The fields of a function, in the order of their values; none of an unknown function.
#[inline]
pub fn fields(function: u16) -> &'static [Field] {
    FIELDS.get(usize::from(function)).copied().unwrap_or(&[])
}
