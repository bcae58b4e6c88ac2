/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops of native/clock/ for Python. Stamps come back as bytes: recording/clocks/observed.py
 * has the layout as a dtype.
 */
#include "binding/binding.h"
#include "clock/calibrate.h"

_Static_assert(sizeof(struct uns_stamps) == 24, "STAMPS in recording/clocks/observed.py");

static int bad_reading(unsigned reading) {
    if (reading < UNS_CLOCK_READINGS)
        return 0;
    PyErr_SetString(PyExc_ValueError, "no such way to read a clock");
    return 1;
}

static int parse(PyObject *args, struct uns_calibration *how) {
    unsigned test, reading;
    unsigned long long runs;
    double seconds;
    PyObject *cores;
    if (!PyArg_ParseTuple(args, "IIOKd", &test, &reading, &cores, &runs, &seconds) ||
        bad_reading(reading))
        return -1;
    if (test >= UNS_CLOCK_TESTS || runs > UNS_CLOCK_MOST_RUNS || !(seconds > 0 && seconds < 1e6)) {
        PyErr_SetString(PyExc_ValueError, "no such test, or too many runs or seconds");
        return -1;
    }
    *how = (struct uns_calibration){.test = test,
                                    .reading = reading,
                                    .pinned = cores != Py_None,
                                    .runs = runs,
                                    .most_nanos = (int64_t)(seconds * 1e9)};
    uint32_t *c = how->cores;
    if (!how->pinned)
        return 0;
    return PyArg_ParseTuple(cores, test == UNS_TEST_TRIGGER ? "III" : "II", c, c + 1, c + 2) - 1;
}

static PyObject *calibrate(PyObject *module, PyObject *args) {
    struct uns_calibration how;
    int64_t count;
    if (parse(args, &how) < 0)
        return NULL;
    struct uns_stamps *stamps = PyMem_RawCalloc(uns_calibration_most(&how) + 1, sizeof *stamps);
    if (!stamps)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS;
    count = uns_calibrate(&how, stamps);
    Py_END_ALLOW_THREADS;
    PyObject *result = NULL;
    if (count < 0) {
        errno = (int)-count;
        PyErr_SetFromErrno(PyExc_OSError);
    } else {
        result = PyBytes_FromStringAndSize((char *)stamps, count * (int64_t)sizeof *stamps);
    }
    PyMem_RawFree(stamps);
    return result;
}

static PyObject *cost(PyObject *module, PyObject *args) {
    unsigned reading;
    unsigned long long count;
    int64_t nanos;
    if (!PyArg_ParseTuple(args, "IK", &reading, &count) || bad_reading(reading))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    nanos = uns_clock_cost(reading, count);
    Py_END_ALLOW_THREADS;
    return PyLong_FromLongLong(nanos);
}

static PyObject *now(PyObject *module, PyObject *args) {
    unsigned reading;
    uint32_t core;
    if (!PyArg_ParseTuple(args, "I", &reading) || bad_reading(reading))
        return NULL;
    unsigned long long ticks = uns_clock_now(reading, &core);
    return Py_BuildValue("KI", ticks, core);
}

static PyObject *steps(PyObject *module, PyObject *args) {
    unsigned reading;
    if (!PyArg_ParseTuple(args, "I", &reading) || bad_reading(reading))
        return NULL;
    struct uns_clock_steps found = uns_clock_steps(reading);
    return Py_BuildValue("KK", (unsigned long long)found.grain, (unsigned long long)found.closest);
}

PyMethodDef uns_clock_methods[] = {
    {"clock_calibrate", calibrate, METH_VARARGS,
     "clock_calibrate(test, reading, cores or None, runs, seconds) -> stamps"},
    {"clock_cost", cost, METH_VARARGS, "clock_cost(reading, count) -> nanoseconds"},
    {"clock_now", now, METH_VARARGS, "clock_now(reading) -> (ticks, core)"},
    {"clock_steps", steps, METH_VARARGS, "clock_steps(reading) -> (grain, closest)"},
    {NULL, NULL, 0, NULL},
};
