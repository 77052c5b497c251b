"""What the tests are given: recorded runs of programs of the testbed (`cargo xtask python` records them), and what is known
of these programs."""

import contextlib
import os
import pathlib
import re
import signal
import threading

import headwater as hw
import pytest

TESTBED = pathlib.Path(__file__).resolve().parents[3] / "testbed"


@pytest.fixture(scope="session")
def recorded():
    """Directories of the runs, by the program's name, then by ranks, the smaller number first."""
    base = pathlib.Path(os.environ["HEADWATER_RUNS"])
    found = sorted((path.name.rsplit(".", 1)[0], int(path.suffix[1:]), path) for path in base.iterdir())
    return {name: {ranks: path for of, ranks, path in found if of == name} for name, _, _ in found}


@pytest.fixture(scope="session")
def directories(recorded):
    """Directories of the runs of zeus, by ranks."""
    return recorded["zeus"]


class Places:
    """Source lines that are known beforehand: where a program's cause is, or where its waits show."""

    def __init__(self, program, heading):
        """Of the file that says what is to be found in a program; the tool never reads it."""
        parts = (TESTBED / program / "expected.toml").read_text().split(f"[[{heading}]]")[1:]
        file, lines = re.compile(r'file = "(.+)"'), re.compile(r"lines = \[(\d+), (\d+)\]")
        self.places = [(file.search(part)[1], *map(int, lines.search(part).groups())) for part in parts]

    def __contains__(self, vertex):
        for file, first, last in self.places:
            if vertex.location and vertex["file"].endswith(file) and first <= vertex["line"] <= last:
                return True
        return False


@pytest.fixture(scope="session")
def guilty():
    """Where the known cause of zeus is: the boundary is worked out by every fourth rank alone."""
    return Places("zeus", "cause")


@pytest.fixture(scope="session")
def symptoms():
    """Where ranks of zeus wait for those."""
    return Places("zeus", "trap")


@contextlib.contextmanager
def ctrl_c(begun):
    """Presses Ctrl-C once something has begun; what is inside must be interrupted by it."""
    main = threading.main_thread().ident

    def press():
        begun.wait()
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    # Where tests run in the background the signal is ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGINT, before)


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
