/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads: made, ended, joined. And sleeping, which under the gate takes no time.
 */
#define _GNU_SOURCE
#include "probe.h"
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4096u

/* What a thread is joined by: its lock is let go when it ends. */
struct started {
    void *(*routine)(void *);
    void *argument;
    struct uns_thread *thread;
    struct uns_lock ended;
    pthread_t handle;
};
static struct started *all[THREADS];
static pthread_key_t ending;
static __thread struct started *mine;

static void leave_thread(void) {
    if (!mine || !uns_c_on())
        return;
    uns_lock_release(&mine->ended, 0);
    if (uns_thread_end(mine->thread) == UNS_DEADLOCKED)
        uns_c_verdict();
}

/* A thread may end in many ways; all of them come by its destructors. Those of the program come
 * first: this one asks to be called again. */
static void leave(void *rounds) {
    if ((uintptr_t)rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(ending, (void *)((uintptr_t)rounds + 1));
    else
        leave_thread();
}

void uns_c_watch_threads(void) {
    pthread_key_create(&ending, leave);
}

static void *run(void *argument) {
    mine = argument;
    uns_thread_begin(mine->thread);
    pthread_setspecific(ending, (void *)1);
    return mine->routine(mine->argument);
}

static struct started *new_thread(void *(*routine)(void *), void *argument) {
    struct started *one = uns_pages(sizeof *one);
    if (!one)
        return NULL;
    one->routine = routine;
    one->argument = argument;
    one->thread = uns_thread_new(uns_current(), "thread", 0);
    uns_lock_made(&one->ended, UNS_LOCK_IS_THREAD);
    one->ended.word = 1;
    one->ended.owner = one->thread->index;
    if (one->thread->index < THREADS)
        all[one->thread->index] = one;
    return one;
}

int pthread_create(pthread_t *handle, const pthread_attr_t *attributes, void *(*routine)(void *),
                   void *argument) {
    if (uns_c_beginning || !uns_c_on())
        return UNS_C_REAL(pthread_create)(handle, attributes, routine, argument);
    struct started *one = new_thread(routine, argument);
    if (!one)
        return EAGAIN;
    int error = UNS_C_REAL(pthread_create)(handle, attributes, run, one);
    if (error)
        uns_thread_discard(one->thread);
    else
        one->handle = *handle;
    return error;
}

static struct started *started_as(pthread_t handle) {
    for (uint32_t i = uns_rt.thread_count < THREADS ? uns_rt.thread_count : THREADS; i-- > 1;)
        if (all[i] && all[i]->handle == handle)
            return all[i];
    return NULL;
}

int pthread_join(pthread_t handle, void **result) {
    struct started *one = uns_c_on() ? started_as(handle) : NULL;
    if (one && uns_rt.gated) {
        uint32_t site = UNS_C_SITE();
        uns_c_take(&one->ended, site, UNS_FOREVER);
        uns_lock_release(&one->ended, site);
    }
    int error = UNS_C_REAL(pthread_join)(handle, result);
    if (one && !error) {
        one->handle = 0;
        if (!uns_rt.gated)
            uns_order(uns_current()->index, one->thread->index);
    }
    return error;
}

static int sleep_for(uint32_t site, int64_t ns) {
    if (uns_sleep(site, ns, 0) == UNS_DEADLOCKED)
        uns_c_verdict();
    return 0;
}

unsigned sleep(unsigned seconds) {
    if (uns_c_gated())
        return (unsigned)sleep_for(UNS_C_SITE(), (int64_t)seconds * 1000000000);
    return UNS_C_REAL(sleep)(seconds);
}
int usleep(useconds_t microseconds) {
    if (uns_c_gated())
        return sleep_for(UNS_C_SITE(), (int64_t)microseconds * 1000);
    return UNS_C_REAL(usleep)(microseconds);
}
int sched_yield(void) {
    return uns_c_gated() ? sleep_for(UNS_C_SITE(), 0) : UNS_C_REAL(sched_yield)();
}
