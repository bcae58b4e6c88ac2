/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the frontier search: how far each thread is, and what memory and locks hold.
 */
#ifndef UNSNARL_SOLVER_FRONTIER_H
#define UNSNARL_SOLVER_FRONTIER_H
#include "state.h"

struct uns_done {
    int32_t event, before; /* what the cell held before */
};

struct uns_node {
    int64_t done;   /* events done when it was reached */
    uint32_t tried; /* a bit for each thread */
};

struct uns_front {
    struct uns_state *s;
    int32_t *next;      /* of threads */
    int32_t *class;     /* of accesses: a number for their cell and value */
    int32_t *left;      /* of classes: writes that are still to come */
    int32_t *memory;    /* of cells: the class of its value, or -1: not known */
    int32_t *heads;     /* of cells and threads: the thread's next access, or -1 */
    int32_t *following; /* of accesses: the thread's next one of the same cell, or -1 */
    int32_t *lock;      /* of events: a lock + 1 acquired, negative if released, or 0 */
    uint8_t *held;      /* of locks */
    uint64_t hash;      /* of the memory */
    UNS_ARRAY(struct uns_done) done;
    UNS_ARRAY(struct uns_node) nodes;
    UNS_ARRAY(uint64_t) seen; /* an open hash table */
    int64_t seen_count;
};

static inline uint64_t uns_front_mix(int32_t a, int32_t b) {
    uint64_t key = ((uint64_t)(uint32_t)a << 32 | (uint32_t)b) * 0x9E3779B97F4A7C15ull;
    key = (key ^ key >> 32) * 0xD6E8FEB86659FD93ull;
    return key ^ key >> 32;
}

void uns_front_init(struct uns_front *f);
int uns_front_is_new(struct uns_front *f);
#endif
