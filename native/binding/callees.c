/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of what is known only when it is called: methods of C code that became values (`push =
 * jobs.append`, `jobs.append(*new)`) do what they do to the object that they belong to.
 */
#include "binding/binding.h"

/* What a method of C code that became a value belongs to: `push = jobs.append`. */
static PyObject *bound_to(PyObject *callee) {
    PyObject *self = PyCFunction_CheckExact(callee) ? PyCFunction_GET_SELF(callee) : NULL;
    return self && !PyModule_Check(self) && !PyType_Check(self) ? self : NULL;
}

/* push(job) or push(*jobs); `key`: the first argument, or NULL. */
static void call_bound(Site *site, PyObject *callee, PyObject *key) {
    PyObject *receiver = bound_to(callee);
    PyObject *method = PyUnicode_InternFromString(((PyCFunctionObject *)callee)->m_ml->ml_name);
    if (!method) {
        PyErr_Clear();
        return;
    }
    enum uns_treatment how = uns_super_treatment(receiver, method);
    if (key && uns_is_keyed(method))
        uns_do_keyed_method(site, receiver, method, how, key);
    else
        uns_do_method(site, receiver, how, NULL);
    Py_DECREF(method);
}

/* x.put(*args), where a library's Python code does the work. */
static void call_method(Site *site, PyObject *method) {
    PyObject *receiver = PyMethod_GET_SELF(method), *function = PyMethod_GET_FUNCTION(method);
    if (PyFunction_Check(function))
        uns_do_method(site, receiver,
                      uns_method_treatment(receiver, ((PyFunctionObject *)function)->func_name),
                      NULL);
}

void uns_probe_call(Site *site, PyObject *callee, PyObject *argument) {
    if (PyMethod_Check(callee)) {
        call_method(site, callee);
    } else if (!bound_to(callee)) {
        uns_probe_argument(site, callee, argument);
    } else if (site->flags & SITE_KEYED) { /* f(*args) */
        int has_first = PyTuple_CheckExact(argument) && PyTuple_GET_SIZE(argument);
        call_bound(site, callee, has_first ? PyTuple_GET_ITEM(argument, 0) : NULL);
    } else if (site->flags & SITE_FIRST) {
        call_bound(site, callee, argument);
    }
}

static void leave_with(Site *site, PyObject *self) {
    if (!Py_IS_TYPE(self, &LockType) && !Py_IS_TYPE(self, &RLockType) &&
        uns_is_stateful(Py_TYPE(self)))
        uns_touch_object(site, self, 1, UNS_CALL, NULL);
}

/* The callee of a call without arguments, or what a with statement calls at its end. */
void uns_probe_callee(Site *site, PyObject *callee, enum uns_treatment how) {
    PyObject *self =
        how == TREAT_CALLEE && PyCFunction_CheckExact(callee) ? PyCFunction_GET_SELF(callee) : NULL;
    if (how == TREAT_CALLEE && Py_IS_TYPE(callee, &PyMethodDescr_Type))
        self = uns_object_above(callee);
    if (how == TREAT_OBJECT_WRITE)
        uns_touch_object(site, callee, 1, UNS_CALL, NULL);
    else if (self && uns_is_called(site->name, "__exit__"))
        leave_with(site, self);
    else if (bound_to(callee))
        call_bound(site, callee, NULL);
}
