//! Decodes calls with a library that is made of functions of ours, as two ranks see them.

use crate::args::Args;
use crate::buffers::CallBuffers;
use crate::decoder::{Before, Decoder};
use crate::host::Host;
use crate::library::{Conversion, Library};
use crate::mpi::Mpi;
use crate::record::{Link, Outcome, Params, Post};
use headwater_model::run::{EventKind, peer};
use headwater_mpi_abi::{Evidence, FUNCTIONS, id_of, recognise};

/// A process with all memory, in which nobody listens.
pub struct Nobody;

impl Host for Nobody {
    fn has_room(&self, _: usize) -> bool {
        true
    }

    fn stop(&self) {}

    fn say(&self, _: &str) {}

    fn add_comm(&self, hash: u64, _: u32, _: Option<u16>) -> Option<u16> {
        Some(hash as u16)
    }

    fn everybody(&self) -> Option<u64> {
        Some(WORLD)
    }

    fn session_opened(&self, _: &Args) {}
}

const WORLD: u64 = 0x1000;
const DOUBLE: u64 = 0x2000;
const STATUS: usize = 24;

extern "C" fn type_size(_: u64, size: *mut i32) -> i32 {
    // SAFETY: as the function is defined.
    unsafe { *size = 8 };
    0
}

/// Statuses whose third word is 1 are those of cancelled requests.
extern "C" fn test_cancelled(status: *const i32, flag: *mut i32) -> i32 {
    // SAFETY: as the function is defined.
    unsafe { *flag = *status.add(2) };
    0
}

fn find(name: &str) -> usize {
    match name {
        "MPI_Type_size" => type_size as *const () as usize,
        "MPI_Test_cancelled" => test_cancelled as *const () as usize,
        _ => 0,
    }
}

