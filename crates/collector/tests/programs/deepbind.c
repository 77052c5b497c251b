/* Opens a library that finds MPI for itself before it looks at what was loaded first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    void *plugin = dlopen("./plugin.so", RTLD_LAZY | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!plugin) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*run)(int) = (int (*)(int))dlsym(plugin, "plugin_run");
    printf("%d\n", run(2));
    MPI_Finalize();
    return 0;
}
