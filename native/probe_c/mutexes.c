/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutexes, spin locks, and read-write locks.
 */
#define _GNU_SOURCE
#include "probe.h"
#include <errno.h>

/* Where glibc keeps a mutex's type; robustness and protocols are other bits. */
static int type_of(const pthread_mutex_t *mutex) {
    return mutex->__data.__kind & 3;
}

static int lock_mutex(pthread_mutex_t *mutex, uint32_t site, int64_t timeout_ns) {
    struct uns_c_object *object = uns_c_object(mutex, UNS_C_MUTEX);
    int mine = object->lock.word && object->lock.owner == uns_current()->index;
    if (mine && type_of(mutex) == PTHREAD_MUTEX_RECURSIVE)
        return object->depth++, 0;
    if (mine && type_of(mutex) == PTHREAD_MUTEX_ERRORCHECK && timeout_ns)
        return EDEADLK;
    return uns_c_take(&object->lock, site, timeout_ns);
}

static int unlock_mutex(pthread_mutex_t *mutex, uint32_t site) {
    struct uns_c_object *object = uns_c_object(mutex, UNS_C_MUTEX);
    int mine = object->lock.word && object->lock.owner == uns_current()->index;
    if (!mine && type_of(mutex) != PTHREAD_MUTEX_NORMAL)
        return EPERM;
    if (object->depth)
        return object->depth--, 0;
    if (object->lock.word)
        uns_lock_release(&object->lock, site);
    return 0;
}

static int told(int outcome, const void *address, uint32_t site, enum uns_op op) {
    if (!outcome)
        uns_c_sync(address, site, op);
    return outcome;
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    uns_c_forget(mutex);
    return UNS_C_REAL(pthread_mutex_init)(mutex, attributes);
}
int pthread_mutex_destroy(pthread_mutex_t *mutex) {
    uns_c_forget(mutex);
    return UNS_C_REAL(pthread_mutex_destroy)(mutex);
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (uns_c_gated())
        return lock_mutex(mutex, UNS_C_SITE(), UNS_FOREVER);
    int outcome = UNS_C_REAL(pthread_mutex_lock)(mutex);
    return uns_c_on() ? told(outcome, mutex, UNS_C_SITE(), UNS_ACQUIRE) : outcome;
}
int pthread_mutex_trylock(pthread_mutex_t *mutex) {
    if (uns_c_gated())
        return lock_mutex(mutex, UNS_C_SITE(), 0);
    int outcome = UNS_C_REAL(pthread_mutex_trylock)(mutex);
    return uns_c_on() ? told(outcome, mutex, UNS_C_SITE(), UNS_ACQUIRE) : outcome;
}
int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *when) {
    if (uns_c_gated())
        return lock_mutex(mutex, UNS_C_SITE(), uns_c_until(CLOCK_REALTIME, when));
    int outcome = UNS_C_REAL(pthread_mutex_timedlock)(mutex, when);
    return uns_c_on() ? told(outcome, mutex, UNS_C_SITE(), UNS_ACQUIRE) : outcome;
}
int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    if (uns_c_gated())
        return unlock_mutex(mutex, UNS_C_SITE());
    if (uns_c_on())
        uns_c_sync(mutex, UNS_C_SITE(), UNS_RELEASE);
    return UNS_C_REAL(pthread_mutex_unlock)(mutex);
}

