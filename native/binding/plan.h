/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNSNARL_PLAN_H
#define UNSNARL_PLAN_H
#include "binding.h"
/* Room for sites of modules that a run imports by itself, after the fork. */
#define UNS_LATE_SITES 4096u
/* plan_rules.c: the message's "rules", a list; NULL: none. -1 with an exception set. */
int uns_parse_rules(PyObject *list, struct uns_plan *plan);
int uns_parse_plan(PyObject *run, struct uns_plan *plan);
uint32_t uns_site_watermark(void);
#endif
