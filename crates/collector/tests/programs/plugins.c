/* Opens a library after MPI_Init; one that was open before is closed, and its place is taken. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank;
    void *before = dlopen("./before.so", RTLD_NOW);
    MPI_Init(&argc, &argv);
    dlclose(before);
    void *after = dlopen("./after.so", RTLD_NOW);
    if (!after)
        return 1;
    int (*run)(int) = (int (*)(int))dlsym(after, "plugin_run");
    run(20);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("done\n");
    MPI_Finalize();
    return 0;
}
