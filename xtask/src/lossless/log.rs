//! Reads the plain log of one thread. Its layout is in the collector (`trace/plain_log.rs`), which writes it.

use headwater_trace::trace::{Frame, Kind};
use std::path::Path;

/// A log, and how far it was read.
pub struct Log {
    bytes: Vec<u8>,
    at: usize,
    /// Signatures by number.
    pub signatures: Vec<Signature>,
}

/// A function at a call path.
pub struct Signature {
    /// Name of the function.
    pub function: String,
    /// What its values mean, as in the trace.
    pub kinds: Vec<Kind>,
    /// The call path, outermost first, with every frame of a recursion.
    pub frames: Vec<Frame>,
}

/// An event as it happened.
pub struct Event {
    /// Number of the signature.
    pub signature: usize,
    /// Nanoseconds: before the call as wall time and as CPU time, and the call.
    pub times: [u64; 3],
    /// In the order of the signature's kinds.
    pub values: Vec<Value>,
}

/// A value of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i64),
    /// The members of a list or a text.
    Members(Vec<i64>),
}

impl Log {
    /// Opens a log.
    pub fn open(path: &Path) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self {
            bytes,
            at: 0,
            signatures: Vec::new(),
        })
    }

    /// Bytes of the file.
    pub fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The next event; `None` at the end.
    pub fn next(&mut self) -> Result<Option<Event>, String> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let event = self.event();
        event
            .map(Some)
            .ok_or(format!("the log is cut short at byte {}", self.at))
    }

    fn event(&mut self) -> Option<Event> {
        let number = self.number()?;
        if number == 0 {
            let signature = self.signature()?;
            self.signatures.push(signature);
        }
        let signature = match number {
            0 => self.signatures.len() - 1,
            n => n as usize - 1,
        };
        let times = [self.number()?, self.number()?, self.number()?];
        let kinds = self.signatures.get(signature)?.kinds.clone();
        let values = kinds.iter().map(|kind| self.value(*kind));
        let values = values.collect::<Option<_>>()?;
        Some(Event {
            signature,
            times,
            values,
        })
    }

    fn value(&mut self, kind: Kind) -> Option<Value> {
        if !matches!(kind, Kind::List | Kind::Text) {
            return self.signed().map(Value::Number);
        }
        match self.number()? {
            0 => self.signed().map(Value::Number),
            n => (1..n)
                .map(|_| self.signed())
                .collect::<Option<_>>()
                .map(Value::Members),
        }
    }

    fn signature(&mut self) -> Option<Signature> {
        let length = self.number()? as usize;
        let name = self.bytes.get(self.at..self.at + length)?;
        let function = String::from_utf8_lossy(name).into_owned();
        self.at += length;
        let kinds = (0..self.number()?)
            .map(|_| self.kind())
            .collect::<Option<_>>()?;
        let frames = (0..self.number()?).map(|_| {
            Some(Frame {
                module: self.number()?,
                offset: self.number()?,
            })
        });
        Some(Signature {
            function,
            kinds,
            frames: frames.collect::<Option<_>>()?,
        })
    }

    fn kind(&mut self) -> Option<Kind> {
        use Kind::{Comm, List, Peer, Plain, Text};
        let number = self.number()?;
        let all = [Plain, Peer, Comm, List, Text];
        all.into_iter().find(|kind| *kind as u64 == number)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        self.number().map(|n| (n >> 1) as i64 ^ -((n & 1) as i64))
    }
}
