/* SPDX-License-Identifier: Apache-2.0
 *
 * The stall watch: a native thread that never needs the target's cooperation. It passes the token
 * on when its holder blocks where the gate cannot see (I/O, a foreign lock), and ends a run that
 * exceeds its time limit with its run file written.
 */
#define _GNU_SOURCE
#include "gate/fair.h"
#include "gate/polling.h"
#include "runtime/futex.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERIOD_NS 2000000
#define SHORT_NS  300000

static int64_t run_deadline, half_time;

/* 'R' running, 'S' and 'D' blocked: the third field of the thread's stat line. 'X': there is no
 * such thread; '?': nobody can say. */
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

static int is_granted(const struct uns_thread *t) {
    return __atomic_load_n(&t->granted, __ATOMIC_RELAXED) != 0;
}

static void pass_on(struct uns_thread *stalled, enum uns_state state) {
    struct uns_thread *sleeper = NULL;
    uns_gate_lock();
    if (uns_gate.holder == stalled && stalled->state == UNS_RUNNING && !is_granted(stalled)) {
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

/* Whoever waits while a signal's handler waits for it comes back for that. */
static void call_signalled(void) {
    for (struct uns_thread *t = uns_threads(); t; t = t->next)
        if (__atomic_load_n(&t->signalled, __ATOMIC_RELAXED))
            uns_gate_call_waiting(t);
}

/* Blocked on some looks in a row without an event between: stalled. Who waits for the interpreter's
 * own lock is blocked too, for as long as a busy machine keeps its owner from running: a replay
 * that took that for a stall would leave its track, so it looks longer where its schedule goes on
 * with that thread. So it does where a thread waits for a disk ('D'), to load a page of its code
 * for example: no other thread can end that. */
#define LOOKS         2
#define LOOKS_PATIENT 25

static int is_wanted(const struct uns_thread *holder) {
    uns_gate_lock();
    int wanted = uns_gate.holder == holder && uns_replay_goes_on(holder);
    uns_gate_unlock();
    return wanted;
}

static uint32_t looks_to_stall(const struct uns_thread *holder, char state) {
    int patient = state == 'D' || (uns_gate.replaying && is_wanted(holder));
    return patient ? LOOKS_PATIENT : LOOKS;
}

/* Whether a blocked thread is in a system call that cannot be a wait for the interpreter's lock:
 * for a socket, a pipe, a child. Where the kernel does not say, it may be one. */
static int is_in_other_call(int32_t os_id) {
    char path[64], line[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", os_id);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    line[n] = 0;
    char *end;
    long call = strtol(line, &end, 10); /* "running", and -1 outside of a call, are none */
    return end != line && call >= 0 && call != SYS_futex;
}

/* Gives the time after which to look again. */
static int64_t look(void) {
    static struct uns_thread *suspect;
    static uint64_t suspect_done;
    static uint32_t looks;
    struct uns_thread *holder = __atomic_load_n(&uns_gate.holder, __ATOMIC_ACQUIRE);
    call_signalled();
    if (!holder)
        wake_late();
    int32_t os_id = holder ? __atomic_load_n(&holder->os_id, __ATOMIC_RELAXED) : 0;
    if (!os_id || is_granted(holder) || __atomic_load_n(&uns_rt.paused, __ATOMIC_RELAXED)) {
        suspect = NULL;
        return PERIOD_NS;
    }
    char state = thread_state(os_id);
    if (state == 'X' || state == 'Z') { /* one that no probe saw start, nor end */
        pass_on(holder, UNS_ENDED);
        uns_gate_forget(holder);
        return PERIOD_NS;
    }
    if (state != 'S' && state != 'D') {
        suspect = NULL;
        return PERIOD_NS;
    }
    uint64_t done = uns_gate_arrivals() + uns_events_of(holder);
    if (suspect != holder || suspect_done != done) {
        suspect = holder;
        suspect_done = done;
        looks = 0;
    }
    uint32_t wanted = looks_to_stall(holder, state);
    if (++looks >= wanted) {
        pass_on(holder, UNS_OUTSIDE);
        suspect = NULL;
        return PERIOD_NS;
    }
    /* Programs with sockets wait here a dozen times a run, with all cores idle. */
    return wanted == LOOKS && is_in_other_call(os_id) ? SHORT_NS : PERIOD_NS;
}

/* How many threads the process has, ours included. */
static uint32_t tasks(void) {
    uint32_t count = 0;
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
    all_wait = uns_rt.hooks.deadlock && uns_all_wait() ? all_wait + 1 : 0;
    if (all_wait >= LOOKS_ALL_WAIT && tasks() == uns_all_wait() + 1)
        uns_rt.hooks.deadlock();
}

static void time_is_up(double limit) {
    char note[512], polling[256];
    uns_polling_name(polling, sizeof polling);
    int n = snprintf(
        note, sizeof note,
        "{\"failure\": {\"kind\": \"hang\", \"message\": \"still running after %g s%s%s\"}}", limit,
        polling[0] ? "; polling: " : "", polling);
    uns_note(note, (uint32_t)n);
    uns_gate_deadlock_edges();
    uns_run_finish();
    _exit(UNS_EXIT_TIMEOUT);
}

static void *watch(void *argument) {
    double limit;
    memcpy(&limit, argument, sizeof limit);
    prctl(PR_SET_NAME, "unsnarl"); /* for who looks at the threads with a debugger */
    int64_t next = PERIOD_NS;
    while (uns_run_is_active()) {
        struct timespec period = uns_span(next);
        nanosleep(&period, NULL);
        next = PERIOD_NS;
        if (uns_run_is_active() && uns_real_ns() > half_time)
            uns_fair_call();
        if (uns_run_is_active() && uns_real_ns() > run_deadline)
            time_is_up(limit);
        if (uns_run_is_active() && uns_rt.gated)
            next = look();
        if (uns_run_is_active() && uns_rt.recording)
            look_for_deadlock();
    }
    return NULL;
}

int uns_watch_begin(double time_limit) {
    static double limit;
    limit = time_limit;
    run_deadline = time_limit > 0 ? uns_real_ns() + (int64_t)(time_limit * 1e9) : UNS_FOREVER;
    half_time = time_limit > 0 ? run_deadline - (int64_t)(time_limit * 5e8) : UNS_FOREVER;
    sigset_t all, old;
    sigfillset(&all);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    /* The watch reports the deadlock of a recorded run: in Python, by Python code. */
    pthread_attr_setstacksize(&attributes, uns_rt.recording ? 1u << 20 : 1u << 16);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_t thread;
    int error = pthread_create(&thread, &attributes, watch, &limit);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    return error ? -1 : 0;
}
