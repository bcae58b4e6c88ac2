/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts of a watched program. Between them no probe delivers, so nothing that was seen in one may
 * be known in the next: a write that nobody heard of could lie between. Threads come and go for as
 * long as the program runs; those that have ended give back their memory and their numbers.
 */
#define _GNU_SOURCE
#include "gate/gate.h"
#include "recorder/recorder.h"
#include "runtime/runtime.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void uns_burst_off(void) {
    uns_rt.fast = 0;
    __atomic_store_n(&uns_rt.active, 0, __ATOMIC_SEQ_CST);
}

/* A number that the kernel gave to another thread since: it is kept until that ends, too. */
static int has_ended(const struct uns_thread *t) {
    return t != uns_self && syscall(SYS_tgkill, getpid(), t->os_id, 0) < 0 && errno == ESRCH;
}

static void free_tables(struct uns_thread *t) {
    uns_table_free(&t->tracked.edges);
    uns_table_free(&t->tracked.patterns);
    uns_table_free(&t->tracked.gaps);
    uns_table_free(&t->tracked.pairs);
}

/* The threads that are left, oldest first. */
static struct uns_thread *living(void) {
    struct uns_thread *kept = NULL;
    for (struct uns_thread *t = uns_rt.threads, *next; t; t = next) {
        next = t->next;
        free_tables(t);
        if (has_ended(t)) {
            munmap(t, sizeof *t);
        } else {
            t->next = kept;
            kept = t;
        }
    }
    return kept;
}

static void number_anew(struct uns_thread *t) {
    uint32_t index = uns_rt.thread_count++;
    uint32_t id = index + 1 < UNS_LIVE_IDS ? index + 1 : UNS_LIVE_IDS - 1;
    uns_tracked_init(&uns_rt.tracker, &t->tracked, id, index);
    t->index = index;
    t->events = 0;
    t->next = uns_rt.threads;
    uns_rt.threads = t;
}

void uns_burst_begin(const char *file) {
    struct uns_thread *left = living(), *next;
    uns_tracker_clear(&uns_rt.tracker);
    uns_rt.threads = NULL;
    uns_rt.thread_count = 0;
    for (; left; left = next) {
        next = left->next;
        number_anew(left);
    }
    memset(uns_rt.counters, 0, sizeof uns_rt.counters);
    uns_recorder_begin(file);
    __atomic_store_n(&uns_rt.active, 1, __ATOMIC_RELEASE);
    uns_rt.fast = uns_rt.tracker.racy_lookup;
}

int uns_burst_write(void) {
    return uns_write_run_file();
}

void uns_burst_forked(void) {
    uns_burst_off();
    if (uns_self)
        uns_self->os_id = (int32_t)gettid();
}
