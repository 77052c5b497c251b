/* An MPI library that nobody knows: handles of 16 bits, and a status like no other. */
typedef short Handle;
typedef struct { char from, tag; } Status;
int MPI_Init(int *argc, char ***argv);
int MPI_Initialized(int *flag);
int MPI_Sendrecv(const void *in, int n, Handle t, int to, int tag, void *out, int m, Handle u, int from, int wanted,
                 Handle comm, Status *status);
int MPI_Waitall(int n, Handle *requests, Status *statuses);
int MPI_Finalize(void);
