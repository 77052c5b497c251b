/* A library that is long in leaving: its destructor calls the program, which does not come back for a while. */
void (*closing)(void);

__attribute__((destructor)) static void closed(void) {
    if (closing)
        closing();
}
