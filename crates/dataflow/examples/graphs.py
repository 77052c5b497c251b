"""The algorithms of `graphs.rs` by python-igraph, on the same graph: `graphs.py EDGES VERTICES`.

EDGES is the file that `graphs.rs` writes. Prints the seconds of each algorithm that igraph has, of one run. Needs the
packages igraph and numpy.
"""

import resource
import sys
import time

import igraph
import numpy


def timed(name, run):
    start = time.perf_counter()
    said = run()
    print(f"{name:>16}: {time.perf_counter() - start:.2f} s, {said}", flush=True)


def main(path, n):
    edges = numpy.fromfile(path, dtype="<u4").reshape(-1, 2)
    print(f"{n} vertices, {len(edges)} edges, igraph {igraph.__version__}")
    weight = 1.0 + numpy.arange(len(edges)) % 7
    begun = time.perf_counter()
    graph = igraph.Graph(n=n, edges=edges, directed=True)
    print(f"{'rows both ways':>16}: {time.perf_counter() - begun:.2f} s, the graph is made", flush=True)
    timed("breadth first", lambda: f"{len(graph.bfs(0)[0])} reached")
    timed(
        "shortest path",
        lambda: f"{graph.distances(0, n - 1, weights=weight.tolist())[0][0]} long",
    )
    timed("components", lambda: f"{len(graph.connected_components(mode='strong'))}")
    graph.to_undirected(mode="each")
    timed("communities", lambda: f"{len(graph.community_multilevel())}")
    print("peak memory:", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "kB")


main(sys.argv[1], int(sys.argv[2]))
