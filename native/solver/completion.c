/* SPDX-License-Identifier: Apache-2.0
 *
 * Nothing is left to decide: does the order at hand answer the problem? What was too much to be
 * written down at once may be broken; it is written down now.
 */
#include "sat.h"
#include <string.h>

void uns_completion_init(struct uns_sat *sat) {
    const struct uns_order_problem *p = sat->s->problem;
    sat->last_write = UNS_NEW(sat->pool, int32_t, p->cells);
    sat->holder = UNS_NEW(sat->pool, int32_t, p->locks);
    sat->section_of = UNS_NEW(sat->pool, int32_t, p->events);
    memset(sat->section_of, -1, (size_t)p->events * sizeof(int32_t));
    for (int32_t i = 0; i < p->sections; i++) {
        sat->section_of[p->acquire[i]] = i;
        if (p->release[i] >= 0)
            sat->section_of[p->release[i]] = i;
    }
}

static int32_t lock_of(const struct uns_order_problem *p, int32_t section) {
    int32_t low = 0, high = p->locks;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        if (p->section_first[middle] <= section)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void hold(struct uns_sat *sat, int32_t event, int32_t section) {
    const struct uns_order_problem *p = sat->s->problem;
    int32_t *holder = &sat->holder[lock_of(p, section)];
    if (event == p->acquire[section]) {
        if (*holder >= 0) {
            UNS_PUSH(sat->pool, sat->overlaps, *holder);
            UNS_PUSH(sat->pool, sat->overlaps, section);
        }
        *holder = section;
    } else if (*holder == section) {
        *holder = -1;
    }
}

static void read_value(struct uns_sat *sat, int32_t read) {
    const struct uns_state *s = sat->s;
    int32_t write = sat->last_write[s->problem->cell[read]];
    if (sat->option_from[read] < 0 || write < 0 || !uns_differs(s, write, read))
        return;
    for (int32_t i = sat->option_from[read]; sat->options.at[i].chosen != UNS_FALSE_LIT; i++) {
        lit chosen = sat->options.at[i].chosen;
        if (chosen == UNS_TRUE_LIT || sat->value[chosen] > 0)
            UNS_PUSH(sat->pool, sat->misreads, ((struct uns_misread){read, i, write}));
    }
}

static void step(struct uns_sat *sat, int32_t event) {
    const struct uns_order_problem *p = sat->s->problem;
    if (p->access[event] == UNS_WRITES)
        sat->last_write[p->cell[event]] = event;
    else if (p->access[event] == UNS_READS)
        read_value(sat, event);
    if (sat->section_of[event] >= 0)
        hold(sat, event, sat->section_of[event]);
}

int uns_complete(struct uns_sat *sat) {
    const struct uns_order_problem *p = sat->s->problem;
    memset(sat->last_write, -1, (size_t)p->cells * sizeof(int32_t));
    memset(sat->holder, -1, (size_t)p->locks * sizeof(int32_t));
    sat->misreads.count = sat->overlaps.count = 0;
    for (int32_t i = 0; i < p->events; i++)
        step(sat, sat->at_rank[i]);
    if (!sat->misreads.count && !sat->overlaps.count)
        return 1;
    uns_thaw(sat);
    for (int64_t i = 0; i < sat->misreads.count; i++) {
        struct uns_misread m = sat->misreads.at[i];
        uns_encode_interference(sat, m.read, m.option, m.other);
    }
    for (int64_t i = 0; i < sat->overlaps.count; i += 2)
        uns_encode_exclusion(sat, sat->overlaps.at[i], sat->overlaps.at[i + 1]);
    return 0;
}
