/* SPDX-License-Identifier: Apache-2.0
 *
 * The runtime's own state: what the gate, the recorder and the probes of this repository see of a
 * run and its threads, beyond what rt.h offers to everybody.
 */
#ifndef UNSNARL_RUNTIME_H
#define UNSNARL_RUNTIME_H
#include "tracker/tracker.h"
#include "unsnarl/rt.h"

/* What a thread is about to do: the gate sees it before it is done. */
struct uns_pending {
    uint32_t point;
    uint32_t write;        /* data access: 1 if it writes */
    uint64_t cell;         /* data cell, or the lock's */
    struct uns_lock *lock; /* an acquire: enabled while the lock is free */
    int64_t deadline;      /* virtual ns: sleeps and timed acquires; else UNS_FOREVER */
    int64_t limit;         /* ... how long that is */
    int timer;             /* ... and it is a sleep: the period of a loop, an event loop's timer */
    /* A call that would block in the kernel: enabled while it would not. Asked by any thread, with
     * the gate's mutex held. With a lock: whether that is free all the same. */
    int (*ready)(void *about);
    void *about;
    int own; /* ... only threads of this run can end that: both ends are the process's */
    uint64_t stirred, ask_at; /* when it was asked last, when it will be next: see choose.c */
    int silent;               /* a stop of a sketch: schedules do not have it */
    uint32_t within;          /* > 0: the so-many-th lock of one call, where only some runs stop */
};

enum uns_state {
    UNS_RUNNING, /* holds the token, or the run is not gated */
    UNS_READY,   /* at the gate, with its pending operation */
    UNS_OUTSIDE, /* blocked where the gate cannot see, or not yet arrived */
    UNS_ENDED,
};

/* A thread that waits can be called back (UNS_INTERRUPTED): a signal came, or it is cancelled. */
enum uns_call { UNS_NOT_CALLED, UNS_CALLED, UNS_CALL_HEARD };

#define UNS_HELD_BY_RULE   1u
#define UNS_HELD_BY_SKETCH 2u

struct uns_site_count {
    uint32_t count, head, remote;
};
#define UNS_COUNTED_SITES 256u

/* A file that grows under its writer: see recorder/log.c. */
struct uns_stream {
    char *at, *end;  /* the next record, the end of what is mapped */
    char *chunk;     /* what is mapped, */
    uint64_t mapped; /* ... its bytes, */
    uint64_t size;   /* ... and those of the file */
    uint64_t dropped;
};

/* The reads that a thread repeats: see gate/polling.c. */
struct uns_poll {
    uint64_t cell, writes; /* of the first read of a turn, writes of anybody before it */
    uint32_t point, reads, turns;
};

/* What one strategy keeps of a thread. */
struct uns_drawn {
    uint64_t pos_priority;
    int64_t pct_priority;
    uint32_t pct_slept;  /* where it slept last */
    uint32_t pct_streak; /* how long its next streak may be, 0: as any */
    uint64_t surw_left;
};

/* Written by the thread itself, except for the fields from `granted` on: these are guarded by the
 * gate's mutex, but for the three that are atomic. */
struct uns_thread {
    struct uns_tracked tracked; /* first: the hot path casts */
    struct uns_stream log, values, branches;
    uint64_t logged;         /* events, */
    uint64_t stamp;          /* ... the latest one's stamp */
    uint32_t log_core;       /* ... and core + 1, 0: there was none */
    uint64_t events;         /* atomic: events begun so far, the thread's own clock */
    uint32_t last_sync_site; /* of its latest lock operation */
    uint32_t within;         /* locks that it has taken in the same call since the first */
    int timer;               /* the time limit of the wait that it begins is a sleep */
    uint32_t may_switch;     /* the interpreter could have switched since its last event */
    uint32_t last_site;      /* of its latest access */
    uint32_t muted;          /* our own code runs, or a probe is under way */
    uint32_t failed;         /* it has: what it does from now on is no evidence */
    uint32_t busy;           /* ... that holds a lock of ours: a signal's handler must wait */
    uint32_t signalled;      /* atomic: one does */
    uint32_t step_site;      /* of its latest call that is one step, until that takes a lock */
    uint32_t call_point;     /* of its latest call into a library, */
    uint64_t call_cell;      /* ... and the object */
    uint32_t index, parent, children, flags;
    uint32_t kind;                 /* equal threads have the same, 0: like no other */
    int32_t os_id;                 /* atomic */
    struct uns_thread *next;       /* all threads of the run, newest first */
    struct uns_site_count *counts; /* by site, in gated runs */
    uint8_t *counted;              /* by UNS_COUNTED_SITES sites: whether some were counted */
    uint32_t *occurrences;         /* by first site and class of operation, in gated runs */
    uint32_t head;                 /* site of its latest possible switch */
    struct uns_poll poll;          /* in gated runs */
    struct uns_frames *frames;     /* of functions in C, where loops are recorded; else NULL */
    /* gate */
    _Alignas(64) uint32_t granted; /* atomic, a futex word: grant + 1 once the token is ours */
    enum uns_state state;          /* in a recorded run atomic, and its owner's */
    struct uns_pending pending;
    uint32_t held;           /* not to be chosen, UNS_HELD_BY_... */
    struct uns_track *track; /* where it stands in a sketch that is followed, or NULL */
    enum uns_call called;
    uint64_t passes;   /* bit per rule: may enter although a guard is held */
    uint64_t streak;   /* choices in a row that fell on it */
    uint32_t slept_at; /* where it slept last while a rule kept somebody back */
    uint32_t early_at; /* where its time came last while others could run */
    uint32_t guards;   /* locks that it holds, without signals; others may release one of them */
    uint32_t starting; /* it has started this thread (index + 1), and waits for it next */
    struct uns_drawn drawn;
    char path[UNS_PATH_BYTES], name[UNS_NAME_BYTES];
};

