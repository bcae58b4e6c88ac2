/* SPDX-License-Identifier: Apache-2.0
 *
 * The C ABI of the runtime: what a probe may call. One runtime per process, whether events come
 * from Python, C or both. Threads are opaque here; the probes of this repository are built with
 * the runtime, see its state (native/runtime/runtime.h) and so have their fast paths inline.
 *
 * What always holds: no Python here; no allocator and no locks on the event path of a free run;
 * waiting happens in gate/ and nowhere else; everything that a signal handler needs to write the
 * run file is in native memory.
 */
#ifndef UNSNARL_RT_H
#define UNSNARL_RT_H
#include <stdint.h>
#include "unsnarl/format.h"
#include "unsnarl/plan.h"

#ifndef UNS_API /* where the runtime is part of a program, its names stay hidden */
#define UNS_API __attribute__((visibility("default")))
#endif

#define UNS_FOREVER   INT64_MAX
#define UNS_NO_OWNER  UINT32_MAX
#define UNS_MAX_SITES (1u << 28)

enum uns_exit_status {
#define UNS_EXIT_STATUS(name, number) UNS_EXIT_##name = number,
#include "unsnarl/exit_status.def"
};

struct uns_thread;

/* How a wait ended. */
enum uns_grant { UNS_GO, UNS_TIMED_OUT, UNS_INTERRUPTED, UNS_DEADLOCKED };

/* A mutex under the gate's control. Free runs use the word as a futex. */
struct uns_lock {
    uint32_t word;  /* 0 free, 1 held, 2 held and waited for */
    uint32_t owner; /* thread index, UNS_NO_OWNER */
    uint32_t flags;
    uint32_t taken; /* point of the latest acquire */
    uint64_t taken_time;
    uint32_t ended;  /* of a thread's lock: index of the thread that ended + 1 */
    uint32_t signal; /* its owner waits for it: another's release is a message, as in Condition */
};
#define UNS_LOCK_IS_THREAD 1u /* released when a thread ends: operations read END and JOIN */
#define UNS_LOCK_IS_OBJECT 2u /* part of what a probe keeps of a mutex or the like */
#define UNS_LOCK_IS_SIGNAL 4u /* taken by who waits, released by another: it guards nothing */

/* How a probe's language lets others run while a thread waits (Python: release the GIL). */
struct uns_hooks {
    void *(*park)(void);
    void (*unpark)(void *);
    /* Is the calling thread in code that owns the sites from low up to high, or called by it? */
    int (*inside)(uint32_t low, uint32_t high);
    /* The run is over: the last chance for notes. It may be in a signal handler. */
    void (*ending)(void);
    void (*adopted)(void); /* the calling thread has just become a thread of the run */
    void (*idle)(void);    /* it is no longer busy, and was signalled meanwhile */
    /* Gated runs: t has the token and is about to do this. An acquire may have to wait first. */
    void (*about)(struct uns_thread *t, uint32_t point);
    /* ... t has taken this lock, or is about to let it go. */
    void (*locked)(struct uns_thread *t, const struct uns_lock *lock, int acquired);
    /* Does the calling thread hold the language's own lock, so that no other can run its code? */
    int (*exclusive)(void);
    /* A fault at this instruction is the probe's own: where to go on; 0: it is not. */
    uintptr_t (*excuses)(uintptr_t pc);
    /* The calling thread found a deadlock; does not return. */
    void (*deadlock)(void);
    /* Is something that the run sent to itself still on its way through the kernel? */
    int (*in_flight)(void);
    int (*children)(void); /* Are there child processes that run? */
};

/* A probe that comes with a library, into a process whose runs another one begins. */
struct uns_guest {
    void (*begins)(void), (*ending)(void);
    int (*inside)(uint32_t low, uint32_t high);
};

/* A program or library with probes for C: which one, and its share of all sites. */
struct uns_module {
    uint8_t id[20]; /* the linker's build id */
    uint32_t first, sites;
    uint32_t offset; /* of its first byte, in the notes of where sites have been */
};

/* A cell's key says where it lies, so that what is used together can lie together:
 *
 *    63                      25 24            8 7        0
 *   +--------------------------+---------------+----------+
 *   |          hash            |     index     |   hash   |
 *   +--------------------------+---------------+----------+
 */
#define UNS_CELL_BITS  17
#define UNS_CELL_MASK  ((1ull << UNS_CELL_BITS) - 1)
#define UNS_INDEX_BITS (UNS_CELL_MASK << 8)
static inline uint64_t uns_cell_key(uint64_t hash, uint64_t index) {
    return (hash & ~UNS_INDEX_BITS) | (index & UNS_CELL_MASK) << 8 | 1;
}

/* A run. */
UNS_API int uns_run_begin(const struct uns_plan *plan, const struct uns_hooks *hooks);
UNS_API int uns_run_is_active(void); /* probes deliver events only while it is */
UNS_API int uns_run_finish(void);
UNS_API void uns_run_abandon(void); /* a forked copy of the target: no run file, no gate */
UNS_API void uns_use_guest(const struct uns_guest *guest);
/* The modules that have sites, a program first. The caller keeps the array alive. */
UNS_API void uns_use_modules(const struct uns_module *modules, uint32_t length);
UNS_API const struct uns_module *uns_modules(uint32_t *length);
UNS_API void uns_note(const char *text, uint32_t bytes);
UNS_API int64_t uns_clock_ns(void); /* monotonic + what waiting was spared */

