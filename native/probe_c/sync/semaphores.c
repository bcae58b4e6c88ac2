/* SPDX-License-Identifier: Apache-2.0
 *
 * Semaphores, barriers, and what is done once.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <semaphore.h>
#include <threads.h>

/* The value is kept here, from what libc's own has when it is first seen (sem_init, sem_open). */
static struct uns_c_object *semaphore_at(sem_t *semaphore) {
    struct uns_c_object *object = uns_c_object(semaphore, UNS_C_SEM);
    if (!object->members) {
        object->members = 1;
        UNS_C_REAL(sem_getvalue)(semaphore, &object->value);
    }
    return object;
}

static int take_semaphore(sem_t *semaphore, uint32_t site, int64_t timeout_ns) {
    struct uns_c_object *object = semaphore_at(semaphore);
    struct uns_c_waiter me = {0};
    uns_c_enter(object, site);
    int waits = object->value <= 0;
    if (!waits)
        object->value--;
    else if (timeout_ns)
        uns_c_wait_in(object, &me, site);
    uns_c_exit(object, site);
    if (!waits)
        return 0;
    return timeout_ns ? uns_c_sleep_in(object, &me, site, timeout_ns, 1) : EAGAIN;
}

static int wait_sem(sem_t *semaphore, uint32_t site, int64_t timeout_ns) {
    int outcome;
    do {
        if (timeout_ns)
            pthread_testcancel();
        uns_c_handled = 0;
        outcome = take_semaphore(semaphore, site, timeout_ns);
    } while (outcome == EINTR && !(uns_c_handled & UNS_C_BREAKS_OFF));
    errno = outcome ? outcome : errno;
    return outcome ? -1 : 0;
}

static int post_sem(sem_t *semaphore, uint32_t site) {
    struct uns_c_object *object = semaphore_at(semaphore);
    uns_c_enter(object, site);
    if (!uns_c_wake_first(object, site))
        object->value++;
    uns_c_exit(object, site);
    return 0;
}

#define WAIT(timeout) wait_sem(lock, UNS_C_CALLER(), timeout)
UNS_C_LOCKS(sem_wait, WAIT(UNS_FOREVER), (sem_t * lock), lock)
UNS_C_LOCKS(sem_trywait, WAIT(0), (sem_t * lock), lock)
UNS_C_LOCKS(sem_timedwait, WAIT(uns_c_until(CLOCK_REALTIME, when)),
            (sem_t * lock, const struct timespec *when), lock, when)
UNS_C_LOCKS(sem_clockwait, WAIT(uns_c_until(clock, when)),
            (sem_t * lock, clockid_t clock, const struct timespec *when), lock, clock, when)
UNS_C_UNLOCKS(sem_post, post_sem(lock, UNS_C_CALLER()), (sem_t * lock))

UNS_C_INTERCEPTOR int sem_init(sem_t *semaphore, int shared, unsigned value) {
    uns_c_forget(semaphore);
    return UNS_C_REAL(sem_init)(semaphore, shared, value);
}
UNS_C_INTERCEPTOR int sem_destroy(sem_t *semaphore) {
    uns_c_forget(semaphore);
    return UNS_C_REAL(sem_destroy)(semaphore);
}
UNS_C_INTERCEPTOR int sem_getvalue(sem_t *semaphore, int *value) {
    if (!uns_c_gated())
        return UNS_C_REAL(sem_getvalue)(semaphore, value);
    *value = semaphore_at(semaphore)->value;
    return 0;
}

UNS_C_INTERCEPTOR int pthread_barrier_init(pthread_barrier_t *barrier,
                                           const pthread_barrierattr_t *attributes,
                                           unsigned count) {
    int error = UNS_C_REAL(pthread_barrier_init)(barrier, attributes, count);
    uns_c_forget(barrier);
    if (!error && uns_c_gated())
        uns_c_object(barrier, UNS_C_BARRIER)->members = count;
    return error;
}
UNS_C_INTERCEPTOR int pthread_barrier_destroy(pthread_barrier_t *barrier) {
    uns_c_forget(barrier);
    return UNS_C_REAL(pthread_barrier_destroy)(barrier);
}

UNS_C_INTERCEPTOR int pthread_barrier_wait(pthread_barrier_t *barrier) {
    if (!uns_c_gated()) {
        uns_c_recorded(barrier, UNS_C_HERE, UNS_RELEASE);
        int outcome = UNS_C_REAL(pthread_barrier_wait)(barrier);
        uns_c_recorded(barrier, UNS_C_HERE, UNS_ACQUIRE);
        return outcome;
    }
    struct uns_c_object *object = uns_c_object(barrier, UNS_C_BARRIER);
    struct uns_c_waiter me = {0};
    uint32_t site = UNS_C_CALLER();
    uns_c_enter(object, site);
    int last = (uint32_t)++object->value >= object->members;
    if (last) {
        object->value = 0;
        while (uns_c_wake_first(object, site))
            ;
    } else {
        uns_c_wait_in(object, &me, site);
    }
    uns_c_exit(object, site);
    if (!last)
        uns_c_sleep_in(object, &me, site, UNS_FOREVER, 0);
    return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

/* A routine may end by an exception, or by the end of its thread: then it was not done. */
struct once {
    struct uns_c_object *object;
    uint32_t site;
};
static void leave_once(struct once *once) {
    uns_lock_release(&once->object->lock, once->site);
}

static int do_once(const void *control, void (*routine)(void), uint32_t site) {
    struct uns_c_object *object = uns_c_object(control, UNS_C_ONCE);
    if (object->lock.word && object->lock.owner == uns_current()->index)
        return 0; /* by the routine itself */
    uns_c_take(&object->lock, site, UNS_FOREVER);
    __attribute__((cleanup(leave_once))) struct once once = {object, site};
    if (!object->value) {
        routine();
        object->value = 1;
    }
    return 0;
}

/* Site 0: a library's own. */
UNS_C_INTERCEPTOR int pthread_once(pthread_once_t *control, void (*routine)(void)) {
    if (uns_c_gated() && UNS_C_SITE())
        return do_once(control, routine, UNS_C_SITE());
    int outcome = UNS_C_REAL(pthread_once)(control, routine);
    if (UNS_C_SITE())
        uns_c_recorded(control, UNS_C_HERE, UNS_ACQUIRE);
    return outcome;
}
UNS_C_INTERCEPTOR void call_once(once_flag *control, void (*routine)(void)) {
    if (uns_c_gated() && UNS_C_SITE())
        do_once(control, routine, UNS_C_SITE());
    else
        UNS_C_REAL(call_once)(control, routine);
    if (UNS_C_SITE())
        uns_c_recorded(control, UNS_C_HERE, UNS_ACQUIRE);
}
