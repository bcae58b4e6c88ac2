/* SPDX-License-Identifier: Apache-2.0
 *
 * Which objects are worth watching at a site, decided once per type and site.
 */
#include "binding/binding.h"

struct uns_decision uns_decisions[UNS_DECISIONS];

static PyTypeObject *deque_type, *local_type, *array_type, *defaultdict_type, *cached_type,
    *lru_type;
static PyObject *iterator_types, *shape_methods, *quiet_modules, *read_methods;

static const char *const reads[] = {"get",
                                    "keys",
                                    "values",
                                    "items",
                                    "index",
                                    "count",
                                    "copy",
                                    "union",
                                    "intersection",
                                    "difference",
                                    "issubset",
                                    "issuperset",
                                    "isdisjoint",
                                    "symmetric_difference",
                                    "most_common",
                                    "elements",
                                    "total",
                                    "__getitem__",
                                    "__contains__",
                                    "__len__",
                                    "__iter__",
                                    "__reversed__",
                                    "__eq__",
                                    "__or__",
                                    "__and__",
                                    "__sub__",
                                    "__add__",
                                    "__repr__",
                                    NULL};
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
                                     "fromlist",
                                     "frombytes",
                                     "fromfile",
                                     "fromunicode",
                                     "byteswap",
                                     "__setitem__",
                                     "__delitem__",
                                     "__iadd__",
                                     "__ior__",
                                     "__iand__",
                                     "__isub__",
                                     "__ixor__",
                                     "__imul__",
                                     NULL};
/* Thread-safe by contract and seen in other ways, or without a state: their calls would only be
 * noise. */
static const char *const quiet[] = {
    "threading", "_thread", "re",         "datetime",  "unsnarl._core", "typing",  "types",
    "functools", "pathlib", "contextlib", "argparse",  "inspect",       "decimal", "fractions",
    "uuid",      "enum",    "zoneinfo",   "ipaddress", "_weakref",      NULL};
static const struct {
    const char *type, *methods;
} readers[] = {
#define UNS_READS(type, methods) {type, methods},
#include "binding/methods.def"
};
/* Of what they are given, they read all: containers in containers, or the attributes. */
static const char *const deep_readers[] = {"str",      "repr",   "dumps",   "dump",
                                           "deepcopy", "copy",   "format",  "pprint",
                                           "pformat",  "asdict", "astuple", NULL};
/* Their first argument is a key, or a statement. */
static const char *const keyed[] = {"get",         "pop",           "setdefault",
                                    "__getitem__", "__contains__",  "execute",
                                    "executemany", "executescript", NULL};
static const char *const lazy_readers[] = {"iter",   "enumerate", "zip", "map",
                                           "filter", "reversed",  NULL};
/* They take nothing from an iterator and do not go through a library's collection. */
static const char *const not_iterating[] = {"bool", "+", "==", "+=", "[:]", NULL};

static int fill(PyObject *dict, const char *const *names, PyObject *value) {
    for (; *names; names++)
        if (PyDict_SetItemString(dict, *names, value) < 0)
            return -1;
    return 0;
}

static int is_one_of(PyObject *name, const char *const *names) {
    for (; *names; names++)
        if (PyUnicode_CompareWithASCIIString(name, *names) == 0)
            return 1;
    return 0;
}

/* {"module.Class": {method, ...}} of methods.def */
static int fill_readers(void) {
    read_methods = PyDict_New();
    for (size_t i = 0; read_methods && i < sizeof readers / sizeof *readers; i++) {
        PyObject *text = PyUnicode_FromString(readers[i].methods);
        PyObject *words = text ? PyUnicode_Split(text, NULL, -1) : NULL;
        PyObject *set = words ? PyFrozenSet_New(words) : NULL;
        int failed = !set || PyDict_SetItemString(read_methods, readers[i].type, set) < 0;
        Py_XDECREF(text);
        Py_XDECREF(words);
        Py_XDECREF(set);
        if (failed)
            Py_CLEAR(read_methods);
    }
    return read_methods ? 0 : -1;
}

static PyTypeObject *import_type(const char *module, const char *name) {
    PyObject *m = PyImport_ImportModule(module);
    PyObject *type = m ? PyObject_GetAttrString(m, name) : NULL;
    Py_XDECREF(m);
    return (PyTypeObject *)type;
}

/* In the slot of every class of Python with a __next__, and of those without. */
static iternextfunc of_python_iterators, of_other_classes;

