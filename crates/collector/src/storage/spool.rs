//! The spool file of this process.
//!
//! It is mapped and shared, so the kernel keeps what was written however the process ends. Disk space is reserved
//! before a row is written: writing to a hole of a mapped file on a full disk would end the program with a bus error.

use crate::guest::{descriptors, memory, uncancelled};
use crate::storage::{index::Index, resources, table::Table};
use headwater_format::spool::layout::{
    CommRow, Desc, FileHeader, Kind, MAGIC, MOST_TABLES, ModuleRow, PROCESS_ENDING, ResourceRow,
    Row, VERSION, ending, head_bytes, is_wrapper,
};
use headwater_format::spool::merge::Source;
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{IntoRawFd, RawFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The spool takes more memory only if at least this many bytes remain for the program.
const LEFT: usize = 1 << 20;

/// Bytes of a table for which disk space is reserved from the start.
pub const FIRST_BYTES: u64 = 1 << 16;

/// The same for a table that most threads hardly fill.
pub const FEW_BYTES: u64 = 1 << 13;

/// Tables for whose descriptors disk space is reserved from the start.
const FEW_TABLES: usize = 256;

/// Communicators that have a row of their own.
pub const MOST_COMMS: u32 = 4096;

/// An open, mapped spool file.
pub struct Spool {
    file: Opened,
    length: u64,
    /// What the file grows by for each table is rounded up to this many bytes, because the file is mapped by pages.
    page: u64,
    header: *mut FileHeader,
    /// Bytes of the header for which disk space is reserved.
    header_ready: u64,
    path: CString,
    comms: Option<Table<CommRow>>,
    resources: Option<Table<ResourceRow>>,
}

// SAFETY: the pointers are to this process's mapping, and the spool is used only under the process lock.
unsafe impl Send for Spool {}

/// The file of a process from before it became this program.
pub struct Earlier {
    path: PathBuf,
    /// Whether it says that the process only started this program.
    pub is_wrapper: bool,
    /// CPU time of what is in it, nanoseconds.
    pub cpu_ns: u64,
}

impl Earlier {
    /// Removes it.
    pub fn remove(&self) {
        // What cannot be removed prevents the recording of this program, which has a file of the same name.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// An open file, and which one it was. A program may close descriptors that it does not know. The number may then
/// belong to a file of the program.
#[derive(Clone, Copy)]
pub struct Opened {
    fd: RawFd,
    which: (u64, u64),
}

impl Opened {
    /// No file.
    pub const NONE: Self = Self {
        fd: -1,
        which: (0, 0),
    };

    fn new(fd: RawFd) -> Option<Self> {
        identity(fd).map(|which| Self { fd, which })
    }

    /// Reserves disk space for `bytes` at `offset`, if the file system can promise it; `None` if there is none.
    pub fn reserve(self, offset: u64, bytes: u64) -> Option<()> {
        self.is_ours()?;
        reserve(self.fd, offset, bytes)
    }

    fn is_ours(self) -> Option<()> {
        (identity(self.fd)? == self.which).then_some(())
    }
}

/// What the system reports about an open file.
fn status(file: RawFd) -> Option<libc::stat> {
    // SAFETY: a zeroed structure is filled by the call.
    unsafe {
        let mut now: libc::stat = std::mem::zeroed();
        (libc::fstat(file, &mut now) == 0).then_some(now)
    }
}

/// Device and inode number of a file.
fn identity(file: RawFd) -> Option<(u64, u64)> {
    status(file).map(|s| (s.st_dev, s.st_ino))
}

/// Makes a directory for the recording, and missing parent directories, with access for this user alone. Another user
/// who can write to it could make ranks write to places where only this user may write.
pub fn make(directory: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

/// The file of a process in a directory.
fn path_of(directory: &Path, host: &str, rank: u32, pid: u32) -> PathBuf {
    directory.join(format!("{host}.{rank}.{pid}{PROCESS_ENDING}"))
}

/// Whether a file may have so many bytes.
pub fn may_be_as_long(bytes: u64) -> bool {
    // SAFETY: a zeroed structure is filled by the call.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) == 0 && limit.rlim_cur >= bytes
    }
}

/// Whether the disk was full, or the user's quota used up, when the file was to grow.
static DISK_FULL: AtomicBool = AtomicBool::new(false);

/// Whether the file could once not grow because the disk was full.
pub fn disk_was_full() -> bool {
    DISK_FULL.load(Ordering::Relaxed)
}

fn reserve(file: RawFd, offset: u64, bytes: u64) -> Option<()> {
    let end = offset + bytes;
    // Growing a file beyond its limit would send the program a signal.
    may_be_as_long(end).then_some(())?;
    // SAFETY: our own file and plain numbers.
    unsafe {
        if uncancelled::allocate(file, offset, bytes) {
            return Some(());
        }
        let error = *libc::__errno_location();
        if [libc::ENOSPC, libc::EDQUOT].contains(&error) {
            DISK_FULL.store(true, Ordering::Relaxed);
        }
        // Some network file systems just do not know the call.
        let unknown = [libc::EOPNOTSUPP, libc::ENOSYS].contains(&error);
        let now = unknown.then(|| status(file)).flatten()?;
        let long_enough = now.st_size as u64 >= end;
        (long_enough || libc::ftruncate(file, end as libc::off_t) == 0).then_some(())
    }
}

/// Maps a new file of so many bytes at `path`, for which disk space is reserved. It is mapped until the process ends, and
/// the kernel keeps what was written however that happens. A file of this name that is there is removed: another process
/// may still have it mapped, so it is not made shorter.
pub fn map_new(path: &Path, bytes: usize) -> Option<std::ptr::NonNull<u8>> {
    let _ = std::fs::remove_file(path);
    let path = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    let new = libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
    // SAFETY: a C string and plain flags.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | new | libc::O_CLOEXEC, 0o644) };
    if fd < 0 {
        return None;
    }
    let reserved = memory::room(bytes + LEFT)
        .then(|| reserve(fd, 0, bytes as u64))
        .flatten();
    let at = reserved.map(|()| {
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                libc::MAP_SHARED,
                fd,
                0,
            )
        }
    });
    uncancelled::close(fd);
    let at = at.filter(|at| *at != libc::MAP_FAILED)?;
    // SAFETY: the fresh mapping. A kernel that does not know such advice refuses it.
    unsafe { libc::madvise(at, bytes, libc::MADV_POPULATE_WRITE) };
    std::ptr::NonNull::new(at.cast())
}

impl Spool {
    /// What this process made of itself when it was another program, before `exec`.
    pub fn earlier(dir: &Path, host: &str, rank: u32, pid: u32) -> Option<Earlier> {
        let path = path_of(dir, host, rank, pid);
        let mut begin = Vec::new();
        let file = File::open(&path).ok()?;
        file.take(head_bytes(0)).read_to_end(&mut begin).ok()?;
        let ended = ending(&begin)?;
        Some(Earlier {
            path,
            is_wrapper: is_wrapper(ended),
            cpu_ns: ended.1,
        })
    }

    /// Makes the new file `<host>.<rank>.<pid>.spool` in `dir`. Fails if it exists: in containers, process numbers
    /// repeat.
    pub fn create(dir: &Path, host: &str, rank: u32, pid: u32) -> Option<Self> {
        make(dir).ok()?;
        let path = path_of(dir, host, rank, pid);
        let path = CString::new(path.into_os_string().into_encoded_bytes()).ok()?;
        let new = libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let flags = libc::O_RDWR | new | libc::O_CLOEXEC;
        // SAFETY: a C string and plain flags.
        let fd = unsafe { libc::open(path.as_ptr(), flags, 0o644) };
        if fd < 0 {
            return None;
        }
        let mut this = Self {
            file: Opened::new(descriptors::out_of_the_way(fd))?,
            length: 0,
            page: memory::page() as u64,
            header: std::ptr::null_mut(),
            header_ready: head_bytes(FEW_TABLES).next_multiple_of(memory::page() as u64),
            path,
            comms: None,
            resources: None,
        };
        let bytes = size_of::<FileHeader>() as u64;
        let header = this.map(bytes, this.header_ready)?;
        this.header = header.1.cast();
        let h = this.header();
        (h.magic, h.version, h.pid) = (MAGIC, VERSION, pid);
        Some(this)
    }

    /// Maps `bytes` more of the file, and reserves disk space for the first `ready` of them. Returns the offset and
    /// the address.
    fn map(&mut self, bytes: u64, ready: u64) -> Option<(u64, *mut u8)> {
        let bytes = bytes.next_multiple_of(self.page);
        let ready = ready.next_multiple_of(self.page).min(bytes);
        let offset = self.length;
        if !memory::room(bytes as usize + LEFT) {
            return None;
        }
        self.file.reserve(offset, ready)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping at an address that the kernel chooses.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes as usize,
                protection,
                libc::MAP_SHARED,
                self.file.fd,
                offset as libc::off_t,
            )
        };
        if at == libc::MAP_FAILED {
            return None;
        }
        self.length = offset + bytes;
        // SAFETY: within the fresh mapping. A kernel that does not know such advice refuses it.
        unsafe {
            // Otherwise the kernel reads ahead: many pages of zeros for each page that is needed.
            libc::madvise(at, bytes as usize, libc::MADV_RANDOM);
            // The first write to a page of a file may wait for the disk: do that now, not in a call.
            libc::madvise(at, ready as usize, libc::MADV_POPULATE_WRITE);
        }
        Some((offset, at.cast()))
    }

    /// The header. Only the holder of the process lock or the owner of a field may write.
    pub fn header(&self) -> &'static mut FileHeader {
        // SAFETY: mapped until the process ends and large enough; fields are written by one thread at a time.
        unsafe { &mut *self.header }
    }

    /// Adds a table of `capacity` rows for `thread` that can be searched if it is `indexed`.
    pub fn table<R: Row>(&mut self, thread: u32, capacity: u32, indexed: bool) -> Option<Table<R>> {
        self.table_from(thread, capacity, indexed, FIRST_BYTES)
    }

    /// The same with disk space for the first `first` bytes from the start.
    pub fn table_from<R: Row>(
        &mut self,
        thread: u32,
        capacity: u32,
        indexed: bool,
        first: u64,
    ) -> Option<Table<R>> {
        let index = if indexed {
            Index::new(capacity)?
        } else {
            Index::none()
        };
        let (rows, desc) = self.rows(thread, capacity, first)?;
        // SAFETY: fresh room in the file, which nobody else gets.
        Some(unsafe { Table::new(self.file, rows, desc, index, first) })
    }

    fn rows<R: Row>(
        &mut self,
        thread: u32,
        capacity: u32,
        ready: u64,
    ) -> Option<(*mut R, *mut Desc)> {
        let row_bytes = size_of::<R>() as u32;
        let at = self.header().tables as usize;
        if at >= MOST_TABLES {
            return None;
        }
        let head = head_bytes(at + 1);
        if head > self.header_ready {
            let more = head.next_multiple_of(self.page) - self.header_ready;
            self.file.reserve(self.header_ready, more)?;
            self.header_ready += more;
        }
        let (offset, rows) = self.map(u64::from(capacity) * u64::from(row_bytes), ready)?;
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

    /// Makes a table of one row, which only its writer uses.
    pub fn row<R: Row + Default>(&mut self, thread: u32) -> Option<&'static mut R> {
        let mut table = self.table::<R>(thread, 1, false)?;
        let row = table.push(R::default())?;
        let row = std::ptr::from_mut(table.get(row)?);
        // SAFETY: in the mapping, which stays. The table, which could lend it again, is gone.
        Some(unsafe { &mut *row })
    }

    /// Adds a communicator, and returns its index. If the table is full, returns `same_members`, the index of an
    /// earlier one.
    pub fn add_comm(&mut self, comm: CommRow, same_members: Option<u16>) -> Option<u16> {
        if self.comms.is_none() {
            self.comms = Some(self.table(0, MOST_COMMS, true)?);
        }
        let comms = self.comms.as_mut()?;
        let hash = comm.hash;
        let is_new = !comms.has(hash, |c| c.hash == hash);
        if is_new && comms.len() == MOST_COMMS && same_members.is_some() {
            return same_members;
        }
        comms
            .find_or_push(hash, |c| c.hash == hash, || comm)
            .and_then(|i| u16::try_from(i).ok())
    }

    /// The table of what the process uses.
    pub fn resources(&mut self) -> Option<&mut Table<ResourceRow>> {
        if self.resources.is_none() {
            let bytes = u64::from(resources::ROWS) * size_of::<ResourceRow>() as u64;
            self.resources = Some(self.table_from(0, resources::ROWS, false, bytes)?);
        }
        self.resources.as_mut()
    }

    /// Whether an open file is that of the spool.
    pub fn is(&self, file: RawFd) -> bool {
        identity(file).is_some_and(|which| which == self.file.which)
    }

    /// Writes the table of modules, which replaces earlier ones. Those stay if there is no room for it.
    pub fn set_modules(&mut self, modules: &[ModuleRow]) {
        let bytes = size_of_val(modules) as u64;
        let Some((rows, desc)) = self.rows::<ModuleRow>(0, modules.len() as u32, bytes) else {
            return;
        };
        // SAFETY: room for as many rows was just made.
        unsafe {
            std::ptr::copy_nonoverlapping(modules.as_ptr(), rows, modules.len());
            (*desc).count = modules.len() as u32;
        }
        let header = self.header();
        let tables = header.descs.iter_mut().take(header.tables as usize);
        for old in tables.filter(|d| d.kind == Kind::Modules as u32) {
            if !std::ptr::eq(old, desc) {
                old.count = 0;
            }
        }
    }

    /// The file and its header, for merging the contents; no header if the file is no longer ours.
    pub fn written(&self) -> (Written, Option<&'static FileHeader>) {
        let written = Written {
            file: self.file.fd,
            directory: self.directory().unwrap_or_default(),
        };
        (written, self.file.is_ours().map(|()| &*self.header()))
    }

    /// The directory of the file.
    pub fn directory(&self) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(self.path.as_bytes()));
        path.parent().map(Path::to_path_buf)
    }

    /// Begins to write the contents of the file to the disk, and does not wait.
    pub fn write_out(&self) -> Option<()> {
        (identity(self.file.fd)? == self.file.which).then_some(())?;
        // SAFETY: our own file and plain numbers.
        unsafe { libc::sync_file_range(self.file.fd, 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
        Some(())
    }

    /// Removes the file; the mapping stays usable.
    pub fn remove(&self) {
        // SAFETY: our own path.
        unsafe { libc::unlink(self.path.as_ptr()) };
    }
}

/// A process file at its end, to be read again.
pub struct Written {
    file: RawFd,
    directory: PathBuf,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            file: Opened::NONE.fd,
            directory: PathBuf::new(),
        }
    }
}

