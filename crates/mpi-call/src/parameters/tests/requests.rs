//! Requests: their numbers from the call that makes one to the call that completes it.

use super::process::{BUF, DOUBLE, Process, REQUEST_NULL, WORLD, at, int};
use headwater_mpi_abi::Family;
use headwater_mpi_abi::constants::{ABSENT, ANY_SOURCE, ANY_TAG, NULL, UNDEFINED, UNKNOWN};

fn send(p: &mut Process, handle: u64) -> i64 {
    let sent = p.say("MPI_Isend", &[BUF, 5, DOUBLE, 2, 7, WORLD, at(&handle)]);
    sent.get("request")
}

fn receive_any(p: &mut Process, handle: u64) -> i64 {
    let arguments = [BUF, 5, DOUBLE, int(-1), int(-1), WORLD, at(&handle)];
    let posted = p.say("MPI_Irecv", &arguments);
    assert_eq!(
        (posted.get("source"), posted.get("tag")),
        (ANY_SOURCE, ANY_TAG)
    );
    posted.get("request")
}

#[test]
fn a_loop_of_messages_says_the_same_each_time() {
    let mut p = Process::new();
    let mut first = None;
    for round in 0..100u64 {
        let handles = [0x100 + 64 * round, 0x120 + 64 * round, 0x140 + 64 * round];
        let sent = p.say("MPI_Isend", &[BUF, 5, DOUBLE, 2, 7, WORLD, at(&handles[0])]);
        let came = p.say("MPI_Irecv", &[BUF, 5, DOUBLE, 0, 7, WORLD, at(&handles[1])]);
        let reduced = p.say("MPI_Ibarrier", &[WORLD, at(&handles[2])]);
        let waited = p.say("MPI_Waitall", &[3, at(&handles), 0]);
        assert_eq!(waited.list("array_of_requests"), [0, 1, 2]);
        let all = [sent, came, reduced, waited].map(|s| s.values);
        assert_eq!(first.get_or_insert(all.clone()), &all);
    }
    let all = first.expect("a round");
    // buf count datatype dest tag comm request
    assert_eq!(all[0], [0, 5, 0x214, 2, 7, 0, 0]);
    assert_eq!(all[1], [0, 5, 0x214, 0, 7, 0, 1]);
}

#[test]
fn null_and_unknown_requests_are_told_apart() {
    let mut p = Process::new();
    assert_eq!(send(&mut p, 0x99), 0);
    let waited = p.say("MPI_Waitall", &[3, at(&[REQUEST_NULL, 0x98, 0x99]), 0]);
    assert_eq!(waited.list("array_of_requests"), [NULL, UNKNOWN, 0]);
    assert_eq!(send(&mut p, 0x99), 0, "it was completed");
}

#[test]
fn what_waitsome_completes_is_free_again() {
    let mut p = Process::new();
    let handles = [0x100u64, 0x200, 0x300, 0x400];
    let numbers = handles.map(|h| send(&mut p, h));
    assert_eq!(numbers, [0, 1, 2, 3]);
    let (count, indices) = (2i32, [2i32, 0, 9, 9]);
    let passed = [4, at(&handles), at(&count), at(&indices), 0];
    let done = p.say("MPI_Waitsome", &passed);
    assert_eq!((done.get("incount"), done.get("outcount")), (4, 2));
    assert_eq!(done.list("array_of_indices"), [2, 0]);
    assert_eq!(done.get("status_sources"), ABSENT);
    assert_eq!(send(&mut p, 0x500), 0);
    assert_eq!(send(&mut p, 0x600), 2);
    let none = -32766i32;
    let passed = [0, at(&handles), at(&none), at(&indices), 0];
    let done = p.say("MPI_Waitsome", &passed);
    assert_eq!(
        (done.get("outcount"), done.get("array_of_indices")),
        (UNDEFINED, ABSENT)
    );
}

