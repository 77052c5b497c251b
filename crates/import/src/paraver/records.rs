//! The lines of a Paraver trace, one after the other.

use super::file;
use super::header::{Header, communicator};
use crate::ImportError;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// Bytes that no message has: a larger number is damage.
const NO_MESSAGE: u64 = 1 << 43;
/// Bytes of a record at the most; Extrae writes up to 1024 events into one, which have 40 bytes each at the most.
const LONGEST_RECORD: u64 = 1 << 20;
/// Bytes of a line that lists tasks at the most: the first line of the file, and those of communicators.
const LONGEST_LIST: u64 = 1 << 26;
/// Members that all communicators may have together; more have no room in memory.
const MOST_MEMBERS: usize = 1 << 27;

/// What a line says. Tasks count from 0, times are the trace's.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// Events of a thread at one moment: types and values.
    Events {
        task: u32,
        thread: u32,
        time: u64,
        pairs: Pairs<'a>,
    },
    /// A message.
    Message(Message),
    /// Anything else: what threads did for how long, which is in the events too.
    Other,
}

/// Types and values, not read yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs<'a>(&'a [u8]);

/// A message; times of the calls that sent, posted and completed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Sending task.
    pub source: u32,
    /// Receiving task.
    pub dest: u32,
    /// The threads of both that send and receive.
    pub threads: (u32, u32),
    /// When the call that sends began.
    pub sent: u64,
    /// When the call that asks for it began.
    pub posted: u64,
    /// When the call in which it came ended.
    pub received: u64,
    /// Bytes.
    pub bytes: u64,
    /// Tag.
    pub tag: u64,
}

/// Numbers between colons.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn next(&mut self) -> Option<u64> {
        if self.0.is_empty() {
            return None;
        }
        let end = self.0.iter().position(|b| *b == b':');
        let (field, rest) = match end {
            Some(end) => (&self.0[..end], &self.0[end + 1..]),
            None => (self.0, &self.0[self.0.len()..]),
        };
        self.0 = rest;
        let (negative, digits) = match field.split_first() {
            Some((b'-', digits)) => (true, digits),
            _ => (false, field),
        };
        if digits.is_empty() {
            return None;
        }
        let digit = |sum: u64, b: &u8| {
            let digit = char::from(*b).to_digit(10)?;
            sum.checked_mul(10)?.checked_add(u64::from(digit))
        };
        let number = digits.iter().try_fold(0, digit)?;
        // Tags may be negative, where a tool writes MPI's own special ones.
        Some(if negative {
            number.wrapping_neg()
        } else {
            number
        })
    }

    /// A number that counts from 1, from 0 on.
    fn index(&mut self) -> Option<u32> {
        u32::try_from(self.next()?.checked_sub(1)?).ok()
    }
}

impl Fields<'_> {
    /// The thread of a message, from 0 on; the first one if the trace names none.
    fn thread(&mut self) -> Option<u32> {
        let thread = self.next()?.saturating_sub(1);
        Some(u32::try_from(thread).unwrap_or(0))
    }
}

impl Pairs<'_> {
    /// Calls `take` for each type and value; `None` where one is no number, or has no value.
    pub fn each(&self, mut take: impl FnMut(u64, u64)) -> Option<()> {
        let mut fields = Fields(self.0);
        while !fields.0.is_empty() {
            let (kind, value) = (fields.next()?, fields.next()?);
            take(kind, value);
        }
        Some(())
    }
}

fn parse(line: &[u8]) -> Option<Record<'_>> {
    let (kind, rest) = (line.first()?, line.strip_prefix(&[*line.first()?, b':'])?);
    let mut fields = Fields(rest);
    Some(match kind {
        b'1' => Record::Other,
        b'2' => {
            let (_cpu, _application) = (fields.next()?, fields.next()?);
            Record::Events {
                task: fields.index()?,
                thread: fields.index()?,
                time: fields.next()?,
                pairs: Pairs(fields.0),
            }
        }
        b'3' => {
            let (_cpu, _application) = (fields.next()?, fields.next()?);
            let (source, sender) = (fields.index()?, fields.thread()?);
            let (sent, _out) = (fields.next()?, fields.next()?);
            let (_cpu, _application) = (fields.next()?, fields.next()?);
            let (dest, receiver) = (fields.index()?, fields.thread()?);
            Record::Message(Message {
                source,
                dest,
                threads: (sender, receiver),
                sent,
                posted: fields.next()?,
                received: fields.next()?,
                bytes: fields.next().filter(|b| *b < NO_MESSAGE)?,
                tag: fields.next()?,
            })
        }
        b'c' | b'i' => Record::Other,
        _ => return None,
    })
}

