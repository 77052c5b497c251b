// Events look their target up in a table that is longer where more was registered.
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Entry {
    long key;
    double value;
};

class Table {
  public:
    void add(long key) { entries.push_back({key, 1.0 / static_cast<double>(key + 1)}); }
    double find(long key) const;

  private:
    std::vector<Entry> entries;
};

double Table::find(long key) const {
    for (const Entry &e : entries)
        if (e.key == key)
            return e.value;
    return 0;
}

int main(int argc, char **argv) {
    double dose = argc > 1 ? atof(argv[1]) : 1.0;
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    Table table;
    long length = 400 + (rank % 4 == 1 ? static_cast<long>(800 * dose) : 0);
    for (long k = 0; k < length; k++)
        table.add(k * 7919 % 100003);
    double mine = 0, all = 0;
    for (int step = 0; step < 100; step++) {
        int events = 144000 / size;
        for (int e = 0; e < events; e++)
            mine += table.find(200000 + e % 3);
        int next = (rank + 1) % size, last = (rank + size - 1) % size;
        double out = mine, in = 0;
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, next, 3, &in, 1, MPI_DOUBLE, last, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mine += 0.5 * in;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        std::printf("sum %.6f\n", all);
    MPI_Finalize();
    return 0;
}
