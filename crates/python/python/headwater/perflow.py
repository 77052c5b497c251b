"""The interface of PerFlow (Jin et al., PPoPP 2022): ``from headwater.perflow import *`` and the paper's listings run.

``pflow`` is a ``PerFlow``, of which there may be others. Its passes run at once, and what was done is recorded as a dataflow in
``pflow.flow``, which can be drawn, saved and run again: the paper's interactive mode (section 4.5). Passes have the paper's
names or ours (``hotspot_detection`` is ``hotspot``). ``name`` is the word, so that ``v[name]`` is ``v["name"]``.
"""

from . import _headwater, passes
from ._command import record
from ._graph import Graph, subgraph_matching
from .flow import Flow

IN_EDGE = "in"
OUT_EDGE = "out"
name = "name"

_ENDINGS = ("_detection", "_analysis", "_identification")


class EdgeType(str):
    """A type of edges. Where there are none of it among edges, ``select`` takes those of the type ``otherwise``."""

    otherwise = None

    def __new__(cls, word, otherwise):
        made = super().__new__(cls, word)
        made.otherwise = otherwise
        return made


class NewVertex(dict):
    """A vertex of no graph yet; attributes are figures or words. A list of them is a set."""

    @property
    def metrics(self):
        """Names of its figures."""
        return [name for name, value in self.items() if isinstance(value, (int, float))]


class Reported:
    """The content of a report: its tables and a drawing of the path that its edges form."""

    def __init__(self, tables, drawings):
        self.tables, self.drawings = tables, drawings

    def __str__(self):
        return "\n".join(str(table) for table in self.tables)

    def _repr_html_(self):
        parts = [table._repr_html_() for table in self.tables] + [str(drawing) for drawing in self.drawings]
        return "".join(parts)


