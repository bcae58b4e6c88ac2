/* SPDX-License-Identifier: Apache-2.0
 *
 * Roles: threads that the same code starts to run the same function are equal, and which one of
 * them does what differs from run to run. A rule that names one of ten would leave nine to do as
 * they like; one that speaks of all, or of the first that comes, says what is meant.
 *
 * An equal thread is recognised by that of the path, so that rules need not know what makes threads
 * equal: the path is that of the first one, without which there is no other.
 */
#include "gate/roles.h"
#include <string.h>

static const struct uns_thread *bound[UNS_ROLES_MOST + 1];

void uns_roles_begin(void) {
    memset(bound, 0, sizeof bound);
}

static const struct uns_thread *thread_named(const char *path) {
    const struct uns_thread *t = uns_threads();
    while (t && strcmp(t->path, path))
        t = t->next;
    return t;
}

static int is_equal(const struct uns_match *m, const struct uns_thread *t) {
    if (!strcmp(m->path, t->path))
        return 1;
    const struct uns_thread *first = t->kind ? thread_named(m->path) : NULL;
    return first && first->kind == t->kind;
}

int uns_roles_match(const struct uns_match *m, const struct uns_thread *t) {
    if (m->role)
        return bound[m->role] == t;
    return !m->path[0] || (m->equal ? is_equal(m, t) : !strcmp(m->path, t->path));
}

static int has_role(const struct uns_thread *t) {
    for (uint32_t role = 1; role <= UNS_ROLES_MOST; role++)
        if (bound[role] == t)
            return 1;
    return 0;
}

void uns_roles_take(const struct uns_match *m, const struct uns_thread *t) {
    if (m->role && !bound[m->role] && !has_role(t) && is_equal(m, t))
        bound[m->role] = t;
}
