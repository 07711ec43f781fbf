/* What the hand-written adjoints share.

   Each file defines one function,

       void gradient(const int64_t *n, const double *c, const double *const *x, double *const *g, int threads);

   n: sizes and counts, c: floating parameters, x: the program's arrays, which are only read, g: where the gradients go;
   in which order is said at the top of each file. */
#ifndef ADJOINT_H
#define ADJOINT_H

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Work memory, kept between calls: fresh pages would cost as much as the sweeps. */
static inline double *room(size_t count)
{
    static double *memory;
    static size_t have;
    if (count > have) {
        free(memory);
        memory = aligned_alloc(64, (count * sizeof(double) + 63) / 64 * 64);
        if (memory == NULL)
            abort();
        have = count;
    }
    return memory;
}

/* The next `count` numbers of a piece of work memory, each part starting on a cache line. */
static inline double *take(double **free_part, size_t count)
{
    double *part = *free_part;
    *free_part += (count + 7) / 8 * 8;
    return part;
}

static inline size_t taken(size_t count) { return (count + 7) / 8 * 8; }

static inline void fill(int64_t count, double *x, double value)
{
    for (int64_t k = 0; k < count; k++)
        x[k] = value;
}

#endif
