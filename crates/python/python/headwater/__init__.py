"""Headwater finds where a delay in a parallel program comes from, and follows it upstream to the line that causes it.

    import headwater as hw

    run = hw.open("app.16")                      # a recorded run; hw.record("mpirun -n 16 ./app") makes one
    calls = run.V.filter(name="MPI_*")           # places of the program, all ranks together
    hot = hw.hotspot(calls, n=5)                 # passes take sets and give sets
    why = hw.breakdown(hw.imbalance(hot))
    print(hw.table(why, attributes=["name", "debug-info", "excess", "reason"]))

All passes of ``headwater.passes.names()`` are functions of this module; ``headwater.paradigms`` has the questions that are
often asked, as ``headwater analyse`` has them. ``Flow`` joins passes to a dataflow that is checked before it runs,
``PerFlow`` is the interface of the paper by Jin et al. (PPoPP 2022). Times are seconds, sizes bytes, shares parts of a
whole from 0 to 1; what was not measured is NaN or None.
"""

from . import _methods, paradigms, passes, perflow
from ._headwater import (
    Diagnosis,
    Edge,
    Error,
    Finding,
    Pairs,
    Report,
    Run,
    Set,
    Table,
    Vertex,
    analyse,
    diagnose,
    export,
    formats,
    from_arrow,
    lowest_common_ancestor,
    make,
    pairs,
    unit,
)
from ._command import command, record
from ._graph import Graph, subgraph_matching
from ._open import open
from .flow import Flow, Node
from .perflow import PerFlow

__version__ = _methods.version()

_OWN = [
    "Diagnosis",
    "Edge",
    "Error",
    "Finding",
    "Flow",
    "Graph",
    "Node",
    "Pairs",
    "PerFlow",
    "Report",
    "Run",
    "Set",
    "Table",
    "Vertex",
    "analyse",
    "command",
    "diagnose",
    "export",
    "formats",
    "from_arrow",
    "listing",
    "lowest_common_ancestor",
    "make",
    "open",
    "pairs",
    "paradigms",
    "passes",
    "perflow",
    "record",
    "subgraph_matching",
    "unit",
]
__all__ = _OWN + [name for name in passes.names() if name not in _OWN]


def __getattr__(name):
    if name == "listing":
        # What reads Python's source costs more than all the rest.
        import importlib

        return importlib.import_module(".listing", __name__)
    # Functions of passes are made when they are first asked for.
    return passes.function(name, __name__)


def __dir__():
    return sorted(set(__all__) | set(globals()))
