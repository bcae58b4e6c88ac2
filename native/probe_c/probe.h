/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe for C and C++: what the compiler's -fsanitize=thread calls, and the functions of libc
 * that threads wait in. It is linked into the program instead of libtsan; without a plan it does
 * nothing.
 */
#ifndef UNSNARL_PROBE_C_H
#define UNSNARL_PROBE_C_H
#include "runtime/internal.h"
#include <pthread.h>

/* A site is a return address inside the program, from its start, in units of 4 bytes: no two calls
 * are nearer to each other. */
#define UNS_C_UNIT 4
extern char __executable_start, etext;

static inline uint32_t uns_c_site(const void *pc) {
    uintptr_t offset = (uintptr_t)pc - (uintptr_t)&__executable_start;
    return offset < (uintptr_t)&etext - (uintptr_t)&__executable_start
               ? (uint32_t)(offset / UNS_C_UNIT)
               : 0;
}

/* Events of the calling thread count: a run is under way, and it is not past its end. */
static inline int uns_c_on(void) {
    return UNS_UNLIKELY(uns_rt.active) && !(uns_self && uns_self->muted);
}
static inline int uns_c_gated(void) {
    return uns_c_on() && uns_rt.gated;
}
#define UNS_C_SITE() uns_c_site(__builtin_return_address(0))

/* The next definition of a function: libc's. */
#define UNS_C_REAL(name)                                                                           \
    ({                                                                                             \
        static __typeof__(&name) real;                                                             \
        if (!real)                                                                                 \
            real = (__typeof__(&name))uns_c_next(#name);                                           \
        real;                                                                                      \
    })
void *uns_c_next(const char *name);

/* A thing of libc's that threads wait for, by its address. */
enum uns_c_kind { UNS_C_MUTEX = 1, UNS_C_COND, UNS_C_SEM, UNS_C_RWLOCK, UNS_C_BARRIER, UNS_C_ONCE };
struct uns_c_waiter {
    struct uns_lock lock;
    struct uns_c_waiter *next;
    int wants; /* of an rwlock: 1 to read, 2 to write */
};
struct uns_c_object {
    const void *address;
    enum uns_c_kind kind;
    struct uns_lock lock; /* the mutex itself, or what guards the fields below */
    struct uns_c_waiter *first;
    uint32_t depth;   /* of a recursive mutex */
    int32_t value;    /* of a semaphore; readers of an rwlock, -1 a writer; come to a barrier */
    uint32_t members; /* of a barrier */
};
struct uns_c_object *uns_c_object(const void *address, enum uns_c_kind kind);
void uns_c_forget(const void *address);
const void *uns_c_mutex_of(const struct uns_lock *lock); /* NULL: it is none */

/* Gated: take and give a lock for the code at a site; does not return from a deadlock. */
int uns_c_take(struct uns_lock *lock, uint32_t site, int64_t timeout_ns);
void uns_c_wait_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site);
int uns_c_sleep_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site,
                   int64_t timeout_ns);
struct uns_c_waiter *uns_c_wake_first(struct uns_c_object *object, uint32_t site);
int64_t uns_c_until(clockid_t clock, const struct timespec *when);

/* Free runs: a lock operation that libc did. */
void uns_c_sync(const void *address, uint32_t site, enum uns_op op);

/* Blocks of the heap in gated runs, live and freed (blocks.c). */
#define UNS_C_CALLS 12u
struct uns_c_block {
    uintptr_t start;
    uint64_t size;
    uint32_t site;   /* that asked for it, 0: a library */
    uint32_t number; /* in the order of being made, from 1 on; 0: no block */
    int freed;
    uint32_t calls[UNS_C_CALLS]; /* that led to it, where values are captured; 0: no more */
};
void uns_c_block_made(const void *start, uint64_t size, uint32_t site);
void uns_c_block_freed(const void *start);
struct uns_c_block uns_c_block_at(uintptr_t address);

/* What a site touched last, for its name (names.c). */
void uns_c_remember(uint32_t site, const volatile void *address);
void uns_c_remember_lock(uint32_t site, const void *address);
void uns_c_note_places(void);
void uns_c_say(struct uns_array *note, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void uns_c_say_place(struct uns_array *note, uintptr_t address);

/* Where a thread is: its program counters, from the program's start (0: in a library), and stack
 * pointers, innermost first (stacks.c). */
#define UNS_C_FRAMES 24u
struct uns_c_frame {
    uint32_t pc;
    uintptr_t low;
};
struct uns_c_stack {
    const struct uns_thread *thread;
    uint32_t count;
    struct uns_c_frame frames[UNS_C_FRAMES];
};
const struct uns_c_stack *uns_c_look_at_stack(struct uns_thread *t); /* the calling thread's */
const struct uns_c_stack *uns_c_stack_with(uintptr_t address, uint32_t *frame);

/* Replays in which somebody looks at values, or with a debugger (capture.c, debug.c). */
extern struct uns_plan uns_c_plan;
void uns_c_capture_begin(struct uns_hooks *hooks);
void uns_c_about_to_touch(const volatile void *address);
void uns_c_note_captured(void);
void uns_c_stop(uint32_t site);
void uns_c_stop_if_there(const struct uns_thread *t, uint32_t point);
void uns_c_note_status(int status);

void uns_c_accessed(uint32_t site, const volatile void *address, uint64_t size, int write);
void uns_c_fresh(const void *address, uint64_t size);
void uns_c_verdict(void) __attribute__((noreturn));
void uns_c_watch_threads(void);
void uns_c_note_failure(const char *kind, const char *type, const char *message, const char *file,
                        unsigned line, const char *function);
void uns_c_note_signal(int number, uint32_t site);
extern int uns_c_beginning; /* the runtime makes a thread of its own */
#endif
