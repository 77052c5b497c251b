"""The passes of `passes.rs` by python-igraph on the same graph, with the same answers: `passes.py ANSWERS VERTICES EACH`.

ANSWERS is the file that `passes.rs` writes, EACH the edges for each vertex. Prints the seconds of what igraph can do too, of
one run, and ends with an error where an answer is another one. It has nothing for imbalance, so that the late vertices are
those of `passes.rs`. Needs the packages igraph and numpy.
"""

import json
import sys
import time

import igraph
import numpy

RANKS = 1000
WALL = 10.0
LEAST = 1e-4 * WALL


def drawn(seed):
    """Numbers that look drawn, from 0 to 1."""
    mixed = seed.astype(numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> numpy.uint64(31))) * numpy.uint64(0xBF58476D1CE4E5B9)
    return ((mixed ^ (mixed >> numpy.uint64(29))) >> numpy.uint64(11)) / float(1 << 53)


def parallel(n, each):
    """The parallel view: flows of places on ranks, edges between ranks of which a tenth is waited for."""
    places = max(n // RANKS, 1)
    v = numpy.arange(n)
    place, rank = v % places, v // places
    late = (place % 100 == 7) & (rank % 100 == 3)
    src, dst, flow, wait = [], [], [], []
    for k in range(each):
        to = v + 1 if k == 0 else (v + k * places + 1) % n
        there = (to < n) & ((to // places == rank) if k == 0 else True)
        src.append(v[there])
        dst.append(to[there])
        flow.append(numpy.full(there.sum(), k == 0))
        wait.append(numpy.where((k > 0) & (drawn(v[there] * 31 + k) < 0.1), 0.01, 0.0))
    src, dst, flow, wait = (numpy.concatenate(part) for part in (src, dst, flow, wait))
    order = numpy.argsort(src, kind="stable")
    edges = numpy.column_stack((src[order], dst[order]))
    graph = igraph.Graph(n=n, edges=edges, directed=True)
    graph.vs["time"] = 0.01 + 0.001 * drawn(v) + numpy.where(late, 0.05, 0.0)
    graph.es["flow"] = flow[order]
    graph.es["wait"] = wait[order]
    return graph


def top_down(n, run):
    """The tree of places of a run, with ten metrics."""
    v = numpy.arange(1, n)
    graph = igraph.Graph(n=n, edges=numpy.column_stack(((v - 1) // 4, v)), directed=True)
    names = ["time", "busy", "mpi", "wait", "count", "bytes", "m6", "m7", "m8", "m9"]
    for m, name in enumerate(names):
        graph.vs[name] = drawn(numpy.arange(n) * 16 + m + run * 7)
    return graph


def largest(values):
    """Indices by value, the largest first, of equal ones the first first."""
    return numpy.argsort(-values, kind="stable")


def differential(first, second):
    """Every metric of the second graph's vertices less that of the first's, and the order by growth of time."""
    for name in second.vs.attributes():
        second.vs[name] = numpy.array(second.vs[name]) - numpy.array(first.vs[name])
    growth = numpy.array(second.vs["time"])
    order = largest(growth)[:100]
    return order.tolist(), growth[order].tolist()


def carrying(graph):
    """The graph of the edges that a delay can go along."""
    return graph.subgraph_edges(
        numpy.flatnonzero(numpy.array(graph.es["flow"]) | (numpy.array(graph.es["wait"]) > LEAST)).tolist(),
        delete_vertices=False,
    )


def causal(graph, late):
    """The late vertices that lead to others, and those that no other one leads to."""
    leads = numpy.isfinite(numpy.array(carrying(graph).distances(late, late)))
    numpy.fill_diagonal(leads, False)
    out, into = leads.any(axis=1), leads.any(axis=0)
    return [v for v, (a, b) in zip(late, zip(out, into)) if a or not b]


def backtracking(graph, late):
    """Ways back: along what was waited for longest, or else in program order."""
    flow, wait = graph.es["flow"], graph.es["wait"]
    passed, vertices, edges = set(), [], []
    for start in late:
        at, arrived = start, False
        while at not in passed or arrived:
            if at not in passed:
                passed.add(at)
                vertices.append(at)
            into = graph.incident(at, mode="in")
            # What igraph calls the edges into a vertex has no order of its own.
            waited = sorted(e for e in into if not flow[e] and wait[e] > LEAST)
            before = sorted(e for e in into if flow[e])
            if waited and not arrived:
                edge, arrived = max(waited, key=lambda e: wait[e]), True
            elif before:
                edge, arrived = before[0], False
            else:
                break
            edges.append(edge)
            at = graph.es[edge].source
    return vertices, list(dict.fromkeys(edges))


def contention(graph):
    """How often one lets two others go on."""
    waits = numpy.flatnonzero(numpy.array(graph.es["wait"]) > LEAST).tolist()
    waited = graph.subgraph_edges(waits, delete_vertices=True)
    convoy = igraph.Graph(n=3, edges=[(0, 1), (0, 2)], directed=True)
    return [waited.count_subisomorphisms_vf2(convoy)]


def main(answers, n, each):
    with open(answers, encoding="utf-8") as file:
        ours = json.load(file)

    def timed(name, run, *keys):
        begun = time.perf_counter()
        given = run()
        took = time.perf_counter() - begun
        for key, theirs in zip(keys, given if len(keys) > 1 else [given]):
            assert theirs == ours[key], f"{key}: {theirs[:9]} … is not {ours[key][:9]} …"
        print(f"{name:>13}: {took:.3f} s, the same", flush=True)

    graph = parallel(n, each)
    print(f"{n} vertices, {graph.ecount()} edges, igraph {igraph.__version__}")
    timed("hotspot", lambda: largest(numpy.array(graph.vs["time"]))[:100].tolist(), "hotspot")
    first, second = top_down(n, 0), top_down(n, 1)
    timed("differential", lambda: differential(first, second), "differential", "growth")
    late = ours["late"]
    timed("causal", lambda: causal(graph, late), "causal")
    timed("backtracking", lambda: backtracking(graph, late), "backtracking", "ways")
    timed("contention", lambda: contention(graph), "contention")


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
