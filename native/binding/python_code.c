/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of Python behind methods and operators: are they the target's own, so that what they do
 * is seen in there? And if they are a library's, do they change anything?
 */
#include "binding/binding.h"

static PyObject *own_modules, *assigned_names, *reading_hook, *module_name;

int uns_python_code_init(void) {
    own_modules = PySet_New(NULL);
    assigned_names = PySet_New(NULL);
    module_name = PyUnicode_InternFromString("__module__");
    return own_modules && assigned_names && module_name ? 0 : -1;
}

/* The target's own modules: a set that the importer goes on filling. */
PyObject *uns_set_own_modules(PyObject *module, PyObject *names) {
    if (!PySet_Check(names))
        return PyErr_Format(PyExc_TypeError, "a set of names is wanted");
    Py_SETREF(own_modules, Py_NewRef(names));
    Py_RETURN_NONE;
}

/* The attributes that the target's code assigns somewhere: filled in the same way. */
PyObject *uns_set_assigned_names(PyObject *module, PyObject *names) {
    if (!PySet_Check(names))
        return PyErr_Format(PyExc_TypeError, "a set of names is wanted");
    Py_SETREF(assigned_names, Py_NewRef(names));
    Py_RETURN_NONE;
}

/* hook(function, class) -> whether a method of a library only reads its object. */
PyObject *uns_set_reading_hook(PyObject *module, PyObject *hook) {
    Py_XSETREF(reading_hook, hook == Py_None ? NULL : Py_NewRef(hook));
    Py_RETURN_NONE;
}

static int is_own_name(PyObject *module) {
    return module && PySet_Contains(own_modules, module) == 1;
}

int uns_is_own_instance(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (!uns_is_plain_class(type) || !type->tp_dict || PyType_Check(object))
        return 0;
    PyObject *module = uns_in_dict(type->tp_dict, module_name);
    int own = is_own_name(module);
    Py_XDECREF(module);
    return own;
}

/* Code that has nothing to be seen (`return None`) is not registered, and the target's all the
 * same: to call it is no call into a library. */
int uns_is_own_function(PyObject *function) {
    return uns_code_is_registered(PyFunction_GET_CODE(function)) ||
           is_own_name(PyFunction_GET_MODULE(function));
}

int uns_does_own_code(PyTypeObject *type, const char *name) {
    PyObject *key = PyUnicode_InternFromString(name);
    PyObject *function = key ? uns_in_type(type, key) : NULL;
    int own = function && PyFunction_Check(function) && uns_is_own_function(function);
    Py_XDECREF(function);
    Py_XDECREF(key);
    return own;
}

/* Debuggers and coverage must not step into the hook. */
int uns_only_reads(PyObject *function, PyTypeObject *type) {
    if (!reading_hook)
        return 0;
    PyThreadState *thread = PyThreadState_Get();
    PyThreadState_EnterTracing(thread);
    PyObject *answer = PyObject_CallFunctionObjArgs(reading_hook, function, type, NULL);
    PyThreadState_LeaveTracing(thread);
    int yes = answer == Py_True;
    Py_XDECREF(answer);
    PyErr_Clear();
    return yes;
}

/* `self.f = g`, where f is a function of the class: who calls self.f() reads what is there. */
int uns_is_assigned_over(PyObject *function, PyObject *name) {
    return PyFunction_Check(function) && PySet_Contains(assigned_names, name) == 1;
}

/* x.__setattr__(name, value) and its like: is the method the one of every object? */
int uns_is_attribute_method(PyObject *method, PyObject *receiver, int *write) {
    *write = uns_is_called(method, "__setattr__") || uns_is_called(method, "__delattr__");
    if (!*write && !uns_is_called(method, "__getattribute__"))
        return 0;
    PyObject *function = uns_in_type(Py_TYPE(receiver), method);
    int is_it = function && Py_IS_TYPE(function, &PyWrapperDescr_Type);
    Py_XDECREF(function);
    return is_it;
}
