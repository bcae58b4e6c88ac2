/* SPDX-License-Identifier: Apache-2.0
 *
 * Edge tables: open addressing, private to a thread while it runs (Recon 5.2), merged at the end.
 * They start small and grow: a large table costs more in page faults than it saves in probes.
 */
#include "tracker/tracker.h"
#include <string.h>
#include <sys/mman.h>

void *uns_pages(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void uns_tracker_free(struct uns_tracker *tracker) {
    size_t count = UNS_CELL_MASK + 1 + UNS_CELL_WAYS;
    if (tracker->cells)
        munmap(tracker->cells, count * sizeof *tracker->cells);
    if (tracker->histories)
        munmap(tracker->histories, count * sizeof *tracker->histories);
    tracker->cells = NULL;
    tracker->histories = NULL;
}

void uns_edges_free(struct uns_edge_table *table) {
    if (table->rows)
        munmap(table->rows, table->capacity * sizeof *table->rows);
    memset(table, 0, sizeof *table);
}

static uint64_t edge_hash(const struct uns_edge_record *edge) {
    uint64_t points = (uint64_t)edge->source_point << 32 | edge->sink_point;
    uint64_t contexts = (uint64_t)edge->source_context << 16 | edge->sink_context;
    return uns_mix(points ^ uns_mix(contexts + 1));
}

static int same_edge(const struct uns_edge_record *a, const struct uns_edge_record *b) {
    return a->source_point == b->source_point && a->sink_point == b->sink_point &&
           a->source_context == b->source_context && a->sink_context == b->sink_context;
}

static struct uns_edge_record *slot(const struct uns_edge_table *table,
                                    const struct uns_edge_record *edge) {
    uint32_t at = (uint32_t)edge_hash(edge) & (table->capacity - 1);
    while (table->rows[at].count && !same_edge(&table->rows[at], edge))
        at = (at + 1) & (table->capacity - 1);
    return &table->rows[at];
}

static int grow(struct uns_edge_table *table) {
    struct uns_edge_table bigger = {.capacity =
                                        table->capacity ? table->capacity * 2 : UNS_EDGES_START};
    if (bigger.capacity > UNS_EDGES_MAX)
        return -1;
    bigger.rows = uns_pages(bigger.capacity * sizeof *bigger.rows);
    if (!bigger.rows)
        return -1;
    for (uint32_t i = 0; i < table->capacity; i++)
        if (table->rows[i].count)
            *slot(&bigger, &table->rows[i]) = table->rows[i];
    if (table->rows)
        munmap(table->rows, table->capacity * sizeof *table->rows);
    table->rows = bigger.rows;
    table->capacity = bigger.capacity;
    return 0;
}

/* Only the latest pair of timestamps is kept (Recon 3.1, "lossy timestamps"). */
void uns_edges_add(struct uns_edge_table *table, const struct uns_edge_record *edge) {
    if (table->used * 2 >= table->capacity && grow(table) < 0 && table->used == table->capacity) {
        table->dropped++;
        return;
    }
    struct uns_edge_record *row = slot(table, edge);
    uint32_t count = row->count;
    if (!count)
        table->used++;
    if (edge->sink_time >= row->sink_time)
        *row = *edge;
    row->count = count + edge->count;
}

void uns_edges_merge(struct uns_edge_table *into, const struct uns_edge_table *from) {
    for (uint32_t i = 0; i < from->capacity; i++)
        if (from->rows[i].count)
            uns_edges_add(into, &from->rows[i]);
    into->dropped += from->dropped;
}
