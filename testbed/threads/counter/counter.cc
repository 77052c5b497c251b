// Workers draw tasks from one queue under a mutex, and what is done under it grows with the tasks that wait.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace {
constexpr int tasks = 20000, work = 2400;

std::mutex guard;
std::deque<int> queue;

double compute(int task, int terms) {
    double x = 1 + task % 13;
    for (int k = 1; k <= terms; k++)
        x += x / (k * static_cast<double>(k));
    return x;
}

// The next task, and how urgent it is; -1 where none is left.
int draw(double &urgency, int terms) {
    std::lock_guard<std::mutex> held(guard);
    if (queue.empty())
        return -1;
    const int task = queue.front();
    queue.pop_front();
    for (int k = 1; k <= terms; k++)
        urgency += urgency / (k * static_cast<double>(k));
    return task;
}

double worker(double dose) {
    double sum = 0, urgency = 1;
    for (;;) {
        const int task = draw(urgency, static_cast<int>(work * dose));
        if (task < 0)
            return sum + urgency;
        urgency = 1;
        sum += compute(task, static_cast<int>(work * (1 - dose)));
    }
}
} // namespace

int main(int argc, char **argv) {
    const double dose = argc > 1 ? std::atof(argv[1]) : 0.6;
    const int workers = argc > 2 ? std::atoi(argv[2]) : 2;
    for (int t = 0; t < tasks; t++)
        queue.push_back(t);
    std::vector<double> sums(workers);
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; w++)
        threads.emplace_back([&sums, w, dose] { sums[w] = worker(dose); });
    for (std::thread &t : threads)
        t.join();
    std::printf("sum %g\n", sums[0]);
}
