/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate's own state. One token: the thread that holds it runs, all others wait at the gate with
 * their pending operation known. Every field is guarded by the gate's mutex.
 */
#ifndef UNSNARL_GATE_H
#define UNSNARL_GATE_H
#include "runtime/internal.h"

#define UNS_GATE_THREADS 1024
#define UNS_PCT_POINTS   8
/* A sleeper may be woken before others that could run, as if they had been descheduled that long;
 * longer sleeps end only when nothing else can run (docs/adr/0005). */
#define UNS_EARLY_WAKE_NS 100000000ll
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
    uint32_t mutex;
    struct uns_thread *holder; /* NULL: nobody runs, the next to arrive decides */
    struct uns_thread *live[UNS_GATE_THREADS];
    uint32_t live_count;
    const struct uns_strategy *strategy;
    uint64_t random, steps;
    uint32_t segment_point, segment_occurrence; /* where the holder took up the token */
    int replaying;
    int told;       /* who is next is told by a schedule, or by the times of a sketch */
    int sketch;     /* one is followed: gate/sketch.c */
    uint32_t rules; /* how many; 0: nobody asks gate/rules.c */
};

extern struct uns_gate uns_gate;
extern const struct uns_strategy uns_strategy_walk, uns_strategy_pct, uns_strategy_pos,
    uns_strategy_surw, uns_strategy_replay, uns_strategy_sketch;

const struct uns_strategy *uns_strategy_named(const char *name);
void uns_gate_lock(void);
void uns_gate_unlock(void);
struct uns_thread *uns_gate_choose(struct uns_thread *current);
struct uns_thread *uns_gate_hand_over(struct uns_thread *from, struct uns_thread *to);
void uns_gate_wake(struct uns_thread *sleeper); /* NULL: nobody */
int uns_gate_anyone_outside(void);
int uns_gate_is_stuck(void); /* nobody can be chosen, and nothing will come from outside */
void uns_gate_close_segment(const struct uns_thread *t);
void uns_gate_close_schedule(void);
void uns_gate_count(struct uns_thread *t, uint32_t point);
struct uns_thread *uns_replay_wanted(void);
/* Which one of its point the pending operation is, as schedules say it. */
#define UNS_WITHIN_BITS 12u /* the so-many-th lock of one call, above: which call */
#define UNS_WITHIN      (1u << 31)
uint32_t uns_gate_occurrence(const struct uns_thread *t);
uint32_t uns_gate_within(const struct uns_thread *t, uint32_t point, uint32_t within);
/* Does its segment end where t is about to do this? */
int uns_replay_stops(const struct uns_thread *t, uint32_t point);
static inline uint64_t uns_gate_draw(uint64_t below) {
    return uns_random(&uns_gate.random) % below;
}
#endif
