/* SPDX-License-Identifier: Apache-2.0
 *
 * Which writes a read may have its value from. Only writes near the read are looked at: of those
 * that are known to precede it, each thread's last one hides the rest; those that are known to
 * follow it are no choice.
 *
 * "From w" is meant as: w precedes the read, and no write of another value comes between. So a
 * choice that is known to precede another one's last write need not be tried, either (adr 0020).
 */
#include "state.h"

/* The first write of the group that is not known to precede the event. */
int32_t uns_lower(const struct uns_state *s, const struct uns_group *g, int32_t event) {
    int32_t open = uns_first_open(&s->closure, event, g->thread);
    int32_t low = g->begin, high = g->end;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (s->writes[middle] < open)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first write of the group from `from` on that is known to follow the event. With clocks it is
 * near, so the steps grow from 1. */
static int32_t first_after(const struct uns_state *s, const struct uns_group *g, int32_t event,
                           int32_t from) {
    int32_t low = from, high = from, step = 1;
    if (g->thread == s->closure.thread[event])
        return from;
    while (high < g->end && !uns_is_before(&s->closure, event, s->writes[high])) {
        low = high + 1;
        high = step < g->end - high ? high + step : g->end;
        step *= 2;
    }
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (uns_is_before(&s->closure, event, s->writes[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Where the group's writes of a value begin, in `by_value`, from an event on. */
static int32_t first_of_value(const struct uns_state *s, const struct uns_group *g, uint64_t value,
                              int32_t from) {
    int32_t low = g->begin, high = g->end;
    while (low < high) {
        int32_t middle = low + (high - low) / 2, write = s->by_value[middle];
        uint64_t own = s->problem->value[write];
        if (own < value || (own == value && write < from))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void push_choice(struct uns_state *s, int32_t write) {
    if (s->choice_count == s->choice_room) {
        s->choice_room = 2 * s->choice_room + 16;
        s->choices = uns_pool_resize(s->pool, s->choices, (size_t)s->choice_room, sizeof(int32_t));
    }
    s->choices[s->choice_count++] = write;
    uns_pool_tick(s->pool);
}

/* The writes of the value that are known neither to precede the read nor to follow it. */
static void push_open_choices(struct uns_state *s, const struct uns_group *g,
                              const struct uns_span *span, uint64_t value) {
    int32_t first = s->writes[span->low], last = s->writes[span->high - 1];
    for (int32_t at = first_of_value(s, g, value, first);
         at < g->end && s->by_value[at] <= last && s->problem->value[s->by_value[at]] == value;
         at++)
        push_choice(s, s->by_value[at]);
}

static int is_hidden(const struct uns_state *s, const struct uns_group *groups, int32_t count,
                     int32_t write) {
    for (int32_t i = 0; i < count; i++) {
        if (s->spans[i].low == groups[i].begin)
            continue;
        int32_t last = s->writes[s->spans[i].low - 1];
        if (last != write && uns_is_before(&s->closure, write, last))
            return 1;
    }
    return 0;
}

/* Fills spans and choices; returns how many choices there are. */
int32_t uns_choices(struct uns_state *s, int32_t read) {
    int32_t cell = s->problem->cell[read], count = uns_group_count(s, cell);
    const struct uns_group *groups = uns_groups(s, cell);
    uint64_t value = s->problem->value[read];
    int preceded = 0;
    s->choice_count = 0;
    for (int32_t i = 0; i < count; i++) {
        s->spans[i].low = uns_lower(s, &groups[i], read);
        s->spans[i].high = first_after(s, &groups[i], read, s->spans[i].low);
        preceded |= s->spans[i].low > groups[i].begin;
    }
    for (int32_t i = 0; i < count; i++) {
        int32_t low = s->spans[i].low;
        if (low > groups[i].begin && s->problem->value[s->writes[low - 1]] == value &&
            !is_hidden(s, groups, count, s->writes[low - 1]))
            push_choice(s, s->writes[low - 1]);
        if (low < s->spans[i].high)
            push_open_choices(s, &groups[i], &s->spans[i], value);
    }
    if (!preceded && (!s->begun[cell] || s->initial[cell] == value))
        push_choice(s, UNS_INITIAL);
    return s->choice_count;
}
