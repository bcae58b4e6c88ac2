/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks and sleeps as the target sees them. In a gated run the gate decides who gets a lock; in a
 * free run the word is an ordinary futex mutex. Sync objects are cells too: acquiring and
 * releasing are writes, so order through locks makes edges.
 */
#include "gate/state.h"
#include "gate/rules.h"
#include "gate/sketch.h"
#include "recorder/recorder.h"
#include "runtime/futex.h"
#include <time.h>

static uint64_t lock_cell(const struct uns_lock *lock) {
    uint64_t hash = uns_mix((uint64_t)(uintptr_t)lock);
    return uns_cell_key(hash, hash >> 32);
}

/* Locks are made and dropped all the time (a Condition makes one per wait): what was known of the
 * address is void. */
void uns_lock_made(struct uns_lock *lock, uint32_t flags) {
    *lock = (struct uns_lock){.owner = UNS_NO_OWNER, .flags = flags};
    if (uns_rt.active && uns_rt.tracks)
        uns_forget(&uns_rt.tracker, NULL, lock_cell(lock));
    if (UNS_UNLIKELY(uns_gate.rules))
        uns_rules_gave(lock);
}

static uint32_t lock_point(const struct uns_lock *lock, uint32_t site, int acquire) {
    int ends = (lock->flags & UNS_LOCK_IS_THREAD) != 0;
    if (acquire)
        return UNS_POINT(site, ends ? UNS_JOIN : UNS_ACQUIRE);
    return UNS_POINT(site, ends ? UNS_END : UNS_RELEASE);
}

/* Who takes a lock has been at the gate for it; who gives one back has not. */
static void follow(struct uns_thread *t, uint32_t point) {
    if (UNS_POINT_OP(point) == UNS_RELEASE || UNS_POINT_OP(point) == UNS_END)
        uns_gate_sketch(t, point);
    else
        uns_sketch_did(t, point);
}

/* Site 0: no code of the target is on the stack (a thread is being started or cleaned up). */
static void record(struct uns_thread *t, const struct uns_lock *lock, uint32_t point) {
    uint64_t cell = lock_cell(lock);
    int logged = !t->muted && (UNS_POINT_SITE(point) || UNS_POINT_OP(point) == UNS_END);
    if (UNS_UNLIKELY(uns_rt.recording)) {
        if (logged)
            uns_log_sync(t, point, cell);
        if (!uns_rt.tracks || !logged)
            return;
    }
    if (UNS_UNLIKELY(uns_gate.sketch) && logged)
        follow(t, point);
    /* The end of a thread and the wait for it order nothing that a reader of the graph looks for.
     */
    if (UNS_POINT_OP(point) <= UNS_RELEASE && UNS_POINT_SITE(point) && !t->failed)
        uns_write_forced(&uns_rt.tracker, &t->tracked, point, cell);
    if (UNS_UNLIKELY(uns_rt.tracing) && !t->failed)
        uns_record_event(t, point, cell, 0);
    uint32_t site = UNS_POINT_SITE(point);
    if (uns_rt.gated && site < uns_rt.site_limit && UNS_POINT_OP(point) == UNS_ACQUIRE) {
        t->head = site;
        uns_count_site(t, site);
    }
    if (UNS_UNLIKELY(uns_rt.hooks.locked != NULL) && uns_rt.gated && !t->muted)
        uns_rt.hooks.locked(t, lock, UNS_POINT_OP(point) == UNS_ACQUIRE);
}

/* How many locks a thread holds: who waits meanwhile makes others wait, which a patch must not. A
 * lock that its taker waits for once more, or that another releases, is a signal (Condition). */
static int is_guard(const struct uns_lock *lock) {
    return !(lock->flags & (UNS_LOCK_IS_THREAD | UNS_LOCK_IS_SIGNAL));
}

static void drop_guard(struct uns_thread *owner) {
    if (owner && owner->guards)
        owner->guards--;
}

