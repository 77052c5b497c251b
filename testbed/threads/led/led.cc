// A pool of threads waits for rounds of work, and the first thread takes the first part of each round itself. Its part is
// larger than the others.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace {
constexpr int rounds = 50, cells = 9600, work = 250;

std::mutex guard;
std::condition_variable wanted, finished;
int round_number = 0, at_work = 0, parts = 1;
bool is_over = false;
double dose = 0.6;
double sums[64];

int end_of(int part) {
    if (parts == 1)
        return cells;
    const int own = cells / parts, first = own + static_cast<int>(dose * own);
    return first + (cells - first) / (parts - 1) * part;
}

__attribute__((noinline)) void do_part(int part) {
    double x = sums[part] + 1;
    for (int c = part == 0 ? 0 : end_of(part - 1); c < end_of(part); c++)
        for (int k = 1; k <= work; k++)
            x += 1.0 / (k + c + x);
    sums[part] = x;
}

void worker(int part) {
    std::unique_lock<std::mutex> lock(guard);
    for (int seen = 0;;) {
        wanted.wait(lock, [&] { return is_over || round_number > seen; });
        if (is_over)
            return;
        seen = round_number;
        lock.unlock();
        do_part(part);
        lock.lock();
        if (--at_work == 0)
            finished.notify_one();
    }
}

void do_round() {
    {
        std::lock_guard<std::mutex> lock(guard);
        round_number++;
        at_work = parts - 1;
    }
    wanted.notify_all();
    do_part(0);
    std::unique_lock<std::mutex> lock(guard);
    finished.wait(lock, [] { return at_work == 0; });
}
} // namespace

int main(int argc, char **argv) {
    dose = argc > 1 ? std::atof(argv[1]) : 0.6;
    parts = argc > 2 ? std::atoi(argv[2]) : 2;
    std::vector<std::thread> pool;
    for (int p = 1; p < parts; p++)
        pool.emplace_back(worker, p);
    for (int r = 0; r < rounds; r++)
        do_round();
    {
        std::lock_guard<std::mutex> lock(guard);
        is_over = true;
    }
    wanted.notify_all();
    for (std::thread &t : pool)
        t.join();
    std::printf("sum %g\n", sums[0]);
}
