/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks that are gone: who uses one, or frees it again, has failed, whether or not it does any
 * harm in this run. A freed block is not given back to libc at once, so its memory is nobody else's
 * as long as it is watched: there are no false alarms. Only in gated runs, where one thread runs at
 * a time and who frees is known.
 *
 * An access asks for one bit: those of a block are set while it is watched. Blocks whose addresses
 * share bits are distinguished by the list.
 */
#include "probe_c/probe.h"
#include <stdlib.h>

extern void __libc_free(void *block);

#define WATCHED       1024u       /* blocks, the oldest makes room */
#define WATCHED_BYTES (16u << 20) /* ... and all of them together */
#define LARGEST       (1u << 20)  /* larger ones are given back: they may be mapped anew */
#define GRAIN         16u         /* blocks are aligned to it */
#define BITS          (1u << 22)  /* of so many grains, one each */
#define WORDS         (BITS / 64u)

struct watched {
    uintptr_t start;
    uint64_t size;
    uint32_t site; /* that freed it */
};
static struct watched blocks[WATCHED];
static uint32_t oldest, count;
static uint64_t bytes;
static uint64_t *bits;
static char busy;

static void enter(void) {
    uns_busy();
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
}

static void leave(void) {
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    uns_idle();
}

/* The last bytes of a block, too: what is usable of it ends 8 bytes before the next grain. */
static void set_bits(const struct watched *block, int on) {
    uintptr_t end = (block->start + block->size + GRAIN - 1) / GRAIN;
    for (uintptr_t at = block->start / GRAIN; at < end; at++) {
        uint64_t *word = &bits[at % BITS / 64], bit = 1ull << at % 64;
        *word = on ? *word | bit : *word & ~bit;
    }
}

/* Bits that it shares with others are gone, too: what is missed is rare, and no alarm is false. */
static void give_back_oldest(void) {
    struct watched block = blocks[oldest];
    oldest = (oldest + 1) % WATCHED;
    count--;
    bytes -= block.size;
    set_bits(&block, 0);
    __libc_free((void *)block.start);
}

int uns_c_watch_freed(void *start, uint64_t size, uint32_t site) {
    if (!uns_c_plan.heap_errors || !uns_rt.gated || size > LARGEST || size < GRAIN)
        return 0;
    enter();
    if (!bits)
        bits = uns_pages(WORDS * sizeof *bits);
    while (bits && count && (count == WATCHED || bytes + size > WATCHED_BYTES))
        give_back_oldest();
    if (bits) {
        struct watched *block = &blocks[(oldest + count++) % WATCHED];
        *block = (struct watched){(uintptr_t)start, size, site};
        bytes += size;
        set_bits(block, 1);
    }
    leave();
    return bits != NULL;
}

static const struct watched *watched_at(uintptr_t at) {
    for (uint32_t i = 0; i < count; i++) {
        const struct watched *block = &blocks[(oldest + i) % WATCHED];
        if (at - block->start < block->size)
            return block;
    }
    return NULL;
}

static void report(const struct watched *block, uint32_t site, const char *type, const char *what) {
    uns_c_note_heap_error(type, what, site, uns_c_block_at(block->start).site, block->site);
    abort();
}

void uns_c_check_freed(const volatile void *address, uint32_t site, const char *type,
                       const char *what) {
    uintptr_t at = (uintptr_t)address;
    if (!bits || !(bits[at / GRAIN % BITS / 64] >> at / GRAIN % 64 & 1))
        return;
    enter();
    const struct watched *found = watched_at(at);
    leave();
    if (found)
        report(found, site, type, what);
}
