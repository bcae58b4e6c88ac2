/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of cells. What is used together lies together: a key says where its home is, and what
 * belongs to one object has neighbouring homes. The price are crowds: the globals of a module have
 * sixteen homes, however many there are. Whoever finds its home and the cells next to it taken gets
 * one of the further cells, which are handed out in turn and found by a hash of the whole key. A
 * cell keeps its key for ever, so that a look-up may end at the first free slot.
 */
#include <string.h>
#include "tracker/tracker.h"

static struct uns_cell *begin_cell(struct uns_cell *cell, uint64_t key) {
    memset(cell, 0, sizeof *cell);
    cell->key = key;
    return cell;
}

/* At its home (the fast path looks only there) or next to it; else the first free slot, or NULL. */
static struct uns_cell *near_home(const struct uns_tracker *tracker, uint64_t key) {
    struct uns_cell *home = uns_cell_at(tracker, key);
    for (int way = 0; way < UNS_CELL_WAYS; way++)
        if (home[way].key == key || !home[way].key)
            return &home[way];
    return NULL;
}

/* Neighbours have locks of their own: another key may get the free slot first. A free cell is all
 * zero. */
static int claim(struct uns_cell *cell, uint64_t key) {
    uint64_t none = 0;
    return __atomic_compare_exchange_n(&cell->key, &none, key, 0, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* Where the index of the further cells has this key, or would. */
static uint32_t *far_entry(const struct uns_tracker *tracker, uint64_t key) {
    uint64_t at = uns_mix(uns_mix(key));
    for (;; at++) {
        uint32_t *entry = &tracker->far_index[at & (UNS_FAR_INDEX - 1)];
        uint32_t cell = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
        if (!cell || tracker->cells[cell].key == key)
            return entry;
    }
}

static void lock_far(struct uns_tracker *tracker) {
    while (__atomic_test_and_set(&tracker->far_lock, __ATOMIC_ACQUIRE))
        ;
}

/* With all cells taken, the home is given up: lossy like Recon's table (5.1), but counted. */
static struct uns_cell *far_cell(struct uns_tracker *tracker, struct uns_tracked *t, uint64_t key) {
    lock_far(tracker);
    uint32_t *entry = far_entry(tracker, key);
    struct uns_cell *cell = &tracker->cells[*entry];
    if (!*entry && tracker->far_used < UNS_FAR_CELLS) {
        uint32_t number = (uint32_t)(UNS_NEAR_CELLS + tracker->far_used++);
        cell = begin_cell(&tracker->cells[number], key);
        __atomic_store_n(entry, number, __ATOMIC_RELEASE);
    } else if (!*entry) {
        cell = uns_cell_at(tracker, key);
        tracker->evicted++;
        uns_window_end(tracker, t, cell);
        begin_cell(cell, key);
    }
    __atomic_clear(&tracker->far_lock, __ATOMIC_RELEASE);
    return cell;
}

struct uns_cell *uns_cell_find(struct uns_tracker *tracker, struct uns_tracked *t, uint64_t key) {
    struct uns_cell *cell = near_home(tracker, key);
    while (cell && cell->key != key && !claim(cell, key))
        cell = near_home(tracker, key);
    return UNS_LIKELY(cell != NULL) ? cell : far_cell(tracker, t, key);
}

struct uns_cell *uns_cell_if_any(const struct uns_tracker *tracker, uint64_t key) {
    struct uns_cell *cell = near_home(tracker, key);
    if (cell)
        return cell->key ? cell : NULL;
    uint32_t number = *far_entry(tracker, key);
    return number ? &tracker->cells[number] : NULL;
}

uint32_t uns_cells_used(const struct uns_tracker *tracker) {
    return (uint32_t)(UNS_NEAR_CELLS + tracker->far_used);
}
