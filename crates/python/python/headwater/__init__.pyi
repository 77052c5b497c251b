"""Made by `cargo xtask api` from the table of passes."""

from typing import Sequence, Tuple, Union, overload

from . import listing as listing
from . import paradigms as paradigms
from . import passes as passes
from . import perflow as perflow
from ._command import command as command
from ._command import record as record
from ._graph import Graph as Graph
from ._graph import subgraph_matching as subgraph_matching
from ._headwater import Diagnosis as Diagnosis
from ._headwater import Edge as Edge
from ._headwater import Error as Error
from ._headwater import Finding as Finding
from ._headwater import Pairs as Pairs
from ._headwater import Report as Report
from ._headwater import Run as Run
from ._headwater import Set as Set
from ._headwater import Table as Table
from ._headwater import Vertex as Vertex
from ._headwater import analyse as analyse
from ._headwater import diagnose as diagnose
from ._headwater import export as export
from ._headwater import formats as formats
from ._headwater import from_arrow as from_arrow
from ._headwater import lowest_common_ancestor as lowest_common_ancestor
from ._headwater import make as make
from ._headwater import pairs as pairs
from ._headwater import unit as unit
from ._headwater import _Elements
from ._open import open as open
from .flow import Flow as Flow
from .flow import Node as Node
from .perflow import PerFlow as PerFlow

__version__: str
__all__ = [
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
    "computing",
    "vertices",
    "parallel",
    "edges",
    "on_ranks",
    "over_ranks",
    "filter",
    "sort",
    "top",
    "derive",
    "union",
    "intersection",
    "difference",
    "complement",
    "group",
    "classify",
    "hotspot",
    "imbalance",
    "cluster_ranks",
    "scaling_models",
    "attribution",
    "counter_ratios",
    "breakdown",
    "flat_profile",
    "call_tree",
    "communication_matrix",
    "time_by_task",
    "call_sites",
    "time_by_site",
    "sent_by_site",
    "time_by_site_and_rank",
    "sent_by_site_and_rank",
    "message_sizes",
    "causal",
    "backtracking",
    "contention",
    "contended",
    "unheld",
    "reach",
    "depth_first",
    "shortest_path",
    "longest_path",
    "common_ancestor",
    "components",
    "communities",
    "match",
    "differential",
    "edge_differential",
    "used_memory",
    "used_events",
    "used_files",
    "used_file_time",
    "used_partners",
    "used_energy",
    "used_counters",
    "used_vectors",
    "used_by_rank",
    "not_recorded",
    "critical_path",
    "wait_states",
    "wait_states_by_call",
    "efficiencies",
    "scales",
    "non_scalable",
    "abnormal",
    "thread_imbalance",
    "lock_contention",
    "allocator_contention",
    "serial_region",
    "small_regions",
    "charge",
    "uneven_work",
    "moving_work",
    "non_shrinking_work",
    "common_sleep",
    "growing_communication",
    "late_sender_chain",
    "preempted",
    "uneven_segments",
    "to_workers",
    "to_program",
    "placement",
    "ranked",
    "ways_back",
    "delays",
    "causes",
    "diagnosis",
    "largest",
    "delay_cost",
    "delay_costs",
    "answer_table",
    "cause_table",
    "cause_paths",
    "mark_table",
    "table",
]

@overload
def computing(run: Run) -> Run:
    """The run with calls that concern files as work of their ranks, for questions about computation.

    run: a run.

    Returns a run.
    """

@overload
def computing(run: Node) -> Node: ...

@overload
def vertices(run: Run) -> Set:
    """All vertices of the top-down view.

    run: a run.

    Returns a set of a top-down view.
    """

@overload
def vertices(run: Node) -> Node: ...

@overload
def parallel(run: Run) -> Set:
    """All vertices of the parallel view.

    run: a run.

    Returns a set of a parallel view.
    """

@overload
def parallel(run: Node) -> Node: ...

@overload
def edges(run: Run) -> Set:
    """All edges of the parallel view.

    run: a run.

    Returns a set of a parallel view.
    """

@overload
def edges(run: Node) -> Node: ...

@overload
def on_ranks(V: _Elements, run: Run) -> Set:
    """The same places on every rank and thread: vertices of the run's parallel view.

    V: a set of a top-down view.
    run: a run.

    Returns a set of a parallel view.
    """

@overload
def on_ranks(V: Node, run: Union[Run, Node]) -> Node: ...

@overload
def on_ranks(V: _Elements, run: Node) -> Node: ...

@overload
def over_ranks(V: _Elements, run: Run) -> Set:
    """The same places summed up over ranks: vertices of the run's top-down view.

    V: a set of a parallel view.
    run: a run.

    Returns a set of a top-down view.
    """

@overload
def over_ranks(V: Node, run: Union[Run, Node]) -> Node: ...

@overload
def over_ranks(V: _Elements, run: Node) -> Node: ...

