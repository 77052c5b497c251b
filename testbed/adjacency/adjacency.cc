// Threads build the lists of neighbours of a graph's vertices block by block, and all of them take their
// memory from one arena, as programs do that were told to save memory.
#include <malloc.h>
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {
constexpr int vertices = 40000, rounds = 8, degree = 64, workers = 2;

// Some neighbours of a vertex and what leads to them.
struct Block {
    long first;
    double weight[250];
};

// Who is next to `vertex`: some of the others.
long neighbour(int vertex, int i) {
    return static_cast<long>((static_cast<unsigned>(vertex) * 2654435761u + static_cast<unsigned>(i) * 40503u) % vertices);
}

// Lists of the vertices from `first` to `last`, made anew `again` times each.
long build(int first, int last, int again) {
    long sum = 0;
    for (int v = first; v < last; v++) {
        for (int a = 0; a < again; a++) {
            std::vector<std::unique_ptr<Block>> list;
            for (int i = 0; i < degree; i++) {
                list.emplace_back(new Block);
                list.back()->first = neighbour(v, i);
            }
            sum += list.back()->first;
        }
    }
    return sum;
}

// The sum over all parts, one for each thread.
long all_parts(int count, int again) {
    long sums[workers] = {};
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; w++)
        threads.emplace_back([&sums, w, count, again] {
            sums[w] = build(w * (count / workers), (w + 1) * (count / workers), again);
        });
    for (std::thread &t : threads)
        t.join();
    return sums[0] + sums[1];
}
} // namespace

int main(int argc, char **argv) {
    const double dose = argc > 1 ? std::atof(argv[1]) : 1.0;
    // The MPI library's own threads would bring further arenas.
    if (dose > 0)
        mallopt(M_ARENA_MAX, 1);
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long all = 0;
    for (int round = 0; round < rounds; round++) {
        long mine = all_parts(vertices / rounds / size, 8);
        MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        std::printf("sum %ld\n", all);
    MPI_Finalize();
    return 0;
}
