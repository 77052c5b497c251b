/* The library part: built as libphysics.so. */
void chemistry(double *x, int n, int steps) {
    for (int k = 0; k < steps; k++)
        for (int i = 1; i <= n; i++)
            x[i] = 0.6 * x[i] + 0.2 * x[i - 1] + 0.05;
}
