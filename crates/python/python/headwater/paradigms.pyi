"""Made by `cargo xtask api` from the table of paradigms."""

from typing import Dict, List, Optional, Tuple, Union

from ._headwater import Report, Run, _Path
from .flow import Flow

def table() -> Dict[str, Tuple[str, str, str, List[str]]]: ...
def names() -> List[str]: ...
def flow(name: str, runs: Optional[int] = None) -> Flow: ...
def __dir__() -> List[str]: ...
def document(row: Tuple[str, str, str, List[str]]) -> str: ...
def arguments(row: Tuple[str, str, str, List[str]]) -> Tuple[List[str], List[str]]: ...

def profile(run: Union[Run, _Path], *, max_loop_depth: Optional[int] = None) -> Report:
    """Where the time goes: by function, and by call path.

    Takes one run; returns a ``Report``, whose JSON is that of ``headwater analyse profile --json``.

    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def scalability(*runs: Union[Run, _Path], scaling: Optional[str] = None, abnorm_threshold: Optional[float] = None, max_loop_depth: Optional[int] = None) -> Report:
    """What slows the program down as ranks are added, where, and how it makes ranks wait: the diagnosis as tables.

    Takes one run or more; returns a ``Report``, whose JSON is that of ``headwater analyse scalability --json``.

    scaling: strong or weak, how the problem grows; guessed from the arguments of the runs if not given.
    abnorm_threshold: how many times longer than the others a rank must take to be reported; 1.3 if not given.
    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def mpi_profile(run: Union[Run, _Path], *, max_loop_depth: Optional[int] = None) -> Report:
    """Time and bytes of MPI by task, call site and message size, as mpiP reports them.

    Takes one run; returns a ``Report``, whose JSON is that of ``headwater analyse mpi-profile --json``.

    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def communication(run: Union[Run, _Path], *, max_loop_depth: Optional[int] = None) -> Report:
    """Communication calls that take longest, in which of them ranks differ, and why.

    Takes one run; returns a ``Report``, whose JSON is that of ``headwater analyse communication --json``.

    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def critical_path(run: Union[Run, _Path], *, max_loop_depth: Optional[int] = None) -> Report:
    """Places that the run time is made of, and what evening their work out could gain.

    Takes one run; returns a ``Report``, whose JSON is that of ``headwater analyse critical-path --json``.

    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def contention(*runs: Union[Run, _Path], max_loop_depth: Optional[int] = None) -> Report:
    """Where threads and ranks wait for one resource; with several runs, what of it grows.

    Takes one run or more; returns a ``Report``, whose JSON is that of ``headwater analyse contention --json``.

    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def causal(run: Union[Run, _Path], *, max_loop_depth: Optional[int] = None) -> Report:
    """Places in which ranks differ, and which of them are behind the others.

    Takes one run; returns a ``Report``, whose JSON is that of ``headwater analyse causal --json``.

    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def differential(first: Union[Run, _Path], second: Union[Run, _Path], *, max_loop_depth: Optional[int] = None) -> Report:
    """What takes longer, and what less long, in the second of two runs or builds than in the first.

    Takes two runs, the earlier or smaller one first; returns a ``Report``, whose JSON is that of ``headwater analyse differential --json``.

    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def wait_states(run: Union[Run, _Path], *, max_loop_depth: Optional[int] = None) -> Report:
    """Waiting of ranks and threads by Scalasca's wait states, and for which calls.

    Takes one run; returns a ``Report``, whose JSON is that of ``headwater analyse wait-states --json``.

    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def efficiencies(*runs: Union[Run, _Path], scaling: Optional[str] = None, max_loop_depth: Optional[int] = None) -> Report:
    """POP's efficiencies of each run; with several scales those of scaling too.

    Takes one run or more; returns a ``Report``, whose JSON is that of ``headwater analyse efficiencies --json``.

    scaling: strong or weak, how the problem grows; guessed from the arguments of the runs if not given.
    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """

def resources(*runs: Union[Run, _Path], max_loop_depth: Optional[int] = None) -> Report:
    """What runs took of the machine: memory, page faults, files, messages, energy, vector instructions.

    Takes one run or more; returns a ``Report``, whose JSON is that of ``headwater analyse resources --json``.

    max_loop_depth: loops nested deeper are merged; as where the runs were opened if not given, or 10.
    """
