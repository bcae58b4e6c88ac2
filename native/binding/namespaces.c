/* SPDX-License-Identifier: Apache-2.0
 *
 * `x.__dict__["n"]`, `vars(x)["n"]`, `globals()["n"]` and getattr(x, "n") are the attribute x.n:
 * the same cell. A dictionary that the target has asked an object for is remembered with a weak
 * reference to the object.
 */
#include "binding/binding.h"

#define NAMESPACES      1024
#define MOST_ATTRIBUTES 32

static struct {
    const PyObject *dict;
    PyObject *owner; /* weak */
} entries[NAMESPACES];
unsigned uns_namespaces;
UNS_GUARD(noting);

static unsigned slot_of(const PyObject *dict) {
    return (unsigned)(uns_mix((uintptr_t)dict) & (NAMESPACES - 1));
}

static PyObject *dict_of(PyObject *owner) {
    if (PyModule_Check(owner))
        return PyModule_GetDict(owner);
    PyObject *dict = PyObject_GenericGetDict(owner, NULL);
    Py_XDECREF(dict); /* its owner has it */
    return dict;
}

static PyObject *module_of(PyObject *globals) {
    PyObject *key = PyUnicode_InternFromString("__name__");
    PyObject *name = key ? uns_in_dict(globals, key) : NULL;
    PyObject *module = name ? PyImport_GetModule(name) : NULL;
    Py_XDECREF(module); /* sys.modules has it */
    Py_XDECREF(name);
    Py_XDECREF(key);
    return module && PyModule_Check(module) && PyModule_GetDict(module) == globals ? module : NULL;
}

/* `owner`: an object, or what globals() has returned. */
void uns_note_namespace(PyObject *owner) {
    PyObject *saved_type, *saved_value, *saved_traceback;
    PyErr_Fetch(&saved_type, &saved_value, &saved_traceback);
    if (PyDict_CheckExact(owner))
        owner = module_of(owner);
    PyObject *dict = owner && !PyType_Check(owner) ? dict_of(owner) : NULL;
    PyObject *weak = dict ? PyWeakref_NewRef(owner, NULL) : NULL;
    if (weak) {
        unsigned slot = slot_of(dict);
        UNS_ENTER(noting);
        PyObject *old = entries[slot].owner;
        entries[slot].dict = dict;
        entries[slot].owner = weak;
        UNS_BUMP(&uns_namespaces);
        UNS_LEAVE(noting);
        Py_XDECREF(old);
    }
    PyErr_Clear();
    PyErr_Restore(saved_type, saved_value, saved_traceback);
}

/* What a weak reference still leads to, a new reference. */
static PyObject *referent(PyObject *weak) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *object = NULL;
    PyWeakref_GetRef(weak, &object);
    return object;
#else
    PyObject *object = PyWeakref_GET_OBJECT(weak);
    return object == Py_None ? NULL : Py_NewRef(object);
#endif
}

PyObject *uns_owner_of(PyObject *dict) {
    unsigned slot = slot_of(dict);
    if (!UNS_LOAD(&uns_namespaces))
        return NULL;
    UNS_ENTER(noting);
    PyObject *weak = entries[slot].dict == dict ? Py_NewRef(entries[slot].owner) : NULL;
    UNS_LEAVE(noting);
    PyObject *owner = weak ? referent(weak) : NULL;
    Py_XDECREF(weak);
    if (!owner)
        return NULL;
    PyObject *now = dict_of(owner);
    PyErr_Clear();
    if (now != dict)
        Py_CLEAR(owner);
    return owner;
}

void uns_touch_attribute(Site *site, PyObject *owner, PyObject *name, int write, int follows) {
    if (!PyUnicode_CheckExact(name))
        return;
    enum uns_treatment how = uns_attribute_treatment(owner, name);
    if (how == TREAT_SKIP && write && PyModule_Check(owner)) /* a function is swapped for another */
        how = TREAT_MODULE;
    if (how == TREAT_SKIP)
        return;
    PyObject *holder = uns_holder(how, owner, name, write);
    uns_deliver(site, owner, name, uns_attribute_cell(holder, uns_salt_of(name)),
                write ? UNS_WRITE : UNS_READ, follows);
    PyObject *from = uns_default_of(how, owner, name, write);
    if (from)
        uns_deliver(site, from, name, uns_attribute_cell(from, uns_salt_of(name)), UNS_READ, 1);
}

/* Whatever is there: also a function that others swap, and what C code keeps by itself. */
void uns_touch_part(Site *site, PyObject *owner, PyObject *name, int write, int follows) {
    PyObject *holder = PyModule_Check(owner) ? PyModule_GetDict(owner) : owner;
    uns_deliver(site, owner, name, uns_attribute_cell(holder, uns_salt_of(name)),
                write ? UNS_WRITE : UNS_READ, follows);
}

void uns_touch_attributes(Site *site, PyObject *owner, int write) {
    PyObject *dict = dict_of(owner), *names = dict ? PyDict_Keys(dict) : NULL;
    Py_ssize_t count = names ? PyList_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < count && i < MOST_ATTRIBUTES; i++)
        uns_touch_attribute(site, owner, PyList_GET_ITEM(names, i), write, i > 0);
    Py_XDECREF(names);
    PyErr_Clear();
}
