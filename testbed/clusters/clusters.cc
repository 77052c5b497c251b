// Bodies on a grid of ranks; more of them have gathered along the first row.
#include <mpi.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Body {
    double x, y, fx, fy;
};

class Region {
  public:
    Region(int count, int seed) : bodies(static_cast<std::size_t>(count)) {
        for (std::size_t i = 0; i < bodies.size(); i++)
            bodies[i] = {static_cast<double>((i * 31 + static_cast<std::size_t>(seed)) % 997) / 997.0,
                         static_cast<double>(i * 17 % 499) / 499.0, 0, 0};
    }
    void forces(double edge) {
        for (Body &a : bodies) {
            double fx = 0, fy = 0;
            for (const Body &b : bodies) {
                double dx = b.x - a.x, dy = b.y - a.y, d = dx * dx + dy * dy + 0.01;
                fx += dx / d;
                fy += dy / d;
            }
            a.fx = fx + 1e-6 * edge;
            a.fy = fy;
        }
    }
    void move() {
        for (Body &a : bodies) {
            a.x += 1e-9 * a.fx;
            a.y += 1e-9 * a.fy;
        }
    }
    double first() const { return bodies.front().x; }

  private:
    std::vector<Body> bodies;
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const double dose = argc > 1 ? std::atof(argv[1]) : 1.0;
    int size, rank, dims[2] = {0, 0}, wrap[2] = {1, 1}, place[2], up, down;
    MPI_Comm grid;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wrap, 0, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, place);
    MPI_Cart_shift(grid, 0, 1, &up, &down);

    // Pairs grow with the square, so the fair share of bodies falls with the root of the ranks.
    const double fair = 1400 / std::sqrt(size);
    const double crowd = place[0] == 0 ? std::sqrt(1 + 0.9 * dose) : 1;
    Region region(static_cast<int>(fair * crowd), rank);
    double out[2] = {0, 0}, in[2] = {0, 0};
    MPI_Request halo[4];
    MPI_Recv_init(&in[0], 1, MPI_DOUBLE, up, 1, grid, &halo[0]);
    MPI_Recv_init(&in[1], 1, MPI_DOUBLE, down, 2, grid, &halo[1]);
    MPI_Send_init(&out[0], 1, MPI_DOUBLE, down, 1, grid, &halo[2]);
    MPI_Send_init(&out[1], 1, MPI_DOUBLE, up, 2, grid, &halo[3]);
    double energy = 0;
    for (int step = 0; step < 400; step++) {
        out[0] = out[1] = region.first();
        MPI_Startall(4, halo);
        MPI_Waitall(4, halo, MPI_STATUSES_IGNORE);
        region.forces(in[0] - in[1]);
        region.move();
        double mine = region.first();
        MPI_Allreduce(&mine, &energy, 1, MPI_DOUBLE, MPI_SUM, grid);
    }
    for (MPI_Request &r : halo)
        MPI_Request_free(&r);
    if (rank == 0)
        std::printf("energy %.9f\n", energy);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
