/* Uses the library of somebodys.h. */
#include "somebodys.h"
#include <stdio.h>

int main(int argc, char **argv) {
    char out[8] = "";
    Handle requests[4] = {5, 6, 7, 8};
    Status status, statuses[5] = {{9, 9}, {9, 9}, {9, 9}, {9, 9}, {9, 9}};
    MPI_Init(&argc, &argv);
    int code = MPI_Sendrecv("words", 6, 1, 20, 300, out, 8, 4000, 11, 12, 13, &status);
    MPI_Waitall(4, requests, statuses);
    printf("%s %d %d %d %d %d %d\n", out, code, status.from, status.tag, requests[3], statuses[3].from,
           statuses[4].from);
    MPI_Finalize();
    return 5;
}
