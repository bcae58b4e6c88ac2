/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of the interpreter that are led to ours: in their method tables and not by name,
 * because others have taken them by then (logging.Formatter.converter is time.localtime), and
 * because libraries that freeze time expect functions written in C there, with these signatures.
 */
#include "binding/binding.h"

/* Whatever another version of Python has otherwise is left as it is. */
int uns_lead(PyObject *owner, const char *name, PyCFunction to, int flags, PyCFunction *original) {
    PyObject *function = owner ? PyObject_GetAttrString(owner, name) : NULL;
    if (!function)
        return -1;
    if (PyCFunction_Check(function)) {
        PyMethodDef *method = ((PyCFunctionObject *)function)->m_ml;
        if (method->ml_meth != to && method->ml_flags == flags) {
            *original = method->ml_meth;
            method->ml_meth = to;
        }
    }
    Py_DECREF(function);
    return 0;
}
