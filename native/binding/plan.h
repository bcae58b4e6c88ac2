/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans as they come from Python: dicts with the keys of plan_keys.def, and no others.
 */
#ifndef UNSNARL_BINDING_PLAN_H
#define UNSNARL_BINDING_PLAN_H
#include "binding/binding.h"

/* Keys in the order of the table: those of plans, of rules, of matches. */
enum uns_key {
#define UNS_PLAN_KEY(name, text)  PLAN_##name,
#define UNS_RULE_KEY(name, text)  RULE_##name,
#define UNS_MATCH_KEY(name, text) MATCH_##name,
#include "binding/plan_keys.def"
    UNS_KEYS
};
extern const char *const uns_key_texts[UNS_KEYS];
PyObject *uns_get(PyObject *dict, enum uns_key key); /* borrowed; NULL: there is none, or None */

/* Room for sites of modules that a run imports by itself, after the fork. */
#define UNS_LATE_SITES (1u << 17)
/* plan_rules.c: the plan's "rules", a list; NULL: none. -1 with an exception set. */
int uns_parse_rules(PyObject *list, struct uns_plan *plan);
int uns_parse_plan(PyObject *run, struct uns_plan *plan);
uint32_t uns_site_watermark(void);
#endif
