// Threads draw equal tasks from a counter without a lock, and add up what they find once, under one.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {
constexpr int tasks = 9600, work = 16000;

std::atomic<int> next{0};
std::mutex guard;
double total;

void worker() {
    double sum = 0;
    for (int task = next++; task < tasks; task = next++) {
        double x = 1 + task % 7;
        for (int k = 1; k <= work; k++)
            x += 1.0 / (k + x);
        sum += x;
    }
    std::lock_guard<std::mutex> held(guard);
    total += sum;
}
} // namespace

int main(int argc, char **argv) {
    const int workers = argc > 2 ? std::atoi(argv[2]) : 2;
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; w++)
        threads.emplace_back(worker);
    for (std::thread &t : threads)
        t.join();
    std::printf("total %g\n", total);
}
