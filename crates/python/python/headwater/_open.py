"""Recorded runs, opened."""

import os

from . import _headwater


def open(*directories, max_loop_depth=10): ...


def open(*directories, max_loop_depth=10):
    """Opens recorded runs: one directory returns a ``Run``, several return a list. Runs of the same build share their places.

    A directory of several runs means all of them, ordered by their ranks, and returns a list. Loops nested deeper than
    max_loop_depth are merged.
    """
    runs = _headwater.open_runs([os.fspath(d) for d in directories], max_loop_depth)
    return runs[0] if len(runs) == 1 else runs
