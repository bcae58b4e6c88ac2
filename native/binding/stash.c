/* SPDX-License-Identifier: Apache-2.0
 *
 * Receivers of method calls whose arguments are still being computed, innermost last.
 */
#include "binding/binding.h"

#define STASH_DEPTH 16
struct stash {
    struct {
        uint32_t site;
        int through_super;
        PyObject *receiver; /* borrowed: it lives on the evaluation stack until its call */
    } entries[STASH_DEPTH];
    uint32_t depth;
};
static __thread struct stash *stash_of_thread;

static struct stash *my_stash(void) {
    if (!stash_of_thread)
        stash_of_thread = PyMem_RawCalloc(1, sizeof *stash_of_thread);
    return stash_of_thread;
}

/* Whose method super() is to find (borrowed: the frame has it). */
PyObject *uns_behind_super(PyObject *super) {
    PyObject *self = PyObject_GetAttrString(super, "__self__");
    Py_XDECREF(self);
    PyErr_Clear();
    return self;
}

void uns_stash_push(uint32_t site, PyObject *receiver) {
    struct stash *stash = my_stash();
    if (!stash)
        return;
    /* What super() returns dies at the look-up. */
    int through_super = Py_IS_TYPE(receiver, &PySuper_Type);
    if (through_super && !(receiver = uns_behind_super(receiver)))
        return;
    if (stash->depth == STASH_DEPTH) { /* an exception left old entries behind: drop the oldest */
        memmove(stash->entries, stash->entries + 1, sizeof stash->entries - sizeof *stash->entries);
        stash->depth--;
    }
    stash->entries[stash->depth].site = site;
    stash->entries[stash->depth].through_super = through_super;
    stash->entries[stash->depth++].receiver = receiver;
}

PyObject *uns_stash_pop(uint32_t site, int *through_super) {
    struct stash *stash = my_stash();
    while (stash && stash->depth)
        if (stash->entries[--stash->depth].site == site) {
            *through_super = stash->entries[stash->depth].through_super;
            return stash->entries[stash->depth].receiver;
        }
    return NULL;
}
