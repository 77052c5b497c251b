#include "cases.h"
#include <unistd.h>

#define APART __attribute__((noinline))

extern int of_both, table[100];
extern void (*hook)(int);
extern int *tables[4];
void set_table(int rank);
int replaced(void);
void called_elsewhere(int n);
void limits(int rank, int *low, int *high);
void seen_between(int *where, int rank);
void read_between(void);
