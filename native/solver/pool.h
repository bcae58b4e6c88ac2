/* SPDX-License-Identifier: Apache-2.0
 *
 * All memory of one solving, given back at once, and its one way out: time or memory may end in
 * the midst of anything.
 */
#ifndef UNSNARL_SOLVER_POOL_H
#define UNSNARL_SOLVER_POOL_H
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

struct uns_block;

struct uns_pool {
    int (*stop)(void *asker); /* of the problem */
    void *asker;
    double asked; /* when */
    struct uns_block *blocks;
    double deadline;
    size_t bytes, most_bytes;
    uint64_t ticks; /* the work done, about */
    jmp_buf out;    /* with an uns_order_status */
};

double uns_pool_now(void);
void *uns_pool_new(struct uns_pool *pool, size_t count, size_t size); /* zeroed */
void *uns_pool_resize(struct uns_pool *pool, void *old, size_t count, size_t size);
void uns_pool_drop(struct uns_pool *pool, void *old);
void uns_pool_free(struct uns_pool *pool);
void uns_pool_look(struct uns_pool *pool);

/* To be called in every loop that may be long. */
static inline void uns_pool_tick(struct uns_pool *pool) {
    if (!(++pool->ticks & 1023))
        uns_pool_look(pool);
}

#define UNS_NEW(pool, type, count) ((type *)uns_pool_new(pool, (size_t)(count), sizeof(type)))

/* An array that grows: UNS_ARRAY(int32_t) name; */
#define UNS_ARRAY(type)                                                                            \
    struct {                                                                                       \
        type *at;                                                                                  \
        int64_t count, room;                                                                       \
    }
#define UNS_PUSH(pool, array, ...)                                                                 \
    do {                                                                                           \
        if ((array).count == (array).room) {                                                       \
            (array).room = (array).room ? 2 * (array).room : 4;                                    \
            (array).at =                                                                           \
                uns_pool_resize(pool, (array).at, (size_t)(array).room, sizeof *(array).at);       \
        }                                                                                          \
        (array).at[(array).count++] = __VA_ARGS__;                                                 \
    } while (0)
#endif
