/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables and clauses of what saturation left open. Of a read and one of its choices, each write
 * of another value is before the chosen one or after the read; only writes that are not known to be
 * out of the way are written down, so with clocks there are few, whatever the length of the run.
 */
#include "sat.h"
#include <string.h>
#define MOST_AT_ONCE 64 /* of one choice; more are added when an order breaks them */

void uns_encode_interference(struct uns_sat *sat, int32_t read, int64_t option, int32_t other) {
    struct uns_option o = sat->options.at[option];
    lit clause[3];
    int32_t size = 0;
    if (o.chosen >= 0)
        clause[size++] = uns_not(o.chosen);
    if (o.write != UNS_INITIAL)
        clause[size++] = uns_order_lit(sat, other, o.write);
    clause[size++] = uns_order_lit(sat, read, other);
    uns_clause_add(sat, clause, size);
    uns_pool_tick(sat->pool);
}

static void encode_interferences(struct uns_sat *sat, int32_t read, int64_t option) {
    const struct uns_state *s = sat->s;
    int32_t write = sat->options.at[option].write, cell = s->problem->cell[read], written = 0;
    const struct uns_group *groups = uns_groups(s, cell);
    for (int32_t i = 0; i < uns_group_count(s, cell); i++) {
        int32_t at = write == UNS_INITIAL ? groups[i].begin : uns_lower(s, &groups[i], write);
        for (; at < s->spans[i].high && written < MOST_AT_ONCE; at++) {
            if (!uns_differs(s, s->writes[at], read))
                continue;
            uns_encode_interference(sat, read, option, s->writes[at]);
            written++;
            if (write == UNS_INITIAL)
                break; /* the thread's other writes come later still */
        }
    }
}

/* A free first value is one value: reads of two cannot both have it. */
static void encode_first_value(struct uns_sat *sat, int32_t read, lit chosen) {
    int32_t cell = sat->s->problem->cell[read], at = sat->first_of[cell];
    uint64_t value = sat->s->problem->value[read];
    while (at >= 0 && sat->firsts.at[at].value != value)
        at = sat->firsts.at[at].next;
    if (at < 0) {
        lit holds = 2 * uns_new_variable(sat, sat->s->problem->guess[read]);
        for (int32_t i = sat->first_of[cell]; i >= 0; i = sat->firsts.at[i].next) {
            lit either[2] = {uns_not(holds), uns_not(sat->firsts.at[i].holds)};
            uns_clause_add(sat, either, 2);
        }
        struct uns_first_value one = {value, holds, sat->first_of[cell]};
        at = sat->first_of[cell] = (int32_t)sat->firsts.count;
        UNS_PUSH(sat->pool, sat->firsts, one);
    }
    lit implied[2] = {uns_not(chosen), sat->firsts.at[at].holds};
    uns_clause_add(sat, implied, 2);
}

static lit new_choice(struct uns_sat *sat, int32_t read, int32_t write) {
    lit chosen = 2 * uns_new_variable(sat, sat->s->problem->guess[read]);
    if (write != UNS_INITIAL) {
        sat->source[chosen] = write;
        sat->sink[chosen] = read;
    } else if (!sat->s->begun[sat->s->problem->cell[read]]) {
        encode_first_value(sat, read, chosen);
    }
    return chosen;
}

/* The likeliest choice is the last one that the order of guesses has before the read. */
static void prefer(struct uns_sat *sat, int32_t read, int64_t from) {
    int64_t best = from;
    for (int64_t i = from + 1; i < sat->options.count; i++) {
        int32_t a = sat->options.at[best].write, b = sat->options.at[i].write;
        int32_t rank = sat->rank[read], ra = a < 0 ? -1 : sat->rank[a];
        int32_t rb = b < 0 ? -1 : sat->rank[b];
        int better = ra > rank ? rb < ra : rb > ra && rb < rank;
        best = better ? i : best;
    }
    sat->phase[sat->options.at[best].chosen >> 1] = 0;
}

static void encode_read(struct uns_sat *sat, int32_t read) {
    struct uns_state *s = sat->s;
    int32_t count = uns_choices(s, read);
    int64_t from = sat->options.count;
    sat->option_from[read] = (int32_t)from;
    lit *clause = UNS_NEW(sat->pool, lit, count + 1);
    for (int32_t i = 0; i < count; i++) {
        struct uns_option option = {s->choices[i], UNS_TRUE_LIT};
        if (count > 1)
            option.chosen = clause[i] = new_choice(sat, read, option.write);
        else
            clause[i] = option.write < 0 ? UNS_TRUE_LIT : uns_order_lit(sat, option.write, read);
        UNS_PUSH(sat->pool, sat->options, option);
    }
    uns_clause_add(sat, clause, count);
    uns_pool_drop(sat->pool, clause);
    if (count > 1)
        prefer(sat, read, from);
    for (int32_t i = 0; i < count; i++)
        encode_interferences(sat, read, from + i);
    UNS_PUSH(sat->pool, sat->options, ((struct uns_option){UNS_INITIAL, UNS_FALSE_LIT}));
}

void uns_encode(struct uns_sat *sat) {
    const struct uns_order_problem *p = sat->s->problem;
    sat->option_from = UNS_NEW(sat->pool, int32_t, p->events);
    sat->first_of = UNS_NEW(sat->pool, int32_t, p->cells);
    memset(sat->option_from, -1, (size_t)p->events * sizeof(int32_t));
    memset(sat->first_of, -1, (size_t)p->cells * sizeof(int32_t));
    for (int64_t i = 0; i < sat->s->reads.count && !sat->wrong; i++) {
        encode_read(sat, sat->s->reads.at[i]);
        uns_pool_tick(sat->pool);
    }
    uns_encode_sections(sat);
}
