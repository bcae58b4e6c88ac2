/* SPDX-License-Identifier: Apache-2.0
 *
 * What follows without any search, to a fixed point: a read whose value can come from one write
 * only is after it, and then writes of other values are before that write or after the read; of
 * several choices, what holds for all of them; critical sections that must follow one another.
 */
#include "state.h"
#define MOST_ROUNDS 40

static int add(struct uns_state *s, int32_t source, int32_t sink) {
    if (uns_is_before(&s->closure, source, sink))
        return 0;
    uns_closure_add(s->pool, &s->closure, source, sink);
    return 1;
}

static int follows_all_choices(const struct uns_state *s, int32_t write) {
    for (int32_t i = 0; i < s->choice_count; i++)
        if (s->choices[i] != UNS_INITIAL && !uns_is_before(&s->closure, s->choices[i], write))
            return 0;
    return 1;
}

/* The first write of the group that follows all choices, or `end`. Those that do are the last ones;
 * with clocks they are few, so the steps grow from 1. */
static int32_t first_following(const struct uns_state *s, int32_t begin, int32_t end) {
    int32_t low = begin, high = end, step = 1;
    while (high > low) {
        int32_t at = step < high - begin ? high - step : begin;
        if (!follows_all_choices(s, s->writes[at]))
            low = at + 1;
        else
            high = at;
        if (low > begin)
            break;
        step *= 2;
    }
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (follows_all_choices(s, s->writes[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

/* A write of another value that follows all choices follows the read, too. */
static int before_later_writes(struct uns_state *s, int32_t read) {
    int32_t cell = s->problem->cell[read], added = 0;
    const struct uns_group *groups = uns_groups(s, cell);
    for (int32_t i = 0; i < uns_group_count(s, cell); i++) {
        int32_t at = first_following(s, groups[i].begin, s->spans[i].high);
        while (at < s->spans[i].high && !uns_differs(s, s->writes[at], read))
            at++;
        if (at < s->spans[i].high)
            added += add(s, read, s->writes[at]);
    }
    return added;
}

/* Whatever its choice, the read comes after what all choices come after. */
static int after_all_choices(struct uns_state *s, int32_t read) {
    const struct uns_closure *c = &s->closure;
    int32_t added = 0, write = s->choices[s->choice_count - 1]; /* the first value comes last */
    if (write == UNS_INITIAL || (s->choice_count == 1 && uns_is_before(c, write, read)))
        return 0;
    for (int32_t t = 0; t < c->threads; t++) {
        int32_t open = INT32_MAX;
        for (int32_t i = 0; i < s->choice_count && open > uns_first_open(c, read, t); i++) {
            write = s->choices[i];
            int32_t own = c->thread[write] == t ? write + 1 : uns_first_open(c, write, t);
            open = own < open ? own : open;
        }
        if (t != c->thread[read] && open > uns_first_open(c, read, t))
            added += add(s, open - 1, read);
    }
    return added;
}

/* The only choice: each thread's last write before the read, if of another value, is before it. */
static int after_earlier_writes(struct uns_state *s, int32_t read) {
    int32_t cell = s->problem->cell[read], added = 0;
    const struct uns_group *groups = uns_groups(s, cell);
    for (int32_t i = 0; i < uns_group_count(s, cell); i++) {
        if (s->spans[i].low == groups[i].begin)
            continue;
        int32_t last = s->writes[s->spans[i].low - 1];
        if (uns_differs(s, last, read))
            added += add(s, last, s->choices[0]);
    }
    return added;
}

/* Nothing is left to decide about the read: its write precedes it, all others are out of the way.
 */
static int is_settled(struct uns_state *s, int32_t read) {
    int32_t cell = s->problem->cell[read], write = s->choices[0];
    const struct uns_group *groups = uns_groups(s, cell);
    if (write != UNS_INITIAL && !uns_is_before(&s->closure, write, read))
        return 0;
    for (int32_t i = 0; i < uns_group_count(s, cell); i++)
        for (int32_t at = s->spans[i].high - 1; at >= groups[i].begin; at--) {
            int32_t other = s->writes[at];
            if (write != UNS_INITIAL && uns_is_before(&s->closure, other, write))
                break;
            if (uns_differs(s, other, read))
                return 0;
        }
    return 1;
}

/* Returns how many edges the read adds, or -1 if nothing can explain it. */
static int saturate_read(struct uns_state *s, int32_t read, int *settled) {
    int32_t cell = s->problem->cell[read], count = uns_choices(s, read);
    *settled = 0;
    if (!count)
        return -1;
    int added = after_all_choices(s, read) + before_later_writes(s, read);
    if (count > 1)
        return added;
    if (s->choices[0] != UNS_INITIAL) {
        added += after_earlier_writes(s, read);
    } else if (!s->begun[cell]) {
        s->begun[cell] = 1;
        s->initial[cell] = s->problem->value[read];
        added++; /* reads of other values have lost a choice */
    }
    *settled = !added && is_settled(s, read);
    return added;
}

static int saturate_reads(struct uns_state *s) {
    int64_t kept = 0;
    int added = 0;
    for (int64_t i = 0; i < s->reads.count; i++) {
        int settled, more = saturate_read(s, s->reads.at[i], &settled);
        if (more < 0) {
            s->hopeless = s->reads.at[i];
            return -1;
        }
        added += more;
        if (!settled)
            s->reads.at[kept++] = s->reads.at[i];
        uns_pool_tick(s->pool);
    }
    s->reads.count = kept;
    return added;
}

/* Section a is to end before b begins. A lock that is never released again is the last one's. */
static int exclude(struct uns_state *s, int32_t a, int32_t b, int *wrong) {
    const struct uns_order_problem *p = s->problem;
    if (p->release[a] < 0) {
        *wrong = 1;
        return 0;
    }
    return add(s, p->release[a], p->acquire[b]);
}

/* The last section of a[from..to), all of one thread, that has begun before b ends. */
static int exclude_thread(struct uns_state *s, int32_t from, int32_t to, int32_t b, int *wrong) {
    const struct uns_order_problem *p = s->problem;
    int32_t low = from, high = to;
    while (low < high && p->release[b] >= 0) {
        int32_t middle = low + (high - low) / 2;
        if (uns_is_before(&s->closure, p->acquire[middle], p->release[b]))
            low = middle + 1;
        else
            high = middle;
    }
    if (p->release[b] < 0)
        low = to;
    return low > from ? exclude(s, low - 1, b, wrong) : 0;
}

static int saturate_lock(struct uns_state *s, int32_t lock, int *wrong) {
    const struct uns_order_problem *p = s->problem;
    int32_t begin = p->section_first[lock], end = p->section_first[lock + 1];
    int added = 0;
    for (int32_t from = begin, to; from < end; from = to) {
        int32_t thread = s->closure.thread[p->acquire[from]];
        for (to = from; to < end && s->closure.thread[p->acquire[to]] == thread; to++)
            ;
        for (int32_t b = begin; b < end; b++)
            if (b < from || b >= to)
                added += exclude_thread(s, from, to, b, wrong);
        uns_pool_tick(s->pool);
    }
    return added;
}

static int saturate_locks(struct uns_state *s) {
    int wrong = 0, added = 0;
    for (int32_t lock = 0; lock < s->problem->locks; lock++)
        added += saturate_lock(s, lock, &wrong);
    return wrong ? -1 : added;
}

int uns_saturate(struct uns_state *s, struct uns_order_answer *answer) {
    s->all_reads = s->reads.count;
    for (answer->rounds = 0; answer->rounds < MOST_ROUNDS; answer->rounds++) {
        if (!uns_closure_build(s->pool, &s->closure))
            return 0;
        int reads = saturate_reads(s), locks = reads < 0 ? 0 : saturate_locks(s);
        if (reads < 0 || locks < 0)
            return 0;
        if (!reads && !locks)
            break;
    }
    return answer->rounds < MOST_ROUNDS || uns_closure_build(s->pool, &s->closure);
}
