// Frames of a film are filtered in a scratch buffer, which some ranks give back after every use.
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

constexpr std::size_t PIXELS = 1 << 18;
constexpr int FRAMES = 240, FILTERS = 10;

class Scratch {
  public:
    explicit Scratch(std::size_t n) : count(n), bytes((n * sizeof(double) + 4095) / 4096 * 4096) {
        void *got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (got == MAP_FAILED)
            std::abort();
        cell = static_cast<double *>(got);
    }
    void fill(const double *frame) {
        for (std::size_t i = 1; i < count; i++)
            cell[i] = 0.5 * frame[i] + 0.4 * frame[i - 1];
    }
    void smooth(double *frame) const {
        for (std::size_t i = 1; i < count; i++)
            frame[i] = 0.6 * cell[i] + 0.3 * frame[i - 1] + 0.1;
    }
    void give_back() { madvise(cell, bytes, MADV_DONTNEED); }

  private:
    std::size_t count, bytes;
    double *cell;
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double dose = argc > 1 ? std::atof(argv[1]) : 1.0;
    const bool thrifty = rank >= size - size / 4 - (size < 4 ? 1 : 0);
    const std::size_t n = PIXELS / static_cast<std::size_t>(size);
    double *frame = new double[n], mine = 0, all = 0;
    for (std::size_t i = 0; i < n; i++)
        frame[i] = static_cast<double>(i % 256);
    Scratch scratch(n);
    for (int f = 0; f < FRAMES; f++) {
        for (int k = 0; k < FILTERS; k++) {
            scratch.fill(frame);
            scratch.smooth(frame);
            if (thrifty && k < static_cast<int>(FILTERS * dose))
                scratch.give_back();
        }
        mine = frame[n / 2];
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (rank == 0)
        std::printf("brightest %.6f\n", all);
    delete[] frame;
    MPI_Finalize();
    return 0;
}
