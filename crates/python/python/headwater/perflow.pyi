from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple, Union

from ._display import Drawing
from ._graph import Graph as Graph
from ._headwater import _Attribute, _Elements, _Path, Run, Set, Table, Vertex
from .flow import Flow

__all__ = ["Graph", "IN_EDGE", "OUT_EDGE", "PerFlow", "name", "pflow"]

IN_EDGE: str
OUT_EDGE: str
name: str
pflow: PerFlow

class EdgeType(str):
    otherwise: Optional[str]
    def __new__(cls, word: str, otherwise: Optional[str]) -> EdgeType: ...

class NewVertex(Dict[str, _Attribute]):
    @property
    def metrics(self) -> List[str]: ...

class Reported:
    tables: List[Table]
    drawings: List[Drawing]
    def __init__(self, tables: List[Table], drawings: List[Drawing]) -> None: ...

class PerFlow:
    MPI: str
    LOOP: str
    BRANCH: str
    FUNCTION: str
    CALL: str
    COMM: EdgeType
    THREAD: str
    CTRL_FLOW: str
    DATA_FLOW: str
    flow: Flow
    def __init__(self, name: str = "PerFlowGraph") -> None: ...
    @property
    def COLL_COMM(self) -> FrozenSet[str]: ...
    def run(
        self,
        bin: Optional[_Path] = None,
        cmd: Union[None, str, Sequence[_Path]] = None,
        output: Optional[_Path] = None,
    ) -> Run: ...
    def apply(self, function: Callable[..., Any], *values: _Elements) -> Any: ...
    def vertex(self) -> NewVertex: ...
    def graph(self) -> Graph: ...
    def lowest_common_ancestor(
        self, v1: Vertex, v2: Vertex, where: Optional[str] = None
    ) -> Tuple[Optional[Vertex], Set]: ...
    def subgraph_matching(
        self, graph: Union[Run, _Elements], pattern: Graph, most: int = 1000
    ) -> Tuple[List[Set], List[Set]]: ...
    def report(self, *what: Any) -> Reported: ...
    def __getattr__(self, attribute: str) -> Callable[..., Any]: ...
