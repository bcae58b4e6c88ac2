/* SPDX-License-Identifier: Apache-2.0
 *
 * Ten small parallel programs, each a function: it does work in proportion to `size` with `threads`
 * threads and returns a number that depends on these two and on nothing else, so that every build
 * of them can be held against the plain one.
 */
#ifndef KERNELS_H
#define KERNELS_H
#include <stddef.h>
#include <stdint.h>

#define MOST_THREADS 64
#define LINE         64 /* bytes: what two threads write does not share one by accident */

extern int threads;

/* Zeroed memory that lives until the end, and is counted as data that the kernel touches. */
void *data(size_t bytes);
void touches(size_t bytes); /* memory that it got otherwise */

/* Calls `work` in every thread, with its number from 0 on. */
void in_parallel(void (*work)(int me));
void meet(void); /* all threads of in_parallel */

/* The part of `total` things that is thread `me`'s. */
struct part {
    long from, to;
};
struct part part_of(long total, int me);

/* Xorshift: the state is the last number drawn, and never 0. */
static inline uint32_t draw(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Blocks of a text, handed out by a counter under a mutex to whoever asks, as pbzip2 does. */
#define BLOCK 100000
struct block {
    const uint8_t *from;
    unsigned length;
    unsigned packed; /* its length when compressed */
    uint8_t *out;
};
uint64_t compress_blocks(long size, void (*work)(int me));
struct block *next_block(void);
void block_done(struct block *block, uint8_t *out, unsigned packed);

uint64_t options(long size);
uint64_t hash_table(long size);
uint64_t pipeline(long size);
uint64_t clusters(long size);
uint64_t lu(long size);
uint64_t migrating_lu(long size);
uint64_t bzip2(long size);
uint64_t compressor(long size);
uint64_t counter(long size);
uint64_t swaps(long size);
#endif
