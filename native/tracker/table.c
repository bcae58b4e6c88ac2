/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of edges and of patterns: open addressing, private to a thread while it runs (Recon 5.2),
 * merged at the end. They start small and grow: a large table costs more in page faults than it
 * saves in probes.
 */
#include <string.h>
#include <sys/mman.h>
#include "tracker/tracker.h"

/* How the rows of both kinds begin. */
struct row {
    uint32_t key[3], threads;
    uint64_t first_time, second_time, cell;
    uint32_t count;
    uint16_t kind, span; /* of a pattern */
};
_Static_assert(sizeof(struct row) == sizeof(struct uns_edge_record), "an edge is a row");
_Static_assert(offsetof(struct row, second_time) == offsetof(struct uns_edge_record, sink_time) &&
                   offsetof(struct row, count) == offsetof(struct uns_edge_record, count),
               "edge");
_Static_assert(offsetof(struct row, second_time) ==
                       offsetof(struct uns_pattern_record, other_time) &&
                   offsetof(struct row, count) == offsetof(struct uns_pattern_record, count),
               "pattern");

void *uns_pages(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *pages, size_t bytes) {
    if (pages)
        munmap(pages, bytes);
}

void uns_tracker_free(struct uns_tracker *tracker) {
    size_t count = UNS_CELL_MASK + 1 + UNS_CELL_WAYS;
    unmap(tracker->cells, count * sizeof *tracker->cells);
    unmap(tracker->histories, count * sizeof *tracker->histories);
    unmap(tracker->windows, count * sizeof *tracker->windows);
    tracker->cells = NULL;
    tracker->histories = NULL;
    tracker->windows = NULL;
}

void uns_table_free(struct uns_table *table) {
    unmap(table->rows, (size_t)table->capacity * table->row_size);
    table->rows = NULL;
    table->capacity = table->used = 0;
}

static struct row *row_at(const struct uns_table *table, uint32_t at) {
    return (struct row *)(table->rows + (size_t)at * table->row_size);
}

uint32_t uns_row_count(const void *row) {
    return ((const struct row *)row)->count;
}

static struct row *find(const struct uns_table *table, const struct row *wanted) {
    const uint32_t *key = wanted->key;
    uint64_t hash = uns_mix(uns_mix((uint64_t)key[0] << 32 | key[1]) + key[2]);
    if (table->key_size >= UNS_KEY_THREADS)
        hash = uns_mix(hash + wanted->threads);
    if (table->key_size == UNS_KEY_TIME)
        hash = uns_mix(hash + wanted->first_time);
    uint32_t at = (uint32_t)hash & (table->capacity - 1);
    while (row_at(table, at)->count && memcmp(row_at(table, at)->key, key, table->key_size) != 0)
        at = (at + 1) & (table->capacity - 1);
    return row_at(table, at);
}

static int grow(struct uns_table *table) {
    struct uns_table bigger = {.row_size = table->row_size,
                               .key_size = table->key_size,
                               .capacity = table->capacity ? table->capacity * 2 : UNS_ROWS_START};
    if (bigger.capacity > UNS_ROWS_MAX)
        return -1;
    bigger.rows = uns_pages((size_t)bigger.capacity * bigger.row_size);
    if (!bigger.rows)
        return -1;
    for (uint32_t i = 0; i < table->capacity; i++)
        if (row_at(table, i)->count)
            memcpy(find(&bigger, row_at(table, i)), row_at(table, i), table->row_size);
    unmap(table->rows, (size_t)table->capacity * table->row_size);
    table->rows = bigger.rows;
    table->capacity = bigger.capacity;
    return 0;
}

/* Two patterns may share an access: the other times decide, whichever table comes first. */
static int is_later(const struct uns_table *table, const struct row *new, const struct row *old) {
    if (new->second_time != old->second_time)
        return new->second_time > old->second_time;
    if (new->first_time != old->first_time || table->row_size == sizeof(struct row))
        return new->first_time >= old->first_time;
    return ((const struct uns_pattern_record *)new)->last_time >=
           ((const struct uns_pattern_record *)old)->last_time;
}

/* Only the latest times are kept (Recon 3.1, "lossy timestamps"). */
uint32_t uns_table_add(struct uns_table *table, const void *added) {
    if (table->used * 2 >= table->capacity && grow(table) < 0 && table->used == table->capacity) {
        table->dropped++;
        return UINT32_MAX;
    }
    const struct row *new = added;
    struct row *row = find(table, new), old = *row;
    if (!old.count) {
        table->used++;
        old = *new;
        old.count = 0;
    }
    if (!old.count || is_later(table, new, row))
        memcpy(row, new, table->row_size);
    row->count = old.count + new->count;
    row->kind = old.kind < new->kind ? old.kind : new->kind;
    row->span = old.span < new->span ? old.span : new->span;
    return (uint32_t)(((char *)row - table->rows) / table->row_size);
}

void uns_table_merge(struct uns_table *into, const struct uns_table *from) {
    into->row_size = from->row_size;
    into->key_size = from->key_size;
    for (uint32_t i = 0; i < from->capacity; i++)
        if (row_at(from, i)->count)
            uns_table_add(into, row_at(from, i));
    into->dropped += from->dropped;
}
