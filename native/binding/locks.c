/* SPDX-License-Identifier: Apache-2.0
 *
 * Lock and RLock as the target sees them: the same behaviour as CPython's, but the gate decides
 * who gets them. Condition, Event, Semaphore, Barrier, Queue and the executors are Python on top.
 */
#include "binding/binding.h"
#include <structmember.h>

typedef struct {
    PyObject_HEAD struct uns_lock lock;
    unsigned long owner; /* RLock: thread ident, 0: free */
    unsigned long depth;
    PyObject *weakrefs;
} LockObject;

int uns_is_signal(PyObject *lock) {
    return (((LockObject *)lock)->lock.flags & UNS_LOCK_IS_SIGNAL) != 0;
}

struct uns_lock *uns_lock_of(PyObject *lock) {
    return &((LockObject *)lock)->lock;
}

static PyObject *lock_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    LockObject *self = (LockObject *)type->tp_alloc(type, 0);
    if (self)
        uns_lock_made(&self->lock, 0);
    return (PyObject *)self;
}

static void lock_dealloc(PyObject *self) {
    if (((LockObject *)self)->weakrefs)
        PyObject_ClearWeakRefs(self);
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
        Py_DECREF(type);
}

/* The rules of CPython's lock_acquire_parse_args. Returns -1 with an exception set. */
static int parse_timeout(PyObject *args, PyObject *kwargs, int64_t *timeout_ns) {
    static char *names[] = {"blocking", "timeout", NULL};
    int blocking = 1;
    double timeout = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pd:acquire", names, &blocking, &timeout))
        return -1;
    if (!blocking && timeout != -1) {
        PyErr_SetString(PyExc_ValueError, "can't specify a timeout for a non-blocking call");
        return -1;
    }
    if (timeout < 0 && timeout != -1) {
        PyErr_SetString(PyExc_ValueError, "timeout value must be a non-negative number");
        return -1;
    }
    if (timeout > (double)(PY_TIMEOUT_MAX / 1000000)) {
        PyErr_SetString(PyExc_OverflowError, "timeout value is too large");
        return -1;
    }
    /* Centuries from now and never are the same; only one of them overflows. */
    int endless = timeout < 0 || timeout > 4e9;
    *timeout_ns = !blocking ? 0 : endless ? UNS_FOREVER : (int64_t)(timeout * 1e9);
    return 0;
}

static void captured(LockObject *self, uint32_t point) {
    uns_capture_sync(point, (PyObject *)self);
    if (!self->lock.flags)
        uns_capture_lock((PyObject *)self, 1);
}

/* Asked about waits that could be the period of a loop: probes/python/periods.py. */
#define LONGEST_PERIOD_NS 100000000ll
static PyObject *asks_short_waits;

/* -1 with an exception. */
static int is_period(int64_t timeout_ns) {
    if (!asks_short_waits || !uns_rt.active || timeout_ns <= 0 || timeout_ns > LONGEST_PERIOD_NS)
        return 0;
    PyObject *answer = PyObject_CallNoArgs(asks_short_waits);
    int is = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return is;
}

static PyObject *on_short_wait(PyObject *module, PyObject *callback) {
    Py_XSETREF(asks_short_waits, Py_NewRef(callback));
    Py_RETURN_NONE;
}

static int take_timed(LockObject *self, int64_t timeout_ns);

/* 1 taken, 0 not in time, -1 exception. */
static int take(LockObject *self, int64_t timeout_ns) {
    int timer = is_period(timeout_ns);
    if (timer <= 0)
        return timer < 0 ? -1 : take_timed(self, timeout_ns);
    struct uns_thread *t = uns_current();
    t->timer = 1;
    int taken = take_timed(self, timeout_ns);
    t->timer = 0;
    return taken;
}

static int take_timed(LockObject *self, int64_t timeout_ns) {
    int64_t deadline = timeout_ns == UNS_FOREVER ? UNS_FOREVER : uns_clock_ns() + timeout_ns;
    int inside = 0;
    uint32_t site = uns_rt.active ? uns_python_site(&inside) : 0;
    inside |= !site; /* what Thread.start() locks itself */
    uint32_t point =
        UNS_POINT(site, self->lock.flags & UNS_LOCK_IS_THREAD ? UNS_JOIN : UNS_ACQUIRE);
    if (UNS_UNLIKELY(uns_break_hook != NULL))
        uns_break(point);
    /* A wait that does not end is the last one of its thread. */
    if (UNS_UNLIKELY(uns_capture_hook != NULL))
        uns_capture_sync(UNS_POINT(site, UNS_WAIT), (PyObject *)self);
    for (;;) {
        switch (uns_lock_acquire(&self->lock, site, timeout_ns, inside)) {
        case UNS_GO:
            if (UNS_UNLIKELY(uns_capture_hook != NULL))
                captured(self, point);
            return 1;
        case UNS_TIMED_OUT:
            return 0;
        case UNS_DEADLOCKED:
            uns_report_deadlock();
            return -1;
        case UNS_INTERRUPTED:
            if (uns_run_handlers() < 0)
                return -1;
        }
        if (deadline != UNS_FOREVER)
            timeout_ns = deadline > uns_clock_ns() ? deadline - uns_clock_ns() : 0;
    }
}

