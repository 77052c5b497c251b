//! Calls that make no request: collectives, datatypes, communicators, windows, files, Fortran's calls.

use super::process::{
    BETWEEN, BUF, COMM_NULL, DOUBLE, GRID, IN_PLACE, INT, Process, SUM, WORLD, at, int,
};
use headwater_mpi_abi::constants::{ABSENT, CURRENT, NULL, PROC_NULL, ROOT, UNDEFINED, UNKNOWN};
use headwater_mpi_abi::{FIRST_MADE, FUNCTIONS, fields};

#[test]
fn a_datatype_that_is_made_and_freed_in_a_loop_has_one_number() {
    let mut p = Process::new();
    for round in 0..10u64 {
        let made = 0x8000 + 64 * round;
        let of = p.say("MPI_Type_vector", &[3, 2, int(-5), DOUBLE, at(&made)]);
        assert_eq!(of.values, [3, 2, -5, 0x214, FIRST_MADE]);
        let committed = p.say("MPI_Type_commit", &[at(&made)]);
        assert_eq!(committed.get("datatype"), FIRST_MADE);
        let sent = p.say("MPI_Send", &[BUF, 1, made, 2, 7, WORLD]);
        assert_eq!(sent.get("datatype"), FIRST_MADE);
        assert_eq!(
            p.say("MPI_Type_free", &[at(&made)]).get("datatype"),
            FIRST_MADE
        );
        let sent = p.say("MPI_Send", &[BUF, 1, made, 2, 7, WORLD]);
        assert_eq!(sent.get("datatype"), UNKNOWN);
    }
}

/// Nothing but handles may change what the same arguments say.
#[test]
fn the_same_arguments_say_the_same_until_a_handle_changes() {
    let mut p = Process::new();
    let made = 0x8000u64;
    let contiguous = [3, DOUBLE, at(&made)];
    p.say("MPI_Type_contiguous", &contiguous);
    let message = [BUF, 1, made, 2, 7, WORLD];
    for _ in 0..3 {
        let sent = p.say("MPI_Send", &message);
        assert_eq!(sent.get("datatype"), FIRST_MADE);
    }
    p.say("MPI_Type_free", &[at(&made)]);
    assert_eq!(p.say("MPI_Send", &message).get("datatype"), UNKNOWN);
    let other = 0x8100u64;
    p.say("MPI_Type_contiguous", &[3, DOUBLE, at(&other)]);
    p.say("MPI_Type_contiguous", &contiguous);
    for tag in [7, 7, 8] {
        let sent = p.say("MPI_Send", &[BUF, 1, made, 2, tag, WORLD]);
        assert_eq!(sent.get("datatype"), FIRST_MADE + 1);
        assert_eq!(sent.get("tag"), tag as i64);
        let received = p.say("MPI_Probe", &[2, int(-1), WORLD, 0]);
        assert_eq!(received.get("source"), 2);
    }
}

#[test]
fn structures_have_lists_and_addresses_become_relative() {
    let mut p = Process::new();
    let (lengths, types, made) = ([1i32, 2], [INT, DOUBLE], 0x8000u64);
    for (displacements, expected) in [
        ([0x5555_0000_1010i64, 0x5555_0000_1000], [16, 0]),
        ([8, -8], [8, -8]),
    ] {
        let passed = [2, at(&lengths), at(&displacements), at(&types), at(&made)];
        let of = p.say("MPI_Type_create_struct", &passed);
        assert_eq!(of.list("array_of_blocklengths"), [1, 2]);
        assert_eq!(of.list("array_of_displacements"), expected);
        assert_eq!(of.list("array_of_types"), [0x209, 0x214]);
    }
    let (sizes, distributions) = ([8i32, 8], [0i32, 1]);
    let (arguments, grid) = ([-1i32, 2], [2i32, 2]);
    let lists = [at(&sizes), at(&distributions), at(&arguments), at(&grid)];
    let [a, b, c, d] = lists;
    let passed = [4, 1, 2, a, b, c, d, 1, DOUBLE, at(&made)];
    let of = p.say("MPI_Type_create_darray", &passed);
    assert_eq!(of.list("array_of_distribs"), [1, 2]);
    assert_eq!(of.list("array_of_dargs"), [-10, 2]);
    assert_eq!(of.get("order"), 1);
}

