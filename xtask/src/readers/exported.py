"""What `headwater export` wrote of a run on two ranks, read by the tools it is for; their figures must be the same.

    python exported.py DIRECTORY SPEEDSCOPE

DIRECTORY has a file for each format; SPEEDSCOPE is the directory of the npm package, which has the format's schema.
"""

import csv
import glob
import json
import sys

import duckdb
import jsonschema
import networkx
import pandas
import polars
import pyarrow.parquet

out, speedscope = sys.argv[1:]


def path(name):
    return f"{out}/run.{name}"


def near(a, b):
    assert abs(a - b) <= 1e-6 * max(abs(a), abs(b)) + 1e-6, (a, b)


# Tables: the same ones from CSV and Parquet, whoever reads them.
table = polars.read_parquet(path("parquet"))
assert polars.read_csv(path("csv"), infer_schema_length=None)["time"].sum() == table["time"].sum()
assert pandas.read_parquet(path("parquet"))["name"].astype(str).tolist() == table["name"].cast(str).to_list()
[[rows, seconds]] = duckdb.sql(f"SELECT count(*), sum(time) FROM '{path('csv')}'").fetchall()
assert rows == table.height
near(seconds, table["time"].sum())
field = pyarrow.parquet.read_schema(path("parquet")).field("time")
assert field.metadata[b"unit"] == b"s"
assert table.filter(polars.col("type") == "function")["count"].is_null().all()
whole = table["time"].sum()

# Graphs.
graph = networkx.read_graphml(path("graphml"))
assert graph.number_of_nodes() == table.height and networkx.is_tree(graph)
near(sum(time for _, time in graph.nodes(data="time")), whole)
[root] = [node for node, degree in graph.in_degree() if degree == 0]
near(graph.nodes[root]["total"], whole)

# Profiles.
schema = json.load(open(glob.glob(f"{speedscope}/dist/release/file-format-schema*.json")[0]))
profile = json.load(open(path("speedscope.json")))
jsonschema.validate(profile, schema)
assert [p["name"] for p in profile["profiles"]] == ["rank 0", "rank 1"]
near(sum(sum(p["weights"]) for p in profile["profiles"]), whole)

# The Firefox profiler is in no registry: tables are held against the page about its format.
firefox = json.load(open(path("firefox.json")))
assert firefox["meta"]["preprocessedProfileVersion"] == 48
assert "grey" in [c["color"] for c in firefox["meta"]["categories"]]
seconds = 0
for thread in firefox["threads"]:
    tables = {name: t for name, t in thread.items() if isinstance(t, dict)}
    assert len(tables) == 7, list(tables)
    for name, columns in tables.items():
        for column, values in columns.items():
            assert not isinstance(values, list) or len(values) == columns["length"], (name, column)
    stacks, frames, functions = (tables[t] for t in ("stackTable", "frameTable", "funcTable"))
    assert all(p is None or p < i for i, p in enumerate(stacks["prefix"]))
    assert all(f < frames["length"] for f in stacks["frame"])
    assert all(c < len(firefox["meta"]["categories"]) for c in stacks["category"])
    assert all(f < functions["length"] for f in frames["func"])
    assert all(n < len(thread["stringArray"]) for n in functions["name"])
    assert all(s < stacks["length"] for s in tables["samples"]["stack"])
    assert sorted(tables["samples"]["time"]) == tables["samples"]["time"]
    assert isinstance(thread["pid"], str)
    seconds += sum(tables["samples"]["weight"]) / 1000
near(seconds, whole)

print("exported: CSV, Parquet, GraphML, speedscope and Firefox hold the same times")
