/* SPDX-License-Identifier: Apache-2.0
 *
 * Seeded strategies of controlled runs. Each sees the enabled threads and their pending operations
 * and names the next.
 */
#include "gate/state.h"
#include "gate/sketch.h"
#include <string.h>

static void no_begin(const struct uns_plan *plan) {
    (void)plan;
}
static void no_enter(struct uns_thread *t) {
    (void)t;
}
static void no_did(struct uns_thread *t) {
    (void)t;
}

/* Random walk: every enabled thread is as likely as any other. */
static struct uns_thread *walk_pick(struct uns_thread **enabled, uint32_t count,
                                    struct uns_thread *current) {
    (void)current;
    return enabled[uns_gate_draw(count)];
}
const struct uns_strategy uns_strategy_walk = {"walk", no_begin, no_enter, walk_pick, no_did};

/* Serial: no thread is interrupted. The next one, drawn, comes when one waits or has ended. */
static struct uns_thread *serial_pick(struct uns_thread **enabled, uint32_t count,
                                      struct uns_thread *current) {
    for (uint32_t i = 0; i < count; i++)
        if (enabled[i] == current)
            return current;
    return walk_pick(enabled, count, current);
}
const struct uns_strategy uns_strategy_serial = {"serial", no_begin, no_enter, serial_pick, no_did};

/* PCT (Burckhardt et al., ASPLOS 2010): random priorities, depth - 1 changes at random choices. */
static struct {
    uint64_t change[UNS_PCT_POINTS], choice;
    uint32_t changes;
    int64_t lowest;
} pct;

static void pct_begin(const struct uns_plan *plan) {
    memset(&pct, 0, sizeof pct);
    uint64_t length = plan->length ? plan->length : 200;
    pct.changes = plan->depth > 1 ? plan->depth - 1 : 0;
    if (pct.changes > UNS_PCT_POINTS)
        pct.changes = UNS_PCT_POINTS;
    for (uint32_t i = 0; i < pct.changes; i++)
        pct.change[i] = uns_gate_draw(length);
}

static void pct_enter(struct uns_thread *t) {
    t->drawn.pct_priority = (int64_t)(uns_random(&uns_gate.random) >> 2);
}

static struct uns_thread *pct_highest(struct uns_thread **enabled, uint32_t count) {
    struct uns_thread *best = enabled[0];
    for (uint32_t i = 1; i < count; i++)
        if (enabled[i]->drawn.pct_priority > best->drawn.pct_priority)
            best = enabled[i];
    return best;
}

static int polls(const struct uns_pending *p) {
    return UNS_POINT_OP(p->point) == UNS_SLEEP ||
           (p->deadline != UNS_FOREVER && p->deadline - uns_gate_now() <= UNS_SHORT_LIMIT_NS);
}

/* Streaks of one length would have threads that spin come and go in step: each would find what it
 * tries taken by the other one, for ever. So all but the first are of a drawn length. */
static int pct_spins(struct uns_thread *t) {
    uint32_t most = t->drawn.pct_streak ? t->drawn.pct_streak : UNS_STREAK_LIMIT;
    if (t->streak + 1 < most)
        return 0;
    t->drawn.pct_streak = 1 + (uint32_t)uns_gate_draw(UNS_STREAK_LIMIT);
    return 1;
}

/* A thread that polls or spins goes behind all others. A sleep is no poll the first time at its
 * place: all others may be as late as it is long. */
static int pct_yields(struct uns_thread *t) {
    const struct uns_pending *p = &t->pending;
    if (pct_spins(t))
        return 1;
    if (!polls(p))
        return 0;
    int repeats = UNS_POINT_OP(p->point) != UNS_SLEEP || t->drawn.pct_slept == p->point;
    t->drawn.pct_slept = p->point;
    return repeats;
}

static struct uns_thread *pct_pick(struct uns_thread **enabled, uint32_t count,
                                   struct uns_thread *current) {
    if (current && pct_yields(current))
        current->drawn.pct_priority = --pct.lowest;
    struct uns_thread *best = pct_highest(enabled, count);
    for (uint32_t i = 0; i < pct.changes; i++)
        if (pct.change[i] == pct.choice) {
            best->drawn.pct_priority = --pct.lowest;
            best = pct_highest(enabled, count);
        }
    pct.choice++;
    return best;
}
const struct uns_strategy uns_strategy_pct = {"pct", pct_begin, pct_enter, pct_pick, no_did};

/* POS (Yuan et al., CAV 2018): a random priority per pending operation; doing one draws new
 * priorities for those that race with it. */
static int conflicts(const struct uns_pending *a, const struct uns_pending *b) {
    if (a->lock || b->lock)
        return a->lock == b->lock;
    /* In the gil mode a pending access stands for all up to the next switch point: the read of
     * `v += 1` is followed by the write before anybody else can run. */
    return a->cell && a->cell == b->cell && (a->write | b->write | !uns_rt.any_access);
}

