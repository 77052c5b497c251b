// Functions that are called through pointers set variables and read them. MPI calls none of them: it was given none.
#include <mpi.h>
#include <stdlib.h>

static int number, other;
double sink;

__attribute__((noinline)) static void size(void) {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  number = n;
}

__attribute__((noinline)) static void read(const char *text) { other = atoi(text); }

static void move(const char *text) {
  size();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < number; i++) // = size
    sink += i;
  read(text);
  for (int i = 0; i < other; i++) // = unknown
    sink *= i;
}

static void shift(const char *text) {
  read(text);
  MPI_Allreduce(MPI_IN_PLACE, &sink, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < other; i++) // = unknown
    sink += 1 / sink;
}

static void (*volatile moves[2])(const char *) = {move, shift};

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  moves[argc & 1](argv[1]);
  MPI_Finalize();
  return sink > 1;
}
