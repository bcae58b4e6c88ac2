/* SPDX-License-Identifier: Apache-2.0
 *
 * Which objects are worth watching at a site, decided once per type and site.
 */
#include "binding.h"

struct uns_decision uns_decisions[UNS_DECISIONS];

static PyTypeObject *deque_type, *local_type;
static PyObject *iterator_types, *shape_methods, *quiet_modules;

static const char *const reads[] = {"get",          "keys",
                                    "values",       "items",
                                    "index",        "count",
                                    "copy",         "union",
                                    "intersection", "difference",
                                    "issubset",     "issuperset",
                                    "isdisjoint",   "symmetric_difference",
                                    "most_common",  "elements",
                                    "total",        NULL};
static const char *const writes[] = {"append",
                                     "appendleft",
                                     "extend",
                                     "extendleft",
                                     "insert",
                                     "pop",
                                     "popleft",
                                     "popitem",
                                     "remove",
                                     "clear",
                                     "sort",
                                     "reverse",
                                     "update",
                                     "setdefault",
                                     "add",
                                     "discard",
                                     "rotate",
                                     "difference_update",
                                     "intersection_update",
                                     "symmetric_difference_update",
                                     "move_to_end",
                                     "subtract",
                                     NULL};
/* Thread-safe by contract, or about input and output: their calls would only be noise. */
static const char *const quiet[] = {
    "threading", "_thread",    "logging",       "_io",          "io",       "re",      "_random",
    "random",    "datetime",   "unsnarl._core", "_contextvars", "typing",   "types",   "functools",
    "pathlib",   "contextlib", "_weakref",      "weakref",      "argparse", "inspect", NULL};

static int fill(PyObject *dict, const char *const *names, PyObject *value) {
    for (; *names; names++)
        if (PyDict_SetItemString(dict, *names, value) < 0)
            return -1;
    return 0;
}

static PyTypeObject *import_type(const char *module, const char *name) {
    PyObject *m = PyImport_ImportModule(module);
    PyObject *type = m ? PyObject_GetAttrString(m, name) : NULL;
    Py_XDECREF(m);
    return (PyTypeObject *)type;
}

/* The types of iterators that stand on a container, found by making one of each. */
static PyObject *make_iterator_types(void) {
    static const char source[] =
        "import collections as c\n"
        "d = {0: 0}\n"
        "made = [iter([0]), iter(d), iter(d.values()), iter(d.items()), iter({0}),\n"
        "        iter(c.deque([0])), reversed([0]), reversed(d), reversed(c.deque([0])),\n"
        "        enumerate([0]), iter(bytearray(b'0')), iter(c.OrderedDict(d))]\n"
        "types = frozenset(map(type, made))\n";
    PyObject *names = PyDict_New(), *types = NULL;
    if (names && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0) {
        PyObject *ran = PyRun_String(source, Py_file_input, names, names);
        if (ran)
            types = Py_XNewRef(PyDict_GetItemString(names, "types"));
        Py_XDECREF(ran);
    }
    Py_XDECREF(names);
    return types;
}

int uns_types_init(void) {
    deque_type = import_type("collections", "deque");
    local_type = import_type("_thread", "_local");
    shape_methods = PyDict_New();
    quiet_modules = PyDict_New();
    if (!deque_type || !local_type || !shape_methods || !quiet_modules)
        return -1;
    if (fill(shape_methods, reads, Py_False) < 0 || fill(shape_methods, writes, Py_True) < 0 ||
        fill(quiet_modules, quiet, Py_True) < 0)
        return -1;
    iterator_types = make_iterator_types();
    return iterator_types ? 0 : -1;
}

int uns_is_container(PyTypeObject *type) {
    return PyType_FastSubclass(type, Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_DICT_SUBCLASS) ||
           PyType_IsSubtype(type, &PySet_Type) || PyType_IsSubtype(type, deque_type) ||
           PyType_IsSubtype(type, &PyByteArray_Type);
}

