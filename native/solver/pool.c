/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"
#include "solver.h"
#include <stdlib.h>
#include <time.h>

#define ASK_EVERY 0.05 /* seconds: to ask costs more than to look at the time */

struct uns_block {
    struct uns_block *next, *previous;
    size_t bytes, unused;
};
_Static_assert(sizeof(struct uns_block) % 16 == 0, "what follows a block's head is aligned");

double uns_pool_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Rather than that the kernel ends the process, or that others have nothing left. */
static size_t within_limit(struct uns_pool *pool, size_t count, size_t size) {
    size_t bytes = sizeof(struct uns_block) + count * size;
    if (bytes > pool->most_bytes - pool->bytes)
        longjmp(pool->out, UNS_NO_MEMORY);
    return bytes;
}

static void *linked(struct uns_pool *pool, struct uns_block *block, size_t bytes) {
    if (!block)
        longjmp(pool->out, UNS_NO_MEMORY);
    pool->bytes += block->bytes = bytes;
    block->previous = NULL;
    block->next = pool->blocks;
    if (block->next)
        block->next->previous = block;
    pool->blocks = block;
    return block + 1;
}

static void unlink_block(struct uns_pool *pool, struct uns_block *block) {
    if (block->previous)
        block->previous->next = block->next;
    else
        pool->blocks = block->next;
    if (block->next)
        block->next->previous = block->previous;
    pool->bytes -= block->bytes;
}

void *uns_pool_new(struct uns_pool *pool, size_t count, size_t size) {
    size_t bytes = within_limit(pool, count, size);
    return linked(pool, calloc(1, bytes), bytes);
}

void *uns_pool_resize(struct uns_pool *pool, void *old, size_t count, size_t size) {
    struct uns_block *block = old ? (struct uns_block *)old - 1 : NULL;
    size_t bytes = within_limit(pool, count, size);
    if (block)
        unlink_block(pool, block);
    struct uns_block *grown = realloc(block, bytes);
    if (!grown)
        free(block);
    return linked(pool, grown, bytes);
}

void uns_pool_drop(struct uns_pool *pool, void *old) {
    if (!old)
        return;
    unlink_block(pool, (struct uns_block *)old - 1);
    free((struct uns_block *)old - 1);
}

void uns_pool_free(struct uns_pool *pool) {
    while (pool->blocks) {
        struct uns_block *next = pool->blocks->next;
        free(pool->blocks);
        pool->blocks = next;
    }
}

void uns_pool_look(struct uns_pool *pool) {
    double now = uns_pool_now();
    if (now > pool->deadline)
        longjmp(pool->out, UNS_OUT_OF_TIME);
    if (pool->stop && now > pool->asked + ASK_EVERY) {
        pool->asked = now;
        if (pool->stop(pool->asker))
            longjmp(pool->out, UNS_STOPPED);
    }
}
