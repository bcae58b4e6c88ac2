/* SPDX-License-Identifier: Apache-2.0
 *
 * What the gate knows of libc's mutexes, conditions and the like. In a gated run libc's own are not
 * touched at all: they may hold any bytes that an initialiser left.
 */
#include "probe.h"
#include "runtime/futex.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define OBJECTS (1u << 16)

static struct uns_c_object *objects;
static char busy;

static uint32_t home_of(const void *address) {
    return (uint32_t)(uns_mix((uintptr_t)address >> 3) >> 40) % OBJECTS;
}

static struct uns_c_object *slot_of(const void *address) {
    uint32_t at = home_of(address);
    while (objects[at].address && objects[at].address != address)
        at = (at + 1) % OBJECTS;
    return &objects[at];
}

struct uns_c_object *uns_c_object(const void *address, enum uns_c_kind kind) {
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
    if (!objects)
        objects = uns_pages(OBJECTS * sizeof *objects);
    struct uns_c_object *found = slot_of(address);
    if (!found->address || found->kind != kind) {
        *found = (struct uns_c_object){.address = address, .kind = kind};
        uns_lock_made(&found->lock, 0);
    }
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    return found;
}

/* Its memory may be something else from now on; the slot stays, for others that lie behind it. */
void uns_c_forget(const void *address) {
    if (objects && slot_of(address)->address)
        slot_of(address)->kind = 0;
}

int uns_c_take(struct uns_lock *lock, uint32_t site, int64_t timeout_ns) {
    int inside = uns_c_may_switch() ? !site : UNS_STAYS;
    for (;;) {
        enum uns_grant outcome = uns_lock_acquire(lock, site, timeout_ns, inside);
        if (outcome == UNS_DEADLOCKED)
            uns_c_verdict();
        if (outcome != UNS_INTERRUPTED)
            return outcome == UNS_GO ? 0 : timeout_ns ? ETIMEDOUT : EBUSY;
    }
}

/* A waiter's lock is taken when it queues up, and a second time to wait: whoever wakes it lets it
 * go. (Python's Condition does the same, so analyses know it.) */
void uns_c_wait_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site) {
    uns_lock_made(&me->lock, 0);
    me->lock.word = 1;
    me->lock.owner = uns_current()->index;
    me->lock.taken = UNS_POINT(site, UNS_ACQUIRE);
    me->next = NULL;
    struct uns_c_waiter **last = &object->first;
    while (*last)
        last = &(*last)->next;
    *last = me;
}

int uns_c_sleep_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site,
                   int64_t timeout_ns) {
    int outcome = uns_c_take(&me->lock, site, timeout_ns);
    for (struct uns_c_waiter **at = &object->first; *at; at = &(*at)->next)
        if (*at == me) { /* nobody has woken it */
            *at = me->next;
            break;
        }
    return outcome;
}

struct uns_c_waiter *uns_c_wake_first(struct uns_c_object *object, uint32_t site) {
    struct uns_c_waiter *woken = object->first;
    if (woken) {
        object->first = woken->next;
        uns_lock_release(&woken->lock, site);
    }
    return woken;
}

int64_t uns_c_until(clockid_t clock, const struct timespec *when) {
    struct timespec now;
    clock_gettime(clock, &now);
    int64_t left = (int64_t)(when->tv_sec - now.tv_sec) * 1000000000 + when->tv_nsec - now.tv_nsec;
    return left > 0 ? left : 1;
}

void uns_c_sync(const void *address, uint32_t site, enum uns_op op) {
    struct uns_tracked *t = &uns_current()->tracked;
    uint64_t hash = uns_mix((uintptr_t)address);
    if (!site)
        return;
    if (uns_view.mask && uns_repeats_write((uintptr_t)address, UNS_POINT(site, op)))
        return;
    if (uns_c_shadow.words)
        uns_shadow_forced(&uns_rt.tracker, &uns_c_shadow, t, UNS_POINT(site, op),
                          (uintptr_t)address);
    else
        uns_write_forced(&uns_rt.tracker, t, UNS_POINT(site, op), uns_cell_key(hash, hash >> 32));
}
