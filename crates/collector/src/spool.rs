//! The spool file of this process, mapped and shared, so that the kernel keeps what was written however
//! the process ends.
//!
//! Room is taken on the disk before it is mapped: writing to a hole of a mapped file on a full disk
//! would end the program with a bus error.

use crate::table::Table;
use headwater_format::spool::layout::{
    CommRow, Desc, FileHeader, Kind, MAGIC, MOST_TABLES, ModuleRow, PROCESS_ENDING, Row, VERSION,
    header_bytes,
};
use std::ffi::CString;
use std::os::fd::RawFd;
use std::path::Path;

/// Bytes that the file grows by for each table are rounded to this.
const PAGE: u64 = 4096;

/// An open, mapped spool file.
pub struct Spool {
    fd: RawFd,
    length: u64,
    header: *mut FileHeader,
    path: CString,
    comms: Option<Table<CommRow>>,
}

// SAFETY: the pointers are to this process's mapping; the spool is only used under the process lock.
unsafe impl Send for Spool {}

impl Spool {
    /// Makes `<host>.<pid>.spool` in `dir`.
    pub fn create(dir: &Path, host: &str, pid: u32) -> Option<Self> {
        std::fs::create_dir_all(dir).ok()?;
        let path = dir.join(format!("{host}.{pid}{PROCESS_ENDING}"));
        let path = CString::new(path.into_os_string().into_encoded_bytes()).ok()?;
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
        // SAFETY: a C string and plain flags.
        let fd = unsafe { libc::open(path.as_ptr(), flags, 0o644) };
        if fd < 0 {
            return None;
        }
        let mut this = Self {
            fd,
            length: 0,
            header: std::ptr::null_mut(),
            path,
            comms: None,
        };
        let header = this.map(size_of::<FileHeader>() as u64)?;
        this.header = header.1.cast();
        let h = this.header();
        (h.magic, h.version, h.pid) = (MAGIC, VERSION, pid);
        Some(this)
    }