/* Threads. */
UNS_API struct uns_thread *uns_thread_new(struct uns_thread *parent, const char *name,
                                          uint32_t flags);
/* Threads of one kind are equal: the same code starts them to run the same function. Set by the
 * starter, before the thread begins. */
UNS_API void uns_thread_is_of(struct uns_thread *t, uint64_t function, uint32_t site);
UNS_API void uns_thread_begin(struct uns_thread *t);
/* UNS_DEADLOCKED: those that are left wait for each other. */
UNS_API enum uns_grant uns_thread_end(struct uns_thread *t);
/* The thread could not be started after all. */
UNS_API void uns_thread_discard(struct uns_thread *t);
UNS_API struct uns_thread *uns_thread_adopt(void);   /* the caller, started without a probe */
UNS_API struct uns_thread *uns_thread_current(void); /* the caller, adopted if need be */
UNS_API struct uns_thread *uns_thread_by_index(uint32_t index);
UNS_API const char *uns_thread_path(const struct uns_thread *t);
/* From now on, thread comes after all that other has done: it was started by it, or joins it. */
UNS_API void uns_order(uint32_t thread, uint32_t other);

/* An access by the calling thread, just before it is done. */
UNS_API void uns_access(uint32_t site, uint64_t cell, int write, int may_switch);

/* Events of sketches and logs. A gated run that follows a sketch stops there, a recorded one
 * writes them down. */
UNS_API void uns_sketch_event(struct uns_thread *t, uint32_t point);
UNS_API uint32_t uns_log_position(const struct uns_thread *t); /* events in its log so far */
UNS_API void uns_log_value(struct uns_thread *t, const struct uns_value_record *record);
/* An operation on a lock. Which one is recorded along with values only. */
UNS_API void uns_log_sync(struct uns_thread *t, uint32_t point, uint64_t cell);
UNS_API void uns_log_branch(struct uns_thread *t, int taken);

/* Locks and sleeps. */
UNS_API void uns_lock_made(struct uns_lock *lock, uint32_t flags);
/* `inside`: a library's own lock; one call of the target's is one switch point, not many. Or
 * UNS_STAYS: no switch point at all, as long as the lock is free. */
#define UNS_STAYS 2
UNS_API enum uns_grant uns_lock_acquire(struct uns_lock *lock, uint32_t site, int64_t timeout_ns,
                                        int inside);
/* ... which stands for a lock of the kernel's: that may be free although nobody has released this
 * one. `ready` asks. */
UNS_API enum uns_grant uns_lock_acquire_asking(struct uns_lock *lock, uint32_t site, int inside,
                                               int (*ready)(void *), void *about);
UNS_API void uns_lock_release(struct uns_lock *lock, uint32_t site);
UNS_API void uns_lock_lost(struct uns_lock *lock); /* it is free, whoever was said to hold it */
/* `real`: a library polls for something outside of the process, whose time is not ours. */
UNS_API enum uns_grant uns_sleep(uint32_t site, int64_t ns, int real);

/* Waits that are not for a lock. The thread is about to block where the gate cannot see, and is
 * back (at a site). */
UNS_API void uns_gate_go_outside(struct uns_thread *t);
UNS_API enum uns_grant uns_gate_come_back(struct uns_thread *t, uint32_t site);
/* Waits until `ready` says so, or for so long; UNS_GO in either case. */
UNS_API enum uns_grant uns_gate_await(struct uns_thread *t, uint32_t site, int (*ready)(void *),
                                      void *about, int64_t timeout_ns);
/* ... for what only threads of this run can bring about: time need not be real meanwhile. */
UNS_API enum uns_grant uns_gate_await_own(struct uns_thread *t, uint32_t site, int (*ready)(void *),
                                          void *about, int64_t timeout_ns);
/* ... of an event loop, which waits no longer than until its next timer (`own`: as above). */
UNS_API enum uns_grant uns_gate_await_timer(struct uns_thread *t, uint32_t site,
                                            int (*ready)(void *), void *about, int own,
                                            int64_t timeout_ns);
/* The process is about to end: threads that nobody has joined may run before. */
UNS_API void uns_gate_linger(void);
/* Calls a thread back from whatever it waits for; one that does not wait, from its next wait. */
UNS_API void uns_gate_call(struct uns_thread *t);
UNS_API void uns_gate_deadlock_edges(void);
UNS_API uint32_t uns_gate_waits(struct uns_wait_record *out, uint32_t room);

/* Compilers make several sites of one operation in the source. By site, the first of those that
 * are the same to a reader of the source; the caller keeps the table alive. UNS_HEADER_SITE: code
 * of a system header, or not listed; the line that called it is what a reader looks for. */
#define UNS_HEADER_SITE UINT32_MAX
UNS_API void uns_use_first_sites(const uint32_t *first_sites, uint32_t length);
UNS_API const uint32_t *uns_first_sites(uint32_t *length);
UNS_API uint32_t uns_first_point(uint32_t point); /* the same operation at the first of its sites */
/* How often t has come to a point or to one with the same first site, its pending operation
 * counted. */
UNS_API uint32_t uns_occurrence(const struct uns_thread *t, uint32_t point);
#endif
