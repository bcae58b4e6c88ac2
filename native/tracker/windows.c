/* SPDX-License-Identifier: Apache-2.0
 *
 * Falcon's windows (3.1, algorithm 1): per cell, the latest accesses by alternating threads. The
 * latest slot lies in the cell itself, so that a thread which goes on alone touches nothing else;
 * the slots before it come into being when a second thread arrives. All is called with the cell
 * locked.
 *
 * A slot stands for all that a thread did in a row, and Falcon keeps one access of it. What broke
 * is often another one: the check after the thread's own earlier write, or the first read after the
 * other's write, before the thread wrote itself, or the first write of several. In gated runs,
 * where every access comes by, a slot keeps these as well, and windows reach further; that and all
 * pairs that depend on each other make further patterns, marked UNS_PATTERN_FINE.
 */
#include <string.h>
#include "tracker/tracker.h"

static struct uns_history *history(const struct uns_tracker *tracker, const struct uns_cell *cell) {
    return &tracker->histories[cell - tracker->cells];
}

/* NULL: all windows are taken. */
static struct uns_window *window_of(struct uns_tracker *tracker, const struct uns_cell *cell) {
    struct uns_history *past = history(tracker, cell);
    if (!past->window) {
        uint32_t taken = __atomic_fetch_add(&tracker->windows_used, 1, __ATOMIC_RELAXED);
        if (taken >= UNS_WINDOWS) {
            __atomic_store_n(&tracker->windows_used, UNS_WINDOWS, __ATOMIC_RELAXED);
            return NULL;
        }
        past->window = taken + 1;
        tracker->windows[taken].cell = (uint32_t)(cell - tracker->cells);
    }
    return &tracker->windows[past->window - 1];
}

static struct uns_slot latest(const struct uns_tracker *tracker, const struct uns_cell *cell) {
    const struct uns_history *past = history(tracker, cell);
    return (struct uns_slot){.time = past->slot_time,
                             .point = cell->slot_point,
                             .thread = cell->slot_thread,
                             .write = (cell->slot & UNS_SLOT_WRITE) != 0,
                             .early_is_write = past->early_is_write != 0,
                             .early_time = past->early_time,
                             .late_time = past->late_time,
                             .wrote_time = past->wrote_time,
                             .early = past->early,
                             .late = past->late,
                             .wrote = past->wrote};
}

/* The same streak of accesses, represented by its first one, by its read after the write, or by its
 * first write. */
static struct uns_slot early(struct uns_slot slot) {
    slot.time = slot.early_time;
    slot.point = slot.early;
    slot.write = slot.early_is_write;
    return slot;
}

static struct uns_slot late(struct uns_slot slot) {
    slot.time = slot.late_time;
    slot.point = slot.late;
    slot.write = 0;
    return slot;
}

static struct uns_slot wrote(struct uns_slot slot) {
    slot.time = slot.wrote_time;
    slot.point = slot.wrote;
    slot.write = 1;
    return slot;
}

/* Reads and writes as bits, the first access highest; 0: serialisable, or no conflict. */
static uint32_t triple_kind(const struct uns_slot *a, const struct uns_slot *b,
                            const struct uns_slot *c) {
    static const uint8_t kinds[8] = {[2] = UNS_PATTERN_RWR,
                                     [6] = UNS_PATTERN_WWR,
                                     [5] = UNS_PATTERN_WRW,
                                     [3] = UNS_PATTERN_RWW,
                                     [7] = UNS_PATTERN_WWW};
    return kinds[a->write << 2 | b->write << 1 | c->write];
}

static uint32_t pair_kind(const struct uns_slot *a, const struct uns_slot *b) {
    static const uint8_t kinds[4] = {0, UNS_PATTERN_RW, UNS_PATTERN_WR, UNS_PATTERN_WW};
    return kinds[a->write << 1 | b->write];
}

static uint16_t other_thread(const struct uns_slot *a, const struct uns_slot *b,
                             const struct uns_slot *c) {
    return c && b->thread == a->thread ? c->thread : b->thread;
}

static int add(struct uns_tracked *t, uint64_t key, uint32_t kind, uint32_t span,
               const struct uns_slot *a, const struct uns_slot *b, const struct uns_slot *c) {
    if (!(kind & ~UNS_PATTERN_FINE))
        return 0;
    const struct uns_pattern_record pattern = {.first_point = a->point,
                                               .other_point = b->point,
                                               .last_point = c ? c->point : 0,
                                               .first_thread = a->thread,
                                               .other_thread = other_thread(a, b, c),
                                               .first_time = a->time,
                                               .other_time = b->time,
                                               .last_time = c ? c->time : 0,
                                               .cell = key,
                                               .count = 1,
                                               .kind = (uint16_t)kind,
                                               .span = (uint16_t)span};
    int alternates = !c || c->thread == a->thread;
    uns_table_add(alternates ? &t->patterns : &t->gaps, &pattern);
    if (!c && t->pairs.key_size && t->pairs.used < UNS_PAIRS_MOST)
        uns_table_add(&t->pairs, &pattern);
    return 1;
}

