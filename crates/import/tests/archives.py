"""Writes OTF2 archives with a known answer, by the library that Score-P writes its own with.

archives.py NAME DIRECTORY writes the archive NAME. Times are microseconds, and so are the ticks.
"""

import sys

import _otf2
import otf2
from otf2.enums import (
    CollectiveOp,
    GroupType,
    LocationGroupType,
    LocationType,
    MeasurementMode,
    MetricMode,
    Paradigm,
    RegionRole,
    RmaAtomicType,
    RmaSyncLevel,
    Type,
)

START = 1_000_000


class Rank:
    """A location with its clock: what is written moves it on."""

    def __init__(self, trace, writer, offset=0):
        self.trace, self.writer, self.now, self.offset = trace, writer, START, offset

    def at(self):
        return self.now - self.offset

    def compute(self, microseconds):
        self.now += microseconds

    def enter(self, name, **about):
        self.writer.enter(self.at(), self.trace.region(name, **about))

    def leave(self, name):
        self.writer.leave(self.at(), self.trace.region(name))

    def call(self, name, until, *events):
        """An MPI call that ends at `until`, with events that take (writer, time)."""
        self.enter(name)
        self.now = max(self.now, until)
        for event in events:
            event(self.writer, self.at())
        self.leave(name)


class Trace:
    def __init__(self, path, ranks, threads=1, chunk=262144, mpi=True):
        self.writer = otf2.writer.Writer(path, timer_resolution=1_000_000, chunk_size_events=chunk)
        self.writer.creator = "Score-P 8.4"
        self.regions = {}
        d = self.definitions = self.writer.definitions
        root = d.system_tree_node("cluster", class_name="machine")
        nodes = [d.system_tree_node(f"n{i}", class_name="node", parent=root) for i in range(2)]
        self.locations = []
        for rank in range(ranks):
            group = d.location_group(
                f"MPI Rank {rank}",
                location_group_type=LocationGroupType.PROCESS,
                system_tree_parent=nodes[2 * rank // ranks],
            )
            self.locations.append(
                [
                    d.location(f"thread {t}", group=group, type=LocationType.CPU_THREAD)
                    for t in range(threads)
                ]
            )
        first = [of[0] for of in self.locations]
        if mpi:
            d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=first)
            self.world = self.comm("MPI_COMM_WORLD", range(ranks))
        self.ranks = [Rank(self, self.writer.event_writer_from_location(l)) for l in first]

    def comm(self, name, ranks, parent=None):
        group = self.definitions.group(
            name,
            group_type=GroupType.COMM_GROUP,
            paradigm=Paradigm.MPI,
            members=[self.locations[r][0] for r in ranks],
        )
        return self.definitions.comm(name, group=group, parent=parent)

    def region(self, name, file="app.c", lines=(0, 0), role=RegionRole.FUNCTION, paradigm=None):
        if name not in self.regions:
            mpi = name.startswith("MPI_")
            self.regions[name] = self.definitions.region(
                name,
                source_file="" if mpi else file,
                begin_line_number=lines[0],
                end_line_number=lines[1],
                region_role=role,
                paradigm=paradigm or (Paradigm.MPI if mpi else Paradigm.COMPILER),
            )
        return self.regions[name]

    def begin(self):
        for rank in self.ranks:
            rank.writer.program_begin(rank.at(), "/home/user/app", ["input"])
            rank.enter("main", lines=(10, 99))
            rank.call("MPI_Init", START + 1000)

    def end(self, cost=50):
        last = max(rank.now for rank in self.ranks)
        for rank in self.ranks:
            rank.call("MPI_Finalize", last + cost)
            rank.leave("main")
        self.writer.close()

    def collective(self, name, op, ranks, comm, root=None, cost=10, size=8):
        """All of `ranks` are in it until the last has come; bytes are those that Score-P writes."""
        until = max(self.ranks[r].now for r in ranks) + cost
        none = _otf2.UNDEFINED_UINT32
        for r in ranks:
            sent = received = len(ranks) * size
            if op == CollectiveOp.BARRIER:
                sent = received = 0
            elif op == CollectiveOp.BCAST:
                sent, received = sent * (r == ranks[root]), size
            self.ranks[r].call(
                name,
                until,
                lambda w, t: w.mpi_collective_begin(t),
                lambda w, t: w.mpi_collective_end(
                    t, op, comm, none if root is None else root, sent, received
                ),
            )


