/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands behind an iterator or a view: the containers that C code reads through it, and the
 * iterators of others that it moves on. They are found the way the garbage collector would.
 */
#include "binding/binding.h"

#define MOST_FOUND   8
#define MOST_DEPTH   4
#define MOST_PENDING 16
#define MOST_DEEP    64

struct search {
    Site *site;
    PyObject *containers[MOST_FOUND], *iterators[MOST_FOUND];
    int container_count, iterator_count, depth;
    int parent; /* enum uns_carrier */
};

/* How an object leads on to what it stands on. */
enum uns_carrier {
    CARRIES_NOTHING,
    CARRIES_CONTAINER,
    CARRIES_ITERATORS,
    CARRIES_PENDING,
    IS_GENERATOR
};

static enum uns_carrier carrier(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    if (type == &PyGen_Type)
        return IS_GENERATOR;
    if (!type->tp_iternext || !uns_is_iterator(object))
        return PyDictViewSet_Check(object) || PyDictValues_Check(object) ? CARRIES_CONTAINER
                                                                         : CARRIES_NOTHING;
    if (type == &PyTupleIter_Type)
        return CARRIES_PENDING;
    return uns_iterates_container(type) ? CARRIES_CONTAINER : CARRIES_ITERATORS;
}

static void add(PyObject **found, int *count, PyObject *object) {
    for (int i = 0; i < *count; i++)
        if (found[i] == object)
            return;
    if (*count < MOST_FOUND)
        found[(*count)++] = Py_NewRef(object);
}

static int visit(PyObject *referent, void *arg);

static void look_behind(struct search *search, PyObject *object, enum uns_carrier how) {
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    if (!traverse || how == CARRIES_NOTHING || how == IS_GENERATOR || search->depth >= MOST_DEPTH)
        return;
    int parent = search->parent;
    search->parent = (int)how;
    search->depth++;
    UNS_HOLD(object);
    traverse(object, visit, search);
    UNS_LET_GO();
    search->depth--;
    search->parent = parent;
}

/* zip_longest leaves a hole where an iterator has come to its end. */
static int all_iterate(PyObject *tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        if (item && carrier(item) == CARRIES_NOTHING)
            return 0;
    }
    return 1;
}

/* What a chain has not come to yet. */
static void visit_pending(struct search *search, PyObject *sequence) {
    Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
    for (Py_ssize_t i = 0; i < count && i < MOST_PENDING; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(sequence, i);
        if (uns_is_container(Py_TYPE(item)))
            add(search->containers, &search->container_count, item);
        else
            visit(item, search);
    }
}

static int visit(PyObject *referent, void *arg) {
    struct search *search = arg;
    enum uns_carrier how = carrier(referent);
    if (search->parent == CARRIES_CONTAINER && uns_is_container(Py_TYPE(referent))) {
        if (PyList_CheckExact(referent) && Py_REFCNT(referent) == 1 && search->depth > 1)
            visit_pending(search, referent); /* chain.from_iterable([a, b]) */
        add(search->containers, &search->container_count, referent);
    } else if (PyTuple_CheckExact(referent)) {
        /* zip keeps its iterators in one, and its latest result in another */
        if (search->parent == CARRIES_PENDING && search->depth > 1)
            visit_pending(search, referent);
        else if (search->parent == CARRIES_ITERATORS && all_iterate(referent))
            Py_TYPE(referent)->tp_traverse(referent, visit, arg);
    } else if (how != CARRIES_NOTHING) {
        if (Py_REFCNT(referent) > 1 && Py_TYPE(referent)->tp_iternext)
            add(search->iterators, &search->iterator_count, referent);
        Py_INCREF(referent);
        look_behind(search, referent, how);
        Py_DECREF(referent);
    }
    return 0;
}

/* Gives up what was found. */
static void touch_found(Site *site, struct search *search, uint32_t op, int follows) {
    for (int i = 0; i < search->iterator_count; i++, follows = 1) {
        uns_forget_when_dead(Py_TYPE(search->iterators[i]));
        uns_touch_object(site, search->iterators[i], 1, UNS_WRITE, NULL);
        Py_DECREF(search->iterators[i]);
    }
    for (int i = 0; i < search->container_count; i++, follows = 1) {
        PyObject *container = search->containers[i];
        uns_deliver(site, container, Py_None, uns_shape_cell(container), op, follows);
        if (op == UNS_READ)
            uns_read_elements(site, container);
        Py_DECREF(container);
    }
}

/* Somebody takes from an iterator. If nobody else has it, only what is behind it counts. */
void uns_consume(Site *site, PyObject *iterator, Py_ssize_t own_references) {
    struct search search = {.site = site};
    enum uns_carrier how = carrier(iterator);
    if (Py_REFCNT(iterator) > own_references && Py_TYPE(iterator)->tp_iternext)
        add(search.iterators, &search.iterator_count, iterator);
    look_behind(&search, iterator, how);
    touch_found(site, &search, UNS_READ, 0);
}