@overload
def filter(V: _Elements, name: str = '', where: str = '') -> Set:
    """Elements by an expression over their attributes, or by a name.

    V: a set.
    name: pattern that the name must fit, as MPI_* (if not given, '').
    where: expression that must hold, as time > 0.1 and type == "loop" (if not given, '').

    Returns a set of the view of ``V``.
    """

@overload
def filter(V: Node, name: str = '', where: str = '') -> Node: ...

@overload
def sort(V: _Elements, by: str = 'time', ascending: bool = False) -> Set:
    """Vertices by a metric, the largest first.

    V: a set.
    by: metric (if not given, 'time').
    ascending: whether the smallest comes first (if not given, False).

    Returns a set of the view of ``V``.
    """

@overload
def sort(V: Node, by: str = 'time', ascending: bool = False) -> Node: ...

@overload
def top(V: _Elements, n: float = 10) -> Set:
    """The first elements.

    V: a set.
    n: how many (if not given, 10).

    Returns a set of the view of ``V``.
    """

@overload
def top(V: Node, n: float = 10) -> Node: ...

@overload
def derive(V: _Elements, name: str = 'metric', as_: str = 'time') -> Set:
    """Vertices with a metric more, worked out from others.

    V: a set.
    name: name of the metric (if not given, 'metric').
    as_: expression, as wait / mpi (if not given, 'time').

    Returns a set of the view of ``V``.
    """

@overload
def derive(V: Node, name: str = 'metric', as_: str = 'time') -> Node: ...

@overload
def union(V1: _Elements, V2: _Elements, *more: _Elements) -> Set:
    """Elements of any of the sets.

    V1: a set.
    V2: a set.
    *more: a set each, as many as there are.

    Returns a set of the view of ``V1``.
    """

@overload
def union(V1: Node, V2: Union[_Elements, Node], *more: Union[_Elements, Node]) -> Node: ...

@overload
def union(V1: _Elements, V2: Node, *more: Union[_Elements, Node]) -> Node: ...

@overload
def intersection(V1: _Elements, V2: _Elements, *more: _Elements) -> Set:
    """Elements of all sets.

    V1: a set.
    V2: a set.
    *more: a set each, as many as there are.

    Returns a set of the view of ``V1``.
    """

@overload
def intersection(V1: Node, V2: Union[_Elements, Node], *more: Union[_Elements, Node]) -> Node: ...

@overload
def intersection(V1: _Elements, V2: Node, *more: Union[_Elements, Node]) -> Node: ...

@overload
def difference(V1: _Elements, V2: _Elements, *more: _Elements) -> Set:
    """Elements of the first set that no other has.

    V1: a set.
    V2: a set.
    *more: a set each, as many as there are.

    Returns a set of the view of ``V1``.
    """

@overload
def difference(V1: Node, V2: Union[_Elements, Node], *more: Union[_Elements, Node]) -> Node: ...

@overload
def difference(V1: _Elements, V2: Node, *more: Union[_Elements, Node]) -> Node: ...

@overload
def complement(V: _Elements) -> Set:
    """What the view has besides.

    V: a set.

    Returns a set of the view of ``V``.
    """

@overload
def complement(V: Node) -> Node: ...

@overload
def group(V: _Elements, by: str = 'type', metric: str = 'time') -> Tuple[Set, Table]:
    """Vertices with group: those with the same value of an attribute have the same number and follow each other; and a table of the groups.

    V: a set.
    by: attribute (if not given, 'type').
    metric: metric that is summed up in the table (if not given, 'time').

    Returns a set of the view of ``V`` and a table.
    """

@overload
def group(V: Node, by: str = 'type', metric: str = 'time') -> Tuple[Node, Node]: ...

@overload
def classify(V: _Elements, classes: Sequence[str] = ..., name: str = 'kind_of') -> Set:
    """Vertices with the name of the first class whose condition they fit.

    V: a set.
    classes: names with conditions, as loops: type == 'loop' (if not given, ["communication: type == 'mpi-call'", 'computation: time > 0']).
    name: name of the attribute that has the class (if not given, 'kind_of').

    Returns a set of the view of ``V``.
    """

@overload
def classify(V: Node, classes: Sequence[str] = ..., name: str = 'kind_of') -> Node: ...

@overload
def hotspot(V: _Elements, metric: str = 'time', n: float = 10) -> Set:
    """The vertices with the most of a metric, the largest first.

    V: a set.
    metric: metric; time is seconds (if not given, 'time').
    n: vertices at the most (if not given, 10).

    Returns a set of the view of ``V``.
    """

@overload
def hotspot(V: Node, metric: str = 'time', n: float = 10) -> Node: ...

@overload
def imbalance(V: _Elements, metric: str = 'time', threshold: float = 1.3, least: float = 0.001) -> Set:
    """Vertices on which some ranks have much more of a metric than others; late_ranks and excess are added.

    V: a set.
    metric: metric; time is seconds (if not given, 'time').
    threshold: how many times as much the late ranks must have (if not given, 1.3).
    least: how much more they must have, as a share of the run time for seconds, of what a rank of the set has of the metric on the mean otherwise (if not given, 0.001).

    Returns a set of the view of ``V``.
    """

