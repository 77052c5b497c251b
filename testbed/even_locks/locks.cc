// Worker threads of one pool draw pieces of work under a lock that they hold for next to no time, and
// meet at a barrier before each reduction.
#include <mpi.h>
#include <pthread.h>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace {
constexpr int workers = 2, steps = 80, terms = 20000000, pieces = 256;

struct Pool {
    std::mutex lock;
    pthread_barrier_t start, end;
    int next = 0, terms_here = 0;
    double sum = 0;

    int draw() {
        std::lock_guard<std::mutex> hold(lock);
        return next < pieces ? next++ : -1;
    }

    void work() {
        for (int step = 0; step < steps; step++) {
            pthread_barrier_wait(&start);
            double mine = 0;
            for (int piece = draw(); piece >= 0; piece = draw()) {
                const int length = terms_here / pieces;
                for (int i = 0; i < length; i++)
                    mine += 1.0 / (1.0 + static_cast<double>(piece) * length + i);
            }
            {
                std::lock_guard<std::mutex> hold(lock);
                sum += mine;
            }
            pthread_barrier_wait(&end);
        }
    }
};
} // namespace

int main(int argc, char **argv) {
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    Pool pool;
    pool.terms_here = terms / size;
    pthread_barrier_init(&pool.start, nullptr, workers + 1);
    pthread_barrier_init(&pool.end, nullptr, workers + 1);
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; w++)
        threads.emplace_back(&Pool::work, &pool);
    double all = 0;
    for (int step = 0; step < steps; step++) {
        pool.next = 0;
        pool.sum = 0;
        pthread_barrier_wait(&pool.start);
        pthread_barrier_wait(&pool.end);
        MPI_Allreduce(&pool.sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    for (std::thread &t : threads)
        t.join();
    if (rank == 0)
        std::printf("sum %.9f\n", all);
    MPI_Finalize();
    return 0;
}