def patterns(path):
    """Each wait once, of a length that no other has."""
    t = Trace(path, 4)
    t.begin()
    a, b, c, d = t.ranks
    # Uneven work: ranks 2 and 3 take 3000 where the others take 1000; then a barrier.
    for n, rank in enumerate(t.ranks):
        rank.enter("work", lines=(20, 29))
        rank.compute(1000 if n < 2 else 3000)
        rank.leave("work")
    t.collective("MPI_Barrier", CollectiveOp.BARRIER, range(4), t.world)
    # Late sender: rank 1 waits 500 for rank 0.
    a.compute(500)
    a.call("MPI_Send", a.now + 20, lambda w, x: w.mpi_send(x, 1, t.world, 5, 100))
    b.call("MPI_Recv", a.now + 5, lambda w, x: w.mpi_recv(x, 0, t.world, 5, 100))
    # Late receiver: rank 2 waits 700 for rank 3.
    d.compute(700)
    c.call("MPI_Ssend", d.now + 30, lambda w, x: w.mpi_send(x, 3, t.world, 6, 200))
    d.call("MPI_Recv", d.now + 40, lambda w, x: w.mpi_recv(x, 2, t.world, 6, 200))
    # Two receives of one stream, posted before they are completed the other way round.
    for request in (1, 2):
        b.call("MPI_Irecv", b.now + 1, lambda w, x: w.mpi_irecv_request(x, request))
    a.call("MPI_Isend", a.now + 1, lambda w, x: w.mpi_isend(x, 1, t.world, 7, 10, 11))
    a.compute(250)
    a.call("MPI_Isend", a.now + 1, lambda w, x: w.mpi_isend(x, 1, t.world, 7, 20, 12))
    second = a.now
    b.call("MPI_Wait", second + 4, lambda w, x: w.mpi_irecv(x, 0, t.world, 7, 20, 2))
    b.call("MPI_Wait", b.now + 2, lambda w, x: w.mpi_irecv(x, 0, t.world, 7, 10, 1))
    a.call(
        "MPI_Waitall",
        a.now + 3,
        lambda w, x: w.mpi_isend_complete(x, 11),
        lambda w, x: w.mpi_isend_complete(x, 12),
    )
    # One that is called off.
    c.call("MPI_Irecv", c.now + 1, lambda w, x: w.mpi_irecv_request(x, 3))
    c.call("MPI_Wait", c.now + 1, lambda w, x: w.mpi_request_cancelled(x, 3))
    # In a communicator of ranks 3 and 1, rank 0 of which is rank 3.
    odd = t.comm("odd", [3, 1], t.world)
    t.collective("MPI_Allreduce", CollectiveOp.ALLREDUCE, range(4), t.world)
    b.compute(900)
    t.collective("MPI_Bcast", CollectiveOp.BCAST, [3, 1], odd, root=1)
    d.call("MPI_Send", d.now + 2, lambda w, x: w.mpi_send(x, 1, odd, 5, 30))
    b.call("MPI_Recv", d.now + 1, lambda w, x: w.mpi_recv(x, 0, odd, 5, 30))
    # A nonblocking collective: rank 0 posts 400 late, and they wait where they complete it.
    a.compute(400)
    for n, rank in enumerate(t.ranks):
        start = max(rank.now, a.now if n == 0 else rank.now)
        rank.call(
            "MPI_Ibarrier",
            start + 1,
            lambda w, x: w.non_blocking_collective_request(x, 40),
        )
    done = max(rank.now for rank in t.ranks) + 2
    for rank in t.ranks:
        rank.call(
            "MPI_Wait",
            done,
            lambda w, x: w.non_blocking_collective_complete(
                x, CollectiveOp.BARRIER, t.world, _otf2.UNDEFINED_UINT32, 0, 0, 40
            ),
        )
    t.end()