static iternextfunc slot_of(PyObject *names, const char *class) {
    return ((PyTypeObject *)PyDict_GetItemString(names, class))->tp_iternext;
}

/* The types of iterators that stand on a container, found by making one of each. */
static PyObject *make_iterator_types(void) {
    static const char source[] =
        "import collections as c\n"
        "d = {0: 0}\n"
        "made = [iter([0]), iter(d), iter(d.values()), iter(d.items()), iter({0}),\n"
        "        iter(c.deque([0])), reversed([0]), reversed(d), reversed(c.deque([0])),\n"
        "        iter(bytearray(b'0')), iter(c.OrderedDict(d))]\n"
        "types = frozenset(map(type, made))\n"
        "class Sample:\n"
        "    def __next__(self): ...\n"
        "class Other: ...\n";
    PyObject *names = PyDict_New(), *types = NULL;
    if (names && PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()) == 0) {
        PyObject *ran = PyRun_String(source, Py_file_input, names, names);
        if (ran) {
            types = Py_XNewRef(PyDict_GetItemString(names, "types"));
            of_python_iterators = slot_of(names, "Sample");
            of_other_classes = slot_of(names, "Other");
        }
        Py_XDECREF(ran);
    }
    Py_XDECREF(names);
    return types;
}

int uns_types_init(void) {
    deque_type = import_type("collections", "deque");
    local_type = import_type("_thread", "_local");
    array_type = import_type("array", "array");
    defaultdict_type = import_type("collections", "defaultdict");
    cached_type = import_type("functools", "cached_property");
    lru_type = import_type("functools", "_lru_cache_wrapper");
    shape_methods = PyDict_New();
    quiet_modules = PyDict_New();
    if (!deque_type || !local_type || !array_type || !defaultdict_type || !cached_type ||
        !lru_type || !shape_methods || !quiet_modules || uns_python_code_init() < 0 ||
        fill_readers() < 0)
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
           PyType_IsSubtype(type, &PyByteArray_Type) || PyType_IsSubtype(type, array_type);
}

/* ---- types by name */

static PyObject *full_name(PyTypeObject *type) {
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    PyObject *name = PyObject_GetAttrString((PyObject *)type, "__qualname__");
    PyObject *full = module && name ? PyUnicode_FromFormat("%S.%S", module, name) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(name);
    PyErr_Clear();
    return full;
}

/* The methods that only read, from the entry of the type or its nearest base that has one
 * (borrowed); NULL: none has. */
static PyObject *readers_of(PyTypeObject *type) {
    PyObject *mro = type->tp_mro, *found = NULL;
    for (Py_ssize_t i = 0; mro && !found && i < PyTuple_GET_SIZE(mro); i++) {
        PyObject *name = full_name((PyTypeObject *)PyTuple_GET_ITEM(mro, i));
        found = name ? PyDict_GetItemWithError(read_methods, name) : NULL;
        Py_XDECREF(name);
    }
    return found;
}

int uns_is_stateful(PyTypeObject *type) {
    return readers_of(type) != NULL;
}

static int has_base_named(PyTypeObject *type, const char *wanted) {
    PyObject *mro = type->tp_mro;
    int found = 0;
    for (Py_ssize_t i = 0; mro && !found && i < PyTuple_GET_SIZE(mro); i++) {
        PyObject *name = full_name((PyTypeObject *)PyTuple_GET_ITEM(mro, i));
        found = name && PyUnicode_CompareWithASCIIString(name, wanted) == 0;
        Py_XDECREF(name);
    }
    return found;
}

/* Whether the type, or a base of it, has this full name. Asked at every access of an object: the
 * answers are kept. */
int uns_named(PyTypeObject *type, const char *wanted) {
    static UNS_PER_THREAD struct {
        PyTypeObject *type;
        const char *wanted;
        int answer;
    } answers[256];
    unsigned at = (unsigned)(uns_mix((uintptr_t)type ^ (uintptr_t)wanted) & 255);
    if (answers[at].type != type || answers[at].wanted != wanted) {
        answers[at].answer = has_base_named(type, wanted);
        answers[at].wanted = wanted;
        Py_XSETREF(answers[at].type, (PyTypeObject *)Py_NewRef(type));
    }
    return answers[at].answer;
}

int uns_iterates_container(PyTypeObject *type) {
    return PySet_Contains(iterator_types, (PyObject *)type) == 1;
}

