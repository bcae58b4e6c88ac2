/* SPDX-License-Identifier: Apache-2.0
 *
 * Exceptions that the target catches. Rewritten code comes by where a handler is entered and where
 * one is known to catch; nothing is done where nothing is raised. A program may raise all the time:
 * of exceptions of one type, from one line to one handler, only the first is reported to the hook.
 */
#include "binding/binding.h"
#include <frameobject.h>

#define UNDER_WAY   4   /* exceptions of one thread that are remembered: handlers raise, too */
#define MOST_CAUGHT 256 /* kinds of them in one run; a power of two */

/* Compared by address and never followed: a reference would keep the target's objects alive. */
struct under_way {
    const PyObject *error;
    const void *origin; /* the traceback's innermost entry: an address alone may be a new object */
    uint64_t time;
};
static __thread struct under_way under_way[UNDER_WAY];
static __thread unsigned latest;

static PyObject *caught_hook;
static uint64_t reported[MOST_CAUGHT];
static unsigned reported_count;
UNS_GUARD(reporting);

PyObject *uns_set_caught_hook(PyObject *module, PyObject *hook) {
    Py_XSETREF(caught_hook, hook == Py_None ? NULL : Py_NewRef(hook));
    memset(reported, 0, sizeof reported);
    reported_count = 0;
    Py_RETURN_NONE;
}

/* Borrowed: the exception has it. NULL if it has none: `with_traceback(None)`, which unittest's
 * assertRaises does, leaves None there before Python 3.13. */
static const PyTracebackObject *traceback_of(PyObject *error) {
    PyObject *traceback = PyException_GetTraceback(error);
    Py_XDECREF(traceback);
    return traceback && PyTraceBack_Check(traceback) ? (PyTracebackObject *)traceback : NULL;
}

/* Where it was raised (borrowed, too); NULL if it was not. */
static const PyTracebackObject *origin_of(PyObject *error) {
    const PyTracebackObject *entry = traceback_of(error);
    while (entry && entry->tb_next)
        entry = entry->tb_next;
    return entry;
}

static const struct under_way *find(const PyObject *error, const void *origin) {
    for (int i = 0; i < UNDER_WAY; i++)
        if (under_way[i].error == error && under_way[i].origin == origin)
            return &under_way[i];
    return NULL;
}

static struct uns_thread *watched_thread(PyObject *error) {
    struct uns_thread *t = uns_rt.active && !uns_rt.recording && caught_hook ? uns_self : NULL;
    return t && !t->muted && PyExceptionInstance_Check(error) ? t : NULL;
}

static uint64_t raised_at(PyObject *error, const PyTracebackObject *origin) {
    const struct under_way *one = find(error, origin);
    if (one)
        return one->time;
    latest = (latest + 1) % UNDER_WAY;
    under_way[latest] = (struct under_way){error, origin, uns_rt.tracker.now()};
    return under_way[latest].time;
}

/* A handler begins: whatever its thread does from now on comes after the exception. */
void uns_handler_entered(PyObject *error) {
    if (watched_thread(error))
        raised_at(error, origin_of(error));
}

/* Handlers of libraries have no sites; what a library raises by itself is its own business. */
static int concerns_target(const Site *site, PyObject *error) {
    const PyTracebackObject *entry = traceback_of(error);
    int found = site->id != 0;
    for (; entry && !found; entry = entry->tb_next)
        found = uns_function_site(entry->tb_frame) != 0;
    return found;
}

static int add(uint64_t kind) {
    kind |= !kind;
    for (uint64_t at = kind; reported_count < MOST_CAUGHT / 2; at++) {
        uint64_t *entry = &reported[at % MOST_CAUGHT];
        if (*entry == kind)
            return 0;
        if (*entry)
            continue;
        *entry = kind;
        reported_count++;
        return 1;
    }
    return 0;
}

static int is_new(uint64_t kind) {
    UNS_ENTER(reporting);
    int added = add(kind);
    UNS_LEAVE(reporting);
    return added;
}

static uint64_t kind_of(const Site *site, PyObject *error, const PyTracebackObject *origin) {
    uint64_t kind = uns_mix((uintptr_t)site) ^ (uintptr_t)Py_TYPE(error);
    if (!origin)
        return uns_mix(kind);
    PyCodeObject *code = PyFrame_GetCode(origin->tb_frame);
    kind = uns_mix(kind) ^ (uintptr_t)code ^ (uint64_t)origin->tb_lasti << 48;
    Py_DECREF(code);
    return uns_mix(kind);
}

/* hook(error, time), called in the frame that has caught it. */
void uns_caught(const Site *site, PyObject *error) {
    struct uns_thread *t = watched_thread(error);
    if (!t || !concerns_target(site, error))
        return;
    const PyTracebackObject *origin = origin_of(error);
    uint64_t time = raised_at(error, origin);
    if (!is_new(kind_of(site, error, origin)))
        return;
    t->muted++; /* what the hook touches is no event */
    PyObject *result = PyObject_CallFunction(caught_hook, "OK", error, (unsigned long long)time);
    if (!result)
        PyErr_WriteUnraisable(caught_hook);
    Py_XDECREF(result);
    t->muted--;
}

PyObject *uns_raised_time(PyObject *module, PyObject *error) {
    const struct under_way *one =
        PyExceptionInstance_Check(error) ? find(error, origin_of(error)) : NULL;
    return PyLong_FromUnsignedLongLong(one ? one->time : 0);
}
