//! The MPI library of this process: which it is, its functions, its handles.
//!
//! Until [`learn`] has recognised the library, [`get`] and [`library`] return `None`.

use crate::guest::usage;
use crate::libraries::loader::{first, found, next, object_of, symbol};
use crate::storage::process_spool;
use headwater_mpi_abi::{Abi, Evidence, FUNCTIONS, Family, FuncId, id_of, recognise};
use headwater_mpi_call::library::{Conversion, Library};
use std::ffi::{CStr, CString};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

/// Endings of Fortran names, as in the build script.
const FORTRAN: [&str; 4] = ["_", "__", "_f08_", "_f08ts_"];

const COUNT: usize = FUNCTIONS.len();
/// Used like the number of a Fortran ending: the library's own function, for our calls.
const OWN: usize = FORTRAN.len() + 1;
static REAL: [AtomicUsize; COUNT * (OWN + 1)] = [const { AtomicUsize::new(0) }; COUNT * (OWN + 1)];
static ABI: AtomicPtr<Abi> = AtomicPtr::new(std::ptr::null_mut());
static LIBRARY: OnceLock<Library> = OnceLock::new();

/// Whether, for the call of this wrapper, the library's Fortran layer does not call the C function.
#[inline]
pub fn past_c(code: u32) -> bool {
    get().is_some_and(|a| {
        let f08 = FORTRAN.get((code >> 16) as usize - 1) == Some(&"_f08_");
        if f08 { a.f08_past_c } else { a.fortran_past_c }
    })
}

/// Whether any Fortran call goes through the C function.
#[inline]
pub fn through_c() -> bool {
    get().is_some_and(|a| !(a.f08_past_c && a.fortran_past_c))
}

/// The family, once the library is known.
#[inline]
pub fn get() -> Option<&'static Abi> {
    // SAFETY: null or an element of a static table.
    unsafe { ABI.load(Relaxed).as_ref() }
}

/// The library, once it is known.
#[inline]
pub fn library() -> Option<&'static Library> {
    LIBRARY.get()
}

/// What a wrapper calls: the library's function, or that of another tool between us and the library that defines
/// `MPI_*` as we do; 0 if there is none. It is looked up at the first call or in `MPI_Init` ([`find_all`]). Doing so
/// when this object is loaded crashes C++ programs under Open MPI.
#[inline]
pub fn real(code: u32, caller: u64) -> usize {
    let (id, kind) = ((code & 0xffff) as usize, (code >> 16) as usize);
    let Some(place) = REAL.get(kind * COUNT + id) else {
        return 0;
    };
    match place.load(Relaxed) {
        0 => find(place, id, kind, caller),
        found => found,
    }
}

/// Notes that `real` is the function behind a wrapper. If the collector is linked into the program, the linker knows
/// it.
#[inline]
pub fn is_linked_to(code: u32, real: usize) {
    let (id, kind) = ((code & 0xffff) as usize, (code >> 16) as usize);
    if let Some(place) = REAL.get(kind * COUNT + id) {
        place.store(real, Relaxed);
    }
}

#[cold]
fn find(place: &AtomicUsize, id: usize, kind: usize, caller: u64) -> usize {
    let found = if kind == 0 || kind == OWN {
        // For the program's calls: the function of another tool, if there is one. Otherwise the PMPI name, which
        // nobody overrides. If the library has no such name, the other name.
        let name = |i| C_NAMES.get(2 * id + i).copied().unwrap_or(c"");
        let plain = || next(name(0));
        let tool = if kind == 0 { plain() } else { 0 };
        let found = if tool == 0 {
            found(name(1), caller)
        } else {
            tool
        };
        match found {
            0 => plain(),
            found => found,
        }
    } else {
        let name = FUNCTIONS.get(id).map_or("", |f| f.name).to_lowercase();
        let ending = FORTRAN.get(kind - 1).copied().unwrap_or("");
        CString::new(name + ending).map_or(0, |name| found(&name, caller))
    };
    place.store(found, Relaxed);
    found
}

/// Looks up all functions that the library has. The first call of a function must not ask the loader for it: the
/// thread that holds the loader's lock, because it opens or unloads a library, may be waiting for the calling thread.
pub fn find_all() {
    if usage::IS_LINKED {
        return;
    }
    for kind in 0..=OWN {
        // Some Fortran names exist for all functions, some only for those with buffers, some only for the others.
        let has = |name| {
            id_of(name).is_some_and(|id| real((kind as u32) << 16 | u32::from(id.0), 0) != 0)
        };
        if [0, OWN].contains(&kind) || has("MPI_Init") || has("MPI_Send") {
            for id in 0..COUNT {
                real((kind << 16 | id) as u32, 0);
            }
        }
    }
}

/// A PMPI function by its C name; 0 if there is none.
pub fn pmpi(name: &str) -> usize {
    match id_of(name) {
        Some(id) => real((OWN as u32) << 16 | u32::from(id.0), 0),
        // We do not wrap this function, so its other name is the library's as well.
        None => [format!("P{name}"), name.to_string()]
            .into_iter()
            .filter_map(|name| CString::new(name).ok())
            .map(|name| found(&name, 0))
            .find(|found| *found != 0)
            .unwrap_or(0),
    }
}

