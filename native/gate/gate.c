/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a thread can be made to wait, and nowhere else.
 */
#include "gate/state.h"
#include "recorder/recorder.h"
#include "runtime/busy.h"
#include "gate/fair.h"
#include "gate/polling.h"
#include "gate/rules.h"
#include "gate/sketch.h"
#include "runtime/futex.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What `granted` is while its thread sleeps; 0: it does not, and has no grant. */
#define SLEEPS UINT32_MAX
/* Gated threads share a core. To sleep and to be woken costs the kernel more than to let others of
 * the core run first, which often is all that is needed: so many times, then a thread sleeps.
 * Measured with 4 threads, each access a switch: 2 turns save a tenth, more nothing. */
#define TURNS 2

struct uns_gate uns_gate;

void uns_gate_lock(void) {
    uns_busy();
    uint32_t free_word = 0;
    if (__atomic_compare_exchange_n(&uns_gate.mutex, &free_word, 1, 0, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(&uns_gate.mutex, 2, __ATOMIC_ACQUIRE))
        uns_futex_wait(&uns_gate.mutex, 2, NULL);
}

void uns_gate_unlock(void) {
    if (__atomic_exchange_n(&uns_gate.mutex, 0, __ATOMIC_RELEASE) == 2)
        uns_futex_wake(&uns_gate.mutex, 1);
    uns_idle();
}

uint64_t uns_gate_arrivals(void) {
    return __atomic_load_n(&uns_gate.arrivals, __ATOMIC_RELAXED);
}

/* Real time passes for waits while nobody can run: what they wait for may come from outside. What
 * threads compute takes no time, however slow the machine is, or the same seed would give another
 * run; but who computes for long does, in steps, so that a limit of seconds ends while it does. */
#define LUMP_NS 1000000000ll

static int64_t cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t in_lumps(int64_t computed) {
    if (computed < LUMP_NS)
        return 0;
    int64_t used = cpu_ns() - uns_gate.cpu_begin;
    return (used < computed ? used : computed) / LUMP_NS * LUMP_NS;
}

static int64_t load(const int64_t *word) {
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

int64_t uns_gate_now(void) {
    int64_t now = uns_real_ns(), computed = load(&uns_gate.computed);
    if (__atomic_load_n(&uns_gate.holder, __ATOMIC_RELAXED))
        computed += now - load(&uns_gate.computes_since);
    return now + load(&uns_rt.clock_offset) - computed + in_lumps(computed);
}

/* With the mutex held. */
static void set_holder(struct uns_thread *t) {
    if (!t != !uns_gate.holder) {
        int64_t now = uns_real_ns();
        int64_t computed = t ? 0 : now - uns_gate.computes_since;
        __atomic_store_n(&uns_gate.computed, uns_gate.computed + computed, __ATOMIC_RELAXED);
        __atomic_store_n(&uns_gate.computes_since, now, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&uns_gate.holder, t, __ATOMIC_RELEASE);
}

int uns_gate_begin(const struct uns_plan *plan) {
    memset(&uns_gate, 0, sizeof uns_gate);
    uns_gate.cpu_begin = cpu_ns();
    uns_waits_begin();
    uns_alarm_set(0, 0);
    uns_gate.random = plan->seed * 2 + 1;
    if (plan->kind == UNS_PLAN_RECORD)
        return 0; /* nobody waits, though some may be delayed */
    uns_gate.replaying = plan->kind == UNS_PLAN_REPLAY;
    uns_gate.strategy =
        uns_gate.replaying ? &uns_strategy_replay : uns_strategy_named(plan->strategy);
    if (!uns_gate.strategy || (plan->follows && uns_sketch_begin(plan) < 0))
        return -1;
    uns_gate.follows = uns_gate.replaying || uns_gate.strategy == &uns_strategy_sketch;
    uns_polling_begin(plan->seed);
    uns_gate.strategy->begin(plan);
    return plan->kind >= UNS_PLAN_CONTROLLED && plan->rules_length ? uns_rules_begin(plan) : 0;
}

/* Nobody would ever choose one more. The parent reads why. */
static void too_many(void) {
    uns_run_abandon();
    dprintf(STDERR_FILENO, "unsnarl: a gated run can have %d threads at once, not more\n",
            UNS_GATE_THREADS);
    _exit(UNS_EXIT_REFUSED);
}

/* A new thread can be chosen before the operating system has started it: it will find the grant
 * when it arrives. So the order of threads does not depend on how fast they start. */
void uns_gate_register(struct uns_thread *t) {
    if (uns_rt.site_limit) {
        uint32_t limit = uns_rt.site_limit;
        t->counts = uns_pages(limit * sizeof *t->counts + limit / UNS_COUNTED_SITES + 1);
        t->counted = (uint8_t *)(t->counts + limit);
        t->occurrences = uns_pages(uns_rt.site_limit * UNS_CLASSES * sizeof *t->occurrences);
    }
    uns_gate_lock();
    if (uns_gate.live_count == UNS_GATE_THREADS)
        too_many();
    uns_gate.live[uns_gate.live_count++] = t;
    if (uns_gate.sketch)
        uns_sketch_enter(t);
    uns_gate.strategy->enter(t);
    if (t->index == 0) {
        set_holder(t);
        t->state = UNS_RUNNING;
    } else if (t->flags & UNS_THREAD_CONTROLLED) {
        t->pending =
            (struct uns_pending){.point = UNS_POINT(0, UNS_BEGIN), .deadline = UNS_FOREVER};
        t->state = UNS_READY;
    }
    uns_gate_unlock();
}

/* What ends early counts by its whole limit: what is left of it may depend on the machine. */
static void pass_time(struct uns_thread *t) {
    const struct uns_pending *p = &t->pending;
    int64_t ahead = p->deadline - uns_gate_now();
    t->early_at = uns_gate.busy ? p->point : 0;
    if (ahead > 0)
        __atomic_fetch_add(&uns_rt.clock_offset, ahead, __ATOMIC_RELAXED);
    if (uns_alarm_due() <= uns_gate_now())
        uns_alarm_ring(1);
    uns_gate.stretched = uns_gate.busy ? uns_gate.stretched + (ahead > 0 ? p->limit : 0) : 0;
}

/* What is granted is done at once, inside the gate: nobody can slip in between. */
static enum uns_grant perform(struct uns_thread *t) {
    struct uns_pending *p = &t->pending;
    if (t->called == UNS_CALL_HEARD) {
        t->called = UNS_NOT_CALLED;
        return UNS_INTERRUPTED;
    }
    if (p->lock && !p->lock->word) {
        p->lock->word = 1;
        p->lock->owner = t->index;
        return UNS_GO;
    }
    if (p->deadline != UNS_FOREVER && !(p->ready && p->ready(p->about)))
        pass_time(t);
    return p->lock ? UNS_TIMED_OUT : UNS_GO;
}

/* Does it sleep? */
static int grant(struct uns_thread *t) {
    uns_gate.strategy->did(t);
    enum uns_grant outcome = perform(t);
    t->state = UNS_RUNNING;
    set_holder(t);
    return __atomic_exchange_n(&t->granted, outcome + 1u, __ATOMIC_RELEASE) == SLEEPS;
}

static enum uns_grant take_grant(struct uns_thread *t) {
    uint32_t granted = __atomic_exchange_n(&t->granted, 0, __ATOMIC_ACQUIRE);
    uns_count_event(t);
    return (enum uns_grant)(granted - 1);
}

void uns_gate_wake(struct uns_thread *sleeper) {
    if (sleeper)
        uns_futex_wake(&sleeper->granted, 1);
}

static void wait_for_grant(uint32_t *granted) {
    for (int i = 0; i < TURNS && !__atomic_load_n(granted, __ATOMIC_RELAXED); i++)
        uns_let_others_run();
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(granted, &none, SLEEPS, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        while (__atomic_load_n(granted, __ATOMIC_RELAXED) == SLEEPS)
            uns_futex_wait(granted, SLEEPS, NULL);
}

/* Called without the gate's mutex; `wake` sleeps although the token is its own, or is NULL. */
static enum uns_grant sleep_until_granted(struct uns_thread *t, struct uns_thread *wake) {
    void *parked = uns_rt.hooks.park ? uns_rt.hooks.park() : NULL;
    uns_gate_wake(wake);
    wait_for_grant(&t->granted);
    if (uns_rt.hooks.unpark)
        uns_rt.hooks.unpark(parked);
    return take_grant(t);
}

static void add_segment(const struct uns_thread *t, uint32_t point, uint32_t occurrence) {
    uint64_t events = uns_events_of(t);
    const struct uns_segment_record segment = {.thread = t->index,
                                               .point = point,
                                               .until = events < UINT32_MAX ? (uint32_t)events
                                                                            : UINT32_MAX,
                                               .occurrence = occurrence};
    uns_record_segment(&segment);
}

static void close_segment(const struct uns_thread *t) {
    add_segment(t, uns_gate.segment_point, uns_gate.segment_occurrence);
}

/* At the end of the run: where the others wait, for a replay to leave them there. */
void uns_gate_close_schedule(void) {
    if (uns_gate.holder)
        close_segment(uns_gate.holder);
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        const struct uns_thread *t = uns_gate.live[i];
        if (t->state == UNS_READY)
            add_segment(t, t->pending.point, uns_gate_occurrence(t));
    }
}

/* `from` gives up the token (it may be NULL: nobody held it); mutex held. Returns `to` if it has to
 * be woken, without the mutex. */
struct uns_thread *uns_gate_hand_over(struct uns_thread *from, struct uns_thread *to) {
    if (from && from != to)
        close_segment(from);
    if (!to) {
        set_holder(NULL);
        return NULL;
    }
    if (from != to) {
        uns_gate.segment_point = to->pending.point;
        uns_gate.segment_occurrence = uns_gate_occurrence(to);
        uns_rt.counters[UNS_COUNT_SWITCHES]++;
    }
    return grant(to) ? to : NULL;
}

static int anything_in_flight(void) {
    return uns_rt.hooks.in_flight && uns_rt.hooks.in_flight();
}

/* Child processes live in real time: who sleeps so that one may end its work sees it ended. Some
 * only wait for us, and nobody knows which, so that they get no more than this in a run. */
#define CHILDREN_NS 3000000000ll

static int children_need_time(void) {
    if (uns_gate.for_children >= CHILDREN_NS || !uns_rt.hooks.children ||
        !uns_gate_anybody_has_time() || !uns_rt.hooks.children())
        return 0;
    int64_t now = uns_real_ns();
    if (uns_gate.children_at == uns_gate.arrivals)
        uns_gate.for_children += now - uns_gate.children_since;
    uns_gate.children_at = uns_gate.arrivals;
    uns_gate.children_since = now;
    return 1;
}

/* ... or waits for something that may come from there. `own`: or seems not to, but nobody can be
 * sure: another process may connect to where a thread listens. */
static int anyone_outside(int own) {
    for (uint32_t i = 0; i < uns_gate.live_count; i++) {
        const struct uns_thread *t = uns_gate.live[i];
        if (t->state == UNS_OUTSIDE || __atomic_load_n(&t->signalled, __ATOMIC_RELAXED) ||
            (t->state == UNS_READY && t->pending.ready && !t->pending.lock &&
             (own || !t->pending.own || anything_in_flight())))
            return 1;
    }
    return (uns_rt.expected && uns_rt.expected > uns_real_ns()) || children_need_time();
}

int uns_gate_anyone_outside(void) {
    return anyone_outside(1);
}

int uns_gate_time_is_real(void) {
    return anyone_outside(0);
}

/* Whoever waits does not wait for ever: so long a signal may take to come. */
#define ARRIVES_NS 200000000ll

void uns_gate_expect(int64_t ns) {
    int64_t until = uns_real_ns() + ns + ARRIVES_NS;
    if (uns_rt.gated && until > uns_rt.expected)
        uns_rt.expected = until;
}

/* An access waits for nothing but its turn. */
static int waits_for_more(const struct uns_pending *p) {
    return p->lock || p->ready || p->deadline != UNS_FOREVER;
}

/* What it waited for is forgotten: it may go on at once. */
static void hear_call(struct uns_thread *t) {
    struct uns_pending *p = &t->pending;
    if (t->called != UNS_CALLED || !waits_for_more(p))
        return;
    t->called = UNS_CALL_HEARD;
    p->lock = NULL;
    p->ready = NULL;
    p->deadline = UNS_FOREVER;
}

/* Mutex held; returns who has to be woken. */
static struct uns_thread *call(struct uns_thread *t) {
    if (t->called == UNS_NOT_CALLED)
        t->called = UNS_CALLED;
    if (t->state == UNS_READY)
        hear_call(t);
    struct uns_thread *next = uns_gate.holder ? NULL : uns_gate_choose(NULL);
    return next ? uns_gate_hand_over(NULL, next) : NULL;
}

void uns_gate_call(struct uns_thread *t) {
    uns_gate_lock();
    struct uns_thread *sleeper = call(t);
    uns_gate_unlock();
    uns_gate_wake(sleeper);
}

void uns_gate_call_waiting(struct uns_thread *t) {
    uns_gate_lock();
    int waits = t->state == UNS_READY && waits_for_more(&t->pending);
    struct uns_thread *sleeper = waits ? call(t) : NULL;
    uns_gate_unlock();
    uns_gate_wake(sleeper);
}

static int is_access(uint32_t point) {
    uint32_t op = UNS_POINT_OP(point);
    return op == UNS_READ || op == UNS_WRITE || op == UNS_CALL;
}

/* Who goes on. None: something may come from outside, or it is a deadlock. What was to come may
 * have come, or its time may be over, since it was asked for: whose time it is goes on then. */
static struct uns_thread *choose(struct uns_thread *current, int *deadlocked) {
    struct uns_thread *next = uns_gate_choose(current);
    if (!next && !uns_gate_anyone_outside() && uns_gate_anybody_has_time())
        next = uns_gate_choose(current);
    *deadlocked = !next && uns_gate.live_count && !uns_gate_anyone_outside();
    return next;
}

static enum uns_grant wait_for_turn(struct uns_thread *t, const struct uns_pending *pending) {
    uns_gate_lock();
    struct uns_thread *from = uns_gate.holder == t ? t : NULL;
    t->pending = *pending;
    t->drawn.pos_priority = 0;
    t->state = UNS_READY;
    hear_call(t);
    __atomic_store_n(&uns_gate.arrivals, uns_gate.arrivals + 1, __ATOMIC_RELAXED);
    if (!is_access(pending->point) && !pending->silent && !pending->within)
        uns_gate_count(t, pending->point);
    if (UNS_UNLIKELY(uns_gate.rules))
        uns_rules_arrived(t, pending->point);
    if (uns_gate.holder && !from) { /* back from outside: the holder will choose us in time */
        uns_gate_unlock();
        return sleep_until_granted(t, NULL);
    }
    int deadlocked;
    struct uns_thread *next = choose(t, &deadlocked);
    if (deadlocked) {
        uns_gate_unlock();
        return UNS_DEADLOCKED;
    }
    struct uns_thread *sleeper = uns_gate_hand_over(from, next);
    uns_gate_unlock();
    return next == t ? take_grant(t) : sleep_until_granted(t, sleeper);
}

enum uns_grant uns_gate_wait(struct uns_thread *t, const struct uns_pending *pending) {
    uns_busy();
    enum uns_grant outcome = wait_for_turn(t, pending);
    uns_idle();
    return outcome;
}

void uns_gate_arrive(struct uns_thread *t) {
    struct uns_pending begin = {.point = UNS_POINT(0, UNS_BEGIN), .deadline = UNS_FOREVER};
    if (t->flags & UNS_THREAD_CONTROLLED)
        sleep_until_granted(t, NULL);
    else
        uns_gate_wait(t, &begin);
    if (UNS_UNLIKELY(uns_gate.rules))
        uns_rules_did(t, begin.point);
    if (UNS_UNLIKELY(uns_gate.sketch))
        uns_sketch_did(t, begin.point);
}

static void remove_live(const struct uns_thread *t) {
    for (uint32_t i = 0; i < uns_gate.live_count; i++)
        if (uns_gate.live[i] == t) {
            memmove(&uns_gate.live[i], &uns_gate.live[i + 1],
                    (uns_gate.live_count - i - 1) * sizeof *uns_gate.live);
            uns_gate.live_count--;
            return;
        }
}

/* The thread is about to block where the gate cannot see; others go on meanwhile. */
void uns_gate_go_outside(struct uns_thread *t) {
    uns_gate_lock();
    struct uns_thread *sleeper = NULL;
    if (UNS_UNLIKELY(uns_gate.rules))
        uns_rules_arrived(t, 0);
    t->state = UNS_OUTSIDE;
    if (uns_gate.holder == t)
        sleeper = uns_gate_hand_over(t, uns_gate_choose(NULL));
    uns_gate_unlock();
    uns_gate_wake(sleeper);
}

static enum uns_grant await(struct uns_thread *t, uint32_t site, int64_t timeout_ns,
                            struct uns_pending pending) {
    uns_count_wait(t);
    pending.point = UNS_POINT(site, UNS_SLEEP);
    pending.deadline = timeout_ns == UNS_FOREVER ? UNS_FOREVER : uns_gate_now() + timeout_ns;
    pending.limit = timeout_ns;
    enum uns_grant outcome = uns_gate_wait(t, &pending);
    if (UNS_UNLIKELY(uns_gate.rules) && outcome == UNS_GO)
        uns_rules_did(t, pending.point);
    return outcome;
}

enum uns_grant uns_gate_await(struct uns_thread *t, uint32_t site, int (*ready)(void *),
                              void *about, int64_t timeout_ns) {
    return await(t, site, timeout_ns, (struct uns_pending){.ready = ready, .about = about});
}

enum uns_grant uns_gate_await_own(struct uns_thread *t, uint32_t site, int (*ready)(void *),
                                  void *about, int64_t timeout_ns) {
    return await(t, site, timeout_ns,
                 (struct uns_pending){.ready = ready, .about = about, .own = 1});
}

enum uns_grant uns_gate_await_timer(struct uns_thread *t, uint32_t site, int (*ready)(void *),
                                    void *about, int own, int64_t timeout_ns) {
    return await(t, site, timeout_ns,
                 (struct uns_pending){.ready = ready, .about = about, .own = own, .timer = 1});
}

enum uns_grant uns_gate_come_back(struct uns_thread *t, uint32_t site) {
    return uns_gate_await(t, site, NULL, NULL, UNS_FOREVER);
}

void uns_gate_linger(void) {
    struct uns_thread *t = uns_self;
    struct uns_pending pending = {.point = UNS_POINT(0, UNS_SLEEP), .deadline = UNS_FOREVER};
    if (uns_rt.active && uns_rt.gated && t && !t->muted && !t->busy && !uns_rt.fatal &&
        uns_gate.holder == t && uns_gate.live_count > 1)
        uns_gate_wait(t, &pending);
}

void uns_gate_forget(struct uns_thread *t) {
    uns_gate_lock();
    remove_live(t);
    uns_gate_unlock();
}

/* Returns UNS_DEADLOCKED if those that are left wait for each other. */
enum uns_grant uns_gate_leave(struct uns_thread *t) {
    uns_gate_lock();
    struct uns_thread *from = uns_gate.holder == t ? t : NULL;
    t->state = UNS_ENDED;
    remove_live(t);
    if (UNS_UNLIKELY(uns_gate.rules))
        uns_rules_ended(t);
    struct uns_thread *sleeper = NULL;
    enum uns_grant outcome = UNS_GO;
    if (from || !uns_gate.holder) {
        int deadlocked;
        struct uns_thread *next = choose(NULL, &deadlocked);
        outcome = deadlocked ? UNS_DEADLOCKED : UNS_GO;
        sleeper = uns_gate_hand_over(from, next);
    }
    uns_gate_unlock();
    uns_gate_wake(sleeper);
    return outcome;
}

static void count_event(struct uns_thread *t, uint32_t point) {
    uint32_t site = UNS_POINT_SITE(point);
    uns_gate_count(t, point);
    if (site < uns_rt.site_limit)
        uns_count_site(t, site);
}

static int is_no_switch_point(uint32_t site) {
    return uns_rt.switch_sites && site < uns_rt.site_limit && !uns_rt.switch_sites[site];
}

/* A thread that waits by looking where no run has shared anything would never let others run. */
static int must_switch(const struct uns_thread *t) {
    return t->poll.turns >= UNS_POLLS_FOR_GOOD || uns_fair_is_called();
}

void uns_gate_access(struct uns_thread *t, uint32_t point, uint64_t cell, int write,
                     int may_switch) {
    uint32_t site = UNS_POINT_SITE(point);
    int switches = may_switch != UNS_FOLLOWS && (may_switch || uns_rt.any_access);
    if (uns_rt.noise) {
        if (switches)
            uns_gate_noise(t);
        return;
    }
    if (switches)
        t->head = site;
    count_event(t, point);
    if (write)
        uns_polling_wrote();
    else
        uns_polling_read(t, point, cell);
    if (uns_touch(&uns_rt.tracker, &t->tracked, site, cell, uns_rt.shared_sites,
                  uns_rt.site_limit) &&
        t->head < uns_rt.site_limit)
        uns_rt.shared_sites[t->head] = 1;
    if (!switches || (is_no_switch_point(site) && !must_switch(t))) {
        uns_count_event(t);
    } else {
        struct uns_pending pending = {
            .point = point, .write = (uint32_t)write, .cell = cell, .deadline = UNS_FOREVER};
        uns_gate_wait(t, &pending);
    }
    if (UNS_UNLIKELY(uns_gate.rules))
        uns_rules_did(t, point);
    if (UNS_UNLIKELY(uns_gate.sketch) && uns_rt.sketch.level == UNS_LEVEL_ACCESS)
        uns_sketch_did(t, point);
    if (UNS_UNLIKELY(uns_rt.tracing))
        uns_record_event(t, point, cell, may_switch == UNS_FOLLOWS);
    if (UNS_UNLIKELY(uns_rt.hooks.about != NULL))
        uns_rt.hooks.about(t, point);
}

/* A function is entered or left, a block begins, a lock is about to be let go: a switch point in
 * runs that follow a sketch, and in no others. A schedule counts events without it, so the run can
 * be repeated without its sketch. */
void uns_gate_sketch(struct uns_thread *t, uint32_t point) {
    struct uns_pending pending = {.point = point, .deadline = UNS_FOREVER, .silent = 1};
    if (!uns_gate.sketch || !t->track)
        return;
    uns_gate_wait(t, &pending);
    __atomic_store_n(&t->events, t->events - 1, __ATOMIC_RELAXED); /* as if it had not been here */
    uns_sketch_did(t, point);
}

void uns_gate_touched(struct uns_thread *t, uint64_t cell, int write) {
    if (UNS_UNLIKELY(uns_gate.sketch) && uns_rt.tracing)
        uns_record_event(t, UNS_POINT(0, write ? UNS_EXIT : UNS_ENTER), cell, 0);
}

void uns_gate_touch(struct uns_thread *t, uint32_t site, uint64_t cell) {
    if (uns_rt.gated &&
        uns_touch(&uns_rt.tracker, &t->tracked, site, cell, uns_rt.shared_sites,
                  uns_rt.site_limit) &&
        t->head < uns_rt.site_limit)
        uns_rt.shared_sites[t->head] = 1;
}
