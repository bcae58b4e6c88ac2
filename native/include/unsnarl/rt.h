/* SPDX-License-Identifier: Apache-2.0
 *
 * The C ABI of the runtime: what a probe may call. One runtime per process, whether events come
 * from Python, C or both.
 *
 * Ground rules: no Python here; no allocator and no locks on the event path of a free run; waiting
 * happens in gate/ and nowhere else; everything that a signal handler needs to write the run file
 * is in native memory.
 */
#ifndef UNSNARL_RT_H
#define UNSNARL_RT_H
#include <stdint.h>
#include "tracker/tracker.h"
#include "unsnarl/format.h"

#define UNS_FOREVER       INT64_MAX
#define UNS_NO_OWNER      UINT32_MAX
#define UNS_MAX_SITES     (1u << 28)
#define UNS_EXIT_DEADLOCK 96
#define UNS_EXIT_TIMEOUT  97
#define UNS_EXIT_REFUSED  98 /* a program that cannot do what its plan says */

/* What a thread is about to do: known to the gate before it is done. */
struct uns_pending {
    uint32_t point;
    uint32_t write;        /* data access: 1 if it writes */
    uint64_t cell;         /* data cell, or the lock's */
    struct uns_lock *lock; /* an acquire: enabled while the lock is free */
    int64_t deadline;      /* virtual ns: sleeps and timed acquires; else UNS_FOREVER */
    /* A call that would block in the kernel: enabled while it would not. Asked by any thread, with
     * the gate's mutex held. */
    int (*ready)(void *about);
    void *about;
    uint64_t stirred, ask_again; /* when it was asked last, when it will be again: see choose.c */
    int silent;                  /* a stop of a sketch: schedules do not know it */
    uint32_t within; /* > 0: the so-many-th lock of one call, where only some runs stop */
};

enum uns_state {
    UNS_RUNNING, /* holds the token, or the run is not gated */
    UNS_READY,   /* at the gate, its pending operation known */
    UNS_OUTSIDE, /* blocked where the gate cannot see, or not yet arrived */
    UNS_ENDED,
};
enum uns_grant { UNS_GO, UNS_TIMED_OUT, UNS_INTERRUPTED, UNS_DEADLOCKED };

/* A thread that waits can be called back (UNS_INTERRUPTED): a signal came, or it is cancelled. */
enum uns_call { UNS_NOT_CALLED, UNS_CALLED, UNS_CALL_HEARD };

struct uns_site_count {
    uint32_t count, head, remote;
};

/* A file that grows under its writer: see recorder/log.c. */
struct uns_stream {
    char *at, *end;  /* the next record, the end of what is mapped */
    char *chunk;     /* what is mapped, */
    uint64_t mapped; /* ... its bytes, */
    uint64_t size;   /* ... and those of the file */
    uint64_t dropped;
};

struct uns_thread {
    struct uns_tracked tracked; /* first: the hot path casts */
    struct uns_stream log, values, branches;
    uint64_t logged;         /* events, */
    uint64_t stamp;          /* ... the latest one's stamp */
    uint32_t log_core;       /* ... and core + 1, 0: there was none */
    uint64_t events;         /* events begun so far: the thread's own clock */
    uint32_t last_sync_site; /* of its latest lock operation */
    uint32_t within;         /* locks that it has taken in the same call since the first */
    uint32_t may_switch;     /* the interpreter could have switched since its last event */
    uint32_t last_site;      /* of its latest access */
    uint32_t muted;          /* our own code runs, or a probe is under way */
    uint32_t busy;           /* ... that holds a lock of ours: a signal's handler must wait */
    uint32_t signalled;      /* one does */
    uint32_t call_point;     /* of its latest call into a library, */
    uint64_t call_cell;      /* ... and the object */
    uint32_t index, parent, children, flags;
    int32_t os_id;
    struct uns_thread *next;       /* all threads of the run, newest first */
    struct uns_site_count *counts; /* by site, in gated runs */
    uint32_t *occurrences;         /* by place and class of operation, in gated runs */
    uint32_t head;                 /* site of its latest possible switch */
    struct uns_frames *frames;     /* of functions in C, where loops are told; else NULL */
    /* gate */
    _Alignas(64) uint32_t granted; /* futex word: grant + 1 once the token is ours */
    enum uns_state state;
    struct uns_pending pending;
    uint32_t held;           /* by a rule or a sketch: not to be chosen */
    struct uns_track *track; /* where it stands in a sketch that is followed, or NULL */
    enum uns_call called;
    uint64_t passes; /* bit per rule: may enter although a guard is held */
    uint64_t pos_priority;
    int64_t pct_priority;
    uint64_t surw_left, streak;
    char path[UNS_PATH_BYTES], name[UNS_NAME_BYTES];
};