#[test]
fn lists_are_as_long_as_the_communicator() {
    let mut p = Process::new();
    let (counts, displacements) = ([1i32, 2, 3, 4], [0i32, 1, 3, 6]);
    let (c, d) = (at(&counts), at(&displacements));
    let all = p.say("MPI_Alltoallv", &[BUF, c, d, INT, BUF, c, d, DOUBLE, WORLD]);
    assert_eq!(all.list("sendcounts"), [1, 2, 3, 4]);
    assert_eq!(all.list("rdispls"), [0, 1, 3, 6]);
    assert_eq!((all.get("sendtype"), all.get("recvtype")), (0x209, 0x214));
    let all = p.say(
        "MPI_Alltoallv",
        &[IN_PLACE, 0, 0, 99, BUF, c, d, DOUBLE, WORLD],
    );
    let hidden = ["sendbuf", "sendcounts", "sdispls", "sendtype"].map(|f| all.get(f));
    assert_eq!(hidden, [1, ABSENT, ABSENT, ABSENT]);
    assert_eq!(all.list("recvcounts"), [1, 2, 3, 4]);
    let large = [1i64 << 40, 2, 3, 4];
    let types = [INT, INT, DOUBLE, DOUBLE];
    let (l, t) = (at(&large), at(&types));
    let all = p.say("MPI_Alltoallw_c", &[BUF, l, l, t, BUF, l, l, t, WORLD]);
    assert_eq!(all.list("sendcounts"), large);
    assert_eq!(all.list("recvtypes"), [0x209, 0x209, 0x214, 0x214]);
}

#[test]
fn what_only_the_root_reads_is_absent_elsewhere() {
    let mut p = Process::new();
    let (counts, displacements) = ([1i32, 2, 3, 4], [0i32, 1, 3, 6]);
    let (c, d) = (at(&counts), at(&displacements));
    for (root, expected) in [(1, &[1i64, 2, 3, 4][..]), (0, &[])] {
        let passed = [BUF, 3, INT, BUF, c, d, DOUBLE, root, WORLD];
        let all = p.say("MPI_Gatherv", &passed);
        assert_eq!(all.list("recvcounts"), expected);
        assert_eq!(all.get("recvtype") == ABSENT, expected.is_empty());
        assert_eq!((all.get("sendcount"), all.get("root")), (3, root as i64));
    }
    let scattered = p.say("MPI_Scatter", &[BUF, 3, INT, IN_PLACE, 4, INT, 1, WORLD]);
    assert_eq!(scattered.values, [0, 3, 0x209, 1, ABSENT, ABSENT, 1, 0]);
    let reduced = p.say("MPI_Reduce", &[IN_PLACE, BUF, 3, DOUBLE, SUM, 1, WORLD]);
    assert_eq!(reduced.values, [1, 0, 3, 0x214, 0x21, 1, 0]);
}

#[test]
fn communicators_are_numbered_in_the_order_in_which_they_are_made() {
    let mut p = Process::new();
    let made = 0x5000u64;
    let of = p.say("MPI_Comm_split", &[WORLD, 3, int(-4), at(&made)]);
    assert_eq!(of.values, [0, 3, -4, 2]);
    let none = COMM_NULL;
    let of = p.say("MPI_Comm_split", &[made, int(-32766), 0, at(&none)]);
    assert_eq!(of.values, [2, UNDEFINED, 0, NULL]);
    assert_eq!(p.say("MPI_Comm_free", &[at(&made)]).get("comm"), 2);
    let of = p.say("MPI_Comm_dup", &[WORLD, at(&made)]);
    assert_eq!(of.get("newcomm"), 4, "a rank that is no member counts, too");
    assert_eq!(p.say("MPI_Barrier", &[made]).get("comm"), 4);
    let of = p.say("MPI_Comm_split_type", &[WORLD, 0, 0, 0, at(&made)]);
    assert_eq!((of.get("split_type"), of.get("info")), (0, NULL));
}

