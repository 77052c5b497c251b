//! A process whose library does what a test says.

use crate::args::Args;
use crate::library::{Conversion, Library};
use crate::parameters::{Memo, Parameters, Sink, Tables};
use headwater_mpi_abi::constants::ABSENT;
use headwater_mpi_abi::{Evidence, FUNCTIONS, Family, fields, id_of, recognise};

pub const WORLD: u64 = 0x1000;
pub const DOUBLE: u64 = 0x2000;
pub const INT: u64 = 0x2100;
pub const SUM: u64 = 0x2200;
pub const REQUEST_NULL: u64 = 0x2300;
pub const COMM_NULL: u64 = 0x2400;
pub const IN_PLACE: u64 = 1;
/// A communicator with two dimensions and one between two groups.
pub const GRID: u64 = 0x5100;
pub const BETWEEN: u64 = 0x5200;
/// Ranks of every communicator.
pub const SIZE: usize = 4;
/// A buffer.
pub const BUF: u64 = 0x7000_0000;

extern "C" fn size(_: u64, n: *mut i32) -> i32 {
    // SAFETY: as the function is defined.
    unsafe { *n = SIZE as i32 };
    0
}

extern "C" fn rank(_: u64, n: *mut i32) -> i32 {
    // SAFETY: as the function is defined.
    unsafe { *n = 1 };
    0
}

extern "C" fn dimensions(_: u64, n: *mut i32) -> i32 {
    // SAFETY: as the function is defined.
    unsafe { *n = 2 };
    0
}

extern "C" fn two_groups(comm: u64, flag: *mut i32) -> i32 {
    // SAFETY: as the function is defined.
    unsafe { *flag = i32::from(comm == BETWEEN) };
    0
}

extern "C" fn others(_: u64, n: *mut i32) -> i32 {
    // SAFETY: as the function is defined.
    unsafe { *n = 2 };
    0
}

/// The third word of a status is the bytes of its message.
extern "C" fn bytes(status: *const i32, _: u64, n: *mut i64) -> i32 {
    // SAFETY: as the function is defined.
    unsafe { *n = i64::from(*status.add(2)) };
    0
}

extern "C" fn file_of_fortran(number: i32) -> u64 {
    0x9000 + number as u64
}

fn find(name: &str) -> usize {
    match name {
        "MPI_Comm_size" => size as *const () as usize,
        "MPI_Comm_rank" => rank as *const () as usize,
        "MPI_Comm_test_inter" => two_groups as *const () as usize,
        "MPI_Comm_remote_size" => others as *const () as usize,
        "MPI_Cartdim_get" => dimensions as *const () as usize,
        "MPI_Get_elements_x" => bytes as *const () as usize,
        "MPI_File_f2c" => file_of_fortran as *const () as usize,
        _ => 0,
    }
}

fn symbol(name: &str) -> u64 {
    match name {
        "ompi_mpi_double" => DOUBLE,
        "ompi_mpi_int" => INT,
        "ompi_mpi_op_sum" => SUM,
        "ompi_request_null" => REQUEST_NULL,
        _ => 0,
    }
}

fn library(family: Family) -> &'static Library {
    let abi = recognise(&Evidence {
        ompi_world: family == Family::OpenMpi,
        mpir: family == Family::Mpich,
        standard: None,
        object: "",
        version: "",
    });
    let abi = abi.expect("a family");
    // SAFETY: there is no function.
    let of = unsafe { Conversion::new(0, abi.handle_bytes) };
    Box::leak(Box::new(Library {
        abi,
        world: abi.comm_world.unwrap_or(WORLD),
        comm_null: abi.comm_null.unwrap_or(COMM_NULL),
        byte: abi.byte.unwrap_or(2),
        fortran_ignore: Vec::new(),
        fortran_in_place: vec![0x6000],
        comm: of,
        request: of,
        datatype: of,
        message: of,
        win: of,
        group: of,
        session: of,
        version: String::new(),
        find,
    }))
}

