/* SPDX-License-Identifier: Apache-2.0
 *
 * As streamcluster: every point looks for its nearest centre; between rounds, at a barrier, one
 * thread moves the centres, which all read.
 */
#include "kernels.h"

#define DIMENSIONS 32
#define CENTRES    24
#define ROUNDS     3

typedef float place[DIMENSIONS];
static place *points, *centres;
static int *nearest;
static long count;

static float distance(const float *a, const float *b) {
    float sum = 0;
    for (int i = 0; i < DIMENSIONS; i++) {
        float apart = a[i] - b[i];
        sum += apart * apart;
    }
    return sum;
}

static int nearest_to(const float *point) {
    int best = 0;
    float least = distance(point, centres[0]);
    for (int i = 1; i < CENTRES; i++) {
        float found = distance(point, centres[i]);
        if (found < least) {
            least = found;
            best = i;
        }
    }
    return best;
}

static void move_centres(int round) {
    for (int i = 0; i < CENTRES; i++)
        for (int k = 0; k < DIMENSIONS; k++)
            centres[i][k] = 0.9f * centres[i][k] + 0.1f * points[(i * 977 + round) % count][k];
}

static void assign(int me) {
    struct part mine = part_of(count, me);
    for (int round = 0; round < ROUNDS; round++) {
        for (long i = mine.from; i < mine.to; i++)
            nearest[i] = nearest_to(points[i]);
        meet();
        if (me == 0)
            move_centres(round);
        meet();
    }
}

static place *places(long number, uint32_t seed) {
    place *made = data((size_t)number * sizeof *made);
    for (long i = 0; i < number; i++)
        for (int k = 0; k < DIMENSIONS; k++)
            made[i][k] = (float)(draw(&seed) % 1000) / 1000;
    return made;
}

uint64_t clusters(long size) {
    count = size;
    points = places(count, 9);
    centres = places(CENTRES, 10);
    nearest = data((size_t)count * sizeof *nearest);
    in_parallel(assign);
    uint64_t sum = 0;
    for (long i = 0; i < count; i++)
        sum += (uint64_t)nearest[i] * (uint64_t)(i % 7 + 1);
    return sum;
}
