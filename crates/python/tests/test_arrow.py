"""Arrow, polars and pandas: the same buffers wherever the type allows it."""

import datetime

import headwater as hw
import pandas
import polars
import pyarrow
import pytest


def chunk(table, name):
    return table.column(name).chunk(0)


def test_a_view_leaves_without_a_copy(run):
    first, second = pyarrow.table(run.V), run.V.to_pyarrow()
    for name in ("time", "wait", "first_line"):
        assert chunk(first, name).buffers()[1].address == chunk(second, name).buffers()[1].address
    words = [chunk(table, "name") for table in (first, second)]
    assert words[0].indices.buffers()[1].address == words[1].indices.buffers()[1].address
    assert words[0].dictionary.buffers()[2].address == words[1].dictionary.buffers()[2].address
    assert first.schema.field("time").metadata == {b"unit": b"s"}
    assert first.column("name").to_pylist() == run.V["name"]


def test_polars_and_pandas_share_the_figures(run):
    held = chunk(pyarrow.table(run.V), "time").buffers()[1].address
    frame = run.V.to_polars()
    assert frame.height == len(run.V) and frame["time"].to_arrow().buffers()[1].address == held
    other = run.V.to_pandas()
    assert len(other) == len(run.V) and other["time"].array.__arrow_array__().chunk(0).buffers()[1].address == held
    assert list(other["name"].astype(object).where(other["name"].notna(), None)) == run.V["name"]
    assert polars.DataFrame(run.E).columns[-2:] == ["src", "dst"]


@pytest.mark.parametrize("library", ["pyarrow", "polars", "pandas"])
def test_tables_come_in_without_a_copy(library):
    columns = {"name": ["a", "b", None], "time": [1.0, 2.0, 3.0], "calls": [1, 2, 3]}
    ends = {"src": [0, 1], "dst": [1, 2], "wait": [0.5, None]}
    make = {"pyarrow": pyarrow.table, "polars": polars.DataFrame, "pandas": pandas.DataFrame}[library]
    vertices, edges = make(columns), make(ends)
    held = hw.from_arrow(vertices, edges)
    assert held.vertices["name"] == ["a", "b", None] and held.vertices["calls"] == [1.0, 2.0, 3.0]
    assert [e.dst.name for e in held.edges] == ["b", None] and held.edges["wait"][0] == 0.5
    if library != "pandas":
        came = pyarrow.table(vertices).column("time").chunk(0).buffers()[1].address
        assert chunk(pyarrow.table(held), "time").buffers()[1].address == came


def test_pandas_hands_in_arrows_buffers_as_they_are():
    given = pandas.DataFrame({"time": pandas.array([1.0, 2.0], dtype=pandas.ArrowDtype(pyarrow.float64()))})
    came = given["time"].array.__arrow_array__().chunk(0).buffers()[1].address
    assert chunk(pyarrow.table(hw.from_arrow(given)), "time").buffers()[1].address == came


def test_of_a_part_of_a_view_the_rows_are_copied(run):
    whole, part = chunk(pyarrow.table(run.V), "time"), chunk(pyarrow.table(run.V.top(3)), "time")
    assert part.buffers()[1].address != whole.buffers()[1].address and part.to_pylist() == whole.to_pylist()[:3]
    # What has gaps, comes in pieces or is no 64-bit float is converted.
    for column in (pyarrow.array([1.0, float("nan")]), pyarrow.chunked_array([[1.0], [2.0]]), pyarrow.array([1, 2])):
        assert len(hw.from_arrow(pyarrow.table({"x": column}))["x"]) == 2


def test_words_by_index_come_in_without_a_copy():
    words = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 0], pyarrow.int32()), pyarrow.array(["x", "y"]))
    held = hw.from_arrow(pyarrow.table({"name": words}))
    given = chunk(pyarrow.table(held), "name")
    assert given.indices.buffers()[1].address == words.indices.buffers()[1].address
    assert held["name"] == ["x", "y", "x"]


def test_a_metric_may_be_a_column(small):
    for column in (pyarrow.array([1.0, None, 3.0, 4.0]), pyarrow.chunked_array([[1, None], [3, 4]]), polars.Series([1.0, None, 3.0, 4.0])):
        more = small.with_metric("x", column)["x"]
        assert more[0] == 1.0 and more[1] != more[1] and more[3] == 4.0
    assert small.with_metric("w", polars.Series(["p", None, "q", "p"]))["w"] == ["p", None, "q", "p"]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_durations_are_seconds(small, unit):
    column = polars.Series([datetime.timedelta(seconds=1.5)] * 4, dtype=polars.Duration(unit))
    assert small.with_metric("x", column)["x"] == [1.5] * 4


def test_a_made_view_can_stand_for_a_runs():
    vertices = {"name": ["p"] * 8, "vertex": [0.0] * 8, "rank": list(range(8)), "time": [1.0] * 7 + [9.0]}
    edges = {"src": [0], "dst": [7], "type": ["inter-process"], "kind": ["point-to-point"], "wait": [1.0]}
    held = hw.from_arrow(polars.DataFrame(vertices), polars.DataFrame(edges), kind="parallel", ranks=8, wall_seconds=10.0)
    assert [v["rank"] for v in hw.imbalance(held)] == [7.0]
    assert len(hw.backtracking(hw.imbalance(held)).edges) == 1


def test_bad_tables_are_reported():
    table = pyarrow.table({"time": [1.0]})
    for edges, said in (
        (pyarrow.table({"src": [0], "dst": [1]}), "not there"),
        (pyarrow.table({"src": [0]}), "no column dst"),
        (pyarrow.table({"src": [0], "dst": [-1]}), "no number of a vertex"),
    ):
        with pytest.raises(hw.Error, match=said):
            hw.from_arrow(table, edges)
    with pytest.raises(hw.Error, match="figures or words"):
        hw.from_arrow(pyarrow.table({"x": [[1, 2]]}))


def test_tables_of_reports_are_frames(run):
    hot = hw.paradigms.communication(run)["hotspots"]
    assert hot.to_polars().height == len(hot) and list(hot.to_pandas().columns) == [name for name, _, _ in hot.columns]
