/* SPDX-License-Identifier: Apache-2.0
 *
 * The only place where the runtime meets Python.
 */
#ifndef UNSNARL_BINDING_H
#define UNSNARL_BINDING_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "unsnarl/rt.h"

enum uns_probe_kind {
    PROBE_ATTR_READ,
    PROBE_ATTR_WRITE,
    PROBE_ITEM_READ,
    PROBE_ITEM_WRITE,
    PROBE_ITEM_DELETE,
    PROBE_GLOBAL_READ,
    PROBE_GLOBAL_WRITE,
    PROBE_CELL_READ,
    PROBE_CELL_WRITE,
    PROBE_SHAPE_READ,
    PROBE_SHAPE_WRITE,
    PROBE_ITER,
    PROBE_METHOD,
    PROBE_STASH,
    PROBE_METHOD_CALL,
    PROBE_CREATE,
    PROBE_LIBRARY_ARG,
    PROBE_BRANCH,
    PROBE_BACK,
    PROBE_KINDS
};
#define SITE_BREAKER 1  /* the interpreter could switch threads since the previous site */
#define SITE_INIT    2  /* a store on self inside __init__ */
#define SITE_LOOP    8  /* ... unless the thread has just come into the loop that begins here */
#define SITE_NONE    16 /* of a branch: it asks whether there is None */
#define SITE_IF      64 /* of a jump back that asks: it is taken if that is so, else if not */
#define SITE_OFFSET  8  /* above the flags: distance from the first site of the code */
#define SITE_KEYED   4  /* the operand of a METHOD_CALL is the key */

/* What a probe does with an object of some type. */
enum uns_treatment {
    TREAT_UNKNOWN,
    TREAT_SKIP,
    TREAT_ATTRIBUTE,     /* cell: object and name */
    TREAT_CLASS_DEFAULT, /* the class has the name too: which of the two holds the value? */
    TREAT_CLASS,         /* the object is a class */
    TREAT_MODULE,
    TREAT_LIST,       /* cells: elements by index, and the shape */
    TREAT_DICT,       /* cells: elements by key, and the shape */
    TREAT_SHAPE_READ, /* a method that reads the shape */
    TREAT_SHAPE_WRITE,
    TREAT_ITERATOR,
    TREAT_LIBRARY, /* a call into code that is not instrumented */
};

typedef struct Site {
    PyObject_HEAD uint32_t id, base; /* base: first id of its code */
    uint8_t kind, flags, treatment;
    PyTypeObject *type; /* the type that `treatment` is for, the latest one */
    PyObject *name;
    uint64_t name_hash;
    PyTypeObject *owner; /* first type seen here: names the variable in reports */
    struct Site *next;   /* all sites, newest first */
} Site;

PyObject *uns_variables(PyObject *module, PyObject *unused);
extern PyTypeObject SiteType, LockType, RLockType;
extern PyObject *uns_capture_hook, *uns_break_hook, *uns_branch_hook;

/* types.c: what was decided for a type at a site. Sites in a base class see many types. */
#define UNS_DECISIONS 4096
struct uns_decision {
    PyTypeObject *type;
    const Site *site;
    uint8_t treatment;
};
extern struct uns_decision uns_decisions[UNS_DECISIONS];

static inline struct uns_decision *uns_decision_for(const Site *site, const PyTypeObject *type) {
    uint64_t hash = ((uintptr_t)type >> 4) * 0x9E3779B97F4A7C15ull + site->id * 0x9E3779B1ull;
    return &uns_decisions[hash >> 20 & (UNS_DECISIONS - 1)];
}

int uns_types_init(void);
enum uns_treatment uns_treatment_of(Site *site, PyObject *object);
PyObject *uns_iterated(PyObject *iterator);
int uns_is_container(PyTypeObject *type);

/* cells.c */
#define UNS_GENERATIONS (1u << 16)
#define UNS_SHAPE_SALT  0xD6E8FEB86659FD93ull
extern uint16_t uns_generations[UNS_GENERATIONS];

