/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-write locks: who cannot have it queues up, in order. Whoever has it also takes a lock that
 * nobody else wants meanwhile, so that the run knows what is done under it: a thread that is to
 * come late is held before it has the lock, not inside, where it would keep others out.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>

enum { READS = 1, WRITES = 2 };

static int is_free_for(const struct uns_c_object *object, int wants) {
    return wants == READS ? object->value >= 0 : !object->value;
}

static void enter(struct uns_c_object *object, int wants) {
    object->value = wants == READS ? object->value + 1 : -1;
}

/* Whoever is first in the queue and can have it. */
static void let_in(struct uns_c_object *object, uint32_t site) {
    while (object->first && is_free_for(object, object->first->wants)) {
        enter(object, object->first->wants);
        uns_c_wake_first(object, site);
    }
}

static int wait_rw(struct uns_c_object *object, int wants, uint32_t site, int64_t timeout_ns) {
    struct uns_c_waiter me = {.wants = wants};
    uns_c_enter(object, site);
    int waits = object->first != NULL || !is_free_for(object, wants);
    if (!waits)
        enter(object, wants);
    else if (timeout_ns)
        uns_c_wait_in(object, &me, site);
    uns_c_exit(object, site);
    if (!waits || !timeout_ns)
        return waits ? EBUSY : 0;
    int outcome = uns_c_sleep_in(object, &me, site, timeout_ns, 0);
    if (outcome) /* others may have waited only because they came later */
        let_in(object, site);
    return outcome;
}

/* The lock of a thread that has it, or one that nobody has; NULL: there is none. */
static struct uns_lock *holder_of(struct uns_c_object *object, uint32_t owner) {
    for (uint32_t i = 0; i < UNS_C_HOLDERS; i++)
        if (object->holders[i].word ? object->holders[i].owner == owner : owner == UNS_NO_OWNER)
            return &object->holders[i];
    return NULL;
}

static int lock_rw(pthread_rwlock_t *lock, int wants, uint32_t site, int64_t timeout_ns) {
    struct uns_c_object *object = uns_c_object(lock, UNS_C_RWLOCK);
    int outcome = wait_rw(object, wants, site, timeout_ns);
    struct uns_lock *mine = outcome ? NULL : holder_of(object, UNS_NO_OWNER);
    if (mine) {
        uns_c_remember_lock(site, lock);
        uns_lock_acquire(mine, site, UNS_FOREVER, UNS_STAYS);
    }
    return outcome;
}

static int unlock_rw(pthread_rwlock_t *lock, uint32_t site) {
    struct uns_c_object *object = uns_c_object(lock, UNS_C_RWLOCK);
    struct uns_lock *mine = holder_of(object, uns_current()->index);
    if (mine) {
        uns_c_remember_lock(site, lock);
        uns_lock_release(mine, site);
    }
    uns_c_enter(object, site);
    object->value = object->value > 0 ? object->value - 1 : 0;
    let_in(object, site);
    uns_c_exit(object, site);
    return 0;
}

#define LOCK(wants, timeout) lock_rw(lock, wants, UNS_C_CALLER(), timeout)
#define BOTH(what, timeout, arguments, ...)                                                        \
    UNS_C_LOCKS(pthread_rwlock_##what##rdlock, LOCK(READS, timeout), arguments, __VA_ARGS__)       \
    UNS_C_LOCKS(pthread_rwlock_##what##wrlock, LOCK(WRITES, timeout), arguments, __VA_ARGS__)
BOTH(, UNS_FOREVER, (pthread_rwlock_t * lock), lock)
BOTH(try, 0, (pthread_rwlock_t * lock), lock)
BOTH(timed, uns_c_until(CLOCK_REALTIME, when),
     (pthread_rwlock_t * lock, const struct timespec *when), lock, when)
BOTH(clock, uns_c_until(clock, when),
     (pthread_rwlock_t * lock, clockid_t clock, const struct timespec *when), lock, clock, when)
UNS_C_UNLOCKS(pthread_rwlock_unlock, unlock_rw(lock, UNS_C_CALLER()), (pthread_rwlock_t * lock))

UNS_C_INTERCEPTOR int pthread_rwlock_init(pthread_rwlock_t *lock,
                                          const pthread_rwlockattr_t *attributes) {
    uns_c_forget(lock);
    return UNS_C_REAL(pthread_rwlock_init)(lock, attributes);
}
UNS_C_INTERCEPTOR int pthread_rwlock_destroy(pthread_rwlock_t *lock) {
    uns_c_forget(lock);
    return UNS_C_REAL(pthread_rwlock_destroy)(lock);
}