#[test]
fn neighbours_and_other_groups_give_lists_their_length() {
    let mut p = Process::new();
    let (sizes, periods, made) = ([2i32, 2], [1i32, 0], GRID);
    let passed = [WORLD, 2, at(&sizes), at(&periods), 1, at(&made)];
    let of = p.say("MPI_Cart_create", &passed);
    assert_eq!(
        (of.list("dims"), of.list("periods")),
        (&[2, 2][..], &[1, 0][..])
    );
    assert_eq!(["comm", "reorder", "newcomm"].map(|f| of.get(f)), [0, 1, 2]);
    let (counts, copy) = ([1i32, 2, 3, 4], 0x5800u64);
    let c = at(&counts);
    p.say("MPI_Comm_dup", &[GRID, at(&copy)]);
    for comm in [GRID, copy] {
        let passed = [BUF, c, c, INT, BUF, c, c, INT, comm];
        let all = p.say("MPI_Neighbor_alltoallv", &passed);
        assert_eq!(all.list("sendcounts"), [1, 2, 3, 4]);
        let sub = p.say("MPI_Cart_sub", &[comm, at(&periods), at(&0x5900u64)]);
        assert_eq!(sub.list("remain_dims"), [1, 0]);
    }
    let made = BETWEEN;
    let passed = [WORLD, 0, WORLD, 2, 9, at(&made)];
    let of = p.say("MPI_Intercomm_create", &passed);
    assert_eq!((of.get("remote_leader"), of.get("tag")), (2, 9));
    for (root, length, value) in [(-4, 2, ROOT), (-2, 0, PROC_NULL), (1, 0, 1)] {
        let passed = [BUF, 3, INT, BUF, c, c, DOUBLE, int(root), BETWEEN];
        let all = p.say("MPI_Gatherv", &passed);
        assert_eq!(
            (all.get("root"), all.list("recvcounts").len()),
            (value, length)
        );
    }
    let (degrees, others) = ([2i32, 1], [3i32, 2, 0]);
    let (d, o) = (at(&degrees), at(&others));
    let passed = [WORLD, 2, o, d, o, 2, 0, 0, at(&0x5a00u64)];
    let of = p.say("MPI_Dist_graph_create", &passed);
    assert_eq!(
        (of.list("degrees"), of.list("destinations")),
        (&[2, 1][..], &[3, 2, 0][..])
    );
    let passed = [WORLD, 2, at(&[1i32, 3]), o, 0, at(&0x5b00u64)];
    let of = p.say("MPI_Graph_create", &passed);
    assert_eq!(
        (of.list("index"), of.list("edges")),
        (&[1, 3][..], &[3, 2, 0][..])
    );
}

#[test]
fn groups_have_lists_of_ranks() {
    let mut p = Process::new();
    let (group, part) = (0xa000u64, 0xa100u64);
    assert_eq!(
        p.say("MPI_Comm_group", &[WORLD, at(&group)]).get("group"),
        FIRST_MADE
    );
    let of = p.say("MPI_Group_incl", &[group, 2, at(&[3i32, 1]), at(&part)]);
    assert_eq!(
        (of.list("ranks"), of.get("newgroup")),
        (&[3, 1][..], FIRST_MADE + 1)
    );
    let of = p.say(
        "MPI_Group_range_incl",
        &[group, 1, at(&[0i32, 3, 2]), at(&0xa200u64)],
    );
    assert_eq!(of.list("ranges"), [0, 3, 2]);
    assert_eq!(
        p.say("MPI_Group_free", &[at(&group)]).get("group"),
        FIRST_MADE
    );
}

#[test]
fn windows_are_known_from_their_creation_to_their_end() {
    let mut p = Process::new();
    let window = 0xb000u64;
    for _ in 0..2 {
        let made = p.say("MPI_Win_create", &[BUF, 1 << 33, 8, 0, WORLD, at(&window)]);
        assert_eq!(made.values, [0, 1 << 33, 8, NULL, 0, 0]);
        assert_eq!(
            p.say("MPI_Win_fence", &[2 | 16, window]).values,
            [0b11000, 0]
        );
        let put = p.say("MPI_Put", &[BUF, 4, DOUBLE, 3, 1 << 32, 5, INT, window]);
        assert_eq!(put.values, [0, 4, 0x214, 3, 1 << 32, 5, 0x209, 0]);
        let locked = p.say("MPI_Win_lock", &[2, 3, 0, window]);
        assert_eq!(locked.values, [1, 3, 0, 0]);
        assert_eq!(p.say("MPI_Win_free", &[at(&window)]).get("win"), 0);
    }
}

