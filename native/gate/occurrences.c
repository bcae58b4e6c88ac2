/* SPDX-License-Identifier: Apache-2.0
 *
 * Occurrences: how often a thread has done an operation of the source. Sites are instructions: a
 * compiler may make two of one operation (in the head of a `while` loop) or, another version, one.
 * What a person would call the third time that this thread reads self.size on this line is the same
 * in all of them, so schedules are stored in these terms (src/unsnarl/replay/anchors.py). All sites
 * of one operation are counted at the first of them.
 */
#include "gate/state.h"

static const uint32_t *first_sites;
static uint32_t first_sites_length;

void uns_use_first_sites(const uint32_t *table, uint32_t length) {
    first_sites = table;
    first_sites_length = length;
}

const uint32_t *uns_first_sites(uint32_t *length) {
    *length = first_sites_length;
    return first_sites;
}

uint32_t uns_first_point(uint32_t point) {
    uint32_t site = UNS_POINT_SITE(point);
    if (site >= first_sites_length || first_sites[site] == UNS_HEADER_SITE)
        return point;
    return UNS_POINT(first_sites[site], UNS_POINT_OP(point));
}

static uint32_t class_of(uint32_t op) {
    return op == UNS_READ ? 0 : op == UNS_WRITE ? 1 : op == UNS_CALL ? 2 : 3;
}

static uint32_t *counter(const struct uns_thread *t, uint32_t point) {
    static uint32_t unknown;
    uint32_t site = UNS_POINT_SITE(uns_first_point(point));
    if (!t->occurrences || site >= uns_rt.site_limit)
        return unknown = 0, &unknown;
    return &t->occurrences[site * UNS_CLASSES + class_of(UNS_POINT_OP(point))];
}

void uns_gate_count(struct uns_thread *t, uint32_t point) {
    ++*counter(t, point);
}

/* Not counted, so that runs which do not stop there count the same. */
uint32_t uns_gate_within(const struct uns_thread *t, uint32_t point, uint32_t within) {
    return UNS_WITHIN | *counter(t, point) << UNS_WITHIN_BITS |
           (within & ((1u << UNS_WITHIN_BITS) - 1));
}

uint32_t uns_gate_occurrence(const struct uns_thread *t) {
    uint32_t point = t->pending.point, within = t->pending.within;
    return within ? uns_gate_within(t, point, within) : uns_occurrence(t, point);
}

uint32_t uns_occurrence(const struct uns_thread *t, uint32_t point) {
    return *counter(t, point);
}