/// Lists and texts as they come.
#[derive(Default)]
pub struct Kept {
    pub lists: Vec<Vec<i64>>,
    pub texts: Vec<String>,
}

impl Sink for Kept {
    fn list(&mut self, values: &[i64]) -> i64 {
        self.lists.push(values.to_vec());
        self.lists.len() as i64 - 1
    }

    fn text(&mut self, bytes: &[u8]) -> i64 {
        self.texts.push(String::from_utf8_lossy(bytes).into_owned());
        self.texts.len() as i64 - 1
    }
}

/// What a call has said.
pub struct Said {
    function: u16,
    pub values: Vec<i64>,
    pub kept: Kept,
    /// The arguments as the library got them.
    pub args: Args,
}

impl Said {
    /// The value of a field.
    pub fn get(&self, name: &str) -> i64 {
        let at = fields(self.function).iter().position(|f| f.name == name);
        self.values[at.unwrap_or_else(|| panic!("no field {name}"))]
    }

    /// The list of a field, none if it is absent.
    pub fn list(&self, name: &str) -> &[i64] {
        match self.get(name) {
            ABSENT => &[],
            at => &self.kept.lists[at as usize],
        }
    }

    /// The text of a field.
    pub fn text(&self, name: &str) -> &str {
        &self.kept.texts[self.get(name) as usize]
    }
}

/// Rank 1 of the world.
pub struct Process {
    pub tables: Tables,
    pub threads: [Parameters; 2],
    memo: Memo,
    pub fortran: bool,
    pub result: i32,
}

impl Process {
    pub fn new() -> Self {
        Self::with(Family::OpenMpi)
    }

    pub fn with(family: Family) -> Self {
        Self {
            tables: Tables::new(library(family), 1, SIZE as u32, true, &symbol),
            threads: [0, 1].map(Parameters::new),
            memo: Memo::NOTHING,
            fortran: false,
            result: 0,
        }
    }

    /// A call of a thread; `library` is what the library does meanwhile, with the arguments as it gets them.
    pub fn call_by(
        &mut self,
        thread: usize,
        name: &str,
        passed: &[u64],
        library: impl FnOnce(&Args),
    ) -> Said {
        let id = id_of(name).expect("a function of MPI").0;
        let mut all = [0u64; 24];
        all[..passed.len()].copy_from_slice(passed);
        let registers = if cfg!(target_arch = "x86_64") { 6 } else { 8 };
        // SAFETY: more words than any call has arguments.
        let mut args = unsafe {
            let stack = all.as_ptr().add(registers);
            Args::read(all.as_ptr(), stack, 16, self.fortran)
        };
        let mut kept = Kept::default();
        let memo = &mut self.memo;
        self.threads[thread].before(&self.tables, id, &mut args, &mut kept, memo);
        library(&args);
        let (tables, result) = (&self.tables, self.result);
        let memo = &mut self.memo;
        self.threads[thread].after(tables, id, &args, result, &mut kept, memo);
        let values = self.memo.values();
        assert_eq!(
            values.len(),
            fields(id).len(),
            "{}",
            FUNCTIONS[id as usize].name
        );
        Said {
            function: id,
            values: values.to_vec(),
            kept,
            args,
        }
    }

    pub fn call(&mut self, name: &str, passed: &[u64], library: impl FnOnce(&Args)) -> Said {
        self.call_by(0, name, passed, library)
    }

    /// A call whose library does nothing that is seen.
    pub fn say(&mut self, name: &str, passed: &[u64]) -> Said {
        self.call(name, passed, |_| {})
    }
}

/// The address of a place.
pub fn at<T>(place: &T) -> u64 {
    std::ptr::from_ref(place) as u64
}

/// An `int` as it is passed.
pub fn int(value: i32) -> u64 {
    u64::from(value as u32)
}
