"""Passes and dataflows: eager, lazy, saved, with functions of Python's, interrupted."""

import functools
import gc
import threading
import time
import weakref

import headwater as hw
import polars
import pytest
from conftest import ctrl_c


def test_a_pass_is_a_function_with_a_docstring(run):
    assert "seconds" in hw.hotspot.__doc__ and hw.hotspot.__name__ == "hotspot"
    hot = hw.hotspot(run.V, n=3)
    assert len(hot) == 3 and hot["time"] == sorted(hot["time"], reverse=True)
    assert hw.hotspot(run.V, "wait", 1)["wait"][0] == max(w for w in run.V["wait"] if w == w)
    assert set(hw.passes.names()) <= set(dir(hw))
    places = hw.table(hot, attributes=["name", "time"], name="hot", title="Where the time goes")
    assert places.name == "hot" and [row["time_seconds"] for row in places.rows] == hot["time"]


def flow_of(run=None):
    flow = hw.Flow("uneven calls")
    source = flow.input("run", run)
    calls = hw.filter(hw.vertices(source), name="MPI_*")
    flow.output("hot", hw.hotspot(calls, n=2))
    flow.output("places", hw.table(hw.top(calls, n=1), attributes=["name", "time"]))
    return flow


def test_a_flow_runs_what_is_asked_for_and_keeps_it(run):
    flow, events = flow_of(), []
    hot = flow.run("hot", run=run, progress=lambda *event: events.append(event[:2]))["hot"]
    assert hot.same(hw.hotspot(run.V.filter(name="MPI_*"), n=2))
    assert ("hotspot", "done") in events and "table" not in {name for name, _ in events}
    events.clear()
    assert flow.run("hot", run=run, progress=lambda *event: events.append(event[:2]))["hot"].same(hot)
    assert events == [("hotspot", "known")]
    assert len(flow.run(run=run)["places"]) == 1


def test_steps_can_be_looked_at(run):
    flow = hw.Flow("step by step")
    everything = hw.vertices(flow.input("run", run))
    hot = hw.hotspot(everything, n=4)
    assert hot.kind == "top-down" and len(hot.value) == 4
    both = hw.imbalance(everything) | hot
    assert hot.value.vertices[0] in both.value


def test_a_function_of_pythons_is_a_pass(run):
    def longest(V):
        return [v for v in V if v["time"] > 0][:3]

    def split(V):
        return V.filter(name="MPI_*"), V.filter("not (name ~ 'MPI_*')")

    flow = hw.Flow("own passes")
    everything = hw.vertices(flow.input("run", run))
    first = flow.apply(longest, hw.sort(everything))
    calls, others = flow.apply(split, first, gives=2)
    flow.output("first", first)
    flow.output("calls", calls)
    flow.output("others", others)
    given = flow.run()
    assert len(given["first"]) == 3 and len(given["calls"]) + len(given["others"]) == 3
    assert given["first"].over_ranks("time"), "it still knows its run"
    again = hw.Flow.from_json(flow.json(), [longest, (split, 2)])
    assert again.run("calls", run=run)["calls"].same(given["calls"])


def test_a_function_is_repeated_until_nothing_changes(run):
    def shorter(V):
        return V.top(max(2, len(V) - 1))

    flow = hw.Flow("loop")
    end = flow.repeat(shorter, hw.top(hw.vertices(flow.input("run", run)), n=6))
    flow.output("end", end)
    assert len(flow.run()["end"]) == 2


def test_passes_of_a_pass_run_side_by_side(run):
    def hot(V):
        # Another one has the interpreter meanwhile.
        time.sleep(0.02)
        return hw.hotspot(V, n=3)

    flow = hw.Flow("nested")
    everything = hw.vertices(flow.input("run", run))
    for i in range(8):
        flow.output(f"hot{i}", flow.apply(hot, hw.filter(everything, where=f"time >= 0 or time > {i}")))
    assert {len(v) for v in flow.run().values()} == {3}


def test_a_flow_is_drawn_printed_saved_and_read(run, tmp_path):
    flow = flow_of()
    assert flow.svg().startswith("<svg") and "hotspot" in str(flow)
    flow.save(tmp_path / "flow.json")
    flow.save(tmp_path / "flow.svg")
    assert (tmp_path / "flow.svg").read_text() == flow.svg()
    again = hw.Flow.load(tmp_path / "flow.json")
    assert again.json() == flow.json() and again.inputs == {"run": "run"}
    assert again.run("hot", run=run)["hot"].same(flow.run("hot", run=run)["hot"])


