/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNSNARL_LOG_H
#define UNSNARL_LOG_H

/* Logs get names made of that of the run file. */
void uns_logs_begin(const char *file);
#endif