#[test]
fn a_test_completes_nothing_until_it_says_so() {
    let mut p = Process::new();
    let (handle, yes, no) = (0x99u64, 1i32, 0i32);
    assert_eq!(send(&mut p, handle), 0);
    for _ in 0..3 {
        let asked = p.say("MPI_Test", &[at(&handle), at(&no), 0]);
        assert_eq!((asked.get("request"), asked.get("flag")), (0, 0));
    }
    let asked = p.say("MPI_Test", &[at(&handle), at(&yes), 0]);
    assert_eq!((asked.get("request"), asked.get("flag")), (0, 1));
    let asked = p.say("MPI_Test", &[at(&handle), at(&yes), 0]);
    assert_eq!(asked.get("request"), UNKNOWN);
}

#[test]
fn any_of_several_is_told_by_its_index() {
    let mut p = Process::new();
    let handles = [0x100u64, 0x200];
    handles.iter().for_each(|h| {
        send(&mut p, *h);
    });
    let (index, flag) = (1i32, 1i32);
    let done = p.say("MPI_Testany", &[2, at(&handles), at(&index), at(&flag), 0]);
    assert_eq!((done.get("index"), done.get("flag")), (1, 1));
    assert_eq!(send(&mut p, 0x300), 1);
    let index = -32766i32;
    let done = p.say("MPI_Waitany", &[2, at(&handles), at(&index), 0]);
    assert_eq!(done.get("index"), UNDEFINED);
}

#[test]
fn a_wildcard_says_who_sent_although_the_program_wants_no_status() {
    let mut p = Process::new();
    let handles = [0x100u64, 0x200];
    assert_eq!(send(&mut p, handles[0]), 0);
    assert_eq!(receive_any(&mut p, handles[1]), 1);
    let waited = p.call("MPI_Waitall", &[2, at(&handles), 0], |args| {
        let second = args.raw(2) as *mut i32;
        // SAFETY: statuses of ours, of six words each.
        unsafe {
            let second = second.add(6);
            (*second, *second.add(1), *second.add(2)) = (3, 9, 16);
        }
    });
    assert_ne!(waited.args.raw(2), 0);
    assert_eq!(waited.list("status_sources"), [ABSENT, 3]);
    assert_eq!(waited.list("status_tags"), [ABSENT, 9]);
    assert_eq!(waited.list("received"), [ABSENT, 16]);
    // A blocking receive, and a probe that knows whom it asks.
    let status = [2i32, 8, 24, 0, 0, 0];
    let came = p.say(
        "MPI_Recv",
        &[BUF, 5, DOUBLE, int(-1), 8, WORLD, at(&status)],
    );
    assert_eq!(
        ["status_source", "status_tag", "received"].map(|f| came.get(f)),
        [2, 8, 24]
    );
    let came = p.say("MPI_Recv", &[BUF, 5, DOUBLE, 2, 8, WORLD, at(&status)]);
    assert_eq!(
        ["status_source", "status_tag", "received"].map(|f| came.get(f)),
        [ABSENT; 3]
    );
    let seen = p.say("MPI_Probe", &[2, 8, WORLD, at(&status)]);
    assert_eq!(
        ["status_source", "received"].map(|f| seen.get(f)),
        [ABSENT, 24]
    );
}

#[test]
fn persistent_requests_keep_their_number_until_they_are_freed() {
    let mut p = Process::new();
    let handles = [0x100u64, 0x200];
    let made = p.say(
        "MPI_Send_init",
        &[BUF, 5, DOUBLE, 2, 7, WORLD, at(&handles[0])],
    );
    assert_eq!(made.get("request"), 0);
    let passed = [BUF, 2, 5, DOUBLE, 0, 7, WORLD, 0, at(&handles[1])];
    let made = p.say("MPI_Precv_init", &passed);
    assert_eq!(
        ["partitions", "count", "request"].map(|f| made.get(f)),
        [2, 5, 1]
    );
    for _ in 0..3 {
        let started = p.say("MPI_Startall", &[2, at(&handles)]);
        assert_eq!(started.list("array_of_requests"), [0, 1]);
        let part = p.say("MPI_Parrived", &[handles[1], 1, at(&1i32)]);
        assert_eq!(["request", "flag"].map(|f| part.get(f)), [1, 1]);
        let waited = p.say("MPI_Waitall", &[2, at(&handles), 0]);
        assert_eq!(waited.list("array_of_requests"), [0, 1]);
    }
    let freed = p.say("MPI_Request_free", &[at(&handles[0])]);
    assert_eq!(freed.get("request"), 0);
    assert_eq!(send(&mut p, 0x300), 0);
}

