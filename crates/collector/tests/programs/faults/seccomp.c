/* Forbids system calls and becomes the program behind: seccomp ANSWER NUMBER… -- PROGRAM…; the answer is
 * an error number, or 0 for the signal SIGSYS. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Number, and the second argument, where it is forbidden with that only. */
static const struct { const char *name; unsigned number, second; } CALLS[] = {
    {"perf_event_open", SYS_perf_event_open},   {"timer_create", SYS_timer_create},
    {"process_vm_readv", SYS_process_vm_readv}, {"fallocate", SYS_fallocate},
    {"madvise", SYS_madvise},                   {"getcpu", SYS_getcpu},
    {"fcntl-dup", SYS_fcntl, F_DUPFD_CLOEXEC},
};

int main(int argc, char **argv) {
    struct sock_filter filter[64] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    int n = 1, at = 2, error = atoi(argv[1]);
    for (; at < argc && strcmp(argv[at], "--"); at++)
        for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
            if (!strcmp(argv[at], CALLS[i].name)) {
                unsigned second = CALLS[i].second, number = offsetof(struct seccomp_data, nr);
                filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALLS[i].number, 0, second ? 4 : 1);
                if (second) {
                    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                                               offsetof(struct seccomp_data, args[1]));
                    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1);
                }
                filter[n++] = (struct sock_filter)BPF_STMT(
                    BPF_RET | BPF_K, error ? SECCOMP_RET_ERRNO | error : SECCOMP_RET_TRAP);
                if (second)
                    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number);
            }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 77;
    execvp(argv[at + 1], argv + at + 1);
    return 127;
}
