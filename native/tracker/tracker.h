/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracker turns accesses into a timestamped, context-aware communication graph
 * (Recon 3.1, 5.1, 5.2, 5.4; Bugaboo 4.1) and into access patterns (Falcon 3.1). It knows nothing
 * of locks, schedules or Python; the same code runs online in the target and offline over a stream
 * of events. Its oracle is tests/conformance/tracker_twin.py.
 */
#ifndef UNSNARL_TRACKER_H
#define UNSNARL_TRACKER_H
#include <stddef.h>
#include <stdint.h>
#include "unsnarl/rt.h"

#define UNS_LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNS_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Ids 1..63 are live threads (recycled, 63 shared when there are more); 0 is "no writer". */
#define UNS_LIVE_IDS    64
#define UNS_CELL_WAYS   4
#define UNS_NEAR_CELLS  (UNS_CELL_MASK + 1 + UNS_CELL_WAYS)
#define UNS_FAR_CELLS   (1u << 19)
#define UNS_FAR_INDEX   (2 * UNS_FAR_CELLS)
#define UNS_CELLS       (UNS_NEAR_CELLS + UNS_FAR_CELLS)
#define UNS_WINDOWS     (1u << 17) /* the largest part of what is kept: about 1 KB each */
#define UNS_ROWS_START  64
#define UNS_KEY         12
#define UNS_KEY_THREADS 16
#define UNS_KEY_TIMES   32
#define UNS_PAIRS_MOST  4096
#define UNS_ROWS_MAX    (1u << 20)
/* Where every access comes by, readers in turn fill a window before the writer comes. */
#define UNS_WINDOW_FINE  16
#define UNS_LOCK_STRIPES 256

/* 0 is no event: a context that is still empty is not one of local reads (Bugaboo, figure 5). */
enum uns_context_event { UNS_LC_RD = 1, UNS_LC_WR = 2, UNS_RM_RD = 3, UNS_RM_WR = 4 };
#define UNS_CONTEXT_BITS 3 /* of one event */
_Static_assert(UNS_CONTEXT_MAX *UNS_CONTEXT_BITS <= 15, "a uint16_t in edges; a bit of traces");

/* What the fast paths look at: two cells to a cache line. */
struct uns_cell {
    uint64_t key;     /* 0: free */
    uint64_t sharers; /* bits of the live ids that read since the last write */
    uint8_t writer;   /* live id, 0: none */
    uint8_t slot;     /* the window's latest slot: live id, UNS_SLOT_WRITE if it wrote; 0: none */
    uint8_t shared;   /* two threads touched it */
    uint8_t has_reader;
    uint16_t slot_thread;
    uint16_t last_id;    /* who asked for it last, at the gate, */
    uint32_t last_site;  /* ... and where */
    uint32_t slot_point; /* a thread's accesses in a row are one slot (Falcon 3.1) */
};
_Static_assert(sizeof(struct uns_cell) == 32, "two cells are one cache line");

/* What only communication needs: the last write, and the latest communicating read since. */
struct uns_access_record {
    uint64_t time;
    uint32_t point;
    uint16_t context, index;
};
struct uns_history {
    struct uns_access_record writer, reader;
    uint64_t slot_time, early_time, late_time, wrote_time;
    uint32_t early, late, wrote; /* see struct uns_slot */
    uint32_t window;             /* index in tracker.windows + 1; 0: only one thread so far */
    uint64_t early_is_write;
};
_Static_assert(sizeof(struct uns_history) == 88, "history");

/* The slots of a cell before the latest one, oldest first. */
#define UNS_SLOT_WRITE  0x80u
#define UNS_SLOT_MISSED 0x40u /* a lock operation came after it: no fast path */
struct uns_slot {
    uint64_t time;
    uint32_t point;
    uint16_t thread;
    uint8_t write, early_is_write;
    /* What the slot's own rule drops: the thread's first access, its read after its write, and its
     * first write if that was neither. */
    uint64_t early_time, late_time, wrote_time;
    uint32_t early, late, wrote; /* points, 0: none */
};
struct uns_window {
    uint32_t cell, used;
    struct uns_slot slots[UNS_WINDOW_MAX];
};