def test_what_a_function_raises_is_raised(run):
    def broken(V):
        raise ZeroDivisionError("by me")

    flow = hw.Flow("broken")
    flow.output("out", flow.apply(broken, hw.vertices(flow.input("run", run))))
    with pytest.raises(ZeroDivisionError, match="by me"):
        flow.run()


def test_what_a_repeated_function_raises_is_raised_once(run):
    fails = [True]

    def broken(V):
        if fails[0]:
            raise ZeroDivisionError("by me")
        return V

    body = hw.Flow("body")
    body.output("V", body.apply(broken, body.input("V", kind="set")))
    flow = hw.Flow("repeated")
    flow.output("out", flow.repeat(body, hw.vertices(flow.input("run", run))))
    with pytest.raises(ZeroDivisionError, match="by me"):
        flow.run()
    fails[0] = False
    assert len(flow.run()["out"]) == len(run.V)


def test_ctrl_c_ends_a_flow_between_two_passes(run):
    begun, after = threading.Event(), []

    def slow(V):
        begun.set()
        time.sleep(0.3)
        return V

    def never(V):
        after.append(1)
        return V

    flow = hw.Flow("long")
    flow.output("out", flow.apply(never, flow.apply(slow, hw.vertices(flow.input("run", run)))))
    with ctrl_c(begun):
        flow.run()
    assert after == []


def test_ctrl_c_does_not_wait_for_a_function_of_pythons(run):
    begun, end, ended = threading.Event(), threading.Event(), []

    def slow(V):
        begun.set()
        ended.append(end.wait(60))
        return V

    flow = hw.Flow("waits")
    flow.output("out", flow.apply(slow, hw.vertices(flow.input("run", run))))
    with ctrl_c(begun):
        flow.run()
    assert ended == []
    end.set()
    assert len(flow.run()["out"]) == len(run.V)


def test_ctrl_c_ends_long_work_of_rusts():
    n, events, begun = 30, [], threading.Event()
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    ends = {"src": [a for a, _ in pairs], "dst": [b for _, b in pairs]}
    words = {"type": ["inter-thread"] * len(pairs), "kind": ["mutex"] * len(pairs), "wait": [1.0] * len(pairs)}
    vertices = {"vertex": [0.0] * n, "rank": [float(v) for v in range(n)]}
    held = hw.from_arrow(polars.DataFrame(vertices), polars.DataFrame({**ends, **words}), kind="parallel", ranks=n, wall_seconds=1.0)

    def tell(*event):
        events.append(event[:2])
        begun.set()

    flow = hw.Flow("many places to look at")
    # Nobody waits for a message here, which shows only when all ways of six steps have been tried.
    flow.output("out", hw.contention(flow.input("V", held.vertices), patterns=["a>b b>c c>d d>e e>f f>g:point-to-point"]))
    with ctrl_c(begun):
        flow.run(progress=tell)
    assert events == [("contention", "begins")]


def test_what_progress_raises_ends_the_flow(run):
    def refuse(*event):
        raise ZeroDivisionError("by me")

    with pytest.raises(ZeroDivisionError, match="by me"):
        flow_of().run(run=run, progress=refuse)


class Longer:
    """Things that can be called and are no plain functions."""

    def __init__(self, least):
        self.least = least

    def than(self, V):
        return V.filter(lambda v: v["time"] > self.least)

    __call__ = than


def longer(least, V):
    return Longer(least).than(V)


@pytest.mark.parametrize(
    "function, name",
    [
        (Longer(0.001).than, "than"),
        (Longer(0.001), "Longer"),
        (functools.partial(longer, 0.001), "longer"),
        (lambda V: longer(0.001, V), "<lambda>"),
    ],
)
def test_whatever_can_be_called_is_a_pass(run, function, name):
    flow = hw.Flow("called")
    flow.output("out", flow.apply(function, hw.vertices(flow.input("run", run))))
    assert name in str(flow)
    assert flow.run()["out"].same(run.V.filter("time > 0.001"))
    again = hw.Flow.from_json(flow.json(), [function])
    assert again.run(run=run)["out"].same(flow.run()["out"])


