// Code of which a careless plugin makes very much: a copy of an object to itself, and elements of vectors with very many
// ways through what they are made of.
#include <stdlib.h>

typedef double four __attribute__((vector_size(32)));
double sink;
four all[4];

__attribute__((noinline)) void use(double *x) { sink += *x; }

__attribute__((noinline)) double moved(double x, double y, double most) {
  four memory[2] = {{1, x, y, x * y}};
  double *last = (double *)memory;
  for (;;) {
    last[4] = y * last[2] - x * last[0];
    last[5] = y * last[3] - x * last[1];
    if (last[5] < most)
      break;
    __builtin_memmove(last, last + 2, 4 * sizeof(double));
    four now = memory[0] + memory[0];
    for (int i = 0; i < now[0]; i++)
      use(&x);
    x += 1;
  }
  return last[4];
}

#define TWICE(what) what what
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  four x = {n, argc, 3, 4}, y = {1, n, n, 2};
  TWICE(TWICE(TWICE(TWICE(x = x * y + x; y = y * x - y;))))
  all[1] = x;
  all[2] = y;
  use((double *)all);
  for (int i = 0; i < n; i++) // = input
    use(argv[2] ? &sink : (double *)all);
  for (int i = 0; i < all[1][1]; i++) // = unknown
    use(&sink);
  return moved(1, n, 1e30) > 0;
}
