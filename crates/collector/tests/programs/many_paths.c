/* A message to nobody from each of 100,000 call paths, twice. */
#include <mpi.h>
#include <stdio.h>

enum { DIGITS = 5 };

static int deeper(int digits, int level);

/* A call site of its own for each digit; what follows keeps the compiler from making them one. */
#define FROM(digit) case digit: got = deeper(digits / 10, level - 1); __asm__ volatile("# " #digit); break

static __attribute__((noinline)) int deeper(int digits, int level) {
    int got = 0;
    if (level == 0) {
        MPI_Send(&digits, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        return 1;
    }
    switch (digits % 10) {
        FROM(0);
        FROM(1);
        FROM(2);
        FROM(3);
        FROM(4);
        FROM(5);
        FROM(6);
        FROM(7);
        FROM(8);
        FROM(9);
    }
    return got + 1;
}

int main(int argc, char **argv) {
    volatile int sum = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 200000; i++)
        sum += deeper(i % 100000, DIGITS);
    printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