static void give(LockObject *self) {
    int inside;
    uint32_t site = uns_rt.active ? uns_python_site(&inside) : 0;
    if (UNS_UNLIKELY(uns_capture_hook && !self->lock.flags)) {
        uns_capture_sync(UNS_POINT(site, UNS_RELEASE), (PyObject *)self);
        uns_capture_lock((PyObject *)self, 0);
    }
    uns_lock_release(&self->lock, site);
}

typedef int taker(LockObject *self, int64_t timeout_ns);

static inline PyObject *taken_by(taker *take, PyObject *self, int64_t timeout_ns) {
    int taken = take((LockObject *)self, timeout_ns);
    return taken < 0 ? NULL : PyBool_FromLong(taken);
}

static inline PyObject *acquired_by(taker *take, PyObject *self, PyObject *args, PyObject *kwargs) {
    int64_t timeout_ns;
    return parse_timeout(args, kwargs, &timeout_ns) < 0 ? NULL : taken_by(take, self, timeout_ns);
}

static PyObject *lock_acquire(PyObject *self, PyObject *args, PyObject *kwargs) {
    return acquired_by(take, self, args, kwargs);
}

static PyObject *lock_enter(PyObject *self, PyObject *unused) {
    return taken_by(take, self, UNS_FOREVER);
}

static PyObject *lock_release(PyObject *self, PyObject *unused) {
    LockObject *lock = (LockObject *)self;
    if (!UNS_LOAD(&lock->lock.word)) {
        PyErr_SetString(PyExc_RuntimeError, "release unlocked lock");
        return NULL;
    }
    give(lock);
    Py_RETURN_NONE;
}

static PyObject *lock_exit(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    return lock_release(self, NULL);
}

static PyObject *lock_locked(PyObject *self, PyObject *unused) {
    return PyBool_FromLong(UNS_LOAD(&((LockObject *)self)->lock.word) != 0);
}

static PyObject *lock_reinit(PyObject *self, PyObject *unused) {
    LockObject *lock = (LockObject *)self;
    uns_lock_made(&lock->lock, lock->lock.flags);
    lock->owner = lock->depth = 0;
    Py_RETURN_NONE;
}

static PyObject *lock_repr(PyObject *self) {
    return PyUnicode_FromFormat("<%s %s object at %p>",
                                UNS_LOAD(&((LockObject *)self)->lock.word) ? "locked" : "unlocked",
                                Py_TYPE(self)->tp_name, self);
}

static PyObject *lock_mark_thread(PyObject *self, PyObject *unused) {
    ((LockObject *)self)->lock.flags |= UNS_LOCK_IS_THREAD;
    Py_RETURN_NONE;
}

static PyObject *lock_own(PyObject *self, PyObject *unused) {
    if (uns_rt.active && uns_self)
        ((LockObject *)self)->lock.owner = uns_self->index;
    Py_RETURN_NONE;
}