impl Source for Written {
    fn directory(&self) -> &Path {
        &self.directory
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> bool {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|r| !r.is_empty()) {
            let at = (offset + done as u64) as libc::off_t;
            // SAFETY: reads into our own buffer within its bounds.
            let n = unsafe { libc::pread(self.file, rest.as_mut_ptr().cast(), rest.len(), at) };
            if n <= 0 {
                return false;
            }
            done += n as usize;
        }
        true
    }

    fn owner(&self) -> Option<u32> {
        status(self.file).map(|s| s.st_uid)
    }

    fn may_be_as_long(&self, bytes: u64) -> bool {
        may_be_as_long(bytes)
    }

    fn close(&self, file: File) -> bool {
        // Network file systems report only here that there was no room.
        // SAFETY: a descriptor that nobody else has.
        unsafe { libc::close(file.into_raw_fd()) == 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::hash::mix;

    #[test]
    fn modules_are_those_of_the_last_look_that_had_room() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut spool = Spool::create(dir.path(), "node", 0, 1).expect("a spool");
        let module = ModuleRow {
            base: 0,
            start: 0,
            end: 0,
            id_bytes: 0,
            id: [0; 32],
            path: [0; 448],
        };
        let counts = |spool: &Spool| {
            let tables = spool.header().descs.iter();
            let counts: Vec<u32> = tables.map(|d| d.count).filter(|c| *c > 0).collect();
            counts
        };
        for n in 1..5 {
            spool.set_modules(&vec![module; n]);
            assert_eq!(counts(&spool), [n as u32]);
        }
        spool.header().tables = MOST_TABLES as u32;
        spool.set_modules(&[module]);
        assert_eq!(counts(&spool), [4]);
    }

    #[test]
    fn tables_begin_at_pages_however_large_these_are() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut spool = Spool::create(dir.path(), "node", 0, 1).expect("a spool");
        spool.length = 0;
        spool.page = 64 << 10;
        for n in 1..4u32 {
            spool.table::<CommRow>(n, 1000 * n, true).expect("a table");
        }
        let tables = spool.header().descs.iter().take(3);
        assert!({ tables }.all(|d| d.offset.is_multiple_of(64 << 10)));
    }

    #[test]
    fn a_table_takes_room_as_it_grows() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut spool = Spool::create(dir.path(), "node", 0, 1).expect("a spool");
        let file = dir.path().join(format!("node.0.1{PROCESS_ENDING}"));
        let bytes = || std::fs::metadata(&file).map_or(0, |m| m.len());
        const ROWS: u64 = 50_000;
        let mut table = spool
            .table::<CommRow>(0, ROWS as u32, true)
            .expect("a table");
        let before = bytes();
        for at in 0..ROWS {
            let (hash, size) = (mix(at), 2 * at);
            let row = CommRow { hash, size };
            assert_eq!(
                table.find_or_push(hash, |r| r.hash == hash, || row),
                Some(at as u32)
            );
        }
        assert!(bytes() > before + (ROWS - 5000) * size_of::<CommRow>() as u64 - FIRST_BYTES);
        assert_eq!(table.get(40_000).map(|r| r.size), Some(80_000));
        assert_eq!(
            table.push(CommRow::default()),
            None,
            "the capacity is the end"
        );
    }
}
