/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts code between the instructions of a code object and mends everything that counts code units:
 * jumps, the location table, the exception table. Only what CPython's own assembler emits has to be
 * understood; the input is co_code, where specialised instructions have their plain form again.
 */
#define PY_SSIZE_T_CLEAN
#include "binding/splice.h"
#include <opcode.h>
#include <stdint.h>
#include <string.h>

const char uns_splice_doc[] =
    "splice(code, inserts, consts) -> (new_code, origin)\n\n"
    "Put the inserts, (unit, bytes, behind) sorted by unit, between the instructions of code.";

/* What the version's interpreter knows about its instructions; +1 jumps forward, -1 backward,
 * both counted from behind the instruction's cache entries. */
static const int8_t JUMPS[256] = {
    [FOR_ITER] = 1,
    [JUMP_FORWARD] = 1,
    [SEND] = 1,
    [JUMP_BACKWARD] = -1,
    [JUMP_BACKWARD_NO_INTERRUPT] = -1,
#if PY_VERSION_HEX >= 0x030E0000
    [END_ASYNC_FOR] = -1, /* jumps nowhere, but says where its loop began: monitoring asks */
#endif
#if PY_VERSION_HEX < 0x030C0000
    [JUMP_IF_FALSE_OR_POP] = 1,
    [JUMP_IF_TRUE_OR_POP] = 1,
    [POP_JUMP_FORWARD_IF_FALSE] = 1,
    [POP_JUMP_FORWARD_IF_TRUE] = 1,
    [POP_JUMP_FORWARD_IF_NONE] = 1,
    [POP_JUMP_FORWARD_IF_NOT_NONE] = 1,
    [POP_JUMP_BACKWARD_IF_FALSE] = -1,
    [POP_JUMP_BACKWARD_IF_TRUE] = -1,
    [POP_JUMP_BACKWARD_IF_NONE] = -1,
    [POP_JUMP_BACKWARD_IF_NOT_NONE] = -1,
#else
    [POP_JUMP_IF_FALSE] = 1,
    [POP_JUMP_IF_TRUE] = 1,
    [POP_JUMP_IF_NONE] = 1,
    [POP_JUMP_IF_NOT_NONE] = 1,
#endif
};

static const uint8_t CACHES[256] = {
    [STORE_ATTR] = 4,
    [STORE_SUBSCR] = 1,
    [UNPACK_SEQUENCE] = 1,
#if PY_VERSION_HEX < 0x030C0000
    [BINARY_OP] = 1,
    [BINARY_SUBSCR] = 4,
    [CALL] = 4,
    [COMPARE_OP] = 2,
    [LOAD_ATTR] = 4,
    [LOAD_GLOBAL] = 5,
    [LOAD_METHOD] = 10,
    [PRECALL] = 1,
#else
    [CALL] = 3,       [COMPARE_OP] = 1,    [FOR_ITER] = 1,
    [LOAD_ATTR] = 9,  [LOAD_GLOBAL] = 4,   [LOAD_SUPER_ATTR] = 1,
    [SEND] = 1,
#if PY_VERSION_HEX < 0x030E0000
    [BINARY_OP] = 1,  [BINARY_SUBSCR] = 1,
#endif
#endif
#if PY_VERSION_HEX >= 0x030D0000
    [CONTAINS_OP] = 1,
    [JUMP_BACKWARD] = 1,
    [POP_JUMP_IF_FALSE] = 1,
    [POP_JUMP_IF_NONE] = 1,
    [POP_JUMP_IF_NOT_NONE] = 1,
    [POP_JUMP_IF_TRUE] = 1,
    [TO_BOOL] = 3,
#endif
#if PY_VERSION_HEX >= 0x030E0000
    [BINARY_OP] = 5,
    [CALL_KW] = 3,
#endif
#if PY_VERSION_HEX >= 0x030F0000
    [CALL_FUNCTION_EX] = 1,
    [GET_ITER] = 1,
    [RESUME] = 1,
#endif
};

/* new units of one instruction:   behind | before | EXTENDED_ARGs | opcode | caches
 *                                        ^ front  ^ at                                   */