/* An iterator in C, or a generator. Iterators of Python classes run code that has probes itself. */
int uns_is_iterator(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (!type->tp_iternext || type->tp_iternext == of_other_classes)
        return 0;
    return type->tp_iternext != of_python_iterators;
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

static int is_code_given_up(PyObject *value) {
    int yes = value && is_code(value);
    Py_XDECREF(value);
    return yes;
}

static enum uns_treatment attribute_of_module(PyObject *module, PyObject *name) {
    PyObject *value = uns_in_dict(PyModule_GetDict(module), name);
    return is_code_given_up(value) ? TREAT_SKIP : TREAT_MODULE;
}

static enum uns_treatment attribute_of_class(PyObject *class, PyObject *name) {
    PyObject *value = uns_in_type((PyTypeObject *)class, name);
    return is_code_given_up(value) ? TREAT_SKIP : TREAT_CLASS;
}

/* `file.closed`, `connection.row_factory`: a part of an object's state that C code keeps. */
static enum uns_treatment attribute_of_object(PyTypeObject *type, PyObject *descriptor) {
    PyTypeObject *owner = ((PyDescrObject *)descriptor)->d_type;
    if (uns_is_plain_class(owner))
        return Py_TYPE(descriptor) == &PyMemberDescr_Type ? TREAT_ATTRIBUTE : TREAT_SKIP;
    return uns_is_stateful(type) ? TREAT_OBJECT_READ : TREAT_SKIP;
}

static enum uns_treatment attribute_in_class(PyTypeObject *type, PyObject *name, PyObject *value) {
    if (Py_TYPE(value) == &PyMemberDescr_Type || Py_TYPE(value) == &PyGetSetDescr_Type)
        return attribute_of_object(type, value);
    if (Py_TYPE(value) == cached_type)
        return TREAT_CACHED;
    if (is_code(value))
        return type->tp_dictoffset && uns_is_assigned_over(value, name) ? TREAT_ATTRIBUTE
                                                                        : TREAT_SKIP;
    return Py_TYPE(value)->tp_descr_get || !type->tp_dictoffset ? TREAT_ATTRIBUTE
                                                                : TREAT_CLASS_DEFAULT;
}

static enum uns_treatment attribute(PyObject *object, PyObject *name) {
    PyTypeObject *type = Py_TYPE(object);
    if (PyModule_Check(object))
        return attribute_of_module(object, name);
    if (PyType_Check(object))
        return attribute_of_class(object, name);
    if (PyType_IsSubtype(type, local_type))
        return TREAT_SKIP; /* each thread has its own */
    PyObject *value = uns_in_type(type, name);
    enum uns_treatment how = value ? attribute_in_class(type, name, value) : TREAT_ATTRIBUTE;
    Py_XDECREF(value);
    return how;
}

/* Of an attribute that is only known by its name while the program runs. */
enum uns_treatment uns_attribute_treatment(PyObject *object, PyObject *name) {
    PyObject *saved_type, *saved_value, *saved_traceback;
    PyErr_Fetch(&saved_type, &saved_value, &saved_traceback);
    enum uns_treatment how = is_immutable(Py_TYPE(object)) ? TREAT_SKIP : attribute(object, name);
    PyErr_Clear();
    PyErr_Restore(saved_type, saved_value, saved_traceback);
    return how == TREAT_OBJECT_READ ? TREAT_SKIP : how == TREAT_CACHED ? TREAT_ATTRIBUTE : how;
}

static enum uns_treatment attribute_at(Site *site, PyObject *object) {
    if (PyUnicode_CompareWithASCIIString(site->name, "__dict__") == 0)
        return PyType_Check(object) ? TREAT_SKIP : TREAT_NAMESPACE;
    if (site->kind == PROBE_ATTR_WRITE && PyModule_Check(object)) /* also where a function is */
        return TREAT_MODULE;
    return attribute(object, site->name);
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
    if (uns_is_own_function(function) || is_quiet(type))
        return TREAT_SKIP;
    return uns_only_reads(function, type) ? TREAT_OBJECT_READ : TREAT_LIBRARY;
}

/* A method that an operator calls: nothing to see unless Python code does the work. */
static enum uns_treatment special_method(PyTypeObject *type, const char *name) {
    PyObject *key = PyUnicode_InternFromString(name);
    PyObject *function = key ? uns_in_type(type, key) : NULL;
    enum uns_treatment how =
        function && PyFunction_Check(function) ? python_method(function, type) : TREAT_SKIP;
    Py_XDECREF(function);
    Py_XDECREF(key);
    return how;
}

static enum uns_treatment item(Site *site, PyObject *object, PyTypeObject *type) {
    static const char *const names[] = {"__getitem__", "__setitem__", "__delitem__"};
    const char *name = names[site->kind - PROBE_ITEM_READ];
    if (uns_is_container(type) && uns_does_own_code(type, name))
        return TREAT_SKIP; /* what comes to the container is seen in there */
    if (PyType_FastSubclass(type, Py_TPFLAGS_DICT_SUBCLASS))
        return PyType_IsSubtype(type, defaultdict_type) ? TREAT_DEFAULTDICT : TREAT_DICT;
    if (uns_is_container(type))
        return TREAT_LIST;
    if (type == &PyMemoryView_Type)
        return TREAT_BEHIND;
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || !uns_is_plain_class(type))
        return type->tp_as_mapping && type->tp_as_mapping->mp_ass_subscript ? TREAT_LIST
                                                                            : TREAT_SKIP;
    if (PyType_Check(object))
        return TREAT_SKIP;
    return special_method(type, name);
}

