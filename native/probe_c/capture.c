/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a few accesses, taken while a recorded run is replayed. The probe stands before its
 * access, so a written value is taken at the next event of any thread: until then the writer has
 * the gate's token. What an address is called is for the parent to say
 * (src/unsnarl/probes/native/):
 *
 *   {"captured": [[event, point, thread, address, location, locks, calls, value, size], ...]}
 *   locks: [[address, number of the acquisition, location], ...]; calls: code offsets
 *   location: see names.c
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <sys/uio.h>
#include <unistd.h>

#define MOST_HELD  32u
#define MOST_NOTED 100000u
#define MOST_VIEWS 20000u /* of stacks at plain accesses: a look takes microseconds */
#define PAGE       4096u

struct held {
    const void *address;
    uint64_t section;
};
static __thread struct held held[MOST_HELD];
static __thread uint32_t held_count;
static __thread const volatile void *touching;
static __thread uint64_t touching_size;

static const struct uns_plan *const plan = &uns_c_plan;
static struct uns_array note;
static const volatile void *written; /* by an access that is not done yet */
static uint64_t written_size;
static uint64_t sections;
static uint32_t noted, views;
static char busy;

/* Whatever it points to: the access may be the one that crashes. */
static void say_value(const volatile void *address, uint64_t bytes) {
    uint64_t bits = 0;
    size_t room = PAGE - (uintptr_t)address % PAGE;
    struct iovec to = {&bits, sizeof bits}, from = {(void *)address, room < 8 ? room : 8};
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) > 0)
        uns_c_say(&note, ", %llu, %llu]", (unsigned long long)bits, (unsigned long long)bytes);
    else
        uns_c_say(&note, ", null, %llu]", (unsigned long long)bytes);
}

static void settle(void) {
    if (written)
        say_value(written, written_size);
    written = NULL;
}

static void say_locks(void) {
    uns_c_say(&note, ", [");
    for (uint32_t i = 0; i < held_count; i++) {
        uns_c_say(&note, "%s[%llu, %llu, ", i ? ", " : "",
                  (unsigned long long)(uintptr_t)held[i].address,
                  (unsigned long long)held[i].section);
        uns_c_say_location(&note, (uintptr_t)held[i].address);
        uns_c_say(&note, "]");
    }
    uns_c_say(&note, "], ");
}

static void say_calls(const struct uns_c_stack *stack) {
    uint32_t said = 0;
    uns_c_say(&note, "[");
    for (uint32_t i = 0; i < stack->count && said < UNS_C_CALLS; i++)
        if (stack->frames[i].pc)
            uns_c_say(&note, "%s%u", said++ ? ", " : "", stack->frames[i].pc);
    uns_c_say(&note, "]");
}

static void capture(struct uns_thread *t, uint32_t point, const struct uns_c_stack *stack) {
    uns_c_say(&note, "%s[%llu, %u, \"%s\", %llu, ", noted++ ? ", " : "{\"captured\": [",
              (unsigned long long)t->events - 1, point, t->path,
              (unsigned long long)(uintptr_t)touching);
    uns_c_say_location(&note, (uintptr_t)touching);
    say_locks();
    say_calls(stack);
    if (UNS_POINT_OP(point) == UNS_WRITE)
        written = touching, written_size = touching_size;
    else if (UNS_POINT_OP(point) == UNS_READ)
        say_value(touching, touching_size);
    else
        uns_c_say(&note, ", null, 0]"); /* a lock has no value */
}

/* Of locks only a mutex has a name of the program's own. */
static int wanted(uint32_t point) {
    uint32_t op = UNS_POINT_OP(point);
    int is_lock = op == UNS_ACQUIRE || op == UNS_WAIT;
    if (noted >= MOST_NOTED || (op != UNS_READ && op != UNS_WRITE && !(is_lock && touching)))
        return 0;
    for (uint32_t i = 0; i < plan->capture_length; i++)
        if (plan->capture[i] == point)
            return 1;
    return 0;
}

static int enter_note(void) {
    return !__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE);
}

/* The token may be with another thread for a short time (a stall): who comes second is left out. */
static void about(struct uns_thread *t, uint32_t point) {
    if (plan->debugged)
        uns_c_stop_if_there(t, point);
    if (!plan->capture_length || !enter_note())
        return;
    settle();
    /* It is a wait if the lock is never given: the last one of its thread may be that. */
    uint32_t wait = UNS_POINT(UNS_POINT_SITE(point), UNS_WAIT);
    int take = wanted(point), may_wait = UNS_POINT_OP(point) == UNS_ACQUIRE && wanted(wait);
    if (take || may_wait || UNS_POINT_OP(point) >= UNS_ACQUIRE || views++ < MOST_VIEWS) {
        const struct uns_c_stack *stack = uns_c_look_at_stack(t);
        if (take)
            capture(t, point, stack);
        if (may_wait)
            capture(t, wait, stack);
    }
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

static void drop(const void *address) {
    for (uint32_t i = held_count; i-- > 0;)
        if (held[i].address == address) {
            for (held_count--; i < held_count; i++)
                held[i] = held[i + 1];
            return;
        }
}

static void locked(struct uns_thread *t, const struct uns_lock *lock, int acquired) {
    const void *address = uns_c_mutex_of(lock);
    (void)t;
    if (enter_note()) {
        settle();
        __atomic_clear(&busy, __ATOMIC_RELEASE);
    }
    if (!address)
        return;
    if (!acquired)
        drop(address);
    else if (held_count < MOST_HELD)
        held[held_count++] =
            (struct held){address, __atomic_add_fetch(&sections, 1, __ATOMIC_RELAXED)};
}

void uns_c_about_to_touch(const volatile void *address, uint64_t size) {
    touching = address;
    touching_size = size;
}

void uns_c_capture_begin(struct uns_hooks *hooks) {
    if (plan->capture_length || plan->debugged) {
        hooks->about = about;
        hooks->locked = locked;
    }
}

void uns_c_note_captured(void) {
    if (!noted || !enter_note())
        return;
    settle();
    uns_c_say(&note, "]}");
    uns_note(note.data, (uint32_t)note.used);
}
