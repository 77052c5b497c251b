//! A file of chunks: each has a head with the numbers of its first and last event, records, and a mark that another
//! chunk follows or that the file ends.

use std::io;

const HEAD: [u8; 2] = [3, 0x42];
const END_OF_CHUNK: u8 = 0;
const END_OF_FILE: [u8; 2] = [2, 1];
const TIMESTAMP: u8 = 5;
/// Two bytes of the head, and the two numbers.
const FIRST_RECORD: usize = 18;

/// Where chunks go.
pub type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> io::Result<()>;

/// Records on the way to a file.
#[derive(Debug)]
pub struct Chunks {
    size: usize,
    chunk: Vec<u8>,
    records: u64,
    ticks: Option<u64>,
}

impl Chunks {
    /// An empty file with chunks of `size` bytes.
    pub fn new(size: usize) -> Self {
        let mut this = Self {
            size,
            chunk: Vec::new(),
            records: 0,
            ticks: None,
        };
        this.begin();
        this
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn begin(&mut self) {
        self.chunk.clear();
        self.ticks = None;
        self.chunk.extend_from_slice(&HEAD);
        self.chunk
            .extend_from_slice(&(self.records + 1).to_le_bytes());
        self.chunk.extend_from_slice(&[0; 8]);
    }

    fn end(&mut self, sink: Sink<'_>) -> io::Result<()> {
        let last = self.records.to_le_bytes();
        if let Some(place) = self.chunk.get_mut(10..FIRST_RECORD) {
            place.copy_from_slice(&last);
        }
        sink(&self.chunk)
    }

    /// Adds a record that happened at a time, if it has one.
    pub fn add(&mut self, ticks: Option<u64>, record: &[u8], sink: Sink<'_>) -> io::Result<()> {
        // A time, and the mark of the end.
        let room = record.len() + 9 + END_OF_FILE.len();
        if self.chunk.len() + room > self.size && self.chunk.len() > FIRST_RECORD {
            self.chunk.push(END_OF_CHUNK);
            self.chunk.resize(self.size, 0);
            self.end(sink)?;
            self.begin();
        }
        if let Some(at) = ticks.filter(|_| ticks != self.ticks) {
            self.chunk.push(TIMESTAMP);
            self.chunk.extend_from_slice(&at.to_le_bytes());
            self.ticks = ticks;
        }
        self.chunk.extend_from_slice(record);
        self.records += 1;
        Ok(())
    }

    /// Ends the file.
    pub fn finish(&mut self, sink: Sink<'_>) -> io::Result<()> {
        self.chunk.extend_from_slice(&END_OF_FILE);
        self.end(sink)
    }
}
