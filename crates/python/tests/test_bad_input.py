"""Bad input: one message that names the pass and the argument."""

import headwater as hw
import pyarrow
import pytest


def said(call):
    with pytest.raises(hw.Error) as error:
        call()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_wrong_kind_of_set(run):
    assert said(lambda: hw.causal(run.V)).startswith("pass causal, argument V: it needs a set of a parallel view")
    assert said(lambda: hw.hotspot(run)).startswith("pass hotspot, argument V: it needs a set and is given a run")
    assert said(lambda: hw.hotspot(3)).startswith("pass hotspot, argument V: a set is needed")
    assert "pass vertices, argument run" in said(lambda: hw.vertices(run.V))
    flow = hw.Flow("wrong")
    flow.output("out", hw.causal(hw.vertices(flow.input("run", run))))
    assert "pass causal, argument V" in said(flow.check) and said(flow.run) == said(flow.check)


def test_runs_of_different_programs(run, directories, tmp_path):
    import shutil

    other = tmp_path / "other.4"
    shutil.copytree(directories[4], other)
    text = (other / "run.json").read_text()
    (other / "run.json").write_text(text.replace(f'"program":"{run.program}"', '"program":"/bin/other"').replace(f'"program": "{run.program}"', '"program": "/bin/other"'))
    message = said(lambda: hw.paradigms.differential(run, other))
    assert "different programs" in message and "other" in message


def test_a_directory_that_is_no_run(tmp_path):
    assert str(tmp_path) in said(lambda: hw.open(tmp_path))


def test_an_empty_set(run):
    nothing = run.V.filter(name="there is no such")
    assert len(hw.hotspot(nothing)) == 0 and len(hw.imbalance(nothing)) == 0
    assert "argument V" in said(lambda: hw.causal([]))


def test_a_cyclic_dataflow(run):
    flow = hw.Flow("circle")
    first = hw.top(flow.input("V", run.V))
    second = hw.top(first)
    flow.connect(first, 0, second)
    flow.output("out", second)
    assert "top → top" in said(flow.run) and "circle" in said(flow.run)


def test_a_metric_that_was_not_recorded(run):
    message = said(lambda: hw.hotspot(run.V, metric="flops"))
    assert message.startswith("pass hotspot, argument metric: there is no attribute flops; there are name,")
    assert "flops" in said(lambda: run.V["flops"]) and "flops" in said(lambda: run.V[0]["flops"])
    assert "flops" in said(lambda: run.V.over_ranks("flops"))


def test_other_arguments(run, small):
    assert "pass hotspot has no parameter m" in said(lambda: hw.passes.call("hotspot", (run.V,), {"m": 1.0}))
    assert "pass hotspot, argument n: a whole number from 0 on is needed" in said(lambda: hw.hotspot(run.V, n="many"))
    assert said(lambda: hw.hotspot(run.V, n=-1)).endswith("and not -1")
    assert "pass hotspot, argument n:" in said(lambda: hw.hotspot(run.V, n=None))
    assert "argument per" in said(lambda: hw.differential(run.V, run.V, per="node"))
    assert "column" in said(lambda: run.V.filter("time >"))
    assert "different graphs" in said(lambda: run.V | small)
    assert "takes one run" in said(lambda: hw.paradigms.causal(run).__class__ and hw.analyse("causal", run, run))
    assert "there is no analysis nothing" in said(lambda: hw.analyse("nothing", run))
    assert "with_metric" in said(lambda: run.V[0].__setitem__("time", 1.0))
    assert "values for" in said(lambda: run.V.with_metric("x", [1.0]))
    flow, other = hw.Flow("one"), hw.Flow("other")
    assert "dataflow other" in said(lambda: flow.output("x", flow._pass("top", (other.input("V", run.V),), {})))


