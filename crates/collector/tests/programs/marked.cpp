/* Marks regions for Caliper and for Score-P; as a program, or as a part that another one opens for itself. */
#include "others_markers.h"
#include <dlfcn.h>
#include <stdio.h>

#ifndef OPENS
static void assemble(int i) {
    cali::Function here("assemble");
    char name[8];
    snprintf(name, sizeof name, "%s", i % 2 ? "odd" : "even");
    cali_begin_region(name);
    cali_end_region(name);
}

static void loops() {
    cali_init();
    cali_begin_string(cali_loop_attr_id, "c loop");
    uint64_t iterations = cali_make_loop_iteration_attribute("c loop");
    for (int i = 0; i < 30; i++) {
        cali_begin_int(iterations, i);
        cali_end(iterations);
    }
    cali_end(cali_loop_attr_id);
    /* Other attributes are no regions. */
    cali_begin_string(77, "no region");
    cali_end(77);
    cali::Loop loop("loop");
    for (int i = 0; i < 40; i++) {
        cali::Loop::Iteration iteration = loop.iteration(i);
        assemble(i);
    }
    loop.end();
}

static void measured() {
    static SCOREP_User_RegionHandle outer, inner, entered, beside;
    const char *last = NULL;
    unsigned number = 0;
    SCOREP_User_RegionInit(&entered, &last, &number, "entered", 0, "marked.cpp", 7);
    SCOREP_User_RegionInit(&beside, &last, &number, "beside", 0, "marked.cpp", 8);
    for (int i = 0; i < 20; i++) {
        SCOREP_User_RegionBegin(&outer, &last, &number, "outer", 1, "marked.cpp", 8);
        SCOREP_User_RegionBegin(&inner, &last, &number, "inner", 2, "marked.cpp", 9);
        SCOREP_User_RegionEnd(inner);
        SCOREP_User_RegionEnter(entered);
        SCOREP_User_RegionEnd(entered);
        SCOREP_User_RegionEnter(beside);
        SCOREP_User_RegionEnd(beside);
        SCOREP_User_RegionEnd(outer);
        SCOREP_User_RegionByNameBegin("by name", 0, "", 0);
        SCOREP_User_RegionByNameEnd("by name");
    }
}

extern "C" void part() {
    loops();
    measured();
}

int main() {
    part();
    return 0;
}
#else
int main() {
    void *library = dlopen("./part.so", RTLD_NOW | RTLD_LOCAL);
    void (*part)() = library ? (void (*)())dlsym(library, "part") : NULL;
    if (!part)
        return 1;
    part();
    return 0;
}
#endif
