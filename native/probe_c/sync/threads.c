/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads: made, ended, joined, let go, cancelled; POSIX's and C11's.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <sys/resource.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <threads.h>

/* What a thread is joined by: its lock is let go when it ends. */
struct started {
    void *(*routine)(void *);
    int (*c11_routine)(void *);
    void *argument;
    struct uns_thread *thread;
    uint32_t site; /* where it was made */
    struct uns_lock ended;
    pthread_t handle;
    int detached, cancelled;
    size_t stack;     /* its bytes */
    sigset_t signals; /* that are blocked: a thread that is not known yet can handle none */
    struct started *next;
};
static struct started *all; /* newest first: a handle may be given again */
static char busy;
static pthread_key_t ending;
static __thread struct started *mine;

static void lock_all(void) {
    uns_busy();
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
}

static void unlock_all(void) {
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    uns_idle();
}

static struct started *started_as(pthread_t handle) {
    lock_all();
    struct started *one = all;
    while (one && one->handle != handle)
        one = one->next;
    unlock_all();
    return one;
}

/* Nobody will ask for it again. */
static void drop(struct started *one) {
    lock_all();
    struct started **at = &all;
    while (*at && *at != one)
        at = &(*at)->next;
    if (*at)
        *at = one->next;
    unlock_all();
    munmap(one, sizeof *one);
}

/* libc ends the process with its last thread, but counts the watch as one. */
static void end_with_last(void) {
    static char ends;
    for (const struct uns_thread *t = uns_rt.threads; t; t = t->next)
        if (t->state != UNS_ENDED)
            return;
    if (!__atomic_test_and_set(&ends, __ATOMIC_SEQ_CST))
        exit(0);
}

static void leave_thread(void) {
    struct started *me = mine;
    if (!uns_self || !uns_c_on())
        return;
    uns_c_settle_value(uns_self);
    if (me)
        uns_lock_release(&me->ended, 0);
    mine = NULL;
    if (me && me->detached)
        drop(me);
    if (uns_thread_end(uns_self) == UNS_DEADLOCKED)
        uns_c_report_deadlock();
    end_with_last();
}

/* A thread may end in many ways; all of them come by its destructors. Those of the program come
 * first: this one asks to be called again. */
static void leave(void *rounds) {
    if ((uintptr_t)rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(ending, (void *)((uintptr_t)rounds + 1));
    else
        leave_thread();
}

void uns_c_watch_this_thread(void) {
    pthread_setspecific(ending, (void *)1);
}

static struct started *new_started(struct uns_thread *thread) {
    struct started *one = uns_pages(sizeof *one);
    if (!one)
        return NULL;
    one->thread = thread;
    uns_lock_made(&one->ended, UNS_LOCK_IS_THREAD);
    one->ended.word = 1;
    one->ended.owner = thread->index;
    lock_all();
    one->next = all;
    all = one;
    unlock_all();
    return one;
}

/* The first thread can be joined, too. */
void uns_c_watch_threads(void) {
    pthread_key_create(&ending, leave);
    mine = new_started(uns_self);
    mine->handle = pthread_self();
    uns_c_watch_this_thread();
}

/* Its stack was another's, perhaps. Most of what a thread uses of it is near its beginning; half of
 * it is its own for certain. (pthread_getattr_np would know the rest, but asks for memory.) Under
 * the gate every word is looked up: fewer of them. */
#define FRESH_STACK       (256u << 10)
#define FRESH_STACK_GATED (16u << 10)
static void void_stack(void) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    size_t most = uns_c_shadow.words ? FRESH_STACK : FRESH_STACK_GATED;
    size_t size = mine->stack / 2 < most ? mine->stack / 2 : most;
    uns_c_fresh((const void *)(here - size), size);
}

static size_t stack_of(const pthread_attr_t *attributes) {
    size_t size = 0;
    struct rlimit limit;
    if (attributes)
        pthread_attr_getstacksize(attributes, &size);
    if (!size && getrlimit(RLIMIT_STACK, &limit) == 0)
        size = (size_t)limit.rlim_cur; /* libc's default; without a limit it is more than enough */
    return size;
}

