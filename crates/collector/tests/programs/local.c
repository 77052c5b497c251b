/* Opens MPI for itself, as interpreters do: the object that uses it is nobody else's to see. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    void *opened = dlopen("./local.so", RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        printf("%s\n", dlerror());
        return 2;
    }
    int (*run)(void) = (int (*)(void))dlsym(opened, "run");
    return run();
}