@overload
def imbalance(V: Node, metric: str = 'time', threshold: float = 1.3, least: float = 0.001) -> Node: ...

@overload
def cluster_ranks(V: _Elements, metric: str = 'time', most: float = 8, least: float = 0.05) -> Tuple[Table, Set]:
    """Ranks that behave alike, by a metric of the set's vertices; and the vertices with the mean of each cluster, those in which the clusters differ most first.

    V: a set of a top-down view.
    metric: metric of the vectors; time is seconds (if not given, 'time').
    most: clusters at the most (if not given, 8).
    least: how far from the mean some rank must be, as a share of the mean vector's length (if not given, 0.05).

    Returns a table and a set of the view of ``V``.
    """

@overload
def cluster_ranks(V: Node, metric: str = 'time', most: float = 8, least: float = 0.05) -> Tuple[Node, Node]: ...

@overload
def scaling_models(V1: _Elements, V2: _Elements, *more: _Elements, metric: str = 'time', over: str = 'mean', at: float = 0) -> Set:
    """How a metric of the same places grows over runs with different numbers of ranks or threads; what grows most comes first.

    V1: a set of a top-down view.
    V2: a set of a top-down view.
    *more: a set of a top-down view each, as many as there are.
    metric: metric that is modelled; time is seconds (if not given, 'time').
    over: figure of a run: the mean over ranks, that of the slowest rank, or of all ranks together (if not given, 'mean').
    at: number of ranks to extrapolate to; 0 for twice those of the largest run (if not given, 0).

    Returns a set of the view of ``V1``.
    """

@overload
def scaling_models(V1: Node, V2: Union[_Elements, Node], *more: Union[_Elements, Node], metric: str = 'time', over: str = 'mean', at: float = 0) -> Node: ...

@overload
def scaling_models(V1: _Elements, V2: Node, *more: Union[_Elements, Node], metric: str = 'time', over: str = 'mean', at: float = 0) -> Node: ...

@overload
def attribution(V: _Elements, to: str = 'function') -> Set:
    """Figures of the set's vertices by function, loop, file or module: own ones, and total_* with what is inside; a vertex for each.

    V: a set of a top-down view.
    to: to what: function, inlined (functions, also those that were inlined), loop, file or module (if not given, 'function').

    Returns a set of a made view.
    """

@overload
def attribution(V: Node, to: str = 'function') -> Node: ...

@overload
def counter_ratios(V: _Elements, ratios: Sequence[str] = ...) -> Set:
    """Vertices with ratios of counters: ipc, clock, speed, mpki, miss_ratio, bytes_per_instruction, bandwidth.

    V: a set.
    ratios: which of them; if none is named, all whose counters were recorded (if not given, []).

    Returns a set of the view of ``V``.
    """

@overload
def counter_ratios(V: Node, ratios: Sequence[str] = ...) -> Node: ...

@overload
def breakdown(V: _Elements) -> Set:
    """Why some ranks are longer in communication calls than others: load before the call, waiting, calls, message size, transfer.

    V: a set of a top-down view.

    Returns a set of the view of ``V``.
    """

@overload
def breakdown(V: Node) -> Node: ...

@overload
def flat_profile(V: _Elements) -> Table:
    """Time by function, the longest first, all ranks together.

    V: a set of a top-down view.

    Returns a table.
    """

@overload
def flat_profile(V: Node) -> Node: ...

@overload
def call_tree(V: _Elements, least: float = 0.01) -> Table:
    """Time by call path, what is inside each place below it.

    V: a set of a top-down view.
    least: share of the whole time below which a place is left out (if not given, 0.01).

    Returns a table.
    """

@overload
def call_tree(V: Node, least: float = 0.01) -> Node: ...

@overload
def communication_matrix(run: Run) -> Set:
    """Ranks as vertices, and an edge between each two that exchange messages or wait: messages, bytes, late_sender, late_receiver, collective_wait, wait.

    run: a run.

    Returns a set of a made view.
    """

@overload
def communication_matrix(run: Node) -> Node: ...

@overload
def time_by_task(run: Run) -> Table:
    """Run time and time in MPI of each rank.

    run: a run.

    Returns a table.
    """

@overload
def time_by_task(run: Node) -> Node: ...

@overload
def call_sites(V: _Elements) -> Table:
    """Call sites with their lines.

    V: a set of a top-down view.

    Returns a table.
    """

@overload
def call_sites(V: Node) -> Node: ...

@overload
def time_by_site(V: _Elements) -> Table:
    """Time in MPI by call site, all ranks together.

    V: a set of a top-down view.

    Returns a table.
    """

@overload
def time_by_site(V: Node) -> Node: ...

