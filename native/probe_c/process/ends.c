/* SPDX-License-Identifier: Apache-2.0
 *
 * How processes end, and how copies of them begin.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <signal.h>
#include <unistd.h>

int uns_c_beginning;
struct uns_plan uns_c_plan;

/* A signal strikes right after the probe saw the access that causes it. Where accesses are not
 * probed, the instruction shows which one it was: the one whose call comes before it. */
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
    uns_c_note_locations();
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
    uns_gate_linger();
    uns_c_finish();
}

UNS_C_INTERCEPTOR void _exit(int status) {
    if (!status) /* what comes after a failure is of no interest */
        uns_gate_linger();
    uns_c_note_status(status);
    uns_c_finish();
    UNS_C_REAL(_exit)(status);
    __builtin_unreachable();
}

UNS_C_INTERCEPTOR void _Exit(int status) {
    _exit(status);
}

/* Its copy would share our memory with us, and our end with its _exit. */
UNS_C_INTERCEPTOR pid_t vfork(void) {
    return fork();
}