struct instr {
    uint32_t first, unit; /* original units: its first EXTENDED_ARG, its opcode */
    uint32_t front, at;   /* new units */
    uint32_t arg, target; /* target of a jump: an index into the instructions */
    uint32_t behind_units, before_units;
    Py_ssize_t insert, inserts; /* its entries in the list of inserts */
    uint8_t op, extended, caches;
    int8_t jump;
};

struct buffer {
    uint8_t *bytes;
    Py_ssize_t used, room;
};

struct splice {
    const uint8_t *code;
    Py_ssize_t units, count, total;
    struct instr *instrs;
    uint32_t *owner; /* original unit -> index of its instruction */
    PyObject *inserts;
    struct buffer lines, handlers;
};

static int put(struct buffer *b, uint8_t byte) {
    if (b->used == b->room) {
        Py_ssize_t room = b->room * 2 + 64;
        uint8_t *bytes = PyMem_Realloc(b->bytes, room);
        if (!bytes) {
            PyErr_NoMemory();
            return -1;
        }
        b->bytes = bytes;
        b->room = room;
    }
    b->bytes[b->used++] = byte;
    return 0;
}

static int bad(const char *what) {
    PyErr_Format(PyExc_ValueError, "cannot splice this code: %s", what);
    return -1;
}

/* ---- reading the original */

static int decode(struct splice *s) {
    uint32_t unit = 0, count = 0;
    while (unit < s->units) {
        struct instr *in = &s->instrs[count];
        memset(in, 0, sizeof *in);
        in->first = unit;
        uint32_t arg = s->code[2 * unit + 1];
        while (s->code[2 * unit] == EXTENDED_ARG && unit + 1 < s->units) {
            unit++;
            in->extended++;
            arg = arg << 8 | s->code[2 * unit + 1];
        }
        in->unit = unit;
        in->op = s->code[2 * unit];
        in->arg = arg;
        in->caches = CACHES[in->op];
        in->jump = JUMPS[in->op];
        unit += 1 + in->caches;
        if (unit > s->units)
            return bad("it ends inside an instruction");
        for (uint32_t u = in->first; u < unit; u++)
            s->owner[u] = count;
        count++;
    }
    s->count = count;
    return 0;
}

static int find_targets(struct splice *s) {
    for (Py_ssize_t i = 0; i < s->count; i++) {
        struct instr *in = &s->instrs[i];
        if (!in->jump)
            continue;
        int64_t unit = (int64_t)in->unit + 1 + in->caches + (int64_t)in->jump * in->arg;
        if (unit < 0 || unit >= s->units)
            return bad("a jump leaves it");
        in->target = s->owner[unit];
        if (s->instrs[in->target].first != unit)
            return bad("a jump lands inside an instruction");
    }
    return 0;
}

static int take_insert(struct splice *s, Py_ssize_t index) {
    PyObject *item = PyList_GET_ITEM(s->inserts, index), *bytes;
    unsigned int unit;
    int behind;
    if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "ISp", &unit, &bytes, &behind))
        return PyErr_Occurred() ? -1 : bad("an insert is not (unit, bytes, behind)");
    if (unit >= s->units || s->instrs[s->owner[unit]].first != unit)
        return bad("an insert does not stand before an instruction");
    struct instr *in = &s->instrs[s->owner[unit]];
    if (!in->inserts)
        in->insert = index;
    else if (in->insert + in->inserts != index)
        return bad("the inserts are not sorted");
    if (behind && in->before_units)
        return bad("an insert behind stands after one before");
    in->inserts++;
    uint32_t units = (uint32_t)(PyBytes_GET_SIZE(bytes) / 2);
    if (behind)
        in->behind_units += units;
    else
        in->before_units += units;
    return 0;
}

/* ---- placing the new */

static int extended_for(uint32_t arg) {
    return arg > 0xffffff ? 3 : arg > 0xffff ? 2 : arg > 0xff ? 1 : 0;
}

static void lay_out(struct splice *s) {
    uint32_t at = 0;
    for (Py_ssize_t i = 0; i < s->count; i++) {
        struct instr *in = &s->instrs[i];
        in->front = at + in->behind_units;
        in->at = in->front + in->before_units;
        at = in->at + in->extended + 1 + in->caches;
    }
    s->total = at;
}

/* A longer jump may need one more EXTENDED_ARG, which makes other jumps longer. Widths only grow,
 * so this ends. */
