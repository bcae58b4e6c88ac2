# SPDX-License-Identifier: Apache-2.0
"""Objects of C types that threads share: they live and die as they do without us."""

import shutil
import subprocess
import sys
import sysconfig

import pytest
from tests.integration.in_process import called

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")

# As BTrees and persistent do: a type's destructor ends with that of its base.
TYPES = r"""
#define PY_SSIZE_T_CLEAN
#include <Python.h>

static PyObject *touch(PyObject *self, PyObject *unused) {
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"touch", touch, METH_NOARGS, NULL}, {NULL}};

static void base_dealloc(PyObject *self) {
    Py_TYPE(self)->tp_free(self);
}
static PyTypeObject Base = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ctypes_of_ours.Base",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = base_dealloc,
    .tp_methods = methods,
};
static void derived_dealloc(PyObject *self) {
    Base.tp_dealloc(self);
}
static PyTypeObject Derived = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ctypes_of_ours.Derived",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_base = &Base,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = derived_dealloc,
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "ctypes_of_ours", NULL, -1, NULL};

PyMODINIT_FUNC PyInit_ctypes_of_ours(void) {
    PyObject *made = PyModule_Create(&module);
    PyModule_AddType(made, &Base);
    PyModule_AddType(made, &Derived);
    return made;
}
"""
PROGRAM = """
import threading
from ctypes_of_ours import Base, Derived

class Own(Derived):
    pass

for kind in (Base, Derived, Own, Derived, Base):
    shared = kind()
    threads = [threading.Thread(target=shared.touch) for _ in range(2)]
    threads += [threading.Thread(target=lambda: shared.touch()) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del threads, thread, shared
print("done")
"""


def test_a_destructor_that_calls_its_bases_ends(tmp_path):
    (tmp_path / "types.c").write_text(TYPES)
    made = tmp_path / f"ctypes_of_ours{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_paths()["include"]
    command = ["gcc", "-shared", "-fPIC", f"-I{include}", "types.c", "-o", str(made)]
    subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "program.py").write_text(PROGRAM)
    runs = ("--max-runs", "10", "--timeout", "5", "--no-confirm")
    done = called(tmp_path, "hunt", *runs, "--", sys.executable, "program.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 passing" in done.stdout