def alone(path):
    """Three ranks that each come, at other times, to collectives on MPI_COMM_SELF and on a duplicate of it."""
    t = Trace(path, 3)
    own = t.definitions.group("MPI_COMM_SELF", group_type=GroupType.COMM_SELF, paradigm=Paradigm.MPI, members=[])
    comms = [t.definitions.comm(name, group=own) for name in ("MPI_COMM_SELF", "duplicate")]
    t.begin()
    for n, rank in enumerate(t.ranks):
        rank.compute(1000 * n)
        for comm in comms:
            done = lambda w, x: w.mpi_collective_end(x, CollectiveOp.BARRIER, comm, _otf2.UNDEFINED_UINT32, 0, 0)
            rank.call("MPI_Barrier", rank.now + 2000, done)
    # Rank 0 sends on, rank 1 is the last in the line: it receives, and sends to nobody.
    a, b, _ = t.ranks
    a.call("MPI_Sendrecv", a.now + 5, lambda w, x: w.mpi_send(x, 1, t.world, 5, 100))
    b.call("MPI_Sendrecv", a.now + 5, lambda w, x: w.mpi_recv(x, 0, t.world, 5, 100))
    t.collective("MPI_Allreduce", CollectiveOp.ALLREDUCE, range(3), t.world)
    t.end()


def slower(path, ranks=4):
    """Half of the ranks take twice as long for what they all do in `slow`: they miss the cache."""
    uneven(path, ranks, counted=True)


