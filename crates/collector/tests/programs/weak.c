/* Asks by weak references which functions there are, and by name whether there is an MPI library at all. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

/* The declarations of the libraries that have these differ; what counts is whether they are there. */
#define MPI_Send_c declared_send_c
#define MPI_Session_init declared_session_init
#define MPI_Psend_init declared_psend_init
#define MPI_Abi_get_version declared_abi_get_version
#include <mpi.h>
#undef MPI_Send_c
#undef MPI_Session_init
#undef MPI_Psend_init
#undef MPI_Abi_get_version

extern int MPI_Send_c() __attribute__((weak));
extern int MPI_Session_init() __attribute__((weak));
extern int MPI_Psend_init() __attribute__((weak));
extern int MPI_Abi_get_version() __attribute__((weak));

int main(int argc, char **argv) {
    const char *questions[] = {"MPI_Get_version", "MPI_Get_library_version", "MPI_Abi_get_version"};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0)
        freopen("/dev/null", "w", stdout);
    printf("%d %d %d %d\n", MPI_Send_c != 0, MPI_Session_init != 0, MPI_Psend_init != 0,
           MPI_Abi_get_version != 0);
    for (int i = 0; i < 3; i++) {
        Dl_info info;
        void *at = dlsym(RTLD_DEFAULT, questions[i]);
        puts(at && dladdr(at, &info) ? info.dli_fname : "not there");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
