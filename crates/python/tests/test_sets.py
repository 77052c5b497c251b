"""Sets: attributes, filters, operations, neighbours, new metrics."""

import math

import headwater as hw
import polars
import pytest
from conftest import Places


def names(held):
    return [v.name for v in held.vertices]


def test_a_run_says_what_it_is(run):
    assert run.ranks == 4 and run.wall_seconds > 0
    assert run.V.kind == "top-down" and run.parallel.kind == "parallel"
    assert run.V.ranks == 4 and len(run.E.edges) == len(run.E) > 0
    assert "time" in run.V.metrics and "name" not in run.V.metrics
    assert hw.unit("time") == "s" and hw.unit("bytes") == "B" and hw.unit("name") is None


def test_elements_are_chosen_by_pattern_expression_figure_list_and_function(small):
    assert names(small.filter(name="MPI_*")) == ["MPI_Isend", "MPI_Waitall", "MPI_Allreduce"]
    assert names(small.vertices.filter("time > 1.5 and wait > 2")) == ["MPI_Waitall"]
    assert names(small.vertices.filter(time=4)) == ["loop"]
    assert names(small.vertices.filter(name=["loop", "MPI_Isend"])) == ["MPI_Isend", "loop"]
    assert names(small.vertices.filter(lambda v: v["time"] < 2)) == ["MPI_Isend"]
    assert len(small.edges.filter("wait > 1")) == 1


def test_order_groups_and_classes(small):
    assert names(small.sort_by("time").top(2)) == ["loop", "MPI_Waitall"]
    assert names(small.sort_by("time", ascending=True))[0] == "MPI_Isend"
    assert {k: len(v) for k, v in small.group("wait").items()} == {0.0: 1, 2.5: 1, 1.0: 1, None: 1}
    classes = small.vertices.classify(lambda v: v.name.startswith("MPI"))
    assert names(classes[False]) == ["loop"] and len(classes[True]) == 3


def test_operators_are_those_of_sets(small):
    calls, long = small.vertices.filter(name="MPI_*"), small.vertices.filter("time > 2.5")
    assert len(calls | long) == 4 and names(calls & long) == ["MPI_Waitall"]
    assert names(long - calls) == ["loop"] and names(~calls) == ["loop"]
    assert calls[0] in calls and small[1] not in calls
    assert names(calls[1:]) == ["MPI_Waitall", "MPI_Allreduce"] and calls[-1].name == "MPI_Allreduce"
    assert names(hw.Set([small[3], small[0], small[3]])) == ["MPI_Allreduce", "MPI_Isend"]


def test_edges_and_neighbours(small):
    waitall = small.filter(name="MPI_Waitall")
    assert [e["kind"] for e in waitall.in_edges()] == ["data-flow", "point-to-point"]
    assert names(waitall.in_edges("inter-process").sources()) == ["MPI_Isend"]
    assert names(waitall.neighbours("out")) == ["MPI_Allreduce"]
    first = small[2].es.select(hw.perflow.IN_EDGE)
    assert first.src.name == "MPI_Isend" and first.select(type="data-flow").src.name == "loop"
    nobody = small[0].es.select("in").src
    assert not nobody and len(nobody.es) == 0 and nobody["name"] is None


def test_a_metric_is_one_line(small):
    waits = small.filter(name="MPI_*").derive("waiting", "wait / time")
    assert waits["waiting"] == [0.0, pytest.approx(2.5 / 3), 0.5]
    assert small.with_metric("twice", lambda v: 2 * v["time"])["twice"] == [2.0, 8.0, 6.0, 4.0]
    assert small.with_metric("kind", ["a", None, "b", "a"]).filter(kind="a")["name"] == ["MPI_Isend", "MPI_Allreduce"]
    assert math.isnan(small[1]["wait"]) and small[1].metrics == ["time"]


def test_places_stand_for_all_ranks(run):
    calls = run.V.filter("type == 'mpi-call' and wait > 0")
    over = calls.over_ranks("time")
    assert [len(row) for row in over] == [4] * len(calls)
    assert [sum(row) for row in over] == pytest.approx(calls["time"], rel=1e-5)
    edges = calls[0].es
    assert edges.kind == "parallel" and {v.name for v in edges.select("in").targets()} == {calls[0].name}


def test_slices_are_those_of_lists(small):
    everything = list(small)
    for part in (slice(None, 5), slice(None, None, -1), slice(5, 2), slice(-3, None), slice(1, 7, 2), slice(9, 12)):
        assert list(small[part]) == [e for e in everything[part] if hasattr(e, "name")] + [e for e in everything[part] if not hasattr(e, "name")]
    assert [list(small)[i] for i in (0, -1)] == [small[0], small[-1]]
    for at in (8, -9):
        with pytest.raises(IndexError):
            small[at]