    /// Grows the file by `bytes` and maps them; gives the offset and the address.
    fn map(&mut self, bytes: u64) -> Option<(u64, *mut u8)> {
        let bytes = bytes.next_multiple_of(PAGE);
        let offset = self.length;
        self.grow(offset, bytes)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes as usize,
                protection,
                libc::MAP_SHARED,
                self.fd,
                offset as libc::off_t,
            )
        };
        if at == libc::MAP_FAILED {
            return None;
        }
        self.length = offset + bytes;
        // The first write to a page of a file may wait for the disk: do that now, not in a call.
        const READY: usize = 1 << 17;
        // SAFETY: within the fresh mapping; a kernel without this advice refuses it.
        unsafe { libc::madvise(at, READY.min(bytes as usize), libc::MADV_POPULATE_WRITE) };
        Some((offset, at.cast()))
    }

    /// Grows the file by `bytes` at `offset`, with room on the disk where the file system can promise it.
    fn grow(&self, offset: u64, bytes: u64) -> Option<()> {
        // SAFETY: our own file and plain numbers; a zeroed limit is filled by the call.
        unsafe {
            let mut limit: libc::rlimit = std::mem::zeroed();
            // A file beyond its limit would cost the program a signal.
            if libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) != 0
                || limit.rlim_cur < offset + bytes
            {
                return None;
            }
            let (at, length) = (offset as libc::off_t, bytes as libc::off_t);
            if libc::fallocate(self.fd, 0, at, length) == 0 {
                return Some(());
            }
            // A full disk says so; some network file systems only do not know the call.
            let unknown = [libc::EOPNOTSUPP, libc::ENOSYS].contains(&*libc::__errno_location());
            (unknown && libc::ftruncate(self.fd, at + length) == 0).then_some(())
        }
    }

    /// The header, for writing by whoever holds the process lock or owns the field.
    pub fn header(&self) -> &'static mut FileHeader {
        // SAFETY: mapped until the process ends and large enough; fields are written by one thread at a time.
        unsafe { &mut *self.header }
    }

    /// Adds a table of `capacity` rows for `thread`.
    pub fn table<R: Row>(&mut self, thread: u32, capacity: u32) -> Option<(*mut R, *mut Desc)> {
        let row_bytes = size_of::<R>() as u32;
        let at = self.header().tables as usize;
        if at >= MOST_TABLES {
            return None;
        }
        let (offset, rows) = self.map(u64::from(capacity) * u64::from(row_bytes))?;
        let header = self.header();
        let desc = header.descs.get_mut(at)?;
        *desc = Desc {
            kind: R::KIND as u32,
            thread,
            offset,
            row_bytes,
            capacity,
            count: 0,
            dropped: 0,
        };
        let desc = std::ptr::from_mut(desc);
        header.tables = at as u32 + 1;
        Some((rows.cast(), desc))
    }

    /// Adds a communicator; gives its index.
    pub fn add_comm(&mut self, comm: CommRow) -> Option<u16> {
        const ROOM: u32 = 4096;
        if self.comms.is_none() {
            let (rows, desc) = self.table::<CommRow>(0, ROOM)?;
            // SAFETY: fresh room that is only written here, under the process lock.
            self.comms = Some(unsafe { Table::new(rows, desc, true) });
        }
        let comms = self.comms.as_mut()?;
        let hash = comm.hash;
        comms
            .find_or_push(hash, |c| c.hash == hash, || comm)
            .and_then(|i| u16::try_from(i).ok())
    }

    /// Writes `rows` as the table of modules, in place of an earlier one.
    pub fn set_modules(&mut self, modules: &[ModuleRow]) {
        let old = self
            .header()
            .descs
            .iter_mut()
            .find(|d| d.kind == Kind::Modules as u32);
        if let Some(old) = old {
            old.count = 0;
        }
        if let Some((rows, desc)) = self.table::<ModuleRow>(0, modules.len() as u32) {
            // SAFETY: room for as many rows was just made.
            unsafe {
                std::ptr::copy_nonoverlapping(modules.as_ptr(), rows, modules.len());
                (*desc).count = modules.len() as u32;
            }
        }
    }

    /// The same data without unused room.
    pub fn blob(&self) -> Vec<u8> {
        let mut header = *self.header();
        let mut body: Vec<u8> = Vec::new();
        let start = header_bytes(&header).len() as u64;
        for i in 0..header.tables as usize {
            let Some(desc) = header.descs.get_mut(i) else {
                break;
            };
            let mut rows = self.read_back(desc);
            let count = rows.len() as u32 / desc.row_bytes.max(1);
            (desc.offset, desc.capacity, desc.count) = (start + body.len() as u64, count, count);
            body.append(&mut rows);
        }
        let mut out = header_bytes(&header).to_vec();
        out.append(&mut body);
        out
    }

    /// Reads the used part of a table back from the file's own pages.
    pub fn read_back(&self, desc: &Desc) -> Vec<u8> {
        let bytes = desc.count as usize * desc.row_bytes as usize;
        let mut out = vec![0u8; bytes];
        let mut done = 0;
        while done < bytes {
            // SAFETY: reads into our own buffer within its bounds.
            let n = unsafe {
                libc::pread(
                    self.fd,
                    out.as_mut_ptr().add(done).cast(),
                    bytes - done,
                    (desc.offset as usize + done) as libc::off_t,
                )
            };
            if n <= 0 {
                return Vec::new();
            }
            done += n as usize;
        }
        out
    }

    /// The directory of the file.
    pub fn directory(&self) -> Option<std::path::PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(self.path.as_bytes()));
        path.parent().map(Path::to_path_buf)
    }

    /// Removes the file; the mapping stays usable.
    pub fn remove(&self) {
        // SAFETY: our own path.
        unsafe { libc::unlink(self.path.as_ptr()) };
    }
}
