/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recorder offers to the runtime and the gate. What probes record by themselves is in
 * rt.h: notes, orders, logs.
 */
#ifndef UNSNARL_RECORDER_H
#define UNSNARL_RECORDER_H
#include "runtime/runtime.h"

/* A run begins; its file will have this name. NULL: it leaves none. */
void uns_recorder_begin(const char *file);
/* The trace: every event, where a plan asks for it. By the thread that has the token. */
void uns_record_event(const struct uns_thread *t, uint32_t point, uint64_t cell, int follows);
/* The schedule. With the gate's mutex held, or at the end. */
void uns_record_segment(const struct uns_segment_record *segment);
/* Writes down what the tracker is given, into a piece of its own, up to a limit. */
extern const struct uns_tap uns_event_tap;
int uns_write_run_file(void);
#endif