def test_pairs_of_two_runs_are_the_same_places(both):
    small, large = both
    pairs = hw.pairs(small.V, large.V)
    assert pairs and all(a.name == b.name and a.location == b.location for a, b in pairs)
    two = small.V.top(2)
    assert [(a.index, b.index) for a, b in hw.pairs(two, two)] == [(v.index, w.index) for v in two for w in two]


def test_pairs_of_large_sets_take_no_room():
    n = 100_000
    large = hw.from_arrow(polars.DataFrame({"time": [1.0] * n}))
    pairs = hw.pairs(large, large)
    assert len(pairs) == n * n and [v.index for v in pairs[-2]] == [n - 1, n - 2]
    with pytest.raises(IndexError):
        pairs[n * n]
    assert not hw.pairs(large.top(0), large)


def test_long_walks_take_little_room():
    n = 20_000
    edges = polars.DataFrame({"src": list(range(n - 1)), "dst": list(range(1, n))})
    chain = hw.from_arrow(polars.DataFrame({"time": [1.0] * n}), edges)
    v, way = chain.vertices[-1], []
    while v:
        # What is kept remembers the way to it.
        way.append(v.es)
        v = way[-1].src
    assert len(way) == n and all(len(es) == 1 for es in way[:-1]) and not way[-1]


def test_walks_that_part_do_not_see_each_other():
    diamond = hw.make([{"name": n} for n in "abcd"], [(0, 1, {}), (0, 2, {}), (1, 3, {}), (2, 3, {})])
    left, right = [e.src for e in diamond[3].es]
    assert [v.name for v in (left, right)] == ["b", "c"]
    assert [e.src.name for e in left.es] == ["a"] and [e.src.name for e in right.es] == ["a"]
    up, other = left.es.src, right.es.src
    # Where b was passed there is no way back to it, but c was not passed.
    assert [e.dst.name for e in up.es] == ["c"] and [e.dst.name for e in other.es] == ["b"]
    assert len(diamond[0].es) == 2


def test_algorithms_on_graphs(small):
    found, path = hw.lowest_common_ancestor(small[1], small[2])
    assert found == small[1] and len(path) == 1
    assert hw.lowest_common_ancestor(small[2], small[3])[0] == small[2]
    way = hw.shortest_path(small.vertices[:1], small.vertices[3:])
    assert names(way) == ["MPI_Isend", "MPI_Waitall", "MPI_Allreduce"]
    assert len(hw.reach(small.vertices[:1]).vertices) == 4
    pattern = hw.Graph()
    pattern.add_vertex("call", where="name ~ 'MPI_*'")
    pattern.add_vertex("next")
    pattern.add_edge("call", "next", where="type == 'inter-process'")
    vertices, edges = hw.subgraph_matching(small, pattern)
    assert [names(place) for place in vertices] == [["MPI_Isend", "MPI_Waitall"]] and len(edges[0]) == 1


def test_threads_that_let_each_other_go_on_in_turn_are_found(recorded):
    bins = hw.open(recorded["bins"][1])
    found = hw.contention(bins.parallel, patterns=["mutual"])
    # Unless the scheduler never had them meet.
    assert ({v["thread"] for v in found.vertices}, len(found.edges)) in (({1.0, 2.0}, 2), (set(), 0))
    assert all(v in Places("bins", "cause") for v in found.vertices)


def critical_path(V):
    """A pass of one's own, of edges and their attributes alone (the artifact of PerFlow's paper, A.3.2): back from a place to
    what it waited for longest, or else to what came before it."""
    way, passed = [], set()
    for v in V:
        while v and v not in passed:
            passed.add(v)
            before = list(v.es.select(hw.perflow.IN_EDGE))
            waited = [e for e in before if e["wait"] and e["wait"] > 0]
            way.append(v)
            edge = max(waited, key=lambda e: e["wait"]) if waited else next(iter(before), None)
            v = edge.src if edge is not None else None
    return way


def test_a_pass_of_ones_own_follows_threads_to_where_they_hold_the_lock(recorded):
    bins = hw.open(recorded["bins"][1])
    joins = bins.parallel.filter("name == 'pthread_join'")
    way = critical_path(sorted(joins, key=lambda v: -v["wait"])[:1])
    # From the thread that waits for the others' ends into one of these, and to the lock that it waits for.
    assert way[0].name == "pthread_join" and way[0]["thread"] == 0.0
    assert all(v["thread"] > 0 for v in way[1:3])
    assert any(v in Places("bins", "cause") for v in way)
