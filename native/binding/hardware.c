/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated multiprocessor, for Python.
 */
#include "hardware/hardware.h"
#include "binding/binding.h"

typedef struct {
    PyObject_HEAD struct uns_hardware *hardware;
    unsigned cores;
} Hardware;

static PyObject *hardware_feed(PyObject *object, PyObject *given) {
    Hardware *self = (Hardware *)object;
    Py_buffer rows;
    if (PyObject_GetBuffer(given, &rows, PyBUF_SIMPLE) < 0)
        return NULL;
    const struct uns_event_record *events = rows.buf;
    Py_ssize_t count = uns_are_events(&rows) ? rows.len / (Py_ssize_t)sizeof *events : -1;
    for (Py_ssize_t i = 0; i < count; i++)
        uns_hardware_feed(self->hardware, &events[i]);
    PyBuffer_Release(&rows);
    if (count < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *hardware_result(PyObject *object, PyObject *unused) {
    Hardware *self = (Hardware *)object;
    uns_hardware_end(self->hardware);
    const struct uns_table *edges = uns_hardware_edges(self->hardware);
    return Py_BuildValue("y#y#", edges->rows ? edges->rows : "",
                         (Py_ssize_t)edges->used * (Py_ssize_t)sizeof(struct uns_edge_record),
                         (const char *)uns_hardware_counts(self->hardware),
                         (Py_ssize_t)sizeof(struct uns_hardware_counts));
}

static PyObject *hardware_state(PyObject *object, PyObject *args) {
    const Hardware *self = (Hardware *)object;
    unsigned core;
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "IK:state", &core, &address))
        return NULL;
    if (core >= self->cores)
        return PyErr_Format(PyExc_IndexError, "there is no core %u", core);
    return PyLong_FromLong((long)uns_hardware_state(self->hardware, core, address));
}

static PyObject *hardware_context(PyObject *object, PyObject *given) {
    const Hardware *self = (Hardware *)object;
    unsigned long core = PyLong_AsUnsignedLong(given);
    if (PyErr_Occurred())
        return NULL;
    if (core >= self->cores)
        return PyErr_Format(PyExc_IndexError, "there is no core %lu", core);
    return PyLong_FromUnsignedLong(uns_hardware_context(self->hardware, (uint32_t)core));
}

static void hardware_dealloc(PyObject *object) {
    Hardware *self = (Hardware *)object;
    if (self->hardware)
        uns_hardware_free(self->hardware);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *hardware_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    static char *names[] = {"cores",   "sets", "ways",        "line",
                            "entries", "trap", "quiet_locks", NULL};
    unsigned cores, sets, ways, line, entries;
    unsigned long long trap;
    int quiet_locks = 0;
    if (!PyArg_ParseTupleAndKeywords(args, named, "IIIIIK|p:Hardware", names, &cores, &sets, &ways,
                                     &line, &entries, &trap, &quiet_locks))
        return NULL;
    const struct uns_hardware_options options = {cores,   sets, ways,       line,
                                                 entries, trap, quiet_locks};
    Hardware *self = (Hardware *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->cores = cores;
    self->hardware = uns_hardware_new(&options);
    if (!self->hardware) {
        Py_DECREF(self);
        PyErr_SetString(PyExc_ValueError, "there is no such machine, or no memory for it");
        return NULL;
    }
    return (PyObject *)self;
}

static PyMethodDef hardware_methods[] = {
    {"feed", hardware_feed, METH_O, "feed(events): the next ones of the trace"},
    {"result", hardware_result, METH_NOARGS, "result() -> (edges, counts)"},
    {"state", hardware_state, METH_VARARGS, "state(core, address): of the line, MESI as 3 to 0"},
    {"context", hardware_context, METH_O, "context(core): its register"},
    {NULL, NULL, 0, NULL},
};

PyTypeObject HardwareType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "unsnarl._core.Hardware",
    .tp_basicsize = sizeof(Hardware),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The caches of a multiprocessor, over a trace (Bugaboo 4.2).",
    .tp_new = hardware_new,
    .tp_dealloc = hardware_dealloc,
    .tp_methods = hardware_methods,
};