/* The method behind `k in x`, len(x), `for e in x` and all that goes through x in C; NULL for what
 * else reads a shape. */
static const char *operator_method(PyObject *name) {
    static const char *const methods[][2] = {{"in", "__contains__"}, {"len", "__len__"}};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (PyUnicode_CompareWithASCIIString(name, methods[i][0]) == 0)
            return methods[i][1];
    return is_one_of(name, not_iterating) || is_one_of(name, deep_readers) ? NULL : "__iter__";
}

static int is_view(PyObject *object) {
    return PyDictViewSet_Check(object) || PyDictValues_Check(object) || PyMemoryView_Check(object);
}

static enum uns_treatment iteration(Site *site, PyObject *object) {
    if (!uns_is_iterator(object) || is_one_of(site->name, lazy_readers))
        return TREAT_SKIP;
    uns_forget_when_dead(Py_TYPE(object));
    return TREAT_CONSUME;
}

static enum uns_treatment shape_read(Site *site, PyObject *object, PyTypeObject *type) {
    int is_deep = is_one_of(site->name, deep_readers);
    const char *name = operator_method(site->name);
    if (uns_is_container(type) && !is_deep && name && uns_does_own_code(type, name))
        return TREAT_SKIP;
    if (uns_is_container(type))
        return is_deep ? TREAT_DEEP : TREAT_SHAPE_READ;
    if (is_deep && uns_is_own_instance(object))
        return is_one_of(site->name, deep_readers + 2) ? TREAT_DEEP : TREAT_SKIP;
    if (is_view(object))
        return TREAT_BEHIND;
    if (uns_is_iterator(object))
        return iteration(site, object);
    return name && !PyType_Check(object) ? special_method(type, name) : TREAT_SKIP;
}

static enum uns_treatment library_argument(Site *site, PyObject *object, PyTypeObject *type) {
    if (uns_is_container(type))
        return TREAT_SHAPE_READ;
    if (is_view(object))
        return TREAT_BEHIND;
    if (uns_is_stateful(type)) {
        uns_forget_when_dead(type);
        return TREAT_OBJECT_WRITE;
    }
    if (uns_is_own_instance(object)) {
        PyObject *text =
            PyUnicode_FromFormat("attributes of %s, in %U()", type->tp_name, site->name);
        if (text)
            uns_note_unseen(text);
        Py_XDECREF(text);
    }
    return iteration(site, object);
}

/* A method that a container has from C, or from the Python code of a library. */
static enum uns_treatment container_method(PyObject *name, PyObject *function) {
    PyObject *writes_it = PyDict_GetItemWithError(shape_methods, name);
    if (writes_it)
        return writes_it == Py_True ? TREAT_SHAPE_WRITE : TREAT_SHAPE_READ;
    if (PyFunction_Check(function))
        return TREAT_SHAPE_WRITE;
    /* Of builtin containers all that write are known. */
    return Py_TYPE(function) == &PyMethodDescr_Type && PyUnicode_READ_CHAR(name, 0) != '_'
               ? TREAT_SHAPE_READ
               : TREAT_SKIP;
}

static int takes_next(PyObject *object, PyObject *name) {
    return uns_is_iterator(object) && PyUnicode_CompareWithASCIIString(name, "__next__") == 0;
}

