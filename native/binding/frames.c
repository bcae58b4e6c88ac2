/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that looks inside the interpreter. First of all: which site of the target's own code
 * is a thread at? Lock operations happen inside library code
 * (threading, queue); what the user wants to read is the line of theirs that led there.
 */
#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1 /* frames: every difference between CPython versions is in this file */
#endif
#include "binding/binding.h"
#include "binding/plan.h"
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#include <internal/pycore_interpframe_structs.h>
#include <internal/pycore_stackref.h>
#endif
#include <internal/pycore_list.h>

struct code_entry {
    PyObject *code;
    uint32_t base, units;
    const uint32_t *origin; /* code unit after rewriting -> before */
};
struct code_table {
    uint32_t size, used;
    struct code_entry entries[];
};
static struct code_table *table; /* looked at by anybody at any time */
UNS_GUARD(registering);
static PyObject *import_machinery; /* how the names of its files begin */

static struct code_entry *slot(struct code_table *in, const PyObject *code) {
    uint32_t at = (uint32_t)uns_mix((uintptr_t)code >> 4) & (in->size - 1);
    for (const PyObject *found; (found = UNS_SEE(&in->entries[at].code)) && found != code;)
        at = (at + 1) & (in->size - 1);
    return &in->entries[at];
}

static int grow(void) {
    uint32_t size = table ? table->size * 2 : 256;
    struct code_table *old = table;
    struct code_table *bigger = PyMem_RawCalloc(1, sizeof *bigger + size * sizeof *bigger->entries);
    if (!bigger)
        return -1;
    bigger->size = size;
    bigger->used = old ? old->used : 0;
    for (uint32_t i = 0; old && i < old->size; i++)
        if (old->entries[i].code)
            *slot(bigger, old->entries[i].code) = old->entries[i];
    UNS_SHOW(&table, bigger);
#ifndef Py_GIL_DISABLED
    PyMem_RawFree(old); /* in parallel somebody may still be looking */
#endif
    return 0;
}

static int enter(PyObject *code, uint32_t base, uint32_t units, const uint32_t *origin) {
    if ((!table || table->used * 2 >= table->size) && grow() < 0)
        return -1;
    struct code_entry *entry = slot(table, code);
    table->used += !entry->code;
    entry->base = base;
    entry->units = units;
    entry->origin = origin;
    UNS_SHOW(&entry->code, Py_NewRef(code)); /* last: it makes the entry one */
    return 0;
}