static int is_immutable(PyTypeObject *type) {
    return type == &PyLong_Type || type == &PyUnicode_Type || type == &PyTuple_Type ||
           type == &PyFloat_Type || type == &PyBytes_Type || type == &PyBool_Type ||
           type == Py_TYPE(Py_None) || type == &PyFunction_Type || type == &PyCFunction_Type ||
           type == &PyMethod_Type || type == &PyFrozenSet_Type || type == &PyComplex_Type ||
           type == &PyRange_Type || type == &PySlice_Type || type == &PyCode_Type ||
           type == &SiteType || type == &LockType || type == &RLockType ||
           PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException);
}

static int is_code(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    return type == &PyFunction_Type || type == &PyCFunction_Type || type == &PyMethodDescr_Type ||
           type == &PyClassMethodDescr_Type || type == &PyWrapperDescr_Type ||
           type == &PyStaticMethod_Type || type == &PyClassMethod_Type ||
           type == &PyProperty_Type || type == &PyGetSetDescr_Type || type == &PyModule_Type ||
           PyType_Check(value);
}

static enum uns_treatment attribute_of_module(Site *site, PyObject *module) {
    PyObject *value = PyDict_GetItemWithError(PyModule_GetDict(module), site->name);
    return value && is_code(value) ? TREAT_SKIP : TREAT_MODULE;
}

static enum uns_treatment attribute_of_class(Site *site, PyObject *class) {
    PyObject *value = _PyType_Lookup((PyTypeObject *)class, site->name);
    return value && is_code(value) ? TREAT_SKIP : TREAT_CLASS;
}

static enum uns_treatment attribute(Site *site, PyObject *object, PyTypeObject *type) {
    if (PyModule_Check(object))
        return attribute_of_module(site, object);
    if (PyType_Check(object))
        return attribute_of_class(site, object);
    if (PyType_IsSubtype(type, local_type))
        return TREAT_SKIP; /* each thread has its own */
    PyObject *value = _PyType_Lookup(type, site->name);
    if (!value || Py_TYPE(value) == &PyMemberDescr_Type)
        return TREAT_ATTRIBUTE;
    if (is_code(value))
        return TREAT_SKIP;
    return Py_TYPE(value)->tp_descr_get || !type->tp_dictoffset ? TREAT_ATTRIBUTE
                                                                : TREAT_CLASS_DEFAULT;
}

static int is_quiet(PyTypeObject *type) {
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    int quiet_one = !module || PyDict_GetItemWithError(quiet_modules, module) != NULL;
    Py_XDECREF(module);
    PyErr_Clear();
    return quiet_one;
}

/* A method in Python: the target's own is watched itself, of a library's only the call is seen. */
static enum uns_treatment python_method(PyObject *function, PyTypeObject *type) {
    return uns_code_is_registered(PyFunction_GET_CODE(function)) || is_quiet(type) ? TREAT_SKIP
                                                                                   : TREAT_LIBRARY;
}

static PyObject *special_method(PyTypeObject *type, const char *name) {
    PyObject *key = PyUnicode_InternFromString(name);
    PyObject *function = key ? _PyType_Lookup(type, key) : NULL; /* borrowed */
    Py_XDECREF(key);
    return function;
}

