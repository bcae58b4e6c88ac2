/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of small programs under the runtime, for tests of the gate and the recorder. A program is a
 * main thread that starts others and joins them, by locks that the gate sees.
 */
#ifndef UNSNARL_RUNS_H
#define UNSNARL_RUNS_H
#include "check.h"
#include "runtime/runtime.h"
#include <pthread.h>

#define SITES     64u /* of a program */
#define JOIN_SITE 60u

static const struct uns_hooks no_hooks;

__attribute__((unused)) static struct uns_plan plan_of(enum uns_plan_kind kind,
                                                       const char *strategy, uint64_t seed) {
    return (struct uns_plan){.kind = kind,
                             .strategy = strategy,
                             .seed = seed,
                             .any_access = 1,
                             .depth = 3,
                             .core = -1,
                             .site_limit = SITES,
                             .tracker = {.context_size = 5,
                                         .first_read = 1,
                                         .racy_lookup = 1,
                                         .anti_edges = 1,
                                         .own_reads = kind >= UNS_PLAN_CONTROLLED,
                                         .window_size = UNS_WINDOW_DEFAULT,
                                         .first_write = UNS_FIRST_WRITE_SHARED}};
}

struct worker {
    void (*work)(void);
    struct uns_thread *thread;
    struct uns_lock done;
    pthread_t handle;
};

static void not_stalled(int change) {
    __atomic_fetch_add(&uns_rt.paused, change, __ATOMIC_RELAXED);
}

static void *begin_worker(void *argument) {
    struct worker *worker = argument;
    uns_thread_begin(worker->thread);
    worker->work();
    uns_lock_release(&worker->done, 0);
    uns_thread_end(worker->thread);
    return NULL;
}

__attribute__((unused)) static void start(struct worker *worker, void (*work)(void)) {
    worker->work = work;
    uns_lock_made(&worker->done, UNS_LOCK_IS_THREAD);
    CHECK_EQUAL(uns_lock_acquire(&worker->done, 0, UNS_FOREVER, UNS_STAYS), UNS_GO);
    worker->thread = uns_thread_new(uns_current(), "worker", 0);
    CHECK(worker->thread != NULL);
    not_stalled(1); /* ThreadSanitizer's waits for the new thread, the watch must not mind */
    CHECK_EQUAL(pthread_create(&worker->handle, NULL, begin_worker, worker), 0);
    not_stalled(-1);
}

__attribute__((unused)) static enum uns_grant join(struct worker *worker) {
    enum uns_grant outcome = uns_lock_acquire(&worker->done, JOIN_SITE, UNS_FOREVER, 0);
    not_stalled(1);
    if (outcome == UNS_GO)
        pthread_join(worker->handle, NULL);
    not_stalled(-1);
    return outcome;
}

__attribute__((unused)) static uint64_t cell_numbered(uint64_t number) {
    return uns_cell_key(number << 32, number);
}
__attribute__((unused)) static void reads(uint32_t site, uint64_t cell) {
    uns_access(site, cell_numbered(cell), 0, 1);
}
__attribute__((unused)) static void writes(uint32_t site, uint64_t cell) {
    uns_access(site, cell_numbered(cell), 1, 1);
}
#endif
