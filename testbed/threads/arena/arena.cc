// Threads build lists of blocks, and all of them take their memory from the one arena there is.
#include <malloc.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {
constexpr int lists = 6000, length = 64;

struct Block {
    long first;
    double weight[250];
};

double weigh(int list, int terms) {
    double w = 1 + list % 5;
    for (int k = 1; k <= terms; k++)
        w += w / (k * static_cast<double>(k));
    return w;
}

// The lists from `first` to `last`.
double build(int first, int last, int again) {
    double sum = 0;
    for (int l = first; l < last; l++) {
        sum += weigh(l, 400);
        for (int a = 0; a < again; a++) {
            std::vector<std::unique_ptr<Block>> list;
            for (int i = 0; i < length; i++) {
                list.emplace_back(new Block);
                list.back()->first = l + i;
            }
            sum += static_cast<double>(list.back()->first);
        }
    }
    return sum;
}
} // namespace

int main(int argc, char **argv) {
    const double dose = argc > 1 ? std::atof(argv[1]) : 1.0;
    const int workers = argc > 2 ? std::atoi(argv[2]) : 2;
    if (dose > 0)
        mallopt(M_ARENA_MAX, 1);
    std::vector<double> sums(workers);
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; w++)
        threads.emplace_back([&sums, w, workers] {
            sums[w] = build(w * (lists / workers), (w + 1) * (lists / workers), 12);
        });
    for (std::thread &t : threads)
        t.join();
    std::printf("lists %g\n", sums[0]);
}
