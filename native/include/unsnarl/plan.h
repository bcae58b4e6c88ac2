/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan: everything one run is asked to do. Plain data, without functions; arrays and texts must
 * live as long as the run.
 */
#ifndef UNSNARL_PLAN_H
#define UNSNARL_PLAN_H
#include <stdint.h>
#include "unsnarl/format.h"

enum uns_plan_kind {
    UNS_PLAN_FREE,
    UNS_PLAN_NOISE,
    UNS_PLAN_RECORD, /* free, with logs instead of the tracker */
    UNS_PLAN_CONTROLLED,
    UNS_PLAN_REPLAY
};

/* Which events a sketch has: operations on locks and threads, and those that name the level. */
enum uns_level {
    UNS_LEVEL_NONE,
    UNS_LEVEL_SYNC,
    UNS_LEVEL_FUNC,
    UNS_LEVEL_LOOP,
    UNS_LEVEL_FUNCLOOP,
    UNS_LEVEL_BLOCK,
    UNS_LEVEL_ACCESS,
};
struct uns_sketch {
    enum uns_level level;
    int global;   /* numbered in one order (PRES); else stamped by each core's clock (ReCBuLC) */
    int fenced;   /* every stamp proves an order, not only those of locks and threads */
    int values;   /* of accesses */
    int branches; /* outcomes, where the probe sees them */
    int noise;    /* threads are delayed now and then, at accesses */
};

/* Recon 5.4.1's first-write rule as worded ("paper") loses every later pair of one writer and one
 * reader; "shared" skips only while nobody else has read since, at the same cost. */
enum uns_first_write { UNS_FIRST_WRITE_OFF, UNS_FIRST_WRITE_PAPER, UNS_FIRST_WRITE_SHARED };
#define UNS_CONTEXT_MAX    5 /* Bugaboo 6.4: longer ones find no more, and graphs grow */
#define UNS_WINDOW_MAX     64
#define UNS_WINDOW_DEFAULT 5 /* Falcon 4.3: larger ones find little more */
struct uns_tracker_options {
    unsigned context_size;
    int first_read, racy_lookup;
    int anti_edges;       /* write-after-read too: beyond the paper (docs/adr/0007) */
    int own_reads;        /* ... also from reads of what the thread wrote itself: no fast path */
    unsigned window_size; /* slots of Falcon's windows, 0: none */
    enum uns_first_write first_write;
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

/* The events that a rule is about: by whom (seen from the rule's thread), where, which one. Threads
 * that the same code starts to run the same function are equal: with `equal` the path stands for
 * all of them, and with a role for the one that first came to an event of it. */
enum uns_who { UNS_ANY, UNS_SELF, UNS_OTHERS };
#define UNS_ROLES_MOST 16
struct uns_match {
    const uint32_t *points; /* ascending */
    uint32_t length;        /* 0: no event */
    uint32_t occurrence;    /* a thread's n-th in the run, 0: each */
    enum uns_who who;
    char path[UNS_PATH_BYTES]; /* empty: any thread */
    uint32_t equal;            /* ... of this path, or one that is equal to it */
    uint32_t role;             /* ... and has this role, 1 to UNS_ROLES_MOST; 0: any of them */
};

#define UNS_RULES_MOST 64
/* Constraints on the choices of a gated run. An event `when` of thread t makes an
 * instance for t, at most one at a time; without `when` there is one from the start, for nobody.
 * While it lives, a thread whose pending operation is a `hold` is not chosen. It ends with an event
 * `until`. */
struct uns_rule {
    struct uns_match when, hold, until;
    /* Choices in which it may hold threads back, 0: UNS_RULE_LIMIT for each instance. */
    uint64_t limit;
    int once;      /* no second instance while there is one, none after one was satisfied */
    int32_t group; /* >= 0: `when` is not done while another thread has an instance in the group */
    const uint32_t *guards; /* acquires; ... nor while another holds a lock that it took there */
    uint32_t guards_length;
    uint32_t leave_low, leave_high; /* ends when t is no longer in the code of these sites; 0: - */
};

struct uns_plan {
    enum uns_plan_kind kind;
    const char *strategy; /* "walk", "pct", "pos", "rff", "surw", "serial", "sketch" */
    uint64_t seed;
    int any_access; /* the free switching mode: every access may switch */
    uint32_t depth;
    uint64_t length;
    double time_limit; /* seconds, 0: none */
    int core;          /* pin gated threads to this core, -1: do not */
    int trace;
    int accesses;    /* the tracker's events are written down, every one, in one order */
    int heap_errors; /* of C: to use a freed block is a failure */
    int by_object;
    struct uns_sketch sketch; /* to record; in a gated run, events that also stop at the gate */
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
    struct uns_match stop; /* where a debugger is to stop; its points are of first sites */
    int debugged;
    const char *follows; /* a file with a sketch (gate/sketch.h) that a gated run follows */
    const char *file;    /* the run file to write */
};
#endif
