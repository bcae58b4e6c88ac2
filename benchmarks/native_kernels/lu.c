/* SPDX-License-Identifier: Apache-2.0
 *
 * LU decomposition, row by row, with a barrier after each step. Either a row has one owner for
 * good, or it goes to another thread at every step, so that nearly every access is communication.
 */
#include "kernels.h"
#include <math.h>

static double *matrix;
static long order;
static int migrating;

static void reduce(double *row, const double *pivot, long from) {
    double factor = row[from] /= pivot[from];
    for (long i = from + 1; i < order; i++)
        row[i] -= factor * pivot[i];
}

static long first_row(long step, int me) {
    long below = step + 1;
    return migrating ? below + me : below + ((me - below) % threads + threads) % threads;
}

static void decompose(int me) {
    for (long step = 0; step < order - 1; step++) {
        for (long row = first_row(step, me); row < order; row += threads)
            reduce(matrix + row * order, matrix + step * order, step);
        meet();
    }
}

/* The work is the cube of the order. */
static uint64_t run(long size) {
    uint32_t drawn = 3;
    order = lrint(cbrt((double)size));
    matrix = data((size_t)(order * order) * sizeof *matrix);
    for (long i = 0; i < order * order; i++)
        matrix[i] = draw(&drawn) % 1000 / 1000. + (i % (order + 1) == 0 ? (double)order : 0);
    in_parallel(decompose);
    double trace = 0;
    for (long i = 0; i < order; i++)
        trace += matrix[i * (order + 1)];
    return (uint64_t)(trace * 1000);
}

uint64_t lu(long size) {
    return run(size);
}

uint64_t migrating_lu(long size) {
    migrating = 1;
    return run(size);
}
