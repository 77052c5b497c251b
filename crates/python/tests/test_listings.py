"""Listings 1 and 3 to 7 of the PerFlow paper as they are printed: from the files, with line numbers.

What is changed is the import line that is put before them, and the program's name.
"""

import itertools
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


def test_listing_1_communication_analysis(program, here, capfd, symptoms):
    done = loaded(1, program)
    pag = done["pag"]
    assert pag.ranks == 4 and len(list(here.iterdir())) == 1
    calls = [v for v in pag.V if v["name"].startswith("MPI_")]
    assert list(done["V_hot"]) == sorted(calls, key=lambda v: v["time"], reverse=True)[:10]
    # The ranks without a boundary to work out wait in the exchange, or where all of them agree on a time step.
    late = list(done["V_imb"])
    assert any(v in symptoms for v in late) and set(late) <= set(done["V_hot"])
    assert done["V_bd"]["reason"][0] in ("waiting", "load_before") and list(done["V_bd"]) == late
    printed = capfd.readouterr().out
    assert late[0].name in printed and late[0].location in printed and "where" in printed
    drawn = done["pflow"].flow.svg()
    assert all(name in drawn for name in ("filter", "hotspot", "imbalance", "breakdown"))


def test_listing_3_hotspot_detection(run, guilty):
    hotspot = loaded(3)["hotspot"]
    assert list(hotspot(run.V, "time", 3)) == sorted(run.V, key=lambda v: v["time"], reverse=True)[:3]
    # Of what ranks compute themselves, the boundary is among the longest: three calls of relax, and it.
    computed = hotspot(run.V.filter("type != 'mpi-call'"), "busy", 4)
    assert any(v in guilty for v in computed)


def test_listing_4_differential_analysis(both, symptoms):
    small, large = both
    changed = loaded(4)["differential_analysis"](large.V, small.V)
    places = list(hw.pairs(large.V, small.V))
    assert len(changed) == len(places) and [v["time"] for v in changed] == [a["time"] - b["time"] for a, b in places]
    # More ranks share the work but for the boundary's, so that what grows most is waiting for it.
    most = max(range(len(changed)), key=lambda i: changed[i]["time"])
    assert places[most][0] in symptoms
    ours = hw.differential(small.V, large.V)
    assert hw.Set(changed).sort_by("time")["time"][:3] == pytest.approx(ours["time"][:3])


def test_listing_5_causal_analysis(run, guilty):
    causal_analysis = loaded(5)["causal_analysis"]
    late = hw.imbalance(run.parallel)
    causes = causal_analysis(late)
    # Behind ranks that wait for it is the boundary, on the rank that works it out.
    assert {v["rank"] for v in causes if v in guilty} == {0.0}
    assert all(v in late for v in causes)
    small = hw.make([{"name": n} for n in "abc"], [(0, 1, {}), (0, 2, {})])
    assert {v.name for v in causal_analysis(small.vertices)} == {"a"}


def embeddings(held):
    """Places of the listing's pattern, two edges into a vertex and two out of it, by going through all."""
    into, out = {}, {}
    for edge in held.edges:
        into.setdefault(edge.dst, []).append(edge)
        out.setdefault(edge.src, []).append(edge)
    for c in into:
        for a, b in itertools.permutations(into[c], 2):
            for d, e in itertools.permutations(out.get(c, []), 2):
                place = (a.src, b.src, c, d.dst, e.dst)
                if len(set(place)) == 5:
                    yield place, (a, b, d, e)


def test_listing_6_contention_detection(recorded):
    contention_detection = loaded(6)["contention_detection"]
    edges = [(0, 2, {}), (1, 2, {}), (2, 3, {}), (2, 4, {})]
    small = hw.make([{"name": n} for n in "abcde"], edges)
    vertices, edges = contention_detection(small)
    assert sorted({v.name for v in vertices[0]}) == list("abcde") and len(edges[0]) == 4
    # Threads of bins stand in line for one lock, as often as the scheduler has them meet.
    bins = hw.open(recorded["bins"][1])
    vertices, edges = contention_detection(bins.parallel)
    found = {(tuple(v), tuple(e)) for v, e in zip(vertices, edges)}
    assert found == set(embeddings(bins.parallel.pag)) and len(found) == len(vertices)
    # 16 places before one and 16 behind it make 57,600 pairs of pairs.
    edges = [(i, 32, {}) for i in range(16)] + [(32, i, {}) for i in range(16, 32)]
    crowded = hw.make([{"name": f"v{n}"} for n in range(33)], edges)
    with pytest.warns(UserWarning, match="more than"):
        contention_detection(crowded)


def test_listing_7_scalability_analysis(program, here, capfd, guilty, monkeypatch):
    given = []
    report = hw.perflow.PerFlow.report
    monkeypatch.setattr(hw.perflow.PerFlow, "report", lambda self, *what: given.append(what) or report(self, *what))
    done = loaded(7, program)
    assert done["pag_p4"].ranks == 4 and done["pag_p64"].ranks == 64
    # The way back from where it shows leads by the line that is guilty.
    ((V_bt, E_bt), attrs), = given
    way = [v for v in V_bt if isinstance(v, hw.Vertex)]
    assert any(v in guilty for v in way) and E_bt and attrs == ["name", "time", "dbg-info", "pmu"]
    printed = capfd.readouterr().out
    assert "zeus.c:8" in printed and "MPI_Waitall" in printed and "from" in printed


def test_what_the_loader_changes_is_what_it_says():
    assert listing.python("1 def f(V)\n2     return V\n") == "def f(V):\n    return V\n"
    assert listing.python("if a\n    and b:\n    c\nelse # no\n    d\n") == "if a and b:\n    c\nelse:\n    d\n"
    assert listing.python("for (a, b) in (A, B):\n    f(a)\n") == "for a, b in pairs(A, B):\n    f(a)\n"
    assert listing.python("from x import *\ny = 1\n") == "from x import *\ny = 1\n"
    plain = "for a, b in ((1, 2), (3, 4)):\n    x = [a if b else a]\nwhile x:\n    x = x[1:]\n"
    assert listing.python(plain) == plain.replace("a, b in", "a, b in")
    live = "es = v.es\nwhile es:\n    v = es.src\n"
    assert listing.python(live) == live + "    es = v.es\n"
