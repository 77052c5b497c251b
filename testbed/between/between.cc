// Cells are updated by all threads, but between the two loops that do it one thread alone limits the
// slopes of a part of them, as the others wait.
#include <mpi.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {
constexpr int cells = 400000, steps = 300, threads = 2;

class Field {
  public:
    explicit Field(int n) : u(static_cast<std::size_t>(n), 1.0), slope(u.size(), 0.0) {}

    void gradients() {
        const long n = static_cast<long>(u.size());
#pragma omp parallel for num_threads(threads)
        for (long i = 0; i < n; i++)
            slope[i] = std::exp(-u[i]) - std::exp(-u[(i + 1) % n]);
    }

    // Limits the slopes of cells up to `last` on one thread, the rest on all of them.
    void limit(long last) {
        const long n = static_cast<long>(u.size());
        for (long i = 0; i < last; i++) {
            double s = slope[i];
            slope[i] = std::tanh(s) * std::exp(-s * s);
        }
#pragma omp parallel for num_threads(threads)
        for (long i = last; i < n; i++)
            slope[i] = std::tanh(slope[i]) * std::exp(-slope[i] * slope[i]);
    }

    void advance() {
        const long n = static_cast<long>(u.size());
#pragma omp parallel for num_threads(threads)
        for (long i = 0; i < n; i++)
            u[i] += 0.01 * std::sin(slope[i]);
    }

    double first() const { return u.front(); }
    long size() const { return static_cast<long>(u.size()); }

  private:
    std::vector<double> u, slope;
};
} // namespace

int main(int argc, char **argv) {
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    const double dose = argc > 1 ? std::atof(argv[1]) : 1.0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    Field field(cells / size);
    double all = 0;
    for (int step = 0; step < steps; step++) {
        field.gradients();
        field.limit(static_cast<long>(dose * static_cast<double>(field.size())));
        field.advance();
        double mine = field.first();
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        std::printf("first %.9f\n", all);
    MPI_Finalize();
    return 0;
}