/* Edges or patterns: both begin with a key of 12 bytes, then two threads (format.h). */
struct uns_table {
    char *rows;      /* `used` of them, in the order of their coming */
    uint32_t *index; /* where a key's row is, and 1; 0: free */
    uint32_t row_size, key_size, capacity, used;
    uint64_t dropped;
};

/* A pair of points that communicate, as one thread saw it (shadow.c). */
#define UNS_OFTEN_LOG 8
struct uns_often {
    uint64_t key;   /* source << 32 | sink */
    uint64_t count; /* until now, but for those since the latest look */
    uint32_t left;  /* until the next look, */
    uint32_t step;  /* ... of so many */
    uint32_t row;   /* of its latest edge */
};

/* Hears every event just before the tracker takes it, in the one order in which it takes them: from
 * `begin` to `end` there is no other. There are no fast paths then. */
struct uns_tracker;
struct uns_tracked;
struct uns_tap {
    void (*begin)(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point, uint64_t key,
                  enum uns_event_kind kind);
    void (*end)(void);
};

/* What the tracker keeps of a thread; hot fields first. */
struct uns_tracked {
    uint64_t bit, read_bit, write_mask;
    uint32_t id, own_id, write_id, index;
    uint32_t slot, read_slot; /* what a cell's slot says after our write, our read */
    uint32_t remote;          /* its latest access found another thread's before it */
    uint64_t address;         /* of its next access, for the tap; 0: it has none */
    struct uns_table edges, patterns;
    struct uns_table gaps;  /* patterns of kinds UNREAD and REREAD: their threads alternate not */
    struct uns_table pairs; /* patterns of two accesses, each time anew: the first UNS_PAIRS_MOST */
    uint64_t time;          /* of its latest communication, */
    uint32_t stale;         /* ... and how many writes have been given it since (shadow.c) */
    struct uns_often often[1 << UNS_OFTEN_LOG];
    /* Written by other threads on every communication: a line of its own. */
    _Alignas(64) uint64_t context;
};

struct uns_tracker {
    struct uns_cell *cells;
    struct uns_history *histories; /* same index */
    uint32_t *far_index; /* of the cells that lie far from their homes; 0: free (cells.c) */
    uint64_t context_mask, evicted;
    uint32_t far_used;
    char far_lock;
    int first_read, first_write, racy_lookup, anti_edges, own_reads;
    struct uns_window *windows; /* of the cells that two threads touched */
    uint32_t windows_used, window_size, reach;
    uint32_t stale; /* writes in a row that may have one time (shadow.c) */
    struct uns_tracked *live[UNS_LIVE_IDS];
    uint64_t (*now)(void);
    const struct uns_tap *tap; /* NULL: nobody listens */
    uint64_t event_time;       /* ... the time of the event that it heard last */
    char locks[UNS_LOCK_STRIPES];
};

UNS_API int uns_tracker_init(struct uns_tracker *tracker, const struct uns_tracker_options *options,
                             uint64_t (*now)(void));
UNS_API void uns_tracker_free(struct uns_tracker *tracker);
/* As it was before the first access; its threads have to be initialised anew. Nobody may be in it.
 */
UNS_API void uns_tracker_clear(struct uns_tracker *tracker);
UNS_API void uns_tracked_init(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t id,
                              uint32_t index);
UNS_API void uns_read_slow(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                           uint64_t key);
UNS_API void uns_write_slow(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                            uint64_t key);
/* A write that is never skipped: lock operations, whose latest point must be the source. */
UNS_API void uns_write_forced(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                              uint64_t key);
/* An acquire that never came back: an edge from the cell's last writer, whoever that was. */
UNS_API void uns_wait_forever(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                              uint64_t key);
/* The first write to a cell whose object was just made: what was known of it is void. */
UNS_API void uns_write_new(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                           uint64_t key);
/* The object behind the cell was made anew: what was known of its address is void. */
UNS_API void uns_forget(struct uns_tracker *tracker, struct uns_tracked *t, uint64_t key);
/* Notes who touched the cell; returns whether two threads have. Marks sites in `shared_sites`. */
UNS_API int uns_touch(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t site,
                      uint64_t key, uint8_t *shared_sites, uint32_t site_limit);

