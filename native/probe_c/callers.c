/* SPDX-License-Identifier: Apache-2.0
 *
 * Who called the probe, and what the probe calls in turn: libc's own functions behind the
 * interceptors, and the stack above a call.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

#ifdef UNS_C_LIBRARY
#define OTHERS RTLD_DEFAULT /* its own definitions are not to be found by their names */
#else
#define OTHERS RTLD_NEXT
#endif

void *uns_c_next(const char *name) {
    /* Old versions of these do not know clocks; dlsym may answer with them. */
    void *found = strncmp(name, "pthread_cond_", 13) ? NULL : dlvsym(OTHERS, name, "GLIBC_2.3.2");
    return found ? found : dlsym(OTHERS, name);
}

struct span {
    uint32_t low, high;
    int found;
};

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *data) {
    struct span *span = data;
    uint32_t site = uns_c_site((const void *)_Unwind_GetIP(context));
    span->found |= site >= span->low && site < span->high;
    return span->found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

int uns_c_is_inside(uint32_t low, uint32_t high) {
    struct span span = {low, high, 0};
    uns_self->muted++; /* the unwinder has locks of its own */
    _Unwind_Backtrace(look, &span);
    uns_self->muted--;
    return span.found;
}

__thread int uns_c_inside;

/* Without optimisation, std::atomic and its like are functions of their own (sites.py lists them).
 */
static int is_in_header(uint32_t site) {
    uint32_t length;
    const uint32_t *first_sites = uns_first_sites(&length);
    return site < length && first_sites[site] == UNS_HEADER_SITE;
}

/* The probe's own frames come first, then the library's, or those of headers. */
#define MOST_FRAMES 64
struct caller {
    uint32_t site, inner; /* what is looked for; the site of the code that is to be left */
    uint32_t nearest;     /* whatever that is */
    int frames, left_us;
};
static _Unwind_Reason_Code look_out(struct _Unwind_Context *context, void *data) {
    struct caller *caller = data;
    uint32_t site = uns_c_site((const void *)_Unwind_GetIP(context));
    caller->left_us |= site == caller->inner;
    if (caller->left_us && !caller->nearest)
        caller->nearest = site;
    caller->site = caller->left_us && !is_in_header(site) ? site : 0;
    return caller->site || ++caller->frames > MOST_FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static uint32_t caller_of(uint32_t inner) {
    struct caller caller = {.inner = inner};
    uns_self->muted++;
    _Unwind_Backtrace(look_out, &caller);
    uns_self->muted--;
    return caller.site ? caller.site : caller.nearest; /* a thread that runs nothing of ours */
}

uint32_t uns_c_library_site(void) {
    return caller_of(0);
}

uint32_t uns_c_outside(uint32_t site) {
    if (UNS_LIKELY(!is_in_header(site)) || !uns_self)
        return site;
    uint32_t found = caller_of(site);
    return found ? found : site;
}
