/* Opens MPI for itself, as interpreters do: the object that uses it is nobody else's to see. */
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    void *opened = dlopen("./local.so", RTLD_NOW | RTLD_LOCAL);
    if (!opened) {
        printf("%s\n", dlerror());
        return 2;
    }
    /* What it leaves for the end is called from here, where MPI is not seen. */
    int (*(*run)(void))(void) = (int (*(*)(void))(void))dlsym(opened, "run");
    int (*at_end)(void) = run();
    return at_end() ? 3 : 0;
}
