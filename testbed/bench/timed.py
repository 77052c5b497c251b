#!/usr/bin/python3
"""Runs a script of the testbed several times over and prints the seconds that it took, without those of starting Python
and of importing MODULE: timed.py MODULE TIMES SCRIPT [ARGUMENT...]"""

import contextlib
import importlib
import os
import runpy
import sys
import time

module, times, script = sys.argv[1:4]
sys.argv = sys.argv[3:]
importlib.import_module(module)
begin = time.perf_counter()
with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
    for _ in range(int(times)):
        runpy.run_path(os.path.join(os.path.dirname(__file__), "..", script))
end = time.perf_counter()
if os.environ.get("OMPI_COMM_WORLD_RANK", "0") == "0":
    print(end - begin)
