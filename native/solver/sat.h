/* SPDX-License-Identifier: Apache-2.0
 *
 * CDCL over orders: a literal may stand for an edge between two events, and the edges of all true
 * literals, with what is known, must not go in circles (the theory of ordering consistency).
 *
 * A literal is twice its variable, plus 1 if negated.
 */
#ifndef UNSNARL_SOLVER_SAT_H
#define UNSNARL_SOLVER_SAT_H
#include "state.h"

typedef int32_t lit;
#define UNS_NO_CLAUSE UINT32_MAX
#define UNS_TRUE_LIT  (-2)
#define UNS_FALSE_LIT (-3)

struct uns_watch {
    uint32_t clause;
    lit blocker;
};
typedef UNS_ARRAY(struct uns_watch) uns_watches;

/* In the arena: a head of two words, then the literals. */
struct uns_clause {
    uint32_t size : 30, learned : 1, dropped : 1;
    uint32_t glue; /* how many decisions it involves: few are worth keeping */
    lit at[];
};

struct uns_link {
    int32_t source, sink, next_out, next_in;
    lit why;
    int32_t trail; /* the literal's position on the trail */
};

/* A choice of a read: from `write` if `chosen`; ends with a chosen of UNS_FALSE_LIT. */
struct uns_option {
    int32_t write;
    lit chosen;
};

/* One of the first values that a cell may have had. */
struct uns_first_value {
    uint64_t value;
    lit holds;
    int32_t next;
};

struct uns_misread {
    int32_t read, option, other;
};

/* Where the search is in trouble (cdcl.c). */
struct uns_region {
    int64_t conflicts, patience, furthest;
    int32_t low, high, lag;
};

struct uns_sat {
    struct uns_state *s;
    struct uns_pool *pool;
    struct uns_order_answer *answer; /* counts, so that they are there when time is over, too */
    int32_t variables, room;
    int8_t *value;          /* of literals: 1, -1 or 0 */
    int32_t *source, *sink; /* of literals: the edge, or -1 */
    uns_watches *watches;   /* of literals: clauses to look at when it becomes true */
    int32_t *level;
    uint32_t *reason;
    uint8_t *phase, *seen;              /* phase: what to try first, 1 for false */
    double *activity, *when, increment; /* when: the guessed time, decides between equals */
    UNS_ARRAY(int32_t) heap;
    int32_t *heap_position; /* of variables, or -1 */
    UNS_ARRAY(lit) trail;
    UNS_ARRAY(int32_t) levels; /* where each decision is on the trail */
    int64_t propagated, linked;
    UNS_ARRAY(uint32_t) arena;
    UNS_ARRAY(uint32_t) learned;
    int64_t most_learned; /* then some are dropped */
    struct uns_region region;
    UNS_ARRAY(lit) conflict, lemma;
    int32_t frozen; /* levels that are taken for granted (cdcl.c) */
    int wrong;      /* contradicted without any decision */

    /* graph.c: an order that the known edges and those of true literals keep. */
    int32_t *rank, *at_rank;    /* of events, and back */
    int32_t *out_from, *out_to; /* known edges by source */
    int32_t *out, *in;          /* of events: the last link, or -1 */
    UNS_ARRAY(struct uns_link) links;
    int32_t *mark, *parent, marking;
    lit *parent_why;
    UNS_ARRAY(int32_t) forward, backward, ranks;

    /* encoding.c */
    UNS_ARRAY(uint64_t) pair_keys; /* an open hash table: pair of events -> variable */
    UNS_ARRAY(int32_t) pair_variables;
    int64_t pairs;
    int32_t *option_from; /* of each event: where a read's options begin, or -1 */
    UNS_ARRAY(struct uns_option) options;
    int32_t *first_of; /* of each cell: the last of its free first values, or -1 */
    UNS_ARRAY(struct uns_first_value) firsts;

    /* completion.c: what the order found would do */
    int32_t *last_write, *holder; /* of cells; of locks */
    int32_t *section_of;          /* of events, or -1 */
    UNS_ARRAY(struct uns_misread) misreads;
    UNS_ARRAY(int32_t) overlaps; /* pairs of sections */
};

static inline lit uns_not(lit a) {
    return a ^ 1;
}
static inline struct uns_clause *uns_clause_at(struct uns_sat *sat, uint32_t clause) {
    return (struct uns_clause *)(sat->arena.at + clause);
}
static inline int32_t uns_decided(const struct uns_sat *sat) {
    return (int32_t)sat->levels.count;
}

/* variables.c */
int32_t uns_new_variable(struct uns_sat *sat, double when);
void uns_bump(struct uns_sat *sat, int32_t variable);
void uns_heap_put(struct uns_sat *sat, int32_t variable);
int32_t uns_heap_take(struct uns_sat *sat);

/* clauses.c */
void uns_assign(struct uns_sat *sat, lit a, uint32_t reason);
void uns_clause_add(struct uns_sat *sat, const lit *at, int32_t size); /* without decisions */
uint32_t uns_clause_new(struct uns_sat *sat, const lit *at, int32_t size, int learned);
int uns_propagate(struct uns_sat *sat); /* 0: sat->conflict is why */
void uns_undo(struct uns_sat *sat, int32_t level);
void uns_reduce(struct uns_sat *sat);
void uns_thaw(struct uns_sat *sat);

/* analysis.c: makes sat->lemma of sat->conflict; returns the level to go back to. */
int32_t uns_analyse(struct uns_sat *sat);
uint32_t uns_glue(struct uns_sat *sat, const lit *at, int64_t size);

/* graph.c */
void uns_graph_init(struct uns_sat *sat);
int uns_graph_add(struct uns_sat *sat, lit why, int32_t trail); /* 0: a circle, in conflict */
void uns_graph_undo(struct uns_sat *sat, int64_t trail);

/* encoding.c */
void uns_encode(struct uns_sat *sat);
void uns_encode_interference(struct uns_sat *sat, int32_t read, int64_t option, int32_t other);

/* sections.c */
void uns_encode_sections(struct uns_sat *sat);
void uns_encode_exclusion(struct uns_sat *sat, int32_t a, int32_t b);

/* pairs.c */
lit uns_pair(struct uns_sat *sat, int32_t a, int32_t b, int *fresh);
lit uns_order_lit(struct uns_sat *sat, int32_t a, int32_t b);

/* completion.c: 1 if the order at hand answers the problem; else it has added what was broken. */
void uns_completion_init(struct uns_sat *sat);
int uns_complete(struct uns_sat *sat);
#endif
