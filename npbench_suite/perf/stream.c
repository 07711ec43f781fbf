/* The triad of McCalpin's STREAM: seconds of one pass of a = b + 3 c, after one to touch the pages. */
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>

static double *a, *b, *c;
static int64_t size;

static void pass(int64_t count, int threads)
{
    #pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t k = 0; k < count; k++)
        a[k] = b[k] + 3.0 * c[k];
}

double triad(int64_t count, int threads)
{
    if (count > size) {
        free(a), free(b), free(c);
        a = aligned_alloc(64, (count + 7) / 8 * 64);
        b = aligned_alloc(64, (count + 7) / 8 * 64);
        c = aligned_alloc(64, (count + 7) / 8 * 64);
        if (a == NULL || b == NULL || c == NULL)
            abort();
        size = count;
        #pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t k = 0; k < count; k++)
            a[k] = 0.0, b[k] = 1.0, c[k] = 2.0;
    }
    double began = omp_get_wtime();
    pass(count, threads);
    return omp_get_wtime() - began;
}
