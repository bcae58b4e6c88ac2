/* SPDX-License-Identifier: Apache-2.0
 *
 * What the gate knows of libc's mutexes, conditions and the like. In a gated run libc's own are not
 * touched at all: they may hold any bytes that an initialiser left.
 */
#include "probe_c/probe.h"
#include <errno.h>
#include <semaphore.h>
#include <threads.h>

#define BUCKETS (1u << 14)
#define CHUNK   512u /* objects that are made at a time; they never move */

static struct uns_c_object *buckets[BUCKETS], *unused;
static uint32_t unused_count;
static char busy;

static struct uns_c_object **bucket_of(const void *address) {
    return &buckets[(uint32_t)(uns_mix((uintptr_t)address >> 3) >> 40) % BUCKETS];
}

static struct uns_c_object *find(const void *address) {
    struct uns_c_object *found = *bucket_of(address);
    while (found && found->address != address)
        found = found->next;
    return found;
}

static struct uns_c_object *add(const void *address) {
    if (!unused_count) {
        unused = uns_pages(CHUNK * sizeof *unused);
        unused_count = CHUNK;
    }
    struct uns_c_object *made = unused++, **bucket = bucket_of(address);
    unused_count--;
    made->address = address;
    made->next = *bucket;
    return *bucket = made;
}

struct uns_c_object *uns_c_object(const void *address, enum uns_c_kind kind) {
    uns_busy();
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
    struct uns_c_object *found = find(address);
    if (!found)
        found = add(address);
    if (found->kind != kind) {
        *found = (struct uns_c_object){.address = address, .next = found->next, .kind = kind};
        uns_lock_made(&found->lock, UNS_LOCK_IS_OBJECT);
        for (uint32_t i = 0; kind == UNS_C_RWLOCK && i < UNS_C_HOLDERS; i++)
            uns_lock_made(&found->holders[i], 0);
    }
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    uns_idle();
    return found;
}

/* Its memory may be something else from now on. */
void uns_c_forget(const void *address) {
    struct uns_c_object *found = find(address);
    if (found)
        found->kind = 0;
}

static void give_back(struct uns_c_object *object) {
    void *address = (void *)(uintptr_t)object->address;
    if (object->kind == UNS_C_SEM)
        UNS_C_REAL(sem_init)(address, 0, (unsigned)object->value);
    else if (object->kind == UNS_C_MUTEX && object->lock.word)
        UNS_C_REAL(pthread_mutex_trylock)(address);
    else if (object->kind == UNS_C_RWLOCK && object->value < 0)
        UNS_C_REAL(pthread_rwlock_trywrlock)(address);
    else if (object->kind == UNS_C_ONCE && object->value)
        *(pthread_once_t *)address = 2; /* what glibc calls done */
    for (int32_t i = 0; object->kind == UNS_C_RWLOCK && i < object->value; i++)
        UNS_C_REAL(pthread_rwlock_tryrdlock)(address);
}

void uns_c_give_back(void) {
    for (uint32_t i = 0; i < BUCKETS; i++)
        for (struct uns_c_object *at = buckets[i]; at; at = at->next)
            give_back(at);
}

int uns_c_take_or_hear(struct uns_lock *lock, uint32_t site, int64_t timeout_ns) {
    int inside = uns_c_may_switch() ? uns_c_inside : UNS_STAYS;
    if (uns_rt.gated)
        uns_c_about_to_touch(uns_c_mutex_of(lock), 0);
    enum uns_grant outcome = uns_lock_acquire(lock, site, timeout_ns, inside);
    if (outcome == UNS_DEADLOCKED)
        uns_c_report_deadlock();
    if (outcome == UNS_INTERRUPTED)
        return EINTR;
    return outcome == UNS_GO ? 0 : timeout_ns ? ETIMEDOUT : EBUSY;
}

