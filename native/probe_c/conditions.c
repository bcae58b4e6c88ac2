/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions, semaphores, barriers, and what is done once.
 */
#define _GNU_SOURCE
#include "probe.h"
#include <errno.h>
#include <semaphore.h>

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint32_t site,
                    int64_t timeout_ns) {
    struct uns_c_object *object = uns_c_object(condition, UNS_C_COND);
    struct uns_c_object *held = uns_c_object(mutex, UNS_C_MUTEX);
    struct uns_c_waiter me = {0};
    uint32_t depth = held->depth;
    uns_c_wait_in(object, &me, site);
    held->depth = 0;
    if (held->lock.word)
        uns_lock_release(&held->lock, site);
    int outcome = uns_c_sleep_in(object, &me, site, timeout_ns);
    uns_c_take(&held->lock, site, UNS_FOREVER);
    held->depth = depth;
    return outcome;
}

/* A switch point of its own: who comes first, the notice or the wait, is what matters. */
static void notify(pthread_cond_t *condition, uint32_t site, int all) {
    struct uns_c_object *object = uns_c_object(condition, UNS_C_COND);
    uns_c_take(&object->lock, site, UNS_FOREVER);
    while (uns_c_wake_first(object, site) && all)
        ;
    uns_lock_release(&object->lock, site);
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    if (uns_c_gated())
        return wait_for(condition, mutex, UNS_C_SITE(), UNS_FOREVER);
    if (uns_c_on())
        uns_c_sync(mutex, UNS_C_SITE(), UNS_RELEASE);
    int outcome = UNS_C_REAL(pthread_cond_wait)(condition, mutex);
    if (uns_c_on())
        uns_c_sync(mutex, UNS_C_SITE(), UNS_ACQUIRE);
    return outcome;
}

#define TIMED_WAIT(name, clock, arguments, ...)                                                    \
    int name arguments {                                                                           \
        if (uns_c_gated())                                                                         \
            return wait_for(condition, mutex, UNS_C_SITE(), uns_c_until(clock, when));             \
        if (uns_c_on())                                                                            \
            uns_c_sync(mutex, UNS_C_SITE(), UNS_RELEASE);                                          \
        int outcome = UNS_C_REAL(name)(__VA_ARGS__);                                               \
        if (uns_c_on())                                                                            \
            uns_c_sync(mutex, UNS_C_SITE(), UNS_ACQUIRE);                                          \
        return outcome;                                                                            \
    }
TIMED_WAIT(pthread_cond_timedwait, CLOCK_REALTIME,
           (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *when),
           condition, mutex, when)
TIMED_WAIT(pthread_cond_clockwait, clock,
           (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock,
            const struct timespec *when),
           condition, mutex, clock, when)

int pthread_cond_signal(pthread_cond_t *condition) {
    if (uns_c_gated())
        return notify(condition, UNS_C_SITE(), 0), 0;
    return UNS_C_REAL(pthread_cond_signal)(condition);
}
int pthread_cond_broadcast(pthread_cond_t *condition) {
    if (uns_c_gated())
        return notify(condition, UNS_C_SITE(), 1), 0;
    return UNS_C_REAL(pthread_cond_broadcast)(condition);
}
int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes) {
    uns_c_forget(condition);
    return UNS_C_REAL(pthread_cond_init)(condition, attributes);
}
int pthread_cond_destroy(pthread_cond_t *condition) {
    if (uns_rt.active && uns_rt.gated)
        return uns_c_forget(condition), 0; /* libc's own would wait for waiters that it never had */
    return UNS_C_REAL(pthread_cond_destroy)(condition);
}

/* Semaphores: the value is kept here, from what sem_init gave. */

int sem_init(sem_t *semaphore, int shared, unsigned value) {
    if (uns_c_gated()) {
        uns_c_forget(semaphore);
        uns_c_object(semaphore, UNS_C_SEM)->value = (int32_t)value;
    }
    return UNS_C_REAL(sem_init)(semaphore, shared, value);
}

static int wait_sem(sem_t *semaphore, uint32_t site, int64_t timeout_ns) {
    struct uns_c_object *object = uns_c_object(semaphore, UNS_C_SEM);
    struct uns_c_waiter me = {0};
    uns_c_take(&object->lock, site, UNS_FOREVER);
    int waits = object->value <= 0;
    if (!waits)
        object->value--;
    else if (timeout_ns)
        uns_c_wait_in(object, &me, site);
    uns_lock_release(&object->lock, site);
    int outcome = !waits ? 0 : timeout_ns ? uns_c_sleep_in(object, &me, site, timeout_ns) : EAGAIN;
    errno = outcome ? outcome : errno;
    return outcome ? -1 : 0;
}

int sem_wait(sem_t *semaphore) {
    return uns_c_gated() ? wait_sem(semaphore, UNS_C_SITE(), UNS_FOREVER)
                         : UNS_C_REAL(sem_wait)(semaphore);
}
int sem_trywait(sem_t *semaphore) {
    return uns_c_gated() ? wait_sem(semaphore, UNS_C_SITE(), 0)
                         : UNS_C_REAL(sem_trywait)(semaphore);
}
int sem_timedwait(sem_t *semaphore, const struct timespec *when) {
    return uns_c_gated() ? wait_sem(semaphore, UNS_C_SITE(), uns_c_until(CLOCK_REALTIME, when))
                         : UNS_C_REAL(sem_timedwait)(semaphore, when);
}
int sem_post(sem_t *semaphore) {
    if (!uns_c_gated())
        return UNS_C_REAL(sem_post)(semaphore);
    struct uns_c_object *object = uns_c_object(semaphore, UNS_C_SEM);
    uint32_t site = UNS_C_SITE();
    uns_c_take(&object->lock, site, UNS_FOREVER);
    if (!uns_c_wake_first(object, site))
        object->value++;
    uns_lock_release(&object->lock, site);
    return 0;
}

int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes,
                         unsigned count) {
    if (uns_c_gated()) {
        uns_c_forget(barrier);
        uns_c_object(barrier, UNS_C_BARRIER)->members = count;
    }
    return UNS_C_REAL(pthread_barrier_init)(barrier, attributes, count);
}

int pthread_barrier_wait(pthread_barrier_t *barrier) {
    if (!uns_c_gated())
        return UNS_C_REAL(pthread_barrier_wait)(barrier);
    struct uns_c_object *object = uns_c_object(barrier, UNS_C_BARRIER);
    struct uns_c_waiter me = {0};
    uint32_t site = UNS_C_SITE();
    uns_c_take(&object->lock, site, UNS_FOREVER);
    int last = (uint32_t)++object->value >= object->members;
    if (last) {
        object->value = 0;
        while (uns_c_wake_first(object, site))
            ;
    } else {
        uns_c_wait_in(object, &me, site);
    }
    uns_lock_release(&object->lock, site);
    if (!last)
        uns_c_sleep_in(object, &me, site, UNS_FOREVER);
    return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

int pthread_once(pthread_once_t *control, void (*routine)(void)) {
    uint32_t site = UNS_C_SITE();
    if (!uns_c_gated() || !site) /* a library's own */
        return UNS_C_REAL(pthread_once)(control, routine);
    struct uns_c_object *object = uns_c_object(control, UNS_C_ONCE);
    if (object->lock.word && object->lock.owner == uns_current()->index)
        return 0; /* by the routine itself */
    uns_c_take(&object->lock, site, UNS_FOREVER);
    if (!object->value) {
        routine();
        object->value = 1;
    }
    uns_lock_release(&object->lock, site);
    return 0;
}
