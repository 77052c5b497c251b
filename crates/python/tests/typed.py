"""What a user writes, as type checkers see it; mypy reads it strictly and nobody runs it."""

from typing import List, Optional, Tuple, Union

import headwater as hw
from headwater.perflow import IN_EDGE, pflow

run: hw.Run = hw.open("app.16")
runs: List[hw.Run] = hw.open("app.2", "app.4")
recorded: hw.Run = hw.record(["mpirun", "-n", "4", "./app"], output="run", env={"A": "b"})
calls: hw.Set = run.V.filter("time > 0.1", name="MPI_*", type=["mpi-call"])
hot: hw.Set = hw.hotspot(calls, n=5)
everything: hw.Set = hw.union(hot, calls, run.V)
listed: hw.Table = hw.table(hot, attributes=["name"])
changed: hw.Set = hw.differential(runs[0].V, runs[1].V, per="ideal")
first: hw.Set = hot[:3] | hot & calls - ~calls
times: List[object] = hot["time"]
vertex, path = hw.lowest_common_ancestor(hot[0], hot[1])
found: Tuple[Optional[hw.Vertex], hw.Set] = (vertex, path)
for v, w in hw.pairs(runs[0].V, runs[1].V):
    names: Tuple[Optional[str], Optional[str]] = (v.name, w.name)

flow = hw.Flow("typed")
source: hw.Node = flow.input("run")
both: hw.Node = hw.union(hw.hotspot(hw.vertices(source)), hot) | hw.top(hw.vertices(source), n=3)
late: hw.Node = hw.difference(hot, both)
flow.output("late", late)
report: hw.Report = hw.paradigms.scalability(*runs, scaling="strong", max_loop_depth=3)
diagnosis: hw.Diagnosis = hw.diagnose(*runs, "app.8", abnorm_threshold=1.5)
text: str = diagnosis.text(width=80, top=1, source=["."]) + report.text() + listed.text(rows=3)
back: hw.Vertex = run.V[0].es.select(IN_EDGE).select(type=pflow.COMM).src
pattern: hw.Graph = pflow.graph()
pattern.add_vertices([(1, "A"), (2, "B")])
places: Tuple[List[hw.Set], List[hw.Set]] = hw.subgraph_matching(run, pattern)
drawing: str = hot.heat_map("wait") + hot.draw()
either: Union[float, str, None] = listed.rows[0]["time_seconds"]
