#!/usr/bin/python3
"""Steps of a solver with a sum over all ranks; all ranks have as much to do."""

from mpi4py import MPI


def step(n):
    total = 0.0
    for i in range(n):
        total += i * 0.5
    return total


def run(comm, steps):
    share = 120000 // comm.Get_size()
    for k in range(steps):
        step(share)
        comm.allreduce(k)


run(MPI.COMM_WORLD, 100)
