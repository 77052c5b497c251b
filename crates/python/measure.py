"""The figures that the module is held to: `cargo xtask python-figures`.

- What `import headwater` adds to starting Python: at most 0.15 s.
- What Python adds to a dataflow of 20 passes on a generated parallel view of 1,000,000 vertices and 4,000,000 edges: at most
  5 % over Rust. All that Python does for the flow does not depend on its size, so it is no more than the same flow takes on a
  graph of a few vertices, where there is next to nothing to do for Rust.

Arguments: vertices, edges for each vertex.
"""

import subprocess
import sys
import time

import headwater as hw
import numpy
import pyarrow

RANKS = 1000


def drawn(seed):
    """Numbers that look drawn, from 0 to 1."""
    mixed = seed.astype(numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> numpy.uint64(31))) * numpy.uint64(0xBF58476D1CE4E5B9)
    return ((mixed ^ (mixed >> numpy.uint64(29))) >> numpy.uint64(11)) / float(1 << 53)


def words(codes, of):
    """A column of words by their index."""
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes, pyarrow.int32()), pyarrow.array(of))


def generated(n, each):
    """The graph of `cargo run --example passes`: flows of places on ranks, messages of which a tenth is waited for."""
    places = max(n // RANKS, 1)
    v = numpy.arange(n)
    place, rank = v % places, v // places
    late = (place % 100 == 7) & (rank % 100 == 3)
    figures = {"vertex": place.astype(float), "rank": rank.astype(float)}
    figures["time"] = 0.01 + 0.001 * drawn(v) + 0.05 * late
    names = words(place, [f"place_{p}" for p in range(places)])
    vertices = pyarrow.table({"name": names, **figures})
    src, dst, flows, waits = [], [], [], []
    for k in range(each):
        to = v + 1 if k == 0 else (v + k * places + 1) % n
        there = (to < n) & ((to // places == rank) if k == 0 else True)
        src.append(v[there])
        dst.append(to[there])
        flows.append(numpy.full(there.sum(), k == 0))
        waits.append(numpy.where(drawn(v[there] * 31 + k) < 0.1, 0.01, 0.0))
    src, dst, flow, wait = (numpy.concatenate(part) for part in (src, dst, flows, waits))
    edges = {"src": src, "dst": dst}
    edges["type"] = words(numpy.where(flow, 0, 1), ["intra-procedural", "inter-process"])
    edges["kind"] = words(numpy.where(flow, 0, 1), ["data-flow", "point-to-point"])
    edges["wait"] = pyarrow.array(wait, mask=flow)
    return hw.from_arrow(vertices, pyarrow.table(edges), kind="parallel", ranks=RANKS, wall_seconds=10.0)


def flow_of_twenty():
    """Twenty passes, each of which is needed."""
    flow = hw.Flow("twenty passes")
    V = flow.input("V", kind="parallel")
    late = hw.imbalance(V)
    behind = hw.causal(late)
    way = hw.backtracking(late)
    hot = hw.hotspot(V, n=1000)
    slow = hw.filter(V, where="time > 0.0105")
    ratio = hw.derive(slow, name="share", **{"as_": "time / 10"})
    parts = [late, behind, way, hot, hw.top(hw.sort(ratio, by="share"), n=1000), hw.contention(hot)]
    parts += [hw.difference(slow, late), hw.intersection(slow, hot), hw.top(hw.complement(slow), n=100)]
    parts += [hw.filter(V, name="place_7*"), hw.top(hw.hotspot(slow, n=10), n=5)]
    union = hw.union(parts[0], parts[1])
    flow.output("all", hw.top(hw.sort(hw.union(union, *parts[2:])), n=5000))
    return flow


def best(times, run):
    """Seconds of the best of some runs."""
    least = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        run()
        least = min(least, time.perf_counter() - begin)
    return least


def main(n=1_000_000, each=4):
    start = lambda code: best(7, lambda: subprocess.run([sys.executable, "-c", code], check=True))
    print(f"import headwater: {start('import headwater') - start('pass'):.3f} s (at most 0.15)")
    flow = flow_of_twenty()

    def run(V):
        flow.forget()
        return flow.run(V=V)["all"]

    large, small = generated(n, each), generated(10, each)
    print(f"{len(large.vertices)} vertices, {len(large.edges)} edges, {len(flow) - 1} passes")
    took, alone = best(3, lambda: run(large.vertices)), best(20, lambda: run(small.vertices))
    print(f"the dataflow: {took:.3f} s; Python's part: {alone:.4f} s, {alone / took:.2%} (at most 5 %)")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
