//! Finds the places in loaded modules that hold addresses of symbols of other modules, as the loader has filled them.
//!
//! The loader's lock is held during the search, so the callbacks must not ask the loader.

use std::ffi::CStr;
use std::ops::Range;

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
pub struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    /// Bytes of what it names.
    pub size: u64,
}

/// A place for the address of a symbol that its module does not define.
pub struct Reference<'m> {
    /// The place.
    pub at: u64,
    /// Whether the symbol may be missing.
    pub is_weak: bool,
    name: *const libc::c_char,
    module: &'m Module<'m>,
}

impl Reference<'_> {
    /// Name of the symbol.
    pub fn name(&self) -> &CStr {
        // SAFETY: names of symbols are C strings in the module's table of strings, and it is there.
        unsafe { CStr::from_ptr(self.name) }
    }

    /// The address that it holds.
    pub fn holds(&self) -> u64 {
        // SAFETY: the loader has written an address there.
        unsafe { (self.at as *const u64).read_volatile() }
    }

    /// Makes the place null.
    pub fn clear(&self) {
        let is_guarded = self.module.is_read_only(self.at);
        // SAFETY: in a module that is loaded now. The protection of its page is the same afterwards.
        unsafe {
            let page = page_bytes();
            let start = (self.at & !(page - 1)) as *mut libc::c_void;
            let protect = |flags| !is_guarded || libc::mprotect(start, page as usize, flags) == 0;
            if protect(libc::PROT_READ | libc::PROT_WRITE) {
                (self.at as *mut u64).write_volatile(0);
                protect(libc::PROT_READ);
            }
        }
    }
}

/// A module that stays loaded while it is looked at.
pub struct Module<'i>(&'i libc::dl_phdr_info);

impl Module<'_> {
    /// Its path; empty for the program.
    pub fn path(&self) -> &CStr {
        // SAFETY: a C string of the loader's, or null.
        unsafe {
            match self.0.dlpi_name.is_null() {
                true => c"",
                false => CStr::from_ptr(self.0.dlpi_name),
            }
        }
    }

    /// From its first address to the one behind its last.
    pub fn span(&self) -> Range<u64> {
        let start = self.ranges(libc::PT_LOAD).map(|r| r.start).min();
        let end = self.ranges(libc::PT_LOAD).map(|r| r.end).max();
        start.unwrap_or(0)..end.unwrap_or(0)
    }

    /// The parts of its memory that its program headers of one kind describe.
    fn ranges(&self, kind: u32) -> impl Iterator<Item = Range<u64>> + '_ {
        let info = self.0;
        // SAFETY: the loader gives `dlpi_phnum` headers.
        let headers =
            unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        let of_kind = headers.iter().filter(move |h| h.p_type == kind);
        of_kind.map(|h| {
            let start = info.dlpi_addr + h.p_vaddr;
            start..start + h.p_memsz
        })
    }

    /// Whether the loader has made the page of `at` read-only. The loader rounds both ends down.
    fn is_read_only(&self, at: u64) -> bool {
        let down = |address: u64| address & !(page_bytes() - 1);
        self.ranges(libc::PT_GNU_RELRO)
            .any(|r| (down(r.start)..down(r.end)).contains(&down(at)))
    }

    /// Passes its references to symbols of other modules to `each`.
    pub fn references(&self, mut each: impl FnMut(&Reference<'_>)) {
        let Some(dynamic) = self.ranges(libc::PT_DYNAMIC).next() else {
            return;
        };
        let entry = |tag: i64| {
            let mut at = dynamic.start as *const Dynamic;
            // SAFETY: the dynamic section is in memory and ends with a zero tag, or where its header says.
            unsafe {
                while (at as u64) < dynamic.end && (*at).tag != 0 {
                    if (*at).tag == tag {
                        return Some((*at).value);
                    }
                    at = at.add(1);
                }
            }
            None
        };
        let base = self.0.dlpi_addr;
        // The loader turns most of these into addresses, but not those of the kernel's object.
        let address = |tag| entry(tag).filter(|at| *at >= base);
        let (Some(symbols), Some(strings)) = (address(tag::SYMBOLS), address(tag::STRINGS)) else {
            return;
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
            let of_addresses = all
                .iter()
                .filter(|r| ADDRESS_KINDS.contains(&(r.info as u32)));
            for relocation in of_addresses {
                let number = (relocation.info >> 32) as usize;
                // SAFETY: the symbol that the relocation names is in the module's table.
                let symbol = unsafe { &*(symbols as *const Symbol).add(number) };
                const WEAK: u8 = 2;
                if symbol.section == 0 {
                    each(&Reference {
                        at: base + relocation.offset,
                        is_weak: symbol.info >> 4 == WEAK,
                        name: (strings + u64::from(symbol.name)) as *const _,
                        module: self,
                    });
                }
            }
        }
    }
}

/// Passes all loaded modules to `each`, in the order in which they were loaded, under the loader's lock.
pub fn modules<F: FnMut(&Module<'_>)>(mut each: F) {
    unsafe extern "C" fn visit<F: FnMut(&Module<'_>)>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: `data` is the function below; `info` is valid during the call.
        unsafe { (*data.cast::<F>())(&Module(&*info)) };
        0
    }
    // SAFETY: the callback gets our function back and is called before this returns.
    unsafe { libc::dl_iterate_phdr(Some(visit::<F>), std::ptr::from_mut(&mut each).cast()) };
}

fn page_bytes() -> u64 {
    crate::guest::memory::page() as u64
}
