/* SPDX-License-Identifier: Apache-2.0
 *
 * From Python objects to cells. A cell's key is a hash of an address and what is meant of it; an
 * address may be used again, so containers carry a generation that their creation bumps.
 */
#include "binding/binding.h"

uint16_t uns_generations[UNS_GENERATIONS];

void uns_created(PyObject *container) {
    UNS_BUMP(uns_generation_of(container));
}

static int is_plain(PyObject *key) {
    return PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyBool_Check(key) ||
           key == Py_None || PyBytes_CheckExact(key) || PyFloat_CheckExact(key);
}

/* Equal to nothing but itself, so that its address says which one it is. */
static int is_itself(PyObject *key) {
    const PyTypeObject *type = Py_TYPE(key);
    return type->tp_hash == PyBaseObject_Type.tp_hash &&
           type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

/* So are members of enumerations, and threads, but they have a hash of Python code. */
static int is_itself_with_hash(PyObject *key) {
    PyTypeObject *type = Py_TYPE(key);
    return type->tp_richcompare == PyBaseObject_Type.tp_richcompare &&
           (uns_named(type, "enum.Enum") || uns_named(type, "threading.Thread"));
}

/* Hashing must not run Python code: only such keys have cells of their own. */
int uns_hashes_quietly(PyObject *key) {
    if (is_plain(key) || is_itself(key))
        return 1;
    if (!PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) > 8)
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
        if (!is_plain(PyTuple_GET_ITEM(key, i)))
            return 0;
    return 1;
}

/* So many keys are looked through: accesses must not get slower with the size of what they touch.
 */
#define MOST_KEYS 64

/* Whether a dict has a key; 1 for what cannot be looked for. */
int uns_has_key(PyObject *dict, PyObject *key) {
    if (uns_hashes_quietly(key))
        return PyDict_Contains(dict, key) == 1;
    PyObject *other, *value;
    int found = !is_itself_with_hash(key) || PyDict_GET_SIZE(dict) > MOST_KEYS;
    UNS_HOLD(dict);
    for (Py_ssize_t at = 0; !found && PyDict_Next(dict, &at, &other, &value);)
        found = other == key;
    UNS_LET_GO();
    return found;
}

static int element_by_index(PyObject *container, PyObject *key, uint64_t *cell) {
    Py_ssize_t index = PyLong_AsSsize_t(key);
    if (index == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    if (index < 0)
        index +=
            PyList_CheckExact(container) ? PyList_GET_SIZE(container) : PyObject_Size(container);
    if (PyErr_Occurred())
        PyErr_Clear();
    *cell =
        uns_element_cell(container, ((uint64_t)index + 1) * 0xA24BAED4963EE407ull, (uint64_t)index);
    return 1;
}

/* The cell of an element; 0 where only the container as a whole can be named. */
int uns_element(PyObject *container, PyObject *key, uint64_t *cell) {
    if (!PyDict_Check(container))
        return PyLong_CheckExact(key) && element_by_index(container, key, cell);
    int by_address = is_itself(key) || is_itself_with_hash(key);
    if (!by_address && !uns_hashes_quietly(key))
        return 0;
    uint64_t hash = uns_mix(by_address ? (uintptr_t)key : (uint64_t)PyObject_Hash(key) + 1);
    *cell = uns_element_cell(container, hash, hash >> 44);
    return 1;
}

static PyObject *class_that_has(PyTypeObject *type, PyObject *name) {
    PyObject *mro = type->tp_mro;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        if (base->tp_dict && PyDict_Contains(base->tp_dict, name) == 1)
            return (PyObject *)base;
    }
    return (PyObject *)type;
}

/* The class whose default a read finds, since the instance has nothing; else NULL (borrowed). That
 * there was nothing is what the read saw of the instance: who sets it there changes it. */
PyObject *uns_default_of(enum uns_treatment how, PyObject *object, PyObject *name, int write) {
    if (how != TREAT_CLASS_DEFAULT || write || uns_instance_has(object, name))
        return NULL;
    return class_that_has(Py_TYPE(object), name);
}

int uns_instance_has(PyObject *object, PyObject *name) {
    PyObject *dict = PyObject_GenericGetDict(object, NULL);
    int found = dict ? PyDict_Contains(dict, name) : 0;
    Py_XDECREF(dict);
    PyErr_Clear();
    return found == 1;
}

/* The object whose cell an attribute access really touches (borrowed). */
PyObject *uns_holder(enum uns_treatment how, PyObject *object, PyObject *name, int write) {
    switch (how) {
    case TREAT_CLASS:
        return write ? object : class_that_has((PyTypeObject *)object, name);
    case TREAT_MODULE:
        return PyModule_GetDict(object);
    default:
        return object;
    }
}
