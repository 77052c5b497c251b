#include "cases.h"

#define APART __attribute__((noinline))

extern int shared, changed;
void set_shared_to(int n);
void set_changed(int n);
void change(int rank);
void quiet(int i);
