/* The first thread makes all others and then does a part as large as theirs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 9600, WORK = 16000, MOST = 64 };

static double u[CELLS];
static int threads = 2;

static void *part(void *number) {
    long t = (long)number;
    for (long i = t * CELLS / threads; i < (t + 1) * CELLS / threads; i++) {
        double x = 1 + i % 7;
        for (int k = 1; k <= WORK; k++)
            x += 1.0 / (k + x);
        u[i] = x;
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc > 2)
        threads = atoi(argv[2]);
    if (threads < 1 || threads > MOST)
        return 1;
    pthread_t others[MOST];
    for (long t = 1; t < threads; t++)
        if (pthread_create(&others[t], NULL, part, (void *)t) != 0)
            return 1;
    part((void *)0);
    for (int t = 1; t < threads; t++)
        pthread_join(others[t], NULL);
    printf("cells %g\n", u[3]);
    return 0;
}
