/* SPDX-License-Identifier: Apache-2.0
 *
 * Begin, annotate and finish a run.
 */
#include "binding/binding.h"
#include "binding/plan.h"
#include "runtime/plan_file.h"
#include <unistd.h>

static PyObject *deadlock_hook;

/* The interpreter runs its handlers by itself. */
static void go_on(void) {}

/* C code of an extension may wait as well, and may have let go of the GIL before. */
static void *park(void) {
    return PyGILState_Check() ? PyEval_SaveThread() : NULL;
}

static void unpark(void *state) {
    if (state)
        PyEval_RestoreThread(state);
}

static void report_deadlock(void) {
    PyGILState_Ensure();
    uns_report_deadlock();
}

static const struct uns_hooks gil_hooks = {
    .park = park,
    .idle = go_on,
    .unpark = unpark,
    .inside = uns_python_inside,
#ifndef Py_GIL_DISABLED
    .exclusive = PyGILState_Check,
#endif
    .deadlock = report_deadlock,
    .in_flight = uns_data_in_flight,
    .children = uns_children_run,
};

void uns_use_gil_hooks(void) {
    uns_rt.hooks = gil_hooks;
}

static PyObject *begin_run(PyObject *module, PyObject *run) {
    struct uns_plan plan;
    if (!PyDict_Check(run)) {
        PyErr_SetString(PyExc_TypeError, "begin_run wants the run message, a dict");
        return NULL;
    }
    if (uns_parse_plan(run, &plan) < 0)
        return NULL;
    if (uns_run_begin(&plan, &gil_hooks) < 0) {
        PyErr_Format(PyExc_ValueError, "this run cannot begin: strategy '%s'", plan.strategy);
        return NULL;
    }
    uns_hear();
    Py_RETURN_NONE;
}

/* For a program that has no Python in it. */
static PyObject *store_plan(PyObject *module, PyObject *args) {
    struct uns_plan plan;
    PyObject *run;
    const char *path;
    if (!PyArg_ParseTuple(args, "O!s:store_plan", &PyDict_Type, &run, &path) ||
        uns_parse_plan(run, &plan) < 0)
        return NULL;
    if (uns_plan_store(&plan, path) < 0)
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    Py_RETURN_NONE;
}

static PyObject *finish_run(PyObject *module, PyObject *unused) {
    if (uns_rt.recording && uns_rt.active)
        uns_settle_value();
    return PyBool_FromLong(uns_run_finish() == 0);
}

static PyObject *abandon_run(PyObject *module, PyObject *unused) {
    uns_run_abandon();
    Py_RETURN_NONE;
}

static PyObject *note(PyObject *module, PyObject *text) {
    Py_ssize_t bytes;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &bytes);
    if (!utf8)
        return NULL;
    uns_note(utf8, (uint32_t)bytes);
    Py_RETURN_NONE;
}

static PyObject *counters(PyObject *module, PyObject *unused) {
    static const char *const names[UNS_COUNTERS] = {"events",           "steps",
                                                    "switches",         "edges_dropped",
                                                    "cells_evicted",    "stalls",
                                                    "diverged",         "diverged_at",
                                                    "uncontrolled",     "aliased",
                                                    "trace_dropped",    "schedule_dropped",
                                                    "patterns_dropped", "diverged_segment",
                                                    "log_dropped",      "sketch_passed",
                                                    "waits_holding"};
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < UNS_COUNTERS && names[i]; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(uns_rt.counters[i]);
        if (!value || PyDict_SetItemString(dict, names[i], value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* An array of uint32, by site. It stays the caller's, who may add to it as code is loaded. */
static PyObject *set_first_sites(PyObject *module, PyObject *table) {
    static Py_buffer view;
    if (view.obj)
        PyBuffer_Release(&view);
    uns_use_first_sites(NULL, 0);
    if (PyObject_GetBuffer(table, &view, PyBUF_SIMPLE) < 0)
        return NULL;
    uns_use_first_sites(view.buf, (uint32_t)(view.len / 4));
    Py_RETURN_NONE;
}

/* Rows of (build id, first site, sites, offset): see struct uns_module. */
static PyObject *set_modules(PyObject *module, PyObject *list) {
    static struct uns_module *modules;
    Py_ssize_t length = PyList_Check(list) ? PyList_GET_SIZE(list) : 0;
    uns_use_modules(NULL, 0);
    PyMem_RawFree(modules);
    modules = PyMem_RawCalloc((size_t)length + 1, sizeof *modules);
    if (!modules)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < length; i++) {
        struct uns_module *one = &modules[i];
        const char *id;
        Py_ssize_t size;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "y#III", &id, &size, &one->first,
                              &one->sites, &one->offset))
            return NULL;
        memcpy(one->id, id, (size_t)size < sizeof one->id ? (size_t)size : sizeof one->id);
    }
    uns_use_modules(modules, (uint32_t)length);
    Py_RETURN_NONE;
}

