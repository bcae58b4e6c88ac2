/* SPDX-License-Identifier: Apache-2.0
 *
 * Which block of the heap an address is in, and who asked for it. A block is found from its start,
 * or from the next stride of a large one, by going back; the few who ask have time for that.
 */
#include "probe_c/probe.h"

#define ROOM    (1u << 18)
#define GRAIN   16u    /* blocks are aligned to it */
#define STRIDE  65536u /* no address is further behind an entry of its block */
#define STRIDES 4096u  /* of the largest block */

struct entry {
    uintptr_t key; /* where it is found, in grains; 0: nothing */
    struct uns_c_block block;
};
static struct entry *entries;
static uint32_t used, count;
static uintptr_t lowest = UINTPTR_MAX, highest; /* where blocks have been */
static char busy;

static struct entry *slot_of(uintptr_t key) {
    uint32_t at = (uint32_t)(uns_mix(key) >> 40) % ROOM;
    while (entries[at].key && entries[at].key != key)
        at = (at + 1) % ROOM;
    return &entries[at];
}

/* In a signal handler the owner may be the interrupted thread: then nothing is known. */
static int enter_table(void) {
    for (uint32_t tries = 0; __atomic_test_and_set(&busy, __ATOMIC_ACQUIRE); tries++)
        if (tries > 1000000)
            return 0;
    if (!entries)
        entries = uns_pages(ROOM * sizeof *entries);
    if (!entries)
        __atomic_clear(&busy, __ATOMIC_RELEASE);
    return entries != NULL;
}

static void leave_table(void) {
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

static void enter_block(struct uns_c_block block) {
    for (uint64_t at = 0; at <= block.size / STRIDE && at < STRIDES; at++) {
        struct entry *entry = slot_of((block.start + at * STRIDE) / GRAIN);
        if (!entry->key && used >= ROOM / 4 * 3)
            return; /* full: later ones have no name */
        used += !entry->key;
        *entry = (struct entry){(block.start + at * STRIDE) / GRAIN, block};
    }
}

/* What asks is often a template of a library: then the line is further up. */
static void note_calls(struct uns_c_block *block) {
    const struct uns_c_stack *stack = uns_c_look_at_stack(uns_current());
    uint32_t used_calls = 0;
    for (uint32_t i = 0; i < stack->count && used_calls < UNS_C_CALLS; i++)
        if (stack->frames[i].pc)
            block->calls[used_calls++] = stack->frames[i].pc;
}

void uns_c_block_made(const void *start, uint64_t size, uint32_t site) {
    struct uns_c_block block = {.start = (uintptr_t)start, .size = size, .site = site};
    if (uns_c_plan.capture_length)
        note_calls(&block);
    if (!enter_table())
        return;
    block.number = ++count;
    lowest = block.start < lowest ? block.start : lowest;
    highest = block.start + size > highest ? block.start + size : highest;
    enter_block(block);
    leave_table();
}

/* It stays known until its memory is another block: whoever uses it now can name it. */
void uns_c_block_freed(const void *start) {
    if (!enter_table())
        return;
    struct uns_c_block block = slot_of((uintptr_t)start / GRAIN)->block;
    block.freed = 1;
    if (block.number && block.start == (uintptr_t)start)
        enter_block(block);
    leave_table();
}

struct uns_c_block uns_c_block_at(uintptr_t at) {
    struct uns_c_block found = {0};
    uintptr_t key = at / GRAIN;
    if (at < lowest || at >= highest || !enter_table())
        return found;
    for (uintptr_t back = 0; back <= STRIDE / GRAIN && back < key; back++) {
        const struct entry *entry = slot_of(key - back);
        if (!entry->key)
            continue;
        if (at - entry->block.start < entry->block.size && !(found.number && entry->block.freed))
            found = entry->block;
        if (!entry->block.freed)
            break; /* live blocks do not overlap */
    }
    leave_table();
    return found;
}
