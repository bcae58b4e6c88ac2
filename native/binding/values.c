/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of accesses in recorded runs. A probe stands before its access, with the interpreter's
 * lock held from the one to the other: what is read can be looked up there and then. What is
 * written is looked up at the next access of any thread, before which nobody else can have written
 * it. No code of the target runs here.
 *
 * Without such a lock others may write between the look and the access: each thread looks up its
 * own writes, and no value is certain.
 */
#include "binding/binding.h"

#define MISSING 0x6D697373696E67ull /* there is nothing: an attribute or key that is not there */
#define NOTHING 0x6E6F6E65ull       /* None */
#ifdef Py_GIL_DISABLED
#define CERTAIN 0
#else
#define CERTAIN UNS_VALUE_CERTAIN
#endif

static UNS_PER_THREAD struct {
    struct uns_thread *thread; /* NULL: nothing is being written */
    struct uns_value_record record;
    PyObject *object, *key;
    uint64_t shape; /* of the container, if that changes, too; else 0 */
    int kind;
} written;

/* A number as it is; of what does not change a hash; of all else which object it is. */
static void encode(PyObject *value, struct uns_value_record *record) {
    int overflow = 0;
    long long number = PyLong_Check(value) ? PyLong_AsLongLongAndOverflow(value, &overflow) : 0;
    record->flags |= CERTAIN;
    if (PyLong_Check(value) && !overflow) {
        record->value = (uint64_t)number;
        record->flags |= UNS_VALUE_NUMBER;
    } else if (value == Py_None) {
        record->value = NOTHING;
    } else if (PyUnicode_CheckExact(value) || PyBytes_CheckExact(value) ||
               PyFloat_CheckExact(value) || PyLong_CheckExact(value)) {
        record->value = uns_mix((uint64_t)PyObject_Hash(value));
    } else {
        record->value = uns_mix((uintptr_t)value);
    }
}

/* Each gives a new reference, or NULL; `readable` says whether that means anything. */
static PyObject *attribute(PyObject *object, PyObject *name, int *readable) {
    if (PyType_Check(object))
        return uns_in_type((PyTypeObject *)object, name);
    if (PyModule_Check(object))
        return uns_in_dict(PyModule_GetDict(object), name);
    /* A descriptor that is the target's own would run. */
    PyObject *in_class = uns_in_type(Py_TYPE(object), name);
    *readable =
        !in_class || Py_TYPE(in_class) == &PyMemberDescr_Type || !Py_TYPE(in_class)->tp_descr_get;
    Py_XDECREF(in_class);
    return *readable ? _PyObject_GenericGetAttrWithDict(object, name, NULL, 1) : NULL;
}

static PyObject *element(PyObject *container, PyObject *key, int *readable) {
    if (PyDict_Check(container)) {
        *readable = uns_hashes_quietly(key);
        return *readable ? uns_in_dict(container, key) : NULL;
    }
    Py_ssize_t index = PyLong_CheckExact(key) ? PyLong_AsSsize_t(key) : -1;
    *readable = PyList_Check(container) && PyLong_CheckExact(key);
    if (*readable && index < 0)
        index += PyList_GET_SIZE(container);
    return *readable && index >= 0 && index < PyList_GET_SIZE(container)
               ? uns_in_list(container, index)
               : NULL;
}

static PyObject *size_of(PyObject *container, int *readable) {
    *readable = uns_is_container(Py_TYPE(container));
    return *readable ? PyLong_FromSsize_t(PyObject_Size(container)) : NULL;
}

static PyObject *value_of(int kind, PyObject *object, PyObject *key, int *readable) {
    *readable = 1;
    switch (kind) {
    case PROBE_ATTR_READ:
    case PROBE_ATTR_WRITE:
    case PROBE_STATE_READ:
    case PROBE_STATE_WRITE:
        return key == Py_None ? size_of(object, readable) : attribute(object, key, readable);
    case PROBE_GLOBAL_READ:
    case PROBE_GLOBAL_WRITE:
        return uns_in_dict(object, key);
    case PROBE_CELL_READ:
    case PROBE_CELL_WRITE:
        return PyCell_Get(object);
    case PROBE_ITEM_READ:
    case PROBE_ITEM_WRITE:
    case PROBE_ITEM_DELETE:
    case PROBE_METHOD_CALL:
        return key == Py_None ? size_of(object, readable) : element(object, key, readable);
    default:
        return size_of(object, readable);
    }
}

static void take(int kind, PyObject *object, PyObject *key, struct uns_value_record *record) {
    PyObject *saved_type, *saved_value, *saved_traceback;
    PyErr_Fetch(&saved_type, &saved_value, &saved_traceback);
    int readable;
    PyObject *value = value_of(kind, object, key, &readable);
    if (value) {
        encode(value, record);
    } else if (readable && !PyErr_Occurred()) {
        record->value = MISSING;
        record->flags |= CERTAIN;
    }
    Py_XDECREF(value);
    PyErr_Clear();
    PyErr_Restore(saved_type, saved_value, saved_traceback);
}

void uns_settle_value(void) {
    struct uns_thread *t = written.thread;
    if (!t)
        return;
    written.thread = NULL;
    take(written.kind, written.object, written.key, &written.record);
    uns_log_value(t, &written.record);
    if (written.shape) {
        written.record.cell = written.shape;
        written.record.flags = UNS_VALUE_MORE;
        take(PROBE_SHAPE_WRITE, written.object, NULL, &written.record);
        uns_log_value(t, &written.record);
    }
    uint32_t *muted = &uns_current()->muted;
    ++*muted; /* this may have been the last of them */
    Py_CLEAR(written.object);
    Py_CLEAR(written.key);
    --*muted;
}

static void log_found(struct uns_thread *t, int kind, struct uns_value_record record,
                      PyObject *object) {
    record.point = UNS_POINT(UNS_POINT_SITE(record.point), UNS_READ);
    take(kind, object, Py_None, &record);
    uns_log_value(t, &record);
}

void uns_take_value(struct uns_thread *t, int kind, const struct uns_value_record *access,
                    PyObject *object, PyObject *key, uint64_t shape) {
    struct uns_value_record record = *access;
    uns_settle_value();
    record.position = uns_log_position(t);
    if (UNS_POINT_OP(record.point) == UNS_READ) {
        take(kind, object, key, &record);
        uns_log_value(t, &record);
    } else if (UNS_POINT_OP(record.point) == UNS_WRITE) {
        if (key == Py_None) { /* a container's method depends on what it finds */
            log_found(t, kind, record, object);
            record.flags |= UNS_VALUE_MORE;
        }
        written.thread = t;
        written.record = record;
        written.object = Py_NewRef(object);
        written.key = Py_XNewRef(key);
        written.kind = kind;
        written.shape = shape;
    } else {
        uns_log_value(t, &record);
    }
}

/* What an object of the target's own would say cannot be asked a second time: only `and` and `or`
 * before 3.12 come here with one, and are taken to go on. */
int uns_truth(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    return type->tp_flags & Py_TPFLAGS_HEAPTYPE ? 1 : PyObject_IsTrue(value) == 1;
}
