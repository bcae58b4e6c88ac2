/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions, POSIX's and C11's.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <threads.h>

_Static_assert(sizeof(cnd_t) == sizeof(pthread_cond_t), "one implementation");

/* Where glibc keeps which clock an attribute named. */
static clockid_t clock_of(const pthread_cond_t *condition) {
    return condition->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

/* A thread that is cancelled, or has run a signal's handler, has its mutex again before its
 * clean-up handlers run, or before it wakes up for no reason. */
static int wait_for(void *condition, void *mutex, uint32_t site, int64_t timeout_ns) {
    pthread_testcancel();
    struct uns_c_object *object = uns_c_object(condition, UNS_C_COND);
    struct uns_c_object *held = uns_c_object(mutex, UNS_C_MUTEX);
    struct uns_c_waiter me = {0};
    uint32_t depth = held->depth;
    /* A switch point, too: a notice of somebody who does not hold the mutex may come between the
     * look at what is waited for and the wait. */
    uns_c_enter(object, site);
    uns_c_wait_in(object, &me, site);
    uns_c_exit(object, site);
    held->depth = 0;
    if (held->lock.word)
        uns_lock_release(&held->lock, site);
    int outcome = uns_c_sleep_in(object, &me, site, timeout_ns, 1);
    uns_c_take(&held->lock, site, UNS_FOREVER);
    held->depth = depth;
    if (outcome != EINTR)
        return outcome;
    pthread_testcancel();
    return 0;
}

/* A switch point of its own: who comes first, the notice or the wait, is what matters. */
static int notify(const void *condition, uint32_t site, int all) {
    struct uns_c_object *object = uns_c_object(condition, UNS_C_COND);
    uns_c_enter(object, site);
    while (uns_c_wake_first(object, site) && all)
        ;
    uns_c_exit(object, site);
    return 0;
}

#define WAITS(name, gated, arguments, ...)                                                         \
    UNS_C_INTERCEPTOR int name arguments {                                                         \
        if (uns_c_gated())                                                                         \
            return UNS_C_RETURNED(name, gated);                                                    \
        if (uns_c_on())                                                                            \
            uns_c_sync(mutex, UNS_C_CALLER(), UNS_RELEASE);                                        \
        int outcome = UNS_C_REAL(name)(__VA_ARGS__);                                               \
        if (uns_c_on())                                                                            \
            uns_c_sync(mutex, UNS_C_CALLER(), UNS_ACQUIRE);                                        \
        return outcome;                                                                            \
    }
#define WAIT(timeout) wait_for(condition, mutex, UNS_C_CALLER(), timeout)
WAITS(pthread_cond_wait, WAIT(UNS_FOREVER), (pthread_cond_t * condition, pthread_mutex_t *mutex),
      condition, mutex)
WAITS(pthread_cond_timedwait, WAIT(uns_c_until(clock_of(condition), when)),
      (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *when), condition,
      mutex, when)
WAITS(pthread_cond_clockwait, WAIT(uns_c_until(clock, when)),
      (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock,
       const struct timespec *when),
      condition, mutex, clock, when)
WAITS(cnd_wait, uns_c_thrd(WAIT(UNS_FOREVER)), (cnd_t * condition, mtx_t *mutex), condition, mutex)
WAITS(cnd_timedwait, uns_c_thrd(WAIT(uns_c_until(CLOCK_REALTIME, when))),
      (cnd_t * condition, mtx_t *mutex, const struct timespec *when), condition, mutex, when)

#define NOTIFIES(name, type, all)                                                                  \
    UNS_C_INTERCEPTOR int name(type *condition) {                                                  \
        if (uns_c_gated())                                                                         \
            return notify(condition, UNS_C_CALLER(), all);                                         \
        uns_c_recorded(condition, UNS_C_HERE, UNS_RELEASE);                                        \
        return UNS_C_REAL(name)(condition);                                                        \
    }
NOTIFIES(pthread_cond_signal, pthread_cond_t, 0)
NOTIFIES(pthread_cond_broadcast, pthread_cond_t, 1)
NOTIFIES(cnd_signal, cnd_t, 0)
NOTIFIES(cnd_broadcast, cnd_t, 1)

UNS_C_INTERCEPTOR int pthread_cond_init(pthread_cond_t *condition,
                                        const pthread_condattr_t *attributes) {
    uns_c_forget(condition);
    return UNS_C_REAL(pthread_cond_init)(condition, attributes);
}
UNS_C_INTERCEPTOR int cnd_init(cnd_t *condition) {
    uns_c_forget(condition);
    return UNS_C_REAL(cnd_init)(condition);
}
/* libc's own would wait for waiters that it never had. */
UNS_C_INTERCEPTOR int pthread_cond_destroy(pthread_cond_t *condition) {
    if (uns_rt.active && uns_rt.gated)
        return uns_c_forget(condition), 0;
    return UNS_C_REAL(pthread_cond_destroy)(condition);
}
UNS_C_INTERCEPTOR void cnd_destroy(cnd_t *condition) {
    if (uns_rt.active && uns_rt.gated)
        uns_c_forget(condition);
    else
        UNS_C_REAL(cnd_destroy)(condition);
}
