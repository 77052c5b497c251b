"""The tables of a recorded run on two ranks, read by polars, pandas and DuckDB: python tables.py RUN"""

import glob
import json
import sys

import duckdb
import pandas
import polars

tables = sorted(glob.glob(sys.argv[1] + "/*.parquet"))
assert len(tables) > 8, tables
for path in tables:
    frame = polars.read_parquet(path)
    other = pandas.read_parquet(path)
    counted = duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0]
    assert frame.height == len(other) == counted, path
    assert frame.columns == list(other.columns), path
calls = duckdb.sql(f"SELECT sum(count) FROM '{sys.argv[1]}/calls.parquet'").fetchall()[0][0]
assert calls > 0
assert json.load(open(sys.argv[1] + "/run.json"))["header"]["ranks"] == 2
print(f"{len(tables)} tables read alike by polars, pandas and DuckDB")
