/* SPDX-License-Identifier: Apache-2.0
 *
 * What both stores of cells (the table of tracker.c, the shadow memory of shadow.c) do when threads
 * communicate: an edge, and an event in the contexts of both.
 */
#ifndef UNSNARL_EDGES_H
#define UNSNARL_EDGES_H
#include "tracker/tracker.h"

static inline void push(const struct uns_tracker *tracker, struct uns_tracked *t,
                        enum uns_context_event event) {
    uint64_t context = __atomic_load_n(&t->context, __ATOMIC_RELAXED);
    __atomic_store_n(&t->context, (context << UNS_CONTEXT_BITS | event) & tracker->context_mask,
                     __ATOMIC_RELAXED);
}

static inline struct uns_access_record access_now(const struct uns_tracked *t, uint32_t point,
                                                  uint64_t now) {
    return (struct uns_access_record){
        .time = now, .point = point, .context = (uint16_t)t->context, .index = (uint16_t)t->index};
}

static inline uint32_t add_edges(struct uns_tracked *t, uint64_t cell,
                                 const struct uns_access_record *source,
                                 const struct uns_access_record *sink, uint32_t count) {
    const struct uns_edge_record edge = {
        .source_point = source->point,
        .sink_point = sink->point,
        .source_context = source->context,
        .sink_context = sink->context,
        .source_thread = source->index,
        .sink_thread = sink->index,
        .source_time = source->time,
        .sink_time = sink->time,
        .cell = cell,
        .count = count,
    };
    return uns_table_add(&t->edges, &edge);
}
static inline void add_edge(struct uns_tracked *t, uint64_t cell,
                            const struct uns_access_record *source,
                            const struct uns_access_record *sink) {
    add_edges(t, cell, source, sink, 1);
}
#endif