@overload
def sent_by_site(V: _Elements) -> Table:
    """Bytes sent by call site, all ranks together.

    V: a set of a top-down view.

    Returns a table.
    """

@overload
def sent_by_site(V: Node) -> Node: ...

@overload
def time_by_site_and_rank(V: _Elements) -> Table:
    """Calls of each site on each rank.

    V: a set of a top-down view.

    Returns a table.
    """

@overload
def time_by_site_and_rank(V: Node) -> Node: ...

@overload
def sent_by_site_and_rank(V: _Elements) -> Table:
    """Bytes sent by each site on each rank.

    V: a set of a top-down view.

    Returns a table.
    """

@overload
def sent_by_site_and_rank(V: Node) -> Node: ...

@overload
def message_sizes(V: _Elements) -> Table:
    """Calls by function and size of message.

    V: a set of a top-down view.

    Returns a table.
    """

@overload
def message_sizes(V: Node) -> Node: ...

@overload
def causal(V: _Elements, least: float = 0.0001) -> Set:
    """Vertices of the set that are behind others of it, with the edges that lead there; those that nothing leads to or from stay.

    V: a set of a parallel view.
    least: waiting that lets a delay pass, as a share of the run time (if not given, 0.0001).

    Returns a set of the view of ``V``.
    """

@overload
def causal(V: Node, least: float = 0.0001) -> Node: ...

@overload
def backtracking(V: _Elements, least: float = 0.0001) -> Set:
    """The vertices and edges on the ways back from each vertex of the set to where its delay begins.

    V: a set of a parallel view.
    least: waiting that is followed, as a share of the run time (if not given, 0.0001).

    Returns a set of the view of ``V``.
    """

@overload
def backtracking(V: Node, least: float = 0.0001) -> Node: ...

@overload
def contention(V: _Elements, patterns: Sequence[str] = ..., least: float = 0.0001, most: float = 10000) -> Set:
    """Where vertices around those of the set wait for one resource: the vertices and edges of all patterns found.

    V: a set of a parallel view.
    patterns: patterns by name (convoy, mutual, chain, fan-in) or edges as a>b b>c:mutex (if not given, ['convoy', 'mutual']).
    least: waiting that counts on an edge, as a share of the run time (if not given, 0.0001).
    most: places of a pattern at the most; where there are more, all waiting between what was found there is taken (if not given, 10000).

    Returns a set of the view of ``V``.
    """

@overload
def contention(V: Node, patterns: Sequence[str] = ..., least: float = 0.0001, most: float = 10000) -> Node: ...

@overload
def contended(E: _Elements) -> Table:
    """Edges that are waited on, by the places that wait and hold: how many ranks and threads, how long.

    E: a set of a parallel view.

    Returns a table.
    """

@overload
def contended(E: Node) -> Node: ...

@overload
def unheld(V: _Elements) -> Table:
    """What the set's vertices wait for without anybody knowing who holds it, by place.

    V: a set of a parallel view.

    Returns a table.
    """

@overload
def unheld(V: Node) -> Node: ...

@overload
def reach(V: _Elements, direction: str = 'out', kind: str = '', depth: float = 0) -> Set:
    """What can be reached from the set's vertices, the nearest first, with depth, the edges from the set; and the edges by which.

    V: a set.
    direction: out, in or both (if not given, 'out').
    kind: type or kind that edges must have, as inter-process; all if empty (if not given, '').
    depth: edges from the set at the most; 0 for no limit (if not given, 0).

    Returns a set of the view of ``V``.
    """

@overload
def reach(V: Node, direction: str = 'out', kind: str = '', depth: float = 0) -> Node: ...

@overload
def depth_first(V: _Elements, direction: str = 'out', kind: str = '') -> Set:
    """What can be reached from the set's vertices, each way as far as it goes before it turns back, with depth, the edges gone; and these.

    V: a set.
    direction: out, in or both (if not given, 'out').
    kind: type or kind that edges must have, as inter-process; all if empty (if not given, '').

    Returns a set of the view of ``V``.
    """

@overload
def depth_first(V: Node, direction: str = 'out', kind: str = '') -> Node: ...

@overload
def shortest_path(V1: _Elements, V2: _Elements, weight: str = '', kind: str = '') -> Set:
    """The way with the least weight from a vertex of the first set to one of the second.

    V1: a set.
    V2: a set.
    weight: metric of edges, from zero on; no way goes along an edge that has none of it. If empty each counts as one (if not given, '').
    kind: type or kind that edges must have, as inter-process; all if empty (if not given, '').

    Returns a set of the view of ``V1``.
    """

@overload
def shortest_path(V1: Node, V2: Union[_Elements, Node], weight: str = '', kind: str = '') -> Node: ...

@overload
def shortest_path(V1: _Elements, V2: Node, weight: str = '', kind: str = '') -> Node: ...