fn library() -> &'static Library {
    let abi = recognise(&Evidence {
        ompi_world: true,
        mpir: false,
        standard: None,
        object: "",
        version: "",
    });
    let abi = abi.expect("a family");
    // SAFETY: there is no function.
    let of = unsafe { Conversion::new(0, abi.handle_bytes) };
    Box::leak(Box::new(Library {
        abi,
        world: WORLD,
        comm_null: 1,
        byte: 2,
        fortran_ignore: Vec::new(),
        fortran_in_place: Vec::new(),
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

/// What a call is, and what it said.
struct Said {
    params: Params,
    links: Vec<Link>,
    outcome: Outcome,
}

impl Said {
    /// Id and partner of the only link, which is of this kind.
    fn only(&self, kind: EventKind) -> (u64, u32) {
        let kinds: Vec<u8> = self.links.iter().map(|l| l.kind).collect();
        assert_eq!(kinds, [kind as u8]);
        (self.links[0].id, self.links[0].peer)
    }
}

/// A rank of two.
struct Rank {
    mpi: Mpi,
    buffers: CallBuffers,
    calls: u64,
}

impl Rank {
    fn both() -> [Self; 2] {
        [0, 1].map(|rank| Self {
            mpi: Mpi::new(library(), rank, 2, false, &Nobody),
            buffers: CallBuffers::new(0, 8),
            calls: 0,
        })
    }

    /// Calls a function; `library` is what the library does meanwhile.
    fn call_from(
        &mut self,
        fortran: bool,
        name: &str,
        passed: &[u64],
        library: impl FnOnce(),
    ) -> Said {
        let id = id_of(name).expect("a function of MPI").0;
        let function = &FUNCTIONS[usize::from(id)];
        let mut all = [0u64; 24];
        all[..passed.len()].copy_from_slice(passed);
        let registers = if cfg!(target_arch = "x86_64") { 6 } else { 8 };
        // SAFETY: more words than any call has arguments.
        let mut args = unsafe {
            let stack = all.as_ptr().add(registers);
            Args::read(all.as_ptr(), stack, function.roles.len(), fortran)
        };
        self.calls += 1;
        self.buffers.links.clear();
        let post = Post {
            ctx: self.calls as u32,
            enter_ns: 100 * self.calls,
            func: id,
        };
        let shape = self.mpi.shape(id).expect("a shape");
        let mut decoder = Decoder::new(&self.mpi, function, shape, &mut args);
        let mut before = Before::NOTHING;
        decoder.before(&mut self.buffers, &post, &mut before);
        library();
        let mut adopt = |_, ctx| ctx;
        let outcome = decoder.after(&mut self.buffers, &post, &mut before, 0, &mut adopt);
        Said {
            params: before.params,
            links: self.buffers.links.clone(),
            outcome,
        }
    }

    fn call(&mut self, name: &str, passed: &[u64], library: impl FnOnce()) -> Said {
        self.call_from(false, name, passed, library)
    }

    /// A call whose library does nothing that is seen.
    fn say(&mut self, name: &str, passed: &[u64]) -> Said {
        self.call(name, passed, || {})
    }
}

fn at<T>(place: &T) -> u64 {
    std::ptr::from_ref(place) as u64
}

#[test]
fn both_ends_of_a_message_have_one_id() {
    let [mut first, mut second] = Rank::both();
    let sent = first.say("MPI_Send", &[0, 5, DOUBLE, 1, 7, WORLD]);
    let other = first.say("MPI_Send", &[0, 5, DOUBLE, 1, 8, WORLD]);
    let next = first.say("MPI_Send", &[0, 5, DOUBLE, 1, 7, WORLD]);
    let came = second.say("MPI_Recv", &[0, 9, DOUBLE, 0, 7, WORLD, 0]);
    assert_eq!((sent.params.peer, sent.params.bytes), (1, 40));
    assert_eq!(
        (came.params.peer, came.params.tag, came.params.bytes),
        (-1, 7, 72)
    );
    let (id, to) = sent.only(EventKind::Send);
    assert_eq!((to, came.only(EventKind::Recv)), (1, (id, 0)));
    assert_ne!(other.only(EventKind::Send).0, id);
    let came = second.say("MPI_Recv", &[0, 9, DOUBLE, 0, 7, WORLD, 0]);
    assert_eq!(
        next.only(EventKind::Send).0,
        came.only(EventKind::Recv).0,
        "they are numbered in order"
    );
}

#[test]
fn a_wildcard_is_known_by_its_status_and_knows_who_posted_it() {
    let [mut first, mut second] = Rank::both();
    let mut request = 0u64;
    let any = u64::from(-1i32 as u32);
    let place = std::ptr::from_mut(&mut request);
    let posted = second.call(
        "MPI_Irecv",
        &[0, 4, DOUBLE, any, any, WORLD, place as u64],
        || {
            // SAFETY: the place of the request.
            unsafe { *place = 0x77 };
        },
    );
    assert_eq!((posted.links.len(), posted.params.peer), (0, peer::ANY));
    let (id, _) = first
        .say("MPI_Send", &[0, 4, DOUBLE, 1, 3, WORLD])
        .only(EventKind::Send);
    // The program wants no statuses, so the call gets some of ours, which the library fills: source 0, tag 3.
    let waits = [1, place as u64, 0];
    second.buffers.statuses = [0i32.to_ne_bytes(), 3i32.to_ne_bytes()].concat();
    second.buffers.statuses.resize(STATUS, 0);
    let came = second.say("MPI_Waitall", &waits);
    assert_eq!(came.only(EventKind::Recv), (id, 0));
    assert_eq!((came.links[0].post_ctx, came.links[0].post_ns), (1, 100));
    assert!(
        second.say("MPI_Waitall", &waits).links.is_empty(),
        "it is done"
    );
}

#[test]
fn a_cancelled_receive_gives_its_number_back() {
    let [mut first, mut second] = Rank::both();
    let request = 0x99u64;
    let receive = [0, 1, DOUBLE, 0, 1, WORLD, at(&request)];
    second.say("MPI_Irecv", &receive);
    second.say("MPI_Cancel", &[at(&request)]);
    let cancelled = [0i32, 0, 1, 0, 0, 0];
    let done = second.say("MPI_Wait", &[at(&request), at(&cancelled)]);
    assert!(done.links.is_empty());
    let (id, _) = first
        .say("MPI_Send", &[0, 1, DOUBLE, 1, 1, WORLD])
        .only(EventKind::Send);
    let came = second.say("MPI_Recv", &[0, 1, DOUBLE, 0, 1, WORLD, 0]);
    assert_eq!(came.only(EventKind::Recv).0, id);
}

#[test]
fn collectives_have_one_id_on_all_ranks_and_the_world_is_met() {
    let [mut first, mut second] = Rank::both();
    let reduce = [8, 16, 3, DOUBLE, 0, WORLD];
    let all = [&mut first, &mut second].map(|r| r.say("MPI_Allreduce", &reduce));
    assert_eq!(
        all[0].only(EventKind::Collective),
        all[1].only(EventKind::Collective)
    );
    assert!(
        all.iter()
            .all(|s| s.outcome.met_the_world && s.params.bytes == 24)
    );
    let again = first.say("MPI_Allreduce", &reduce);
    assert_ne!(
        again.only(EventKind::Collective),
        all[0].only(EventKind::Collective)
    );
}

#[test]
fn a_copy_of_a_communicator_has_messages_of_its_own() {
    let [mut first, mut second] = Rank::both();
    let copies = [&mut first, &mut second].map(|r| {
        let copy = 0x5000u64;
        let made = r.say("MPI_Comm_dup", &[WORLD, at(&copy)]);
        assert!(made.links.len() <= 1);
        copy
    });
    let sent = first.say("MPI_Send", &[0, 1, DOUBLE, 1, 1, copies[0]]);
    let world = first.say("MPI_Send", &[0, 1, DOUBLE, 1, 1, WORLD]);
    let came = second.say("MPI_Recv", &[0, 1, DOUBLE, 0, 1, copies[1], 0]);
    assert_eq!(sent.only(EventKind::Send).0, came.only(EventKind::Recv).0);
    assert_ne!(sent.only(EventKind::Send).0, world.only(EventKind::Send).0);
    assert_ne!(sent.params.comm, world.params.comm);
    first.say("MPI_Comm_free", &[at(&copies[0])]);
    assert!(first.mpi.comms.find(copies[0]).is_none());
}

#[test]
fn a_poll_that_finds_nothing_is_idle() {
    let [mut first, _] = Rank::both();
    let (request, mut flag) = (0x11u64, 0i32);
    first.say("MPI_Irecv", &[0, 1, DOUBLE, 1, 1, WORLD, at(&request)]);
    let poll = [at(&request), at(&flag), 0];
    assert!(first.say("MPI_Test", &poll).outcome.idle);
    flag = 1;
    let poll = [at(&request), at(&flag), 0];
    assert!(!first.say("MPI_Test", &poll).outcome.idle);
}

#[test]
fn fortran_passes_addresses_and_handles_by_number() {
    let [mut first, mut second] = Rank::both();
    let ints = [5i32, DOUBLE as i32, 1, 7, WORLD as i32];
    let [count, datatype, to, tag, comm] = [0, 1, 2, 3, 4].map(|i| at(&ints[i]));
    let sent = first.call_from(
        true,
        "MPI_Send",
        &[0, count, datatype, to, tag, comm],
        || {},
    );
    let came = second.say("MPI_Recv", &[0, 5, DOUBLE, 0, 7, WORLD, 0]);
    assert_eq!(sent.params.bytes, 40);
    assert_eq!(sent.only(EventKind::Send).0, came.only(EventKind::Recv).0);
}

/// As many arguments are read as the call has, and no more than are passed on.
#[test]
fn arguments_behind_the_registers_come_from_the_stack() {
    let registers: Vec<u64> = (100..108).collect();
    let stack: Vec<u64> = (200..220).collect();
    let in_registers = if cfg!(target_arch = "x86_64") { 6 } else { 8 };
    for count in [0, 3, in_registers, in_registers + 1, 16, 20] {
        // SAFETY: both have more words than are read.
        let args = unsafe { Args::read(registers.as_ptr(), stack.as_ptr(), count, false) };
        for at in 0..20 {
            let expected = match at {
                at if at < in_registers => 100 + at as u64,
                at if at < count.min(16) => 200 + (at - in_registers) as u64,
                _ => 0,
            };
            assert_eq!(args.raw(at as u8), expected, "argument {at} of {count}");
        }
    }
}
