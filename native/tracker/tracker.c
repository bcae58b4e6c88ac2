/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/edges.h"
#include "runtime/busy.h"
#include <string.h>

int uns_tracker_init(struct uns_tracker *tracker, const struct uns_tracker_options *options,
                     uint64_t (*now)(void)) {
    memset(tracker, 0, sizeof *tracker);
    size_t count = UNS_CELLS;
    tracker->cells = uns_pages(count * sizeof *tracker->cells);
    tracker->histories = uns_pages(count * sizeof *tracker->histories);
    tracker->far_index = uns_pages(UNS_FAR_INDEX * sizeof *tracker->far_index);
    tracker->context_mask = (1u << UNS_CONTEXT_BITS * options->context_size) - 1;
    tracker->first_read = options->first_read;
    tracker->first_write = options->first_write;
    tracker->racy_lookup = options->racy_lookup;
    tracker->anti_edges = options->anti_edges;
    tracker->own_reads = options->own_reads && options->anti_edges;
    tracker->window_size = tracker->reach = options->window_size;
    if (tracker->own_reads && tracker->reach && tracker->reach < UNS_WINDOW_FINE)
        tracker->reach = UNS_WINDOW_FINE;
    if (tracker->window_size)
        tracker->windows = uns_pages(UNS_WINDOWS * sizeof *tracker->windows);
    tracker->now = now;
    tracker->stale = 1;
    int complete = tracker->cells && tracker->histories && tracker->far_index &&
                   (tracker->windows || !tracker->window_size);
    return complete ? 0 : -1;
}

static void choose_fast_paths(const struct uns_tracker *tracker, struct uns_tracked *t) {
    if (!tracker->window_size) {
        t->read_bit = tracker->first_read ? t->bit : 0;
        t->own_id = tracker->own_reads ? UINT32_MAX : t->id;
        t->write_id = tracker->first_write ? t->id : UINT32_MAX;
    } else if (tracker->first_read && tracker->first_write && !tracker->own_reads) {
        t->slot = t->id | UNS_SLOT_WRITE;
        t->read_slot = t->id;
    }
}

void uns_tracked_init(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t id,
                      uint32_t index) {
    memset(t, 0, sizeof *t);
    t->id = id;
    t->index = index;
    t->bit = 1ull << id;
    t->edges.row_size = sizeof(struct uns_edge_record);
    t->edges.key_size = UNS_KEY;
    t->patterns.row_size = sizeof(struct uns_pattern_record);
    /* Long free runs may have any number of threads; few patterns are worth as many rows. */
    t->patterns.key_size = tracker->own_reads ? UNS_KEY_THREADS : UNS_KEY;
    t->gaps = t->pairs = t->patterns;
    t->pairs.key_size = tracker->own_reads ? UNS_KEY_TIMES : 0;
    t->read_bit = 0;
    t->own_id = t->write_id = t->slot = t->read_slot = UINT32_MAX;
    t->write_mask = tracker->first_write == UNS_FIRST_WRITE_PAPER ? 0 : ~t->bit;
    /* Without racy look-up every access takes the lock first (Recon 5.4.2): no fast path. */
    if (tracker->racy_lookup && !tracker->tap)
        choose_fast_paths(tracker, t);
    if (UNS_UNLIKELY(tracker->tap != NULL)) {
        uns_busy();
        tracker->tap->begin(tracker, t, 0, id, UNS_EVENT_THREAD);
        tracker->tap->end();
        uns_idle();
    }
    tracker->live[id] = t;
}

static void lock_cell(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                      uint64_t key, enum uns_event_kind kind) {
    uns_busy();
    if (UNS_UNLIKELY(tracker->tap != NULL))
        tracker->tap->begin(tracker, t, point, key, kind);
    while (__atomic_test_and_set(&tracker->locks[key % UNS_LOCK_STRIPES], __ATOMIC_ACQUIRE))
        ;
}

static void unlock_cell(struct uns_tracker *tracker, uint64_t key) {
    __atomic_clear(&tracker->locks[key % UNS_LOCK_STRIPES], __ATOMIC_RELEASE);
    if (UNS_UNLIKELY(tracker->tap != NULL))
        tracker->tap->end();
    uns_idle();
}

/* Of the event under way. Who has heard it has asked already: its trace has the same time. */
static uint64_t time_of(const struct uns_tracker *tracker) {
    return UNS_UNLIKELY(tracker->tap != NULL) ? tracker->event_time : tracker->now();
}

static struct uns_history *history(const struct uns_tracker *tracker, const struct uns_cell *cell) {
    return &tracker->histories[cell - tracker->cells];
}

static void join_window(struct uns_tracker *tracker, struct uns_tracked *t, struct uns_cell *cell,
                        uint32_t point, int write, uint64_t now) {
    if (!tracker->window_size)
        return;
    cell->slot &= (uint8_t)~UNS_SLOT_MISSED;
    const struct uns_slot access = {
        .time = now, .point = point, .thread = (uint16_t)t->index, .write = (uint16_t)write};
    uns_window_add(tracker, t, cell, &access);
}

void uns_read_slow(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                   uint64_t key) {
    lock_cell(tracker, t, point, key, UNS_EVENT_READ);
    struct uns_cell *cell = uns_cell_find(tracker, t, key);
    struct uns_history *past = history(tracker, cell);
    int foreign = cell->writer && cell->writer != t->id;
    int repeated = (cell->sharers & t->bit) != 0,
        communicates = foreign && !(repeated && tracker->first_read);
    int own = cell->writer == t->id && tracker->own_reads;
    int noted = communicates || own || (!cell->writer && !repeated);
    uint64_t now = noted || tracker->window_size ? time_of(tracker) : 0;
    if (noted) {
        past->reader = access_now(t, point, now);
        cell->has_reader = 1;
    }
    if (communicates) {
        add_edge(t, key, &past->writer, &past->reader);
        push(tracker, t, UNS_LC_RD);
        if (tracker->live[cell->writer])
            push(tracker, tracker->live[cell->writer], UNS_RM_RD);
    }
    if (foreign || !cell->writer)
        cell->sharers |= t->bit;
    join_window(tracker, t, cell, point, 0, now);
    unlock_cell(tracker, key);
}

