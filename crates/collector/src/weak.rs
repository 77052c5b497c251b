//! Weak references of the program to MPI functions that its library does not have.
//!
//! A program may ask by a weak reference whether there is a function, as mpi4py does for those of MPI 4, and do
//! without it. Our wrapper answers for every function of the table, so such references are undone as the loader
//! would have left them: they become null. That is done in `MPI_Init`; who asks before, by `dlsym` or in a library
//! that is opened later finds our wrapper, which then fails.

use crate::abi;
use crate::trampoline::C_NAMES;
use std::ffi::CStr;
use std::sync::Once;

/// Kinds of relocations that hold the address of a symbol.
#[cfg(target_arch = "x86_64")]
const ADDRESS_KINDS: [u32; 3] = [1, 6, 7];
#[cfg(target_arch = "aarch64")]
const ADDRESS_KINDS: [u32; 3] = [257, 1025, 1026];

/// Entries of the dynamic section.
mod tag {
    pub const JUMP_BYTES: i64 = 2;
    pub const STRINGS: i64 = 5;
    pub const SYMBOLS: i64 = 6;
    pub const RELOCATIONS: i64 = 7;
    pub const RELOCATION_BYTES: i64 = 8;
    pub const JUMPS: i64 = 23;
}

/// An entry of the dynamic section.
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// `Elf64_Rela`
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// `Elf64_Sym`
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

/// A place that holds the address of one of our wrappers.
struct Slot {
    at: u64,
    /// Index of the function.
    function: u32,
}

/// What is looked for, and where it was found.
#[derive(Default)]
struct Search {
    /// First address of this object and the one behind it.
    ours: (u64, u64),
    slots: Vec<Slot>,
    /// Places to be made null.
    missing: Vec<u64>,
}

/// Undoes the weak references of all modules to wrappers behind which there is nothing. To be called when the
/// library is there; once, so that no two threads do it at a time.
pub fn undo() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where nothing is found, nothing is known to be missing.
        if abi::pmpi("MPI_Init") == 0 {
            return;
        }
        let mut search = Search::default();
        visit(find_ours, &mut search);
        visit(find_slots, &mut search);
        // The library is asked when the loader's lock is free, and what was found is looked at again under it:
        // its module may be gone.
        let missing = |s: &Slot| abi::real(s.function, s.at) == 0;
        search.missing = search
            .slots
            .iter()
            .filter(|s| missing(s))
            .map(|s| s.at)
            .collect();
        if !search.missing.is_empty() {
            visit(find_slots, &mut search);
        }
    });
}

type Visit = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut libc::c_void) -> libc::c_int;

fn visit(each: Visit, search: &mut Search) {
    // SAFETY: the callback gets our structure back and is called before this function returns.
    unsafe { libc::dl_iterate_phdr(Some(each), std::ptr::from_mut(search).cast()) };
}

/// Makes the place null; `guarded` says whether the loader has made it read-only.
fn clear(at: u64, guarded: bool) {
    // SAFETY: in a module that is there now; its page stays what it was for everybody else.
    unsafe {
        let page = page_bytes();
        let start = (at & !(page - 1)) as *mut libc::c_void;
        let protect = |flags| !guarded || libc::mprotect(start, page as usize, flags) == 0;
        if protect(libc::PROT_READ | libc::PROT_WRITE) {
            (at as *mut u64).write_volatile(0);
            protect(libc::PROT_READ);
        }
    }
}

fn page_bytes() -> u64 {
    // SAFETY: a plain query.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as u64
}

/// The part of a module's memory that its headers of one kind tell of.
fn ranges(info: &libc::dl_phdr_info, kind: u32) -> impl Iterator<Item = (u64, u64)> + '_ {
    // SAFETY: the loader gives `dlpi_phnum` headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let of_kind = headers.iter().filter(move |h| h.p_type == kind);
    of_kind.map(|h| {
        let start = info.dlpi_addr + h.p_vaddr;
        (start, start + h.p_memsz)
    })
}

