/* SPDX-License-Identifier: Apache-2.0
 *
 * The stall watch: a native thread that never needs the target's cooperation. It passes the token
 * on when its holder blocks where the gate cannot see (I/O, a foreign lock), and ends a run that
 * exceeds its time limit with its run file written.
 */
#define _GNU_SOURCE
#include "gate/gate.h"
#include "runtime/futex.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PERIOD_NS 2000000

static int64_t run_deadline;

/* 'R' running, 'S' and 'D' blocked: the third field of the thread's stat line. 'X': there is no
 * such thread; '?': it cannot be told. */
static char thread_state(int32_t os_id) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", os_id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 'X' : '?';
    ssize_t n = read(fd, line, sizeof line - 1);
    char unread = n < 0 && errno == ESRCH ? 'X' : '?';
    close(fd);
    if (n <= 0)
        return unread;
    line[n] = 0;
    const char *end = strrchr(line, ')');
    return end && end[1] ? end[2] : '?';
}

static void pass_on(struct uns_thread *stalled, enum uns_state state) {
    struct uns_thread *sleeper = NULL;
    uns_gate_lock();
    if (uns_gate.holder == stalled && stalled->state == UNS_RUNNING && !stalled->granted) {
        uns_rt.counters[UNS_COUNT_STALLS] += state == UNS_OUTSIDE;
        stalled->state = state;
        sleeper = uns_gate_hand_over(stalled, uns_gate_choose(NULL));
    }
    uns_gate_unlock();
    uns_gate_wake(sleeper);
}

/* Nobody holds the token: has the time come for a thread that waits for it? */
static void wake_late(void) {
    uns_gate_lock();
    struct uns_thread *next = uns_gate.holder ? NULL : uns_gate_choose(NULL);
    struct uns_thread *sleeper = next ? uns_gate_hand_over(NULL, next) : NULL;
    uns_gate_unlock();
    uns_gate_wake(sleeper);
}

/* Whoever waits while a signal's handler waits for it comes back for that. An access waits for
 * nothing but its turn. */
static void call_signalled(void) {
    for (struct uns_thread *t = uns_rt.threads; t; t = t->next) {
        const struct uns_pending *p = &t->pending;
        if (t->signalled && t->state == UNS_READY &&
            (p->lock || p->ready || p->deadline != UNS_FOREVER))
            uns_gate_call(t);
    }
}

/* Blocked on some looks in a row without a step between: stalled. Who waits for the interpreter's
 * own lock is blocked too, for as long as a busy machine keeps its owner from running: a replay
 * that took that for a stall would leave its track, so it looks longer. */
#define LOOKS           2
#define LOOKS_REPLAYING 25

static void look(void) {
    static struct uns_thread *suspect;
    static uint64_t suspect_steps;
    static uint32_t looks;
    struct uns_thread *holder = uns_gate.holder;
    call_signalled();
    if (!holder)
        wake_late();
    if (!holder || holder->granted || !holder->os_id || uns_rt.paused) {
        suspect = NULL;
        return;
    }
    char state = thread_state(holder->os_id);
    if (state == 'X' || state == 'Z') { /* one that no probe saw start, nor end */
        pass_on(holder, UNS_ENDED);
        uns_gate_forget(holder);
        return;
    }
    if (state != 'S' && state != 'D') {
        suspect = NULL;
        return;
    }
    if (suspect != holder || suspect_steps != uns_gate.steps + holder->events) {
        suspect = holder;
        suspect_steps = uns_gate.steps + holder->events;
        looks = 0;
    }
    if (++looks >= (uns_gate.replaying ? LOOKS_REPLAYING : LOOKS)) {
        pass_on(holder, UNS_OUTSIDE);
        suspect = NULL;
    }
}

/* How many threads the process has, ours included. */
static int tasks(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (const struct dirent *one; folder && (one = readdir(folder));)
        count += one->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

/* A recorded run in which every thread waits for a lock of another's, and has done so for a while.
 * One that nobody knows might still let one go. */
#define LOOKS_ALL_WAIT 50
static void look_for_deadlock(void) {
    static int all_wait;
    all_wait = uns_rt.hooks.verdict && uns_all_wait() ? all_wait + 1 : 0;
    if (all_wait >= LOOKS_ALL_WAIT && tasks() == uns_all_wait() + 1)
        uns_rt.hooks.verdict();
}

static void time_is_up(double limit) {
    char note[128];
    int n = snprintf(
        note, sizeof note,
        "{\"failure\": {\"kind\": \"hang\", \"message\": \"still running after %g s\"}}", limit);
    uns_note(note, (uint32_t)n);
    uns_gate_deadlock_edges();
    uns_run_finish();
    _exit(UNS_EXIT_TIMEOUT);
}

static void *watch(void *argument) {
    double limit;
    memcpy(&limit, argument, sizeof limit);
    prctl(PR_SET_NAME, "unsnarl"); /* for who looks at the threads with a debugger */
    struct timespec period = uns_span(PERIOD_NS);
    while (uns_rt.active) {
        nanosleep(&period, NULL);
        if (uns_rt.active && uns_real_ns() > run_deadline)
            time_is_up(limit);
        if (uns_rt.active && uns_rt.gated)
            look();
        if (uns_rt.active && uns_rt.recording)
            look_for_deadlock();
    }
    return NULL;
}

int uns_watch_begin(double time_limit) {
    static double limit;
    limit = time_limit;
    run_deadline = time_limit > 0 ? uns_real_ns() + (int64_t)(time_limit * 1e9) : UNS_FOREVER;
    sigset_t all, old;
    sigfillset(&all);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    /* The verdict of a recorded run is told by the watch: in Python, with Python's means. */
    pthread_attr_setstacksize(&attributes, uns_rt.recording ? 1u << 20 : 1u << 16);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, watch, &limit);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return error ? -1 : 0;
}