static int relocate(struct splice *s) {
    int grew;
    do {
        grew = 0;
        lay_out(s);
        for (Py_ssize_t i = 0; i < s->count; i++) {
            struct instr *in = &s->instrs[i];
            if (!in->jump)
                continue;
            int64_t from = (int64_t)in->at + in->extended + 1 + in->caches;
            int64_t arg = in->jump * ((int64_t)s->instrs[in->target].front - from);
            if (arg < 0)
                return bad("a jump would turn round");
            in->arg = (uint32_t)arg;
            if (extended_for(in->arg) > in->extended) {
                in->extended = (uint8_t)extended_for(in->arg);
                grew = 1;
            }
        }
    } while (grew);
    return 0;
}

/* The new unit that stands for an original one; the first unit of an instruction stands for what
 * was put before it too. */
static uint32_t moved(const struct splice *s, Py_ssize_t unit) {
    if (unit >= s->units)
        return (uint32_t)s->total;
    const struct instr *in = &s->instrs[s->owner[unit]];
    if (unit == in->first)
        return in->front;
    return in->at + in->extended - (in->unit - (uint32_t)unit);
}

static uint8_t *emit_inserts(const struct splice *s, const struct instr *in, uint8_t *out) {
    for (Py_ssize_t k = 0; k < in->inserts; k++) {
        PyObject *bytes = PyTuple_GET_ITEM(PyList_GET_ITEM(s->inserts, in->insert + k), 1);
        Py_ssize_t size = PyBytes_GET_SIZE(bytes) & ~(Py_ssize_t)1;
        memcpy(out, PyBytes_AS_STRING(bytes), size);
        out += size;
    }
    return out;
}

static void emit_code(const struct splice *s, uint8_t *out, uint32_t *origin) {
    for (Py_ssize_t i = 0; i < s->count; i++) {
        const struct instr *in = &s->instrs[i];
        for (uint32_t u = 0; u < in->behind_units; u++)
            *origin++ = s->instrs[i ? i - 1 : 0].unit;
        for (uint32_t u = 0; u < in->before_units + in->extended; u++)
            *origin++ = in->unit;
        for (uint32_t u = 0; u <= in->caches; u++)
            *origin++ = in->unit + u;
        out = emit_inserts(s, in, out);
        for (int e = in->extended; e > 0; e--) {
            *out++ = EXTENDED_ARG;
            *out++ = (uint8_t)(in->arg >> 8 * e);
        }
        *out++ = in->op;
        *out++ = (uint8_t)in->arg;
        memcpy(out, s->code + 2 * (in->unit + 1), 2 * in->caches);
        out += 2 * in->caches;
    }
}

/* ---- the location table: Objects/locations.md of CPython
 *
 * An entry is 1 | code:4 | units - 1:3, then bytes without the top bit. Lines are deltas to the
 * entry before, columns are absolute, so an entry can be stretched: its first 8 units keep its
 * bytes, what follows repeats it with a line delta of 0. */
enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG_FORM = 14, NO_LOCATION = 15 };

static int emit_location(struct buffer *b, int code, uint32_t units, const uint8_t *p,
                         const uint8_t *end) {
    if (put(b, (uint8_t)(0x80 | code << 3 | (units - 1))))
        return -1;
    for (; p < end; p++)
        if (put(b, *p))
            return -1;
    return 0;
}

static int emit_continuation(struct buffer *b, int code, uint32_t units, const uint8_t *p,
                             const uint8_t *end) {
    if (code < ONE_LINE || code == NO_LOCATION)
        return emit_location(b, code, units, p, end);
    if (code < NO_COLUMNS)
        return emit_location(b, ONE_LINE, units, p, end);
    static const uint8_t same_line[] = {0};
    if (emit_location(b, code, units, same_line, same_line + 1))
        return -1;
    if (code == NO_COLUMNS)
        return 0;
    while (p < end && *p & 0x40)
        p++;
    for (p++; p < end; p++)
        if (put(b, *p))
            return -1;
    return 0;
}

