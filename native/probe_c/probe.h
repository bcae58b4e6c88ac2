/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe for C and C++: what the compiler's -fsanitize=thread calls, and the functions of libc
 * that threads wait in. It is linked into the program instead of libtsan; without a plan it does
 * nothing.
 */
#ifndef UNSNARL_PROBE_C_H
#define UNSNARL_PROBE_C_H
#include "runtime/access.h"
#include "runtime/array.h"
#include "runtime/busy.h"
#include "tracker/shadow.h"
#include <pthread.h>

/* A site is a return address inside the program, from its start, in units of 4 bytes: no two calls
 * are nearer to each other. */
#define UNS_C_UNIT 4
#pragma GCC visibility push(hidden)
/* modules.c: the same for shared libraries, each of which has its first site. 0: not listed. */
uint32_t uns_c_site_elsewhere(const void *pc);
uint32_t uns_c_offset_elsewhere(const volatile void *address);
uintptr_t uns_c_address_elsewhere(uint32_t site);
int uns_c_owns(uint32_t site);
void uns_c_missed(const void *pc);
void uns_c_note_unlisted(void);

#ifdef UNS_C_LIBRARY /* the probe of libraries (guest.c): the program is not ours */
static inline uint32_t uns_c_site(const void *pc) {
    return uns_c_site_elsewhere(pc);
}
/* Where in the data of all modules an address is, 0: in none. */
static inline uint32_t uns_c_offset(const volatile void *address) {
    return uns_c_offset_elsewhere(address);
}
/* Where in the program's code an address is, 0: elsewhere. */
static inline uint32_t uns_c_code(uintptr_t pc) {
    (void)pc;
    return 0;
}
/* Where a site's call returns to, rounded down. */
static inline uintptr_t uns_c_address(uint32_t site) {
    return uns_c_address_elsewhere(site);
}
#else
extern char __executable_start, etext, end;

static inline uint32_t uns_c_site(const void *pc) {
    uintptr_t offset = (uintptr_t)pc - (uintptr_t)&__executable_start;
    return UNS_LIKELY(offset < (uintptr_t)&etext - (uintptr_t)&__executable_start)
               ? (uint32_t)(offset / UNS_C_UNIT)
               : uns_c_site_elsewhere(pc);
}
static inline uint32_t uns_c_offset(const volatile void *address) {
    uintptr_t offset = (uintptr_t)address - (uintptr_t)&__executable_start;
    return offset < (uintptr_t)&end - (uintptr_t)&__executable_start
               ? (uint32_t)offset
               : uns_c_offset_elsewhere(address);
}
static inline uint32_t uns_c_code(uintptr_t pc) {
    uintptr_t offset = pc - (uintptr_t)&__executable_start;
    return offset < (uintptr_t)&etext - (uintptr_t)&__executable_start ? (uint32_t)offset : 0;
}
static inline uintptr_t uns_c_address(uint32_t site) {
    uintptr_t found = uns_c_address_elsewhere(site);
    return found ? found : (uintptr_t)&__executable_start + (uintptr_t)site * UNS_C_UNIT;
}
#endif

/* Events of the calling thread count: a run is under way, and it is not past its end. */
static inline int uns_c_on(void) {
    return UNS_UNLIKELY(uns_rt.active) && !(uns_self && uns_self->muted);
}
static inline int uns_c_gated(void) {
    return uns_c_on() && uns_rt.gated;
}
/* ... and it is one that the gate knows: not one of the probe's own, and none that is adopted by
 * what it calls. */
static inline int uns_c_waits(void) {
    return uns_c_gated() && uns_self;
}
/* Another thread may come before the next operation. Where the language has a lock of its own, only
 * while the calling thread does not hold it. */
static inline int uns_c_may_switch(void) {
    return uns_rt.any_access || !uns_rt.hooks.exclusive || !uns_rt.hooks.exclusive();
}
#define UNS_C_HERE   __builtin_return_address(0)
#define UNS_C_SITE() uns_c_site(UNS_C_HERE)

/* Where the program called a function that waits; or where it called the library that does, such as
 * std::condition_variable. Then `uns_c_inside` is set: one such call is one switch point. */
extern __thread int uns_c_inside;
uint32_t uns_c_library_site(void);
/* The site itself; of code of a system header, that of the line which called it. */
uint32_t uns_c_outside(uint32_t site);
static inline uint32_t uns_c_caller(const void *pc) {
    uint32_t site = uns_c_site(pc);
    uns_c_inside = !site;
    int asks = uns_c_waits() || (uns_rt.recording && uns_c_on() && uns_self);
    return !asks ? site : site ? uns_c_outside(site) : uns_c_library_site();
}
#define UNS_C_CALLER() uns_c_caller(__builtin_return_address(0))

