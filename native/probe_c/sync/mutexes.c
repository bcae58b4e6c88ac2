/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutexes and spin locks. C11's are POSIX's by another name, but libc does not call the one for
 * the other: both names are ours.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t), "one implementation");

/* Where glibc keeps a mutex's type; robustness and protocols are other bits. */
static int type_of(const pthread_mutex_t *mutex) {
    return mutex->__data.__kind & 3;
}

static int is_mine(const struct uns_c_object *object) {
    return object->lock.word && object->lock.owner == uns_current()->index;
}

static int lock_mutex(void *lock, uint32_t site, int64_t timeout_ns) {
    struct uns_c_object *object = uns_c_object(lock, UNS_C_MUTEX);
    if (is_mine(object) && type_of(lock) == PTHREAD_MUTEX_RECURSIVE)
        return object->depth++, 0;
    if (is_mine(object) && type_of(lock) == PTHREAD_MUTEX_ERRORCHECK && timeout_ns)
        return EDEADLK;
    return uns_c_take(&object->lock, site, timeout_ns);
}

static int unlock_mutex(void *lock, uint32_t site) {
    struct uns_c_object *object = uns_c_object(lock, UNS_C_MUTEX);
    if (!is_mine(object) && type_of(lock) != PTHREAD_MUTEX_NORMAL)
        return EPERM;
    if (object->depth)
        return object->depth--, 0;
    if (object->lock.word) {
        uns_c_remember_lock(site, lock);
        uns_lock_release(&object->lock, site);
    }
    return 0;
}

UNS_C_INTERCEPTOR int pthread_mutex_init(pthread_mutex_t *mutex,
                                         const pthread_mutexattr_t *attributes) {
    uns_c_forget(mutex);
    return UNS_C_REAL(pthread_mutex_init)(mutex, attributes);
}
UNS_C_INTERCEPTOR int pthread_mutex_destroy(pthread_mutex_t *mutex) {
    uns_c_forget(mutex);
    return UNS_C_REAL(pthread_mutex_destroy)(mutex);
}
UNS_C_INTERCEPTOR int mtx_init(mtx_t *mutex, int type) {
    uns_c_forget(mutex);
    return UNS_C_REAL(mtx_init)(mutex, type);
}
UNS_C_INTERCEPTOR void mtx_destroy(mtx_t *mutex) {
    uns_c_forget(mutex);
    UNS_C_REAL(mtx_destroy)(mutex);
}

#define LOCK(timeout) lock_mutex(lock, UNS_C_CALLER(), timeout)
UNS_C_LOCKS(pthread_mutex_lock, LOCK(UNS_FOREVER), (pthread_mutex_t * lock), lock)
UNS_C_LOCKS(pthread_mutex_trylock, LOCK(0), (pthread_mutex_t * lock), lock)
UNS_C_LOCKS(pthread_mutex_timedlock, LOCK(uns_c_until(CLOCK_REALTIME, when)),
            (pthread_mutex_t * lock, const struct timespec *when), lock, when)
UNS_C_LOCKS(pthread_mutex_clocklock, LOCK(uns_c_until(clock, when)),
            (pthread_mutex_t * lock, clockid_t clock, const struct timespec *when), lock, clock,
            when)
UNS_C_UNLOCKS(pthread_mutex_unlock, unlock_mutex(lock, UNS_C_CALLER()), (pthread_mutex_t * lock))

UNS_C_LOCKS(mtx_lock, uns_c_thrd(LOCK(UNS_FOREVER)), (mtx_t * lock), lock)
UNS_C_LOCKS(mtx_trylock, uns_c_thrd(LOCK(0)), (mtx_t * lock), lock)
UNS_C_LOCKS(mtx_timedlock, uns_c_thrd(LOCK(uns_c_until(CLOCK_REALTIME, when))),
            (mtx_t * lock, const struct timespec *when), lock, when)
UNS_C_UNLOCKS(mtx_unlock, uns_c_thrd(unlock_mutex(lock, UNS_C_CALLER())), (mtx_t * lock))

static struct uns_lock *spin_of(const volatile void *lock) {
    return &uns_c_object((const void *)lock, UNS_C_MUTEX)->lock;
}

UNS_C_LOCKS(pthread_spin_lock, uns_c_take(spin_of(lock), UNS_C_CALLER(), UNS_FOREVER),
            (pthread_spinlock_t * lock), lock)
UNS_C_LOCKS(pthread_spin_trylock, uns_c_take(spin_of(lock), UNS_C_CALLER(), 0),
            (pthread_spinlock_t * lock), lock)
UNS_C_UNLOCKS(pthread_spin_unlock, (uns_lock_release(spin_of(lock), UNS_C_CALLER()), 0),
              (pthread_spinlock_t * lock))
UNS_C_INTERCEPTOR int pthread_spin_init(pthread_spinlock_t *lock, int shared) {
    uns_c_forget((const void *)lock);
    return UNS_C_REAL(pthread_spin_init)(lock, shared);
}
