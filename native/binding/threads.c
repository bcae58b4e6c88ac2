/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads, sleep and clocks, for unsnarl.probes.python.sync.
 */
#include "binding/binding.h"
#include <time.h>

static const char capsule_name[] = "unsnarl.thread";

/* FNV-1a: the same in every process, unlike Python's own hashes. */
static uint64_t hash_of(const char *text) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
    return hash;
}

static PyObject *thread_new(PyObject *module, PyObject *args) {
    const char *name, *function = "";
    int daemon, pooled = 0, inside = 0;
    if (!PyArg_ParseTuple(args, "sp|sp:thread_new", &name, &daemon, &function, &pooled))
        return NULL;
    if (!uns_rt.active)
        Py_RETURN_NONE;
    struct uns_thread *t = uns_thread_new(uns_current(), name, daemon ? UNS_THREAD_DAEMON : 0);
    if (!t)
        return PyErr_NoMemory();
    uns_current()->starting = t->index + 1; /* start() waits until it has begun */
    if (*function)
        uns_thread_is_of(t, hash_of(function), pooled ? 0 : uns_python_site(&inside));
    return PyCapsule_New(t, capsule_name, NULL);
}

static struct uns_thread *thread_of(PyObject *handle) {
    return handle == Py_None || !uns_rt.active ? NULL : PyCapsule_GetPointer(handle, capsule_name);
}

static PyObject *thread_begin(PyObject *module, PyObject *handle) {
    struct uns_thread *t = thread_of(handle);
    if (t) {
        uns_thread_begin(t);
        uns_hear();
    }
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *thread_end(PyObject *module, PyObject *unused) {
    if (uns_rt.active && uns_self && uns_thread_end(uns_self) == UNS_DEADLOCKED)
        uns_report_deadlock();
    Py_RETURN_NONE;
}

static PyObject *thread_discard(PyObject *module, PyObject *handle) {
    struct uns_thread *t = thread_of(handle);
    if (t)
        uns_thread_discard(t);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *current_path(PyObject *module, PyObject *unused) {
    return PyUnicode_FromString(uns_rt.active && uns_self ? uns_self->path : "");
}

static PyObject *thread_count(PyObject *module, PyObject *unused) {
    return PyLong_FromUnsignedLong(uns_rt.active ? uns_rt.thread_count : 0);
}

static PyObject *muted(PyObject *module, PyObject *on) {
    int mute = PyObject_IsTrue(on);
    if (mute < 0)
        return NULL;
    if (uns_rt.active && uns_self) {
        if (mute)
            uns_self->muted++;
        else if (uns_self->muted)
            uns_self->muted--;
    }
    Py_RETURN_NONE;
}

/* Its schedule goes on, its evidence does not: teardown would be taken for a cause. */
static PyObject *failed(PyObject *module, PyObject *unused) {
    if (uns_rt.active && uns_self && !uns_self->failed) {
        uns_self->failed = 1;
        uns_self->muted++;
    }
    Py_RETURN_NONE;
}

static PyObject *sleep_seconds(PyObject *module, PyObject *argument) {
    double seconds = PyFloat_AsDouble(argument);
    if (seconds == -1 && PyErr_Occurred())
        return NULL;
    if (seconds < 0) {
        PyErr_SetString(PyExc_ValueError, "sleep length must be non-negative");
        return NULL;
    }
    int64_t deadline = uns_clock_ns() + (int64_t)(seconds * 1e9);
    int inside = 0;
    uint32_t site = uns_rt.active ? uns_python_site(&inside) : 0;
    for (int64_t left = deadline - uns_clock_ns();; left = deadline - uns_clock_ns()) {
        enum uns_grant outcome = uns_sleep(site, left > 0 ? left : 0, inside);
        if (outcome == UNS_DEADLOCKED)
            uns_report_deadlock();
        if (outcome != UNS_INTERRUPTED)
            Py_RETURN_NONE;
        if (uns_run_handlers() < 0)
            return NULL;
    }
}

static PyObject *linger(PyObject *module, PyObject *unused) {
    uns_gate_linger();
    Py_RETURN_NONE;
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec +
           __atomic_load_n(&uns_rt.clock_offset, __ATOMIC_RELAXED);
}

static PyObject *monotonic(PyObject *module, PyObject *unused) {
    return PyFloat_FromDouble((double)clock_ns(CLOCK_MONOTONIC) * 1e-9);
}

static PyObject *monotonic_ns(PyObject *module, PyObject *unused) {
    return PyLong_FromLongLong(clock_ns(CLOCK_MONOTONIC));
}

static PyObject *wall(PyObject *module, PyObject *unused) {
    return PyFloat_FromDouble((double)clock_ns(CLOCK_REALTIME) * 1e-9);
}

static PyObject *wall_ns(PyObject *module, PyObject *unused) {
    return PyLong_FromLongLong(clock_ns(CLOCK_REALTIME));
}

PyMethodDef uns_thread_methods[] = {
    {"thread_new", thread_new, METH_VARARGS,
     "thread_new(name, daemon, function, pooled): a thread is about to start"},
    {"thread_begin", thread_begin, METH_O, "called by the new thread first"},
    {"thread_end", thread_end, METH_NOARGS, "called by the thread last"},
    {"thread_discard", thread_discard, METH_O, "the thread could not be started"},
    {"current_path", current_path, METH_NOARGS, "path of the calling thread"},
    {"thread_count", thread_count, METH_NOARGS, "how many threads the run has had"},
    {"muted", muted, METH_O, "switch the calling thread's probes off or on; nests"},
    {"failed", failed, METH_NOARGS, "the calling thread has failed: no evidence from now on"},
    {"linger", linger, METH_NOARGS, "the process, or a thread, is about to end: others may run"},
    {"sleep", sleep_seconds, METH_O, "time.sleep under the gate"},
    {"monotonic", monotonic, METH_NOARGS, "time.monotonic, with the time that waiting was spared"},
    {"perf_counter", monotonic, METH_NOARGS, "time.perf_counter, likewise"},
    {"time", wall, METH_NOARGS, "time.time, likewise"},
    {"monotonic_ns", monotonic_ns, METH_NOARGS, "time.monotonic_ns, likewise"},
    {"perf_counter_ns", monotonic_ns, METH_NOARGS, "time.perf_counter_ns, likewise"},
    {"time_ns", wall_ns, METH_NOARGS, "time.time_ns, likewise"},
    {NULL, NULL, 0, NULL},
};