/// Whether `address` is that of the library's own function, which was found before. Asks the loader nothing.
pub fn is_librarys(id: FuncId, address: u64) -> bool {
    let place = REAL.get(OWN * COUNT + id.0 as usize);
    let known = place.map_or(0, |place| place.load(Relaxed));
    known != 0 && known as u64 == address
}

fn version() -> String {
    let real = pmpi("MPI_Get_library_version");
    if real == 0 {
        return String::new();
    }
    let mut text = vec![0u8; 8192];
    let mut len = 0i32;
    // SAFETY: legal at any time; the buffer is as long as any library asks for.
    unsafe {
        let get: unsafe extern "C" fn(*mut u8, *mut i32) -> i32 = std::mem::transmute(real);
        get(text.as_mut_ptr(), &mut len);
    }
    headwater_format::spool::layout::text(&text)
}

/// The first number of the standard ABI's version; `None` if the library does not report it.
fn standard() -> Option<i32> {
    let real = Some(pmpi("MPI_Abi_get_version")).filter(|real| *real != 0)?;
    let (mut major, mut minor) = (-1i32, -1i32);
    // SAFETY: legal at any time; writes two ints.
    unsafe {
        let get: unsafe extern "C" fn(*mut i32, *mut i32) -> i32 = std::mem::transmute(real);
        get(&mut major, &mut minor);
    }
    Some(major)
}

/// The name of a library that is not known: what it says about itself, and its file.
pub fn name() -> String {
    let version = version();
    let line = version.lines().next().unwrap_or("").trim();
    let object = object_of(pmpi("MPI_Init"));
    if line.is_empty() {
        object
    } else {
        format!("{line} ({object})")
    }
}

/// Functions that are looked up to see whether another tool defines them: few tools leave all of these out.
const OFTEN_WRAPPED: [&CStr; 8] = [
    c"MPI_Send",
    c"MPI_Recv",
    c"MPI_Isend",
    c"MPI_Irecv",
    c"MPI_Waitall",
    c"MPI_Allreduce",
    c"MPI_Barrier",
    c"MPI_Finalize",
];

/// Reports which functions of another tool the program calls instead of ours: they go on to `PMPI_*` and bypass us.
pub fn say_who_stands_before_us() {
    let own = object_of(say_who_stands_before_us as *const () as usize);
    let mut names = Vec::new();
    let mut other = String::new();
    for name in OFTEN_WRAPPED {
        let first = first(name);
        let object = object_of(first);
        if first != 0 && object != own {
            other = object;
            names.push(name.to_string_lossy());
        }
    }
    if !names.is_empty() {
        let names = names.join(", ");
        process_spool::say(&format!(
            "{other} is loaded before the collector and takes {names}, so these calls were not recorded; have the collector loaded first."
        ));
    }
}

/// Finds out which library this is. Returns `None` if it is not known.
pub fn learn() -> Option<&'static Library> {
    if let Some(known) = LIBRARY.get() {
        return Some(known);
    }
    let version = version();
    let world_symbol = symbol(c"ompi_mpi_comm_world");
    let object = object_of(pmpi("MPI_Send"));
    let abi = recognise(&Evidence {
        ompi_world: world_symbol != 0,
        mpir: symbol(c"MPIR_Err_create_code") != 0,
        standard: standard(),
        object: &object,
        version: &version,
    })?;
    let convert = |f2c: &CStr, fromint: &CStr| {
        let function = match abi.family {
            Family::Mpich => 0,
            Family::OpenMpi => symbol(f2c) as usize,
            Family::Standard => symbol(fromint) as usize,
        };
        // SAFETY: the library's conversion takes an int and returns a handle.
        unsafe { Conversion::new(function, abi.handle_bytes) }
    };
    let fortran = |names: &[&CStr]| {
        names
            .iter()
            .map(|n| symbol(n))
            .filter(|a| *a != 0)
            .collect()
    };
    let library = Library {
        abi,
        world: abi.comm_world.unwrap_or(world_symbol),
        comm_null: abi
            .comm_null
            .unwrap_or_else(|| symbol(c"ompi_mpi_comm_null")),
        byte: abi.byte.unwrap_or_else(|| symbol(c"ompi_mpi_byte")),
        fortran_ignore: fortran(&[
            c"mpi_fortran_status_ignore_",
            c"mpi_fortran_statuses_ignore_",
            c"MPIR_F08_MPI_STATUS_IGNORE_OBJ",
            c"MPIR_F08_MPI_STATUSES_IGNORE_OBJ",
        ]),
        fortran_in_place: fortran(&[c"mpi_fortran_in_place_"]),
        comm: convert(c"PMPI_Comm_f2c", c"PMPI_Comm_fromint"),
        request: convert(c"PMPI_Request_f2c", c"PMPI_Request_fromint"),
        datatype: convert(c"PMPI_Type_f2c", c"PMPI_Type_fromint"),
        message: convert(c"PMPI_Message_f2c", c"PMPI_Message_fromint"),
        win: convert(c"PMPI_Win_f2c", c"PMPI_Win_fromint"),
        group: convert(c"PMPI_Group_f2c", c"PMPI_Group_fromint"),
        session: convert(c"PMPI_Session_f2c", c"PMPI_Session_fromint"),
        version,
        find: pmpi,
    };
    ABI.store(std::ptr::from_ref(abi).cast_mut(), Relaxed);
    Some(LIBRARY.get_or_init(|| library))
}

include!(concat!(env!("OUT_DIR"), "/c_names.rs"));