static enum uns_treatment item(Site *site, PyObject *object, PyTypeObject *type) {
    static const char *const names[] = {"__getitem__", "__setitem__", "__delitem__"};
    if (PyType_FastSubclass(type, Py_TPFLAGS_DICT_SUBCLASS))
        return TREAT_DICT;
    if (uns_is_container(type))
        return TREAT_LIST;
    if (type == &PyMemoryView_Type || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return type->tp_as_mapping && type->tp_as_mapping->mp_ass_subscript ? TREAT_LIST
                                                                            : TREAT_SKIP;
    PyObject *function = special_method(type, names[site->kind - PROBE_ITEM_READ]);
    if (PyType_Check(object) || !function || !PyFunction_Check(function))
        return TREAT_SKIP;
    return python_method(function, type);
}

/* The method behind `k in x`, len(x) or `for e in x`; NULL for all else that reads a shape. */
static const char *operator_method(PyObject *name) {
    static const char *const methods[][2] = {
        {"in", "__contains__"}, {"len", "__len__"}, {"iter", "__iter__"}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (PyUnicode_CompareWithASCIIString(name, methods[i][0]) == 0)
            return methods[i][1];
    return NULL;
}

static enum uns_treatment shape_read(Site *site, PyObject *object, PyTypeObject *type) {
    if (uns_is_container(type))
        return TREAT_SHAPE_READ;
    const char *name = operator_method(site->name);
    PyObject *function = name && !PyType_Check(object) ? special_method(type, name) : NULL;
    return function && PyFunction_Check(function) ? python_method(function, type) : TREAT_SKIP;
}

static enum uns_treatment method(Site *site, PyObject *object, PyTypeObject *type) {
    if (PyModule_Check(object) || PyType_Check(object))
        return TREAT_SKIP;
    PyObject *function = _PyType_Lookup(type, site->name);
    if (!function)
        return TREAT_SKIP;
    if (PyFunction_Check(function))
        return python_method(function, type);
    if (!uns_is_container(type))
        return is_quiet(type) || Py_TYPE(function) != &PyMethodDescr_Type ? TREAT_SKIP
                                                                          : TREAT_LIBRARY;
    PyObject *writes_it = PyDict_GetItemWithError(shape_methods, site->name);
    if (!writes_it)
        return TREAT_SKIP;
    return writes_it == Py_True ? TREAT_SHAPE_WRITE : TREAT_SHAPE_READ;
}

static enum uns_treatment decide(Site *site, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (is_immutable(type))
        return TREAT_SKIP;
    switch (site->kind) {
    case PROBE_ATTR_READ:
    case PROBE_ATTR_WRITE:
        return attribute(site, object, type);
    case PROBE_ITEM_READ:
    case PROBE_ITEM_WRITE:
    case PROBE_ITEM_DELETE:
        return item(site, object, type);
    case PROBE_SHAPE_READ:
        return shape_read(site, object, type);
    case PROBE_LIBRARY_ARG:
        return uns_is_container(type) ? TREAT_SHAPE_READ : TREAT_SKIP;
    case PROBE_SHAPE_WRITE:
        return uns_is_container(type) ? TREAT_SHAPE_WRITE : TREAT_SKIP;
    case PROBE_ITER:
        return PySet_Contains(iterator_types, (PyObject *)type) == 1 ? TREAT_ITERATOR : TREAT_SKIP;
    case PROBE_METHOD:
    case PROBE_METHOD_CALL:
        return method(site, object, type);
    default:
        return TREAT_SKIP;
    }
}

/* A site that sees many types (richards: 27 million misses of a one-entry cache) asks here. */
enum uns_treatment uns_treatment_of(Site *site, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    struct uns_decision *decision = uns_decision_for(site, type);
    if (decision->type != type || decision->site != site) {
        PyObject *saved_type, *saved_value, *saved_traceback;
        PyErr_Fetch(&saved_type, &saved_value, &saved_traceback);
        decision->treatment = decide(site, object);
        PyErr_Clear();
        PyErr_Restore(saved_type, saved_value, saved_traceback);
        decision->type = type;
        decision->site = site;
        if (!site->owner && decision->treatment != TREAT_SKIP)
            site->owner = (PyTypeObject *)Py_NewRef(type);
    }
    site->type = type;
    site->treatment = decision->treatment;
    return (enum uns_treatment)site->treatment;
}

static int first_container(PyObject *referent, void *found) {
    PyTypeObject *type = Py_TYPE(referent);
    if (uns_is_container(type) || PySet_Contains(iterator_types, (PyObject *)type) == 1) {
        *(PyObject **)found = referent;
        return 1;
    }
    return 0;
}

/* The container behind an iterator (borrowed), found the way the garbage collector would. */
PyObject *uns_iterated(PyObject *iterator) {
    if (Py_IS_TYPE(iterator, &PyListIter_Type))
        return uns_list_behind(iterator);
    PyObject *found = NULL;
    for (int depth = 0; depth < 2 && iterator; depth++) {
        traverseproc traverse = Py_TYPE(iterator)->tp_traverse;
        found = NULL;
        if (traverse)
            traverse(iterator, first_container, &found);
        if (!found || uns_is_container(Py_TYPE(found)))
            return found;
        iterator = found;
    }
    return NULL;
}