/* A mutex that the gate knows. Free runs use the word as a futex. */
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
#define UNS_LOCK_IS_OBJECT 2u /* part of what a probe knows of a mutex or the like */

/* How a probe's language lets others run while a thread waits (Python: release the GIL). */
struct uns_hooks {
    void *(*park)(void);
    void (*unpark)(void *);
    /* Is the calling thread in code that owns the sites from low up to high, or called by it? */
    int (*inside)(uint32_t low, uint32_t high);
    /* The run is over: the last chance for notes. It may be in a signal handler. */
    void (*ending)(void);
    void (*adopted)(void); /* the calling thread was not known so far */
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
    void (*verdict)(void);
};

/* A probe that comes with a library, into a process whose runs another one begins. */
struct uns_guest {
    void (*begins)(void), (*ending)(void);
    int (*inside)(uint32_t low, uint32_t high);
};

/* A program or library with probes for C: which one, and what is its own of what all have. */
struct uns_module {
    uint8_t id[20]; /* the linker's build id */
    uint32_t first, sites;
    uint32_t offset; /* of its first byte, in the notes of where sites have been */
};

enum uns_plan_kind {
    UNS_PLAN_FREE,
    UNS_PLAN_NOISE,
    UNS_PLAN_RECORD, /* free, with logs instead of the tracker */
    UNS_PLAN_CONTROLLED,
    UNS_PLAN_REPLAY
};

/* Which events a sketch has: operations on locks and threads, and what the level is called. */
enum uns_level {
    UNS_LEVEL_NONE,
    UNS_LEVEL_SYNC,
    UNS_LEVEL_FUNC,
    UNS_LEVEL_LOOP,
    UNS_LEVEL_FUNCLOOP,
    UNS_LEVEL_BLOCK,
    UNS_LEVEL_ACCESS,
};
/* ... as bits, for probes. */
#define UNS_TELLS_FUNCTIONS 1u
#define UNS_TELLS_LOOPS     2u
#define UNS_TELLS_BLOCKS    4u
struct uns_sketch {
    enum uns_level level;
    int global;   /* numbered in one order (PRES); else stamped by each core's clock (ReCBuLC) */
    int fenced;   /* every stamp proves an order, not only those of locks and threads */
    int values;   /* of accesses */
    int branches; /* outcomes, where the probe can tell them */
    int noise;    /* threads are delayed now and then, at accesses */
};

struct uns_path_count {
    char path[UNS_PATH_BYTES];
    uint64_t count;
};
/* The thread of path runs until its event counter stands at `until`; or, with points, until its
 * pending operation is the occurrence-th one there (0: any). Anchored without points: to its end.
 */
struct uns_path_segment {
    char path[UNS_PATH_BYTES];
    uint64_t until;
    const uint32_t *points;
    uint32_t point, length, occurrence;
    int anchored;
};

/* Events that a rule speaks of: by whom (as seen from the rule's thread), where, which one. */
enum uns_who { UNS_ANY, UNS_SELF, UNS_OTHERS };
struct uns_match {
    const uint32_t *points; /* ascending */
    uint32_t length;        /* 0: no event */
    uint32_t occurrence;    /* a thread's n-th in the run, 0: each */
    enum uns_who who;
    char path[UNS_PATH_BYTES]; /* empty: any thread */
};

#define UNS_RULES_MOST 64
/* Constraints on the choices of a gated run. An event `when` of thread t makes an
 * instance for t, at most one at a time; without `when` there is one from the start, for nobody.
 * While it lives, a thread whose pending operation is a `hold` is not chosen. It ends with an event
 * `until`. */
struct uns_rule {
    struct uns_match when, hold, until;
    uint64_t limit; /* choices in which an instance may keep somebody back, 0: UNS_RULE_LIMIT */
    int once;       /* no second instance beside the first, none after one was satisfied */
    int32_t group;  /* >= 0: `when` is not done while another thread has an instance in the group */
    const uint32_t *guards; /* acquires; ... nor while another holds a lock that it took there */
    uint32_t guards_length;
    uint32_t leave_low, leave_high; /* ends when t is no longer in the code of these sites; 0: - */
};