static void becomes_signal(struct uns_lock *lock) {
    drop_guard(uns_thread_by_index(lock->owner));
    lock->flags |= UNS_LOCK_IS_SIGNAL;
}

void uns_count_wait(struct uns_thread *t) {
    uns_rt.counters[UNS_COUNT_WAITS_HOLDING] += t->guards && !t->starting;
    uns_gate.begins = t->starting;
    t->starting = 0;
}

/* The end of a thread is reported by the gate, once. */
static void report_to_rules(struct uns_thread *t, struct uns_lock *lock, uint32_t point) {
    if (!t->muted && UNS_POINT_OP(point) != UNS_END)
        uns_rules_did(t, point);
    if (UNS_POINT_OP(point) == UNS_ACQUIRE)
        uns_rules_took(t, lock);
    else
        uns_rules_gave(lock);
}

static int take_if_free(struct uns_lock *lock) {
    uint32_t free_word = 0;
    return __atomic_compare_exchange_n(&lock->word, &free_word, 1, 0, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static enum uns_grant acquire_free(struct uns_lock *lock, int64_t timeout_ns) {
    if (take_if_free(lock))
        return UNS_GO;
    if (!timeout_ns)
        return UNS_TIMED_OUT;
    int64_t deadline = timeout_ns == UNS_FOREVER ? UNS_FOREVER : uns_real_ns() + timeout_ns;
    void *parked = uns_rt.hooks.park ? uns_rt.hooks.park() : NULL;
    enum uns_grant outcome = UNS_GO;
    while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE)) {
        int64_t left = deadline == UNS_FOREVER ? UNS_FOREVER : deadline - uns_real_ns();
        struct timespec span = uns_span(left > 0 ? left : 0);
        int error = uns_futex_wait(&lock->word, 2, left == UNS_FOREVER ? NULL : &span);
        if (error == ETIMEDOUT || error == EINTR) {
            outcome = error == EINTR ? UNS_INTERRUPTED : UNS_TIMED_OUT;
            break;
        }
    }
    if (uns_rt.hooks.unpark)
        uns_rt.hooks.unpark(parked);
    return outcome;
}

/* A recorded run has no gate, but its deadlocks are to be recognised (watch.c). */
static enum uns_grant acquire_recorded(struct uns_thread *t, struct uns_lock *lock, uint32_t site,
                                       int64_t timeout_ns) {
    if (timeout_ns != UNS_FOREVER || take_if_free(lock))
        return timeout_ns != UNS_FOREVER ? acquire_free(lock, timeout_ns) : UNS_GO;
    t->pending = (struct uns_pending){
        .point = lock_point(lock, site, 1), .cell = lock_cell(lock), .lock = lock};
    __atomic_store_n(&t->state, UNS_READY, __ATOMIC_RELEASE);
    enum uns_grant outcome = acquire_free(lock, timeout_ns);
    __atomic_store_n(&t->state, UNS_RUNNING, __ATOMIC_RELEASE);
    return outcome;
}

/* What was recorded came from a run without a gate, which may have switched there. */
static int must_stop(const struct uns_thread *t, uint32_t point) {
    return (uns_gate.sketch && uns_sketch_knows(t, point)) ||
           (uns_gate.replaying && uns_replay_stops(t, point));
}

/* The instruction of a call comes a little after the look-up of its method, which a point names. */
#define CALL_REACH 40

static int is_step(const struct uns_thread *t, uint32_t site) {
    return t->step_site && site >= t->step_site && site - t->step_site <= CALL_REACH;
}

/* Starting a thread or submitting a job takes a dozen internal locks: if each were a switch point,
 * the threads that started first would be done before the others begin (measured on the zoo: the
 * random walk then finds nothing). */
