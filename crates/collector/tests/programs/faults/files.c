/* Files run out, or those that are not the program's own are closed; the argument says how. */
#define _GNU_SOURCE
#include "work.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void *thread(void *nothing) {
    steps(10, "thread");
    return NULL;
}

/* Leaves so many descriptors. */
static void use_up(int left) {
    int fd, last[8], n = 0;
    while ((fd = open("/dev/null", O_RDONLY)) >= 0)
        last[n++ % 8] = fd;
    for (int i = 0; i < left; i++)
        close(last[(n - 1 - i + 8) % 8]);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "", *spool = getenv("HEADWATER_SPOOL");
    int given;
    pthread_t other;
    char line[4200];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    steps(5, "before");
    if (!strncmp(mode, "used", 4)) {
        struct rlimit some = {200, 200};
        setrlimit(RLIMIT_NOFILE, &some);
        use_up(atoi(mode + 4));
    } else if (!strcmp(mode, "closed")) {
        /* What is not a socket or a pipe of the library's: it may talk to its launcher. */
        struct stat what;
        for (int fd = 3; fd < 1024; fd++)
            if (!fstat(fd, &what) && S_ISREG(what.st_mode))
                close(fd);
        for (int i = 0; i < 4; i++)
            open("/dev/zero", O_RDWR);
    } else if (!strcmp(mode, "vanished") && spool) {
        snprintf(line, sizeof line, "rm -rf '%s'", spool);
        if (system(line))
            return 99;
    } else if (!strcmp(mode, "small")) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_FSIZE, &none);
    }
    for (int i = 0; i < 3000; i++) {
        int out = i, in = 0;
        MPI_Sendrecv(&out, 1, MPI_INT, 0, i, &in, 1, MPI_INT, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    steps(20, "after");
    MPI_Finalize();
    return 0;
}
