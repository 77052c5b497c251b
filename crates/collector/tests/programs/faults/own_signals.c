/* Signals that the program uses itself; the argument says which. */
#define _GNU_SOURCE
#include "work.h"
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t fired, elsewhere;
static pid_t first_thread;
static sigjmp_buf back;
static char other_stack[1 << 16];

static void note(int number) {
    int errno_before = errno;
    char here;
    fired++;
    if (gettid() == first_thread && (&here < other_stack || &here >= other_stack + sizeof other_stack))
        elsewhere++;
    errno = errno_before;
}

static void jump(int number) {
    /* A thread of the library may be the one that the kernel interrupts. */
    if (gettid() != first_thread) {
        tgkill(getpid(), first_thread, number);
        return;
    }
    fired++;
    siglongjmp(back, 1);
}

static void handle(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

static void on_another_stack(void) {
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaltstack(&stack, NULL);
}

static void timer(int which, int number, int flags) {
    struct itimerval every = {{0, 5000}, {0, 5000}}, off = {{0, 0}, {0, 0}};
    handle(number, note, flags);
    setitimer(which, &every, NULL);
    while (fired < 30) {
        compute(100000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    setitimer(which, &off, NULL);
    printf("elsewhere %d\n", elsewhere > 0);
}

static int overflow(int n) {
    volatile char room[4096];
    room[0] = (char)n;
    return n < 0 ? 0 : overflow(n + 1) + room[0];
}

/* Sleeps that no signal of the program ends must not end early. */
static void sleeps(void) {
    int early = 0, epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    sem_t never;
    sem_init(&never, 0, 0);
    for (int i = 0; i < 4500; i++) {
        struct timespec some = {0, 20000}, then;
        struct timeval as_much = {0, 20000};
        compute(20000);
        switch (i % 9) {
        case 0: early += nanosleep(&some, NULL) != 0; break;
        case 1: early += usleep(20) != 0; break;
        case 2: early += clock_nanosleep(CLOCK_MONOTONIC, 0, &some, NULL) != 0; break;
        case 3: early += poll(NULL, 0, 1) != 0; break;
        case 4: early += select(0, NULL, NULL, NULL, &as_much) != 0; break;
        case 5: early += epoll_wait(epoll, &event, 1, 1) != 0; break;
        case 6: early += ppoll(NULL, 0, &some, NULL) != 0; break;
        case 8:
            clock_gettime(CLOCK_REALTIME, &then);
            then.tv_nsec += then.tv_nsec < 900000000 ? 20000 : 0;
            early += sem_timedwait(&never, &then) != -1 || errno != ETIMEDOUT;
            break;
        case 7: early += pselect(0, NULL, NULL, NULL, &some, NULL) != 0; break;
        }
    }
    printf("early %d\n", early);
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    int first = !strncmp(mode, "first-", 6);
    if (first) {
        mode += 6;
        on_another_stack();
    }
    first_thread = gettid();
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    /* Before the library makes threads: one that does not block it would get what this one waits for. */
    if (!strcmp(mode, "wait"))
        sigprocmask(SIG_BLOCK, &alarm, NULL);
    MPI_Init(&argc, &argv);
    steps(10, "before");
    if (!strcmp(mode, "prof"))
        timer(ITIMER_PROF, SIGPROF, SA_RESTART | (first ? SA_ONSTACK : 0));
    else if (!strcmp(mode, "alarm"))
        timer(ITIMER_REAL, SIGALRM, SA_RESTART | (first ? SA_ONSTACK : 0));
    else if (!strcmp(mode, "vtalrm"))
        timer(ITIMER_VIRTUAL, SIGVTALRM, SA_RESTART | (first ? SA_ONSTACK : 0));
    else if (!strcmp(mode, "segv")) {
        handle(SIGSEGV, jump, 0);
        for (volatile int i = 0; i < 50; i++) {
            compute(1000000);
            if (!sigsetjmp(back, 1))
                *(volatile int *)8 = 1;
        }
        printf("fired %d\n", fired);
    } else if (!strcmp(mode, "overflow")) {
        on_another_stack();
        handle(SIGSEGV, jump, SA_ONSTACK);
        for (volatile int i = 0; i < 5; i++)
            if (!sigsetjmp(back, 1))
                printf("%d", overflow(0));
        printf("fired %d\n", fired);
    } else if (!strcmp(mode, "jump")) {
        /* Out of computation, again and again, as programs do that give up after some time. */
        struct itimerval once = {{0, 0}, {0, 2000}};
        handle(SIGALRM, jump, 0);
        for (volatile int i = 0; i < 100; i++)
            if (!sigsetjmp(back, 1)) {
                setitimer(ITIMER_REAL, &once, NULL);
                for (;;)
                    compute(1000);
            }
        printf("fired %d\n", fired);
    } else if (!strcmp(mode, "sleeps"))
        sleeps();
    else if (!strcmp(mode, "segv-default"))
        *(volatile int *)8 = 1;
    else if (!strcmp(mode, "wait")) {
        /* sigtimedwait and sigsuspend, and a signal that is blocked but for that. */
        sigset_t none;
        struct itimerval once = {{0, 0}, {0, 20000}};
        struct timespec second = {5, 0};
        sigemptyset(&none);
        handle(SIGALRM, note, 0);
        for (int i = 0; i < 20; i++) {
            setitimer(ITIMER_REAL, &once, NULL);
            compute(1000000);
            int got = i % 2 ? sigtimedwait(&alarm, NULL, &second) : sigsuspend(&none);
            printf("%d %d %d\n", got, got < 0 ? errno : 0, fired);
        }
    }
    steps(10, "after");
    MPI_Finalize();
    return 0;
}