static int goes_on(struct uns_thread *t, struct uns_lock *lock, uint32_t site, int inside) {
    int same_call = inside && (!site || site == t->last_sync_site || is_step(t, site));
    t->last_sync_site = site;
    t->step_site = 0;
    if (lock->word || inside == UNS_STAYS)
        return !lock->word;
    t->within = same_call ? t->within + 1 : 0;
    return same_call && !must_stop(t, lock_point(lock, site, 1));
}

/* A Condition asks its lock so whether it is held: whoever runs meanwhile, the answer is yes. */
static int asks_for_own(const struct uns_thread *t, const struct uns_lock *lock, uint32_t site,
                        int64_t timeout_ns, int inside) {
    return inside && !timeout_ns && lock->word && lock->owner == t->index &&
           !must_stop(t, lock_point(lock, site, 1));
}

void uns_lock_lost(struct uns_lock *lock) {
    if (is_guard(lock))
        drop_guard(uns_thread_by_index(lock->owner));
    lock->owner = UNS_NO_OWNER;
    lock->word = 0;
}

/* How to ask whether a lock is free all the same; or none. */
struct asked {
    int (*ready)(void *about);
    void *about;
};

static enum uns_grant acquire_gated(struct uns_thread *t, struct uns_lock *lock, uint32_t site,
                                    int64_t timeout_ns, int inside, struct asked asked) {
    if (goes_on(t, lock, site, inside)) {
        uns_count_event(t);
        lock->word = 1;
        return UNS_GO;
    }
    if (asks_for_own(t, lock, site, timeout_ns, inside)) {
        uns_count_event(t);
        return UNS_TIMED_OUT;
    }
    int waits = lock->word && lock->owner == t->index;
    if (waits && timeout_ns && is_guard(lock))
        becomes_signal(lock);
    if (lock->word && timeout_ns && !is_guard(lock))
        uns_count_wait(t);
    if (UNS_UNLIKELY(uns_gate.rules) && waits) {
        lock->signal = 1;
        uns_rules_gave(lock);
    }
    struct uns_pending pending = {
        .point = lock_point(lock, site, 1),
        .write = 1,
        .cell = lock_cell(lock),
        .lock = timeout_ns ? lock : NULL,
        .deadline =
            timeout_ns == UNS_FOREVER || !timeout_ns ? UNS_FOREVER : uns_gate_now() + timeout_ns,
        .limit = timeout_ns,
        .timer = t->timer,
        .ready = asked.ready,
        .about = asked.about,
        .within = lock->word ? 0 : t->within,
    };
    if (UNS_UNLIKELY(uns_rt.hooks.about != NULL))
        uns_rt.hooks.about(t, pending.point);
    enum uns_grant outcome = uns_gate_wait(t, &pending);
    if (outcome == UNS_GO && !timeout_ns)
        outcome = take_if_free(lock) ? UNS_GO : UNS_TIMED_OUT;
    return outcome;
}

/* A library does its work once it has its own lock; others may have come between that and the call:
 * the call counts from here on. Nothing else happened between the look-up of the method and it. */
static void repeat_call(struct uns_thread *t, uint32_t site) {
    uint32_t called = UNS_POINT_SITE(t->call_point);
    if (!t->muted && called && called == t->last_site && site - called <= CALL_REACH)
        uns_write(&uns_rt.tracker, &t->tracked, t->call_point, t->call_cell);
}

