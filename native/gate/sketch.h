/* SPDX-License-Identifier: Apache-2.0
 *
 * A sketch that a gated run follows (PRES; ReCBuLC IV): what each thread of a recorded run did, in
 * its own order, and what of it must come after which events of others. Made outside of the process
 * (src/unsnarl/reproduce/pres/sketch.py) and mapped from its file:
 *
 *   +--------+---------------+----------------+---------------+
 *   | header | threads       | events, one    | needs         |
 *   |        |               | more at the end|               |
 *   +--------+---------------+----------------+---------------+
 *
 * A thread owns events[first] to events[first + length - 1]. An event owns needs[event.needs] up to
 * those of the next one: so many events of that thread must be over before it.
 */
#ifndef UNSNARL_SKETCH_H
#define UNSNARL_SKETCH_H
#include "gate/state.h"

#define UNS_SKETCH_MAGIC   "UNSKETCH"
#define UNS_SKETCH_VERSION 1u

struct uns_sketch_header {
    char magic[8];
    uint32_t version, threads, events, needs;
};
struct uns_sketch_thread {
    char path[UNS_PATH_BYTES];
    uint32_t first, length;
    uint64_t last; /* when it is due once all its events are over */
};
struct uns_sketch_event {
    uint64_t due; /* its position in time among all others */
    uint32_t point, needs;
};
struct uns_sketch_need {
    uint32_t thread, count;
};
_Static_assert(sizeof(struct uns_sketch_header) == 24, "sketch header");
_Static_assert(sizeof(struct uns_sketch_thread) == 64, "sketch thread");
_Static_assert(sizeof(struct uns_sketch_event) == 16, "sketch event");
_Static_assert(sizeof(struct uns_sketch_need) == 8, "sketch need");

int uns_sketch_begin(const struct uns_plan *plan); /* -1: there is no such sketch */
void uns_sketch_enter(struct uns_thread *t);       /* a thread was made */
/* It has done what may be an event of the sketch. Takes the gate's mutex. */
void uns_sketch_did(struct uns_thread *t, uint32_t point);
int uns_sketch_knows(const struct uns_thread *t, uint32_t point); /* would it be an event of it? */

/* The gate's mutex is held: */
void uns_sketch_look(void);   /* before a choice: adds to `held` of every thread */
int uns_sketch_release(void); /* nobody can be chosen: 1 if a hold was given up */
struct uns_thread *uns_sketch_pick(struct uns_thread **enabled, uint32_t count,
                                   struct uns_thread *current);
#endif