const void *uns_c_mutex_of(const struct uns_lock *lock) {
    const struct uns_c_object *object =
        (const void *)((const char *)lock - offsetof(struct uns_c_object, lock));
    return lock->flags & UNS_LOCK_IS_OBJECT && object->kind == UNS_C_MUTEX ? object->address : NULL;
}

int uns_c_take(struct uns_lock *lock, uint32_t site, int64_t timeout_ns) {
    if (uns_rt.gated)
        uns_c_remember_lock(site, uns_c_mutex_of(lock));
    int outcome, called = 0;
    while ((outcome = uns_c_take_or_hear(lock, site, timeout_ns)) == EINTR)
        called = 1;
    if (called && uns_c_is_cancelled())
        uns_gate_call(uns_self); /* not here: at its next wait */
    return outcome;
}

void uns_c_enter(struct uns_c_object *object, uint32_t site) {
    uns_busy();
    uns_c_take(&object->lock, site, UNS_FOREVER);
}

void uns_c_exit(struct uns_c_object *object, uint32_t site) {
    uns_lock_release(&object->lock, site);
    uns_idle();
}

/* A waiter's lock is taken when it queues up, and a second time to wait: whoever wakes it lets it
 * go. (Python's Condition does the same, so analyses know it.) */
void uns_c_wait_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site) {
    uns_lock_made(&me->lock, 0);
    me->lock.word = 1;
    me->lock.owner = uns_current()->index;
    me->lock.taken = UNS_POINT(site, UNS_ACQUIRE);
    me->next = NULL;
    struct uns_c_waiter **last = &object->first;
    while (*last)
        last = &(*last)->next;
    *last = me;
}

static struct uns_c_waiter **position_of(struct uns_c_object *object,
                                         const struct uns_c_waiter *me) {
    struct uns_c_waiter **at = &object->first;
    while (*at && *at != me)
        at = &(*at)->next;
    return at;
}

int uns_c_sleep_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site,
                   int64_t timeout_ns, int hears) {
    int outcome;
    do
        outcome = uns_c_take_or_hear(&me->lock, site, timeout_ns);
    while (outcome == EINTR && !hears && *position_of(object, me));
    struct uns_c_waiter **position = position_of(object, me);
    if (!*position) /* somebody has woken it */
        return 0;
    *position = me->next;
    return outcome;
}

struct uns_c_waiter *uns_c_wake_first(struct uns_c_object *object, uint32_t site) {
    struct uns_c_waiter *woken = object->first;
    if (woken) {
        object->first = woken->next;
        uns_lock_release(&woken->lock, site);
    }
    return woken;
}

int uns_c_thrd(int error) {
    return !error                               ? thrd_success
           : error == EBUSY                     ? thrd_busy
           : error == ETIMEDOUT                 ? thrd_timedout
           : error == ENOMEM || error == EAGAIN ? thrd_nomem
                                                : thrd_error;
}

void uns_c_sync(const void *address, uint32_t site, enum uns_op op) {
    struct uns_tracked *t = &uns_current()->tracked;
    uint64_t hash = uns_mix((uintptr_t)address);
    if (!site)
        return;
    if (UNS_UNLIKELY(uns_rt.recording)) {
        if (uns_rt.sketch.values)
            uns_c_settle_value(uns_current());
        uns_log_sync(uns_current(), UNS_POINT(site, op), uns_cell_key(hash, hash >> 32));
        if (!uns_rt.tracks)
            return;
    }
    if (uns_view.mask && uns_repeats_write((uintptr_t)address, UNS_POINT(site, op)))
        return;
    uns_busy();
    if (uns_c_shadow.words)
        uns_shadow_forced(&uns_rt.tracker, &uns_c_shadow, t, UNS_POINT(site, op),
                          (uintptr_t)address);
    else
        uns_write_forced(&uns_rt.tracker, t, UNS_POINT(site, op), uns_cell_key(hash, hash >> 32));
    uns_idle();
}

int uns_c_after_lock(int outcome, const void *address, uint32_t site) {
    if (!outcome)
        uns_c_sync(address, site, UNS_ACQUIRE);
    return outcome;
}
