"""Recorded runs, opened."""

import os

from . import _headwater


def open(*directories, max_loop_depth=10): ...


def open(*directories, max_loop_depth=10):
    """Opens recorded runs: one gives a ``Run``, several a list of them, whose places are the same where they are of one build.

    A directory that holds several runs stands for all of them, by their ranks, and gives a list. Loops nested deeper than
    max_loop_depth are merged.
    """
    runs = _headwater.open_runs([os.fspath(d) for d in directories], max_loop_depth)
    return runs[0] if len(runs) == 1 else runs