static int emit_lines(struct splice *s, PyObject *table) {
    const uint8_t *p = (const uint8_t *)PyBytes_AS_STRING(table);
    const uint8_t *end = p + PyBytes_GET_SIZE(table);
    Py_ssize_t unit = 0;
    while (p < end) {
        int code = *p >> 3 & 15;
        Py_ssize_t next = unit + (*p & 7) + 1;
        const uint8_t *rest = ++p;
        while (p < end && !(*p & 0x80))
            p++;
        /* Code put behind the last instruction of an entry belongs to that entry. */
        uint32_t left = moved(s, next) - moved(s, unit);
        if (unit == 0)
            left += moved(s, 0);
        uint32_t units = left > 8 ? 8 : left;
        if (emit_location(&s->lines, code, units, rest, p))
            return -1;
        for (left -= units; left; left -= units) {
            units = left > 8 ? 8 : left;
            if (emit_continuation(&s->lines, code, units, rest, p))
                return -1;
        }
        unit = next;
    }
    return 0;
}

/* ---- the exception table: Objects/exception_handling_notes.txt of CPython
 *
 * Four numbers an entry (start, length, target, depth and lasti), 6 bits a byte, most significant
 * first, 0x40 if more follow; the first byte of an entry has the top bit set. */

static uint32_t read_number(const uint8_t **p, const uint8_t *end) {
    uint32_t value = 0;
    while (*p < end) {
        uint8_t byte = *(*p)++;
        value = value << 6 | (byte & 63);
        if (!(byte & 0x40))
            break;
    }
    return value;
}

static int emit_number(struct buffer *b, uint32_t value, uint8_t mark) {
    for (int shift = 30; shift > 0; shift -= 6) {
        if (value >> shift) {
            if (put(b, (uint8_t)((value >> shift & 63) | 0x40 | mark)))
                return -1;
            mark = 0;
        }
    }
    return put(b, (uint8_t)((value & 63) | mark));
}

static int emit_handlers(struct splice *s, PyObject *table) {
    const uint8_t *p = (const uint8_t *)PyBytes_AS_STRING(table);
    const uint8_t *end = p + PyBytes_GET_SIZE(table);
    while (p < end) {
        uint32_t start = read_number(&p, end), length = read_number(&p, end);
        uint32_t target = read_number(&p, end), depth = read_number(&p, end);
        uint32_t from = moved(s, start);
        if (emit_number(&s->handlers, from, 0x80) ||
            emit_number(&s->handlers, moved(s, start + length) - from, 0) ||
            emit_number(&s->handlers, moved(s, target), 0) || emit_number(&s->handlers, depth, 0))
            return -1;
    }
    return 0;
}

/* ---- the new code object */

static PyObject *replace(PyCodeObject *code, const struct splice *s, PyObject *bytes,
                         PyObject *consts) {
    PyObject *new_code = NULL, *empty = PyTuple_New(0);
    PyObject *method = PyObject_GetAttrString((PyObject *)code, "replace");
    /* A two-operand probe keeps three values on the stack; one more is slack. */
    PyObject *fields =
        Py_BuildValue("{s:O,s:O,s:i,s:y#,s:y#}", "co_code", bytes, "co_consts", consts,
                      "co_stacksize", code->co_stacksize + 4, "co_linetable",
                      (const char *)s->lines.bytes, s->lines.used, "co_exceptiontable",
                      s->handlers.used ? (const char *)s->handlers.bytes : "", s->handlers.used);
    if (empty && method && fields)
        new_code = PyObject_Call(method, empty, fields);
    Py_XDECREF(empty);
    Py_XDECREF(method);
    Py_XDECREF(fields);
    return new_code;
}

static PyObject *build(PyCodeObject *code, struct splice *s, PyObject *consts) {
    PyObject *result = NULL, *new_code = NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, 2 * s->total);
    PyObject *origin = PyBytes_FromStringAndSize(NULL, 4 * s->total);
    if (bytes && origin) {
        emit_code(s, (uint8_t *)PyBytes_AS_STRING(bytes), (uint32_t *)PyBytes_AS_STRING(origin));
        if (!emit_lines(s, code->co_linetable) && !emit_handlers(s, code->co_exceptiontable))
            new_code = replace(code, s, bytes, consts);
    }
    if (new_code)
        result = PyTuple_Pack(2, new_code, origin);
    Py_XDECREF(bytes);
    Py_XDECREF(origin);
    Py_XDECREF(new_code);
    return result;
}

