/* SPDX-License-Identifier: Apache-2.0
 *
 * Rewriting of code objects, the part that must be fast: putting code between instructions.
 */
#ifndef UNSNARL_SPLICE_H
#define UNSNARL_SPLICE_H
#include <Python.h>

/* splice(code, inserts, consts) -> (new_code, origin)
 *
 * inserts: list of (unit, bytes, behind), sorted by unit. `unit` is the first code unit of an
 * instruction of code.co_code (of its first EXTENDED_ARG if it has one). A jump to that instruction
 * also runs what stands before it, unless `behind` is true: such code follows the instruction
 * before, and jumps land after it. consts: the whole new co_consts. origin: bytes, one native
 * uint32 per unit of the new code: the unit of the original instruction it stands for. */
PyObject *uns_splice(PyObject *module, PyObject *args);
extern const char uns_splice_doc[];

/* wrap_exec(exec, transform) -> callable
 *
 * A callable that runs exec(transform(source, globals), ...). It is not a Python function, so the
 * frame that exec sees, and every traceback, stays as it would be without it. */
PyObject *uns_wrap_exec(PyObject *module, PyObject *args);
extern const char uns_wrap_exec_doc[];
#endif
