"""What `headwater export` wrote for Hatchet (of a run on two ranks) and Extra-P (of two scales), read by these.

    python analysed.py DIRECTORY
"""

import sys

import hatchet
import pandas
from extrap.fileio.file_reader.json_file_reader import JsonFileReader

out = sys.argv[1]
whole = pandas.read_csv(f"{out}/run.csv")["time"].sum()

frame = hatchet.GraphFrame.from_caliper(f"{out}/run.json")
assert frame.dataframe.index.names == ["node", "rank"]
assert set(frame.dataframe.index.get_level_values("rank")) == {0, 1}
assert abs(frame.dataframe["time"].sum() - whole) < 1e-5 * whole
assert frame.metadata["ranks"] == 2
# Inclusive times are those that Hatchet itself finds.
given = frame.dataframe["time (inc)"].copy()
frame.inc_metrics = []
frame.update_inclusive_columns()
assert (given - frame.dataframe["time (inc)"]).abs().max() < 1e-6
names = [node.frame["name"] for node in frame.graph.traverse()]
assert "main" in names and "MPI_Allreduce" in names, names
squashed = frame.filter(lambda row: row["name"].startswith("MPI_"), num_procs=1)
assert len(squashed.graph.roots) > 1

experiment = JsonFileReader().read_experiment(f"{out}/run.jsonl")
assert [p.name for p in experiment.parameters] == ["p"]
assert sorted(float(c[0]) for c in experiment.coordinates) == [2, 3]
assert {m.name for m in experiment.metrics} == {"time", "waiting", "visits", "bytes"}
paths = [c.name for c in experiment.callpaths]
assert any(p.endswith("->MPI_Allreduce") for p in paths), paths
print(f"{len(names)} nodes read by Hatchet, {len(paths)} call paths by Extra-P")
