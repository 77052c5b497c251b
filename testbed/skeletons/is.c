/* The communication of NPB's IS (integer sort), with its keys: how many go to which rank depends on the keys.
 *
 * After the public descriptions of the NAS Parallel Benchmarks (NAS technical reports RNR-94-007 and NAS-95-020): each rank
 * draws its part of one sequence of random keys (sums of four numbers of the generator x -> 5^13 x mod 2^46), counts them in
 * buckets, and all ranks agree by one reduction which buckets go to whom. In each of the ten iterations two keys of rank 0
 * change.
 * Kept: generator, keys, buckets, reduction, Alltoall of counts, Alltoallv of keys, the iteration that is not timed, the border
 * keys to the next rank at the end. Left out: comparing ranks of chosen keys with known ones; the order of all keys
 * and their number are checked instead.
 * Argument: the class S, W or A. Ranks: a power of two. */
#include <mpi.h>
#include "skeleton.h"

enum { ITERATIONS = 10, TESTED = 5, BORDER_TAG = 1000 };

typedef unsigned long long Word;

static const Word MODULUS = (1ULL << 46) - 1, FACTOR = 1220703125;

static int keys, key_bits, buckets, bucket_bits, received, lowest;
static int *key, *sorted, *arrived, *own, *all, *first;
static int *send_count, *send_at, *receive_count, *receive_at;

static double drawn(Word *x) {
    *x = *x * FACTOR & MODULUS;
    return (double)*x / (double)(1ULL << 46);
}

/* The numbers of this rank follow those of the ranks before it. */
static void draw_keys(void) {
    Word x = 314159265, step = FACTOR;
    for (Word ahead = 4ULL * keys * rank; ahead; ahead >>= 1) {
        if (ahead & 1)
            x = x * step & MODULUS;
        step = step * step & MODULUS;
    }
    for (int i = 0; i < keys; i++) {
        double sum = drawn(&x) + drawn(&x) + drawn(&x) + drawn(&x);
        key[i] = (int)(sum * (1 << key_bits) / 4);
    }
}

static void iteration(int number) {
    int shift = key_bits - bucket_bits;
    if (rank == 0) {
        key[number] = number;
        key[number + ITERATIONS] = (1 << key_bits) - number;
    }
    memset(own, 0, (buckets + TESTED) * sizeof *own);
    for (int i = 0; i < keys; i++)
        own[key[i] >> shift < buckets ? key[i] >> shift : buckets - 1]++;
    first[0] = 0;
    for (int b = 1; b < buckets; b++)
        first[b] = first[b - 1] + own[b - 1];
    for (int i = 0; i < keys; i++)
        sorted[first[key[i] >> shift < buckets ? key[i] >> shift : buckets - 1]++] = key[i];
    MPI_Allreduce(own, all, buckets + TESTED, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    /* A rank takes buckets until it has its share of the keys. */
    long given = 0;
    int to = 0;
    lowest = -1;
    memset(send_count, 0, size * sizeof *send_count);
    for (int b = 0; b < buckets; b++) {
        if (to == rank && lowest < 0)
            lowest = b << shift;
        given += all[b];
        send_count[to] += own[b];
        if (given >= (long)(to + 1) * keys && to < size - 1)
            to++;
    }
    MPI_Alltoall(send_count, 1, MPI_INT, receive_count, 1, MPI_INT, MPI_COMM_WORLD);
    received = 0;
    for (int i = 0, at = 0; i < size; i++) {
        send_at[i] = at;
        receive_at[i] = received;
        at += send_count[i];
        received += receive_count[i];
    }
    MPI_Alltoallv(sorted, send_count, send_at, MPI_INT, arrived, receive_count, receive_at, MPI_INT, MPI_COMM_WORLD);
    work(100);
}

static int compare(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

/* Sorts what arrived, and compares with the last key of the rank before. */
static void verify(void) {
    MPI_Request request;
    int before = 0, last, faults = 0, all_faults;
    qsort(arrived, received, sizeof *arrived, compare);
    last = received ? arrived[received - 1] : lowest;
    if (rank > 0)
        MPI_Irecv(&before, 1, MPI_INT, rank - 1, BORDER_TAG, MPI_COMM_WORLD, &request);
    if (rank < size - 1)
        MPI_Send(&last, 1, MPI_INT, rank + 1, BORDER_TAG, MPI_COMM_WORLD);
    if (rank > 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    faults = rank > 0 && received && before > arrived[0];
    faults += received && arrived[0] < lowest;
    MPI_Reduce(&faults, &all_faults, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    expect(rank == 0 ? all_faults : faults, 0, "keys out of order");
}

static int *ints(size_t count) {
    int *out = calloc(count > 0 ? count : 1, sizeof *out);
    if (!out)
        abort();
    return out;
}

int main(int argc, char **argv) {
    int all_bits = of_class(argc, argv, 16, 20, 23), total;
    double time, slowest;
    key_bits = of_class(argc, argv, 11, 16, 19);
    bucket_bits = of_class(argc, argv, 9, 10, 10);
    buckets = 1 << bucket_bits;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    keys = (1 << all_bits) / size;
    if (size & (size - 1) || size > buckets || keys <= 2 * ITERATIONS) {
        if (rank == 0)
            fprintf(stderr, "is: the number of ranks has to be a power of two, with 21 keys or more for each\n");
        MPI_Finalize();
        return 2;
    }
    key = ints(keys);
    sorted = ints(keys);
    arrived = ints(1 << all_bits);
    own = ints(buckets + TESTED);
    all = ints(buckets + TESTED);
    first = ints(buckets);
    send_count = ints(4 * size);
    send_at = send_count + size;
    receive_count = send_at + size;
    receive_at = receive_count + size;
    draw_keys();
    iteration(1);
    time = MPI_Wtime();
    for (int i = 1; i <= ITERATIONS; i++)
        iteration(i);
    time = MPI_Wtime() - time;
    MPI_Reduce(&time, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    verify();
    MPI_Reduce(&received, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        expect(total, 1 << all_bits, "the number of keys");
    MPI_Finalize();
    return verdict();
}
