/* SPDX-License-Identifier: Apache-2.0
 *
 * What C code reads when it reads a whole container: each of its elements, too. Whoever overwrites
 * one in place leaves the container's shape as it is, and yet the sum of all is another one. Only
 * of small containers, and only at the gate: the hot path and recorded runs are as they were.
 */
#include "binding/binding.h"

#define MOST_ELEMENTS 8

/* Functions, operators and methods that come to the values at once; others only make an iterator or
 * a view, or ask for the size or a key. */
static const char *const reading[] = {
    "sum",     "list",  "tuple",  "set",    "frozenset", "dict",     "sorted",  "min",
    "max",     "any",   "all",    "join",   "str",       "repr",     "format",  "dumps",
    "dump",    "copy",  "==",     "!=",     "*",         "deepcopy", "pformat", "pprint",
    "Counter", "fsum",  "prod",   "mean",   "median",    "array",    "deque",   "fmean",
    "stdev",   "bytes", "extend", "update", "[:]",
};

static int reads_values(const Site *site) {
    for (size_t i = 0; i < sizeof reading / sizeof *reading; i++)
        if (uns_is_called(site->name, reading[i]))
            return 1;
    return 0;
}

/* New references to the keys of a small container: nothing else may be looked at once a thread
 * has been to the gate. */
static int keys_of(PyObject *container, PyObject **keys) {
    int count = 0;
    if (PyDict_CheckExact(container) && PyDict_GET_SIZE(container) <= MOST_ELEMENTS) {
        Py_ssize_t at = 0;
        PyObject *key, *value;
        UNS_HOLD(container);
        while (count < MOST_ELEMENTS && PyDict_Next(container, &at, &key, &value))
            keys[count++] = Py_NewRef(key);
        UNS_LET_GO();
    } else if (PyList_CheckExact(container) && PyList_GET_SIZE(container) <= MOST_ELEMENTS) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(container) && count < MOST_ELEMENTS; i++)
            if ((keys[count] = PyLong_FromSsize_t(i)))
                count++;
    }
    return count;
}

void uns_read_slice(Site *site, PyObject *container) {
    if (!uns_rt.held || uns_rt.recording || uns_rt.by_object)
        return;
    PyObject *keys[MOST_ELEMENTS];
    int count = keys_of(container, keys);
    for (int i = 0; i < count; i++) {
        uint64_t cell;
        if (uns_element(container, keys[i], &cell))
            uns_deliver(site, container, keys[i], cell, UNS_READ, 1);
        Py_DECREF(keys[i]);
    }
    PyErr_Clear();
}

/* `site` has delivered that it reads the shape. */
void uns_read_elements(Site *site, PyObject *container) {
    if (uns_rt.held && reads_values(site))
        uns_read_slice(site, container);
}

/* d[k] of a defaultdict that has no k. */
int uns_adds_default(PyObject *container, PyObject *key) {
    if (uns_has_key(container, key))
        return 0;
    PyObject *factory = PyObject_GetAttrString(container, "default_factory");
    int adds = factory && factory != Py_None;
    Py_XDECREF(factory);
    PyErr_Clear();
    return adds;
}