static PyObject *splice_code(PyCodeObject *code, struct splice *s, PyObject *consts) {
    if (decode(s) || find_targets(s))
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(s->inserts); i++)
        if (take_insert(s, i))
            return NULL;
    return relocate(s) ? NULL : build(code, s, consts);
}

PyObject *uns_splice(PyObject *module, PyObject *args) {
    PyCodeObject *code;
    PyObject *inserts, *consts;
    if (!PyArg_ParseTuple(args, "O!O!O!:splice", &PyCode_Type, &code, &PyList_Type, &inserts,
                          &PyTuple_Type, &consts))
        return NULL;
    PyObject *bytes = PyCode_GetCode(code);
    if (!bytes)
        return NULL;
    struct splice s = {.code = (const uint8_t *)PyBytes_AS_STRING(bytes),
                       .units = PyBytes_GET_SIZE(bytes) / 2,
                       .inserts = inserts};
    PyObject *result = NULL;
    s.instrs = PyMem_Malloc((size_t)(s.units + 1) * sizeof *s.instrs);
    s.owner = PyMem_Malloc((size_t)(s.units + 1) * sizeof *s.owner);
    if (s.instrs && s.owner)
        result = splice_code(code, &s, consts);
    else
        PyErr_NoMemory();
    PyMem_Free(s.instrs);
    PyMem_Free(s.owner);
    PyMem_Free(s.lines.bytes);
    PyMem_Free(s.handlers.bytes);
    Py_DECREF(bytes);
    return result;
}

/* ---- the door through which code made or read at run time starts
 *
 * Imports, runpy, pytest's assertion rewriter and dataclasses all end in builtins.exec. A Python
 * function in its place would be one more frame: other defaults for globals and locals, other
 * tracebacks, other stack levels of warnings. A C function is not. */

const char uns_wrap_exec_doc[] =
    "wrap_exec(exec, transform) -> callable\n\n"
    "A callable that runs exec(transform(source, globals), ...) without a frame of its own.";

/* Debuggers and coverage must not step into the transformation. */
static PyObject *transformed(PyObject *transform, PyObject *source, PyObject *globals) {
    PyThreadState *thread = PyThreadState_Get();
    PyThreadState_EnterTracing(thread);
    PyObject *result = PyObject_CallFunctionObjArgs(transform, source, globals, NULL);
    PyThreadState_LeaveTracing(thread);
    return result;
}

enum { MOST_ARGUMENTS = 8 }; /* exec takes four; what is wrong, exec itself shall say */

/* self is (exec, transform) */
static PyObject *exec_hook(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames) {
    PyObject *exec = PyTuple_GET_ITEM(self, 0);
    Py_ssize_t count = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *globals = nargs > 1 && args[1] != Py_None ? args[1] : PyEval_GetGlobals();
    if (nargs < 1 || count > MOST_ARGUMENTS || !globals)
        return PyObject_Vectorcall(exec, args, nargs, kwnames);
    PyObject *source = transformed(PyTuple_GET_ITEM(self, 1), args[0], globals);
    if (!source)
        return NULL;
    PyObject *changed[MOST_ARGUMENTS] = {source};
    for (Py_ssize_t i = 1; i < count; i++)
        changed[i] = args[i];
    PyObject *result = PyObject_Vectorcall(exec, changed, nargs, kwnames);
    Py_DECREF(source);
    return result;
}

static PyMethodDef EXEC_HOOK = {
    "exec", (PyCFunction)(void (*)(void))exec_hook, METH_FASTCALL | METH_KEYWORDS,
    "exec(source, globals=None, locals=None, /, *, closure=None)\n--\n\n"
    "Execute the given source in the context of globals and locals."};

PyObject *uns_wrap_exec(PyObject *module, PyObject *args) {
    PyObject *exec, *transform;
    if (!PyArg_ParseTuple(args, "OO:wrap_exec", &exec, &transform))
        return NULL;
    PyObject *pair = PyTuple_Pack(2, exec, transform);
    PyObject *name = PyUnicode_FromString("builtins");
    PyObject *hook = pair && name ? PyCFunction_NewEx(&EXEC_HOOK, pair, name) : NULL;
    Py_XDECREF(pair);
    Py_XDECREF(name);
    return hook;
}
