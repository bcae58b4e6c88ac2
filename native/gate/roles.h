/* SPDX-License-Identifier: Apache-2.0
 *
 * Which threads a rule means: one by its path, all that are equal to it, or of these the one that
 * has a role. The gate's mutex is held.
 */
#ifndef UNSNARL_ROLES_H
#define UNSNARL_ROLES_H
#include "gate/state.h"

void uns_roles_begin(void);
int uns_roles_match(const struct uns_match *m, const struct uns_thread *t);
/* t has come to an event of the match: it takes the role, unless it or the role is taken. */
void uns_roles_take(const struct uns_match *m, const struct uns_thread *t);
#endif