/* Which events of a sketch probes report, as bits. */
#define UNS_REPORTS_FUNCTIONS 1u
#define UNS_REPORTS_LOOPS     2u
#define UNS_REPORTS_BLOCKS    4u

struct uns_runtime {
    struct uns_tracker tracker;
    int active; /* atomic: a run is under way, probes deliver */
    int fast;   /* ... and nothing but the tracker listens: the fast paths may decide */
    int held;   /* events stop at the gate first: gated or noise */
    int gated;  /* a token is handed round */
    int noise;
    int recording; /* events are logged, and nothing else is done with them */
    int blind;     /* ... but accesses are of no interest */
    int tracks;    /* the tracker is given what happens: it is not only logged */
    struct uns_sketch sketch;
    uint32_t reports; /* what its level has, UNS_REPORTS_... */
    int tracing;      /* keep every event, not only the graph */
    int any_access;
    int by_object;      /* one cell per object, not per attribute or element */
    int fatal;          /* the signal that ends the process, */
    uintptr_t fatal_pc; /* ... and where it struck */
    int64_t expected;   /* real ns: till then a signal may still come */
    uint64_t stirred;   /* calls after which another may no longer block */
    int paused;         /* atomic: somebody is looking at the token's holder, it is not stalled */
    uint64_t logical_time; /* atomic */
    int64_t clock_offset;  /* atomic: virtual ns that waiting threads were spared */
    uint32_t site_limit;
    uint8_t *shared_sites;
    const uint8_t *switch_sites;
    struct uns_thread *threads;   /* atomic: threads are added at its head, and none is removed */
    uint32_t thread_count, roots; /* roots: threads that were adopted */
    struct uns_hooks hooks;
    uint64_t counters[UNS_COUNTERS];
};

UNS_API extern struct uns_runtime uns_rt;
UNS_API extern __thread struct uns_thread *uns_self __attribute__((tls_model("initial-exec")));

static inline struct uns_thread *uns_current(void) {
    struct uns_thread *t = uns_self;
    return UNS_LIKELY(t != 0) ? t : uns_thread_adopt();
}

/* Do its waits belong to the gate? Those of our own code do not. One that has failed is muted, too,
 * but what it waits for in its clean-up takes turns with the others as before: else how the rest of
 * the run goes would be a matter of the machine. */
static inline int uns_waits_gated(const struct uns_thread *t) {
    return uns_rt.gated && t->muted == t->failed;
}
/* The newest thread; the others follow by `next`. */
static inline struct uns_thread *uns_threads(void) {
    return __atomic_load_n(&uns_rt.threads, __ATOMIC_ACQUIRE);
}
/* By anybody: the gate and its watch ask at any time. */
static inline uint64_t uns_events_of(const struct uns_thread *t) {
    return __atomic_load_n(&t->events, __ATOMIC_RELAXED);
}
/* By the thread itself. */
static inline void uns_count_event(struct uns_thread *t) {
    __atomic_store_n(&t->events, t->events + 1, __ATOMIC_RELAXED);
}

/* bursts.c: a watched program is one long run whose probes are off but for bursts; each of them
 * leaves a run file. Who calls keeps all probes out meanwhile: by holding the interpreter's lock.
 */
UNS_API void uns_burst_begin(const char *file); /* all that was seen before is forgotten */
UNS_API void uns_burst_off(void);
UNS_API int uns_burst_write(void);   /* when it is off: probes need not be kept out */
UNS_API void uns_burst_forked(void); /* in a copy of the process, by its only thread */

/* modules.c */
void uns_guest_begins(void);
void uns_guest_ends(void);
int uns_inside(uint32_t low, uint32_t high);

UNS_API int uns_watches_signal(int number); /* a crash by it must still leave its run file */
UNS_API void uns_watch_signal(int number);
UNS_API int uns_excuse(void *context); /* a fault of the probe's own: it goes on behind it */

uint64_t uns_random(uint64_t *state);
UNS_API int64_t uns_real_ns(void);
#endif
