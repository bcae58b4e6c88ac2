/* SPDX-License-Identifier: Apache-2.0
 *
 * A short depth-first search along the guessed times. What changes nothing for others (a read that
 * fits, a release) is done at once; only writes and acquires are choices. A write waits while it
 * would destroy a value that another thread reads next and that nobody writes again.
 *
 * It only finds orders: states are remembered by hashes, so its giving up proves nothing.
 */
#include "frontier.h"
#define MOST_THREADS 4  /* beyond that it explodes (measured in the prototype) */
#define WORTH        10 /* if fewer than one in so many reads is open, CDCL is done sooner */

static int destroys(const struct uns_front *f, int32_t write) {
    const struct uns_order_problem *p = f->s->problem;
    const int32_t *heads = f->heads + (int64_t)p->cell[write] * p->threads;
    for (int32_t t = 0; t < p->threads; t++) {
        int32_t e = heads[t];
        if (e >= 0 && e != write && p->access[e] == UNS_READS && f->class[e] != f->class[write] &&
            !f->left[f->class[e]])
            return 1;
    }
    return 0;
}

static int fits(const struct uns_front *f, int32_t read) {
    int32_t now = f->memory[f->s->problem->cell[read]];
    return now < 0 || now == f->class[read];
}

static int can_do(const struct uns_front *f, int32_t e) {
    const struct uns_order_problem *p = f->s->problem;
    if (!uns_is_open(&f->s->closure, f->next, e))
        return 0;
    if (p->access[e] == UNS_READS)
        return fits(f, e);
    if (p->access[e] == UNS_WRITES)
        return !destroys(f, e);
    return f->lock[e] <= 0 || !f->held[f->lock[e] - 1];
}

static int is_choice(const struct uns_front *f, int32_t e) {
    return f->s->problem->access[e] == UNS_WRITES || f->lock[e] > 0;
}

static void set_memory(struct uns_front *f, int32_t cell, int32_t class) {
    f->hash ^= uns_front_mix(cell, f->memory[cell]) ^ uns_front_mix(cell, class);
    f->memory[cell] = class;
}

static void do_event(struct uns_front *f, int32_t e) {
    const struct uns_order_problem *p = f->s->problem;
    int32_t t = f->s->closure.thread[e], before = -1;
    if (p->access[e]) {
        before = f->memory[p->cell[e]];
        set_memory(f, p->cell[e], f->class[e]);
        f->heads[(int64_t)p->cell[e] * p->threads + t] = f->following[e];
        f->left[f->class[e]] -= p->access[e] == UNS_WRITES;
    } else if (f->lock[e]) {
        f->held[(f->lock[e] > 0 ? f->lock[e] : -f->lock[e]) - 1] = f->lock[e] > 0;
    }
    f->next[t]++;
    UNS_PUSH(f->s->pool, f->done, ((struct uns_done){e, before}));
}

static void undo_events(struct uns_front *f, int64_t keep) {
    const struct uns_order_problem *p = f->s->problem;
    while (f->done.count > keep) {
        struct uns_done d = f->done.at[--f->done.count];
        int32_t e = d.event, t = f->s->closure.thread[e];
        f->next[t]--;
        if (p->access[e]) {
            set_memory(f, p->cell[e], d.before);
            f->heads[(int64_t)p->cell[e] * p->threads + t] = e;
            f->left[f->class[e]] += p->access[e] == UNS_WRITES;
        } else if (f->lock[e]) {
            f->held[(f->lock[e] > 0 ? f->lock[e] : -f->lock[e]) - 1] = f->lock[e] < 0;
        }
    }
}

/* Does what is no choice; 0 if a read waits for a value that cannot come any more. */
static int drain(struct uns_front *f) {
    const struct uns_order_problem *p = f->s->problem;
    for (int moving = 1; moving;) {
        moving = 0;
        for (int32_t t = 0; t < p->threads; t++)
            for (int32_t e; (e = f->next[t]) < p->first[t + 1] && !is_choice(f, e) && can_do(f, e);
                 moving = 1)
                do_event(f, e);
    }
    for (int32_t t = 0; t < p->threads; t++) {
        int32_t e = f->next[t];
        if (e < p->first[t + 1] && p->access[e] == UNS_READS && !fits(f, e) &&
            !f->left[f->class[e]])
            return 0;
    }
    return 1;
}

/* The earliest choice that was not tried here, or -1. */
static int32_t choose(const struct uns_front *f, uint32_t tried) {
    const struct uns_order_problem *p = f->s->problem;
    int32_t best = -1;
    for (int32_t t = 0; t < p->threads; t++) {
        int32_t e = f->next[t];
        if (e < p->first[t + 1] && !(tried >> t & 1) && is_choice(f, e) &&
            (best < 0 || p->guess[e] < p->guess[best]) && can_do(f, e))
            best = e;
    }
    return best;
}

static void try_choice(struct uns_front *f, struct uns_node *node, int32_t e) {
    node->tried |= 1u << f->s->closure.thread[e];
    do_event(f, e);
    if (drain(f) && uns_front_is_new(f))
        UNS_PUSH(f->s->pool, f->nodes, ((struct uns_node){f->done.count, 0}));
}

enum uns_search uns_front_search(struct uns_front *f, int64_t ticks, int32_t *order) {
    const struct uns_order_problem *p = f->s->problem;
    while (f->nodes.count && f->done.count < p->events) {
        if (ticks-- <= 0)
            return UNS_GOES_ON;
        struct uns_node *node = &f->nodes.at[f->nodes.count - 1];
        undo_events(f, node->done);
        int32_t e = choose(f, node->tried);
        if (e >= 0)
            try_choice(f, node, e);
        else
            f->nodes.count--;
        uns_pool_tick(f->s->pool);
    }
    if (f->done.count < p->events)
        return UNS_NOT_FOUND;
    for (int32_t i = 0; i < p->events; i++)
        order[i] = f->done.at[i].event;
    return UNS_FOUND;
}

static int is_worth_it(const struct uns_state *s) {
    int few = s->problem->steps < 0 && s->reads.count * WORTH < s->all_reads;
    return s->problem->threads <= MOST_THREADS && s->problem->steps && !few;
}

struct uns_front *uns_front_start(struct uns_state *s) {
    if (!is_worth_it(s))
        return NULL;
    struct uns_front *f = UNS_NEW(s->pool, struct uns_front, 1);
    f->s = s;
    uns_front_init(f);
    drain(f);
    UNS_PUSH(s->pool, f->nodes, ((struct uns_node){f->done.count, 0}));
    return f;
}
