/* SPDX-License-Identifier: Apache-2.0
 *
 * What all stages of one solving share.
 */
#ifndef UNSNARL_SOLVER_STATE_H
#define UNSNARL_SOLVER_STATE_H
#include "closure.h"

/* The writes of one cell by one thread: writes[begin..end). */
struct uns_group {
    int32_t thread, begin, end;
};

/* Of a read and a group: the writes before `low` are known to precede the read, those from `high`
 * on are known to follow it. */
struct uns_span {
    int32_t low, high;
};

struct uns_state {
    struct uns_pool *pool;
    const struct uns_order_problem *problem;
    struct uns_closure closure;
    int32_t *writes;     /* cell by cell, thread by thread */
    int32_t *by_value;   /* the same, but each group's by value, then by time */
    int32_t *group_from; /* cells + 1 */
    struct uns_group *groups;
    uint8_t *begun; /* of each cell: its first value is known, or was found out */
    uint64_t *initial;
    int64_t all_reads;
    UNS_ARRAY(int32_t) reads; /* with values, and not settled yet */

    /* The choices of the read looked at last. */
    struct uns_span *spans; /* by the cell's groups */
    int32_t *choices;       /* writes; UNS_INITIAL for the first value */
    int32_t choice_count, choice_room;
    int32_t hopeless; /* a read that has no choice, or -1 */
};
#define UNS_INITIAL (-1)

void uns_index_init(struct uns_state *s);

static inline int32_t uns_group_count(const struct uns_state *s, int32_t cell) {
    return s->group_from[cell + 1] - s->group_from[cell];
}
static inline const struct uns_group *uns_groups(const struct uns_state *s, int32_t cell) {
    return s->groups + s->group_from[cell];
}
static inline int uns_differs(const struct uns_state *s, int32_t a, int32_t b) {
    return s->problem->value[a] != s->problem->value[b];
}

/* choices.c */
int32_t uns_lower(const struct uns_state *s, const struct uns_group *g, int32_t event);
int32_t uns_choices(struct uns_state *s, int32_t read);

/* saturation.c: 0 if there is no order. */
int uns_saturate(struct uns_state *s, struct uns_order_answer *answer);

/* merge.c */
void uns_merge(struct uns_state *s, int32_t *order);

/* Two searches that take turns: each goes on where it stopped, for about so many ticks. */
enum uns_search { UNS_GOES_ON, UNS_FOUND, UNS_NOT_FOUND };

/* frontier.c: NULL if it is not worth it; its not finding anything proves nothing. */
struct uns_front *uns_front_start(struct uns_state *s);
enum uns_search uns_front_search(struct uns_front *f, int64_t ticks, int32_t *order);
void uns_front_free(struct uns_front *f);

/* cdcl.c */
struct uns_sat *uns_cdcl_start(struct uns_state *s, struct uns_order_answer *answer);
enum uns_search uns_cdcl_search(struct uns_sat *sat, int64_t ticks, int32_t *order);
#endif
