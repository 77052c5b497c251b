"""Listings 1 and 3 to 7 of the PerFlow paper as they are printed: from the files, with line numbers.

What is changed is the import line that is put before them, and the program's name.
"""

import os
import pathlib

import headwater as hw
import pytest
from headwater import listing

HERE = pathlib.Path(__file__).parent / "listings"
IMPORT = "from headwater.perflow import *\n"


def loaded(number, program=None):
    text = (HERE / f"listing_{number}.txt").read_text()
    numbers = [int(line.split()[0]) for line in text.splitlines()]
    assert numbers == list(range(1, len(numbers) + 1))
    code = "\n".join(line[3 if len(numbers) > 9 else 2 :] for line in text.splitlines()) + "\n"
    if program:
        assert "./a.out" in code
        code = code.replace("./a.out", program)
    return listing.run(IMPORT + code)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory for what is recorded; a launcher that starts more ranks than cores, also as root."""
    monkeypatch.chdir(tmp_path)
    for name in ("OMPI_MCA_rmaps_base_oversubscribe", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.setenv(name, "1")
    return tmp_path


def test_listing_1_communication_analysis(program, here, capfd):
    done = loaded(1, program)
    assert done["pag"].ranks == 4 and len(list(here.iterdir())) == 1
    told = capfd.readouterr().out
    assert "MPI_" in told and "where" in told
    drawn = done["pflow"].flow.svg()
    assert all(name in drawn for name in ("filter", "hotspot", "imbalance", "breakdown"))


def test_listing_3_hotspot_detection(run):
    hotspot = loaded(3)["hotspot"]
    hot = hotspot(run.V, "time", 3)
    assert hot["time"] == sorted(run.V["time"], reverse=True)[:3]


def test_listing_4_differential_analysis(both):
    small, large = both
    changed = loaded(4)["differential_analysis"](large.V, small.V)
    assert len(changed) == len(hw.pairs(large.V, small.V))
    ours = hw.differential(small.V, large.V)
    assert hw.Set(changed).sort_by("time")["time"][:3] == pytest.approx(ours["time"][:3])


def test_listing_5_causal_analysis(run):
    causal_analysis = loaded(5)["causal_analysis"]
    late = hw.imbalance(run.parallel).top(6)
    causes = causal_analysis(late)
    assert causes and all(v in late for v in causes)
    small = hw.make([{"name": n} for n in "abc"], [(0, 1, {}), (0, 2, {})])
    assert {v.name for v in causal_analysis(small.vertices)} == {"a"}


def test_listing_6_contention_detection(run):
    contention_detection = loaded(6)["contention_detection"]
    edges = [(0, 2, {}), (1, 2, {}), (2, 3, {}), (2, 4, {})]
    small = hw.make([{"name": n} for n in "abcde"], edges)
    vertices, edges = contention_detection(small)
    assert sorted({v.name for v in vertices[0]}) == list("abcde") and len(edges[0]) == 4
    with pytest.warns(UserWarning, match="more than"):
        contention_detection(run.parallel)


def test_listing_7_scalability_analysis(program, here, capfd):
    done = loaded(7, os.environ.get("HEADWATER_QUICK", program))
    assert done["pag_p4"].ranks == 4 and done["pag_p64"].ranks == 64
    told = capfd.readouterr().out
    assert "MPI_" in told and "from" in told


def test_what_the_loader_changes_is_what_it_says():
    assert listing.python("1 def f(V)\n2     return V\n") == "def f(V):\n    return V\n"
    assert listing.python("if a\n    and b:\n    c\nelse # no\n    d\n") == "if a and b:\n    c\nelse:\n    d\n"
    assert listing.python("for (a, b) in (A, B):\n    f(a)\n") == "for a, b in pairs(A, B):\n    f(a)\n"
    assert listing.python("from x import *\ny = 1\n") == "from x import *\ny = 1\n"
    plain = "for a, b in ((1, 2), (3, 4)):\n    x = [a if b else a]\nwhile x:\n    x = x[1:]\n"
    assert listing.python(plain) == plain.replace("a, b in", "a, b in")
    live = "es = v.es\nwhile es:\n    v = es.src\n"
    assert listing.python(live) == live + "    es = v.es\n"