#[test]
fn files_have_names_modes_and_offsets() {
    let mut p = Process::new();
    let (file, name, native) = (0xc000u64, c"out.dat", c"native");
    let name = name.as_ptr() as u64;
    let opened = p.say("MPI_File_open", &[WORLD, name, 1 | 4, 0, at(&file)]);
    assert_eq!(opened.text("filename"), "out.dat");
    assert_eq!(
        ["amode", "info", "fh"].map(|f| opened.get(f)),
        [0b101, NULL, 0]
    );
    let current = -54_278_278i64 as u64;
    let passed = [file, current, INT, DOUBLE, native.as_ptr() as u64, 0];
    let view = p.say("MPI_File_set_view", &passed);
    assert_eq!(
        (view.get("disp"), view.text("datarep")),
        (CURRENT, "native")
    );
    let written = p.say("MPI_File_write_at", &[file, 1 << 40, BUF, 9, DOUBLE, 0]);
    assert_eq!(written.values, [0, 1 << 40, 0, 9, 0x214]);
    let sought = p.say("MPI_File_seek", &[file, -8i64 as u64, 602]);
    assert_eq!(sought.values, [0, -8, 1]);
    assert_eq!(p.say("MPI_File_close", &[at(&file)]).get("fh"), 0);
}

#[test]
fn fortran_passes_addresses_and_counts_from_one() {
    let mut p = Process::new();
    p.fortran = true;
    let ints = [5i32, DOUBLE as i32, 2, 7, WORLD as i32];
    let [count, datatype, to, tag, comm] = [0, 1, 2, 3, 4].map(|i| at(&ints[i]));
    let requests = [0x11i32, 0x12];
    for (i, request) in requests.iter().enumerate() {
        let passed = [BUF, count, datatype, to, tag, comm, at(request)];
        let sent = p.say("MPI_Isend", &passed);
        assert_eq!(sent.values, [0, 5, 0x214, 2, 7, 0, i as i64]);
    }
    let (two, index) = (2i32, 2i32);
    let passed = [at(&two), at(&requests), at(&index), BUF];
    let done = p.say("MPI_Waitany", &passed);
    assert_eq!(
        (done.list("array_of_requests"), done.get("index")),
        (&[0, 1][..], 1)
    );
    let sum = SUM as i32;
    let passed = [0x6000, BUF, count, datatype, at(&sum), comm];
    let reduced = p.say("MPI_Allreduce", &passed);
    assert_eq!(reduced.values, [1, 0, 5, 0x214, 0x21, 0]);
    // True is -1 in some compilers.
    let (sizes, periods, yes, made) = ([2i32, 2], [-1i32, 0], -1i32, GRID as i32);
    let passed = [
        comm,
        at(&two),
        at(&sizes),
        at(&periods),
        at(&yes),
        at(&made),
    ];
    let of = p.say("MPI_Cart_create", &passed);
    assert_eq!((of.list("periods"), of.get("reorder")), (&[1, 0][..], 1));
    // The length of a text comes behind the error code, and blanks at its end do not count.
    let (amode, info, file, error) = (5i32, 0i32, 3i32, 0i32);
    let name = b"out.dat   and more";
    let passed = [
        comm,
        at(name),
        at(&amode),
        at(&info),
        at(&file),
        at(&error),
        10,
    ];
    let opened = p.say("MPI_File_open", &passed);
    assert_eq!((opened.text("filename"), opened.get("fh")), ("out.dat", 0));
    let (offset, stride) = (1i64 << 40, -3i32);
    let passed = [at(&file), at(&offset), BUF, count, datatype, 0];
    let written = p.say("MPI_File_write_at", &passed);
    assert_eq!(written.values, [0, 1 << 40, 0, 5, 0x214]);
    // MPI 1 had integers where addresses are now.
    let passed = [count, at(&two), at(&stride), datatype, at(&0x77i32)];
    let old = p.say("MPI_Type_hvector", &passed);
    assert_eq!(old.values, [5, 2, -3, 0x214, FIRST_MADE]);
}

#[test]
fn lists_that_are_too_long_are_lost_and_said_to_be() {
    let mut p = Process::new();
    let ranks = vec![0i32; 70_000];
    let passed = [0, 70_000, ranks.as_ptr() as u64, at(&0xa100u64)];
    assert!(!p.threads[0].lost(&p.tables));
    let of = p.say("MPI_Group_incl", &passed);
    assert_eq!(of.get("ranks"), UNKNOWN);
    assert!(p.threads[0].lost(&p.tables) && !p.threads[1].lost(&p.tables));
}

/// Null pointers and zeros in all arguments are no reason to stop.
#[test]
fn every_function_has_as_many_values_as_fields() {
    let mut p = Process::new();
    for (id, function) in FUNCTIONS.iter().enumerate() {
        for result in [0, 1] {
            p.result = result;
            let said = p.say(function.name, &[0; 16]);
            assert_eq!(
                said.values.len(),
                fields(id as u16).len(),
                "{}",
                function.name
            );
        }
    }
}