@overload
def longest_path(V: _Elements, metric: str = 'time', weight: str = '', kind: str = '') -> Set:
    """The way through the set with the most of a metric of its vertices and edges together, where edges go in no circle; those by which loops go back do not count.

    V: a set.
    metric: metric of vertices; if empty each counts as one. What is missing adds nothing (if not given, 'time').
    weight: metric of edges; if empty edges add nothing (if not given, '').
    kind: type or kind that edges must have, as inter-process; all if empty (if not given, '').

    Returns a set of the view of ``V``.
    """

@overload
def longest_path(V: Node, metric: str = 'time', weight: str = '', kind: str = '') -> Node: ...

@overload
def common_ancestor(V1: _Elements, V2: _Elements, kind: str = '') -> Set:
    """The lowest vertex that leads to both of two, and the edges from it to them; a vertex leads to itself.

    V1: a set.
    V2: a set.
    kind: type or kind that edges must have, as inter-process; all if empty (if not given, '').

    Returns a set of the view of ``V1``.
    """

@overload
def common_ancestor(V1: Node, V2: Union[_Elements, Node], kind: str = '') -> Node: ...

@overload
def common_ancestor(V1: _Elements, V2: Node, kind: str = '') -> Node: ...

@overload
def components(V: _Elements) -> Set:
    """Vertices with component: those with one number lead to each other in a circle.

    V: a set.

    Returns a set of the view of ``V``.
    """

@overload
def components(V: Node) -> Node: ...

@overload
def communities(V: _Elements, weight: str = '') -> Set:
    """Vertices with community: those with one number are more joined with each other than with the rest (Louvain).

    V: a set.
    weight: metric of edges, as bytes; an edge that has none of it joins nothing. If empty each counts as one (if not given, '').

    Returns a set of the view of ``V``.
    """

@overload
def communities(V: Node, weight: str = '') -> Node: ...

@overload
def match(V: _Elements, pattern: str = 'a>b', where: Sequence[str] = ..., most: float = 10000) -> Set:
    """Where a small graph is found among the set's elements: the vertices and edges of all places.

    V: a set.
    pattern: edges between vertices that are named, as a>b b>c:inter-process (if not given, 'a>b').
    where: conditions for vertices by their names, as a: type == 'loop' (if not given, []).
    most: places at the most (if not given, 10000).

    Returns a set of the view of ``V``.
    """

@overload
def match(V: Node, pattern: str = 'a>b', where: Sequence[str] = ..., most: float = 10000) -> Node: ...

@overload
def differential(V1: _Elements, V2: _Elements, per: str = 'all') -> Set:
    """Every metric of the second set's vertices less that of the same places in the first; largest growth of time first.

    V1: a set of a top-down view.
    V2: a set of a top-down view.
    per: figures that are compared: of all ranks together, the mean over ranks (rank), or against what perfect strong scaling of the first run would give (ideal) (if not given, 'all').

    Returns a set of the view of ``V2``.
    """

@overload
def differential(V1: Node, V2: Union[_Elements, Node], per: str = 'all') -> Node: ...

@overload
def differential(V1: _Elements, V2: Node, per: str = 'all') -> Node: ...

@overload
def edge_differential(E1: _Elements, E2: _Elements) -> Set:
    """Every metric of the second set's edges less that of the same edges in the first; largest growth of waiting first.

    E1: a set.
    E2: a set.

    Returns a set of the view of ``E2``.
    """

@overload
def edge_differential(E1: Node, E2: Union[_Elements, Node]) -> Node: ...

@overload
def edge_differential(E1: _Elements, E2: Node) -> Node: ...

