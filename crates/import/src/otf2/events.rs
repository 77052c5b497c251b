//! The events of a location that the import uses, as they are in its file.

use super::bytes::Bytes;

/// Bytes that no message has, and that no collective moves: larger numbers are damage.
const NO_MESSAGE: u64 = 1 << 43;
const NO_COLLECTIVE: u64 = 1 << 54;

const TIMESTAMP: u8 = 5;
const ATTRIBUTES: u8 = 6;

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The tracer wrote its buffer until then.
    Flushed { until: u64 },
    /// Recording went on, or was switched off.
    Recording { on: bool },
    /// A region was entered.
    Enter { region: u32 },
    /// A region was left.
    Leave { region: u32 },
    /// A message was sent; with a request where that is completed later.
    Send(Message),
    /// A message was received; with a request where a call before asked for it.
    Receive(Message),
    /// A send was completed.
    SendDone { request: u64 },
    /// A receive was posted.
    Post { request: u64 },
    /// A message was found that is received by its number.
    Probed { message: u64, of: Message },
    /// It was received; of a nonblocking receive `number` is that of the request.
    Matched {
        number: u64,
        bytes: u64,
        requested: bool,
    },
    /// A nonblocking receive of it began.
    PostMatched { message: u64, request: u64 },
    /// A request was called off.
    Cancelled { request: u64 },
    /// A collective was done.
    Collective(Collective),
    /// A collective began that is done later.
    PostCollective { request: u64 },
    /// Threads are made for a parallel region.
    Fork,
    /// They have reached its end.
    Join,
    /// This thread takes part in a parallel region.
    TeamBegin,
    /// And does no longer.
    TeamEnd,
    /// A lock is taken, or given back.
    Lock { lock: u32, taken: bool },
    /// Counters were read.
    Metric { class: u32, values: Vec<(u8, u64)> },
    /// A call path was entered.
    ContextEnter { context: u32 },
    /// A call path was left.
    ContextLeave { context: u32 },
    /// A collective on a window was done.
    WindowCollective(Collective),
    /// Data were moved between this process's memory and another's.
    OneSided { bytes: u64 },
    /// The program's name.
    Program { name: u32 },
}

/// One end of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The partner's rank in the communicator.
    pub partner: u32,
    /// The communicator.
    pub comm: u32,
    /// Tag.
    pub tag: u32,
    /// Bytes.
    pub bytes: u64,
    /// Request, of a nonblocking one.
    pub request: Option<u64>,
}

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collective {
    /// The communicator, or the window.
    pub comm: u32,
    /// The root's rank in it; `u32::MAX` for none.
    pub root: u32,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Request, of a nonblocking one.
    pub request: Option<u64>,
}

/// Reads events one after the other.
#[derive(Debug, Default)]
pub struct Reader {
    ticks: u64,
}

impl Reader {
    /// Reads record number `kind` from `bytes` and passes what it says, with the ticks at which it happened, to `take`.
    /// `None` where the record is broken.
    pub fn record(
        &mut self,
        kind: u8,
        bytes: &mut Bytes<'_>,
        mut take: impl FnMut(u64, Event),
    ) -> Option<()> {
        if kind == TIMESTAMP {
            self.ticks = bytes.whole_u64()?;
            return Some(());
        }
        if let Some(event) = alone(kind, bytes)? {
            take(self.ticks, event);
            return Some(());
        }
        if has_one_value(kind) {
            return Some(());
        }
        let mut record = bytes.record()?;
        if kind != ATTRIBUTES
            && let Some(event) = with_length(kind, &mut record)?
        {
            take(self.ticks, event);
        }
        Some(())
    }
}

/// Whether a record is one number without a length before it. These are of the format's first version; later ones all
/// have a length.
fn has_one_value(kind: u8) -> bool {
    matches!(kind, 12 | 13 | 16 | 17 | 20 | 21 | 24 | 28..=30)
}

/// Events of one number.
#[allow(clippy::option_option)]
fn alone(kind: u8, r: &mut Bytes<'_>) -> Option<Option<Event>> {
    if !has_one_value(kind) {
        return Some(None);
    }
    let value = r.u64()?;
    let region = value as u32;
    Some(match kind {
        12 => Some(Event::Enter { region }),
        13 => Some(Event::Leave { region }),
        16 => Some(Event::SendDone { request: value }),
        17 => Some(Event::Post { request: value }),
        21 => Some(Event::Cancelled { request: value }),
        24 => Some(Event::Fork),
        _ => None,
    })
}

