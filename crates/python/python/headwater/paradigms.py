"""The questions that are often asked, each a function of runs (or of their directories) that returns a ``Report``.

``headwater.paradigms.causal(run)`` is what ``headwater analyse causal`` says; ``flow("causal")`` is its dataflow.
"""

from . import _headwater

_TAKES = {"one": ["run"], "two": ["first", "second"], "several": ["*runs"]}

#: Settings of some of them, and what each means.
_SETTINGS = {
    "scaling": "strong or weak, how the problem grows; guessed from the arguments of the runs if not given",
    "abnorm_threshold": "how many times longer than the others a rank must take to be reported; 1.3 if not given",
    "max_loop_depth": "loops nested deeper are merged; as where the runs were opened if not given, or 10",
}
_functions = {}


def table():
    """The paradigms by the name of their function: name on the command line, what it answers, runs it takes, settings."""
    return {row[0].replace("-", "_"): (*row[:3], [*row[3], "max_loop_depth"]) for row in _headwater.paradigms()}


def names():
    """Names of the functions of all paradigms."""
    return list(table())


def flow(name, runs=None):
    """The dataflow of a paradigm for so many runs, the fewest that it takes if not given; its inputs are run1, run2 and so on."""
    from .flow import Flow

    return Flow._of(_headwater.paradigm_flow(name.replace("_", "-"), runs))


def document(row):
    """The docstring of a paradigm."""
    name, about, takes, settings = row
    of = {"one": "one run", "two": "two runs, the earlier or smaller one first", "several": "one run or more"}[takes]
    described = "\n".join(f"{setting}: {_SETTINGS[setting]}." for setting in settings)
    return f"{about}.\n\nTakes {of}; returns a ``Report``, whose JSON is that of ``headwater analyse {name} --json``.\n\n{described}"


def arguments(row):
    """The arguments of a paradigm for runs, and those for settings."""
    return _TAKES[row[2]], row[3]


def _signature(row):
    runs, settings = arguments(row)
    between = [] if row[2] == "several" else ["*"]
    return ", ".join(runs + between + [f"{setting}=None" for setting in settings])


def __getattr__(name):
    row = table().get(name)
    if row is None:
        raise AttributeError(f"module 'headwater.paradigms' has no attribute {name!r}")
    if name not in _functions:
        scope = {"_analyse": _headwater.analyse, "__name__": __name__}
        runs, settings = arguments(row)
        given = ", ".join(runs + [f"{setting}={setting}" for setting in settings])
        exec(f"def {name}({_signature(row)}):\n    return _analyse({row[0]!r}, {given})\n", scope)
        scope[name].__doc__ = document(row)
        _functions[name] = scope[name]
    return _functions[name]


def __dir__():
    return sorted(set(globals()) | set(names()))
