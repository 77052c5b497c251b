//! Control flow that is easily misread: the same expectations on x86-64 and AArch64.

use crate::build::{around, libraries};
use headwater_model::psg::VertexKind;

/// What is around the calls of one function in a library made of `source`, by every compiler and
/// in each of the ways.
fn check(source: &str, ways: &[&str], function: &str, want: &[&str]) {
    for (how, s) in libraries(source, ways) {
        assert_eq!(around(&s, function), want, "{how}");
        let lost = s.problems.iter().find(|p| p.contains("indirect jumps"));
        assert_eq!(lost, None, "{how}");
    }
}

#[test]
fn a_jump_through_a_pointer_in_the_last_place_is_a_call() {
    let source = "struct ops { int (*run)(struct ops *, int); };
int tail(struct ops *o, int n) {
    if (n > 5)
        return 0;
    for (int i = 0; i < n; i++)
        o->run(o, i);
    return o->run(o, n);
}
int leaf(struct ops *o, unsigned n) {
    if (n > 7)
        return 0;
    return o->run(o, n);
}
";
    check(
        source,
        &["-g -O2"],
        "tail",
        &["loop 5-6 > pointer 6", "pointer 7"],
    );
    check(source, &["-g -O2"], "leaf", &["pointer 12"]);
}

#[test]
fn jump_tables_and_computed_jumps_are_followed() {
    let source = "int MPI_Barrier(void *);
int f(int x, int y) {
    for (int i = 0; i < y; i++)
        switch (x + i) {
        case 0: y = 3 - y; break;
        case 1: return y - 7;
        case 2: x ^= 12; break;
        case 3: return y / 3;
        case 4: x <<= 3; break;
        case 5: MPI_Barrier(&x); y -= x; break;
        case 6: x = y * y; break;
        case 7: y += 99; break;
        case 8: return 2 * y + 1;
        }
    return y;
}
int run(const unsigned char *p, int a) {
    static const void *to[] = {&&more, &&less, &&sync, &&end};
    goto *to[*p++];
more: a++; goto *to[*p++];
less: a--; goto *to[*p++];
sync: MPI_Barrier(&a); goto *to[*p++];
end: return a;
}
";
    for (how, s) in libraries(source, &["-g -O0", "-g -O1", "-g -O2", "-g -O3"]) {
        for function in ["f", "run"] {
            let calls = around(&s, function);
            let [call] = &calls[..] else {
                panic!("{how} {function}: {calls:?}");
            };
            assert!(
                call.contains("loop") || call.contains("irreducible"),
                "{how} {function}: {call}"
            );
        }
        let lost = s.problems.iter().find(|p| p.contains("indirect jumps"));
        assert_eq!(lost, None, "{how}");
    }
}

#[test]
fn a_loop_with_two_entries_is_irreducible() {
    let source = "int MPI_Barrier(void *);
int f(int n, int x) {
    if (x > 9)
        goto second;
first:
    n--;
    MPI_Barrier(&x);
second:
    x ^= n;
    if (n > 0)
        goto first;
    return x;
}
";
    let want = ["irreducible 6-11 > mpi MPI_Barrier 7"];
    check(source, &["-g -O0"], "f", &want);
}

#[test]
fn what_only_ends_in_calls_that_do_not_come_back_does_not_either() {
    // The compiler is kept from finding it out itself, so its code goes on behind the calls.
    let source = "void exit(int);
__attribute__((noipa)) void stop(int n) {
    exit(n);
}
__attribute__((noipa)) void fail(int n) {
    if (n > 3)
        stop(n + 1);
    stop(n);
}
int f(int *x, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < 0)
            fail(i);
        s += x[i] / n;
    }
    return s;
}
";
    check(source, &["-g -O1", "-g -O2"], "f", &["call fail 14"]);
}

#[test]
fn branches_end_where_their_ways_meet() {
    let source = "int MPI_Barrier(void *), MPI_Send(void *), MPI_Abort(void *, int);
void f(void *c, int rank, int n) {
    if (n < 0)
        MPI_Abort(c, 1);
    if (rank == 3)
        MPI_Send(c);
    else
        MPI_Barrier(c);
    MPI_Barrier(c);
    for (int i = 0; i < n; i++) {
        if (i & 1)
            MPI_Send(c);
        MPI_Send(c);
    }
}
";
    let want = [
        "branch 3-4 > mpi MPI_Abort 4",
        "branch 5-8 > mpi MPI_Send 6",
        "branch 5-8 > mpi MPI_Barrier 8",
        "mpi MPI_Barrier 9",
        "loop 10-13 > branch 11-12 > mpi MPI_Send 12",
        "loop 10-13 > mpi MPI_Send 13",
    ];
    check(source, &["-g -O0", "-g -O1"], "f", &want);
}

#[test]
fn leaving_a_loop_does_not_hold_the_rest_of_it() {
    let source = "int MPI_Barrier(void *), MPI_Send(void *), MPI_Recv(void *);
int f(int *x, int n) {
    for (int i = 0; i < n; i++) {
        if (x[i] < 0)
            break;
        if (x[i] > 7) {
            MPI_Send(x);
            if (MPI_Recv(x))
                return 1;
        }
        MPI_Barrier(x);
    }
    return 0;
}
";
    let want = [
        "loop 3-11 > branch 6-8 > mpi MPI_Send 7",
        "loop 3-11 > branch 6-8 > mpi MPI_Recv 8",
        "loop 3-11 > mpi MPI_Barrier 11",
    ];
    check(source, &["-g -O0", "-g -O1"], "f", &want);
}

#[test]
fn cold_parts_belong_to_their_function() {
    let source = "__attribute__((cold)) int note(int);
int hot(int *x, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] < 0)
            s -= note(i) + note(s);
        s += x[i];
    }
    return s;
}
";
    let ways = [
        "-g -O2 -freorder-blocks-and-partition",
        "-s -O2 -freorder-blocks-and-partition",
    ];
    for (how, s) in libraries(source, &ways) {
        let hot = s.functions.iter().find(|f| s.string(f.name) == "hot");
        assert_eq!(hot.map(|f| f.ranges.len()), Some(2), "{how}");
        let calls = around(&s, "hot");
        assert!(
            calls.iter().all(|c| c.starts_with("loop")),
            "{how}: {calls:?}"
        );
        // A sample in the part is found there.
        let part = hot.and_then(|f| f.ranges.get(1)).expect("two ranges").0;
        let (found, vertex) = s.locate(part).expect("it has an owner");
        let f = &s.functions[found];
        assert_eq!(s.string(f.name), "hot", "{how}");
        assert_ne!(f.vertices[vertex as usize].kind, VertexKind::Function);
    }
}