unsafe extern "C" fn find_ours(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: `data` is the search passed in `undo`; `info` is valid during the call.
    let (search, info) = unsafe { (&mut *data.cast::<Search>(), &*info) };
    let here = undo as *const () as u64;
    let mut parts = ranges(info, libc::PT_LOAD);
    if parts.any(|(start, end)| (start..end).contains(&here)) {
        let start = ranges(info, libc::PT_LOAD).map(|r| r.0).min();
        let end = ranges(info, libc::PT_LOAD).map(|r| r.1).max();
        search.ours = (start.unwrap_or(0), end.unwrap_or(0));
        return 1;
    }
    0
}

unsafe extern "C" fn find_slots(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: as above.
    let (search, info) = unsafe { (&mut *data.cast::<Search>(), &*info) };
    let Some(dynamic) = ranges(info, libc::PT_DYNAMIC).next() else {
        return 0;
    };
    let entry = |tag: i64| {
        let mut at = dynamic.0 as *const Dynamic;
        // SAFETY: the dynamic section is in memory and ends with a zero tag, or where its header says.
        unsafe {
            while (at as u64) < dynamic.1 && (*at).tag != 0 {
                if (*at).tag == tag {
                    return Some((*at).value);
                }
                at = at.add(1);
            }
        }
        None
    };
    // The loader turns most of these into addresses, but not those of the kernel's object.
    let address = |tag| entry(tag).filter(|at| *at >= info.dlpi_addr);
    let (Some(symbols), Some(strings)) = (address(tag::SYMBOLS), address(tag::STRINGS)) else {
        return 0;
    };
    let tables = [
        (tag::RELOCATIONS, tag::RELOCATION_BYTES),
        (tag::JUMPS, tag::JUMP_BYTES),
    ];
    for (first, bytes) in tables {
        let (Some(first), Some(bytes)) = (address(first), entry(bytes)) else {
            continue;
        };
        let count = bytes as usize / size_of::<Relocation>();
        // SAFETY: the loader has used this very table, and it stays mapped.
        let all = unsafe { std::slice::from_raw_parts(first as *const Relocation, count) };
        for relocation in all {
            // SAFETY: the symbol that the relocation names is in the module's table.
            let symbol =
                unsafe { &*(symbols as *const Symbol).add((relocation.info >> 32) as usize) };
            if let Some(function) = weak_function(symbol, strings)
                && ADDRESS_KINDS.contains(&(relocation.info as u32))
            {
                let at = info.dlpi_addr + relocation.offset;
                // SAFETY: the loader has written the address there.
                let value = unsafe { (at as *const u64).read_volatile() };
                if !(search.ours.0..search.ours.1).contains(&value) {
                    continue;
                }
                if search.missing.contains(&at) {
                    clear(at, guarded(info, at));
                } else {
                    search.slots.push(Slot { at, function });
                }
            }
        }
    }
    0
}

/// Whether the loader has made the page of `at` read-only: it rounds both ends down.
fn guarded(info: &libc::dl_phdr_info, at: u64) -> bool {
    let down = |address: u64| address & !(page_bytes() - 1);
    ranges(info, libc::PT_GNU_RELRO)
        .any(|(start, end)| (down(start)..down(end)).contains(&down(at)))
}

/// The function of the table that a weak symbol without a definition stands for.
fn weak_function(symbol: &Symbol, strings: u64) -> Option<u32> {
    const WEAK: u8 = 2;
    if symbol.info >> 4 != WEAK || symbol.section != 0 {
        return None;
    }
    // SAFETY: names of symbols are C strings in the module's table of strings.
    let name = unsafe { CStr::from_ptr((strings + u64::from(symbol.name)) as *const _) };
    let c_names = C_NAMES.iter().step_by(2);
    let found = c_names.enumerate().find(|(_, known)| **known == name)?;
    u32::try_from(found.0).ok()
}
