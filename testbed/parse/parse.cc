// Each rank reads the same mesh description and parses all of it, then keeps its own part.
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct Node {
    long id;
    double x, y;
};

static std::string description(int nodes) {
    std::ostringstream s;
    for (int i = 0; i < nodes; i++)
        s << "node " << i << ' ' << (i * 37 % 1001) / 1001.0 << ' ' << (i * 53 % 997) / 997.0 << '\n';
    return s.str();
}

static std::vector<Node> parse(const std::string &text) {
    std::istringstream in(text);
    std::vector<Node> nodes;
    std::map<std::string, int> words;
    std::string word;
    Node n;
    while (in >> word >> n.id >> n.x >> n.y) {
        words[word]++;
        nodes.push_back(n);
    }
    return nodes;
}

static double solve(std::vector<double> &v, int sweeps) {
    for (int s = 0; s < sweeps; s++)
        for (std::size_t i = 1; i < v.size(); i++)
            v[i] = 0.6 * v[i] + 0.39 * v[i - 1];
    return v.back();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const double dose = argc > 1 ? std::atof(argv[1]) : 1;
    const int nodes = 40000;
    std::string text;
    if (rank == 0)
        text = description(static_cast<int>(nodes * dose));
    long length = static_cast<long>(text.size());
    MPI_Bcast(&length, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    text.resize(static_cast<std::size_t>(length));
    MPI_Bcast(&text[0], static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
    double total = 0;
    for (int epoch = 0; epoch < 6; epoch++) {
        std::vector<double> mine(static_cast<std::size_t>(nodes / size), 1);
        if (dose > 0)
            for (const Node &n : parse(text))
                if (n.id % size == rank)
                    mine[static_cast<std::size_t>(n.id / size)] = n.x * n.y;
        double part = 0;
        for (int step = 0; step < 10; step++) {
            part = solve(mine, 300);
            double all;
            MPI_Allreduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            total = all;
        }
    }
    if (rank == 0)
        std::printf("total %.8f\n", total);
    MPI_Finalize();
    return 0;
}
