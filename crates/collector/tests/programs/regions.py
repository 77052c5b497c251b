"""Regions inside each other; one is left by an exception."""

import ctypes

from headwater_regions import iteration, region

ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
mpi = ctypes.CDLL(None)
mpi.MPI_Init(None, None)
for step in range(2):
    try:
        with region("step"):
            with region("solve"):
                for i in range(3):
                    sum(range(1000))
                    iteration()
                raise ValueError("left")
    except ValueError as e:
        print(e)
mpi.MPI_Finalize()
