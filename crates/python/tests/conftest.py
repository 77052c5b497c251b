"""What the tests are given: recorded runs of a small program, and the program (`cargo xtask python` sets both)."""

import os
import pathlib

import headwater as hw
import pytest


@pytest.fixture(scope="session")
def directories():
    """Directories of the runs, by ranks."""
    base = pathlib.Path(os.environ["HEADWATER_RUNS"])
    return {int(path.name.rsplit(".", 1)[1]): path for path in base.iterdir() if (path / "run.json").exists()}


@pytest.fixture(scope="session")
def program():
    """The program that was recorded."""
    return os.environ["HEADWATER_PROGRAM"]


@pytest.fixture(scope="session")
def run(directories):
    """The run on 4 ranks."""
    return hw.open(directories[4])


@pytest.fixture(scope="session")
def both(directories):
    """The runs on 2 and on 4 ranks, opened together."""
    return hw.open(directories[2], directories[4])


@pytest.fixture
def small():
    """A graph that a test can see through: four calls in a row, one of which waits for another rank's."""
    vertices = [
        {"name": "MPI_Isend", "time": 1.0, "wait": 0.0},
        {"name": "loop", "time": 4.0},
        {"name": "MPI_Waitall", "time": 3.0, "wait": 2.5},
        {"name": "MPI_Allreduce", "time": 2.0, "wait": 1.0},
    ]
    edges = [
        (0, 1, {"type": "intra-procedural", "kind": "data-flow"}),
        (1, 2, {"type": "intra-procedural", "kind": "data-flow"}),
        (0, 2, {"type": "inter-process", "kind": "point-to-point", "wait": 2.5}),
        (2, 3, {"type": "intra-procedural", "kind": "data-flow"}),
    ]
    return hw.make(vertices, edges)