/* keys(), values(), items(), a memoryview: an access of the container itself. */
void uns_touch_behind(Site *site, PyObject *view, uint32_t op) {
    struct search search = {.site = site};
    if (PyMemoryView_Check(view)) {
        PyObject *base = PyMemoryView_GET_BASE(view);
        if (base && uns_is_container(Py_TYPE(base)))
            add(search.containers, &search.container_count, base);
    } else {
        look_behind(&search, view, carrier(view));
    }
    touch_found(site, &search, op, 0);
}

/* ---- functions that read all of a structure: json.dumps, copy.deepcopy, repr */

struct deep {
    Site *site;
    int left, depth, follows;
};

/* What an object has that may be gone into, as references of our own: others
 * may change the object while we are at the gate, or in parallel. */
struct parts {
    PyObject *found[MOST_DEEP];
    int count;
};

static int add_part(PyObject *object, void *arg) {
    struct parts *parts = arg;
    PyTypeObject *type = Py_TYPE(object);
    int may_go_in =
        uns_is_container(type) || PyTuple_CheckExact(object) || uns_is_plain_class(type);
    if (may_go_in && parts->count < MOST_DEEP)
        parts->found[parts->count++] = Py_NewRef(object);
    return 0;
}

static void read_deep(PyObject *object, struct deep *deep);

static void read_parts(PyObject *object, struct deep *deep) {
    struct parts parts = {.count = 0};
    UNS_HOLD(object);
    Py_TYPE(object)->tp_traverse(object, add_part, &parts);
    UNS_LET_GO();
    deep->depth--;
    for (int i = 0; i < parts.count; i++) {
        read_deep(parts.found[i], deep);
        Py_DECREF(parts.found[i]);
    }
    deep->depth++;
}

static void read_deep(PyObject *object, struct deep *deep) {
    PyTypeObject *type = Py_TYPE(object);
    int is_container = uns_is_container(type), is_instance = uns_is_own_instance(object);
    if (!deep->left || (!is_container && !is_instance && !PyTuple_CheckExact(object)))
        return;
    deep->left--;
    if (is_container) {
        uns_deliver(deep->site, object, Py_None, uns_shape_cell(object), UNS_READ, deep->follows);
        uns_read_elements(deep->site, object);
        deep->follows = 1;
    } else if (is_instance) {
        uns_touch_attributes(deep->site, object, 0);
        deep->follows = 1;
    }
    if (deep->depth && type->tp_traverse && !is_instance)
        read_parts(object, deep);
}

void uns_read_deep(Site *site, PyObject *object) {
    int whole = PyUnicode_CompareWithASCIIString(site->name, "copy") != 0;
    struct deep deep = {.site = site, .left = MOST_DEEP, .depth = whole ? MOST_DEPTH : 0};
    read_deep(object, &deep);
}

/* ---- calls of what only turns out to be C code when it is called */

static int changes_its_argument(const char *module, const char *name) {
    return (strcmp(module, "_heapq") == 0 && strncmp(name, "heap", 4) == 0) ||
           (strcmp(module, "_bisect") == 0 && strncmp(name, "insort", 6) == 0);
}

static uint32_t effect_of(PyObject *callee) {
    if (PyType_Check(callee))
        return UNS_READ;
    PyObject *module = ((PyCFunctionObject *)callee)->m_module;
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : "";
    if (!name || strcmp(name, "builtins") == 0)
        return UNS_READ;
    return changes_its_argument(name, ((PyCFunctionObject *)callee)->m_ml->ml_name) ? UNS_WRITE
                                                                                    : UNS_CALL;
}

static void unseen_callee(PyObject *callee, PyObject *argument) {
    PyObject *text = PyUnicode_FromFormat("what a call of %s does to a %s",
                                          Py_TYPE(callee)->tp_name, Py_TYPE(argument)->tp_name);
    if (text)
        uns_note_unseen(text);
    Py_XDECREF(text);
    PyErr_Clear();
}

void uns_probe_argument(Site *site, PyObject *callee, PyObject *argument) {
    int is_function = PyCFunction_CheckExact(callee);
    if (!is_function && !(PyType_Check(callee) && !uns_is_plain_class((PyTypeObject *)callee))) {
        if (!PyType_Check(callee) &&
            (uns_is_container(Py_TYPE(argument)) || uns_is_own_instance(argument)))
            unseen_callee(callee, argument);
        return;
    }
    if (is_function && PyCFunction_GET_SELF(callee) &&
        !PyModule_Check(PyCFunction_GET_SELF(callee)))
        return;                                                     /* of a class: dict.fromkeys */
    if (PyTuple_CheckExact(argument) && site->flags & SITE_KEYED) { /* f(*args) */
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(argument); i++)
            if (uns_is_container(Py_TYPE(PyTuple_GET_ITEM(argument, i))))
                uns_deliver(site, PyTuple_GET_ITEM(argument, i), Py_None,
                            uns_shape_cell(PyTuple_GET_ITEM(argument, i)), effect_of(callee),
                            i > 0);
    } else if (uns_is_container(Py_TYPE(argument))) {
        uns_deliver(site, argument, Py_None, uns_shape_cell(argument), effect_of(callee), 0);
    } else if (uns_is_iterator(argument)) {
        uns_consume(site, argument, 2);
    }
}
