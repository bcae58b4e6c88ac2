/* SPDX-License-Identifier: Apache-2.0
 *
 * A compressor in the manner of Lempel and Ziv, block by block, all of it seen by the probe.
 */
#include "kernels.h"
#include <stdlib.h>

#define ENTRIES  4096u
#define LONGEST  255u
#define SHORTEST 4u
#define FARTHEST 65535u
#define PASSES   4
#define MARK     255u

static unsigned match_length(const uint8_t *a, const uint8_t *b, const uint8_t *end) {
    unsigned length = 0;
    while (b + length < end && length < LONGEST && a[length] == b[length])
        length++;
    return length;
}

static unsigned hash_of(const uint8_t *at) {
    return ((unsigned)at[0] | (unsigned)at[1] << 8 | (unsigned)at[2] << 16) * 2654435761u >> 20;
}

static uint8_t *put_match(uint8_t *out, unsigned length, unsigned back) {
    out[0] = MARK;
    out[1] = (uint8_t)length;
    out[2] = (uint8_t)back;
    out[3] = (uint8_t)(back >> 8);
    return out + 4;
}

/* `latest` knows, by the hash of three bytes, where they were seen last. */
static unsigned pack(const struct block *block, uint8_t *out, int *latest) {
    const uint8_t *from = block->from, *end = from + block->length, *at = from;
    uint8_t *start = out;
    for (unsigned i = 0; i < ENTRIES; i++)
        latest[i] = -1;
    while (at + SHORTEST < end) {
        int *entry = &latest[hash_of(at)], seen = *entry;
        unsigned back = (unsigned)(at - from) - (unsigned)seen, length = 0;
        *entry = (int)(at - from);
        if (seen >= 0 && back < FARTHEST)
            length = match_length(from + seen, at, end);
        if (length >= SHORTEST) {
            out = put_match(out, length, back);
            at += length;
        } else {
            *out++ = *at++;
        }
    }
    return (unsigned)(out - start);
}

static void work(int me) {
    (void)me;
    int *latest = malloc(ENTRIES * sizeof *latest);
    for (struct block *block; (block = next_block());) {
        uint8_t *out = malloc(block->length);
        unsigned packed = 0;
        for (int pass = 0; pass < PASSES; pass++)
            packed = pack(block, out, latest);
        block_done(block, out, packed);
    }
    free(latest);
}

uint64_t compressor(long size) {
    touches((size_t)threads * ENTRIES * sizeof(int));
    return compress_blocks(size, work);
}
