/* SPDX-License-Identifier: Apache-2.0
 *
 * Values are never taken on the hot path: they are captured while the shown run is replayed. The
 * hook is Python code; it runs muted, so what it touches is no event.
 */
#include "binding.h"

PyObject *uns_capture_hook;
static PyObject *held_locks; /* thread index -> list of locks, only while capturing */

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

void uns_capture_lock(PyObject *lock, int acquired) {
    struct uns_thread *t = uns_rt.active ? uns_self : NULL;
    if (!t || !held_locks)
        return;
    PyObject *list = locks_of(t);
    if (list && acquired)
        PyList_Append(list, lock);
    for (Py_ssize_t i = list && !acquired ? PyList_GET_SIZE(list) - 1 : -1; i >= 0; i--)
        if (PyList_GET_ITEM(list, i) == lock) {
            PySequence_DelItem(list, i);
            break;
        }
    PyErr_Clear();
}

void uns_capture(Site *site, struct uns_thread *t, uint32_t point, PyObject *object, PyObject *key,
                 int write) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    t->muted++;
    PyObject *list = locks_of(t), *locks = list ? PyList_AsTuple(list) : PyTuple_New(0);
    PyObject *result = locks ? PyObject_CallFunction(uns_capture_hook, "KIsOOiO",
                                                     (unsigned long long)t->events - 1, point,
                                                     t->path, object, key, write, locks)
                             : NULL;
    if (!result)
        PyErr_WriteUnraisable(uns_capture_hook);
    Py_XDECREF(result);
    Py_XDECREF(locks);
    t->muted--;
    PyErr_Restore(type, value, traceback);
}