static PyObject *first_point(PyObject *module, PyObject *point) {
    unsigned long raw = PyLong_AsUnsignedLong(point);
    return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLong(uns_first_point((uint32_t)raw));
}

/* While a person looks, the holder of the token is not stalled, and no time passes. */
static PyObject *pause_run(PyObject *module, PyObject *on) {
    static int64_t since;
    int pause = PyObject_IsTrue(on);
    if (pause < 0)
        return NULL;
    if (pause && !uns_rt.paused)
        since = uns_clock_ns();
    if (!pause && uns_rt.paused)
        __atomic_fetch_sub(&uns_rt.clock_offset, uns_clock_ns() - since, __ATOMIC_RELAXED);
    __atomic_store_n(&uns_rt.paused, pause, __ATOMIC_RELAXED);
    Py_RETURN_NONE;
}

static PyObject *set_deadlock_hook(PyObject *module, PyObject *hook) {
    Py_XSETREF(deadlock_hook, hook == Py_None ? NULL : Py_NewRef(hook));
    Py_RETURN_NONE;
}

static PyObject *wait_tuple(const struct uns_wait_record *wait) {
    const struct uns_thread *t = uns_thread_by_index(wait->thread);
    const struct uns_thread *owner =
        wait->owner == UNS_NO_OWNER ? NULL : uns_thread_by_index(wait->owner);
    return Py_BuildValue("sIss", t ? t->path : "?", UNS_POINT_SITE(wait->point),
                         owner ? owner->path : "",
                         UNS_POINT_OP(wait->point) == UNS_JOIN ? "join" : "lock");
}

static PyObject *wait_list(void) {
    static struct uns_wait_record waits[256];
    uint32_t count = uns_gate_waits(waits, 256);
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < count; i++) {
        PyObject *row = wait_tuple(&waits[i]);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* A deadlock: nobody will ever run again, so this is the last code of the process. */
void uns_report_deadlock(void) {
    uns_gate_deadlock_edges();
    if (uns_self)
        uns_self->muted++;
    PyObject *waits = deadlock_hook ? wait_list() : NULL;
    if (waits)
        Py_XDECREF(PyObject_CallFunction(deadlock_hook, "sO", "deadlock", waits));
    if (PyErr_Occurred())
        PyErr_Print();
    uns_run_finish();
    _exit(UNS_EXIT_DEADLOCK);
}

PyMethodDef uns_control_methods[] = {
    {"begin_run", begin_run, METH_O, "begin_run(run): the calling thread becomes thread 0"},
    {"store_plan", store_plan, METH_VARARGS, "store_plan(run, path): for probe_c to read"},
    {"finish_run", finish_run, METH_NOARGS, "write the run file; the first call counts"},
    {"abandon_run", abandon_run, METH_NOARGS, "this process is a copy: no gate, no run file"},
    {"note", note, METH_O, "add one line (a JSON object) to the run's notes"},
    {"counters", counters, METH_NOARGS, "the runtime's counters"},
    {"set_first_sites", set_first_sites, METH_O,
     "set_first_sites(array): by site the first one of the same operation in the source"},
    {"set_modules", set_modules, METH_O, "set_modules([(build id, first, sites, offset)])"},
    {"first_point", first_point, METH_O,
     "first_point(point): the same operation at its first site"},
    {"pause", pause_run, METH_O, "pause(on): a person looks at the run"},
    {"set_deadlock_hook", set_deadlock_hook, METH_O, "hook('deadlock', waits)"},
    {NULL, NULL, 0, NULL},
};
