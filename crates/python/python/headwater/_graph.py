"""Small graphs that a user writes: patterns to look for, or graphs of their own."""

from . import _headwater


class Graph:
    """A graph in the making: vertices with numbers or names of the user's, and edges between them.

    As a pattern, a vertex fits any vertex, or those for which ``where`` holds (``name ~ "MPI_*"``); its label is only what
    it is called. As a graph, ``graph.set()`` has the vertices and edges with their attributes.
    """

    def __init__(self):
        self.vertices = {}
        self.edges = []

    def add_vertex(self, key, label=None, **attributes):
        """Adds a vertex by a key of its own; ``where`` is what it must fit as a part of a pattern."""
        if key in self.vertices:
            raise _headwater.Error(f"vertex {key!r} is in the graph already")
        self.vertices[key] = {"name": label, **attributes}

    def add_vertices(self, vertices):
        """Adds vertices: (key, label) each."""
        for key, label in vertices:
            self.add_vertex(key, label)

    def add_edge(self, source, target, **attributes):
        """Adds an edge between two vertices; ``where`` is what it must fit as a part of a pattern."""
        for end in (source, target):
            if end not in self.vertices:
                raise _headwater.Error(f"an edge goes from {source!r} to {target!r}, and there is no vertex {end!r}")
        self.edges.append((source, target, attributes))

    def add_edges(self, edges):
        """Adds edges: (source, target) each."""
        for source, target in edges:
            self.add_edge(source, target)

    def _numbered(self):
        number = {key: at for at, key in enumerate(self.vertices)}
        return [(number[source], number[target], attributes) for source, target, attributes in self.edges]

    def set(self):
        """The graph as a set of all its vertices and edges."""
        return _headwater.make(list(self.vertices.values()), self._numbered())

    def __repr__(self):
        return f"<Graph of {len(self.vertices)} vertices and {len(self.edges)} edges>"


def subgraph_matching(graph, pattern, most=1000):
    """Where a small ``Graph`` is found in a set's graph: the vertices and the edges of each place, as two lists of sets.

    The vertices of a place are in the order of the pattern, and the first one is a vertex of ``graph``, a set (or a run,
    whose parallel view is meant). Edges of the pattern must be there in its direction; there may be more. Of more than
    ``most`` places the first are given, with a warning.
    """
    whole = graph.parallel if isinstance(graph, _headwater.Run) else graph
    vertices = [attributes.get("where") for attributes in pattern.vertices.values()]
    edges = [(source, target, attributes.get("where")) for source, target, attributes in pattern._numbered()]
    found = _headwater.subgraph_matching(whole, vertices, edges, most + 1)
    if len(found) > most:
        import warnings

        warnings.warn(f"the pattern is found at more than {most} places; the first {most} are given", stacklevel=2)
    return [place[0] for place in found[:most]], [place[1] for place in found[:most]]
