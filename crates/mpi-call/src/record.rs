//! What is recorded of a call: its parameters, its links with other ranks' calls, and its outcome.

use headwater_model::run::{EventKind, peer};

/// What a call says about its order relative to other ranks.
#[derive(Clone, Copy)]
pub struct Link {
    /// [`headwater_model::run::EventKind`], or a kind of [`headwater_model::run::access`].
    pub kind: u8,
    /// The same at both ends.
    pub id: u64,
    /// Partner or root, world rank.
    pub peer: u32,
    /// Bytes.
    pub bytes: u64,
    /// Context of the posting call.
    pub post_ctx: u32,
    /// Clock of the posting call.
    pub post_ns: u64,
    /// Function of the posting call and index of its communicator; `None` if that is the call itself.
    pub posted_by: Option<(u16, u16)>,
}

impl Link {
    /// A link without a posting call.
    pub fn new(kind: EventKind, id: u64, peer: u32, bytes: u64) -> Self {
        Self {
            kind: kind as u8,
            id,
            peer,
            bytes,
            post_ctx: u32::MAX,
            post_ns: 0,
            posted_by: None,
        }
    }
}

/// The parameters that calls are counted by.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Params {
    /// Index of the communicator.
    pub comm: u16,
    /// Partner offset, see [`headwater_model::run::peer`].
    pub peer: i32,
    /// Tag.
    pub tag: i32,
    /// Bytes.
    pub bytes: u64,
}

/// The parameters of a call that has none.
pub const NO_PARAMS: Params = Params {
    comm: u16::MAX,
    peer: peer::NONE,
    tag: i32::MIN,
    bytes: 0,
};

/// A call as those know it that complete what it has posted.
#[derive(Clone, Copy)]
pub struct Post {
    /// Its context.
    pub ctx: u32,
    /// Clock at its start.
    pub enter_ns: u64,
    /// Index of its function.
    pub func: u16,
}

/// What became of a call.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Outcome {
    /// Whether it asked for something and found nothing.
    pub idle: bool,
    /// Whether it was a blocking collective of the whole world, which all ranks count alike.
    pub met_the_world: bool,
}
