"""The questions that are often asked, each a function of runs (or of their directories) that gives a ``Report``.

``headwater.paradigms.causal(run)`` is what ``headwater analyse causal`` says; ``flow("causal")`` is its dataflow.
"""

from . import _headwater

_TAKES = {"one": "run", "two": "first, second", "several": "*runs"}
_functions = {}


def table():
    """The paradigms by the name of their function: name on the command line, what it answers, runs it takes."""
    return {name.replace("-", "_"): (name, about, takes) for name, about, takes in _headwater.paradigms()}


def names():
    """Names of the functions of all paradigms."""
    return list(table())


def flow(name, runs=1):
    """The dataflow of a paradigm for so many runs; its inputs are run1, run2 and so on."""
    from .flow import Flow

    return Flow._of(_headwater.paradigm_flow(name.replace("_", "-"), runs))


def document(row):
    """The docstring of a paradigm."""
    name, about, takes = row
    of = {"one": "one run", "two": "two runs, the earlier or smaller one first", "several": "one run or more"}[takes]
    return f"{about}.\n\nTakes {of}; gives a ``Report``, whose JSON is that of ``headwater analyse {name} --json``."


def arguments(row):
    """The arguments of a paradigm as they stand in its signature."""
    return _TAKES[row[2]]


def __getattr__(name):
    row = table().get(name)
    if row is None:
        raise AttributeError(f"module 'headwater.paradigms' has no attribute {name!r}")
    if name not in _functions:
        scope = {"_analyse": _headwater.analyse, "__name__": __name__}
        exec(f"def {name}({arguments(row)}):\n    return _analyse({row[0]!r}, {arguments(row)})\n", scope)
        scope[name].__doc__ = document(row)
        _functions[name] = scope[name]
    return _functions[name]


def __dir__():
    return sorted(set(globals()) | set(names()))