@overload
def used_memory(run: Run, *more: Run) -> Table:
    """The most memory of each rank and node.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def used_memory(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def used_events(run: Run, *more: Run) -> Table:
    """Page faults, context switches and migrations of ranks.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def used_events(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def used_files(run: Run, *more: Run) -> Table:
    """Bytes and calls of ranks that read and write.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def used_files(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def used_file_time(run: Run, *more: Run) -> Table:
    """Time of ranks in calls that concern files, with the file systems.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def used_file_time(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def used_partners(run: Run, *more: Run) -> Table:
    """Bytes that ranks send to each of their partners, by the partner's distance.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def used_partners(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def used_energy(run: Run, *more: Run) -> Table:
    """Energy of each node.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def used_energy(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def used_counters(run: Run, *more: Run) -> Table:
    """Counters of the processor over ranks, and their ratios.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def used_counters(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def used_vectors(run: Run, *more: Run) -> Table:
    """Hot loops with the share of vector instructions in their arithmetic.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def used_vectors(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def used_by_rank(run: Run, *more: Run) -> Table:
    """What each rank used, of runs with few ranks.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def used_by_rank(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def not_recorded(run: Run, *more: Run) -> Table:
    """Which of these figures were not recorded, and why.

    run: a run.
    *more: a run each, as many as there are.

    Returns a table.
    """

@overload
def not_recorded(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def critical_path(run: Run) -> Set:
    """Vertices on the run's critical path, the most seconds first, with on_path, imbalance, path_ranks and path_threads.

    run: a run.

    Returns a set of a top-down view.
    """

@overload
def critical_path(run: Node) -> Node: ...

@overload
def wait_states(E: _Elements) -> Table:
    """Waiting on the set's edges, and at its vertices for nobody known, by its state.

    E: a set of a parallel view.

    Returns a table.
    """

@overload
def wait_states(E: Node) -> Node: ...

@overload
def wait_states_by_call(E: _Elements) -> Table:
    """Waiting as wait-states has it, by the call that waited and the one that was waited for.

    E: a set of a parallel view.

    Returns a table.
    """

@overload
def wait_states_by_call(E: Node) -> Node: ...

@overload
def efficiencies(run: Run, *more: Run, scaling: str = '') -> Table:
    """POP's efficiencies of each run; those of scaling are against the run with the fewest ranks.

    run: a run.
    *more: a run each, as many as there are.
    scaling: strong or weak; guessed from the arguments of the runs if empty (if not given, '').

    Returns a table.
    """

@overload
def efficiencies(run: Node, *more: Union[Run, Node], scaling: str = '') -> Node: ...

@overload
def scales(run: Run, *more: Run, scaling: str = '') -> Finding:
    """Runs of one program at different scales, prepared for finding causes.

    run: a run.
    *more: a run each, as many as there are.
    scaling: strong or weak; guessed from the arguments of the runs if empty (if not given, '').

    Returns runs at their scales.
    """

@overload
def scales(run: Node, *more: Union[Run, Node], scaling: str = '') -> Node: ...

@overload
def non_scalable(scales: Finding) -> Finding:
    """Places whose time shrinks less over the scales than it should, by slope and by share of the loss.

    scales: runs at their scales.

    Returns marked places.
    """

@overload
def non_scalable(scales: Node) -> Node: ...

@overload
def abnormal(scales: Finding, threshold: float = 1.3) -> Finding:
    """Places in which some ranks take much longer than others at the largest scale.

    scales: runs at their scales.
    threshold: how many times as much as the others late ranks must have (if not given, 1.3).

    Returns marked places.
    """

@overload
def abnormal(scales: Node, threshold: float = 1.3) -> Node: ...

@overload
def thread_imbalance(scales: Finding, least: float = 0.015) -> Finding:
    """Teams of threads that wait for the slowest of them.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns causes without a price.
    """

@overload
def thread_imbalance(scales: Node, least: float = 0.015) -> Node: ...

@overload
def lock_contention(scales: Finding, least: float = 0.015) -> Finding:
    """Locks for which threads wait.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns causes without a price.
    """

@overload
def lock_contention(scales: Node, least: float = 0.015) -> Node: ...

@overload
def allocator_contention(scales: Finding, least: float = 0.015) -> Finding:
    """Places where threads wait for one another in the memory allocator.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns causes without a price.
    """

@overload
def allocator_contention(scales: Node, least: float = 0.015) -> Node: ...

@overload
def serial_region(scales: Finding, least: float = 0.015) -> Finding:
    """What one thread of a rank does while its team idles.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns causes without a price.
    """

@overload
def serial_region(scales: Node, least: float = 0.015) -> Node: ...

@overload
def small_regions(scales: Finding, least: float = 0.015) -> Finding:
    """Parallel regions that take long to begin and to end for what their threads compute.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns causes without a price.
    """

@overload
def small_regions(scales: Node, least: float = 0.015) -> Node: ...

@overload
def charge(scales: Finding, proposals: Finding, *more: Finding, least: float = 0.015) -> Tuple[Finding, Finding]:
    """Prices causes between threads, the largest first, by what they take off the slowest rank of each phase; and what of the ranks' time they explain.

    scales: runs at their scales.
    proposals: causes without a price.
    *more: causes without a price each, as many as there are.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns candidates for causes and what causes between threads explain.
    """

@overload
def charge(scales: Node, proposals: Union[Finding, Node], *more: Union[Finding, Node], least: float = 0.015) -> Tuple[Node, Node]: ...

@overload
def charge(scales: Finding, proposals: Node, *more: Union[Finding, Node], least: float = 0.015) -> Tuple[Node, Node]: ...

@overload
def uneven_work(scales: Finding, charged: Finding, least: float = 0.015) -> Finding:
    """Places in which some ranks compute longer than others, by what these wait for it.

    scales: runs at their scales.
    charged: what causes between threads explain.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns candidates for causes.
    """

@overload
def uneven_work(scales: Node, charged: Union[Finding, Node], least: float = 0.015) -> Node: ...

@overload
def uneven_work(scales: Finding, charged: Node, least: float = 0.015) -> Node: ...

@overload
def moving_work(scales: Finding, least: float = 0.015) -> Finding:
    """Uneven work that is on other ranks in each iteration.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns candidates for causes.
    """

@overload
def moving_work(scales: Node, least: float = 0.015) -> Node: ...

@overload
def non_shrinking_work(scales: Finding, charged: Finding, least: float = 0.015) -> Finding:
    """Computation that does not shrink as ranks are added, beside what threads explain.

    scales: runs at their scales.
    charged: what causes between threads explain.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns candidates for causes.
    """

@overload
def non_shrinking_work(scales: Node, charged: Union[Finding, Node], least: float = 0.015) -> Node: ...

@overload
def non_shrinking_work(scales: Finding, charged: Node, least: float = 0.015) -> Node: ...

@overload
def common_sleep(scales: Finding, least: float = 0.015) -> Finding:
    """Sleep that all ranks have outside of regions of threads, as where each waits for a file: what is beyond the ideal of the smallest scale.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns candidates for causes.
    """

@overload
def common_sleep(scales: Node, least: float = 0.015) -> Node: ...

@overload
def growing_communication(scales: Finding, least: float = 0.015) -> Finding:
    """Messages that grow with the ranks, and collectives that do by their algorithm.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns candidates for causes.
    """

@overload
def growing_communication(scales: Node, least: float = 0.015) -> Node: ...

@overload
def late_sender_chain(scales: Finding, least: float = 0.015) -> Finding:
    """Ranks that can only start when the one before has finished.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns candidates for causes.
    """

@overload
def late_sender_chain(scales: Node, least: float = 0.015) -> Node: ...

@overload
def preempted(scales: Finding, least: float = 0.015) -> Finding:
    """Ranks that were ready to run and had no core.

    scales: runs at their scales.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns candidates for causes.
    """

@overload
def preempted(scales: Node, least: float = 0.015) -> Node: ...

@overload
def uneven_segments(scales: Finding, uneven: Finding, least: float = 0.015) -> Finding:
    """If places of the program have no names: uneven computation, located by the MPI calls around it instead of by single addresses.

    scales: runs at their scales.
    uneven: candidates for causes.
    least: smallest cost of a cause that is reported, as a share of the run time (if not given, 0.015).

    Returns candidates for causes.
    """

@overload
def uneven_segments(scales: Node, uneven: Union[Finding, Node], least: float = 0.015) -> Node: ...

@overload
def uneven_segments(scales: Finding, uneven: Node, least: float = 0.015) -> Node: ...

@overload
def to_workers(scales: Finding, candidates: Finding, *more: Finding) -> Finding:
    """Brings causes in which ranks wait for their own threads to where these compute.

    scales: runs at their scales.
    candidates: candidates for causes.
    *more: candidates for causes each, as many as there are.

    Returns candidates for causes.
    """

@overload
def to_workers(scales: Node, candidates: Union[Finding, Node], *more: Union[Finding, Node]) -> Node: ...

@overload
def to_workers(scales: Finding, candidates: Node, *more: Union[Finding, Node]) -> Node: ...

@overload
def to_program(scales: Finding, candidates: Finding, *more: Finding) -> Finding:
    """Brings causes in code that the user cannot mend to the loop or function around it.

    scales: runs at their scales.
    candidates: candidates for causes.
    *more: candidates for causes each, as many as there are.

    Returns candidates for causes.
    """

@overload
def to_program(scales: Node, candidates: Union[Finding, Node], *more: Union[Finding, Node]) -> Node: ...

@overload
def to_program(scales: Finding, candidates: Node, *more: Union[Finding, Node]) -> Node: ...

@overload
def placement(scales: Finding, candidates: Finding) -> Finding:
    """Sets causes aside that may be the machine: slow cores, and one stall at the largest scale alone.

    scales: runs at their scales.
    candidates: candidates for causes.

    Returns candidates for causes.
    """

@overload
def placement(scales: Node, candidates: Union[Finding, Node]) -> Node: ...

@overload
def placement(scales: Finding, candidates: Node) -> Node: ...

@overload
def ranked(scales: Finding, candidates: Finding) -> Finding:
    """Causes in the order of what mending them would gain, each reported once; notes about what is too uncertain for a cause.

    scales: runs at their scales.
    candidates: candidates for causes.

    Returns candidates for causes.
    """

@overload
def ranked(scales: Node, candidates: Union[Finding, Node]) -> Node: ...

@overload
def ranked(scales: Finding, candidates: Node) -> Node: ...

@overload
def ways_back(scales: Finding, marks: Finding, *more: Finding) -> Finding:
    """Backtracking from the marked MPI calls, each on the rank that is longest in it.

    scales: runs at their scales.
    marks: marked places.
    *more: marked places each, as many as there are.

    Returns ways back.
    """

@overload
def ways_back(scales: Node, marks: Union[Finding, Node], *more: Union[Finding, Node]) -> Node: ...

@overload
def ways_back(scales: Finding, marks: Node, *more: Union[Finding, Node]) -> Node: ...

@overload
def delays(scales: Finding) -> Finding:
    """What the replayed waits are due to, by late rank and the call after which it was late.

    scales: runs at their scales.

    Returns delays.
    """

@overload
def delays(scales: Node) -> Node: ...

@overload
def causes(scales: Finding, candidates: Finding, ways: Finding, delays: Finding) -> Finding:
    """Causes in words and figures, with the ways that lead to them.

    scales: runs at their scales.
    candidates: candidates for causes.
    ways: ways back.
    delays: delays.

    Returns causes.
    """

@overload
def causes(scales: Node, candidates: Union[Finding, Node], ways: Union[Finding, Node], delays: Union[Finding, Node]) -> Node: ...

@overload
def causes(scales: Finding, candidates: Node, ways: Union[Finding, Node], delays: Union[Finding, Node]) -> Node: ...

@overload
def causes(scales: Finding, candidates: Finding, ways: Node, delays: Union[Finding, Node]) -> Node: ...

@overload
def causes(scales: Finding, candidates: Finding, ways: Finding, delays: Node) -> Node: ...

@overload
def diagnosis(scales: Finding, candidates: Finding, causes: Finding, non_scalable: Finding, abnormal: Finding) -> Finding:
    """The whole answer.

    scales: runs at their scales.
    candidates: candidates for causes.
    causes: causes.
    non_scalable: marked places.
    abnormal: marked places.

    Returns a diagnosis.
    """

@overload
def diagnosis(scales: Node, candidates: Union[Finding, Node], causes: Union[Finding, Node], non_scalable: Union[Finding, Node], abnormal: Union[Finding, Node]) -> Node: ...

@overload
def diagnosis(scales: Finding, candidates: Node, causes: Union[Finding, Node], non_scalable: Union[Finding, Node], abnormal: Union[Finding, Node]) -> Node: ...

@overload
def diagnosis(scales: Finding, candidates: Finding, causes: Node, non_scalable: Union[Finding, Node], abnormal: Union[Finding, Node]) -> Node: ...

@overload
def diagnosis(scales: Finding, candidates: Finding, causes: Finding, non_scalable: Node, abnormal: Union[Finding, Node]) -> Node: ...

@overload
def diagnosis(scales: Finding, candidates: Finding, causes: Finding, non_scalable: Finding, abnormal: Node) -> Node: ...

@overload
def largest(run: Run, *more: Run) -> Run:
    """The run with the most ranks and threads, of several such the last.

    run: a run.
    *more: a run each, as many as there are.

    Returns a run.
    """

@overload
def largest(run: Node, *more: Union[Run, Node]) -> Node: ...

@overload
def delay_cost(run: Run, least: float = 0.001) -> Set:
    """Places that let others wait, with delay, and places that wait because of them, with waited: an edge from each to each, with wait, late_ranks and via, the largest first.

    run: a run.
    least: smallest waiting time of all ranks for which a place is reported, as a share of all rank time (if not given, 0.001).

    Returns a set of a made view.
    """

@overload
def delay_cost(run: Node, least: float = 0.001) -> Node: ...

@overload
def delay_costs(E: _Elements) -> Table:
    """Edges of delay cost as a table: where it is waited, because of what, by which way.

    E: a set of a made view.

    Returns a table.
    """

@overload
def delay_costs(E: Node) -> Node: ...

@overload
def answer_table(diagnosis: Finding) -> Table:
    """The answer of a diagnosis in sentences, with what must be known to read it and what is missing.

    diagnosis: a diagnosis.

    Returns a table.
    """

@overload
def answer_table(diagnosis: Node) -> Node: ...

@overload
def cause_table(causes: Finding) -> Table:
    """Causes as a table.

    causes: causes.

    Returns a table.
    """

@overload
def cause_table(causes: Node) -> Node: ...

@overload
def cause_paths(causes: Finding) -> Table:
    """The ways from where the time shows to the causes, as a table.

    causes: causes.

    Returns a table.
    """

@overload
def cause_paths(causes: Node) -> Node: ...

@overload
def mark_table(marks: Finding, name: str = 'marks', title: str = 'Marked places', note: str = '') -> Table:
    """Marked places as a table.

    marks: marked places.
    name: name of the table for programs (if not given, 'marks').
    title: heading for people (if not given, 'Marked places').
    note: what must be known to read it (if not given, '').

    Returns a table.
    """

@overload
def mark_table(marks: Node, name: str = 'marks', title: str = 'Marked places', note: str = '') -> Node: ...

@overload
def table(V: _Elements, attributes: Sequence[str] = ..., name: str = 'set', title: str = 'Vertices', note: str = '') -> Table:
    """A set as a table of some attributes.

    V: a set.
    attributes: columns; debug-info is file and lines, called-from the calls that lead there, comm-info counts and bytes (if not given, ['name', 'type', 'debug-info', 'time']).
    name: name of the table for programs (if not given, 'set').
    title: heading for people (if not given, 'Vertices').
    note: what must be known to read it (if not given, '').

    Returns a table.
    """

@overload
def table(V: Node, attributes: Sequence[str] = ..., name: str = 'set', title: str = 'Vertices', note: str = '') -> Node: ...
