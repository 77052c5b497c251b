"""Recorded runs: opened, and diagnosed."""

import os

from . import _headwater


def open(*directories, max_loop_depth=10):
    """Opens recorded runs: one gives a ``Run``, several a list of them, whose places are the same where they are of one build.

    Loops nested deeper than max_loop_depth are merged.
    """
    runs = _headwater.open_runs([os.fspath(d) for d in directories], max_loop_depth)
    return runs[0] if len(runs) == 1 else runs


class Diagnosis:
    """The root causes of scaling loss; ``str(diagnosis)`` is the report that ``headwater diagnose`` prints."""

    def __init__(self, json, text):
        self._json, self._text = json, text

    def json(self):
        """As JSON, byte for byte that of ``headwater diagnose --json``."""
        return self._json

    @property
    def data(self):
        """What the JSON says."""
        import json

        return json.loads(self._json)

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"<Diagnosis: {len(self.data['causes'])} causes>"

    def _repr_html_(self):
        from ._display import escaped

        return f"<pre>{escaped(self._text)}</pre>"


def diagnose(*runs, max_loop_depth=10):
    """The root causes of scaling loss in runs of one program (``Run`` or directories), one for each number of ranks."""
    directories = [run.path if isinstance(run, _headwater.Run) else os.fspath(run) for run in runs]
    return Diagnosis(*_headwater.diagnose(directories, max_loop_depth))
