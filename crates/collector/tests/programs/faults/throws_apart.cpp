// Exceptions in threads: caught there, handed to another one, and with an argument one that nobody catches.
#include "work.h"
#include <condition_variable>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::shared_mutex shared;
static std::condition_variable condition;
static int ready, caught;

static int deep(int n) {
    if (n == 0)
        throw std::runtime_error("deep");
    return deep(n - 1) + 1;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    steps(10, "before");
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([i] {
            compute(1000000);
            try {
                std::lock_guard<std::mutex> lock(mutex);
                deep(i);
            } catch (const std::runtime_error &) {
                std::unique_lock<std::mutex> lock(mutex);
                caught++;
                ready++;
                condition.notify_all();
                condition.wait(lock, [] { return ready == 4; });
            }
            std::shared_lock<std::shared_mutex> read(shared);
        });
    for (auto &thread : threads)
        thread.join();
    auto handed = std::async(std::launch::async, [] { return deep(5); });
    try {
        handed.get();
    } catch (const std::runtime_error &) {
        caught++;
    }
    std::printf("caught %d\n", caught);
    std::fflush(stdout);
    if (argc > 1)
        std::thread([] { deep(3); }).join();
    MPI_Finalize();
    return 0;
}
