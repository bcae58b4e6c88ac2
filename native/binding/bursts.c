/* SPDX-License-Identifier: Apache-2.0
 *
 * Bursts of a watched Python program. Functions have their own code but for bursts, so that probes
 * that are off cost nothing: they are not there. What a burst changes is changed in one call, with
 * the interpreter's lock held throughout.
 */
#include "binding/binding.h"
#include "binding/plan.h"
#include <time.h>

/* Gives functions[i] the code codes[i]; returns how many were changed. */
static Py_ssize_t exchange(PyObject *functions, PyObject *codes) {
    Py_ssize_t changed = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(functions); i++) {
        PyObject *function = PyList_GET_ITEM(functions, i), *code = PyList_GET_ITEM(codes, i);
        if (PyFunction_GET_CODE(function) == code)
            continue;
        if (PyObject_SetAttrString(function, "__code__", code) < 0)
            PyErr_Clear(); /* an audit hook of the target forbids it: it stays as it is */
        else
            changed++;
    }
    return changed;
}

static int are_lists(PyObject *functions, PyObject *codes) {
    if (PyList_GET_SIZE(functions) != PyList_GET_SIZE(codes)) {
        PyErr_SetString(PyExc_ValueError, "every function needs a code");
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(functions); i++)
        if (!PyFunction_Check(PyList_GET_ITEM(functions, i)) ||
            !PyCode_Check(PyList_GET_ITEM(codes, i))) {
            PyErr_SetString(PyExc_TypeError, "these must be functions and their codes");
            return 0;
        }
    return 1;
}

static PyObject *prepare_bursts(PyObject *module, PyObject *run) {
    struct uns_plan plan;
#ifdef Py_GIL_DISABLED
    PyErr_SetString(PyExc_ValueError, "without the interpreter's lock no program can be watched");
    return NULL;
#endif
    if (!PyDict_Check(run) || uns_parse_plan(run, &plan) < 0)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "a plan is a dict");
    struct uns_hooks none = {0};
    if (plan.kind != UNS_PLAN_FREE || uns_run_begin(&plan, &none) < 0)
        return PyErr_Format(PyExc_ValueError, "this program cannot be watched");
    uns_burst_off();
    Py_RETURN_NONE;
}

static PyObject *begin_burst(PyObject *module, PyObject *args) {
    const char *file;
    PyObject *functions, *codes;
    if (!PyArg_ParseTuple(args, "sO!O!:begin_burst", &file, &PyList_Type, &functions, &PyList_Type,
                          &codes) ||
        !are_lists(functions, codes))
        return NULL;
    Py_ssize_t changed = exchange(functions, codes);
    uns_burst_begin(file);
    return PyLong_FromSsize_t(changed);
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Takes the probes out, then writes the run file without the lock: nobody can be in a probe that
 * delivers, and the program goes on meanwhile. Gives whether that worked, and what process and
 * thread had used of the processor when the probes were off. */
static PyObject *end_burst(PyObject *module, PyObject *args) {
    PyObject *functions, *codes;
    if (!PyArg_ParseTuple(args, "O!O!:end_burst", &PyList_Type, &functions, &PyList_Type, &codes) ||
        !are_lists(functions, codes))
        return NULL;
    exchange(functions, codes);
    uns_burst_off();
    double process = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    double thread = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    int outcome;
    Py_BEGIN_ALLOW_THREADS;
    outcome = uns_burst_write();
    Py_END_ALLOW_THREADS;
    return Py_BuildValue("Odd", outcome == 0 ? Py_True : Py_False, process, thread);
}

static PyObject *forked_burst(PyObject *module, PyObject *args) {
    PyObject *functions, *codes;
    if (!PyArg_ParseTuple(args, "O!O!:forked_burst", &PyList_Type, &functions, &PyList_Type,
                          &codes) ||
        !are_lists(functions, codes))
        return NULL;
    uns_burst_forked();
    exchange(functions, codes);
    Py_RETURN_NONE;
}

PyMethodDef uns_burst_methods[] = {
    {"prepare_bursts", prepare_bursts, METH_O, "prepare_bursts(plan): off until the first burst"},
    {"begin_burst", begin_burst, METH_VARARGS, "begin_burst(file, functions, codes with probes)"},
    {"end_burst", end_burst, METH_VARARGS, "end_burst(functions, their own codes)"},
    {"forked_burst", forked_burst, METH_VARARGS, "in a copy of the process: no burst is on"},
    {NULL, NULL, 0, NULL},
};