def test_a_flow_that_is_in_one_of_its_functions_is_collected(run):
    class Witness:
        pass

    def made(witness):
        flow, body = hw.Flow("in itself"), hw.Flow("body")
        body.output("V", body.apply(lambda V: (witness, flow) and V, body.input("V", kind="set")))
        flow.output("out", flow.repeat(body, flow.apply(lambda V: (witness, flow) and V, hw.vertices(flow.input("run", run)))))
        assert len(flow.run()["out"]) == len(run.V)

    witness = Witness()
    seen = weakref.ref(witness)
    made(witness)
    del witness
    gc.collect()
    assert seen() is None


def test_what_is_kept_can_be_given_up(run):
    flow, events = flow_of(), []
    flow.run("hot", run=run)
    flow.forget()
    hot = flow.run("hot", run=run, progress=lambda *event: events.append(event[:2]))["hot"]
    assert ("hotspot", "done") in events and hot.over_ranks("time")


def test_results_of_few_runs_are_kept(directories):
    flow, events = flow_of(), []
    tell = lambda *event: events.append(event[1])
    for depth in range(1, 10):
        run = hw.open(directories[4], max_loop_depth=depth)
        assert flow.run("hot", run=run)["hot"].over_ranks("time")
    del run
    assert flow.run("hot", run=hw.open(directories[4]), progress=tell)["hot"].over_ranks("time")


def test_nodes_of_another_flow_are_refused(run):
    flow, other = hw.Flow("mine"), hw.Flow("other")
    hot = hw.hotspot(hw.vertices(flow.input("run", run)))
    foreign = hw.vertices(other.input("run", run))
    for wrong in (
        lambda: flow.output("hot", foreign),
        lambda: flow.connect(hot, 0, foreign),
        lambda: flow.connect(foreign, 0, hot),
    ):
        with pytest.raises(hw.Error, match="of the dataflow other"):
            wrong()
    assert flow.outputs == []


def test_names_of_inputs_and_outputs_are_checked(run):
    flow = flow_of(run)
    with pytest.raises(hw.Error, match="has no input rn; there are run"):
        flow.run(rn=run)
    with pytest.raises(hw.Error, match="has an input run already"):
        flow.input("run")
    with pytest.raises(hw.Error, match="has an output hot already"):
        flow.output("hot", hw.hotspot(hw.vertices(flow.input("another", run))))


def test_functions_of_one_name_stay_apart_when_saved(run):
    flow = hw.Flow("lambdas")
    everything = hw.vertices(flow.input("run", run))
    first, second = (lambda V: V.top(1)), (lambda V: V.top(2))
    flow.output("one", flow.apply(first, everything))
    flow.output("two", flow.apply(second, everything))
    flow.output("again", flow.apply(first, hw.top(everything, n=5)))
    again = hw.Flow.from_json(flow.json(), {"<lambda>": first, "<lambda> 2": second})
    assert [len(given) for given in again.run(run=run).values()] == [1, 2, 1]
    assert again.json() == flow.json()
    for wrong, message in (([first, second], "several have the name"), ([first], "<lambda> 2, which is not given")):
        with pytest.raises(hw.Error, match=message):
            hw.Flow.from_json(flow.json(), wrong)


def test_a_function_is_saved_with_what_it_gives_and_is_none_of_our_passes(run):
    calls = []

    def hotspot(V):
        calls.append(1)
        return V.top(1), V.top(2)

    flow = hw.Flow("mine")
    one, two = flow.apply(hotspot, hw.vertices(flow.input("run")), gives=2, cached=False)
    flow.output("two", two)
    with pytest.raises(hw.Error, match="function hotspot, which is not given"):
        hw.Flow.from_json(flow.json())
    with pytest.raises(hw.Error, match="hotspot returns 2, and the function given for it 3"):
        hw.Flow.from_json(flow.json(), [(hotspot, 3)])
    again = hw.Flow.from_json(flow.json(), [hotspot])
    for _ in range(2):
        assert len(again.run(run=run)["two"]) == 2
    assert len(calls) == 2


def test_a_loop_that_does_not_settle_is_reported(run):
    def other(V):
        return run.V.top(2 if len(V) == 1 else 1)

    flow = hw.Flow("restless")
    flow.output("end", flow.repeat(other, hw.vertices(flow.input("run", run)), most=5))
    with pytest.warns(RuntimeWarning, match="the dataflow restless: other was repeated"):
        flow.run()
