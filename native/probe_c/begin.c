/* SPDX-License-Identifier: Apache-2.0
 *
 * A run begins before the program's constructors and ends when its process does.
 */
#define _GNU_SOURCE
#include "probe.h"
#include "runtime/plan_file.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define PLAN "UNSNARL_PLAN="
/* In a free run, so many writes that tell nobody anything may have one time: reading the clock
 * costs as much as all else on the slow path. */
#define STALE 16u

int uns_c_beginning;
struct uns_plan uns_c_plan;

void *uns_c_next(const char *name) {
    /* Old versions of these do not know clocks; dlsym may answer with them. */
    void *found =
        strncmp(name, "pthread_cond_", 13) ? NULL : dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return found ? found : dlsym(RTLD_NEXT, name);
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

static int inside(uint32_t low, uint32_t high) {
    struct span span = {low, high, 0};
    uns_self->muted++; /* the unwinder has locks of its own */
    _Unwind_Backtrace(look, &span);
    uns_self->muted--;
    return span.found;
}

/* A signal strikes right after the probe was told of the access that it is about. */
static void note_end(void) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* the file is to be written */
    if (uns_rt.fatal && uns_rt.fatal != SIGABRT && uns_self)
        uns_c_note_signal(uns_rt.fatal, uns_self->last_site);
    if (uns_rt.fatal == SIGABRT)
        uns_c_note_exception();
    uns_c_note_captured();
    uns_c_note_places();
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

static void refuse(const char *why) {
    dprintf(STDERR_FILENO, "unsnarl: this program cannot be run under a plan: %s\n", why);
    _exit(UNS_EXIT_REFUSED);
}

/* What the program starts is not the run. */
static const char *take_plan(char **environment) {
    for (char **at = environment; *at; at++)
        if (!strncmp(*at, PLAN, sizeof PLAN - 1)) {
            const char *plan = *at + sizeof PLAN - 1;
            for (; *at; at++)
                at[0] = at[1];
            return plan;
        }
    return NULL;
}

/* In a forked copy. */
static void go_on_alone(void) {
    int gated = uns_rt.active && uns_rt.gated;
    uns_run_abandon();
    if (gated)
        uns_c_give_back();
}

static void finish(void) {
    if (uns_rt.active)
        uns_run_finish();
}

static void begin(int count, char **arguments, char **environment) {
    const char *path = take_plan(environment);
    if (!path)
        return;
    struct uns_hooks hooks = {.inside = inside,
                              .ending = note_end,
                              .adopted = uns_c_watch_this_thread,
                              .idle = uns_c_hear};
    if (uns_plan_load(path, &uns_c_plan) < 0)
        refuse("it was built with another version of unsnarl");
    unlink(path);
    uint32_t sites = (uint32_t)((&etext - &__executable_start) / UNS_C_UNIT) + 1;
    if (uns_c_plan.site_limit != sites)
        refuse("it was built again since its sites were listed");
    uns_c_watch_signals();
    uns_c_capture_begin(&hooks);
    uns_c_beginning = 1;
    if (uns_run_begin(&uns_c_plan, &hooks) < 0)
        refuse("its memory is limited too tightly");
    uns_c_beginning = 0;
    if (!uns_rt.gated && uns_shadow_init(&uns_c_shadow) < 0)
        refuse("its memory is limited too tightly");
    uns_rt.tracker.stale = STALE;
    uns_c_watch_threads();
    pthread_atfork(NULL, NULL, go_on_alone);
    at_quick_exit(finish);
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) = begin;

__attribute__((destructor)) static void finish_last(void) {
    finish();
}

UNS_C_STANDS_IN void _exit(int status) {
    uns_c_note_status(status);
    finish();
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