def test_what_is_no_table():
    assert said(lambda: hw.from_arrow([1])) == (
        "argument vertices: a table of pyarrow, polars, pandas, DuckDB or another library with Arrow streams is needed, and not list"
    )
    table = pyarrow.table({"time": [1.0]})
    assert said(lambda: hw.from_arrow(table, {"src": [0]})) == (
        "argument edges: a table of pyarrow, polars, pandas, DuckDB or another library with Arrow streams is needed, and not dict"
    )
    assert "one column" in said(lambda: hw.from_arrow(pyarrow.chunked_array([[1.0]])))


def test_a_pattern_in_pieces(small):
    pattern = hw.Graph()
    assert "in several pieces" in said(lambda: hw.subgraph_matching(small, pattern))
    pattern.add_vertices([(1, "A"), (2, "B"), (3, "C")])
    pattern.add_edge(1, 2)
    assert "in several pieces" in said(lambda: hw.subgraph_matching(small, pattern))
    pattern.add_edge(3, 2)
    hw.subgraph_matching(small, pattern)


def test_a_list_in_itself():
    V = []
    V.append(V)
    for call in (hw.Set, hw.hotspot, hw.perflow.PerFlow().hotspot_detection, lambda V: hw.perflow.pflow.report(V, ["name"])):
        assert "perhaps one is in itself" in said(lambda: call(V))


def test_lists_to_filter_by(small):
    many = [f"no such {i}" for i in range(2000)]
    assert small.filter(name=many + ["loop"])["name"] == ["loop"]
    assert small.filter(time=[float(i) for i in range(1000)])["time"] == [1.0, 4.0, 3.0, 2.0]
    assert len(small.filter(name=[])) == 0
    quoted = hw.make([{"name": """a"b'c"""}, {"name": "d"}])
    assert len(quoted.filter(name=["""a"b'c"""])) == 1
    assert "argument name" in said(lambda: small.filter(name=["loop", 1.0])) and "both" in said(lambda: small.filter(name=["loop", 1.0]))
    assert "argument name" in said(lambda: small.filter(name=[None])) and "argument name" in said(lambda: small.filter(name=object()))
    assert "argument where" in said(lambda: small.filter(3))


def test_what_is_no_function(run):
    flow = hw.Flow("no function")
    everything = hw.vertices(flow.input("run", run))
    assert said(lambda: flow.apply([run.V], everything)) == "argument function: a function of sets is needed, and not list"
    assert "argument function" in said(lambda: flow.repeat(3, everything))
    assert said(lambda: flow.apply(lambda V: V, everything, everything)) == "pass <lambda> takes 1 sets, and 2 are given"
    assert len(flow) == 2


def test_settings(run, both):
    assert "argument scaling" in said(lambda: hw.diagnose(*both, scaling="big"))
    assert "argument abnorm_threshold" in said(lambda: hw.diagnose(*both, abnorm_threshold=0.5))
    assert "argument abnorm_threshold means nothing to causal" in said(lambda: hw.analyse("causal", run, abnorm_threshold=2.0))
    assert "argument runs" in said(lambda: hw.diagnose(3))


def test_a_pass_that_returns_no_set(run):
    flow = hw.Flow("mine")

    def forgets(held):
        held.top(2)

    flow.output("x", flow.apply(forgets, flow.input("V", run.V)))
    assert "pass forgets, argument returned: a set is needed" in said(flow.run)
    flow = hw.Flow("two")
    flow.output("x", flow.apply(lambda held: held.top(2), flow.input("V", run.V), gives=2)[0])
    assert "argument returned: a tuple of 2 sets is needed, and not Set" in said(flow.run)


def test_a_wrong_argument_does_not_spoil_the_flow_of_perflow(run):
    pflow = hw.perflow.PerFlow()
    for wrong in ({"W": run.V}, {}, {"V": run.V, "sets": 3}):
        with pytest.raises(TypeError, match="pass hotspot: .*argument"):
            pflow.hotspot(**wrong)
    assert len(pflow.flow) == 0
    assert pflow.hotspot(V=run.V, n=2).same(pflow.hotspot(run.V, "time", 2))
    pflow.flow.check()
