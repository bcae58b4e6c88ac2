/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables, and which one to decide next: the most active, of equals the earliest. So an
 * undisturbed search goes through the run from its beginning, and conflicts stay where they arose.
 */
#include "sat.h"

static void make_room(struct uns_sat *sat) {
    struct uns_pool *pool = sat->pool;
    size_t room = (size_t)(sat->room = 2 * sat->room + 1024);
    sat->value = uns_pool_resize(pool, sat->value, 2 * room, sizeof *sat->value);
    sat->source = uns_pool_resize(pool, sat->source, 2 * room, sizeof *sat->source);
    sat->sink = uns_pool_resize(pool, sat->sink, 2 * room, sizeof *sat->sink);
    sat->watches = uns_pool_resize(pool, sat->watches, 2 * room, sizeof *sat->watches);
    sat->level = uns_pool_resize(pool, sat->level, room, sizeof *sat->level);
    sat->reason = uns_pool_resize(pool, sat->reason, room, sizeof *sat->reason);
    sat->phase = uns_pool_resize(pool, sat->phase, room, sizeof *sat->phase);
    sat->seen = uns_pool_resize(pool, sat->seen, room, sizeof *sat->seen);
    sat->activity = uns_pool_resize(pool, sat->activity, room, sizeof *sat->activity);
    sat->when = uns_pool_resize(pool, sat->when, room, sizeof *sat->when);
    sat->heap_position =
        uns_pool_resize(pool, sat->heap_position, room, sizeof *sat->heap_position);
}

int32_t uns_new_variable(struct uns_sat *sat, double when) {
    if (sat->variables == sat->room)
        make_room(sat);
    int32_t v = sat->variables++;
    sat->answer->variables++;
    for (lit a = 2 * v; a <= 2 * v + 1; a++) {
        sat->value[a] = 0;
        sat->source[a] = sat->sink[a] = -1;
        sat->watches[a] = (uns_watches){0};
    }
    sat->level[v] = 0;
    sat->reason[v] = UNS_NO_CLAUSE;
    sat->phase[v] = 1;
    sat->seen[v] = 0;
    sat->activity[v] = 0;
    sat->when[v] = when;
    sat->heap_position[v] = -1;
    uns_heap_put(sat, v);
    return v;
}

static int is_first(const struct uns_sat *sat, int32_t a, int32_t b) {
    if (sat->activity[a] != sat->activity[b])
        return sat->activity[a] > sat->activity[b];
    return sat->when[a] < sat->when[b] || (sat->when[a] == sat->when[b] && a < b);
}

static void heap_set(struct uns_sat *sat, int64_t at, int32_t v) {
    sat->heap.at[at] = v;
    sat->heap_position[v] = (int32_t)at;
}

static void heap_up(struct uns_sat *sat, int64_t at) {
    int32_t v = sat->heap.at[at];
    for (; at && is_first(sat, v, sat->heap.at[(at - 1) / 2]); at = (at - 1) / 2)
        heap_set(sat, at, sat->heap.at[(at - 1) / 2]);
    heap_set(sat, at, v);
}

static void heap_down(struct uns_sat *sat, int64_t at) {
    int32_t v = sat->heap.at[at];
    for (int64_t child; (child = 2 * at + 1) < sat->heap.count; at = child) {
        if (child + 1 < sat->heap.count &&
            is_first(sat, sat->heap.at[child + 1], sat->heap.at[child]))
            child++;
        if (!is_first(sat, sat->heap.at[child], v))
            break;
        heap_set(sat, at, sat->heap.at[child]);
    }
    heap_set(sat, at, v);
}

void uns_heap_put(struct uns_sat *sat, int32_t v) {
    if (sat->heap_position[v] >= 0)
        return;
    UNS_PUSH(sat->pool, sat->heap, v);
    heap_up(sat, sat->heap.count - 1);
}

/* The next variable without a value, or -1. */
int32_t uns_heap_take(struct uns_sat *sat) {
    while (sat->heap.count) {
        int32_t v = sat->heap.at[0], last = sat->heap.at[--sat->heap.count];
        sat->heap_position[v] = -1;
        if (sat->heap.count) {
            heap_set(sat, 0, last);
            heap_down(sat, 0);
        }
        if (!sat->value[2 * v])
            return v;
    }
    return -1;
}

void uns_bump(struct uns_sat *sat, int32_t v) {
    if ((sat->activity[v] += sat->increment) > 1e100) {
        for (int32_t i = 0; i < sat->variables; i++)
            sat->activity[i] *= 1e-100;
        sat->increment *= 1e-100;
    }
    if (sat->heap_position[v] >= 0)
        heap_up(sat, sat->heap_position[v]);
}
