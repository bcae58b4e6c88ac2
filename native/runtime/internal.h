/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rooms of the runtime share with each other and with nobody else.
 */
#ifndef UNSNARL_INTERNAL_H
#define UNSNARL_INTERNAL_H
#include "unsnarl/rt.h"

/* A growing array in anonymous pages: usable from a signal handler's thread of control. */
struct uns_array {
    void *data;
    uint64_t used, capacity; /* bytes */
};
UNS_API int uns_array_append(struct uns_array *array, const void *bytes, uint64_t length);
UNS_API void uns_array_free(struct uns_array *array);

/* recorder/ */
extern struct uns_array uns_notes, uns_schedule, uns_trace;
void uns_trace_event(const struct uns_thread *t, uint32_t point, uint64_t cell);
int uns_write_run_file(void);
void uns_recorder_reset(const char *file);
void uns_logs_begin(const char *file);

/* gate/ */
#define UNS_CLASSES 4u /* of operations: read, write, call, all on locks and threads */
const uint32_t *uns_places(uint32_t *length);
int uns_gate_begin(const struct uns_plan *plan);
void uns_gate_register(struct uns_thread *t);
void uns_gate_arrive(struct uns_thread *t);
void uns_gate_forget(struct uns_thread *t);
void uns_gate_sketch(struct uns_thread *t, uint32_t point);
int uns_all_wait(void);
enum uns_grant uns_gate_leave(struct uns_thread *t);

/* modules.c */
void uns_guest_begins(void);
void uns_guest_ends(void);
int uns_inside(uint32_t low, uint32_t high);

int uns_watch_begin(double time_limit);
UNS_API int uns_watches_signal(int number); /* a crash by it must still leave its run file */
UNS_API void uns_watch_signal(int number);
UNS_API int uns_excuse(void *context); /* a fault of the probe's own: it goes on behind it */

uint64_t uns_random(uint64_t *state);
UNS_API int64_t uns_real_ns(void);
#endif
