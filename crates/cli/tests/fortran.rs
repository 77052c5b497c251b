//! Programs with `mpi_f08` compiled by `headwater fc`: the module that it makes is that of the library.

mod support;

use std::path::Path;
use std::process::Command;
use support::{headwater, said, target};

/// Stops with a number of its own where something is not as the MPI standard says.
const PROGRAM: &str = r#"
program checks
  use mpi_f08
  use iso_c_binding, only: c_associated, c_loc, c_ptr
  implicit none
  integer :: rank, size, left, error, count, a(4), b(4)
  integer, target :: buffer(1000)
  type(c_ptr) :: detached
  integer(MPI_ADDRESS_KIND) :: lower, extent
  logical :: flag
  type(MPI_Comm) :: half
  type(MPI_Datatype) :: pair
  type(MPI_Group) :: group
  type(MPI_Op) :: sum
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  call MPI_Init(ierror=error)
  if (error /= MPI_SUCCESS) stop 1
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(comm=MPI_COMM_WORLD, size=size)
  left = mod(rank + size - 1, size)
  a = rank
  b = -1
  call MPI_Irecv(b(1), 2, MPI_INTEGER, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(a, 2, MPI_INTEGER, mod(rank + 1, size), 5, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  if (statuses(1)%MPI_SOURCE /= left .or. statuses(1)%MPI_TAG /= 5 .or. b(2) /= left) stop 2
  call MPI_Get_count(statuses(1), MPI_INTEGER, count)
  if (count /= 2) stop 3
  if (requests(1) /= MPI_REQUEST_NULL .or. MPI_COMM_WORLD == MPI_COMM_SELF) stop 4
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half)
  call MPI_Comm_group(half, group)
  call MPI_Group_size(group, count)
  if (count /= (size + 1 - mod(rank, 2))/2) stop 5
  call MPI_Type_contiguous(2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  call MPI_Type_get_extent(pair, lower, extent)
  if (extent /= 8) stop 6
  call MPI_Sendrecv(a, 1, pair, left, 6, b, 1, pair, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status)
  if (status%MPI_TAG /= 6) stop 7
  call MPI_Sendrecv(a, 1, pair, left, 6, b, 1, pair, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Op_create(added, .true., sum)
  call MPI_Allreduce(a, b, 4, MPI_INTEGER, sum, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, a, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (any(a /= size*(size - 1)/2) .or. any(a /= b)) stop 8
  call MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, half, flag, MPI_STATUS_IGNORE)
  call MPI_Comm_free(half)
  if (flag .or. half /= MPI_COMM_NULL) stop 9
  call MPI_Buffer_attach(buffer, 4000)
  call MPI_Buffer_detach(detached, count)
  if (count /= 4000 .or. .not. c_associated(detached, c_loc(buffer))) stop 12
  if (MPI_Wtick() <= 0 .or. MPI_Wtime() < 0) stop 10
  if (rank == 0) print '(a)', 'all good'
  call MPI_Finalize()
contains
  subroutine added(from, into, many, of)
    use iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: from, into
    integer :: many
    type(MPI_Datatype) :: of
    integer, pointer :: x(:), y(:)
    if (of /= MPI_INTEGER) stop 11
    call c_f_pointer(from, x, [many])
    call c_f_pointer(into, y, [many])
    y = x + y
  end subroutine
end program
"#;

#[test]
fn the_made_module_is_that_of_the_library() {
    let there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let config = Path::new("/usr/lib/llvm-19/bin/llvm-config");
    if !(there("flang-new-19") && there("mpif90.openmpi") && config.exists()) {
        eprintln!("flang 19 with LLVM's headers, or Open MPI, is not installed: not tested");
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("checks.f90"), PROGRAM).expect("writes");
    std::fs::create_dir(at("bin")).expect("a directory");
    let found = which("mpif90.openmpi");
    std::os::unix::fs::symlink(found, at("bin/mpif90")).expect("links");
    let path = std::env::var("PATH").unwrap_or_default();
    // The plugin stays, the modules that an earlier version of this program made do not.
    let cache = target().join("tmp/plugins");
    for made in std::fs::read_dir(cache.join("headwater"))
        .into_iter()
        .flatten()
    {
        let made = made.expect("an entry");
        if made.file_name().to_string_lossy().starts_with("mpi-") {
            std::fs::remove_dir_all(made.path()).expect("removes");
        }
    }
    let out = headwater(dir.path())
        .env("PATH", format!("{}:{path}", at("bin").display()))
        .env("XDG_CACHE_HOME", &cache)
        .env("HEADWATER_LLVM", "19")
        .args(["fc", "-O2", "-g", "checks.f90", "-o", "checks"])
        .output()
        .expect("runs");
    assert!(out.status.success(), "{}", said(&out));
    let out = Command::new("mpirun.openmpi")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .args(["--oversubscribe", "-n", "3"])
        .args(["--mca", "mpi_yield_when_idle", "1"])
        .arg(at("checks"))
        .output()
        .expect("mpirun starts");
    assert!(out.status.success(), "{}", said(&out));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "all good\n");
}

/// Where a program of `PATH` is.
fn which(program: &str) -> std::path::PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|dir| dir.join(program));
    places.find(|p| p.exists()).expect("it is in PATH")
}
