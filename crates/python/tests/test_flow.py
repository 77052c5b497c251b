"""Passes and dataflows: eager, lazy, saved, with functions of Python's, interrupted."""

import signal
import threading
import time

import headwater as hw
import pytest


def test_a_pass_is_a_function_with_a_docstring(run):
    assert "seconds" in hw.hotspot.__doc__ and hw.hotspot.__name__ == "hotspot"
    hot = hw.hotspot(run.V, n=3)
    assert len(hot) == 3 and hot["time"] == sorted(hot["time"], reverse=True)
    assert hw.hotspot(run.V, "wait", 1)["wait"][0] == max(w for w in run.V["wait"] if w == w)
    assert set(hw.passes.names()) <= set(dir(hw))
    told = hw.table(hot, attributes=["name", "time"], name="hot", title="Where the time goes")
    assert told.name == "hot" and [row["time_seconds"] for row in told.rows] == hot["time"]


def flow_of(run=None):
    flow = hw.Flow("uneven calls")
    source = flow.input("run", run)
    calls = hw.filter(hw.vertices(source), name="MPI_*")
    flow.output("hot", hw.hotspot(calls, n=2))
    flow.output("told", hw.table(hw.top(calls, n=1), attributes=["name", "time"]))
    return flow


def test_a_flow_runs_what_is_asked_for_and_keeps_it(run):
    flow, told = flow_of(), []
    hot = flow.run("hot", run=run, progress=lambda *event: told.append(event[:2]))["hot"]
    assert hot.same(hw.hotspot(run.V.filter(name="MPI_*"), n=2))
    assert ("hotspot", "done") in told and "table" not in {name for name, _ in told}
    told.clear()
    assert flow.run("hot", run=run, progress=lambda *event: told.append(event[:2]))["hot"].same(hot)
    assert told == [("hotspot", "known")]
    assert len(flow.run(run=run)["told"]) == 1


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
    main = threading.main_thread().ident
    threading.Thread(target=lambda: (begun.wait(), signal.pthread_kill(main, signal.SIGINT))).start()
    # Where tests run in the background the signal is ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            flow.run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert after == []