static enum uns_grant acquire(struct uns_lock *lock, uint32_t site, int64_t timeout_ns, int inside,
                              struct asked asked) {
    if (!uns_rt.active) {
        enum uns_grant idle = acquire_free(lock, timeout_ns);
        if (idle == UNS_GO)
            lock->owner = UNS_NO_OWNER;
        return idle;
    }
    struct uns_thread *t = uns_current();
    enum uns_grant outcome = uns_waits_gated(t)
                                 ? acquire_gated(t, lock, site, timeout_ns, inside, asked)
                             : uns_rt.recording ? acquire_recorded(t, lock, site, timeout_ns)
                                                : acquire_free(lock, timeout_ns);
    if (outcome == UNS_GO) {
        if (inside && inside != UNS_STAYS && !uns_rt.recording)
            repeat_call(t, site);
        if (lock->ended)
            uns_order(t->index, lock->ended - 1);
        lock->owner = t->index;
        t->guards += is_guard(lock);
        lock->taken = lock_point(lock, site, 1);
        lock->taken_time = uns_rt.tracker.now();
        record(t, lock, lock->taken);
        if (UNS_UNLIKELY(uns_gate.rules) && uns_rt.gated)
            report_to_rules(t, lock, lock->taken);
    }
    return outcome;
}

enum uns_grant uns_lock_acquire(struct uns_lock *lock, uint32_t site, int64_t timeout_ns,
                                int inside) {
    return acquire(lock, site, timeout_ns, inside, (struct asked){0});
}

enum uns_grant uns_lock_acquire_asking(struct uns_lock *lock, uint32_t site, int inside,
                                       int (*ready)(void *), void *about) {
    return acquire(lock, site, UNS_FOREVER, inside, (struct asked){ready, about});
}

void uns_lock_release(struct uns_lock *lock, uint32_t site) {
    if (uns_rt.active) {
        struct uns_thread *t = uns_current();
        if (is_guard(lock) && lock->owner == t->index)
            drop_guard(t);
        else if (is_guard(lock) && lock->owner != UNS_NO_OWNER)
            becomes_signal(lock);
        record(t, lock, lock_point(lock, site, 0));
        if (UNS_UNLIKELY(uns_gate.rules) && uns_rt.gated)
            report_to_rules(t, lock, lock_point(lock, site, 0));
        uns_count_event(t);
        /* Whoever joins lets the lock go again: only the first time is the thread's end. From 3.13
         * on it is the starting thread that takes it, so the owner says nothing. */
        if (lock->flags & UNS_LOCK_IS_THREAD && !lock->ended)
            lock->ended = t->index + 1;
    }
    lock->owner = UNS_NO_OWNER;
    if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
        uns_futex_wake(&lock->word, 1);
}

enum uns_grant uns_sleep(uint32_t site, int64_t ns, int real) {
    struct uns_thread *t = uns_rt.active ? uns_current() : NULL;
    int gated = t && uns_waits_gated(t);
    if (gated)
        uns_count_wait(t);
    if (gated && !real) {
        struct uns_pending pending = {
            .point = UNS_POINT(site, UNS_SLEEP), .deadline = uns_gate_now() + ns, .limit = ns};
        enum uns_grant outcome = uns_gate_wait(t, &pending);
        if (UNS_UNLIKELY(uns_gate.rules) && outcome == UNS_GO)
            uns_rules_did(t, pending.point);
        return outcome;
    }
    if (gated)
        uns_gate_go_outside(t);
    void *parked = uns_rt.hooks.park ? uns_rt.hooks.park() : NULL;
    struct timespec span = uns_span(ns);
    int r = nanosleep(&span, NULL);
    if (uns_rt.hooks.unpark)
        uns_rt.hooks.unpark(parked);
    if (gated)
        uns_gate_come_back(t, site);
    return r ? UNS_INTERRUPTED : UNS_GO;
}

/* The noise plan: one event in eight is delayed by up to 100 microseconds. */
void uns_gate_noise(struct uns_thread *t) {
    static __thread uint64_t state;
    if (!state)
        state = uns_gate.random + t->index * 7919u + 1;
    uint64_t drawn = uns_random(&state);
    if (drawn & 7)
        return;
    void *parked = uns_rt.hooks.park ? uns_rt.hooks.park() : NULL;
    struct timespec span = uns_span((int64_t)(drawn >> 8) % 100000);
    nanosleep(&span, NULL);
    if (uns_rt.hooks.unpark)
        uns_rt.hooks.unpark(parked);
}
