/* Stands in for the libraries of Caliper and Score-P. In the end it says what it was told. */
#include "others_markers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t told, calls;

static void tell(const char *text, uint64_t number) {
    calls++;
    for (; text && *text; text++)
        told = told * 31 + (unsigned char)*text;
    told = told * 31 + number;
}

__attribute__((destructor)) static void say() { printf("%lu calls, %lx\n", calls, told); }

uint64_t cali_loop_attr_id = UINT64_MAX;
void cali_init() { cali_loop_attr_id = 9; }
void cali_begin_region(const char *name) { tell(name, 1); }
void cali_end_region(const char *name) { tell(name, 2); }
void cali_begin_string(uint64_t attribute, const char *value) { tell(value, attribute); }
void cali_begin_int(uint64_t attribute, int value) { tell("", attribute + value); }
void cali_end(uint64_t attribute) { tell("", attribute); }
uint64_t cali_make_loop_iteration_attribute(const char *name) {
    tell(name, 3);
    return 1000 + strlen(name);
}

struct Handle {
    int number;
};
static struct Handle handles[8];
static int made;

/* Without measurement, Score-P leaves handles as they are. */
static void define(SCOREP_User_RegionHandle *handle) {
    if (!getenv("UNMEASURED") && !*handle)
        *handle = &handles[made++];
}
void SCOREP_User_RegionInit(SCOREP_User_RegionHandle *handle, const char **, unsigned *, const char *name,
                            unsigned type, const char *file, uint32_t line) {
    define(handle);
    tell(name, type);
    tell(file, line);
}
void SCOREP_User_RegionBegin(SCOREP_User_RegionHandle *handle, const char **last, unsigned *number,
                             const char *name, unsigned type, const char *file, uint32_t line) {
    SCOREP_User_RegionInit(handle, last, number, name, type, file, line);
}
void SCOREP_User_RegionEnter(SCOREP_User_RegionHandle handle) { tell("", handle != NULL); }
void SCOREP_User_RegionEnd(SCOREP_User_RegionHandle handle) { tell("", handle != NULL); }
void SCOREP_User_RegionByNameBegin(const char *name, unsigned type, const char *file, uint32_t line) {
    tell(name, type);
    tell(file, line);
}
void SCOREP_User_RegionByNameEnd(const char *name) { tell(name, 4); }

namespace cali {
Function::Function(const char *name) { tell(name, 5); }
Function::~Function() { tell("", 6); }
Loop::Loop(const char *name) : open(1) { tell(name, 7); }
Loop::~Loop() { end(); }
void Loop::end() {
    if (open)
        tell("", 8);
    open = 0;
}
Loop::Iteration Loop::iteration(int i) { return Iteration(i); }
Loop::Iteration::Iteration(int i) : number(i) { tell("", i); }
Loop::Iteration::~Iteration() { tell("", number); }
}
