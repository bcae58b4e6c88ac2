/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads share although no lock of the interpreter keeps them apart. On a build with the GIL
 * all of this is the plain access that it stands for, and guards are nothing.
 *
 * A guard is never held across an event: who waits at the gate would keep others from theirs.
 */
#ifndef UNSNARL_PARALLEL_H
#define UNSNARL_PARALLEL_H
#include <Python.h>

#ifdef Py_GIL_DISABLED
#define UNS_GUARD(name)        static PyMutex name
#define UNS_ENTER(name)        PyMutex_Lock(&(name))
#define UNS_LEAVE(name)        PyMutex_Unlock(&(name))
#define UNS_LOAD(at)           __atomic_load_n(at, __ATOMIC_RELAXED)
#define UNS_STORE(at, to)      __atomic_store_n(at, to, __ATOMIC_RELAXED)
#define UNS_SEE(at)            __atomic_load_n(at, __ATOMIC_ACQUIRE) /* what was shown with ... */
#define UNS_SHOW(at, to)       __atomic_store_n(at, to, __ATOMIC_RELEASE)
#define UNS_BUMP(at)           ((void)__atomic_fetch_add(at, 1, __ATOMIC_RELAXED))
#define UNS_SET_BITS(at, bits) ((void)__atomic_fetch_or(at, bits, __ATOMIC_RELAXED))
#define UNS_PER_THREAD         __thread
#define UNS_HOLD(object)       Py_BEGIN_CRITICAL_SECTION(object)
#define UNS_LET_GO()           Py_END_CRITICAL_SECTION()
#else
#define UNS_GUARD(name)        struct uns_no_guard
#define UNS_ENTER(name)        ((void)0)
#define UNS_LEAVE(name)        ((void)0)
#define UNS_LOAD(at)           (*(at))
#define UNS_STORE(at, to)      ((void)(*(at) = (to)))
#define UNS_SEE(at)            (*(at))
#define UNS_SHOW(at, to)       ((void)(*(at) = (to)))
#define UNS_BUMP(at)           ((void)++*(at))
#define UNS_SET_BITS(at, bits) ((void)(*(at) |= (bits)))
#define UNS_PER_THREAD
#define UNS_HOLD(object) {
#define UNS_LET_GO()     }
#endif

/* New references: what others may take away meanwhile must not be borrowed. */
static inline PyObject *uns_in_type(PyTypeObject *type, PyObject *name) {
#ifdef Py_GIL_DISABLED
    return _PyType_LookupRef(type, name);
#else
    return Py_XNewRef(_PyType_Lookup(type, name));
#endif
}

static inline PyObject *uns_in_dict(PyObject *dict, PyObject *key) {
#ifdef Py_GIL_DISABLED
    PyObject *found;
    PyDict_GetItemRef(dict, key, &found);
    return found;
#else
    return Py_XNewRef(PyDict_GetItemWithError(dict, key));
#endif
}

static inline PyObject *uns_in_list(PyObject *list, Py_ssize_t index) {
#ifdef Py_GIL_DISABLED
    return PyList_GetItemRef(list, index);
#else
    return index < PyList_GET_SIZE(list) ? Py_NewRef(PyList_GET_ITEM(list, index)) : NULL;
#endif
}
#endif