int pthread_spin_lock(pthread_spinlock_t *lock) {
    if (uns_c_gated())
        return uns_c_take(&uns_c_object((void *)lock, UNS_C_MUTEX)->lock, UNS_C_SITE(),
                          UNS_FOREVER);
    int outcome = UNS_C_REAL(pthread_spin_lock)(lock);
    return uns_c_on() ? told(outcome, (void *)lock, UNS_C_SITE(), UNS_ACQUIRE) : outcome;
}
int pthread_spin_trylock(pthread_spinlock_t *lock) {
    if (uns_c_gated())
        return uns_c_take(&uns_c_object((void *)lock, UNS_C_MUTEX)->lock, UNS_C_SITE(), 0);
    int outcome = UNS_C_REAL(pthread_spin_trylock)(lock);
    return uns_c_on() ? told(outcome, (void *)lock, UNS_C_SITE(), UNS_ACQUIRE) : outcome;
}
int pthread_spin_unlock(pthread_spinlock_t *lock) {
    if (uns_c_gated())
        return uns_lock_release(&uns_c_object((void *)lock, UNS_C_MUTEX)->lock, UNS_C_SITE()), 0;
    if (uns_c_on())
        uns_c_sync((void *)lock, UNS_C_SITE(), UNS_RELEASE);
    return UNS_C_REAL(pthread_spin_unlock)(lock);
}

/* Read-write locks: who cannot have it queues up, in order. */

static int is_free_for(const struct uns_c_object *object, int wants) {
    return wants == 1 ? object->value >= 0 : !object->value;
}

static void enter(struct uns_c_object *object, int wants) {
    object->value = wants == 1 ? object->value + 1 : -1;
}

static int lock_rw(pthread_rwlock_t *lock, int wants, uint32_t site, int64_t timeout_ns) {
    struct uns_c_object *object = uns_c_object(lock, UNS_C_RWLOCK);
    struct uns_c_waiter me = {.wants = wants};
    uns_c_take(&object->lock, site, UNS_FOREVER);
    int waits = object->first != NULL || !is_free_for(object, wants);
    if (!waits)
        enter(object, wants);
    else if (timeout_ns)
        uns_c_wait_in(object, &me, site);
    uns_lock_release(&object->lock, site);
    if (!waits)
        return 0;
    return timeout_ns ? uns_c_sleep_in(object, &me, site, timeout_ns) : EBUSY;
}

static int unlock_rw(pthread_rwlock_t *lock, uint32_t site) {
    struct uns_c_object *object = uns_c_object(lock, UNS_C_RWLOCK);
    uns_c_take(&object->lock, site, UNS_FOREVER);
    object->value = object->value > 0 ? object->value - 1 : 0;
    while (object->first && is_free_for(object, object->first->wants)) {
        enter(object, object->first->wants);
        uns_c_wake_first(object, site);
    }
    uns_lock_release(&object->lock, site);
    return 0;
}

#define RWLOCK(name, wants, timeout, arguments, ...)                                               \
    int name arguments {                                                                           \
        if (uns_c_gated())                                                                         \
            return lock_rw(lock, wants, UNS_C_SITE(), timeout);                                    \
        int outcome = UNS_C_REAL(name)(__VA_ARGS__);                                               \
        return uns_c_on() ? told(outcome, lock, UNS_C_SITE(), UNS_ACQUIRE) : outcome;              \
    }
RWLOCK(pthread_rwlock_rdlock, 1, UNS_FOREVER, (pthread_rwlock_t * lock), lock)
RWLOCK(pthread_rwlock_wrlock, 2, UNS_FOREVER, (pthread_rwlock_t * lock), lock)
RWLOCK(pthread_rwlock_tryrdlock, 1, 0, (pthread_rwlock_t * lock), lock)
RWLOCK(pthread_rwlock_trywrlock, 2, 0, (pthread_rwlock_t * lock), lock)
RWLOCK(pthread_rwlock_timedrdlock, 1, uns_c_until(CLOCK_REALTIME, when),
       (pthread_rwlock_t * lock, const struct timespec *when), lock, when)
RWLOCK(pthread_rwlock_timedwrlock, 2, uns_c_until(CLOCK_REALTIME, when),
       (pthread_rwlock_t * lock, const struct timespec *when), lock, when)

int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    if (uns_c_gated())
        return unlock_rw(lock, UNS_C_SITE());
    if (uns_c_on())
        uns_c_sync(lock, UNS_C_SITE(), UNS_RELEASE);
    return UNS_C_REAL(pthread_rwlock_unlock)(lock);
}
int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
    uns_c_forget(lock);
    return UNS_C_REAL(pthread_rwlock_init)(lock, attributes);
}