/// A trace's file.
pub struct Records {
    path: PathBuf,
    file: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Records {
    /// Opens a trace; returns its header.
    ///
    /// # Errors
    /// A file that is not there or is none.
    pub fn open(path: &Path) -> Result<(Self, Header), ImportError> {
        let mut this = Self {
            path: path.to_path_buf(),
            file: file::open(path).map_err(ImportError::io(path))?,
            line: Vec::new(),
            number: 0,
        };
        this.read()?;
        let header = Header::parse(&String::from_utf8_lossy(&this.line));
        let none = || this.damaged("it does not begin as a Paraver trace does");
        let header = header.ok_or_else(none)?;
        Ok((this, header))
    }

    fn damaged(&self, why: &str) -> ImportError {
        ImportError::damaged(&self.path, format!("{why}, line {}", self.number))
    }

    /// Reads the bytes of the next line, of which no more are held than a line of its kind may have.
    fn read_line(&mut self) -> Result<(), ImportError> {
        self.line.clear();
        self.number += 1;
        let mut most = LONGEST_RECORD;
        loop {
            let room = (most + 1).saturating_sub(self.line.len() as u64);
            let mut piece = self.file.by_ref().take(room);
            match piece.read_until(b'\n', &mut self.line) {
                Ok(_) => {}
                Err(e) if file::is_damage(&e) => {
                    return Err(self.damaged("its compressed data are damaged or end too early"));
                }
                Err(e) => return Err(ImportError::io(&self.path)(e)),
            }
            if self.line.len() as u64 <= most || self.line.last() == Some(&b'\n') {
                return Ok(());
            }
            let lists = matches!(self.line.first(), Some(b'#' | b'c'));
            if !lists || most == LONGEST_LIST {
                return Err(self.damaged(&format!("a line has more than {most} bytes")));
            }
            most = LONGEST_LIST;
        }
    }

    /// Reads the next line; gives whether there is one.
    fn read(&mut self) -> Result<bool, ImportError> {
        self.read_line()?;
        let there = !self.line.is_empty();
        let whole = self.line.last() == Some(&b'\n');
        while self.line.last().is_some_and(u8::is_ascii_whitespace) {
            self.line.pop();
        }
        // A trace of which the end is missing mostly ends within a line.
        if there && !whole && self.number > 1 {
            return Err(self.damaged("it ends within a line"));
        }
        Ok(there)
    }

    /// Goes through all lines: `take` gets what each says, and answers `None` where that cannot be.
    ///
    /// # Errors
    /// A line that is none of a trace.
    pub fn each(
        &mut self,
        mut take: impl FnMut(Record<'_>) -> Option<()>,
    ) -> Result<(), ImportError> {
        while self.read()? {
            if self.line.is_empty() || self.line.first() == Some(&b'#') {
                continue;
            }
            if parse(&self.line).and_then(&mut take).is_none() {
                let start: String = String::from_utf8_lossy(&self.line)
                    .chars()
                    .take(40)
                    .collect();
                return Err(self.damaged(&format!("\"{start}\" is no record of it")));
            }
        }
        Ok(())
    }

    /// The communicators, in the order of the file, which come before all records.
    ///
    /// # Errors
    /// A line that is none of a trace.
    pub fn communicators(&mut self) -> Result<Vec<(u64, Vec<u32>)>, ImportError> {
        let (mut all, mut members) = (Vec::new(), 0_usize);
        while self.read()? {
            let text = String::from_utf8_lossy(&self.line).into_owned();
            if let Some(rest) = text.strip_prefix("c:") {
                let none = || self.damaged("a communicator is broken");
                let (id, tasks) = communicator(rest).ok_or_else(none)?;
                members = members.saturating_add(tasks.len());
                if members > MOST_MEMBERS {
                    return Err(self.damaged("its communicators have too many members"));
                }
                all.push((id, tasks));
            } else if !text.is_empty() && !text.starts_with(['#', 'i']) {
                break;
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_events_messages_or_neither() {
        let Some(Record::Events {
            task,
            thread,
            time,
            pairs,
        }) = parse(b"2:1:1:3:1:500:50000001:4:9:8")
        else {
            panic!("events");
        };
        assert_eq!((task, thread, time), (2, 0, 500));
        let mut seen = Vec::new();
        pairs.each(|kind, value| seen.push((kind, value))).unwrap();
        assert_eq!(seen, [(50_000_001, 4), (9, 8)]);
        let message = parse(b"3:1:1:1:1:10:20:2:1:2:1:5:30:64:7");
        let wanted = Message {
            source: 0,
            dest: 1,
            threads: (0, 0),
            sent: 10,
            posted: 5,
            received: 30,
            bytes: 64,
            tag: 7,
        };
        assert_eq!(message, Some(Record::Message(wanted)));
        assert_eq!(parse(b"1:1:1:1:1:0:10:1"), Some(Record::Other));
        for bad in [
            &b"4:1"[..],
            b"2:1:1:0:1:5:1:1",
            b"2:1:1:1:1:x:1:1",
            b"3:1:1:1:1:10:20:2:1:2:1:5:30:64",
            b"22",
        ] {
            assert_eq!(parse(bad), None, "{}", String::from_utf8_lossy(bad));
        }
        assert_eq!(Pairs(b"1:2:3").each(|_, _| ()), None);
    }
}