/* Everything a run is told. Arrays must live as long as the run. */
struct uns_plan {
    enum uns_plan_kind kind;
    const char *strategy; /* "walk", "pct", "pos", "surw", "sketch" */
    uint64_t seed;
    int any_access; /* the free switching mode: every access may switch */
    uint32_t depth;
    uint64_t length;
    double time_limit; /* seconds, 0: none */
    int core;          /* pin gated threads to this core, -1: do not */
    int trace;
    int by_object;
    struct uns_sketch sketch; /* to record; in a gated run, events that the gate is told of */
    struct uns_tracker_options tracker;
    uint32_t site_limit;
    const uint8_t *switch_sites, *interest_sites; /* byte maps of site_limit entries, or NULL */
    const struct uns_path_count *counts;
    uint32_t counts_length;
    const struct uns_path_segment *segments;
    uint32_t segments_length;
    const struct uns_rule *rules;
    uint32_t rules_length;
    const uint32_t *capture; /* points whose values are wanted, for a probe that takes them */
    uint32_t capture_length;
    struct uns_match stop; /* where a debugger is to stop; its points are those of places */
    int debugged;
    const char *follows; /* a file with a sketch (gate/sketch.h) that a gated run keeps to */
    const char *file;    /* the run file to write */
};

struct uns_runtime {
    struct uns_tracker tracker;
    int active; /* a run is under way: probes deliver */
    int fast;   /* ... and nothing but the tracker listens: the fast paths may decide */
    int held;   /* events stop at the gate first: gated or noise */
    int gated;  /* a token is handed round */
    int noise;
    int recording; /* events are logged, and nothing else is done with them */
    int blind;     /* ... but accesses are of no interest */
    struct uns_sketch sketch;
    uint32_t tells; /* what its level has, UNS_TELLS_... */
    int tracing;    /* keep every event, not only the graph */
    int any_access;
    int by_object;      /* one cell per object, not per attribute or element */
    int fatal;          /* the signal that ends the process, */
    uintptr_t fatal_pc; /* ... and where it struck */
    int64_t expected;   /* real ns: till then a signal may still come */
    uint64_t stirred;   /* calls after which another may no longer block */
    int paused;         /* somebody is looking at the holder of the token: it is not stalled */
    uint64_t logical_time;
    int64_t clock_offset; /* virtual ns that waiting threads were spared */
    uint32_t site_limit;
    uint8_t *shared_sites;
    const uint8_t *switch_sites;
    struct uns_thread *threads;
    uint32_t thread_count, roots; /* roots: threads that were adopted */
    struct uns_hooks hooks;
    uint64_t counters[UNS_COUNTERS];
};

UNS_API extern struct uns_runtime uns_rt;
UNS_API extern __thread struct uns_thread *uns_self __attribute__((tls_model("initial-exec")));

/* runtime/ */
UNS_API int uns_run_begin(const struct uns_plan *plan, const struct uns_hooks *hooks);
UNS_API int uns_run_finish(void);
UNS_API void uns_run_abandon(void); /* a forked copy of the target: no run file, no gate */
UNS_API void uns_use_guest(const struct uns_guest *guest);
/* The modules that have sites, a program first. Kept, not copied. */
UNS_API void uns_use_modules(const struct uns_module *modules, uint32_t length);
UNS_API const struct uns_module *uns_modules(uint32_t *length);
UNS_API void uns_note(const char *text, uint32_t bytes);
/* From now on, thread comes after all that other has done: it was started by it, or joins it. */
UNS_API void uns_order(uint32_t thread, uint32_t other);
UNS_API struct uns_thread *uns_thread_new(struct uns_thread *parent, const char *name,
                                          uint32_t flags);
UNS_API void uns_thread_begin(struct uns_thread *t);
/* UNS_DEADLOCKED: those that are left wait for each other. */
UNS_API enum uns_grant uns_thread_end(struct uns_thread *t);
/* The thread could not be started after all. */
UNS_API void uns_thread_discard(struct uns_thread *t);
UNS_API struct uns_thread *uns_thread_adopt(void); /* one that started without our knowledge */
UNS_API struct uns_thread *uns_thread_by_index(uint32_t index);
UNS_API int64_t uns_clock_ns(void); /* monotonic + what waiting was spared */

