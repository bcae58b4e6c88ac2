/* SPDX-License-Identifier: Apache-2.0
 *
 * Who writes which cell: counted and placed, since events come thread by thread.
 */
#define _GNU_SOURCE
#include "state.h"
#include <stdlib.h>
#include <string.h>

static int32_t *ends_by_cell(struct uns_state *s) {
    const struct uns_order_problem *p = s->problem;
    int32_t *ends = UNS_NEW(s->pool, int32_t, p->cells + 1);
    for (int32_t e = 0; e < p->events; e++)
        if (p->access[e] == UNS_WRITES)
            ends[p->cell[e] + 1]++;
    for (int32_t c = 0; c < p->cells; c++)
        ends[c + 1] += ends[c];
    return ends;
}

static void sort_writes(struct uns_state *s, int32_t *next) {
    const struct uns_order_problem *p = s->problem;
    s->writes = UNS_NEW(s->pool, int32_t, p->events);
    for (int32_t e = 0; e < p->events; e++)
        if (p->access[e] == UNS_WRITES)
            s->writes[next[p->cell[e]]++] = e;
}

/* After placing, next[c] is the end of cell c. */
static void group_writes(struct uns_state *s, const int32_t *next) {
    const struct uns_order_problem *p = s->problem;
    UNS_ARRAY(struct uns_group) groups = {0};
    s->group_from = UNS_NEW(s->pool, int32_t, p->cells + 1);
    int32_t most = 0;
    for (int32_t c = 0, i = 0; c < p->cells; c++) {
        s->group_from[c] = (int32_t)groups.count;
        for (int32_t last = -1; i < next[c]; i++) {
            int32_t thread = s->closure.thread[s->writes[i]];
            if (thread != last)
                UNS_PUSH(s->pool, groups, ((struct uns_group){thread, i, i}));
            groups.at[groups.count - 1].end = i + 1;
            last = thread;
        }
        int32_t count = (int32_t)groups.count - s->group_from[c];
        most = count > most ? count : most;
    }
    s->group_from[p->cells] = (int32_t)groups.count;
    s->groups = groups.at;
    s->spans = UNS_NEW(s->pool, struct uns_span, most + 1);
}

static int by_value_and_time(const void *a, const void *b, void *values) {
    int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;
    const uint64_t *value = values;
    if (value[one] != value[other])
        return value[one] < value[other] ? -1 : 1;
    return one < other ? -1 : one > other;
}

static void sort_by_value(struct uns_state *s) {
    const struct uns_order_problem *p = s->problem;
    s->by_value = UNS_NEW(s->pool, int32_t, p->events);
    if (p->events)
        memcpy(s->by_value, s->writes, (size_t)p->events * sizeof *s->writes);
    for (int32_t i = 0; i < s->group_from[p->cells]; i++) {
        const struct uns_group *g = &s->groups[i];
        qsort_r(s->by_value + g->begin, (size_t)(g->end - g->begin), sizeof *s->by_value,
                by_value_and_time, (void *)p->value);
    }
}

void uns_index_init(struct uns_state *s) {
    const struct uns_order_problem *p = s->problem;
    int32_t *next = ends_by_cell(s);
    sort_writes(s, next);
    group_writes(s, next);
    sort_by_value(s);
    uns_pool_drop(s->pool, next);
    s->begun = UNS_NEW(s->pool, uint8_t, p->cells);
    s->initial = UNS_NEW(s->pool, uint64_t, p->cells);
    if (p->cells) {
        memcpy(s->begun, p->begun, (size_t)p->cells);
        memcpy(s->initial, p->initial, (size_t)p->cells * sizeof *s->initial);
    }
    for (int32_t e = 0; e < p->events; e++)
        if (p->access[e] == UNS_READS)
            UNS_PUSH(s->pool, s->reads, e);
}