static struct uns_thread *pos_pick(struct uns_thread **enabled, uint32_t count,
                                   struct uns_thread *current) {
    (void)current;
    struct uns_thread *best = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (!enabled[i]->drawn.pos_priority)
            enabled[i]->drawn.pos_priority = uns_random(&uns_gate.random) | 1;
        if (!best || enabled[i]->drawn.pos_priority > best->drawn.pos_priority)
            best = enabled[i];
    }
    return best;
}

static void pos_did(struct uns_thread *t) {
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        struct uns_thread *other = uns_gate.live[i];
        if (other != t && other->state == UNS_READY && conflicts(&other->pending, &t->pending))
            other->drawn.pos_priority = 0;
    }
}
const struct uns_strategy uns_strategy_pos = {"pos", no_begin, no_enter, pos_pick, pos_did};

/* SURW: operations on the cell of interest are drawn in proportion to how many each thread still
 * has before it; everything else is a random walk that may not overtake them. */
static struct {
    const uint8_t *interest;
    uint32_t limit, counts_length;
    const struct uns_path_count *counts;
    struct uns_thread *intended;
} surw;

static void surw_begin(const struct uns_plan *plan) {
    memset(&surw, 0, sizeof surw);
    surw.interest = plan->interest_sites;
    surw.limit = plan->interest_sites ? plan->site_limit : 0;
    surw.counts = plan->counts;
    surw.counts_length = plan->counts_length;
}

static void surw_enter(struct uns_thread *t) {
    for (uint32_t i = 0; i < surw.counts_length; i++)
        if (!strcmp(surw.counts[i].path, t->path))
            t->drawn.surw_left = surw.counts[i].count;
}

static int interesting(const struct uns_thread *t) {
    uint32_t site = UNS_POINT_SITE(t->pending.point), op = UNS_POINT_OP(t->pending.point);
    return site < surw.limit && surw.interest[site] && op <= UNS_ACQUIRE;
}

static uint64_t surw_weight(const struct uns_thread *t) {
    return t->drawn.surw_left * 1024 + 1; /* one that has none left is hardly ever meant */
}

static void surw_intend(void) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < uns_gate.live_count; i++)
        total += surw_weight(uns_gate.live[i]);
    uint64_t drawn = total ? uns_gate_draw(total) : 0;
    surw.intended = NULL;
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        uint64_t weight = surw_weight(uns_gate.live[i]);
        if (drawn < weight) {
            surw.intended = uns_gate.live[i];
            return;
        }
        drawn -= weight;
    }
}

static struct uns_thread *surw_pick(struct uns_thread **enabled, uint32_t count,
                                    struct uns_thread *current) {
    (void)current;
    if (!surw.intended || surw.intended->state == UNS_ENDED)
        surw_intend();
    struct uns_thread *may[UNS_GATE_THREADS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (enabled[i] == surw.intended || !interesting(enabled[i]))
            may[n++] = enabled[i];
    if (n)
        return may[uns_gate_draw(n)];
    /* The intended thread is blocked: mean another one. */
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += surw_weight(enabled[i]);
    uint64_t drawn = uns_gate_draw(total);
    for (uint32_t i = 0; i < count; drawn -= surw_weight(enabled[i]), i++)
        if (drawn < surw_weight(enabled[i]))
            return enabled[i];
    return enabled[0];
}

static void surw_did(struct uns_thread *t) {
    if (!interesting(t))
        return;
    if (t->drawn.surw_left)
        t->drawn.surw_left--;
    surw_intend();
}
const struct uns_strategy uns_strategy_surw = {"surw", surw_begin, surw_enter, surw_pick, surw_did};

/* RFF (Wolff et al., ASPLOS 2024): rules of the plan lead certain reads to certain writes. Among
 * those whom they do not hold SURW chooses, or POS where the plan names no sites of interest. */
static struct uns_thread *rff_pick(struct uns_thread **enabled, uint32_t count,
                                   struct uns_thread *current) {
    return surw.interest ? surw_pick(enabled, count, current) : pos_pick(enabled, count, current);
}

static void rff_did(struct uns_thread *t) {
    if (surw.interest)
        surw_did(t);
    else
        pos_did(t);
}
const struct uns_strategy uns_strategy_rff = {"rff", surw_begin, surw_enter, rff_pick, rff_did};

/* The thread whose next event was the earliest when the run was recorded. */
const struct uns_strategy uns_strategy_sketch = {"sketch", no_begin, no_enter, uns_sketch_pick,
                                                 no_did};

const struct uns_strategy *uns_strategy_named(const char *name) {
    static const struct uns_strategy *const all[] = {
        &uns_strategy_walk, &uns_strategy_pct,    &uns_strategy_pos,   &uns_strategy_rff,
        &uns_strategy_surw, &uns_strategy_serial, &uns_strategy_sketch};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i]->name, name))
            return all[i];
    return NULL;
}