/* What C code compares and hashes by its value can be a key, so that it never changes. */
static int is_value(const PyTypeObject *type) {
    return type->tp_hash && type->tp_hash != PyObject_HashNotImplemented &&
           type->tp_hash != PyBaseObject_Type.tp_hash && type->tp_richcompare &&
           type->tp_richcompare != PyBaseObject_Type.tp_richcompare;
}

static enum uns_treatment object_method(PyObject *object, PyObject *name, PyObject *function) {
    PyTypeObject *type = Py_TYPE(object);
    if (is_view(object))
        return TREAT_BEHIND;
    int is_descr = Py_TYPE(function) == &PyMethodDescr_Type;
    PyObject *read_only = readers_of(type);
    if (!(is_descr || takes_next(object, name)) || (!read_only && is_quiet(type)))
        return TREAT_SKIP;
    uns_forget_when_dead(type);
    if (!read_only && is_descr && is_value(((PyDescrObject *)function)->d_type))
        return TREAT_OBJECT_READ;
    return read_only && PySet_Contains(read_only, name) == 1 ? TREAT_OBJECT_READ
                                                             : TREAT_OBJECT_WRITE;
}

/* Whether a thread was started is a part of its state: who joins it, or asks whether it is alive,
 * looks at that. All else that a Thread does is seen in other ways. */
static enum uns_treatment thread_method(PyObject *name) {
    static const char *const looks[] = {"join", "is_alive", NULL};
    if (PyUnicode_CompareWithASCIIString(name, "start") == 0)
        return TREAT_START;
    return is_one_of(name, looks) ? TREAT_OBJECT_READ : TREAT_SKIP;
}

/* An Event is a flag. Who waits for it looks when the wait is over, which its locks show. */
static enum uns_treatment event_method(PyObject *name) {
    static const char *const looks[] = {"is_set", "isSet", NULL}, *const sets[] = {"set", "clear",
                                                                                   NULL};
    if (is_one_of(name, sets))
        return TREAT_STEP;
    return is_one_of(name, looks) ? TREAT_OBJECT_READ : TREAT_SKIP;
}

static int is_of_threading(PyObject *function) {
    PyObject *module = PyFunction_Check(function) ? PyFunction_GET_MODULE(function) : NULL;
    return module && PyUnicode_Check(module) &&
           PyUnicode_CompareWithASCIIString(module, "threading") == 0;
}

static enum uns_treatment method(PyObject *object, PyObject *name, PyObject *function) {
    PyTypeObject *type = Py_TYPE(object);
    if (is_of_threading(function) && uns_named(type, "threading.Thread"))
        return thread_method(name);
    if (is_of_threading(function) && uns_named(type, "threading.Event"))
        return event_method(name);
    if (PyFunction_Check(function) && uns_is_own_function(function))
        return type->tp_dictoffset && uns_is_assigned_over(function, name) ? TREAT_ATTRIBUTE
                                                                           : TREAT_SKIP;
    if (Py_TYPE(function) == lru_type)
        return TREAT_CACHED;
    if (uns_is_container(type))
        return container_method(name, function);
    if (!PyFunction_Check(function))
        return object_method(object, name, function);
    PyObject *read_only = readers_of(type);
    return read_only && PySet_Contains(read_only, name) == 1 ? TREAT_OBJECT_READ
                                                             : python_method(function, type);
}

enum uns_treatment uns_method_treatment(PyObject *object, PyObject *name) {
    if (PyModule_Check(object) || PyType_Check(object))
        return TREAT_SKIP;
    PyObject *function = uns_in_type(Py_TYPE(object), name);
    enum uns_treatment how = function ? method(object, name, function) : TREAT_SKIP;
    Py_XDECREF(function);
    return how;
}

/* What a class itself defines, a new reference. Types of the interpreter keep their names elsewhere
 * since Python 3.12. */
static PyObject *own_name(PyTypeObject *type, PyObject *name) {
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *names = PyType_GetDict(type);
#else
    PyObject *names = Py_XNewRef(type->tp_dict);
#endif
    PyObject *found = names ? uns_in_dict(names, name) : NULL;
    Py_XDECREF(names);
    return found;
}

/* The method that super() finds: the first of C code along the bases. What a class of the target
 * has put between is seen by itself. */
