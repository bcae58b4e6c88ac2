/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNSNARL_LOG_H
#define UNSNARL_LOG_H

/* Logs get names made of that of the run file. */
#include <stdint.h>
void uns_logs_begin(const char *file);
uint64_t uns_events_dropped(void);
#endif
