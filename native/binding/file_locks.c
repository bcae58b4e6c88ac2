/* SPDX-License-Identifier: Apache-2.0
 *
 * flock(): a lock of the kernel's on a file, which threads of one process use against each other,
 * too, each with a descriptor of its own. A thread that would block in there waits at the gate for
 * a lock that stands for the file, so that who waits for whom is known and a deadlock is one.
 * Closing the file frees the lock without a word: the kernel is asked while somebody waits
 * (docs/adr/0061).
 */
#define _GNU_SOURCE
#include "binding/binding.h"
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

struct wish {
    int fd, operation;
};

/* Mutex of the gate held: no Python in here. */
static int would_get(void *about) {
    const struct wish *wish = about;
    if (flock(wish->fd, wish->operation | LOCK_NB) < 0)
        return 0;
    flock(wish->fd, LOCK_UN);
    return 1;
}

static PyObject *failed(void) {
    return PyErr_SetFromErrno(PyExc_OSError);
}

/* Only one thread can have a file for itself; of those that share one, none is its owner. */
static void note_taken(struct uns_lock *lock, uint32_t site, int inside, int operation) {
    if (!(operation & LOCK_EX))
        return;
    uns_lock_lost(lock); /* whoever had the file has closed it */
    uns_lock_acquire(lock, site, 0, inside);
}

static PyObject *try_once(struct uns_lock *lock, uint32_t site, int inside, struct wish wish) {
    if (flock(wish.fd, wish.operation) < 0)
        return failed();
    note_taken(lock, site, inside, wish.operation);
    Py_RETURN_TRUE;
}

/* A descriptor that does not have the lock releases nothing. */
static PyObject *unlock(struct uns_lock *lock, uint32_t site, int fd) {
    struct wish any = {fd, LOCK_EX};
    if (flock(fd, LOCK_UN) < 0)
        return failed();
    if (lock->word && would_get(&any))
        uns_lock_release(lock, site);
    UNS_BUMP(&uns_rt.stirred);
    Py_RETURN_TRUE;
}

/* 1: go on; 0: an exception is set. */
static int may_go_on(enum uns_grant outcome) {
    if (outcome == UNS_DEADLOCKED)
        uns_report_deadlock();
    return outcome == UNS_INTERRUPTED ? uns_run_handlers() == 0 : outcome != UNS_DEADLOCKED;
}

/* Held by another process, or shared: nobody of ours is known to have it. */
static int await_unknown(struct uns_lock *lock, uint32_t site, struct wish *wish) {
    uns_lock_release(lock, site);
    return errno == EWOULDBLOCK &&
           may_go_on(uns_gate_await(uns_current(), site, would_get, wish, UNS_FOREVER));
}

/* 1: it has the file's lock; 0: an exception, or errno, says why not. */
static int lock_file(struct uns_lock *lock, uint32_t site, int inside, struct wish wish) {
    for (;;) {
        enum uns_grant outcome = uns_lock_acquire_asking(lock, site, inside, would_get, &wish);
        if (!may_go_on(outcome))
            return 0;
        if (outcome != UNS_GO)
            continue;
        if (flock(wish.fd, wish.operation | LOCK_NB) == 0)
            break;
        if (!await_unknown(lock, site, &wish))
            return 0;
    }
    if (wish.operation & LOCK_SH)
        uns_lock_release(lock, site);
    return 1;
}

/* Whoever waits in the kernel waits for what was open, even if its number is closed and used for
 * another file meanwhile. */
#define OUT_OF_THE_WAY 512
static PyObject *lock_what_is_open(struct uns_lock *lock, uint32_t site, int inside,
                                   struct wish wish) {
    int kept = fcntl(wish.fd, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    if (kept < 0)
        return failed();
    wish.fd = kept;
    int locked = lock_file(lock, site, inside, wish), error = errno;
    close(kept);
    errno = error;
    if (locked)
        Py_RETURN_TRUE;
    return PyErr_Occurred() ? NULL : failed();
}

static int is_controlled(void) {
    struct uns_thread *t = uns_rt.active ? uns_current() : NULL;
    return t && uns_waits_gated(t) && uns_rt.thread_count > 1 && !uns_has_children();
}

static PyObject *flock_at_gate(PyObject *module, PyObject *args) {
    PyObject *object;
    struct wish wish;
    int inside;
    if (!PyArg_ParseTuple(args, "O!ii:flock", &LockType, &object, &wish.fd, &wish.operation))
        return NULL;
    if (!is_controlled())
        Py_RETURN_NONE;
    struct uns_lock *lock = uns_lock_of(object);
    uint32_t site = uns_python_site(&inside);
    if (wish.operation & LOCK_UN)
        return unlock(lock, site, wish.fd);
    return wish.operation & LOCK_NB ? try_once(lock, site, inside, wish)
                                    : lock_what_is_open(lock, site, inside, wish);
}

PyMethodDef uns_file_lock_methods[] = {
    {"flock", flock_at_gate, METH_VARARGS,
     "flock(lock, fd, operation): what fcntl.flock does, waiting at the gate for a lock that "
     "stands "
     "for the file; None: the calling thread is not controlled, and nothing was done"},
    {NULL, NULL, 0, NULL},
};