static void *run(void *argument) {
    mine = argument;
    mine->handle = pthread_self();
    uns_thread_begin(mine->thread);
    void_stack();
    uns_c_watch_this_thread();
    pthread_sigmask(SIG_SETMASK, &mine->signals, NULL);
    if (mine->c11_routine)
        return (void *)(intptr_t)mine->c11_routine(mine->argument);
    return mine->routine(mine->argument);
}

static int is_detached(const pthread_attr_t *attributes) {
    int state = PTHREAD_CREATE_JOINABLE;
    if (attributes)
        pthread_attr_getdetachstate(attributes, &state);
    return state == PTHREAD_CREATE_DETACHED;
}

/* Where its function is, the same in every run. */
static uint32_t offset_of(const struct started *as) {
    return uns_c_offset(as->c11_routine ? (void *)as->c11_routine : (void *)as->routine);
}

static int start(pthread_t *handle, const pthread_attr_t *attributes, const struct started *as) {
    struct uns_thread *thread = uns_thread_new(uns_current(), "thread", 0);
    struct started *one = thread ? new_started(thread) : NULL;
    if (!one)
        return EAGAIN;
    uns_thread_is_of(thread, offset_of(as), as->site);
    one->routine = as->routine;
    one->c11_routine = as->c11_routine;
    one->argument = as->argument;
    one->detached = is_detached(attributes);
    one->stack = stack_of(attributes);
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    one->signals = before;
    int error = UNS_C_REAL(pthread_create)(handle, attributes, run, one);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        uns_thread_discard(thread);
        drop(one);
    } else if (uns_rt.gated) { /* else it may be over, and dropped */
        one->handle = *handle;
    }
    return error;
}

UNS_C_INTERCEPTOR int pthread_create(pthread_t *handle, const pthread_attr_t *attributes,
                                     void *(*routine)(void *), void *argument) {
    if (uns_c_beginning || !uns_c_on())
        return UNS_C_REAL(pthread_create)(handle, attributes, routine, argument);
    struct started as = {.routine = routine, .argument = argument, .site = UNS_C_CALLER()};
    return start(handle, attributes, &as);
}
UNS_C_INTERCEPTOR int thrd_create(thrd_t *handle, thrd_start_t routine, void *argument) {
    if (!uns_c_on())
        return UNS_C_REAL(thrd_create)(handle, routine, argument);
    struct started as = {.c11_routine = routine, .argument = argument, .site = UNS_C_CALLER()};
    return uns_c_thrd(start(handle, NULL, &as));
}

static int await(struct started *one, uint32_t site, int64_t timeout_ns) {
    int outcome;
    do {
        if (timeout_ns)
            pthread_testcancel();
        outcome = uns_c_take_or_hear(&one->ended, site, timeout_ns);
    } while (outcome == EINTR);
    if (!outcome)
        uns_lock_release(&one->ended, site);
    return outcome;
}

static struct started *joinable(pthread_t handle) {
    struct started *one = uns_c_on() ? started_as(handle) : NULL;
    return one && one != mine && !one->detached ? one : NULL; /* else libc says what is wrong */
}

/* What is left of a thread that has reported its end; it takes as long as the machine is busy,
 * which is no stall. */
static int join_ended(pthread_t handle, void **result) {
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    __atomic_fetch_add(&uns_rt.paused, 1, __ATOMIC_RELAXED);
    int error = UNS_C_REAL(pthread_join)(handle, result);
    __atomic_fetch_sub(&uns_rt.paused, 1, __ATOMIC_RELAXED);
    pthread_setcancelstate(state, NULL);
    return error;
}

/* A thread whose start nobody saw: its end cannot be foreseen. */
static int is_foreign(pthread_t handle) {
    return uns_c_waits() && !started_as(handle);
}
static void come_back(uint32_t *site) {
    if (*site)
        uns_gate_come_back(uns_self, *site);
}

static void joined(struct started *one) {
    if (!uns_rt.gated)
        uns_order(uns_current()->index, one->thread->index);
    drop(one);
}

