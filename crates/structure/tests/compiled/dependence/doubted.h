#include "cases.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

struct pair {
    int first, second;
};

void change_never(int n);
void never_called(void);
void of_argument(int n);
void mpi_setup_lengths(int *length);
void mpi_remember(int *where);
void mpi_change(void);
void set_pair(struct pair *p);
void use_pair(struct pair p);
struct pair make_pair(int first);
__attribute__((const)) int my_rank(void);
