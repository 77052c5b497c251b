/* Starts children in every way, while it is recorded; the argument says which. */
#define _GNU_SOURCE
#include "work.h"
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void wait_for(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: exit %d signal %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    fflush(stdout);
}

static void at_exit(void) {
    printf("exit of %s\n", getpid() == getpgrp() ? "a leader" : "one");
}

/* A new program in place of this one: `blocked` leaves it with all signals blocked and what came meanwhile
 * pending. */
static void become(char *self, int blocked) {
    char *words[] = {self, "second", NULL};
    if (blocked) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        compute(200000000);
    }
    execv(self, words);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    pid_t child = 0;
    if (!strcmp(mode, "second")) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        compute(100000000);
        fputs("the second program\n", stdout);
        return 5;
    }
    if (!strcmp(mode, "mpi")) {
        /* As a child whose parent is no MPI program, and before the parent is one. */
        child = fork();
        if (child == 0) {
            MPI_Init(&argc, &argv);
            steps(5, "child");
            MPI_Finalize();
            return 6;
        }
        wait_for(child);
    }
    MPI_Init(&argc, &argv);
    atexit(at_exit);
    steps(20, "before");
    if (!strcmp(mode, "fork") || !strcmp(mode, "crash") || !strcmp(mode, "work")) {
        for (int i = 0; i < 5; i++) {
            child = fork();
            if (child == 0) {
                compute(20000000);
                if (mode[0] == 'c')
                    *(volatile int *)8 = 1;
                if (mode[0] == 'w')
                    _exit(9);
                exit(i);
            }
            compute(10000000);
            wait_for(child);
        }
    } else if (!strcmp(mode, "vfork")) {
        for (int i = 0; i < 40; i++) {
            child = vfork();
            if (child == 0) {
                if (i % 2)
                    _exit(i);
                execl("/bin/sh", "sh", "-c", "exit 3", NULL);
                _exit(127);
            }
            wait_for(child);
        }
    } else if (!strcmp(mode, "posix_spawn")) {
        char *words[] = {"sh", "-c", "echo spawned; exit 4", NULL};
        for (int i = 0; i < 10; i++) {
            posix_spawnp(&child, "sh", NULL, NULL, words, environ);
            wait_for(child);
        }
        printf("system %d\n", WEXITSTATUS(system("exit 8")));
        char line[64] = "";
        FILE *pipe = popen("echo piped", "r");
        printf("%s", fgets(line, sizeof line, pipe));
        pclose(pipe);
    } else if (!strncmp(mode, "exec", 4)) {
        become(argv[0], mode[4] == '-');
    } else if (!strcmp(mode, "second-spawn")) {
        char *words[] = {argv[0], "second", NULL};
        posix_spawn(&child, argv[0], NULL, NULL, words, environ);
        wait_for(child);
    }
    steps(20, "after");
    MPI_Finalize();
    return 2;
}