/* cells.c: the cell of a key, made if there is none yet; the cell if there is one, else NULL; how
 * many there may be. */
UNS_API struct uns_cell *uns_cell_find(struct uns_tracker *tracker, struct uns_tracked *t,
                                       uint64_t key);
UNS_API struct uns_cell *uns_cell_if_any(const struct uns_tracker *tracker, uint64_t key);
UNS_API uint32_t uns_cells_used(const struct uns_tracker *tracker);

/* windows.c: an access joins its cell's window; a window that is full gives a pattern. */
UNS_API void uns_window_add(struct uns_tracker *tracker, struct uns_tracked *t,
                            struct uns_cell *cell, const struct uns_slot *access);
/* The end of a cell's window: whatever patterns are still in it. */
UNS_API void uns_window_end(struct uns_tracker *tracker, struct uns_tracked *t,
                            struct uns_cell *cell);
UNS_API void uns_windows_end(struct uns_tracker *tracker, struct uns_tracked *t);
/* The accesses that windows still have, cell by cell, each cell's oldest first. Of many cells those
 * that were touched last. Returns how many `room` has been given. */
UNS_API uint32_t uns_windows_latest(const struct uns_tracker *tracker, struct uns_trace_record *out,
                                    uint32_t room);

/* Which row it is; UINT32_MAX: dropped. */
UNS_API uint32_t uns_table_add(struct uns_table *table, const void *row);
UNS_API void uns_table_merge(struct uns_table *into, const struct uns_table *from);
UNS_API void uns_table_free(struct uns_table *table);
UNS_API void *uns_pages(size_t bytes);

static inline uint64_t uns_mix(uint64_t x) {
    x *= 0x9E3779B97F4A7C15ull;
    return x ^ x >> 32;
}

static inline struct uns_cell *uns_cell_at(const struct uns_tracker *tracker, uint64_t key) {
    return &tracker->cells[key >> 8 & UNS_CELL_MASK];
}

/* The two fast paths: this thread does nothing new to this cell. With windows, because
 * it touched the cell last (so the window has its slot); without, because it knows what is there.
 */
static inline int uns_knows_read(const struct uns_cell *cell, const struct uns_tracked *t,
                                 uint64_t key) {
    return cell->key == key && ((cell->slot | UNS_SLOT_WRITE) == t->slot ||
                                cell->writer == t->own_id || (cell->sharers & t->read_bit));
}

static inline int uns_knows_write(const struct uns_cell *cell, const struct uns_tracked *t,
                                  uint64_t key) {
    return cell->key == key && (cell->slot == t->slot ||
                                (cell->writer == t->write_id && !(cell->sharers & t->write_mask)));
}

/* ... but for the point: a slot is where its thread was last, and a read leaves a write alone. */
static inline void uns_repeat(struct uns_cell *cell, const struct uns_tracked *t, uint32_t point,
                              int write) {
    if (write || cell->slot == t->read_slot)
        cell->slot_point = point;
}

static inline void uns_read(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                            uint64_t key) {
    struct uns_cell *cell = uns_cell_at(tracker, key);
    if (UNS_LIKELY(uns_knows_read(cell, t, key)))
        uns_repeat(cell, t, point, 0);
    else
        uns_read_slow(tracker, t, point, key);
}

static inline void uns_write(struct uns_tracker *tracker, struct uns_tracked *t, uint32_t point,
                             uint64_t key) {
    struct uns_cell *cell = uns_cell_at(tracker, key);
    if (UNS_LIKELY(uns_knows_write(cell, t, key)))
        uns_repeat(cell, t, point, 1);
    else
        uns_write_slow(tracker, t, point, key);
}
#endif