PyObject *uns_register_code(PyObject *module, PyObject *args) {
    PyObject *code;
    unsigned base;
    Py_buffer origin;
    if (!PyArg_ParseTuple(args, "O!Iy*:register_code", &PyCode_Type, &code, &base, &origin))
        return NULL;
    uint32_t *copy = PyMem_RawMalloc(origin.len ? (size_t)origin.len : 1);
    if (copy)
        memcpy(copy, origin.buf, (size_t)origin.len);
    UNS_ENTER(registering);
    int entered = copy ? enter(code, base, (uint32_t)origin.len / 4, copy) : -1;
    UNS_LEAVE(registering);
    PyBuffer_Release(&origin);
    if (entered < 0) {
        PyMem_RawFree(copy);
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

static const struct code_entry *find(const PyObject *code) {
    struct code_table *in = UNS_SEE(&table);
    if (!in)
        return NULL;
    const struct code_entry *entry = slot(in, code);
    return entry->code ? entry : NULL;
}

int uns_code_is_registered(PyObject *code) {
    return find(code) != NULL;
}

#if PY_VERSION_HEX >= 0x030E0000
#define TOP_FRAME(state)  ((state)->current_frame)
#define FRAME_CODE(frame) PyStackRef_AsPyObjectBorrow((frame)->f_executable)
#elif PY_VERSION_HEX >= 0x030D0000
#define TOP_FRAME(state)  ((state)->current_frame)
#define FRAME_CODE(frame) ((PyObject *)(frame)->f_executable)
#else
#define TOP_FRAME(state)  ((state)->cframe->current_frame)
#define FRAME_CODE(frame) ((PyObject *)(frame)->f_code)
#endif

/* 0 if no frame of this thread is the target's. `inside`: library code stands between. Codes
 * registered without units (Thread.start and its like) hide what is beneath them. */
uint32_t uns_python_site(int *inside) {
    _PyInterpreterFrame *top = TOP_FRAME(PyThreadState_Get()), *frame = top;
    for (*inside = 0; frame; frame = frame->previous, *inside = 1) {
        const struct code_entry *entry = find(FRAME_CODE(frame));
        if (!entry)
            continue;
        int unit = _PyInterpreterFrame_LASTI(frame);
        if (unit < 0 || (uint32_t)unit >= entry->units)
            unit = 0;
        return entry->base + (entry->units ? entry->origin[unit] : 0);
    }
    *inside = 1;
    return 0;
}

static int is_import(const PyObject *code) {
    return PyUnicode_Tailmatch(((const PyCodeObject *)code)->co_filename, import_machinery, 0,
                               PY_SSIZE_T_MAX, -1) == 1;
}

/* The same for what is done to files: 0 also where an import does it, or the code of a thread. */
uint32_t uns_file_site(void) {
    if (!import_machinery && !(import_machinery = PyUnicode_InternFromString("<frozen importlib")))
        return 0;
    _PyInterpreterFrame *frame = TOP_FRAME(PyThreadState_Get());
    for (; frame && !find(FRAME_CODE(frame)); frame = frame->previous)
        if (PyCode_Check(FRAME_CODE(frame)) && is_import(FRAME_CODE(frame)))
            return 0;
    int inside;
    const struct code_entry *entry = frame ? find(FRAME_CODE(frame)) : NULL;
    return entry && entry->units ? uns_python_site(&inside) : 0;
}

/* Does code without probes run, on the target's behalf? */
int uns_is_in_library(void) {
    int inside;
    uns_python_site(&inside);
    return inside;
}

uint32_t uns_function_site(PyFrameObject *frame) {
    const struct code_entry *entry = find(FRAME_CODE(frame->f_frame));
    return entry && entry->units ? entry->base : 0;
}

uint32_t uns_line_site(PyFrameObject *frame) {
    const struct code_entry *entry = find(FRAME_CODE(frame->f_frame));
    if (!entry || !entry->units)
        return 0;
    int unit = _PyInterpreterFrame_LASTI(frame->f_frame);
    return entry->base + (unit < 0 || (uint32_t)unit >= entry->units ? 0 : entry->origin[unit]);
}

/* Is a frame of the calling thread one of the code that owns the sites from low up to high? */
int uns_python_inside(uint32_t low, uint32_t high) {
    /* An extension's code may ask, without the GIL, or in a thread that Python does not know. */
    PyThreadState *state = PyGILState_GetThisThreadState();
    _PyInterpreterFrame *frame = state ? TOP_FRAME(state) : NULL;
    for (; frame; frame = frame->previous) {
        const struct code_entry *entry = find(FRAME_CODE(frame));
        if (entry && entry->units && entry->base >= low && entry->base < high)
            return 1;
    }
    return 0;
}

#if PY_VERSION_HEX < 0x030C0000
typedef struct { /* private to listobject.c until 3.12 */
    PyObject_HEAD Py_ssize_t it_index;
    PyListObject *it_seq;
} _PyListIterObject;
#endif

/* The list behind its iterator, NULL once that is exhausted (borrowed). */
PyObject *uns_list_behind(PyObject *iterator) {
    return (PyObject *)((_PyListIterObject *)iterator)->it_seq;
}

/* From 3.14 on a with statement keeps what it will call at its end as two values, a function and
 * its object, and a probe is shown the function: the object lies above it (borrowed, or NULL). The
 * stack ends with the probe's site and its copy of the function. */
PyObject *uns_object_above(PyObject *function) {
#if PY_VERSION_HEX >= 0x030E0000
    enum { SITE_AND_COPY = 2, FARTHEST = 8 };
    _PyInterpreterFrame *frame = TOP_FRAME(PyThreadState_Get());
    const _PyStackRef *top = frame->stackpointer, *bottom = _PyFrame_Stackbase(frame);
    for (int at = SITE_AND_COPY + 2; at <= FARTHEST && top - at >= bottom; at++)
        if (PyStackRef_AsPyObjectBorrow(top[-at]) == function)
            return PyStackRef_AsPyObjectBorrow(top[1 - at]);
#else
    (void)function;
#endif
    return NULL;
}

/* The generator whose frame the calling thread is in (borrowed), or NULL. */
PyObject *uns_running_generator(void) {
    _PyInterpreterFrame *frame = TOP_FRAME(PyThreadState_Get());
    if (!frame || frame->owner != FRAME_OWNED_BY_GENERATOR)
        return NULL;
    return (PyObject *)((char *)frame - offsetof(PyGenObject, gi_iframe));
}

/* The first id that neither registered code nor an extension owns. */
uint32_t uns_site_watermark(void) {
    uint32_t highest = 0;
    for (uint32_t i = 0; table && i < table->size; i++) {
        const struct code_entry *one = &table->entries[i];
        if (one->code && one->units) {
            uint32_t end = one->base + one->origin[one->units - 1] + 1;
            highest = end > highest ? end : highest;
        }
    }
    uint32_t length;
    const struct uns_module *modules = uns_modules(&length);
    for (uint32_t i = 0; i < length; i++) {
        uint32_t end = modules[i].first + modules[i].sites;
        highest = end > highest ? end : highest;
    }
    return highest;
}