static int add_triple(struct uns_tracked *t, uint64_t key, const struct uns_slot *slots,
                      uint32_t other, uint32_t last, int far) {
    const struct uns_slot firsts[] = {slots[0], late(slots[0])},
                          others[] = {slots[other], early(slots[other])},
                          lasts[] = {slots[last], early(slots[last])};
    int found = 0;
    for (uint32_t variant = 0; variant < 8; variant++) {
        const struct uns_slot *a = &firsts[variant & 1], *b = &others[variant >> 2],
                              *c = &lasts[variant >> 1 & 1];
        if (!a->point || !b->point || !c->point)
            continue;
        uint32_t fine = variant || far ? UNS_PATTERN_FINE : 0;
        int added = add(t, key, triple_kind(a, b, c) | fine, last + 1, a, b, c);
        found |= added && !fine; /* Falcon's rule must not see what Falcon does not */
    }
    return found;
}

static void add_pair(struct uns_tracked *t, uint64_t key, const struct uns_slot *first,
                     const struct uns_slot *second, uint32_t span, int fine) {
    const struct uns_slot firsts[] = {*first, late(*first)},
                          seconds[] = {*second, early(*second), wrote(*second)};
    for (uint32_t variant = 0; variant < 6; variant++) {
        const struct uns_slot *a = &firsts[variant & 1], *b = &seconds[variant >> 1];
        if (a->point && b->point)
            add(t, key, pair_kind(a, b) | (variant || fine ? UNS_PATTERN_FINE : 0), span, a, b,
                NULL);
    }
}

/* One thread's two accesses in a row, where the other's was due between: what was written is gone
 * before it was read, or what was read is read again. */
static void add_gaps(struct uns_tracked *t, uint64_t key, const struct uns_slot *first,
                     const struct uns_slot *second, uint32_t span) {
    const struct uns_slot gone = early(*first), reread = early(*second);
    const struct uns_slot *reader = reread.point ? &reread : second;
    if (gone.point && gone.write && first->write && !reader->write)
        add(t, key, UNS_PATTERN_UNREAD | UNS_PATTERN_FINE, span, &gone, first, reader);
    if (reread.point && first->write && !reread.write && !second->write)
        add(t, key, UNS_PATTERN_REREAD | UNS_PATTERN_FINE, span, first, &reread, second);
}

/* Every access that depends on the oldest slot: nobody wrote between. */
static void add_dependents(struct uns_tracked *t, uint64_t key, const struct uns_slot *slots,
                           uint32_t count) {
    for (uint32_t at = 1; at < count; at++) {
        if (slots[at].thread != slots[0].thread)
            add_pair(t, key, &slots[0], &slots[at], at + 1, 1);
        if (slots[at].thread != slots[0].thread)
            add_gaps(t, key, &slots[0], &slots[at], at + 1);
        if (slots[at].write)
            return;
    }
}

/* The patterns that begin at the oldest slot: triples, and only if there is none a pair. */
static void extract(const struct uns_tracker *tracker, struct uns_tracked *t, uint64_t key,
                    const struct uns_slot *slots, uint32_t count) {
    int found = 0;
    for (uint32_t last = 2; last < count; last++)
        for (uint32_t other = 1; slots[last].thread == slots[0].thread && other < last; other++)
            if (slots[other].thread != slots[0].thread)
                found |= add_triple(t, key, slots, other, last, last >= tracker->window_size);
    if (!found && count > 1)
        add_pair(t, key, &slots[0], &slots[1], 2, 0);
    if (tracker->own_reads)
        add_dependents(t, key, slots, count);
}

static void slide(struct uns_window *window) {
    memmove(window->slots, window->slots + 1, --window->used * sizeof *window->slots);
}

static void set_slot(struct uns_tracker *tracker, const struct uns_tracked *t,
                     struct uns_cell *cell, const struct uns_slot *access) {
    cell->slot = (uint8_t)(t->id | (access->write ? UNS_SLOT_WRITE : 0));
    cell->slot_thread = access->thread;
    cell->slot_point = access->point;
    history(tracker, cell)->slot_time = access->time;
    history(tracker, cell)->late = 0;
}

static void begin_slot(struct uns_tracker *tracker, const struct uns_tracked *t,
                       struct uns_cell *cell, const struct uns_slot *access) {
    struct uns_history *past = history(tracker, cell);
    set_slot(tracker, t, cell, access);
    past->early = past->wrote = 0;
}

/* Before the slot's access is replaced for the first time, it was the first one; a write that is
 * replaced later may have been the first write. */
