/* Uses memory and a file, known amounts of both, and sleeps often; ends as its argument says. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MEMORY (64 << 20)

int main(int argc, char **argv) {
    char block[1000];
    struct timespec briefly = {0, 1000000};
    char *memory = malloc(MEMORY);
    FILE *opened = tmpfile();
    if (!memory || !opened)
        return 1;
    int file = fileno(opened);
    memset(memory, 1, MEMORY);
    memset(block, memory[MEMORY / 2], sizeof block);
    for (int i = 0; i < 1000; i++)
        if (write(file, block, sizeof block) != sizeof block)
            return 1;
    /* A call that takes long: nothing copies so much in less. */
    if (write(file, memory, MEMORY / 4) != MEMORY / 4)
        return 1;
    lseek(file, 0, SEEK_SET);
    for (int i = 0; i < 500; i++)
        if (read(file, block, 100) != 100)
            return 1;
    for (int i = 0; i < 300; i++)
        nanosleep(&briefly, NULL);
    free(memory);
    if (argc > 1 && strcmp(argv[1], "at once") == 0)
        _exit(3);
    if (argc > 1 && strcmp(argv[1], "abort") == 0)
        abort();
    return 3;
}
