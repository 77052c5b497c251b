// A pinning script that counts cores wrongly: all ranks but the last on the first core.
#include <mpi.h>
#include <sched.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(core), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void diffuse(std::vector<double> &x) {
    for (int k = 0; k < 400; k++)
        for (std::size_t i = 1; i < x.size(); i++)
            x[i] = 0.55 * x[i] + 0.44 * x[i - 1];
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double dose = argc > 1 ? std::atof(argv[1]) : 1.0;
    cpu_set_t given;
    sched_getaffinity(0, sizeof given, &given);
    std::vector<double> x(65536 / static_cast<std::size_t>(size), 1.0 + rank);
    const int steps = 80, pinned = static_cast<int>(steps * dose);
    if (pinned > 0)
        pin(rank == size - 1 ? 1 : 0);
    double mine = 0, all = 0;
    for (int step = 0; step < steps; step++) {
        if (step == pinned)
            sched_setaffinity(0, sizeof given, &given);
        diffuse(x);
        mine = x[7];
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        std::printf("sum %.6f\n", all);
    MPI_Finalize();
    return 0;
}
