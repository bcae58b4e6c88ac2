/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that look at the same cells over and over until somebody changes them.
 */
#ifndef UNSNARL_POLLING_H
#define UNSNARL_POLLING_H
#include "gate/state.h"

/* So often a thread reads the same cells at the same sites before it counts as polling: loops that
 * read a setting are rarely that long, and each turn costs others a turn. */
#define UNS_POLLS_AFTER 24
/* ... and after so many turns nothing else will come of it. */
#define UNS_POLLS_FOR_GOOD 2000

void uns_polling_begin(uint64_t seed);
/* By the thread that holds the token. */
void uns_polling_read(struct uns_thread *t, uint32_t point, uint64_t cell);
void uns_polling_wrote(void);

/* The gate's mutex is held: */
/* Leaves those that poll out of the threads that could run, unless nobody is left; returns how many
 * there are. */
uint32_t uns_polling_leave_out(struct uns_thread **threads, uint32_t count);
int uns_polling_all_do(struct uns_thread **threads, uint32_t count); /* and have for long */
/* The paths of those that poll, for the report of a run that never ended. */
void uns_polling_name(char *text, uint32_t size);
#endif
