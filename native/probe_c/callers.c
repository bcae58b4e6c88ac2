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

/* The probe's own frames come first, then the library's. */
#define MOST_FRAMES 24
struct caller {
    uint32_t site;
    int frames, left_us;
};
static _Unwind_Reason_Code look_out(struct _Unwind_Context *context, void *data) {
    struct caller *caller = data;
    uint32_t site = uns_c_site((const void *)_Unwind_GetIP(context));
    caller->left_us |= !site;
    caller->site = caller->left_us ? site : 0;
    return caller->site || ++caller->frames > MOST_FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

uint32_t uns_c_library_site(void) {
    struct caller caller = {0};
    uns_self->muted++;
    _Unwind_Backtrace(look_out, &caller);
    uns_self->muted--;
    return caller.site;
}
