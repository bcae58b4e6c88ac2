/* SPDX-License-Identifier: Apache-2.0
 *
 * The second half of a run that may be called a hang: a fair scheduler, and nothing of ours that
 * keeps threads back.
 */
#ifndef UNSNARL_FAIR_H
#define UNSNARL_FAIR_H
#include "gate/state.h"

/* By the watch: half of the run's time is over. */
void uns_fair_call(void);
/* Has it been called? Then every access is a switch point. Without the mutex. */
static inline int uns_fair_is_called(void) {
    return __atomic_load_n(&uns_gate.late, __ATOMIC_RELAXED);
}

/* The gate's mutex is held: */
/* Before a choice: is it a fair one? The first time, rules and sketches are given up. */
int uns_fair_look(void);
struct uns_thread *uns_fair_pick(struct uns_thread **enabled, uint32_t count,
                                 struct uns_thread *current);
/* Of those whose time comes about as soon as that of `first`, any. */
struct uns_thread *uns_fair_sleeper(struct uns_thread *first);
/* Is a thread that looks at the same cells again and again to be chosen all the same? */
int uns_fair_lets_poll(void);
#endif
