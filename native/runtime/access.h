/* SPDX-License-Identifier: Apache-2.0
 *
 * The access path of the probes that are built with the runtime: the tracker's fast paths inline.
 */
#ifndef UNSNARL_ACCESS_H
#define UNSNARL_ACCESS_H
#include "gate/gate.h"

/* An access by t that the gate, if there is one, has let pass. */
static inline void uns_track_access(struct uns_thread *t, uint32_t point, uint64_t cell,
                                    int write) {
    if (write)
        uns_write(&uns_rt.tracker, &t->tracked, point, cell);
    else
        uns_read(&uns_rt.tracker, &t->tracked, point, cell);
}

/* Whose access was last is known to the tracker; who counts is the gate. */
static inline void uns_count_remote(const struct uns_thread *t, uint32_t site) {
    if (uns_rt.gated && site < uns_rt.site_limit)
        t->counts[site].remote += t->tracked.remote;
}

/* uns_access of rt.h. */
static inline void uns_access_inline(uint32_t site, uint64_t cell, int write, int may_switch) {
    struct uns_thread *t = uns_current();
    uint32_t point = UNS_POINT(site, write ? UNS_WRITE : UNS_READ);
    if (UNS_UNLIKELY(uns_rt.held))
        uns_gate_access(t, point, cell, write, may_switch);
    uns_track_access(t, point, cell, write);
    if (UNS_UNLIKELY(uns_rt.held))
        uns_count_remote(t, site);
}
#endif
