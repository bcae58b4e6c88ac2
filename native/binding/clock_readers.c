/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the interpreter that read a clock in C: datetime.now, time.localtime, clock_gettime
 * and their like. Who slept for a minute of virtual time must see that minute, whichever of them is
 * asked.
 */
#include "binding/binding.h"
#include <datetime.h>
#include <time.h>

#define SECOND_NS      1000000000ll
#define MICROSECOND_NS 1000ll

enum reader { NOW, UTCNOW, LOCALTIME, GMTIME, CTIME, ASCTIME, STRFTIME, CLOCK, CLOCK_NS, READERS };
static PyCFunction original[READERS]; /* NULL: not led */

static int64_t spared(void) {
    return __atomic_load_n(&uns_rt.clock_offset, __ATOMIC_RELAXED);
}

static PyObject *wall_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return PyFloat_FromDouble((double)(now.tv_sec * SECOND_NS + now.tv_nsec + spared()) * 1e-9);
}

/* datetime.now(tz=None) is fromtimestamp(seconds, tz=None): a word more, in front. */
static PyObject *now(PyObject *type, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    Py_ssize_t all = count + (names ? PyTuple_GET_SIZE(names) : 0);
    if (!spared() || all > 1)
        return ((_PyCFunctionFastWithKeywords)(void (*)(void))original[NOW])(type, args, count,
                                                                             names);
    PyObject *method = PyUnicode_InternFromString("fromtimestamp"), *seconds = wall_seconds();
    PyObject *words[] = {type, seconds, all ? args[0] : NULL};
    PyObject *result = method && seconds
                           ? PyObject_VectorcallMethod(method, words, (size_t)count + 2, names)
                           : NULL;
    Py_XDECREF(method);
    Py_XDECREF(seconds);
    return result;
}

/* UTC leaves no hour out, so that what was spared can be added. */
static PyObject *utcnow(PyObject *type, PyObject *unused) {
    PyObject *real = original[UTCNOW](type, unused);
    if (!real || !spared())
        return real;
    int64_t ns = spared();
    PyObject *span =
        PyDelta_FromDSU(0, (int)(ns / SECOND_NS), (int)(ns % SECOND_NS / MICROSECOND_NS));
    PyObject *result = span ? PyNumber_Add(real, span) : NULL;
    Py_XDECREF(span);
    Py_DECREF(real);
    return result;
}

/* Without seconds, it is the time of now that is meant. */
static int means_now(PyObject *args) {
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    return spared() && (!count || (count == 1 && PyTuple_GET_ITEM(args, 0) == Py_None));
}

/* The original with one argument, which is taken over. */
static PyObject *ask(enum reader which, PyObject *self, PyObject *argument) {
    PyObject *args = argument ? PyTuple_Pack(1, argument) : NULL;
    PyObject *result = args ? original[which](self, args) : NULL;
    Py_XDECREF(args);
    Py_XDECREF(argument);
    return result;
}

#define OF_SECONDS(name, which)                                                                    \
    static PyObject *name(PyObject *self, PyObject *args) {                                        \
        return means_now(args) ? ask(which, self, wall_seconds()) : original[which](self, args);   \
    }
OF_SECONDS(localtime_led, LOCALTIME)
OF_SECONDS(gmtime_led, GMTIME)
OF_SECONDS(ctime_led, CTIME)

static PyObject *asctime_led(PyObject *self, PyObject *args) {
    if (PyTuple_GET_SIZE(args) || !spared())
        return original[ASCTIME](self, args);
    return ask(ASCTIME, self, ask(LOCALTIME, self, wall_seconds()));
}

static PyObject *strftime_led(PyObject *self, PyObject *args) {
    if (PyTuple_GET_SIZE(args) != 1 || !spared())
        return original[STRFTIME](self, args);
    PyObject *parts = ask(LOCALTIME, self, wall_seconds());
    PyObject *whole = parts ? PyTuple_Pack(2, PyTuple_GET_ITEM(args, 0), parts) : NULL;
    PyObject *result = whole ? original[STRFTIME](self, whole) : NULL;
    Py_XDECREF(parts);
    Py_XDECREF(whole);
    return result;
}

/* Clocks that count processor time go on as they are. */
static int is_of_waits(PyObject *args) {
    PyObject *id = !PyTuple_Check(args)          ? args
                   : PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0)
                                                 : NULL;
    long clock = id ? PyLong_AsLong(id) : -1;
    PyErr_Clear(); /* the original says what is wrong */
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME ||
           clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_TAI || clock == CLOCK_REALTIME_COARSE ||
           clock == CLOCK_MONOTONIC_COARSE;
}

static PyObject *clock_led(PyObject *self, PyObject *args) {
    PyObject *real = original[CLOCK](self, args);
    if (!real || !spared() || !is_of_waits(args))
        return real;
    double seconds = PyFloat_AsDouble(real);
    Py_DECREF(real);
    return PyFloat_FromDouble(seconds + (double)spared() * 1e-9);
}

static PyObject *clock_ns_led(PyObject *self, PyObject *args) {
    PyObject *real = original[CLOCK_NS](self, args);
    if (!real || !spared() || !is_of_waits(args))
        return real;
    long long ns = PyLong_AsLongLong(real);
    Py_DECREF(real);
    return PyLong_FromLongLong(ns + spared());
}

static int lead_reader(PyObject *owner, const char *name, enum reader which, PyCFunction to,
                       int flags) {
    return uns_lead(owner, name, to, flags, &original[which]);
}

/* Newer versions pass the id of the clock alone. */
static int lead_clock(PyObject *times, const char *name, enum reader which, PyCFunction to) {
    return lead_reader(times, name, which, to, METH_VARARGS) < 0 ||
           lead_reader(times, name, which, to, METH_O) < 0;
}

PyObject *uns_lead_clock_readers(PyObject *module, PyObject *unused) {
    PyDateTime_IMPORT;
    PyObject *times = PyDateTimeAPI ? PyImport_ImportModule("time") : NULL;
    if (!times)
        return NULL;
    PyObject *type = (PyObject *)PyDateTimeAPI->DateTimeType;
    int failed = lead_reader(type, "now", NOW, (PyCFunction)(void (*)(void))now,
                             METH_FASTCALL | METH_KEYWORDS | METH_CLASS) < 0 ||
                 lead_reader(type, "utcnow", UTCNOW, utcnow, METH_NOARGS | METH_CLASS) < 0 ||
                 lead_reader(times, "localtime", LOCALTIME, localtime_led, METH_VARARGS) < 0 ||
                 lead_reader(times, "gmtime", GMTIME, gmtime_led, METH_VARARGS) < 0 ||
                 lead_reader(times, "ctime", CTIME, ctime_led, METH_VARARGS) < 0 ||
                 lead_reader(times, "asctime", ASCTIME, asctime_led, METH_VARARGS) < 0 ||
                 lead_reader(times, "strftime", STRFTIME, strftime_led, METH_VARARGS) < 0 ||
                 lead_clock(times, "clock_gettime", CLOCK, clock_led) ||
                 lead_clock(times, "clock_gettime_ns", CLOCK_NS, clock_ns_led);
    Py_DECREF(times);
    return failed ? NULL : Py_NewRef(Py_None);
}