def uneven(path, ranks=4, steps=40, counted=False):
    """Half of the ranks have twice as much to do in `slow`, in each of many steps."""
    t = Trace(path, ranks)
    d = t.definitions
    member = lambda name: d.metric_member(
        name, value_type=Type.UINT64, metric_mode=MetricMode.ACCUMULATED_START
    )
    names = ("PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_L3_TCM")
    counters = d.metric_class([member(n) for n in names]) if counted else None
    read = [[0, 0, 0] for _ in t.ranks]

    def count(n, instructions, cycles, misses):
        if counted:
            read[n] = [a + b for a, b in zip(read[n], (instructions, cycles, misses))]
            t.ranks[n].writer.metric(t.ranks[n].at(), counters, read[n])

    t.begin()
    for _ in range(steps):
        for n, rank in enumerate(t.ranks):
            rank.enter("step", lines=(30, 60))
            rank.enter("even", lines=(70, 79))
            rank.compute(4000 // ranks)
            rank.leave("even")
            late = 2 * n >= ranks
            busy = (20000 if late else 10000) // ranks
            count(n, 5_000_000 // ranks, 10_000_000 // ranks, 0)
            rank.enter("slow", file="slow.c", lines=(5, 12))
            rank.compute(busy)
            count(n, 20_000_000 // ranks, 2500 * busy, 900_000 // ranks if late else 10)
            rank.leave("slow")
        for n, rank in enumerate(t.ranks):
            to = (n + 1) % ranks
            sent = rank.now
            rank.call("MPI_Isend", sent + 1, lambda w, x: w.mpi_isend(x, to, t.world, 1, 800, 5))
        sent = [rank.now - 1 for rank in t.ranks]
        for n, rank in enumerate(t.ranks):
            source = (n - 1) % ranks
            rank.call(
                "MPI_Recv",
                max(rank.now, sent[source]) + 2,
                lambda w, x: w.mpi_recv(x, source, t.world, 1, 800),
            )
            rank.call("MPI_Wait", rank.now + 1, lambda w, x: w.mpi_isend_complete(x, 5))
        t.collective("MPI_Allreduce", CollectiveOp.ALLREDUCE, range(ranks), t.world)
        for rank in t.ranks:
            rank.leave("step")
    t.end()


def late(path):
    """Rank 1 waits 2 s for a message that rank 0 computes 3 s before; rank 0 waits 1 s at the barrier behind it."""
    t = Trace(path, 2)
    t.begin()
    a, b = t.ranks
    for rank, (name, line), seconds in ((a, ("slow", 20), 3), (b, ("quick", 30), 1)):
        rank.enter(name, lines=(line, line + 9))
        rank.compute(seconds * 1_000_000)
        rank.leave(name)
    a.call("MPI_Send", a.now, lambda w, x: w.mpi_send(x, 1, t.world, 5, 100))
    b.call("MPI_Recv", a.now, lambda w, x: w.mpi_recv(x, 0, t.world, 5, 100))
    for rank, (name, line), seconds in ((a, ("brief", 40), 0.5), (b, ("long", 50), 1.5)):
        rank.enter(name, lines=(line, line + 9))
        rank.compute(int(seconds * 1_000_000))
        rank.leave(name)
    t.collective("MPI_Barrier", CollectiveOp.BARRIER, range(2), t.world, cost=0)
    t.end(0)


def pauses(path, uneven=0):
    """Recording is off for 5000; rank 1's buffers are written in a receive, rank 0's while it computes."""
    t = Trace(path, 2)
    counted = t.definitions.metric_member(
        "PAPI_TOT_CYC", value_type=Type.UINT64, metric_mode=MetricMode.ACCUMULATED_START
    )
    cycles = t.definitions.metric_class([counted])
    t.begin()
    a, b = t.ranks
    off, on = MeasurementMode.OFF, MeasurementMode.ON
    a.writer.metric(a.at(), cycles, [1000])
    a.compute(300)
    b.compute(100)
    a.writer.metric(a.at(), cycles, [1030])
    t.collective("MPI_Barrier", CollectiveOp.BARRIER, range(2), t.world)
    for rank in t.ranks:
        rank.compute(7)
        rank.writer.measurement_on_off(rank.at(), off)
        rank.compute(5000)
        rank.writer.measurement_on_off(rank.at(), on)
    if uneven:
        b.compute(3)
        b.writer.measurement_on_off(b.at(), off)
        b.compute(1)
        b.writer.measurement_on_off(b.at(), on)
    a.writer.metric(a.at(), cycles, [900000])
    a.compute(400)
    a.writer.metric(a.at(), cycles, [900050])
    b.compute(50)
    b.enter("MPI_Recv")
    b.writer.buffer_flush(b.at() + 100, b.at() + 150)
    a.call("MPI_Send", a.now + 20, lambda w, x: w.mpi_send(x, 1, t.world, 5, 100))
    b.now = a.now + 5
    b.writer.mpi_recv(b.at(), 0, t.world, 5, 100)
    b.leave("MPI_Recv")
    a.compute(100)
    a.writer.buffer_flush(a.at(), a.at() + 60)
    a.compute(60 + 40)
    t.collective("MPI_Barrier", CollectiveOp.BARRIER, range(2), t.world)
    t.end()


def windows(path):
    """Rank 1 comes 95 late to a fence behind one-sided calls; a metric that is no count stands beside two that are."""
    t = Trace(path, 2)
    d = t.definitions
    t.begin()
    a, b = t.ranks
    metrics = d.metric_class(
        [
            d.metric_member("power", value_type=Type.DOUBLE, metric_mode=MetricMode.ABSOLUTE_POINT),
            d.metric_member("below", value_type=Type.INT64, metric_mode=MetricMode.ACCUMULATED_START),
            d.metric_member("PAPI_TOT_INS", value_type=Type.UINT64, metric_mode=MetricMode.ACCUMULATED_START),
        ]
    )
    a.writer.metric(a.at(), metrics, [3.25e10, -5, 1000])
    a.compute(10)
    a.writer.metric(a.at(), metrics, [-1.5, -3, 3000])
    b.compute(10)
    win = d.rma_win("window", comm=t.world)
    a.call("MPI_Put", a.now + 5, lambda w, x: w.rma_put(x, win, 1, 4096, 7))
    kind = RmaAtomicType.FETCH_AND_ADD
    a.call("MPI_Fetch_and_op", a.now, lambda w, x: w.rma_atomic(x, win, 1, kind, 8, 16, 9))
    b.compute(100)
    until, none = b.now + 3, _otf2.UNDEFINED_UINT32
    for rank in t.ranks:
        rank.call(
            "MPI_Win_fence",
            until,
            lambda w, x: w.rma_collective_begin(x),
            lambda w, x: w.rma_collective_end(
                x, CollectiveOp.BARRIER, RmaSyncLevel.PROCESS, win, none, 0, 0
            ),
        )
    t.end()


def teams(path, ranks=2, steps=30):
    """Two threads on each rank, of which the second has three times as much to do in `loop`; they sleep between."""
    t = Trace(path, ranks, threads=2)
    t.begin()
    workers = [Rank(t, t.writer.event_writer_from_location(of[1])) for of in t.locations]
    omp = {"paradigm": Paradigm.OPENMP}
    for _ in range(steps):
        for rank, worker in zip(t.ranks, workers):
            rank.writer.thread_fork(rank.at(), Paradigm.OPENMP, 2)
            worker.now = rank.now
            last = rank.now + 3000
            for thread, busy in ((rank, 1000), (worker, 3000)):
                thread.writer.thread_team_begin(thread.at(), t.world)
                thread.enter("!$omp parallel @app.c:40", lines=(40, 50), role=RegionRole.PARALLEL, **omp)
                thread.enter("loop", lines=(42, 48))
                thread.compute(busy)
                thread.leave("loop")
                thread.enter("!$omp implicit barrier @app.c:50", lines=(50, 50), role=RegionRole.IMPLICIT_BARRIER, **omp)
                thread.now = last
                thread.leave("!$omp implicit barrier @app.c:50")
                thread.leave("!$omp parallel @app.c:40")
                thread.writer.thread_team_end(thread.at(), t.world)
            rank.writer.thread_join(rank.at(), Paradigm.OPENMP)
            rank.compute(500)
        t.collective("MPI_Allreduce", CollectiveOp.ALLREDUCE, range(ranks), t.world)
    t.end()


def locks(path, ranks=2, steps=30):
    """Two threads on each rank that both want a critical section for 1000 and compute for 500 besides."""
    t = Trace(path, ranks, threads=2)
    t.begin()
    workers = [Rank(t, t.writer.event_writer_from_location(of[1])) for of in t.locations]
    omp = {"paradigm": Paradigm.OPENMP}
    for _ in range(steps):
        for rank, worker in zip(t.ranks, workers):
            rank.writer.thread_fork(rank.at(), Paradigm.OPENMP, 2)
            begin = worker.now = rank.now
            for n, thread in enumerate((rank, worker)):
                thread.writer.thread_team_begin(thread.at(), t.world)
                thread.enter("!$omp parallel @app.c:40", lines=(40, 60), role=RegionRole.PARALLEL, **omp)
                thread.compute(500)
                thread.enter("!$omp critical @app.c:45", lines=(45, 55), role=RegionRole.CRITICAL, **omp)
                thread.compute(1000 * n)
                thread.writer.thread_acquire_lock(thread.at(), Paradigm.OPENMP, 3, n)
                thread.enter("!$omp critical sblock @app.c:45", lines=(45, 55), role=RegionRole.CRITICAL_SBLOCK, **omp)
                thread.compute(1000)
                thread.leave("!$omp critical sblock @app.c:45")
                thread.writer.thread_release_lock(thread.at(), Paradigm.OPENMP, 3, n)
                thread.leave("!$omp critical @app.c:45")
                thread.enter("!$omp implicit barrier @app.c:60", lines=(60, 60), role=RegionRole.IMPLICIT_BARRIER, **omp)
                thread.now = begin + 2500
                thread.leave("!$omp implicit barrier @app.c:60")
                thread.leave("!$omp parallel @app.c:40")
                thread.writer.thread_team_end(thread.at(), t.world)
            rank.writer.thread_join(rank.at(), Paradigm.OPENMP)
        t.collective("MPI_Allreduce", CollectiveOp.ALLREDUCE, range(ranks), t.world)
    t.end()


def openmp(path):
    """One process of two threads without MPI: in each of three regions the second thread works 400 longer."""
    t = Trace(path, 1, threads=2, mpi=False)
    (main,) = t.ranks
    main.writer.program_begin(main.at(), "/home/user/app", [])
    main.enter("main", lines=(10, 99))
    main.compute(100)
    omp = {"paradigm": Paradigm.OPENMP}
    other = Rank(t, t.writer.event_writer_from_location(t.locations[0][1]))
    t.definitions.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.OPENMP, members=t.locations[0])
    group = t.definitions.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.OPENMP, members=t.locations[0])
    comm = t.definitions.comm("team", group=group)
    for _ in range(3):
        main.writer.thread_fork(main.at(), Paradigm.OPENMP, 2)
        begin = other.now = main.now
        for rank, busy in ((main, 600), (other, 1000)):
            rank.writer.thread_team_begin(rank.at(), comm)
            rank.enter("!$omp parallel @app.c:40", lines=(40, 50), role=RegionRole.PARALLEL, **omp)
            rank.compute(busy)
            rank.enter("!$omp implicit barrier @app.c:50", lines=(50, 50), role=RegionRole.IMPLICIT_BARRIER, **omp)
            rank.now = begin + 1000
            rank.leave("!$omp implicit barrier @app.c:50")
            rank.leave("!$omp parallel @app.c:40")
            rank.writer.thread_team_end(rank.at(), comm)
        main.writer.thread_join(main.at(), Paradigm.OPENMP)
    main.compute(100)
    main.leave("main")
    t.writer.close()


def threads(path):
    """Two ranks of two threads, call sites, a counter, clocks that differ, numbers that are mapped, matched probes."""
    t = Trace(path, 2, threads=2)
    d = t.definitions
    a, b = t.ranks
    # Rank 1's clock is 400 behind, by its own definitions.
    b.offset = 400
    local = _otf2.Archive_GetDefWriter(t.writer.handle, t.locations[1][0]._ref)
    _otf2.DefWriter_WriteClockOffset(local, START, 400, 2.0)
    # It calls the region `work` by another number.
    work = t.region("work", lines=(20, 29))
    numbers = _otf2.IdMap_Create(_otf2.IdMapMode(1), 1)
    _otf2.IdMap_AddIdPair(numbers, 77, work._ref)
    _otf2.DefWriter_WriteMappingTable(local, _otf2.MAPPING_REGION, numbers)
    t.begin()
    counted = d.metric_member("PAPI_TOT_INS", unit="#", value_type=Type.UINT64, metric_mode=MetricMode.ACCUMULATED_START)
    metrics = d.metric_class([counted])
    a.writer.metric(a.at(), metrics, [1000])
    a.enter("work")
    a.compute(300)
    a.writer.metric(a.at(), metrics, [1700])
    a.leave("work")
    _otf2.EvtWriter_Enter(b.writer.handle, None, b.at(), 77)
    b.compute(100)
    _otf2.EvtWriter_Leave(b.writer.handle, None, b.at(), 77)
    # A parallel region of rank 0, whose second thread works less and waits.
    omp = {"paradigm": Paradigm.OPENMP}
    other = Rank(t, t.writer.event_writer_from_location(t.locations[0][1]))
    other.now = a.now
    team = [a, other]
    a.writer.thread_fork(a.at(), Paradigm.OPENMP, 2)
    for rank, busy in zip(team, (500, 200)):
        rank.writer.thread_team_begin(rank.at(), t.world)
        rank.enter("!$omp parallel @app.c:40", lines=(40, 50), role=RegionRole.PARALLEL, **omp)
        rank.compute(busy)
        rank.enter("!$omp implicit barrier @app.c:50", lines=(50, 50), role=RegionRole.IMPLICIT_BARRIER, **omp)
        rank.now = START + 1000 + 300 + 500
        rank.leave("!$omp implicit barrier @app.c:50")
        rank.leave("!$omp parallel @app.c:40")
        rank.writer.thread_team_end(rank.at(), t.world)
    a.writer.thread_join(a.at(), Paradigm.OPENMP)
    # Two messages of one stream: the first is found by a probe, and received after the second.
    for size in (10, 20):
        a.call("MPI_Send", a.now + 1, lambda w, x: w.mpi_send(x, 1, t.world, 5, size))
    b.call("MPI_Mprobe", a.now, lambda w, x: w.mpi_probe(x, 0, t.world, 5, 9))
    b.call("MPI_Recv", b.now + 1, lambda w, x: w.mpi_recv(x, 0, t.world, 5, 20))
    b.call("MPI_Mrecv", b.now + 1, lambda w, x: w.mpi_mrecv(x, 9, 10))
    # A call whose path has lines.
    main = d.calling_context(t.region("main"), d.source_code_location("app.c", 33), None)
    solve = d.calling_context(t.region("solve", lines=(60, 80)), d.source_code_location("app.c", 66), main)
    barrier = d.calling_context(t.region("MPI_Barrier"), None, solve)
    until = max(a.now, b.now) + 5
    for rank in (a, b):
        rank.writer.calling_context_enter(rank.at(), barrier, 2)
        rank.now = until
        none = _otf2.UNDEFINED_UINT32
        rank.writer.mpi_collective_end(rank.at(), CollectiveOp.BARRIER, t.world, none, 0, 0)
        rank.writer.calling_context_leave(rank.at(), barrier)
    t.end()


if __name__ == "__main__":
    name, path, *numbers = sys.argv[1:]
    globals()[name](path, *map(int, numbers))
