"""What becomes of the process: interrupted in passes written in Python, ended, forked."""

import os
import subprocess
import sys

import pytest

#: A set that is large enough to be shared among threads.
LARGE = """
import os, signal, threading, time
import headwater as hw, polars
n = 300_000
columns = {"time": [1.0 + i % 7 for i in range(n)], "rank": [float(i % 8) for i in range(n)], "vertex": [float(i // 8) for i in range(n)]}
held = hw.from_arrow(polars.DataFrame(columns), kind="parallel", ranks=8, wall_seconds=1.0)
"""

#: A flow whose branches are all in passes written in Python when Ctrl-C is pressed.
INTERRUPTED = """
count, begun = [0], threading.Semaphore(0)

def interrupted(function, branches):
    flow = hw.Flow("interrupted")
    source = flow.input("V", held)
    for i in range(branches):
        flow.output(str(i), flow.apply(lambda V: function(V), hw.filter(source, where=f"time > {i}")))

    def press():
        for _ in range(branches):
            begun.acquire()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    try:
        flow.run()
    except KeyboardInterrupt:
        return
    raise AssertionError("it was not interrupted")

signal.signal(signal.SIGINT, signal.default_int_handler)
"""

LOOPS = """
def loops(V):
    begun.release()
    while True:
        count[0] += 1
        time.sleep(0.001)

interrupted(loops, 2)
for thread in threading.enumerate():
    if thread.name == "headwater pass":
        thread.join(30)
before = count[0]
time.sleep(0.05)
assert count[0] == before > 0
print(len(hw.imbalance(held)) >= 0)
"""

#: These are left behind: what blocks in C does not hear.
BLOCKS = """
def blocks(V):
    begun.release()
    time.sleep(1000)

interrupted(blocks, 2)
flow = hw.Flow("later")
flow.output("out", flow.apply(lambda V: hw.top(V, n=3), flow.input("V", held)))
print(len(flow.run()["out"]) == 3 and len(hw.imbalance(held)) >= 0)
"""

#: Passes of Rust's that one written in Python calls, again and again.
NESTED = """
def nested(V):
    begun.release()
    while True:
        hw.sort(V)

interrupted(nested, 2)
print(len(hw.imbalance(held)) >= 0)
"""

FORKED = """
hw.imbalance(held)
child = os.fork()
if child == 0:
    try:
        hw.imbalance(held)
    except hw.Error as error:
        os._exit(3 if "spawn" in str(error) else 4)
    os._exit(5)
print(os.waitpid(child, 0)[1] >> 8 == 3)
"""


@pytest.mark.parametrize(
    "code",
    [INTERRUPTED + LOOPS, INTERRUPTED + BLOCKS, INTERRUPTED + NESTED, FORKED],
    ids=["loops", "blocks", "nested", "forked"],
)
def test_the_process_goes_on_and_ends(code):
    # As many threads as there are branches: were they kept, nothing would be left for later passes.
    environment = {**os.environ, "RAYON_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", LARGE + code], capture_output=True, text=True, timeout=120, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
