/* SPDX-License-Identifier: Apache-2.0
 *
 * Which threads could go on, and what happens when none can: time passes, or it is a deadlock.
 */
#include "gate/fair.h"
#include "gate/polling.h"
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
    if (!asks_all && p->stirred == uns_rt.stirred && uns_gate.arrivals < p->ask_at)
        return 0;
    p->stirred = uns_rt.stirred;
    p->ask_at = uns_gate.arrivals + ASK_EVERY;
    /* Not by its deadline: how soon that comes while others run is a matter of the machine. Who has
     * one is among those whose time may come (add_timed), and is when nobody else can run. */
    return p->ready(p->about);
}

/* What the kernel guards may be free without our knowing: a file was closed. */
static int is_taken(struct uns_pending *p) {
    if (!p->lock->word)
        return 0;
    if (!p->ready || !is_ready(p))
        return 1;
    uns_lock_lost(p->lock);
    return 0;
}

/* Does nothing but the passing of time, or what others do, keep it from going on? */
static int waits(struct uns_thread *t) {
    struct uns_pending *p = &t->pending;
    return is_sleep(p) || (p->lock ? is_taken(p) : !is_ready(p));
}

static int can_run(struct uns_thread *t) {
    return t->state == UNS_READY && !t->held && !waits(t);
}

/* A sleep of the program, alone or in front of what an event loop waits for besides. */
static int sleeps(const struct uns_pending *p) {
    return is_sleep(p) || (p->timer && p->deadline != UNS_FOREVER);
}

/* How far ahead of its time a wait may end although others could run. */
static int64_t early_ns(const struct uns_pending *p) {
    return sleeps(p) || uns_gate.replaying ? UNS_EARLY_WAKE_NS : UNS_SHORT_LIMIT_NS;
}

/* What threads do between two times at which nobody can run is not stretched for ever. */
static int may_stretch(const struct uns_pending *p) {
    return uns_gate.stretched + p->limit <= UNS_STRETCH_NS;
}

/* May its time come while others could run, as if they had been descheduled that long? A sketch
 * says how often it was so in a real run; who has left it polls, and a rule may keep back whom it
 * polls for. */
static int may_end_early(const struct uns_thread *t) {
    int64_t ahead = t->pending.deadline - uns_gate_now();
    int follows = uns_gate.follows && !uns_gate.replaying && !uns_rt.counters[UNS_COUNT_DIVERGED];
    return ahead <= early_ns(&t->pending) && (ahead <= 0 || follows || may_stretch(&t->pending));
}

/* What a schedule says has happened: a long sleep ended although others could have run. Not again
 * and again at one place: when that was recorded, nobody else could run. */
static int is_scheduled(const struct uns_thread *t) {
    const struct uns_pending *p = &t->pending;
    if (!sleeps(p) || !uns_gate.replaying)
        return sleeps(p) && uns_gate.follows;
    return t == uns_replay_wanted() && (t->early_at != p->point || may_stretch(p));
}

static uint32_t add_timed(uint32_t count) {
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        struct uns_thread *t = uns_gate.live[i];
        if (t->state == UNS_READY && !t->held && t->pending.deadline != UNS_FOREVER && waits(t) &&
            (may_end_early(t) || is_scheduled(t)))
            enabled[count++] = t;
    }
    return count;
}

/* When the first of those that a rule keeps back could go on without the rule. */
static int64_t first_kept_back(void) {
    int64_t first = UNS_FOREVER;
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        struct uns_thread *t = uns_gate.live[i];
        if (t->state != UNS_READY || !(t->held & UNS_HELD_BY_RULE))
            continue;
        int64_t able = waits(t) ? t->pending.deadline : 0;
        first = able < first ? able : first;
    }
    return first;
}

/* Nothing can run: time advances to the first deadline (sleeps and timed waits alike). But while a
 * thread is blocked in the real world, time is real: what it waits for may come before that. And
 * while a rule keeps back a thread that could run, time passes no further than the program could
 * see with that thread running, or the rule's own idea would be what ends a wait: the rule gives
 * way first. Only a sleep of whom the rule waits for passes, as it would in front of a lock; but
 * not again and again at one place, for who polls may wait for the one that the rule keeps back. A
 * schedule says whose time came first; once the run has left it, that may be a limit of seconds
 * while another one's sleep of milliseconds is over before. */
static struct uns_thread *next_deadline(void) {
    struct uns_thread *first = NULL, *wanted = NULL;
    if (uns_gate.replaying && !uns_rt.counters[UNS_COUNT_DIVERGED])
        wanted = uns_replay_wanted();
    int64_t latest = uns_gate_time_is_real() ? uns_gate_now() : UNS_FOREVER - 1;
    latest = uns_alarm_due() < latest ? uns_alarm_due() : latest;
    int64_t kept_back = first_kept_back();
    uns_gate.busy = kept_back < UNS_FOREVER;
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        struct uns_thread *t = uns_gate.live[i];
        int64_t deadline = t->pending.deadline;
        if (t->state != UNS_READY || t->held || deadline > latest)
            continue;
        if (deadline >= kept_back && !may_end_early(t) &&
            !(sleeps(&t->pending) && t->slept_at != t->pending.point && uns_rules_await(t)))
            continue;
        if (t == wanted)
            return t;
        if (!first || deadline < first->pending.deadline)
            first = t;
    }
    return first;
}

