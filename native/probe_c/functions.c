/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions and basic blocks, as events of a sketch: in programs that were built with `unsnarl cc
 * --functions` or `--blocks`. The site is where the call returns to, as of any other.
 */
#include "probe.h"

#define ENTRY __attribute__((aligned(64)))

static inline void tell(enum uns_level level, enum uns_op op, const void *pc) {
    if (UNS_LIKELY(uns_rt.sketch.level != level) || !uns_c_on())
        return;
    uint32_t site = uns_c_site(pc);
    if (!site)
        return;
    if (UNS_UNLIKELY(uns_rt.sketch.values))
        uns_c_settle_value(uns_current());
    uns_sketch_event(uns_current(), UNS_POINT(site, op));
}

ENTRY void __tsan_func_entry(void *caller) {
    (void)caller;
    tell(UNS_LEVEL_FUNC, UNS_ENTER, UNS_C_HERE);
}
ENTRY void __tsan_func_exit(void) {
    tell(UNS_LEVEL_FUNC, UNS_EXIT, UNS_C_HERE);
}
/* A program may have its own: it is told of its blocks, and we are not. */
ENTRY UNS_C_STANDS_IN void __sanitizer_cov_trace_pc(void) {
    tell(UNS_LEVEL_BLOCK, UNS_BLOCK, UNS_C_HERE);
}
