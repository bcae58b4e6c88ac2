/* SPDX-License-Identifier: Apache-2.0 */
/* Two threads stir the same cells, each cell with one whose place depends on what was read; the
 * result must be that of one thread after the other. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define CELLS   3
#define STEPS   10
#define THREADS 2

struct stirrer {
    unsigned long *cells;
    unsigned long seed;
};

static unsigned long mix(unsigned long one, unsigned long other) {
    return (one * 2654435761UL) ^ (other + (one >> 7) + 1);
}

static void *stir(void *arg) {
    const struct stirrer *stirrer = arg;
    unsigned long *cells = stirrer->cells;
    unsigned long place = stirrer->seed;
    for (int step = 0; step < STEPS; step++) {
        unsigned long *cell = &cells[place % CELLS];
        unsigned long value = *cell;
        unsigned long other = cells[(value >> 5) % CELLS];
        unsigned long mixed = mix(value, other);
        *cell = mixed;
        place = mixed >> 11;
    }
    return NULL;
}

static unsigned long hash(const unsigned long *cells) {
    unsigned long sum = 0;
    for (int i = 0; i < CELLS; i++)
        sum = mix(sum, cells[i]);
    return sum;
}

static void set_up(unsigned long *cells, struct stirrer *stirrers) {
    for (unsigned long i = 0; i < CELLS; i++)
        cells[i] = mix(i, i + 1);
    for (int i = 0; i < THREADS; i++)
        stirrers[i] = (struct stirrer){.cells = cells, .seed = 3 + (unsigned long)i};
}

/* The result of one thread after the other. */
static unsigned long serial(int first, int second) {
    unsigned long cells[CELLS];
    struct stirrer stirrers[THREADS];
    set_up(cells, stirrers);
    stir(&stirrers[first]);
    stir(&stirrers[second]);
    return hash(cells);
}

int main(void) {
    static unsigned long cells[CELLS];
    struct stirrer stirrers[THREADS];
    pthread_t threads[THREADS];
    unsigned long forth = serial(0, 1), back = serial(1, 0);
    set_up(cells, stirrers);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, stir, &stirrers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    unsigned long result = hash(cells);
    printf("%016lx\n", result);
    fflush(stdout);
    assert(result == forth || result == back);
    return 0;
}
