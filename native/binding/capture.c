/* SPDX-License-Identifier: Apache-2.0
 *
 * Values are never taken on the hot path: they are captured while the shown run is replayed. The
 * hook is Python code; it runs muted, so what it touches is no event.
 */
#include "binding/binding.h"

PyObject *uns_capture_hook, *uns_break_hook, *uns_branch_hook;
/* Thread index -> list of (lock, section), only while capturing. Every acquisition of any lock
 * opens a section of its own number: one lock in one section is one critical section. */
static PyObject *held_locks;
static unsigned long long sections;

PyObject *uns_set_capture_hook(PyObject *module, PyObject *hook) {
    Py_XSETREF(uns_capture_hook, hook == Py_None ? NULL : Py_NewRef(hook));
    Py_XSETREF(held_locks, PyDict_New());
    if (!held_locks)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *locks_of(const struct uns_thread *t) {
    PyObject *index = PyLong_FromUnsignedLong(t->index);
    PyObject *list = index ? PyDict_GetItemWithError(held_locks, index) : NULL;
    if (index && !list && !PyErr_Occurred()) {
        list = PyList_New(0);
        if (list && PyDict_SetItem(held_locks, index, list) < 0)
            Py_CLEAR(list);
        Py_XDECREF(list); /* the dictionary keeps it */
    }
    Py_XDECREF(index);
    return list;
}

static int forget(PyObject *list, const PyObject *lock) {
    for (Py_ssize_t i = PyList_GET_SIZE(list) - 1; i >= 0; i--)
        if (PyTuple_GET_ITEM(PyList_GET_ITEM(list, i), 0) == lock)
            return PySequence_DelItem(list, i) == 0;
    return 0;
}

/* A lock may be released by another thread than the one that took it. */
static void forget_anywhere(const PyObject *lock) {
    PyObject *index, *list;
    Py_ssize_t at = 0;
    while (PyDict_Next(held_locks, &at, &index, &list))
        if (forget(list, lock))
            return;
}

void uns_capture_lock(PyObject *lock, int acquired) {
    struct uns_thread *t = uns_rt.active ? uns_self : NULL;
    if (!t || !held_locks)
        return;
    PyObject *list = locks_of(t);
    if (list && acquired) {
        PyObject *entry = Py_BuildValue("OK", lock, ++sections);
        if (entry)
            PyList_Append(list, entry);
        Py_XDECREF(entry);
    } else if (list && !forget(list, lock)) {
        forget_anywhere(lock);
    }
    PyErr_Clear();
}

/* Without signals, and without the locks that only this list still knows: nobody can release them,
 * or wait for them (Condition.wait leaves one behind each time). */
static PyObject *held_by(const struct uns_thread *t) {
    PyObject *list = locks_of(t), *held = PyList_New(0);
    for (Py_ssize_t i = 0; held && list && i < PyList_GET_SIZE(list); i++) {
        PyObject *entry = PyList_GET_ITEM(list, i);
        PyObject *lock = PyTuple_GET_ITEM(entry, 0);
        if (Py_REFCNT(lock) > 1 && !uns_is_signal(lock) && PyList_Append(held, entry) < 0)
            Py_CLEAR(held);
    }
    return held;
}

/* The target's state while a hook runs: its pending exception. */
struct aside {
    PyObject *type, *value, *traceback;
};

static struct aside set_aside(struct uns_thread *t) {
    struct aside aside;
    PyErr_Fetch(&aside.type, &aside.value, &aside.traceback);
    t->muted++; /* what the hook touches is no event */
    return aside;
}

/* The hook is done; was its result, which is given up here, True? */
static int take_up(struct uns_thread *t, struct aside *aside, PyObject *hook, PyObject *result) {
    int yes = result == Py_True;
    if (!result)
        PyErr_WriteUnraisable(hook);
    Py_XDECREF(result);
    t->muted--;
    PyErr_Restore(aside->type, aside->value, aside->traceback);
    return yes;
}

void uns_capture(Site *site, struct uns_thread *t, uint32_t point, PyObject *object, PyObject *key,
                 int write) {
    struct aside aside = set_aside(t);
    PyObject *locks = held_by(t);
    PyObject *result = locks ? PyObject_CallFunction(uns_capture_hook, "KIsOOiO",
                                                     (unsigned long long)t->events - 1, point,
                                                     t->path, object, key, write, locks)
                             : NULL;
    take_up(t, &aside, uns_capture_hook, result);
    Py_XDECREF(locks);
}

/* A lock or a thread's end: nothing to read, but who called matters. */
void uns_capture_sync(uint32_t point, PyObject *lock) {
    struct uns_thread *t = uns_rt.active ? uns_self : NULL;
    if (t && !t->muted)
        uns_capture(NULL, t, point, lock, Py_None, 0);
}

PyObject *uns_set_break_hook(PyObject *module, PyObject *hook) {
    Py_XSETREF(uns_break_hook, hook == Py_None ? NULL : Py_NewRef(hook));
    Py_RETURN_NONE;
}

/* Just before an operation, its thread holding the token: hook(its first point, path). What the
 * hook calls is no event; it may start a debugger. */
void uns_break(uint32_t point) {
    struct uns_thread *t = uns_rt.active ? uns_self : NULL;
    if (!t || t->muted)
        return;
    struct aside aside = set_aside(t);
    PyObject *result = PyObject_CallFunction(uns_break_hook, "Is", uns_first_point(point), t->path);
    take_up(t, &aside, uns_break_hook, result);
}

PyObject *uns_set_branch_hook(PyObject *module, PyObject *hook) {
    Py_XSETREF(uns_branch_hook, hook == Py_None ? NULL : Py_NewRef(hook));
    Py_RETURN_NONE;
}

/* The thread's recorded path is at its end: it waits for good, and the others go on. */
static void stay(const Site *site) {
    static struct uns_lock never = {.word = 1, .owner = UNS_NO_OWNER};
    while (uns_rt.active)
        if (uns_lock_acquire(&never, site->id, UNS_FOREVER, 0) == UNS_DEADLOCKED)
            uns_report_deadlock();
}

/* Before a branch: hook(site, path, what is asked, whether it is asked to be None) -> whether the
 * thread has come far enough. */
void uns_ask(const Site *site, struct uns_thread *t, PyObject *asked) {
    struct aside aside = set_aside(t);
    PyObject *result = PyObject_CallFunction(uns_branch_hook, "IsOi", site->id, t->path, asked,
                                             (site->flags & SITE_ASKS_NONE) != 0);
    if (take_up(t, &aside, uns_branch_hook, result))
        stay(site);
}