/* A program may have a function of its own called `wait`: then that is the one. */
#define UNS_C_INTERCEPTOR __attribute__((weak))

/* The next definition of a function: libc's. */
#define UNS_C_REAL(name)                                                                           \
    ({                                                                                             \
        static __typeof__(&name) real;                                                             \
        if (!real)                                                                                 \
            real = (__typeof__(&name))uns_c_next(#name);                                           \
        real;                                                                                      \
    })
void *uns_c_next(const char *name);
int uns_c_is_inside(uint32_t low, uint32_t high);
void uns_c_note_end(void);
void uns_c_finish(void);
void uns_c_go_on_alone(void); /* in a forked copy */

/* A thing of libc's that threads wait for, by its address. */
enum uns_c_kind {
    UNS_C_MUTEX = 1,
    UNS_C_COND,
    UNS_C_SEM,
    UNS_C_RWLOCK,
    UNS_C_BARRIER,
    UNS_C_ONCE,
    UNS_C_FUTEX
};
struct uns_c_waiter {
    struct uns_lock lock;
    struct uns_c_waiter *next;
    int wants; /* of an rwlock: 1 to read, 2 to write */
};
#define UNS_C_HOLDERS 4u /* of more at a time it is not known what they do under it */
struct uns_c_object {
    const void *address;
    struct uns_c_object *next; /* of the same bucket */
    enum uns_c_kind kind;
    struct uns_lock lock; /* the mutex itself, or what guards the fields below */
    struct uns_c_waiter *first;
    uint32_t depth;   /* of a recursive mutex */
    int32_t value;    /* of a semaphore; readers of an rwlock, -1 a writer; come to a barrier */
    uint32_t members; /* of a barrier */
    struct uns_lock holders[UNS_C_HOLDERS]; /* of an rwlock: one for each thread that has it */
};
struct uns_c_object *uns_c_object(const void *address, enum uns_c_kind kind);
void uns_c_forget(const void *address);
const void *uns_c_mutex_of(const struct uns_lock *lock); /* NULL: it is none */

/* Gated: take a lock for the code at a site; does not return from a deadlock. 0, EBUSY, ETIMEDOUT;
 * the second one also EINTR: a handler ran, or the thread is cancelled. */
int uns_c_take(struct uns_lock *lock, uint32_t site, int64_t timeout_ns);
int uns_c_take_or_hear(struct uns_lock *lock, uint32_t site, int64_t timeout_ns);
/* What is done to an object's fields is one operation of the program's: no handler comes between.
 */
void uns_c_enter(struct uns_c_object *object, uint32_t site);
void uns_c_exit(struct uns_c_object *object, uint32_t site);
void uns_c_wait_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site);
/* `hears`: returns EINTR if it was called back before anybody woke it. */
int uns_c_sleep_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site,
                   int64_t timeout_ns, int hears);
struct uns_c_waiter *uns_c_wake_first(struct uns_c_object *object, uint32_t site);

/* Time as the program sees it: the run's own (docs/adr/0005). */
int64_t uns_c_now(clockid_t clock);
int64_t uns_c_until(clockid_t clock, const struct timespec *when);
static inline int64_t uns_c_ns(const struct timespec *span) {
    return (int64_t)span->tv_sec * 1000000000 + span->tv_nsec;
}

/* Before a call on a file: waits until it would not block. -1 with errno if it must not be done. */
int uns_c_await_file(int fd, short events, int flags, uint32_t site);

/* From a call that was done outside of the gate, by its site (outside.c). */
void uns_c_come_back(uint32_t *site);

/* What C11 calls an outcome. */
int uns_c_thrd(int error);

/* A forked copy goes on with libc's own objects, in the state that the gate has kept. */
void uns_c_give_back(void);

/* Free runs: a lock operation that libc did. */
void uns_c_sync(const void *address, uint32_t site, enum uns_op op);
int uns_c_after_lock(int outcome, const void *address, uint32_t site);
/* ... that only recorded runs want. */
static inline void uns_c_recorded(const void *object, const void *pc, enum uns_op op) {
    if (UNS_UNLIKELY(uns_rt.recording) && uns_c_on())
        uns_c_sync(object, uns_c_caller(pc), op);
}

/* A call that returned an error is evidence (refusals.c): an error's number or -1 with errno; NULL
 * or -1 with errno; nothing in the time that it was given. The first one returns the outcome. */
