/* SPDX-License-Identifier: Apache-2.0
 *
 * As canneal: elements of a large array are swapped at random, with relaxed atomics, where fixed
 * weights say so. What is swapped depends on who comes first; how often does not.
 */
#include "kernels.h"
#include <stdatomic.h>

#define ELEMENTS   (1u << 20)
#define NEIGHBOURS 4u

static _Atomic uint32_t *elements;
static uint32_t *weights;
static long tries;
static struct accepted {
    _Alignas(LINE) uint64_t count;
} accepted[MOST_THREADS];

static int64_t gain(uint32_t a, uint32_t b) {
    int64_t sum = 0;
    for (uint32_t i = 1; i <= NEIGHBOURS; i++)
        sum += (int64_t)weights[(a + i * 97) % ELEMENTS] - weights[(b + i * 131) % ELEMENTS];
    return sum;
}

static void swap(uint32_t a, uint32_t b) {
    uint32_t one = atomic_load_explicit(&elements[a], memory_order_relaxed);
    uint32_t other = atomic_load_explicit(&elements[b], memory_order_relaxed);
    atomic_store_explicit(&elements[a], other, memory_order_relaxed);
    atomic_store_explicit(&elements[b], one, memory_order_relaxed);
}

static void anneal(int me) {
    uint32_t drawn = (uint32_t)me * 31 + 7;
    uint64_t count = 0;
    for (long i = 0; i < tries / threads; i++) {
        uint32_t a = draw(&drawn) % ELEMENTS, b = draw(&drawn) % ELEMENTS;
        if (gain(a, b) <= 0)
            continue;
        swap(a, b);
        count++;
    }
    accepted[me].count = count;
}

uint64_t swaps(long size) {
    uint32_t drawn = 3;
    tries = size;
    elements = data(ELEMENTS * sizeof *elements);
    weights = data(ELEMENTS * sizeof *weights);
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        atomic_init(&elements[i], i);
        weights[i] = draw(&drawn) & 0xffff;
    }
    in_parallel(anneal);
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        sum += accepted[i].count;
    return sum;
}
