"""Made by `cargo xtask api` from the table of paradigms."""

import os
from typing import Dict, List, Tuple, Union

from ._headwater import Report, Run
from .flow import Flow

def table() -> Dict[str, Tuple[str, str, str]]: ...
def names() -> List[str]: ...
def flow(name: str, runs: int = ...) -> Flow: ...

def scalability(*runs: Union[Run, str, os.PathLike[str]]) -> Report:
    """What holds the program back as ranks are added, where, and how ranks come to wait for it: the diagnosis as tables.

    Takes one run or more; gives a ``Report``, whose JSON is that of ``headwater analyse scalability --json``.
    """

def mpi_profile(run: Union[Run, str, os.PathLike[str]]) -> Report:
    """Time and bytes of MPI by task, call site and message size, as mpiP tells them.

    Takes one run; gives a ``Report``, whose JSON is that of ``headwater analyse mpi-profile --json``.
    """

def communication(run: Union[Run, str, os.PathLike[str]]) -> Report:
    """Communication calls that take longest, in which of them ranks differ, and why.

    Takes one run; gives a ``Report``, whose JSON is that of ``headwater analyse communication --json``.
    """

def critical_path(run: Union[Run, str, os.PathLike[str]]) -> Report:
    """Places that the run time is made of, and what evening their work out could gain.

    Takes one run; gives a ``Report``, whose JSON is that of ``headwater analyse critical-path --json``.
    """

def contention(*runs: Union[Run, str, os.PathLike[str]]) -> Report:
    """Where threads and ranks wait for one resource; with several runs, what of it grows.

    Takes one run or more; gives a ``Report``, whose JSON is that of ``headwater analyse contention --json``.
    """

def causal(run: Union[Run, str, os.PathLike[str]]) -> Report:
    """Places in which ranks differ, and which of them are behind the others.

    Takes one run; gives a ``Report``, whose JSON is that of ``headwater analyse causal --json``.
    """

def differential(first: Union[Run, str, os.PathLike[str]], second: Union[Run, str, os.PathLike[str]]) -> Report:
    """What takes longer, and what less long, in the second of two runs or builds than in the first.

    Takes two runs, the earlier or smaller one first; gives a ``Report``, whose JSON is that of ``headwater analyse differential --json``.
    """

def wait_states(run: Union[Run, str, os.PathLike[str]]) -> Report:
    """Waiting of ranks and threads by Scalasca's wait states, and for which calls.

    Takes one run; gives a ``Report``, whose JSON is that of ``headwater analyse wait-states --json``.
    """

def efficiencies(*runs: Union[Run, str, os.PathLike[str]]) -> Report:
    """POP's efficiencies of each run; with several scales those of scaling too.

    Takes one run or more; gives a ``Report``, whose JSON is that of ``headwater analyse efficiencies --json``.
    """
