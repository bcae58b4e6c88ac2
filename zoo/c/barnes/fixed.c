/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up the masses of bodies in the cells of a tree, from the leaves to the root, with two
 * threads: each works through the cells that it was given. */
#include <assert.h>
#include <pthread.h>

#define LEAVES 4
#define CELLS  7
#define BODIES 3

struct body {
    double mass;
    double place;
};

struct cell {
    long done;
    double centre;
    double mass;
    struct cell *children[2];
};

struct share {
    int first;
    int last;
};

static const struct body bodies[LEAVES][BODIES] = {
    {{2, 1}, {4, 2}, {2, 3}},
    {{1, 11}, {1, 12}, {6, 13}},
    {{4, 21}, {8, 22}, {4, 23}},
    {{8, 31}, {16, 32}, {8, 33}},
};
static struct cell cells[CELLS] = {
    [4] = {.children = {&cells[0], &cells[1]}},
    [5] = {.children = {&cells[2], &cells[3]}},
    [6] = {.children = {&cells[4], &cells[5]}},
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t summed = PTHREAD_COND_INITIALIZER;

static void mark_done(struct cell *cell) {
    pthread_mutex_lock(&lock);
    cell->done = 1;
    pthread_cond_broadcast(&summed);
    pthread_mutex_unlock(&lock);
}

static void await_done(const struct cell *cell) {
    pthread_mutex_lock(&lock);
    while (!cell->done)
        pthread_cond_wait(&summed, &lock);
    pthread_mutex_unlock(&lock);
}

static void set_moments(struct cell *cell, double mass, double moment) {
    cell->centre = moment / mass;
    cell->mass = mass;
    mark_done(cell);
}

static void sum_bodies(struct cell *cell, const struct body *inside) {
    double mass = 0, moment = 0;
    for (int i = 0; i < BODIES; i++) {
        mass += inside[i].mass;
        moment += inside[i].mass * inside[i].place;
    }
    set_moments(cell, mass, moment);
}

static void sum_children(struct cell *cell) {
    double mass = 0, moment = 0;
    for (int i = 0; i < 2; i++) {
        const struct cell *child = cell->children[i];
        await_done(child);
        double part = child->mass;
        mass += part;
        moment += part * child->centre;
    }
    set_moments(cell, mass, moment);
}

static void *sum_cells(void *arg) {
    const struct share *share = arg;
    for (int i = share->first; i <= share->last; i++) {
        if (i < LEAVES)
            sum_bodies(&cells[i], bodies[i]);
        else
            sum_children(&cells[i]);
    }
    return NULL;
}

int main(void) {
    static struct share shares[2] = {{0, 2}, {3, 6}};
    const struct cell *root = &cells[CELLS - 1];
    double total = 0;
    pthread_t threads[2];
    for (int i = 0; i < LEAVES * BODIES; i++)
        total += bodies[i / BODIES][i % BODIES].mass;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, sum_cells, &shares[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(root->mass == total);
    return 0;
}
