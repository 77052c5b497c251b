//! Lists the executable and the libraries that are loaded into the process, for the unwinder and for the spool.
//!
//! `dl_iterate_phdr` enumerates them. It takes a lock, so the signal handler must never call this.

use headwater_format::spool::layout::{ModuleRow, put_text};
use std::ffi::CStr;

/// A loaded module, with what unwinding needs from it.
pub struct Loaded {
    /// Row for the spool.
    pub row: ModuleRow,
    /// `.eh_frame_hdr` as mapped.
    pub eh_frame_hdr: Option<(u64, &'static [u8])>,
    /// `.eh_frame`, to the end of the mapped segment that holds it.
    pub eh_frame: Option<(u64, &'static [u8])>,
}

/// All modules loaded now.
pub fn loaded() -> Vec<Loaded> {
    let mut out: Vec<Loaded> = Vec::new();
    // SAFETY: the callback gets our vector back and is called before this function returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::from_mut(&mut out).cast()) };
    out
}

/// Libraries since the process started.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many were loaded.
    pub added: u64,
    /// How many were unloaded.
    pub removed: u64,
}

/// How many libraries have been loaded and unloaded since the process started.
pub fn counts() -> Counts {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        size: usize,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        if size >= size_of::<libc::dl_phdr_info>() {
            // SAFETY: `data` is what is below; `info` is as long as the loader says.
            unsafe {
                *data.cast::<Counts>() = Counts {
                    added: (*info).dlpi_adds,
                    removed: (*info).dlpi_subs,
                };
            }
        }
        1
    }
    let mut counts = Counts::default();
    // SAFETY: the callback gets our counts back and is called before this function returns.
    unsafe { libc::dl_iterate_phdr(Some(first), std::ptr::from_mut(&mut counts).cast()) };
    counts
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: `data` is the vector passed in `loaded`; `info` is valid during the call.
    let (out, info) = unsafe { (&mut *data.cast::<Vec<Loaded>>(), &*info) };
    let base = info.dlpi_addr;
    // SAFETY: the loader gives `dlpi_phnum` headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let load = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
    let (Some(start), Some(end)) = (
        load().map(|h| base + h.p_vaddr).min(),
        load().map(|h| base + h.p_vaddr + h.p_memsz).max(),
    ) else {
        return 0;
    };
    let name = if info.dlpi_name.is_null() {
        c""
    } else {
        // SAFETY: the loader's name is a C string.
        unsafe { CStr::from_ptr(info.dlpi_name) }
    };
    let path = match name.to_bytes() {
        b"" if out.is_empty() => std::fs::read_link("/proc/self/exe")
            .map_or_else(|_| Vec::new(), |p| p.into_os_string().into_encoded_bytes()),
        other => other.to_vec(),
    };
    let mut row = ModuleRow {
        base,
        start,
        end,
        id_bytes: 0,
        id: [0; 32],
        path: [0; 448],
    };
    put_text(&mut row.path, &path);
    // The segment that holds `address`, to its end in memory.
    let mapped = |address: u64| {
        let segment =
            load().find(|h| (base + h.p_vaddr..base + h.p_vaddr + h.p_memsz).contains(&address))?;
        let len = base + segment.p_vaddr + segment.p_memsz - address;
        // SAFETY: a loaded segment stays mapped as long as its module. While a module may be unloaded, nobody reads
        // it, and afterwards the tables are created again (`in_force`).
        Some(unsafe { std::slice::from_raw_parts(address as *const u8, len as usize) })
    };
    for h in headers.iter().filter(|h| h.p_type == libc::PT_NOTE) {
        if let Some(bytes) = mapped(base + h.p_vaddr) {
            let notes = bytes.get(..h.p_memsz as usize).unwrap_or(bytes);
            if let Some(id) = build_id(notes) {
                row.id_bytes = id.len().min(32) as u64;
                row.id.iter_mut().zip(id).for_each(|(a, b)| *a = *b);
            }
        }
    }
    let hdr = headers.iter().find(|h| h.p_type == libc::PT_GNU_EH_FRAME);
    let eh_frame_hdr = hdr.and_then(|h| {
        let address = base + h.p_vaddr;
        mapped(address).map(|b| (address, b.get(..h.p_memsz as usize).unwrap_or(b)))
    });
    let eh_frame = eh_frame_hdr.and_then(|(address, bytes)| {
        let at = eh_frame_address(address, bytes)?;
        mapped(at).map(|b| (at, b))
    });
    out.push(Loaded {
        row,
        eh_frame_hdr,
        eh_frame,
    });
    0
}

/// Where `.eh_frame` is, from the usual encoding of its header (signed 32 bits from the field).
fn eh_frame_address(at: u64, bytes: &[u8]) -> Option<u64> {
    const PC_RELATIVE_S32: u8 = 0x1b;
    if *bytes.first()? != 1 || *bytes.get(1)? != PC_RELATIVE_S32 {
        return None;
    }
    let offset = i32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
    Some((at + 4).wrapping_add_signed(i64::from(offset)))
}

/// The GNU build id among ELF notes.
fn build_id(mut notes: &[u8]) -> Option<&[u8]> {
    const GNU_BUILD_ID: u32 = 3;
    let word = |b: &[u8], i: usize| {
        Some(u32::from_le_bytes(
            b.get(4 * i..4 * i + 4)?.try_into().ok()?,
        ))
    };
    loop {
        let (name, desc, kind) = (
            word(notes, 0)? as usize,
            word(notes, 1)? as usize,
            word(notes, 2)?,
        );
        let desc_at = 12 + name.checked_next_multiple_of(4)?;
        if kind == GNU_BUILD_ID && notes.get(12..16)? == b"GNU\0" {
            return notes.get(desc_at..desc_at + desc);
        }
        notes = notes.get(desc_at + desc.checked_next_multiple_of(4)?..)?;
    }
}