/* Once the thread is at its end, all that is left to libc is a plain join. */
#define JOINS(name, timeout, arguments, ...)                                                       \
    UNS_C_INTERCEPTOR int name arguments {                                                         \
        struct started *one = joinable(handle);                                                    \
        int gated = one && uns_rt.gated, error = 0;                                                \
        if (gated && (error = await(one, UNS_C_CALLER(), timeout)))                                \
            return UNS_C_RETURNED(name, error);                                                    \
        __attribute__((cleanup(come_back))) uint32_t outside =                                     \
            is_foreign(handle) ? UNS_C_CALLER() : 0;                                               \
        if (outside)                                                                               \
            uns_gate_go_outside(uns_self);                                                         \
        error = gated ? join_ended(handle, result) : UNS_C_REAL(name)(__VA_ARGS__);                \
        if (one && !error)                                                                         \
            joined(one);                                                                           \
        if (!error)                                                                                \
            uns_c_recorded(NULL, UNS_C_HERE, UNS_JOIN);                                            \
        return error;                                                                              \
    }
JOINS(pthread_join, UNS_FOREVER, (pthread_t handle, void **result), handle, result)
JOINS(pthread_tryjoin_np, 0, (pthread_t handle, void **result), handle, result)
JOINS(pthread_timedjoin_np, uns_c_until(CLOCK_REALTIME, when),
      (pthread_t handle, void **result, const struct timespec *when), handle, result, when)
JOINS(pthread_clockjoin_np, uns_c_until(clock, when),
      (pthread_t handle, void **result, clockid_t clock, const struct timespec *when), handle,
      result, clock, when)

UNS_C_INTERCEPTOR int thrd_join(thrd_t handle, int *result) {
    struct started *one = joinable(handle);
    if (!one) {
        int outcome = UNS_C_REAL(thrd_join)(handle, result);
        uns_c_recorded(NULL, UNS_C_HERE, UNS_JOIN);
        return outcome;
    }
    void *value = NULL;
    if (uns_rt.gated)
        await(one, UNS_C_CALLER(), UNS_FOREVER);
    if (uns_rt.gated ? join_ended(handle, &value) : UNS_C_REAL(pthread_join)(handle, &value))
        return thrd_error;
    joined(one);
    uns_c_recorded(NULL, UNS_C_HERE, UNS_JOIN);
    if (result)
        *result = (int)(intptr_t)value;
    return thrd_success;
}

static void let_go(pthread_t handle) {
    struct started *one = uns_c_on() ? started_as(handle) : NULL;
    if (!one)
        return;
    one->detached = 1;
    if (one->thread->state == UNS_ENDED)
        drop(one);
}

UNS_C_INTERCEPTOR int pthread_detach(pthread_t handle) {
    let_go(handle);
    return UNS_C_REAL(pthread_detach)(handle);
}
UNS_C_INTERCEPTOR int thrd_detach(thrd_t handle) {
    let_go(handle);
    return UNS_C_REAL(thrd_detach)(handle);
}

/* A thread that waits in the gate would not hear of it. */
UNS_C_INTERCEPTOR int pthread_cancel(pthread_t handle) {
    struct started *one = uns_c_gated() ? started_as(handle) : NULL;
    int error = UNS_C_REAL(pthread_cancel)(handle);
    if (one && !error) {
        one->cancelled = 1;
        uns_gate_call(one->thread);
    }
    return error;
}

int uns_c_is_cancelled(void) {
    return mine && mine->cancelled;
}

/* At any time is at some time: in the middle of the gate would be too early. */
UNS_C_INTERCEPTOR int pthread_setcanceltype(int type, int *old) {
    static __thread int wanted;
    if (!uns_c_gated())
        return UNS_C_REAL(pthread_setcanceltype)(type, old);
    if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS)
        return EINVAL;
    if (old)
        *old = wanted;
    wanted = type;
    return 0;
}

UNS_C_INTERCEPTOR int pthread_setname_np(pthread_t handle, const char *name) {
    int error = UNS_C_REAL(pthread_setname_np)(handle, name);
    struct started *one = error || !uns_c_on() ? NULL : started_as(handle);
    if (one)
        snprintf(one->thread->name, sizeof one->thread->name, "%s", name);
    return error;
}