int uns_c_returned_error(int outcome, const char *call, const void *pc);
void uns_c_note_refusal(const char *call, const void *pc);
void uns_c_note_timeout(const char *call, const void *pc);
#define UNS_C_RETURNED(name, outcome)                                                              \
    ({                                                                                             \
        int returned = (outcome);                                                                  \
        UNS_LIKELY(!returned) ? 0 : uns_c_returned_error(returned, #name, UNS_C_HERE);             \
    })

/* Functions that take, or give, a `lock`: under the gate as given, else libc's. */
#define UNS_C_LOCKS(name, gated, arguments, ...)                                                   \
    UNS_C_INTERCEPTOR int name arguments {                                                         \
        if (uns_c_gated())                                                                         \
            return UNS_C_RETURNED(name, gated);                                                    \
        int outcome = UNS_C_REAL(name)(__VA_ARGS__);                                               \
        return uns_c_on() ? uns_c_after_lock(outcome, (const void *)lock, UNS_C_CALLER())          \
                          : outcome;                                                               \
    }
#define UNS_C_UNLOCKS(name, gated, arguments)                                                      \
    UNS_C_INTERCEPTOR int name arguments {                                                         \
        if (uns_c_gated())                                                                         \
            return gated;                                                                          \
        if (uns_c_on())                                                                            \
            uns_c_sync((const void *)lock, UNS_C_CALLER(), UNS_RELEASE);                           \
        return UNS_C_REAL(name)(lock);                                                             \
    }

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

/* Blocks that were freed (freed.c). 1: it is not to be given back yet. */
int uns_c_watch_freed(void *start, uint64_t size, uint32_t site);
/* Does not return if the address is in such a block. */
void uns_c_check_freed(const volatile void *address, uint32_t site, const char *type,
                       const char *what);
void uns_c_note_heap_error(const char *type, const char *what, uint32_t site, uint32_t made,
                           uint32_t freed);

/* What a site touched last, for its name (names.c). */
void uns_c_remember(uint32_t site, const volatile void *address, uint64_t size);
void uns_c_remember_lock(uint32_t site, const void *address);
void uns_c_note_locations(void);
void uns_c_say(struct uns_array *note, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void uns_c_say_location(struct uns_array *note, uintptr_t address);

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
void uns_c_about_to_touch(const volatile void *address, uint64_t size);
void uns_c_note_captured(void);
extern uintptr_t uns_c_stop_at;
void uns_c_stop_here(void);
void uns_c_stop(uint32_t site);
void uns_c_stop_if_there(const struct uns_thread *t, uint32_t point);
void uns_c_note_status(int status);

/* values.c: of accesses in recorded runs, the latest one of each thread at its next event. */
void uns_c_take_value(struct uns_thread *t, uint32_t point, const volatile void *address,
                      uint64_t size);
void uns_c_settle_value(struct uns_thread *t);
void uns_c_know_value(uint64_t value);
void uns_c_know_both(uint64_t found, uint64_t left);
uintptr_t uns_c_peeks(uintptr_t pc);
uint64_t uns_c_cell(uintptr_t address);

void uns_c_accessed(uint32_t site, const volatile void *address, uint64_t size, int write);
/* ... of a block that is being freed: all of it is written. */
void uns_c_accessed_by_free(uint32_t site, const volatile void *address, uint64_t size);
extern struct uns_shadow uns_c_shadow; /* of a free run */
void uns_c_fresh(const void *address, uint64_t size);
void uns_c_slow_read(const volatile void *address, uint64_t size, const void *pc);
void uns_c_slow_write(const volatile void *address, uint64_t size, const void *pc);
/* An access of one word. What nearly every call does: one look at the thread's view, and back. */
static inline void uns_c_read(const volatile void *address, uint64_t size, const void *pc) {
    if (UNS_UNLIKELY(!uns_sees_read((uintptr_t)address)))
        uns_c_slow_read(address, size, pc);
}
static inline void uns_c_write(const volatile void *address, uint64_t size, const void *pc) {
    if (UNS_UNLIKELY(!uns_sees_write((uintptr_t)address)))
        uns_c_slow_write(address, size, pc);
}
void uns_c_report_deadlock(void) __attribute__((noreturn));
void uns_c_watch_threads(void);
void uns_c_watch_this_thread(void);
void uns_c_watch_signals(void);
void uns_c_hear(void); /* runs the handlers of signals that came while the thread was busy */
void uns_c_note_failure(const char *kind, const char *type, const char *message, const char *file,
                        unsigned line, const char *function);
void uns_c_note_signal(int number, uint32_t site);
void uns_c_note_exception(void); /* if one of C++ is why the program gives up */
extern int uns_c_beginning;      /* the runtime makes a thread of its own */
/* Handlers that ran in the last wait: of signals that restart system calls, or of others. */
enum { UNS_C_RESTARTS = 1, UNS_C_BREAKS_OFF = 2 };
extern __thread int uns_c_handled;
int uns_c_is_cancelled(void);
#pragma GCC visibility pop
#endif