static void keep_early(const struct uns_tracker *tracker, const struct uns_cell *cell) {
    struct uns_history *past = history(tracker, cell);
    int write = (cell->slot & UNS_SLOT_WRITE) != 0;
    if (!tracker->own_reads)
        return;
    if (!past->early) {
        past->early = cell->slot_point;
        past->early_time = past->slot_time;
        past->early_is_write = (uint64_t)write;
    } else if (write && !past->early_is_write && !past->wrote) {
        past->wrote = cell->slot_point;
        past->wrote_time = past->slot_time;
    }
}

static void keep_late(const struct uns_tracker *tracker, const struct uns_cell *cell,
                      const struct uns_slot *access) {
    if (!tracker->own_reads)
        return;
    history(tracker, cell)->late = access->point;
    history(tracker, cell)->late_time = access->time;
}

static void leave_slot(struct uns_tracker *tracker, struct uns_tracked *t, struct uns_cell *cell) {
    struct uns_window *window = window_of(tracker, cell);
    if (UNS_UNLIKELY(!window)) {
        tracker->evicted++;
        return;
    }
    window->slots[window->used++] = latest(tracker, cell);
    if (window->used == tracker->reach) {
        extract(tracker, t, cell->key, window->slots, window->used);
        slide(window);
    }
}

void uns_window_add(struct uns_tracker *tracker, struct uns_tracked *t, struct uns_cell *cell,
                    const struct uns_slot *access) {
    t->remote = cell->slot && cell->slot_thread != access->thread;
    if (t->remote)
        leave_slot(tracker, t, cell);
    if (t->remote || !cell->slot) {
        begin_slot(tracker, t, cell, access);
    } else if (cell->slot & UNS_SLOT_WRITE && !access->write) {
        /* Both kinds of violation need a write: a read does not replace one. */
        keep_late(tracker, cell, access);
    } else {
        keep_early(tracker, cell);
        set_slot(tracker, t, cell, access);
    }
}

void uns_window_end(struct uns_tracker *tracker, struct uns_tracked *t, struct uns_cell *cell) {
    uint32_t index = tracker->window_size && cell->slot ? history(tracker, cell)->window : 0;
    struct uns_window *window = index ? &tracker->windows[index - 1] : NULL;
    if (!window || !window->used)
        return;
    window->slots[window->used++] = latest(tracker, cell);
    for (; window->used > 1; slide(window))
        extract(tracker, t, cell->key, window->slots, window->used);
    window->used = 0;
    cell->slot = 0;
}

void uns_windows_end(struct uns_tracker *tracker, struct uns_tracked *t) {
    for (uint32_t i = 0; i < tracker->windows_used; i++)
        uns_window_end(tracker, t, &tracker->cells[tracker->windows[i].cell]);
}

static uint32_t add_latest(struct uns_trace_record *out, uint32_t at, uint64_t cell,
                           const struct uns_slot *slot) {
    const struct uns_slot all[] = {early(*slot), wrote(*slot), *slot, late(*slot)};
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].point)
            out[at++] =
                (struct uns_trace_record){all[i].time, cell, all[i].point, all[i].thread, 0};
    return at;
}
#define ROWS_OF_A_SLOT 4u

static uint32_t rows_of(const struct uns_tracker *tracker, uint32_t cell) {
    uint32_t window = tracker->histories[cell].window;
    return ROWS_OF_A_SLOT * (1 + (window ? tracker->windows[window - 1].used : 0));
}

static uint64_t rows_since(const struct uns_tracker *tracker, uint64_t since) {
    uint64_t rows = 0;
    for (uint32_t i = 0; i < uns_cells_used(tracker); i++)
        if (tracker->cells[i].slot && tracker->histories[i].slot_time >= since)
            rows += rows_of(tracker, i);
    return rows;
}

/* The time from which on there is room for all. */
static uint64_t since_when(const struct uns_tracker *tracker, uint32_t room) {
    uint64_t low = 0, high = UINT64_MAX >> 1;
    if (rows_since(tracker, 0) <= room)
        return 0;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (rows_since(tracker, middle) <= room)
            high = middle;
        else
            low = middle;
    }
    return high;
}

uint32_t uns_windows_latest(const struct uns_tracker *tracker, struct uns_trace_record *out,
                            uint32_t room) {
    uint32_t count = 0;
    uint64_t since = tracker->window_size ? since_when(tracker, room) : UINT64_MAX;
    for (uint32_t i = 0; i < uns_cells_used(tracker) && tracker->window_size; i++) {
        const struct uns_cell *cell = &tracker->cells[i];
        const struct uns_history *past = &tracker->histories[i];
        if (!cell->slot || past->slot_time < since)
            continue;
        const struct uns_window *window = past->window ? &tracker->windows[past->window - 1] : NULL;
        for (uint32_t at = 0; window && at < window->used; at++)
            count = add_latest(out, count, cell->key, &window->slots[at]);
        const struct uns_slot last = latest(tracker, cell);
        count = add_latest(out, count, cell->key, &last);
    }
    return count;
}
