//! A plain log of the events of one thread, written beside the trace. Only a test build has it (the feature
//! `plain-log`): `cargo xtask lossless` compares it with the trace.
//!
//! The file is `plain.<process>.<rank>.<thread>.log`. It is a row of events, uncompressed. Numbers are LEB128; signed
//! ones in zigzag. Each event begins with a number:
//!
//! * 0: the signature comes first, and gets the next number from 0 on: the function's name, with its length; the number
//!   of its values, and a byte for the kind of each; the number of frames, outermost first, and of each frame the
//!   module's identity and the offset.
//! * `n`: signature `n - 1`.
//!
//! Three times follow in nanoseconds (before the call as wall time and CPU time, and the call), then the values. A value
//! that is a list or a text begins with one more than its length and has its members, signed; what is none has 0 there
//! and then the value, signed.
//!
//! The log shares with the trace only the values of a call and its calling context. Places are looked up for each event
//! again. It allocates and writes files in calls, so the normal build must not have it.

use crate::storage::process_spool::with_spool;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::{BufWriter, Write};

/// The log of one thread.
pub struct PlainLog {
    name: String,
    /// Opened by the first event, as the spool is in use when a thread begins.
    file: Option<BufWriter<File>>,
    failed: bool,
    signatures: FxHashMap<(&'static str, Vec<Frame>), u64>,
    /// Lists and texts of the call: what they became, and their members.
    lists: Vec<(i64, Vec<i64>)>,
}

impl PlainLog {
    /// The log of this thread of this rank.
    pub fn of_thread(rank: u32, thread: u32) -> Self {
        let process = std::process::id();
        Self {
            name: format!("plain.{process}.{rank}.{thread}.log"),
            file: None,
            failed: false,
            signatures: FxHashMap::default(),
            lists: Vec::new(),
        }
    }

    /// A call is about to be made.
    pub fn before(&mut self) {
        self.lists.clear();
    }

    /// A list or a text of the call became `value`.
    pub fn list(&mut self, value: i64, members: impl Iterator<Item = i64>) {
        self.lists.push((value, members.collect()));
    }

    /// The call has returned.
    pub fn event(
        &mut self,
        function: &'static str,
        kinds: &[Kind],
        frames: Vec<Frame>,
        values: &[i64],
        delta: Delta,
    ) {
        let file = self.file.take().or_else(|| self.open());
        // A file that could not be written is cut short, and the comparison says so.
        self.file = file.and_then(|mut file| {
            let written = self.write(&mut file, function, kinds, frames, values, delta);
            written.is_ok().then_some(file)
        });
        self.failed = self.file.is_none();
    }

    fn open(&self) -> Option<BufWriter<File>> {
        let new = |name| with_spool(|spool| File::create_new(spool.directory()?.join(name)).ok());
        let file = if self.failed { None } else { new(&self.name) };
        file.map(|file| BufWriter::with_capacity(1 << 20, file))
    }

    fn write(
        &mut self,
        out: &mut BufWriter<File>,
        function: &'static str,
        kinds: &[Kind],
        frames: Vec<Frame>,
        values: &[i64],
        delta: Delta,
    ) -> std::io::Result<()> {
        let next = self.signatures.len() as u64;
        match self.signatures.get(&(function, frames.clone())) {
            Some(known) => number(out, known + 1)?,
            None => {
                number(out, 0)?;
                number(out, function.len() as u64)?;
                out.write_all(function.as_bytes())?;
                number(out, kinds.len() as u64)?;
                for kind in kinds {
                    out.write_all(&[*kind as u8])?;
                }
                number(out, frames.len() as u64)?;
                for frame in &frames {
                    number(out, frame.module)?;
                    number(out, frame.offset)?;
                }
                self.signatures.insert((function, frames), next);
            }
        }
        for time in [delta.wall, delta.cpu, delta.call] {
            number(out, time)?;
        }
        for (kind, value) in kinds.iter().zip(values) {
            if !matches!(kind, Kind::List | Kind::Text) {
                signed(out, *value)?;
                continue;
            }
            match self.lists.iter().find(|(v, _)| v == value) {
                Some((_, members)) => {
                    number(out, members.len() as u64 + 1)?;
                    members.iter().try_for_each(|m| signed(out, *m))?;
                }
                None => {
                    number(out, 0)?;
                    signed(out, *value)?;
                }
            }
        }
        Ok(())
    }
}

fn number(out: &mut impl Write, mut value: u64) -> std::io::Result<()> {
    while value >= 128 {
        out.write_all(&[value as u8 | 128])?;
        value >>= 7;
    }
    out.write_all(&[value as u8])
}

fn signed(out: &mut impl Write, value: i64) -> std::io::Result<()> {
    number(out, (value << 1 ^ value >> 63) as u64)
}
