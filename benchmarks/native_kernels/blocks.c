/* SPDX-License-Identifier: Apache-2.0
 *
 * What both compressors work on.
 */
#include "kernels.h"
#include <pthread.h>

static struct block *blocks;
static long block_count, handed_out;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Words from a vocabulary of 3000. */
static const uint8_t *make_text(long length) {
    uint8_t *text = data((size_t)length);
    uint32_t drawn = 11;
    for (long at = 0; at < length;) {
        uint32_t word = draw(&drawn) % 3000, letters = 3 + word % 7;
        for (uint32_t i = 0; i < letters && at < length; i++)
            text[at++] = (uint8_t)('a' + (word * (i + 3) * 31 >> 3) % 26);
        if (at < length)
            text[at++] = ' ';
    }
    return text;
}

struct block *next_block(void) {
    pthread_mutex_lock(&mutex);
    struct block *block = handed_out < block_count ? &blocks[handed_out++] : NULL;
    pthread_mutex_unlock(&mutex);
    return block;
}

void block_done(struct block *block, uint8_t *out, unsigned packed) {
    pthread_mutex_lock(&mutex);
    block->out = out;
    block->packed = packed;
    pthread_mutex_unlock(&mutex);
}

uint64_t compress_blocks(long size, void (*work)(int me)) {
    const uint8_t *text = make_text(size);
    block_count = (size + BLOCK - 1) / BLOCK;
    blocks = data((size_t)block_count * sizeof *blocks);
    for (long i = 0; i < block_count; i++) {
        long left = size - i * BLOCK;
        blocks[i].from = text + i * BLOCK;
        blocks[i].length = (unsigned)(left < BLOCK ? left : BLOCK);
    }
    in_parallel(work);
    uint64_t sum = 0;
    for (long i = 0; i < block_count; i++) {
        sum += blocks[i].packed * (uint64_t)(i + 1);
        touches(blocks[i].packed);
    }
    return sum;
}
