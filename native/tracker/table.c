/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of edges and of patterns: private to a thread while it runs (Recon 5.2), merged at the
 * end. Rows lie densely, since they are most of what a run of many threads keeps; only the index is
 * sparse. Both start small and grow: a large table costs more in page faults than it saves in
 * probes.
 */
#define _GNU_SOURCE
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
    size_t count = UNS_CELLS;
    unmap(tracker->cells, count * sizeof *tracker->cells);
    unmap(tracker->histories, count * sizeof *tracker->histories);
    unmap(tracker->far_index, UNS_FAR_INDEX * sizeof *tracker->far_index);
    unmap(tracker->windows, UNS_WINDOWS * sizeof *tracker->windows);
    tracker->cells = NULL;
    tracker->histories = NULL;
    tracker->far_index = NULL;
    tracker->windows = NULL;
}

static void give_back(void *pages, size_t bytes) {
    if (pages)
        madvise(pages, bytes, MADV_DONTNEED);
}

/* Pages that were touched are given back, and read as zeros: what a short burst costs is what it
 * touched, not the size of the tables. */
void uns_tracker_clear(struct uns_tracker *tracker) {
    size_t count = UNS_CELLS;
    give_back(tracker->cells, count * sizeof *tracker->cells);
    give_back(tracker->histories, count * sizeof *tracker->histories);
    give_back(tracker->far_index, UNS_FAR_INDEX * sizeof *tracker->far_index);
    give_back(tracker->windows, UNS_WINDOWS * sizeof *tracker->windows);
    memset(tracker->live, 0, sizeof tracker->live);
    tracker->far_used = tracker->windows_used = 0;
    tracker->evicted = 0;
}

static size_t most_rows(uint32_t capacity) {
    return capacity - capacity / 4;
}

void uns_table_free(struct uns_table *table) {
    unmap(table->rows, most_rows(table->capacity) * table->row_size);
    unmap(table->index, table->capacity * sizeof *table->index);
    table->rows = NULL;
    table->index = NULL;
    table->capacity = table->used = 0;
}

static struct row *row_at(const struct uns_table *table, uint32_t at) {
    return (struct row *)(table->rows + (size_t)at * table->row_size);
}

static uint64_t hash_of(const struct uns_table *table, const struct row *row) {
    uint64_t hash = uns_mix(uns_mix((uint64_t)row->key[0] << 32 | row->key[1]) + row->key[2]);
    if (table->key_size >= UNS_KEY_THREADS)
        hash = uns_mix(hash + row->threads);
    return table->key_size == UNS_KEY_TIMES
               ? uns_mix(uns_mix(hash + row->first_time) + row->second_time)
               : hash;
}

/* Where the index says which row it is, or would. */
static uint32_t *find(const struct uns_table *table, const struct row *wanted) {
    uint32_t at = (uint32_t)hash_of(table, wanted) & (table->capacity - 1);
    for (uint32_t row; (row = table->index[at]); at = (at + 1) & (table->capacity - 1))
        if (memcmp(row_at(table, row - 1)->key, wanted->key, table->key_size) == 0)
            break;
    return &table->index[at];
}

/* Moved, not copied: there are never two tables in memory. */
static char *stretched(char *pages, size_t from, size_t to) {
    if (!pages)
        return uns_pages(to);
    pages = mremap(pages, from, to, MREMAP_MAYMOVE);
    return pages == MAP_FAILED ? NULL : pages;
}

static int grow(struct uns_table *table) {
    uint32_t from = table->capacity, to = from ? from * 2 : UNS_ROWS_START;
    if (to > UNS_ROWS_MAX)
        return -1;
    uint32_t *index = uns_pages(to * sizeof *index);
    char *rows = index ? stretched(table->rows, most_rows(from) * table->row_size,
                                   most_rows(to) * table->row_size)
                       : NULL;
    if (!rows) {
        unmap(index, to * sizeof *index);
        return -1;
    }
    unmap(table->index, from * sizeof *index);
    table->rows = rows;
    table->index = index;
    table->capacity = to;
    for (uint32_t i = 0; i < table->used; i++)
        *find(table, row_at(table, i)) = i + 1;
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
static void repeat(const struct uns_table *table, struct row *row, const struct row *new) {
    const struct row old = *row;
    if (is_later(table, new, row))
        memcpy(row, new, table->row_size);
    row->count = old.count + new->count;
    row->kind = old.kind < new->kind ? old.kind : new->kind;
    row->span = old.span < new->span ? old.span : new->span;
}

uint32_t uns_table_add(struct uns_table *table, const void *added) {
    uint32_t *found = table->capacity ? find(table, added) : NULL;
    if (!found || (!*found && table->used == most_rows(table->capacity))) {
        if (grow(table) < 0) {
            table->dropped++;
            return UINT32_MAX;
        }
        found = find(table, added);
    }
    if (*found) {
        repeat(table, row_at(table, *found - 1), added);
        return *found - 1;
    }
    memcpy(row_at(table, table->used), added, table->row_size);
    *found = ++table->used;
    return table->used - 1;
}

void uns_table_merge(struct uns_table *into, const struct uns_table *from) {
    into->row_size = from->row_size;
    into->key_size = from->key_size;
    for (uint32_t i = 0; i < from->used; i++)
        uns_table_add(into, row_at(from, i));
    into->dropped += from->dropped;
}
