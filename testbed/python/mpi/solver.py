#!/usr/bin/python3
"""Steps of a solver with a sum over all ranks; rank 0 has more cells in `Solver.step`."""

import sys

from mpi4py import MPI

DOSE = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0


class Solver:
    def __init__(self, comm):
        self.comm = comm

    def cells(self):
        first = self.comm.Get_rank() == 0
        return 15000 + int(45000 * DOSE) * first

    def step(self, n):
        total = 0.0
        for i in range(n):
            total += i * 0.5
        return total

    def even(self):
        return sum(i for i in range(15000))

    def run(self, steps):
        for k in range(steps):
            self.even()
            self.step(self.cells())
            self.comm.allreduce(k)


Solver(MPI.COMM_WORLD).run(100)
