/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses that no probe can see are at least named: a report must not be silent about them.
 */
#include "binding/binding.h"

#define MOST_UNSEEN 50
static PyObject *texts;

UNS_GUARD(beginning);

void uns_note_unseen(PyObject *text) {
    if (!uns_rt.active)
        return;
    UNS_ENTER(beginning);
    if (!texts)
        texts = PyDict_New();
    UNS_LEAVE(beginning);
    if (texts && PyDict_GET_SIZE(texts) < MOST_UNSEEN)
        PyDict_SetItem(texts, text, Py_None);
}

PyObject *uns_unseen(PyObject *module, PyObject *unused) {
    return texts ? PyDict_Keys(texts) : PyList_New(0);
}
