/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules on top of whatever strategy chooses: which threads may not be chosen for now. The gate asks
 * only while uns_gate.rules is not 0. A thread reports what it executes by itself, after its turn
 * was granted; nobody else can be chosen in between.
 */
#ifndef UNSNARL_RULES_H
#define UNSNARL_RULES_H
#include "gate/state.h"

#define UNS_RULE_INSTANCES 256
#define UNS_RULE_GUARDS    256 /* locks of guards held at a time */
/* An instance that has kept a thread back in so many choices is released: somebody spins. */
#define UNS_RULE_LIMIT 5000

int uns_rules_begin(const struct uns_plan *plan);

/* The gate's mutex is held: */
void uns_rules_look(void);    /* before a choice: sets `held` of every thread */
int uns_rules_release(void);  /* nobody can be chosen: 1 if a hold was given up, and look again */
void uns_rules_give_up(void); /* all of them, for the rest of the run */
/* Does a rule that keeps somebody back wait for what t will do? */
int uns_rules_await(const struct uns_thread *t);
void uns_rules_arrived(struct uns_thread *t, uint32_t point);
void uns_rules_ended(struct uns_thread *t);

/* They take the mutex themselves, and only where a rule asks about the point: */
void uns_rules_did(struct uns_thread *t, uint32_t point);
void uns_rules_took(struct uns_thread *t, struct uns_lock *lock);
void uns_rules_gave(struct uns_lock *lock);
#endif
