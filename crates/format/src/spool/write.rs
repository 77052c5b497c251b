//! Writes a spool from outside the ranks' processes: one merged file, rank by rank, so that only one rank's rows are
//! in memory.

use super::layout::{
    Desc, FileHeader, MAGIC, MERGED_MAGIC, MERGED_NAME, MOST_TABLES, Row, VERSION, bytes_of, pack,
    read_header,
};
use crate::FormatError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The rows of one rank.
pub struct RankRows {
    /// What is known of the rank; where its tables are is filled in.
    pub header: Box<FileHeader>,
    rows: Vec<u8>,
}

impl RankRows {
    /// Rank `rank` of `size`, which reached its end, without rows.
    pub fn new(rank: u32, size: u32) -> Self {
        let zeros = vec![0; size_of::<FileHeader>()];
        // So many zeros are a header, as any bytes are.
        let header = read_header(&zeros).map(|mut header| {
            (header.magic, header.version, header.finished) = (MAGIC, VERSION, 1);
            (header.rank, header.size) = (rank, size);
            Box::new(header)
        });
        Self {
            header: header.unwrap_or_else(|| unreachable!("as long as a header")),
            rows: Vec::new(),
        }
    }

    /// Adds the rows of a table of `thread`; `false` where the rank has no room for another table.
    pub fn put<R: Row>(&mut self, thread: u32, rows: &[R]) -> bool {
        if rows.is_empty() {
            return true;
        }
        let at = self.header.tables as usize;
        let Some(desc) = self.header.descs.get_mut(at).filter(|_| at < MOST_TABLES) else {
            return false;
        };
        let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        *desc = Desc {
            kind: R::KIND as u32,
            thread,
            offset: self.rows.len() as u64,
            row_bytes: size_of::<R>() as u32,
            capacity: count,
            count,
            dropped: 0,
        };
        self.header.tables += 1;
        let kept = rows.iter().take(count as usize);
        kept.for_each(|row| self.rows.extend_from_slice(bytes_of(row)));
        true
    }
}

/// A merged file that grows rank by rank.
pub struct SpoolWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl SpoolWriter {
    /// Begins the file in `dir`, which is there.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(dir: &Path) -> Result<Self, FormatError> {
        let path = dir.join(MERGED_NAME);
        let file = headwater_files::create(&path).map_err(FormatError::io("make", &path))?;
        let mut this = Self {
            path,
            file: BufWriter::new(file),
        };
        this.write(&MERGED_MAGIC.to_le_bytes())?;
        Ok(this)
    }

    /// Appends a rank.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, rank: &RankRows) -> Result<(), FormatError> {
        let (head, stretches) = pack(&rank.header).ok_or_else(|| {
            let full = std::io::Error::from(std::io::ErrorKind::OutOfMemory);
            FormatError::io("write", &self.path)(full)
        })?;
        let rows: u64 = stretches.iter().map(|s| s.bytes).sum();
        self.write(&(head.len() as u64 + rows).to_le_bytes())?;
        self.write(&head)?;
        // Tables follow one another as their rows do.
        self.write(&rank.rows)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<(), FormatError> {
        self.file
            .flush()
            .map_err(FormatError::io("write", &self.path))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), FormatError> {
        self.file
            .write_all(bytes)
            .map_err(FormatError::io("write", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::{CommRow, SegmentRow};
    use super::super::read_spool;
    use super::*;

    #[test]
    fn what_is_written_is_read_as_ranks_that_came_to_their_end() {
        let dir = std::env::temp_dir().join(format!("headwater-spool-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let mut out = SpoolWriter::create(&dir).unwrap();
        for rank in 0..2 {
            let mut rows = RankRows::new(rank, 2);
            assert!(rows.put(0, &[CommRow { hash: 1, size: 2 }]));
            assert!(rows.put::<CommRow>(0, &[]));
            for thread in 0..2 {
                let segment = |count| SegmentRow {
                    count,
                    ..Default::default()
                };
                assert!(rows.put(thread, &[segment(u64::from(rank)), segment(7)]));
            }
            out.add(&rows).unwrap();
        }
        out.finish().unwrap();
        let run = read_spool(&dir).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!((run.ranks.len(), run.header.ranks), (2, 2));
        assert!(run.ranks.iter().all(|r| r.complete));
        let counts: Vec<(u32, u16, u64)> = (run.segments.iter())
            .map(|s| (s.rank, s.thread, s.count))
            .collect();
        let both = |rank| {
            [0, 1]
                .into_iter()
                .flat_map(move |t| [(rank, t, u64::from(rank)), (rank, t, 7)])
        };
        let mut wanted: Vec<(u32, u16, u64)> = [0, 1].into_iter().flat_map(both).collect();
        wanted.sort_unstable();
        let mut counts = counts;
        counts.sort_unstable();
        assert_eq!(counts, wanted);
    }
}