class PerFlow:
    """Runs programs, and passes on what was recorded of them."""

    #: Types of vertices and of edges, to compare with.
    MPI = "mpi-call"
    LOOP = "loop"
    BRANCH = "branch"
    FUNCTION = "function"
    CALL = "call"
    #: A call is late by whom it communicates with; one that waits for nobody, by what comes before it.
    COMM = EdgeType("inter-process", "data-flow")
    THREAD = "inter-thread"
    CTRL_FLOW = "control-flow"
    DATA_FLOW = "data-flow"

    def __init__(self, name="PerFlowGraph"):
        self.flow = Flow(name)
        self._known = []

    @property
    def COLL_COMM(self):
        """Names of MPI's collective functions."""
        return frozenset(_headwater.collectives())

    def run(self, bin=None, cmd=None, output=None):
        """Runs a program and records it; returns its Program Abstraction Graph.

        bin is the program, cmd the command line that starts it (bin alone if not given). The recorded run is written to output,
        or in a directory named after program, ranks and job.
        """
        import os
        import shlex

        words = shlex.split(cmd) if isinstance(cmd, str) else list(cmd or [bin or ""])
        if bin is not None and os.fspath(bin) not in words:
            raise _headwater.Error(f"argument cmd: {shlex.join(words)} does not start {bin}, which is argument bin")
        return record(words, output)

    def _node(self, value):
        """The node of the flow that returned a value; a value from outside is an input."""
        for known, node in self._known:
            if known is value:
                return node
        n = len(self.flow.inputs) + 1
        of = getattr(value, "run_name", "") or getattr(value, "name", "")
        node = self.flow.input(f"{of} {n}" if isinstance(of, str) and of else f"set {n}", value)
        self._known.append((value, node))
        return node

    def _pass(self, pass_name, values, parameters):
        import inspect

        row = passes.table()[pass_name]
        function = passes.function(pass_name)
        try:
            bound = inspect.signature(function).bind(*values, **parameters).arguments
        except TypeError as wrong:
            raise TypeError(f"pass {row['name']}: {wrong}") from None
        values = [bound[passes._identifier(port)] for port, _ in row["inputs"]] + list(bound.get("more", ()))
        given = [value if isinstance(value, (_headwater.Set, _headwater.Run, _headwater.Table)) else _set(value) for value in values]
        identifiers = {passes._identifier(parameter): parameter for parameter, _, _ in row["parameters"]}
        parameters = {name: bound[name] for name in identifiers if name in bound}
        made = function(*given, **parameters)
        spelled = {identifiers[name]: value for name, value in parameters.items()}
        nodes = self.flow._pass(row["name"], [self._node(value) for value in given], spelled)
        pairs = [(made, nodes)] if not isinstance(made, tuple) else zip(made, nodes)
        self._known.extend(pairs)
        return made

    def __getattr__(self, attribute):
        name = attribute
        for ending in _ENDINGS:
            if attribute.endswith(ending) and attribute not in passes.table():
                name = attribute[: -len(ending)]
        if name not in passes.table():
            raise AttributeError(f"PerFlow has no pass {attribute}; there are {', '.join(passes.names())}")

        def run(*values, **parameters):
            return self._pass(name, values, parameters)

        run.__name__, run.__doc__ = attribute, passes.document(passes.table()[name])
        return run

    def __dir__(self):
        return sorted(set(super().__dir__()) | set(passes.names()))

    def apply(self, function, *values):
        """Runs a function of the user as a pass, so that it is in ``pflow.flow`` too."""
        values = [value if isinstance(value, _headwater.Set) else _set(value) for value in values]
        made = function(*values)
        several = isinstance(made, tuple)
        sets = tuple(_set(one) for one in (made if several else (made,)))
        nodes = self.flow.apply(function, *[self._node(value) for value in values], gives=len(sets))
        self._known.extend(zip(sets, nodes if len(sets) > 1 else (nodes,)))
        return sets if several else sets[0]

    def vertex(self):
        """A new vertex without attributes."""
        return NewVertex()

    def graph(self):
        """A new graph without vertices."""
        return Graph()

    def lowest_common_ancestor(self, v1, v2, where=None):
        """The deepest vertex that leads to both, and the edges from it to them; (None, no edges) if there is none."""
        return _headwater.lowest_common_ancestor(v1, v2, where)

    def subgraph_matching(self, graph, pattern, most=1000):
        """Where a pattern is found: the vertices and the edges of each place, as two lists of sets."""
        return subgraph_matching(graph, pattern, most)

    def report(self, *what):
        """Tells sets, or lists of vertices and edges, as tables of some attributes, which are the last argument.

        ``debug-info`` (or ``dbg-info``) is file and lines, ``comm-info`` counts and bytes, ``pmu`` the counters that were
        recorded. Prints and returns the tables, with a drawing of the edges.
        """
        *sets, attributes = what
        if not (isinstance(attributes, (list, tuple)) and all(isinstance(a, str) for a in attributes)):
            raise _headwater.Error("pass report, argument attrs: a list of names of attributes is needed, as the last argument")
        tables, drawings = [], []
        for given in sets:
            for part in _headwater.gather(given):
                title = self._title(given, part)
                if len(part.vertices):
                    tables.append(_vertices(part.vertices, attributes, title))
                if len(part.edges):
                    tables.append(_edges(part.edges, title))
                    drawings.append(part.draw())
        reported = Reported(tables, drawings)
        print(reported)
        return reported

    def _title(self, given, part):
        for known, node in self._known:
            if known is given:
                return str(self.flow).splitlines()[node._link[0] + 1].split("=", 1)[1].split("(")[0].split(" of ")[0].strip()
        return {"top-down": "vertices", "parallel": "vertices on their ranks", "made": "new vertices"}[part.kind]


def _set(value):
    return _headwater.Set(value)


_GROUPS = ("debug-info", "dbg-info", "comm-info", "pmu")


def _vertices(vertices, attributes, title):
    known = vertices.attributes
    missing = [a for a in attributes if a not in known and a not in _GROUPS]
    if missing and vertices.kind != "made":
        raise _headwater.Error(f"pass report, argument attrs: there is no attribute {missing[0]}; there are {', '.join(known)}")
    wanted = [a for a in attributes if a not in missing]
    if vertices.kind == "parallel" and "rank" not in wanted:
        wanted.append("rank")
    if vertices.kind == "made":
        wanted = [a for a in wanted if a in known] or known
    return passes.table_of(vertices, attributes=wanted, name="vertices", title=title)


def _edges(edges, title):
    rows = []
    for edge in edges:
        row = {"from": _place(edge.src), "to": _place(edge.dst)}
        row.update((key, edge[key]) for key in ("kind", "count", "wait") if key in edges.attributes)
        rows.append(row)
    made = _headwater.make(rows)
    return passes.table_of(made, attributes=made.attributes, name="edges", title=f"edges: {title}")


def _place(vertex):
    from . import _display

    rank = f" rank {vertex['rank']:.0f}" if "rank" in vertex.keys() else ""
    return f"{_display._called(vertex)} {vertex.location or ''}{rank}"


pflow = PerFlow()

__all__ = ["Graph", "IN_EDGE", "OUT_EDGE", "PerFlow", "name", "pflow"]
