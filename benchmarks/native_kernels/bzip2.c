/* SPDX-License-Identifier: Apache-2.0
 *
 * Parallel bzip2: the work is done by a library that no probe sees. Built where its header is.
 */
#ifdef WITH_BZIP2
#include "kernels.h"
#include <bzlib.h>
#include <stdlib.h>

#define LEVEL     1
#define WORK_TILL 30
#define STATE     (1u << 20) /* what the library asks for at this level, for each thread */

static void work(int me) {
    (void)me;
    for (struct block *block; (block = next_block());) {
        unsigned packed = block->length + block->length / 100 + 600;
        uint8_t *out = malloc(packed);
        BZ2_bzBuffToBuffCompress((char *)out, &packed, (char *)block->from, block->length, LEVEL, 0,
                                 WORK_TILL);
        block_done(block, out, packed);
    }
}

uint64_t bzip2(long size) {
    touches((size_t)threads * STATE);
    return compress_blocks(size, work);
}
#endif
