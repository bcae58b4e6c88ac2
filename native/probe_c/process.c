/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs and libraries have in common: libc's own functions, the stack, the way out.
 */
#define _GNU_SOURCE
#include "probe.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#ifdef UNS_C_LIBRARY
#define OTHERS RTLD_DEFAULT /* its own definitions are not to be found by their names */
#else
#define OTHERS RTLD_NEXT
#endif

int uns_c_beginning;
struct uns_plan uns_c_plan;

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

/* A signal strikes right after the probe was told of the access that it is about. Where it is not
 * told of accesses, the instruction says which one it was: the one whose call comes before it. */
static uint32_t struck_site(void) {
    uint32_t site = uns_rt.blind ? uns_c_site((const void *)uns_rt.fatal_pc) : 0;
    return site ? site : uns_self->last_site;
}

void uns_c_note_end(void) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* the file is to be written */
    if (uns_self && !uns_rt.fatal)
        uns_c_settle_value(uns_self);
    if (uns_rt.fatal && uns_rt.fatal != SIGABRT && uns_self && uns_c_owns(struck_site()))
        uns_c_note_signal(uns_rt.fatal, struck_site());
    if (uns_rt.fatal == SIGABRT)
        uns_c_note_exception();
    uns_c_note_captured();
    uns_c_note_places();
    uns_c_note_unlisted();
}

void uns_c_go_on_alone(void) {
    int gated = uns_rt.active && uns_rt.gated;
    uns_run_abandon();
    if (gated)
        uns_c_give_back();
}

void uns_c_finish(void) {
    if (uns_rt.active)
        uns_run_finish();
}

__attribute__((destructor)) static void finish_last(void) {
    uns_c_finish();
}

UNS_C_STANDS_IN void _exit(int status) {
    uns_c_note_status(status);
    uns_c_finish();
    UNS_C_REAL(_exit)(status);
    __builtin_unreachable();
}

UNS_C_STANDS_IN void _Exit(int status) {
    _exit(status);
}

/* Its copy would share our memory with us, and our end with its _exit. */
UNS_C_STANDS_IN pid_t vfork(void) {
    return fork();
}
