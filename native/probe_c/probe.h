/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe for C and C++: what the compiler's -fsanitize=thread calls, and the functions of libc
 * that threads wait in. It is linked into the program instead of libtsan; without a plan it does
 * nothing.
 */
#ifndef UNSNARL_PROBE_C_H
#define UNSNARL_PROBE_C_H
#include "runtime/internal.h"
#include "tracker/shadow.h"
#include <pthread.h>

/* A site is a return address inside the program, from its start, in units of 4 bytes: no two calls
 * are nearer to each other. */
#define UNS_C_UNIT 4
#pragma GCC visibility push(hidden)
/* modules.c: the same for shared libraries, each of which has its first site. 0: not listed. */
uint32_t uns_c_site_elsewhere(const void *pc);
uint32_t uns_c_offset_elsewhere(const volatile void *address);
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
#endif

/* Events of the calling thread count: a run is under way, and it is not past its end. */
static inline int uns_c_on(void) {
    return UNS_UNLIKELY(uns_rt.active) && !(uns_self && uns_self->muted);
}
static inline int uns_c_gated(void) {
    return uns_c_on() && uns_rt.gated;
}
/* Another thread may come before the next operation. Where the language has a lock of its own, only
 * while the calling thread does not hold it. */
static inline int uns_c_may_switch(void) {
    return uns_rt.any_access || !uns_rt.hooks.exclusive || !uns_rt.hooks.exclusive();
}
#define UNS_C_HERE   __builtin_return_address(0)
#define UNS_C_SITE() uns_c_site(UNS_C_HERE)

/* The next definition of a function: libc's. */
#define UNS_C_REAL(name)                                                                           \
    ({                                                                                             \
        static __typeof__(&name) real;                                                             \
        if (!real)                                                                                 \
            real = (__typeof__(&name))uns_c_next(#name);                                           \
        real;                                                                                      \
    })
void *uns_c_next(const char *name);
int uns_c_inside(uint32_t low, uint32_t high);
void uns_c_note_end(void);

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

/* Gated: take and give a lock for the code at a site; does not return from a deadlock. */
int uns_c_take(struct uns_lock *lock, uint32_t site, int64_t timeout_ns);
void uns_c_wait_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site);
int uns_c_sleep_in(struct uns_c_object *object, struct uns_c_waiter *me, uint32_t site,
                   int64_t timeout_ns);
struct uns_c_waiter *uns_c_wake_first(struct uns_c_object *object, uint32_t site);
int64_t uns_c_until(clockid_t clock, const struct timespec *when);

/* Free runs: a lock operation that libc did. */
void uns_c_sync(const void *address, uint32_t site, enum uns_op op);

/* What a site touched last, for its name (names.c). */
void uns_c_remember(uint32_t site, const volatile void *address);
void uns_c_note_addresses(void);

void uns_c_accessed(uint32_t site, const volatile void *address, uint64_t size, int write);
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
void uns_c_verdict(void) __attribute__((noreturn));
void uns_c_watch_threads(void);
void uns_c_note_failure(const char *kind, const char *type, const char *message, const char *file,
                        unsigned line, const char *function);
void uns_c_note_signal(int number, uint32_t site);
extern int uns_c_beginning; /* the runtime makes a thread of its own */
#pragma GCC visibility pop
#endif