#define KEYWORDS(f) ((PyCFunction)(void (*)(void))f)
static PyMethodDef lock_methods[] = {
    {"acquire", KEYWORDS(lock_acquire), METH_VARARGS | METH_KEYWORDS, NULL},
    {"acquire_lock", KEYWORDS(lock_acquire), METH_VARARGS | METH_KEYWORDS, NULL},
    {"release", lock_release, METH_NOARGS, NULL},
    {"release_lock", lock_release, METH_NOARGS, NULL},
    {"locked", lock_locked, METH_NOARGS, NULL},
    {"locked_lock", lock_locked, METH_NOARGS, NULL},
    {"__enter__", lock_enter, METH_NOARGS, NULL},
    {"__exit__", KEYWORDS(lock_exit), METH_FASTCALL, NULL},
    {"_at_fork_reinit", lock_reinit, METH_NOARGS, NULL},
    {"_mark_thread", lock_mark_thread, METH_NOARGS,
     "This lock is released when a thread ends: its operations are END and JOIN."},
    {"_own", lock_own, METH_NOARGS, "The calling thread took it, whoever did so in its name."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject LockType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_thread.lock",
    .tp_basicsize = sizeof(LockObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = lock_new,
    .tp_dealloc = lock_dealloc,
    .tp_repr = lock_repr,
    .tp_methods = lock_methods,
    .tp_weaklistoffset = offsetof(LockObject, weakrefs),
};

/* Whoever finds itself to be the owner is, and nobody else writes the depth meanwhile. */
static int is_mine(LockObject *self) {
    return UNS_LOAD(&self->owner) == PyThread_get_thread_ident() && UNS_LOAD(&self->depth);
}

static void set_owner(LockObject *self, unsigned long owner, unsigned long depth) {
    UNS_STORE(&self->depth, depth);
    UNS_STORE(&self->owner, owner);
}

static int rlock_take(LockObject *self, int64_t timeout_ns) {
    if (is_mine(self)) {
        UNS_STORE(&self->depth, self->depth + 1);
        return 1;
    }
    int taken = take(self, timeout_ns);
    if (taken > 0)
        set_owner(self, PyThread_get_thread_ident(), 1);
    return taken;
}

static PyObject *rlock_acquire(PyObject *self, PyObject *args, PyObject *kwargs) {
    return acquired_by(rlock_take, self, args, kwargs);
}

static PyObject *rlock_enter(PyObject *self, PyObject *unused) {
    return taken_by(rlock_take, self, UNS_FOREVER);
}

static PyObject *rlock_release(PyObject *self, PyObject *unused) {
    LockObject *lock = (LockObject *)self;
    if (!is_mine(lock)) {
        PyErr_SetString(PyExc_RuntimeError, "cannot release un-acquired lock");
        return NULL;
    }
    if (lock->depth > 1) {
        UNS_STORE(&lock->depth, lock->depth - 1);
    } else {
        set_owner(lock, 0, 0);
        give(lock);
    }
    Py_RETURN_NONE;
}

static PyObject *rlock_exit(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    return rlock_release(self, NULL);
}

static PyObject *rlock_is_owned(PyObject *self, PyObject *unused) {
    return PyBool_FromLong(is_mine((LockObject *)self));
}

static PyObject *rlock_recursion_count(PyObject *self, PyObject *unused) {
    LockObject *lock = (LockObject *)self;
    return PyLong_FromUnsignedLong(is_mine(lock) ? lock->depth : 0);
}

static PyObject *rlock_release_save(PyObject *self, PyObject *unused) {
    LockObject *lock = (LockObject *)self;
    if (!UNS_LOAD(&lock->depth)) {
        PyErr_SetString(PyExc_RuntimeError, "cannot release un-acquired lock");
        return NULL;
    }
    PyObject *state = Py_BuildValue("kk", lock->depth, lock->owner);
    if (state) {
        set_owner(lock, 0, 0);
        give(lock);
    }
    return state;
}

static PyObject *rlock_acquire_restore(PyObject *self, PyObject *state) {
    LockObject *lock = (LockObject *)self;
    unsigned long depth, owner;
    if (!PyArg_ParseTuple(state, "kk:_acquire_restore", &depth, &owner))
        return NULL;
    if (take(lock, UNS_FOREVER) < 0)
        return NULL;
    set_owner(lock, owner, depth);
    Py_RETURN_NONE;
}

static PyObject *rlock_repr(PyObject *self) {
    LockObject *lock = (LockObject *)self;
    return PyUnicode_FromFormat(
        "<%s %s object owner=%lu count=%lu at %p>", UNS_LOAD(&lock->depth) ? "locked" : "unlocked",
        Py_TYPE(self)->tp_name, UNS_LOAD(&lock->owner), UNS_LOAD(&lock->depth), self);
}

static PyMethodDef rlock_methods[] = {
    {"acquire", KEYWORDS(rlock_acquire), METH_VARARGS | METH_KEYWORDS, NULL},
    {"release", rlock_release, METH_NOARGS, NULL},
    {"__enter__", rlock_enter, METH_NOARGS, NULL},
    {"__exit__", KEYWORDS(rlock_exit), METH_FASTCALL, NULL},
#if PY_VERSION_HEX >= 0x030E0000
    {"locked", lock_locked, METH_NOARGS, NULL},
#endif
    {"_is_owned", rlock_is_owned, METH_NOARGS, NULL},
    {"_recursion_count", rlock_recursion_count, METH_NOARGS, NULL},
    {"_release_save", rlock_release_save, METH_NOARGS, NULL},
    {"_acquire_restore", rlock_acquire_restore, METH_O, NULL},
    {"_at_fork_reinit", lock_reinit, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject RLockType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_thread.RLock",
    .tp_basicsize = sizeof(LockObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = lock_new,
    .tp_dealloc = lock_dealloc,
    .tp_repr = rlock_repr,
    .tp_methods = rlock_methods,
    .tp_weaklistoffset = offsetof(LockObject, weakrefs),
};

static PyMethodDef module_methods[] = {
    {"on_short_wait", on_short_wait, METH_O,
     "on_short_wait(callback): asked without arguments whether the wait that the calling thread is "
     "about to begin is a sleep"},
    {NULL, NULL, 0, NULL},
};

int uns_locks_init(PyObject *module) {
    if (PyModule_AddFunctions(module, module_methods) < 0)
        return -1;
    if (PyType_Ready(&LockType) < 0 || PyType_Ready(&RLockType) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "Lock", (PyObject *)&LockType) < 0 ||
                   PyModule_AddObjectRef(module, "RLock", (PyObject *)&RLockType) < 0
               ? -1
               : 0;
}
