//! The fields of events: every argument of every function is described, and what is not recorded is listed here.

use headwater_mpi_abi::{FUNCTIONS, Form, Kind, Length, MOST_FIELDS, fields, id_of, replayable};

fn names(function: &str) -> Vec<&'static str> {
    let id = id_of(function).expect("a function of MPI").0;
    fields(id).iter().map(|f| f.name).collect()
}

#[test]
fn usual_calls_have_the_fields_of_the_standard() {
    for (function, expected) in [
        ("MPI_Isend", "buf count datatype dest tag comm request"),
        (
            "MPI_Recv",
            "buf count datatype source tag comm status_source status_tag received",
        ),
        ("MPI_Allreduce", "sendbuf recvbuf count datatype op comm"),
        (
            "MPI_Alltoallv",
            "sendbuf sendcounts sdispls sendtype recvbuf recvcounts rdispls recvtype comm",
        ),
        (
            "MPI_Waitsome",
            "incount array_of_requests outcount array_of_indices status_sources status_tags received",
        ),
        ("MPI_Comm_split", "comm color key newcomm"),
        ("MPI_Type_free", "datatype"),
        ("MPI_Win_lock", "lock_type rank assert win"),
        ("MPI_Cart_create", "comm ndims dims periods reorder newcomm"),
        ("MPI_File_open", "comm filename amode info fh"),
        (
            "MPI_Type_create_darray_c",
            "size rank ndims array_of_gsizes array_of_distribs array_of_dargs array_of_psizes order oldtype newtype",
        ),
        (
            "MPI_Psend_init",
            "buf partitions count datatype dest tag comm info request",
        ),
    ] {
        assert_eq!(names(function).join(" "), expected, "{function}");
    }
}

#[test]
fn every_function_has_few_fields_each_with_a_name_of_its_own() {
    for (id, f) in FUNCTIONS.iter().enumerate() {
        let all = fields(id as u16);
        assert!(all.len() <= MOST_FIELDS, "{}", f.name);
        for (i, field) in all.iter().enumerate() {
            assert!(usize::from(field.at) < f.roles.len(), "{}", f.name);
            let earlier = all.iter().take(i);
            let clash = earlier.filter(|o| o.name == field.name).count();
            assert_eq!(clash, 0, "{} has two {}", f.name, field.name);
            let has_length = field.length != Length::One;
            let by_status = field.form == Form::Status || field.kind == Kind::Indices;
            let is_list = field.kind.is_list();
            assert_eq!(
                is_list && !by_status,
                has_length,
                "{} {}",
                f.name,
                field.name
            );
        }
    }
    assert!(fields(u16::MAX).is_empty());
}

const CALLBACK: &str = "a function of the program, in place of which another one serves";

/// Arguments of functions that can be replayed and that are neither fields nor results, and why.
const NOT_LOOKED_AT: [(&str, &str); 16] = [
    ("MPI_Address", "an address, which is local"),
    (
        "MPI_Cart_rank",
        "coordinates, which are asked about locally",
    ),
    ("MPI_Comm_create_errhandler", CALLBACK),
    ("MPI_Dist_graph_create", "weights, which are hints"),
    ("MPI_Dist_graph_create_adjacent", "weights, which are hints"),
    ("MPI_Errhandler_create", CALLBACK),
    ("MPI_File_create_errhandler", CALLBACK),
    ("MPI_Free_mem", "an address, which is local"),
    ("MPI_Get_address", "an address, which is local"),
    ("MPI_Grequest_start", CALLBACK),
    ("MPI_Init", "arguments of the program"),
    ("MPI_Init_thread", "arguments of the program"),
    ("MPI_Op_create", CALLBACK),
    ("MPI_Op_create_c", CALLBACK),
    ("MPI_Session_create_errhandler", CALLBACK),
    ("MPI_Win_create_errhandler", CALLBACK),
];

#[test]
fn every_argument_is_described_but_those_listed() {
    let table = include_str!("../functions.txt");
    let rows = table.lines().filter(|l| !l.starts_with('#'));
    let mut without = Vec::new();
    for (id, row) in rows.enumerate() {
        let words: Vec<&str> = row.split_whitespace().collect();
        let [name, _, _, arguments @ ..] = words.as_slice() else {
            panic!("{row}")
        };
        assert_eq!(FUNCTIONS[id].name, *name);
        if arguments.contains(&"x") && replayable(id as u16).is_ok() {
            without.push(*name);
        }
        // Status and results that follow from what is known are described, too, but are no fields.
        let is_field = |a: &&&str| {
            let word = a.split(['/', ':', '(']).next_back().unwrap_or("");
            let results = ["x", "out", "status", "statuses"];
            let word = if a.ends_with("/out") { "out" } else { word };
            let first = a.split(['/', ':', '(']).next().unwrap_or("");
            !results.contains(&word) && !results.contains(&first)
        };
        let expected = arguments.iter().filter(is_field).count();
        let found = fields(id as u16).iter().filter(|f| f.form != Form::Status);
        assert_eq!(found.count(), expected, "{name}");
    }
    let listed: Vec<&str> = NOT_LOOKED_AT.iter().map(|n| n.0).collect();
    assert_eq!(without, listed);
}

#[test]
fn what_the_root_alone_needs_is_marked() {
    let at_root = |function: &str| {
        let id = id_of(function).expect("a function of MPI").0;
        let all = fields(id).iter().filter(|f| f.at_root);
        all.map(|f| f.name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        at_root("MPI_Igatherv"),
        "recvbuf recvcounts displs recvtype"
    );
    assert_eq!(at_root("MPI_Scatter"), "sendbuf sendcount sendtype");
    assert_eq!(at_root("MPI_Reduce_init_c"), "recvbuf");
    assert_eq!(at_root("MPI_Bcast") + &at_root("MPI_Allgatherv"), "");
    assert_eq!(at_root("MPI_Reduce_scatter"), "");
}
