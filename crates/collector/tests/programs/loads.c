/* Opens two parts that use OpenMP for themselves, one after the other, and calls them. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int run(const char *part, int argc, char **argv) {
    void *opened = dlopen(part, RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*inside)(int, char **) = (int (*)(int, char **))dlsym(opened, "main");
    return inside(argc, argv);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int code = run("./one.so", argc, argv) + run("./other.so", argc, argv);
    MPI_Finalize();
    return code;
}