/* recorder/: an event of a sketch. Recorded, or told to the gate. */
UNS_API void uns_sketch_event(struct uns_thread *t, uint32_t point);
UNS_API uint32_t uns_log_position(const struct uns_thread *t); /* events in its log so far */
UNS_API void uns_log_value(struct uns_thread *t, const struct uns_value_record *record);
/* An operation on a lock: which one is told where values are. */
UNS_API void uns_log_sync(struct uns_thread *t, uint32_t point, uint64_t cell);
UNS_API void uns_gate_noise(struct uns_thread *t); /* a delay, now and then */
UNS_API void uns_log_branch(struct uns_thread *t, int taken);

/* gate/ */
UNS_API enum uns_grant uns_gate_wait(struct uns_thread *t, const struct uns_pending *pending);
UNS_API void uns_gate_access(struct uns_thread *t, uint32_t point, uint64_t cell, int write,
                             int may_switch);
/* The thread is about to block where the gate cannot see, and is back (at a site). */
UNS_API void uns_gate_go_outside(struct uns_thread *t);
UNS_API enum uns_grant uns_gate_come_back(struct uns_thread *t, uint32_t site);
/* Waits until `ready` says so, or for so long; UNS_GO in either case. */
UNS_API enum uns_grant uns_gate_await(struct uns_thread *t, uint32_t site, int (*ready)(void *),
                                      void *about, int64_t timeout_ns);
/* Calls a thread back from whatever it waits for; one that does not wait, from what it waits for
 * next. */
UNS_API void uns_gate_call(struct uns_thread *t);
/* Which sites are one place, to the eye of a person: the first of them, by site. Kept, not copied.
 */
UNS_API void uns_use_places(const uint32_t *places, uint32_t length);
UNS_API uint32_t uns_placed(uint32_t point); /* the point of the first site of its place */
/* How often t has come to the place of a point, its pending operation counted. */
UNS_API uint32_t uns_occurrence(const struct uns_thread *t, uint32_t point);
/* Marks a second cell that the same operation touches; no switch point of its own. */
UNS_API void uns_gate_touch(struct uns_thread *t, uint32_t site, uint64_t cell);
/* ... and, in the trace of a run that follows a sketch, one that the latest operation touched. */
UNS_API void uns_gate_touched(struct uns_thread *t, uint64_t cell, int write);
UNS_API void uns_lock_made(struct uns_lock *lock, uint32_t flags);
/* `inside`: a library's own lock; one call of the target's is one switch point, not many. Or
 * UNS_STAYS: no switch point at all, as long as the lock is free. */
#define UNS_STAYS 2
UNS_API enum uns_grant uns_lock_acquire(struct uns_lock *lock, uint32_t site, int64_t timeout_ns,
                                        int inside);
UNS_API void uns_lock_release(struct uns_lock *lock, uint32_t site);
/* `real`: a library polls for something outside of the process, whose time is not ours. */
UNS_API enum uns_grant uns_sleep(uint32_t site, int64_t ns, int real);
UNS_API void uns_gate_deadlock_edges(void);
UNS_API uint32_t uns_gate_waits(struct uns_wait_record *out, uint32_t room);

static inline struct uns_thread *uns_current(void) {
    struct uns_thread *t = uns_self;
    return UNS_LIKELY(t != 0) ? t : uns_thread_adopt();
}

/* In between the thread may hold locks of the runtime's. */
static inline void uns_busy(void) {
    if (uns_self)
        uns_self->busy++;
}
static inline void uns_idle(void) {
    if (uns_self && !--uns_self->busy && UNS_UNLIKELY(uns_self->signalled))
        uns_rt.hooks.idle();
}

/* An access by the current thread, just before it is done. */
static inline void uns_access(uint32_t site, uint64_t cell, int write, int may_switch) {
    struct uns_thread *t = uns_current();
    uint32_t point = UNS_POINT(site, write ? UNS_WRITE : UNS_READ);
    if (UNS_UNLIKELY(uns_rt.held))
        uns_gate_access(t, point, cell, write, may_switch);
    if (write)
        uns_write(&uns_rt.tracker, &t->tracked, point, cell);
    else
        uns_read(&uns_rt.tracker, &t->tracked, point, cell);
}
#endif