static inline uint16_t *uns_generation_of(const PyObject *object) {
    return &uns_generations[(uintptr_t)object >> 4 & (UNS_GENERATIONS - 1)];
}

/* One multiplication spreads the address; what belongs to one object lies side by side. */
static inline uint64_t uns_place(const PyObject *object) {
    return (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15ull >> 40;
}

/* Salts of attributes have the index bits clear and the lowest bit set. */
#define UNS_SALT(hash) (((hash) & ~UNS_INDEX_BITS) | 1)

static inline uint64_t uns_attribute_index(const PyObject *object, uint64_t salt) {
    return (uns_place(object) + (salt >> 60)) & UNS_CELL_MASK;
}

static inline uint64_t uns_attribute_cell(const PyObject *object, uint64_t salt) {
    return (((uintptr_t)object & ~UNS_INDEX_BITS) ^ salt) | uns_attribute_index(object, salt) << 8;
}

static inline uint64_t uns_shape_cell(const PyObject *container) {
    uint64_t salt = UNS_SHAPE_SALT ^ (uint64_t)*uns_generation_of(container) << 40;
    return uns_cell_key((uintptr_t)container ^ salt, uns_place(container));
}

/* `offset` is the index in a sequence: neighbours lie side by side, too. */
static inline uint64_t uns_element_cell(const PyObject *container, uint64_t key_hash,
                                        uint64_t offset) {
    uint64_t salt = key_hash ^ (uint64_t)*uns_generation_of(container) << 40;
    return uns_cell_key((uintptr_t)container ^ salt, uns_place(container) + 1 + offset);
}

int uns_element(PyObject *container, PyObject *key, uint64_t *cell);
int uns_hashes_quietly(PyObject *key);
PyObject *uns_holder(Site *site, PyObject *object);
void uns_created(PyObject *container);

/* frames.c */
PyObject *uns_register_code(PyObject *module, PyObject *args);
int uns_code_is_registered(PyObject *code);
uint32_t uns_python_site(int *inside);
int uns_python_inside(uint32_t low, uint32_t high);
PyObject *uns_list_behind(PyObject *iterator);

/* capture.c */
void uns_capture(Site *site, struct uns_thread *t, uint32_t point, PyObject *object, PyObject *key,
                 int write);
void uns_capture_lock(PyObject *lock, int acquired);
PyObject *uns_set_capture_hook(PyObject *module, PyObject *hook);
PyObject *uns_set_break_hook(PyObject *module, PyObject *hook);
void uns_break(uint32_t point);
PyObject *uns_set_branch_hook(PyObject *module, PyObject *hook);
void uns_ask(const Site *site, struct uns_thread *t, PyObject *asked);

uint32_t uns_function_site(PyFrameObject *frame); /* where its code begins, 0: not the target's */
uint32_t uns_line_site(PyFrameObject *frame);

/* sketch.c: the calling thread tells of the functions or lines that it comes to, if a run wants it.
 */
void uns_hear_functions(void);
void uns_tell_back(uint32_t site);
/* replaced.c: the same, and watches whether the target takes that away. */
void uns_hear(void);

/* values.c: what an access of a recorded run finds, or is about to leave behind. */
void uns_take_value(struct uns_thread *t, int kind, const struct uns_value_record *access,
                    PyObject *object, PyObject *key, uint64_t shape);
void uns_settle_value(void);
int uns_truth(PyObject *value); /* without running the target's code */

/* locks.c, control.c, threads.c, clocks.c, offline.c */
int uns_locks_init(PyObject *module);
void uns_verdict(void);
void uns_use_gil_hooks(void);
extern PyMethodDef uns_control_methods[], uns_thread_methods[], uns_clock_methods[];
PyObject *uns_track(PyObject *module, PyObject *args);

/* orders.c */
PyObject *uns_solve_order(PyObject *module, PyObject *args);
#endif