enum uns_treatment uns_super_treatment(PyObject *object, PyObject *name) {
    PyObject *mro = Py_XNewRef(Py_TYPE(object)->tp_mro);
    enum uns_treatment how = TREAT_SKIP;
    for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
        PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
        PyObject *function = own_name(base, name);
        int is_it = function && !PyFunction_Check(function) && base != &PyBaseObject_Type;
        if (is_it)
            how = uns_is_container(base) ? container_method(name, function)
                                         : object_method(object, name, function);
        Py_XDECREF(function);
        if (is_it)
            break;
    }
    Py_XDECREF(mro);
    return how;
}

int uns_is_keyed(PyObject *method) {
    return is_one_of(method, keyed);
}

static enum uns_treatment callee(const Site *site, PyTypeObject *type) {
    if (type == lru_type) {
        uns_forget_when_dead(type);
        return TREAT_OBJECT_WRITE;
    }
    if (type == &PyMethod_Type) /* x.put(*args); plain calls of it were seen at their look-up */
        return site->flags & SITE_KEYED ? TREAT_CALLEE : TREAT_SKIP;
    return type == &PyFunction_Type || uns_is_plain_class(type) ? TREAT_SKIP : TREAT_CALLEE;
}

static enum uns_treatment decide(Site *site, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (site->kind == PROBE_CALLEE || site->kind == PROBE_CALLEE_ARG)
        return callee(site, type);
    if (is_immutable(type))
        return TREAT_SKIP;
    switch (site->kind) {
    case PROBE_ATTR_READ:
    case PROBE_ATTR_WRITE:
        return attribute_at(site, object);
    case PROBE_ITEM_READ:
    case PROBE_ITEM_WRITE:
    case PROBE_ITEM_DELETE:
        return item(site, object, type);
    case PROBE_SHAPE_READ:
        return shape_read(site, object, type);
    case PROBE_LIBRARY_ARG:
        return library_argument(site, object, type);
    case PROBE_SHAPE_WRITE:
        return uns_is_container(type) ? TREAT_SHAPE_WRITE : TREAT_SKIP;
    case PROBE_ITER:
        if (uns_is_container(type)) /* from 3.15 on a loop over a list stands on the list itself */
            return TREAT_SHAPE_READ;
        return is_view(object) ? TREAT_BEHIND : iteration(site, object);
    case PROBE_METHOD:
    case PROBE_METHOD_CALL:
        return uns_method_treatment(object, site->name);
    default:
        return TREAT_SKIP;
    }
}

UNS_GUARD(deciding);

static void note_decision(Site *site, PyTypeObject *type, enum uns_treatment how) {
    struct uns_decision *decision = uns_decision_for(site, type);
    UNS_ENTER(deciding);
#ifdef Py_GIL_DISABLED
    UNS_STORE(&decision->version, decision->version + 1);
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
    UNS_STORE(&decision->treatment, (uint8_t)how);
    UNS_STORE(&decision->type, type);
    UNS_STORE(&decision->site, site);
#ifdef Py_GIL_DISABLED
    UNS_SHOW(&decision->version, decision->version + 1);
#endif
    if (!site->owner && how != TREAT_SKIP)
        site->owner = (PyTypeObject *)Py_NewRef(type);
    UNS_LEAVE(deciding);
}

/* In parallel the pair cannot change under those that look at it: the first type stays. */
static void show_at_site(Site *site, PyTypeObject *type, enum uns_treatment how) {
#ifdef Py_GIL_DISABLED
    if (UNS_LOAD(&site->type))
        return;
#endif
    UNS_ENTER(deciding);
#ifdef Py_GIL_DISABLED
    if (!site->type)
#endif
    {
        site->treatment = (uint8_t)how;
        UNS_SHOW(&site->type, type);
    }
    UNS_LEAVE(deciding);
}

static enum uns_treatment decide_quietly(Site *site, PyObject *object) {
    PyObject *saved_type, *saved_value, *saved_traceback;
    PyErr_Fetch(&saved_type, &saved_value, &saved_traceback);
    enum uns_treatment how = decide(site, object);
    PyErr_Clear();
    PyErr_Restore(saved_type, saved_value, saved_traceback);
    return how;
}

/* A site that sees many types (richards: 27 million misses of a one-entry cache) asks here. */
enum uns_treatment uns_treatment_of(Site *site, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    enum uns_treatment how = uns_decided(site, type);
    if (how == TREAT_UNKNOWN) {
        how = decide_quietly(site, object);
        note_decision(site, type, how);
    }
    show_at_site(site, type, how);
    return how;
}

int uns_is_called(PyObject *method, const char *name) {
    return PyUnicode_CompareWithASCIIString(method, name) == 0;
}