static void inform_readers(struct uns_tracker *tracker, struct uns_tracked *t, uint64_t others,
                           uint32_t writer) {
    push(tracker, t, UNS_LC_WR);
    if (writer && writer != t->id)
        others |= 1ull << writer;
    for (; others; others &= others - 1) {
        struct uns_tracked *other = tracker->live[__builtin_ctzll(others)];
        if (other)
            push(tracker, other, UNS_RM_WR);
    }
}

/* `quiet`: lock operations order threads, but show nothing of what they share. */
static void write_cell(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                       struct uns_cell *cell, uint64_t now, int quiet) {
    struct uns_history *past = history(tracker, cell);
    struct uns_access_record write = access_now(t, point, now);
    uint64_t others = cell->sharers & ~t->bit;
    int foreign = cell->writer && cell->writer != t->id;
    if (foreign)
        add_edge(t, cell->key, &past->writer, &write);
    /* From the latest read to the write that ends what it saw: "used before it was assigned" is
     * such a pair, and no other edge has its second half. */
    if (tracker->anti_edges && cell->has_reader && past->reader.index != t->index)
        add_edge(t, cell->key, &past->reader, &write);
    if ((foreign || others) && !quiet)
        inform_readers(tracker, t, others, cell->writer);
    past->writer = write;
    cell->writer = (uint8_t)t->id;
    cell->has_reader = 0;
    cell->sharers = 0;
}

static int skip_write(const struct uns_tracker *tracker, const struct uns_tracked *t,
                      const struct uns_cell *cell) {
    if (tracker->first_write == UNS_FIRST_WRITE_OFF || cell->writer != t->id)
        return 0;
    return tracker->first_write == UNS_FIRST_WRITE_PAPER || !(cell->sharers & ~t->bit);
}

void uns_write_slow(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                    uint64_t key) {
    lock_cell(tracker, t, point, key, UNS_EVENT_WRITE);
    struct uns_cell *cell = uns_cell_find(tracker, t, key);
    uint64_t now = time_of(tracker);
    if (!skip_write(tracker, t, cell))
        write_cell(tracker, t, point, cell, now, 0);
    join_window(tracker, t, cell, point, 1, now);
    unlock_cell(tracker, key);
}

/* Lock operations have no windows: which thread had a lock last is what locks are for. */
void uns_write_forced(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                      uint64_t key) {
    lock_cell(tracker, t, point, key, UNS_EVENT_FORCED);
    struct uns_cell *cell = uns_cell_find(tracker, t, key);
    if (UNS_UNLIKELY(cell->slot)) /* data, too: whoever was here last has missed this */
        cell->slot |= UNS_SLOT_MISSED;
    write_cell(tracker, t, point, cell, time_of(tracker), 1);
    unlock_cell(tracker, key);
}

static void void_cell(struct uns_tracker *tracker, struct uns_tracked *t, struct uns_cell *cell) {
    uns_window_end(tracker, t, cell);
    memset(&cell->sharers, 0, sizeof *cell - sizeof cell->key);
}

void uns_write_new(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                   uint64_t key) {
    lock_cell(tracker, t, point, key, UNS_EVENT_NEW);
    struct uns_cell *cell = uns_cell_find(tracker, t, key);
    uint64_t now = time_of(tracker);
    uns_window_end(tracker, t, cell);
    cell->writer = cell->slot = cell->has_reader = 0;
    cell->sharers = 0;
    write_cell(tracker, t, point, cell, now, 1);
    join_window(tracker, t, cell, point, 1, now);
    unlock_cell(tracker, key);
}

void uns_wait_forever(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                      uint64_t key) {
    lock_cell(tracker, t, point, key, UNS_EVENT_WAIT);
    struct uns_cell *cell = uns_cell_find(tracker, t, key);
    struct uns_access_record wait = access_now(t, point, time_of(tracker));
    if (cell->writer)
        add_edge(t, key, &history(tracker, cell)->writer, &wait);
    unlock_cell(tracker, key);
}

void uns_forget(struct uns_tracker *tracker, struct uns_tracked *t, uint64_t key) {
    /* Every word of every block that is allocated: most were never touched, and nobody else can
     * know the others yet. */
    if (UNS_UNLIKELY(tracker->tap != NULL) && !uns_cell_if_any(tracker, key))
        return;
    lock_cell(tracker, t, 0, key, UNS_EVENT_FORGET);
    struct uns_cell *cell = uns_cell_if_any(tracker, key);
    if (cell)
        void_cell(tracker, t, cell);
    unlock_cell(tracker, key);
}

int uns_touch(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t site, uint64_t key,
              uint8_t *shared_sites, uint32_t site_limit) {
    struct uns_cell *cell = uns_cell_find(tracker, t, key);
    if (cell->last_id && cell->last_id != t->id) {
        cell->shared = 1;
        if (cell->last_site < site_limit)
            shared_sites[cell->last_site] = 1;
    }
    cell->last_id = (uint16_t)t->id;
    cell->last_site = site;
    if (cell->shared && site < site_limit)
        shared_sites[site] = 1;
    return (int)cell->shared;
}
