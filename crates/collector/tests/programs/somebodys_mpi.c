/* The library of somebodys.h; with LACKS_PMPI it has no second names. */
#include "somebodys.h"
#include <string.h>

#ifdef LACKS_PMPI
#define FUNCTION(result, name, arguments) result name arguments
#else
#define FUNCTION(result, name, arguments)                                                           \
    result P##name arguments;                                                                       \
    result name arguments __attribute__((weak, alias("P" #name)));                                  \
    result P##name arguments
#endif

static int begun;

FUNCTION(int, MPI_Init, (int *argc, char ***argv)) { return begun = 1, 0; }
FUNCTION(int, MPI_Initialized, (int *flag)) { return *flag = begun, 0; }
FUNCTION(int, MPI_Finalize, (void)) { return begun = 0; }
FUNCTION(int, MPI_Get_library_version, (char *text, int *length)) {
    return *length = strlen(strcpy(text, "Somebody's MPI 0.1\nbuilt by hand")), 0;
}
FUNCTION(int, MPI_Sendrecv, (const void *in, int n, Handle t, int to, int tag, void *out, int m, Handle u, int from,
                             int wanted, Handle comm, Status *status)) {
    memcpy(out, in, n < m ? n : m);
    status->from = from;
    status->tag = wanted;
    return comm + t + u + to + tag;
}
FUNCTION(int, MPI_Waitall, (int n, Handle *requests, Status *statuses)) {
    for (int i = 0; i < n; i++) {
        statuses[i].from = requests[i];
        requests[i] = -1;
    }
    return 0;
}
