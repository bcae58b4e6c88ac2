/* SPDX-License-Identifier: Apache-2.0
 *
 * Which threads could go on, and what happens when none can: time passes, or it is a deadlock.
 */
#include "gate/gate.h"
#include "gate/rules.h"
#include "gate/sketch.h"

static struct uns_thread *enabled[UNS_GATE_THREADS];

static int is_sleep(const struct uns_pending *p) {
    return !p->lock && !p->ready && p->deadline != UNS_FOREVER;
}

/* What happens in the kernel takes real time, and so does asking: only after a call that may have
 * changed something, now and then in case of others, and if nobody else can run. */
#define ASK_EVERY 64
static int asks_all;

static int is_ready(struct uns_pending *p) {
    if (!p->ready)
        return 1;
    if (!asks_all && p->stirred == uns_rt.stirred && uns_gate.steps < p->ask_again)
        return 0;
    p->stirred = uns_rt.stirred;
    p->ask_again = uns_gate.steps + ASK_EVERY;
    return p->ready(p->about) || p->deadline <= uns_clock_ns();
}

static int can_run(struct uns_thread *t) {
    return t->state == UNS_READY && !t->held && !is_sleep(&t->pending) &&
           (!t->pending.lock || !t->pending.lock->word) && is_ready(&t->pending);
}

static uint32_t add_sleepers(uint32_t count) {
    int64_t latest = uns_gate.told ? UNS_FOREVER : uns_clock_ns() + UNS_EARLY_WAKE_NS;
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        struct uns_thread *t = uns_gate.live[i];
        if (t->state == UNS_READY && !t->held && is_sleep(&t->pending) &&
            t->pending.deadline <= latest)
            enabled[count++] = t;
    }
    return count;
}

/* Nothing can run: time advances to the first deadline (sleeps and timed waits alike). But while a
 * thread is blocked in the real world, time is real: what it waits for may come before that. */
static struct uns_thread *first_deadline(void) {
    struct uns_thread *first = NULL, *wanted = uns_gate.replaying ? uns_replay_wanted() : NULL;
    int64_t latest = uns_gate_anyone_outside() ? uns_clock_ns() : UNS_FOREVER - 1;
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        struct uns_thread *t = uns_gate.live[i];
        if (t->state != UNS_READY || t->held || t->pending.deadline > latest)
            continue;
        if (t == wanted)
            return t;
        if (!first || t->pending.deadline < first->pending.deadline)
            first = t;
    }
    return first;
}

static struct uns_thread *guard_streak(struct uns_thread *next, uint32_t count,
                                       const struct uns_thread *current) {
    next->streak = next == current ? next->streak + 1 : 0;
    if (next->streak < UNS_STREAK_LIMIT || count < 2 || uns_gate.replaying)
        return next;
    next->streak = 0;
    uint32_t at = (uint32_t)uns_gate_draw(count);
    return enabled[at] != next ? enabled[at] : enabled[(at + 1) % count];
}

static uint32_t find_enabled(int ask_all) {
    uint32_t count = 0;
    asks_all = ask_all;
    for (uint32_t i = 0; i < uns_gate.live_count; i++)
        if (can_run(uns_gate.live[i]))
            enabled[count++] = uns_gate.live[i];
    return count;
}

static struct uns_thread *choose(struct uns_thread *current) {
    uint32_t count = find_enabled(0);
    if (!count)
        count = find_enabled(1);
    if (!count)
        return first_deadline();
    /* A polling loop must not crowd out the thread it waits for: sleepers compete one time in
     * four. */
    if (uns_gate.told || uns_gate_draw(4) == 0)
        count = add_sleepers(count);
    if (count == 1 && !uns_gate.replaying)
        return guard_streak(enabled[0], count, current);
    return guard_streak(uns_gate.strategy->pick(enabled, count, current), count, current);
}

/* All are kept back but for threads that are blocked outside: these may wait for the former. */
#define OUTSIDE_NS 200000000ll

/* While a thread is blocked outside, what it waits for may come without us; but not for ever. */
int uns_gate_is_stuck(void) {
    static uint64_t idle_steps;
    static int64_t idle_since;
    if (!uns_gate_anyone_outside())
        return 1;
    int64_t now = uns_real_ns();
    if (idle_steps != uns_gate.steps) {
        idle_steps = uns_gate.steps;
        idle_since = now;
    }
    return now - idle_since > OUTSIDE_NS;
}

static void look(void) {
    if (uns_gate.rules)
        uns_rules_look();
    else
        for (uint32_t i = 0; i < uns_gate.live_count; i++)
            uns_gate.live[i]->held = 0;
    if (uns_gate.sketch)
        uns_sketch_look();
}

/* A rule is somebody's idea, a sketch was a run: the rule gives way first. */
static int release(void) {
    if (!uns_gate.rules || !uns_rules_release())
        return uns_gate.sketch && uns_sketch_release();
    if (uns_gate.sketch)
        uns_sketch_look();
    return 1;
}

/* NULL: no thread can go on by itself, and nothing of ours keeps one back. Mutex held. */
struct uns_thread *uns_gate_choose(struct uns_thread *current) {
    if (UNS_LIKELY(!(uns_gate.rules | (uint32_t)uns_gate.sketch)))
        return choose(current);
    struct uns_thread *next;
    look();
    while (!(next = choose(current)) && release())
        ;
    return next;
}
