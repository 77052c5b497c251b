/* A library that a program opens: it has a variable in each thread, and calls the program when it is opened, if that
 * wants it. */
__thread int part_of_thread = 1;

extern void part_is_opened(void) __attribute__((weak));

__attribute__((constructor)) static void opened(void) {
    if (part_is_opened)
        part_is_opened();
}

int *part(void) { return &part_of_thread; }
