/* A program without MPI that ends in a way of its own, with two threads at work. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stop;
static volatile double sink;

__attribute__((noinline)) static double compute(long n) {
    volatile double x = 1;
    for (long k = 1; k <= n; k++)
        x += 1.0 / (k + x);
    return x;
}

static void *work(void *arg) {
    double *sum = arg;
    *sum = compute(6000000);
    return NULL;
}

static void *work_on(void *arg) {
    (void)arg;
    while (!stop)
        sink = compute(1000);
    return NULL;
}

static void on_alarm(int number) {
    (void)number;
    _exit(5);
}

/* Computes for as long as it is told. */
static void *work_for(void *arg) {
    double *sum = arg;
    *sum = compute((long)*sum);
    return NULL;
}

static void *nothing(void *arg) {
    return arg;
}

static pthread_barrier_t all_there;

static void *meet(void *arg) {
    pthread_barrier_wait(&all_there);
    return arg;
}

/* So many threads at the same time. */
static void crowd(int count) {
    pthread_t all[1024];
    pthread_barrier_init(&all_there, NULL, count);
    for (int i = 0; i < count; i++)
        pthread_create(&all[i], NULL, meet, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(all[i], NULL);
}

#define TEN "0", "1", "2", "3", "4", "5", "6", "7", "8", "9"
#define HUNDRED TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "return";
    pthread_t threads[2];
    double sums[2] = {0};
    if (strncmp(how, "crowd", 5) == 0) {
        crowd(atoi(how + 5));
        return 0;
    }
    if (strcmp(how, "many") == 0) {
        for (int i = 0; i < 1000; i++) {
            pthread_create(&threads[0], NULL, nothing, NULL);
            pthread_join(threads[0], NULL);
        }
        return 0;
    }
    if (strcmp(how, "outlives") == 0) {
        /* Many that end at once, and then one that computes for long. A compiler that knew it would make two calls. */
        volatile int last = 300;
        for (int i = 0; i <= last; i++) {
            sums[0] = i == last ? 40000000 : 3000;
            pthread_create(&threads[0], NULL, work_for, &sums[0]);
            pthread_join(threads[0], NULL);
        }
        return 0;
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &sums[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    sink = compute(3000000);
    printf("%s %d\n", how, sums[0] > 1);
    fflush(stdout);
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "_exit") == 0)
        _exit(4);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(6);
    if (strcmp(how, "handler") == 0) {
        signal(SIGALRM, on_alarm);
        raise(SIGALRM);
    }
    if (strcmp(how, "signal") == 0)
        raise(SIGTERM);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "exec") == 0) {
        char *const next[] = {"/bin/true", NULL};
        execv("/bin/true", next);
    }
    if (strcmp(how, "execl") == 0)
        execl("/bin/sh", "sh", "-c", "exit $(($1 + $2 + $3 + $4 + $5 + $6))", "sh", "1", "2", "3", "4", "5", "6",
              (char *)NULL);
    if (strcmp(how, "long") == 0)
        execl("/bin/sh", "sh", "-c", "exit $(($# / 100 + ${300}))", "sh", HUNDRED, HUNDRED, HUNDRED, (char *)NULL);
    if (strcmp(how, "becomes") == 0)
        execlp(argv[0], argv[0], "exit", (char *)NULL);
    if (strcmp(how, "fails") == 0) {
        execlp("/no/such/program", "program", (char *)NULL);
        sink = compute(3000000);
    }
    if (strcmp(how, "detached") == 0) {
        pthread_create(&threads[0], NULL, work_on, NULL);
        pthread_detach(threads[0]);
        usleep(50000);
    }
    if (strcmp(how, "last") == 0) {
        pthread_create(&threads[0], NULL, work, &sums[0]);
        pthread_exit(NULL);
    }
    if (strncmp(how, "child", 5) == 0) {
        /* None of these is the process that is recorded. */
        pid_t child = fork();
        if (child == 0) {
            sink = compute(3000000);
            exit(0);
        }
        waitpid(child, NULL, 0);
        child = vfork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
        if (strcmp(how, "child, _exit") == 0)
            _exit(0);
        return system("exit 0");
    }
    return 0;
}