int uns_gate_anybody_has_time(void) {
    for (uint32_t i = 0; i < uns_gate.live_count; i++)
        if (uns_gate.live[i]->state == UNS_READY &&
            uns_gate.live[i]->pending.deadline != UNS_FOREVER)
            return 1;
    return 0;
}

static struct uns_thread *first_deadline(void) {
    struct uns_thread *first = next_deadline();
    if (!first && !uns_gate.busy && !uns_gate_time_is_real())
        uns_alarm_ring(uns_gate_anybody_has_time());
    if (first && uns_gate.fair)
        first = uns_fair_sleeper(first);
    if (first && !uns_gate.busy)
        uns_gate_note_standstill(first);
    if (first && sleeps(&first->pending))
        first->slept_at = uns_gate.busy ? first->pending.point : 0;
    return first;
}

/* All that can run poll, and have for long: only what a sleeper does will change something, so its
 * time comes as if nobody could run. */
static struct uns_thread *first_sleeper(void) {
    struct uns_thread *first = NULL;
    for (uint32_t i = 0; i < uns_gate.live_count && !uns_gate_time_is_real(); i++) {
        struct uns_thread *t = uns_gate.live[i];
        if (t->state == UNS_READY && !t->held && is_sleep(&t->pending) &&
            (!first || t->pending.deadline < first->pending.deadline))
            first = t;
    }
    uns_gate.busy = first == NULL;
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

/* Whoever starts a thread waits until it has begun. Others that come in between see nothing that
 * they could not see before or after that, but a thread that is half started: the call of start()
 * is one step. */
static struct uns_thread *beginner(void) {
    struct uns_thread *t = uns_gate.begins ? uns_thread_by_index(uns_gate.begins - 1) : NULL;
    uns_gate.begins = 0;
    int begins = t && t->state == UNS_READY && UNS_POINT_OP(t->pending.point) == UNS_BEGIN;
    return begins && !uns_gate.follows && can_run(t) ? t : NULL;
}

static struct uns_thread *choose(struct uns_thread *current) {
    struct uns_thread *next = beginner();
    if (next)
        return next;
    uint32_t count = find_enabled(0);
    if (!count)
        count = find_enabled(1);
    if (!count)
        return first_deadline();
    uns_gate.busy = 1;
    if (!uns_gate.follows && uns_polling_all_do(enabled, count)) {
        struct uns_thread *sleeper = first_sleeper();
        if (sleeper)
            return sleeper;
    }
    /* A polling loop must not crowd out the thread it waits for: those whose time may come early
     * compete one time in four; not where nobody is to be interrupted. */
    int is_serial = uns_gate.strategy == &uns_strategy_serial;
    if (uns_gate.follows || (!is_serial && uns_gate_draw(4) == 0))
        count = add_timed(count);
    if (!uns_gate.follows && !uns_fair_lets_poll())
        count = uns_polling_leave_out(enabled, count);
    if (uns_gate.fair)
        return uns_fair_pick(enabled, count, current);
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
    if (!uns_gate_time_is_real())
        return 1;
    int64_t now = uns_real_ns();
    if (idle_steps != uns_gate.arrivals) {
        idle_steps = uns_gate.arrivals;
        idle_since = now;
    }
    return now - idle_since > OUTSIDE_NS;
}

static void look(int fair) {
    if (uns_gate.rules && !fair)
        uns_rules_look();
    else
        for (uint32_t i = 0; i < uns_gate.live_count; i++)
            uns_gate.live[i]->held = 0;
    if (uns_gate.sketch && !fair)
        uns_sketch_look();
}

/* A rule is somebody's idea, a sketch was a run: the rule gives way first. */
static int release(void) {
    if (uns_gate.fair)
        return 0;
    if (!uns_gate.rules || !uns_rules_release())
        return uns_gate.sketch && uns_sketch_release();
    if (uns_gate.sketch)
        uns_sketch_look();
    return 1;
}

/* NULL: no thread can go on by itself, and nothing of ours keeps one back. Mutex held. */
struct uns_thread *uns_gate_choose(struct uns_thread *current) {
    int fair = uns_fair_look();
    if (UNS_LIKELY(!(uns_gate.rules | (uint32_t)uns_gate.sketch)))
        return choose(current);
    struct uns_thread *next;
    look(fair);
    while (!(next = choose(current)) && release())
        ;
    return next;
}