/// A number of bytes below `most`; one that the writer left undefined is none.
fn volume(r: &mut Bytes<'_>, most: u64) -> Option<u64> {
    match r.u64()? {
        u64::MAX => Some(0),
        bytes => Some(bytes).filter(|b| *b < most),
    }
}

fn message(r: &mut Bytes<'_>, requested: bool) -> Option<Message> {
    let message = Message {
        partner: r.u32()?,
        comm: r.u32()?,
        tag: r.u32()?,
        bytes: volume(r, NO_MESSAGE)?,
        request: None,
    };
    let request = if requested { Some(r.u64()?) } else { None };
    Some(Message { request, ..message })
}

fn collective(r: &mut Bytes<'_>, requested: bool) -> Option<Collective> {
    let _operation = r.u8()?;
    let part = Collective {
        comm: r.u32()?,
        root: r.u32()?,
        sent: volume(r, NO_COLLECTIVE)?,
        received: volume(r, NO_COLLECTIVE)?,
        request: None,
    };
    let request = if requested { Some(r.u64()?) } else { None };
    Some(Collective { request, ..part })
}

/// Events with a length; those that are not used are none.
#[allow(clippy::option_option)]
fn with_length(kind: u8, r: &mut Bytes<'_>) -> Option<Option<Event>> {
    Some(Some(match kind {
        10 => Event::Flushed {
            until: r.whole_u64()?,
        },
        11 => Event::Recording { on: r.u8()? == 1 },
        14 => Event::Send(message(r, false)?),
        15 => Event::Send(message(r, true)?),
        18 => Event::Receive(message(r, false)?),
        19 => Event::Receive(message(r, true)?),
        23 => Event::Collective(collective(r, false)?),
        25 => Event::Join,
        26 | 27 => Event::Lock {
            lock: r.u32()?,
            taken: kind == 26,
        },
        57 | 58 => {
            let _paradigm = r.u8()?;
            Event::Lock {
                lock: r.u32()?,
                taken: kind == 57,
            }
        }
        31 => {
            let (class, n) = (r.u32()?, r.u8()?);
            let value = |_| Some((r.u8()?, r.u64()?));
            let values = (0..n).map(value).collect::<Option<_>>()?;
            Event::Metric { class, values }
        }
        38 => {
            let (_operation, _level, comm) = (r.u8()?, r.u32()?, r.u32()?);
            Event::WindowCollective(Collective {
                comm,
                root: r.u32()?,
                sent: volume(r, NO_COLLECTIVE)?,
                received: volume(r, NO_COLLECTIVE)?,
                request: None,
            })
        }
        46 | 47 => {
            let (_window, _remote) = (r.u32()?, r.u32()?);
            Event::OneSided {
                bytes: volume(r, NO_MESSAGE)?,
            }
        }
        48 => {
            let (_window, _remote, _kind) = (r.u32()?, r.u32()?, r.u8()?);
            let (sent, received) = (volume(r, NO_MESSAGE)?, volume(r, NO_MESSAGE)?);
            Event::OneSided {
                bytes: sent.max(received),
            }
        }
        53 => Event::Fork,
        54 => Event::Join,
        55 => Event::TeamBegin,
        56 => Event::TeamEnd,
        66 => Event::ContextEnter { context: r.u32()? },
        67 => Event::ContextLeave { context: r.u32()? },
        83 => Event::Program { name: r.u32()? },
        85 => Event::PostCollective { request: r.u64()? },
        86 => Event::Collective(collective(r, true)?),
        89 => {
            let of = Message {
                partner: r.u32()?,
                comm: r.u32()?,
                tag: r.u32()?,
                ..Default::default()
            };
            Event::Probed {
                message: r.u64()?,
                of,
            }
        }
        90 | 92 => Event::Matched {
            number: r.u64()?,
            bytes: volume(r, NO_MESSAGE)?,
            requested: kind == 92,
        },
        91 => Event::PostMatched {
            message: r.u64()?,
            request: r.u64()?,
        },
        _ => return Some(None),
    }))
}
