#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is done in every loop: the compiler does not see what. */
void work(int i);

struct setup {
    int rank, size, cells, steps;
    double limit;
};

struct nested {
    int kind;
    struct setup of;
};

extern int shared_rank, shared_cells, shared_constant, written_elsewhere;
void find_out(struct setup *s);
void set_shared(void);
int share_of(int n, int rank);
int rank_now(void);
void sweep(int n);
void sweep_constant(int n);
void fill(int *where, int value);
void walk(const struct setup *s);
int kept(int *pointer);
void use_kept(void);
void on_one_rank(void);
