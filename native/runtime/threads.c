/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry of threads. A thread's path ("0.1.2") says which child of which parent it is, so it
 * names the same thread in every run. Those whose parents are not known are roots: "1", "2".
 */
#define _GNU_SOURCE
#include "gate/gate.h"
#include "runtime/busy.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__thread struct uns_thread *uns_self __attribute__((tls_model("initial-exec")));

static uint32_t registry;

/* Fresh ids first: an id given again while old records still carry it would hide communication
 * between the two threads. After 63 threads the id of an ended one is taken, then the last. */
static uint32_t live_id(uint32_t index) {
    if (index + 1 < UNS_LIVE_IDS)
        return index + 1;
    for (const struct uns_thread *t = uns_rt.threads; t; t = t->next)
        if (t->state == UNS_ENDED && uns_rt.tracker.live[t->tracked.id] == &t->tracked)
            return t->tracked.id;
    uns_rt.counters[UNS_COUNT_ALIASED]++;
    return UNS_LIVE_IDS - 1;
}

static void name_thread(struct uns_thread *t, struct uns_thread *parent, const char *name) {
    if (!parent)
        snprintf(t->path, sizeof t->path, "%u", t->index ? ++uns_rt.roots : 0);
    else
        snprintf(t->path, sizeof t->path, "%.40s.%u", parent->path, ++parent->children);
    snprintf(t->name, sizeof t->name, "%s", name);
}

struct uns_thread *uns_thread_new(struct uns_thread *parent, const char *name, uint32_t flags) {
    struct uns_thread *t = uns_pages(sizeof *t);
    if (!t)
        return NULL;
    uns_spin_lock(&registry);
    uint32_t index = uns_rt.thread_count++;
    uns_tracked_init(&uns_rt.tracker, &t->tracked, live_id(index), index);
    t->index = index;
    t->parent = parent ? parent->index : 0;
    t->flags = flags | (uns_rt.gated && (parent || !index) ? UNS_THREAD_CONTROLLED : 0);
    t->state = UNS_OUTSIDE;
    if (parent && parent->failed) /* the next test of the session, an exit function */
        t->failed = t->muted = 1;
    name_thread(t, parent, name);
    t->next = uns_rt.threads;
    __atomic_store_n(&uns_rt.threads, t, __ATOMIC_RELEASE);
    uns_spin_unlock(&registry);
    if (parent)
        uns_order(index, parent->index);
    if (UNS_UNLIKELY(uns_rt.sketch.level != UNS_LEVEL_NONE) && parent)
        uns_sketch_event(parent, UNS_POINT(0, UNS_START));
    if (uns_rt.gated)
        uns_gate_register(t);
    return t;
}

void uns_thread_is_of(struct uns_thread *t, uint64_t function, uint32_t site) {
    uint64_t mixed = (function ^ ((uint64_t)site << 32 | site)) * 0x9e3779b97f4a7c15ull;
    t->kind = (uint32_t)(mixed >> 32) | 1;
}

struct uns_thread *uns_thread_current(void) {
    return uns_current();
}

const char *uns_thread_path(const struct uns_thread *t) {
    return t->path;
}

struct uns_thread *uns_thread_by_index(uint32_t index) {
    struct uns_thread *t = uns_threads();
    while (t && t->index != index)
        t = t->next;
    return t;
}

void uns_thread_begin(struct uns_thread *t) {
    __atomic_store_n(&t->os_id, (int32_t)gettid(), __ATOMIC_RELAXED);
    uns_self = t;
    if (uns_rt.gated)
        uns_gate_arrive(t);
    if (UNS_UNLIKELY(uns_rt.recording))
        uns_sketch_event(t, UNS_POINT(0, UNS_BEGIN));
}

enum uns_grant uns_thread_end(struct uns_thread *t) {
    t->flags |= UNS_THREAD_ENDED;
    t->muted = UINT32_MAX / 2; /* its clean-up may still touch objects and locks: not ours */
    if (uns_rt.gated)
        return uns_gate_leave(t);
    t->state = UNS_ENDED;
    return UNS_GO;
}

void uns_thread_discard(struct uns_thread *t) {
    t->flags |= UNS_THREAD_ENDED;
    if (uns_rt.gated)
        uns_gate_forget(t);
    t->state = UNS_ENDED;
}

/* A thread that no probe saw start (made by C code): observed and gated from here on, and counted
 * as uncontrolled, since nothing held back what it did before. */
struct uns_thread *uns_thread_adopt(void) {
    struct uns_thread *t = uns_thread_new(NULL, "foreign", 0);
    uns_rt.counters[UNS_COUNT_UNCONTROLLED] += uns_rt.gated != 0;
    __atomic_store_n(&t->os_id, (int32_t)gettid(), __ATOMIC_RELAXED);
    uns_self = t;
    if (uns_rt.hooks.adopted)
        uns_rt.hooks.adopted();
    if (uns_rt.gated)
        uns_gate_arrive(t);
    return t;
}
