/* Parallel regions in two ranks, two threads each; the argument says which. What it prints is the same
 * with and without anybody watching. Thread 1 is the one that is late, by sleeping. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MS = 1000, LATE = 60 * MS, HELD = 100 * MS, TASK = 10 * MS, ROUNDS = 3 };

static volatile double x;
static int total;

/* Some 30 ms of computation. */
static __attribute__((noinline)) void work(void) {
    double own = 0;
    for (int i = 0; i < 30000000; i++)
        __asm__ volatile("" : "+x"(own));
    x = own;
}

static void late(void) {
    if (omp_get_thread_num() == 1)
        usleep(LATE);
}

/* The second thread comes late to a barrier, the first one to the region's end. */
static void barriers(void) {
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel num_threads(2)
        {
            late();
#pragma omp barrier
            if (omp_get_thread_num() == 0)
                usleep(LATE);
#pragma omp atomic
            total++;
        }
    }
}

/* Both compute. */
static void computes(void) {
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp parallel for num_threads(2) schedule(dynamic)
        for (int part = 0; part < 8; part++) {
            work();
#pragma omp atomic
            total++;
        }
    }
}

/* How often a thread came to a section. */
static int came;

static void come(void) {
#pragma omp atomic
    came++;
}

/* Holds a section for as long as it takes until both threads have come to it, and on. */
static void hold(int sections) {
    int seen;
    do {
        usleep(MS);
#pragma omp atomic read
        seen = came;
    } while (seen < 2 * sections);
    usleep(HELD);
    total++;
}

/* Every kind of section that one thread at a time may be in. */
static void locks(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(2)
    {
        come();
#pragma omp critical
        hold(1);
#pragma omp barrier
        come();
#pragma omp critical(named)
        hold(2);
#pragma omp barrier
        come();
        omp_set_lock(&lock);
        hold(3);
        omp_unset_lock(&lock);
#pragma omp barrier
        come();
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        hold(4);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
#pragma omp barrier
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 2; i++) {
            /* The second one is there first. */
            if (i == 0)
                usleep(LATE);
            come();
#pragma omp ordered
            hold(5);
        }
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
}

/* One thread makes tasks, which the other one does in the barrier where it waits. */
static void tasks(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        {
            for (int i = 0; i < 8; i++) {
#pragma omp task firstprivate(i)
                {
                    usleep(TASK);
#pragma omp atomic
                    total += i;
                }
            }
#pragma omp taskwait
#pragma omp taskloop num_tasks(8)
            for (int i = 0; i < 8; i++) {
                usleep(TASK);
#pragma omp atomic
                total += i;
            }
        }
    }
}

/* Teams within teams, of two threads and of one. */
static void nested(void) {
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        {
            late();
#pragma omp atomic
            total++;
        }
#pragma omp parallel num_threads(1)
        {
            work();
#pragma omp atomic
            total++;
        }
    }
}

/* As compilers did it before GCC 4.9. */
static void old(void) {
#ifndef __clang__
    extern void GOMP_parallel_start(void (*)(void *), void *, unsigned);
    extern void GOMP_parallel_end(void);
    extern void GOMP_barrier(void);
    void part(void *data) {
        late();
        GOMP_barrier();
        __atomic_add_fetch((int *)data, omp_get_num_threads(), __ATOMIC_RELAXED);
    }
    GOMP_parallel_start(part, &total, 2);
    part(&total);
    GOMP_parallel_end();
#endif
}

/* What else starts a team or comes together. */
static void others(void) {
    int sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum) schedule(guided)
    for (int i = 0; i < 100; i++)
        sum += i;
#pragma omp parallel for num_threads(2) reduction(+ : sum) schedule(runtime)
    for (int i = 0; i < 100; i++)
        sum += i;
#pragma omp parallel num_threads(2) reduction(task, + : sum)
    {
#pragma omp task in_reduction(+ : sum)
        sum += 1;
    }
#pragma omp parallel sections num_threads(2) reduction(+ : sum)
    {
#pragma omp section
        sum += 1;
#pragma omp section
        sum += 2;
    }
#pragma omp parallel num_threads(2)
    {
        int mine;
#pragma omp single copyprivate(mine)
        mine = 5;
#pragma omp atomic
        sum += mine;
#pragma omp sections
        {
#pragma omp section
#pragma omp atomic
            sum += 1;
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 10; i++) {
            if (i == 5) {
#pragma omp cancel for
            }
        }
#pragma omp cancel parallel
    }
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskgroup
        {
            double big[400] = {1};
#pragma omp task firstprivate(big)
#pragma omp atomic
            total += (int)big[0];
        }
#pragma omp taskloop reduction(+ : sum) num_tasks(4)
        for (int i = 0; i < 10; i++)
            sum += i;
#pragma omp task depend(out : sum)
        sum += 1;
#pragma omp taskwait depend(in : sum)
    }
    total += sum;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int rank, level;
    if (!strcmp(what, "early")) {
        /* A region that is there before MPI is, and while it ends. */
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
#pragma omp master
            MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
#pragma omp barrier
            work();
#pragma omp critical
            total++;
#pragma omp barrier
#pragma omp master
            {
                MPI_Comm_rank(MPI_COMM_WORLD, &rank);
                MPI_Finalize();
            }
#pragma omp barrier
        }
        if (rank == 0)
            printf("%d\n", total);
        return 0;
    }
    /* Another part of the program may have begun, and ends. */
    int begun;
    MPI_Initialized(&begun);
    if (!begun)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"barriers", barriers}, {"computes", computes}, {"locks", locks},
               {"tasks", tasks},       {"nested", nested},     {"others", others}, {"old", old}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(what, all[i].name))
            all[i].run();
    int sum;
    MPI_Reduce(&total, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d\n", sum);
    if (!begun)
        MPI_Finalize();
    return 0;
}
