/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate's own state. One token: the thread that holds it runs, all others wait at the gate, each
 * with its pending operation.
 *
 * One exception to what struct uns_gate says about guarding: the end of a run (a deadlock, a crash,
 * the time limit) is described without the mutex, whose owner may never give it back.
 */
#ifndef UNSNARL_GATE_STATE_H
#define UNSNARL_GATE_STATE_H
#include "gate/gate.h"

#define UNS_PCT_POINTS 8
#define UNS_CLASSES    4u /* of operations: read, write, call, all on locks and threads */
/* A sleeper may be woken before others that could run, as if they had been descheduled that long;
 * longer sleeps end only when nothing else can run (docs/adr/0005). */
#define UNS_EARLY_WAKE_NS 100000000ll
/* The time limit of a wait runs out while others could run only if it is about as long as ordinary
 * scheduling keeps a thread off its core: some turns of the interpreter's lock (5 ms each), or of
 * the kernel. */
#define UNS_SHORT_LIMIT_NS 20000000ll
/* All that ends early until nobody can run any more, together: a loop that polls must not reach a
 * time limit of seconds while others work. */
#define UNS_STRETCH_NS 500000000ll
/* One thread that keeps the token this long while others could run is spinning on something. */
#define UNS_STREAK_LIMIT 20000

struct uns_strategy {
    const char *name;
    void (*begin)(const struct uns_plan *plan);
    void (*enter)(struct uns_thread *t); /* a thread was made */
    struct uns_thread *(*pick)(struct uns_thread **enabled, uint32_t count,
                               struct uns_thread *current);
    void (*did)(struct uns_thread *t); /* its pending operation is about to be done */
};

struct uns_gate {
    uint32_t mutex; /* a futex word */

    /* Set when a run begins and constant from then on: read by anybody. */
    const struct uns_strategy *strategy;
    int replaying;
    int follows;       /* who is next is given by a schedule, or by the times of a sketch */
    int sketch;        /* one is followed: gate/sketch.c */
    uint32_t rules;    /* how many; 0: nobody asks gate/rules.c */
    int64_t cpu_begin; /* of the process, in ns */

    /* Written with the mutex held, read by the stall watch without: atomic. */
    struct uns_thread *holder; /* NULL: nobody runs, the next to arrive decides */
    uint64_t arrivals;         /* how often a thread came to the gate */

    int late; /* atomic: half of the run's time is over, see gate/fair.c */

    /* Guarded by the mutex. */
    int fair;        /* choices are, from now on */
    uint64_t random; /* in noise and recorded runs, which have no gate: constant */
    struct uns_thread *live[UNS_GATE_THREADS];
    uint32_t live_count;
    uint32_t segment_point, segment_occurrence; /* where the holder took up the token */
    uint32_t begins;   /* set by the holder: who is waited for in start() (index + 1), or 0 */
    int busy;          /* others than the thread that was chosen last could have run */
    int64_t stretched; /* virtual ns that passed while some could, since none could */
    /* Real ns that passed for child processes; the arrivals when it was last looked at, and when.
     */
    int64_t for_children, children_since;
    uint64_t children_at;
    /* Real ns in which somebody held the token, without the holder's; since when it does. Written
     * with the mutex held, read by whoever is about to wait: atomic. */
    int64_t computed, computes_since;
};

extern struct uns_gate uns_gate;
extern const struct uns_strategy uns_strategy_walk, uns_strategy_pct, uns_strategy_pos,
    uns_strategy_serial, uns_strategy_rff, uns_strategy_surw, uns_strategy_replay,
    uns_strategy_sketch;

const struct uns_strategy *uns_strategy_named(const char *name);
void uns_gate_lock(void);
void uns_gate_unlock(void);
enum uns_grant uns_gate_wait(struct uns_thread *t, const struct uns_pending *pending);
int uns_gate_anyone_outside(void);   /* so that it is no deadlock if nobody can go on */
int uns_gate_time_is_real(void);     /* what somebody waits for will come from outside, if at all */
int uns_gate_anybody_has_time(void); /* waits until then, at most */
int uns_gate_is_stuck(void);         /* nobody can be chosen, and nothing will come from outside */
void uns_waits_begin(void);
/* When the program's alarm rings, or UNS_FOREVER. Mutex held: it rings now; somebody waits for a
 * time that comes later, or nobody waits for any. */
int64_t uns_alarm_due(void);
void uns_alarm_ring(int somebody_has_time);
uint32_t uns_all_wait(void); /* in a recorded run: how many threads there are if all wait, or 0 */

/* The time by which waits end: virtual, and the same however fast the machine computes. */
int64_t uns_gate_now(void);

/* The mutex is held: */
struct uns_thread *uns_gate_choose(struct uns_thread *current);
struct uns_thread *uns_gate_hand_over(struct uns_thread *from, struct uns_thread *to);
struct uns_thread *uns_replay_wanted(void);
int uns_replay_goes_on(const struct uns_thread *t);
int uns_replay_is_over(void); /* the run has left its schedule, or has come to its end */
void uns_gate_note_standstill(const struct uns_thread *ran_out);
void uns_gate_wake(struct uns_thread *sleeper); /* it is not: NULL: nobody */
void uns_count_wait(struct uns_thread *t);      /* it is about to wait, perhaps with locks */

/* Which one of its point the pending operation is, as schedules count it. */
#define UNS_WITHIN_BITS 12u /* the so-many-th lock of one call, above: which call */
#define UNS_WITHIN      (1u << 31)
uint32_t uns_gate_occurrence(const struct uns_thread *t);
uint32_t uns_gate_within(const struct uns_thread *t, uint32_t point, uint32_t within);
void uns_gate_count(struct uns_thread *t, uint32_t point);
/* Does its segment end where t is about to do this? */
int uns_replay_stops(const struct uns_thread *t, uint32_t point);
/* One more event of the thread at a site, which is below the limit. */
static inline void uns_count_site(struct uns_thread *t, uint32_t site) {
    t->counts[site].count++;
    t->counts[site].head = t->head;
    t->counted[site / UNS_COUNTED_SITES] = 1;
}

static inline uint64_t uns_gate_draw(uint64_t below) {
    return uns_random(&uns_gate.random) % below;
}
#endif