/// Libraries give one handle to all requests that are done at once.
#[test]
fn requests_may_share_a_handle() {
    let mut p = Process::new();
    for _ in 0..3 {
        assert_eq!([0x99, 0x99, 0x50].map(|h| send(&mut p, h)), [0, 1, 2]);
        let waited = p.say("MPI_Waitall", &[3, at(&[0x99u64, 0x50, 0x99]), 0]);
        assert_eq!(waited.list("array_of_requests"), [0, 2, 1]);
    }
    let handles = [0x99u64, 0x99];
    handles.iter().for_each(|h| {
        send(&mut p, *h);
    });
    let no = 0i32;
    for _ in 0..2 {
        let asked = p.say("MPI_Testall", &[2, at(&handles), at(&no), 0]);
        assert_eq!(asked.list("array_of_requests"), [0, 1]);
    }
}

#[test]
fn a_failed_wait_completes_what_is_null_afterwards() {
    let mut p = Process::new();
    let mut handles = [0x100u64, 0x200];
    handles.iter().for_each(|h| {
        send(&mut p, *h);
    });
    let place = std::ptr::from_mut(&mut handles).cast::<u64>();
    p.result = 17;
    // SAFETY: the place of the first request.
    p.call("MPI_Waitall", &[2, place as u64, 0], |_| unsafe {
        *place = REQUEST_NULL
    });
    p.result = 0;
    assert_eq!(send(&mut p, 0x300), 0);
    let waited = p.say("MPI_Wait", &[at(&handles[1]), 0]);
    assert_eq!(waited.get("request"), 1);
}

#[test]
fn threads_number_their_own_requests() {
    let mut p = Process::new();
    assert_eq!(send(&mut p, 0x100), 0);
    let handle = 0x200u64;
    let passed = [BUF, 5, DOUBLE, 2, 7, WORLD, at(&handle)];
    let sent = p.call_by(1, "MPI_Isend", &passed, |_| {});
    assert_eq!(sent.get("request"), 0);
    let waited = p.call_by(1, "MPI_Waitall", &[2, at(&[0x100u64, handle]), 0], |_| {});
    assert_eq!(waited.list("array_of_requests"), [1 << 32, 0]);
}

#[test]
fn a_matched_message_is_known_until_it_is_received() {
    let mut p = Process::new();
    let (message, flag, status) = (0x77u64, 1i32, [3i32, 4, 8, 0, 0, 0]);
    for _ in 0..2 {
        let passed = [int(-1), 4, WORLD, at(&flag), at(&message), at(&status)];
        let seen = p.say("MPI_Improbe", &passed);
        let said = ["flag", "message", "status_source", "received"].map(|f| seen.get(f));
        assert_eq!(said, [1, 0, 3, 8]);
        let came = p.say("MPI_Mrecv", &[BUF, 1, DOUBLE, at(&message), 0]);
        assert_eq!(came.get("message"), 0);
    }
    let flag = 0i32;
    let passed = [int(-1), 4, WORLD, at(&flag), at(&message), at(&status)];
    let seen = p.say("MPI_Improbe", &passed);
    assert_eq!(
        ["flag", "message", "status_source"].map(|f| seen.get(f)),
        [0, ABSENT, ABSENT]
    );
}

#[test]
fn other_libraries_mean_the_same_by_other_constants() {
    let mut p = Process::with(Family::Mpich);
    let (handle, double, world) = (0x5555_5555u32, 0x4c00_080b_u64, 0x4400_0000u64);
    let passed = [BUF, 5, double, int(-2), int(-1), world, at(&handle)];
    let posted = p.say("MPI_Irecv", &passed);
    assert_eq!(posted.values, [0, 5, 0x214, ANY_SOURCE, ANY_TAG, 0, 0]);
    let passed = [u64::MAX, BUF, 1, double, 0x5800_0003, world];
    let reduced = p.say("MPI_Allreduce", &passed);
    assert_eq!(reduced.values, [1, 0, 1, 0x214, 0x21, 0]);
}
