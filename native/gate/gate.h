/* SPDX-License-Identifier: Apache-2.0
 *
 * What the gate offers to the runtime, the recorder and the probes. Its own state is in
 * gate/state.h.
 */
#ifndef UNSNARL_GATE_H
#define UNSNARL_GATE_H
#include "runtime/runtime.h"

#define UNS_GATE_THREADS 1024 /* at a time */

/* To the runtime: the life of a run and of its threads. */
int uns_gate_begin(const struct uns_plan *plan);
int uns_watch_begin(double time_limit);       /* the stall watch, a thread of its own */
void uns_gate_register(struct uns_thread *t); /* before it starts */
void uns_gate_arrive(struct uns_thread *t);
enum uns_grant uns_gate_leave(struct uns_thread *t);
void uns_gate_forget(struct uns_thread *t); /* it never started */

/* To the recorder. */
void uns_gate_sketch(struct uns_thread *t, uint32_t point);
void uns_gate_close_schedule(void);
uint64_t uns_gate_arrivals(void);
uint32_t uns_gate_pending(struct uns_pending_record *out, uint32_t room);
const struct uns_standstill_record *uns_gate_standstills(uint32_t *count);
const struct uns_rule_record *uns_gate_rule_results(uint32_t *count); /* 0: no rules */

/* To probes: signals. One is on its way, in so many ns at most; the program has set an alarm (0:
 * none), or it has rung; the thread comes back from what it waits for, if it does. */
UNS_API void uns_gate_expect(int64_t ns);
UNS_API void uns_alarm_set(int64_t first, int64_t repeat);
UNS_API void uns_alarm_rang(void);
UNS_API void uns_gate_call_waiting(struct uns_thread *t);

/* To probes: an operation on a cell, before it is done. UNS_FOLLOWS: it belongs to the operation
 * before, which is not done yet either; nobody may come between the two. */
#define UNS_FOLLOWS (-1)
UNS_API void uns_gate_access(struct uns_thread *t, uint32_t point, uint64_t cell, int write,
                             int may_switch);
/* Marks a second cell that the same operation touches; no switch point of its own. */
UNS_API void uns_gate_touch(struct uns_thread *t, uint32_t site, uint64_t cell);
/* ... and, in the trace of a run that follows a sketch, one that the latest operation touched. */
UNS_API void uns_gate_touched(struct uns_thread *t, uint64_t cell, int write);
UNS_API void uns_gate_noise(struct uns_thread *t); /* a delay, now and then */
#endif
