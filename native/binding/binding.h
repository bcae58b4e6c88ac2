/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the runtime meets Python, and nowhere else.
 */
#ifndef UNSNARL_BINDING_H
#define UNSNARL_BINDING_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "binding/parallel.h"
#include "runtime/access.h"

enum uns_probe_kind {
#define UNS_PROBE_KIND(name) PROBE_##name,
#include "binding/probe_kinds.def"
    PROBE_KINDS
};
enum uns_site_flag {
#define UNS_SITE_FLAG(name, bit) SITE_##name = bit,
#include "binding/probe_kinds.def"
};
#define SITE_OFFSET 8 /* above the flags: distance from the first site of the code */

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
    TREAT_LIBRARY,     /* a call into code that is not instrumented */
    TREAT_START,       /* a call of Thread.start() */
    TREAT_STEP,        /* a call that changes its object, and is one step */
    TREAT_DEFAULTDICT, /* like a dict, but reading a key may add it */
    TREAT_OBJECT_READ, /* cell: an object of a C type as a whole */
    TREAT_OBJECT_WRITE,
    TREAT_BEHIND,    /* a view: cells of the container that it stands on */
    TREAT_CONSUME,   /* an iterator: itself, and what it stands on */
    TREAT_DEEP,      /* a container and all that is in it, or all attributes of an object */
    TREAT_NAMESPACE, /* an object whose dictionary is asked for */
    TREAT_CACHED,    /* an attribute that is filled in when it is first read */
    TREAT_CALLEE,    /* something callable in C */
};

typedef struct Site {
    PyObject_HEAD uint32_t id, base; /* base: first id of its code */
    uint8_t kind, flags, treatment;
    PyTypeObject
        *type; /* the type that `treatment` is for: the latest one; in parallel the first */
    PyObject *name;
    uint64_t name_hash;
    PyTypeObject *owner; /* first type seen here: names the variable in reports */
    struct Site *next;   /* all sites, newest first */
    PyObject *state;     /* of STATE probes: the object that `name` stands for */
    PyObject *part;      /* of STATE probes: the attribute of it that is meant, or NULL */
} Site;

PyObject *uns_variables(PyObject *module, PyObject *unused);
/* led.c: what a function written in C does from now on; -1 if there is none of that name. */
int uns_lead(PyObject *owner, const char *name, PyCFunction to, int flags, PyCFunction *original);
PyObject *uns_lead_clock_readers(PyObject *module, PyObject *unused);
PyObject *uns_lead_signals(PyObject *module, PyObject *unused);
PyObject *uns_find_shared_memory(PyObject *module, PyObject *unused);
PyObject *uns_unshare_memory(PyObject *module, PyObject *unused);
int uns_run_handlers(void); /* -1: one has raised */
extern PyTypeObject SiteType, LockType, RLockType;
extern PyObject *uns_capture_hook, *uns_break_hook, *uns_branch_hook;

/* types.c: what was decided for a type at a site. Sites in a base class see many types. */
#define UNS_DECISIONS 4096
struct uns_decision {
    PyTypeObject *type;
    const Site *site;
    uint8_t treatment;
    uint32_t version; /* in parallel: odd while it is being written */
};
extern struct uns_decision uns_decisions[UNS_DECISIONS];

static inline struct uns_decision *uns_decision_for(const Site *site, const PyTypeObject *type) {
    uint64_t hash = ((uintptr_t)type >> 4) * 0x9E3779B97F4A7C15ull + site->id * 0x9E3779B1ull;
    return &uns_decisions[hash >> 20 & (UNS_DECISIONS - 1)];
}

/* TREAT_UNKNOWN: nothing was, or it is just being changed. */
static inline enum uns_treatment uns_decided(const Site *site, const PyTypeObject *type) {
    const struct uns_decision *entry = uns_decision_for(site, type);
    uint32_t version = UNS_SEE(&entry->version);
    uint8_t treatment = UNS_LOAD(&entry->treatment);
    if (UNS_LOAD(&entry->type) != type || UNS_LOAD(&entry->site) != site)
        return TREAT_UNKNOWN;
#ifdef Py_GIL_DISABLED
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (version & 1 || UNS_LOAD(&entry->version) != version)
        return TREAT_UNKNOWN;
#else
    (void)version;
#endif
    return (enum uns_treatment)treatment;
}

int uns_types_init(void);
enum uns_treatment uns_treatment_of(Site *site, PyObject *object);
int uns_iterates_container(PyTypeObject *type);
int uns_is_container(PyTypeObject *type);
int uns_is_iterator(PyObject *object);      /* in C, or a generator */
int uns_is_plain_class(PyTypeObject *type); /* made by a class statement */
int uns_is_stateful(PyTypeObject *type);    /* one of the types of methods.def, or below one */
int uns_named(PyTypeObject *type, const char *name);
enum uns_treatment uns_method_treatment(PyObject *object, PyObject *name);
enum uns_treatment uns_super_treatment(PyObject *object, PyObject *name);
int uns_is_keyed(PyObject *method);
enum uns_treatment uns_attribute_treatment(PyObject *object, PyObject *name);

/* python_code.c: whose a function is, and what it does */
int uns_python_code_init(void);
PyObject *uns_set_own_modules(PyObject *module, PyObject *names);
PyObject *uns_set_assigned_names(PyObject *module, PyObject *names);
PyObject *uns_set_reading_hook(PyObject *module, PyObject *hook);
int uns_is_own_instance(PyObject *object); /* of a class of the target, with a dictionary */
int uns_is_own_function(PyObject *function);
int uns_does_own_code(PyTypeObject *type, const char *name); /* ... the method of an operator */
int uns_only_reads(PyObject *function, PyTypeObject *type);
int uns_is_assigned_over(PyObject *function, PyObject *name);
int uns_is_attribute_method(PyObject *method, PyObject *receiver, int *write);

/* site.c: one more access at a site. Those that follow the first belong to the same operation of
 * the interpreter, between which it cannot switch. */
void uns_deliver(Site *site, PyObject *object, PyObject *key, uint64_t cell, uint32_t op,
                 int follows);
uint64_t uns_salt_of(PyObject *name);
int uns_is_called(PyObject *method, const char *name);
void uns_do_method(Site *site, PyObject *receiver, enum uns_treatment how, PyObject *argument);
void uns_do_keyed_method(Site *site, PyObject *receiver, PyObject *method, enum uns_treatment how,
                         PyObject *key);

/* objects.c */
uint64_t uns_object_cell(const PyObject *object);
void uns_touch_object(Site *site, PyObject *object, int write, uint32_t op, PyObject *argument);
void uns_forget_when_dead(PyTypeObject *type);
PyObject *uns_watch_databases(PyObject *module, PyObject *unused);
void uns_touch_state(Site *site);

/* files.c: what is under a path */
extern int uns_folder_changes; /* is there code of the target that changes the working folder? */
extern PyTypeObject WatchedType;
PyObject *uns_watch_files(PyObject *module, PyObject *unused);
uint64_t uns_path_cell(PyObject *path, PyObject **text); /* 0: it has none */
void uns_touch_open_file(Site *site, PyObject *file, int moves);
int uns_add_file_names(PyObject *variables);

/* callees.c */
void uns_probe_call(Site *site, PyObject *callee, PyObject *argument);
void uns_probe_callee(Site *site, PyObject *callee, enum uns_treatment how);

/* behind.c: what iterators and views stand on */
void uns_consume(Site *site, PyObject *iterator, Py_ssize_t own_references);
void uns_touch_behind(Site *site, PyObject *view, uint32_t op);
void uns_read_deep(Site *site, PyObject *object);
int uns_adds_default(PyObject *container, PyObject *key);
void uns_read_elements(Site *site, PyObject *container);
void uns_read_slice(Site *site, PyObject *container);
void uns_probe_argument(Site *site, PyObject *callee, PyObject *argument);
PyObject *uns_object_above(PyObject *function);
PyObject *uns_running_generator(void);

/* namespaces.c: `vars(x)[name]` is the attribute `x.name` */
extern unsigned uns_namespaces; /* how many dictionaries of objects the target has asked for */
void uns_note_namespace(PyObject *owner);
PyObject *uns_owner_of(PyObject *dict); /* a new reference, or NULL */
void uns_touch_attribute(Site *site, PyObject *owner, PyObject *name, int write, int follows);
void uns_touch_part(Site *site, PyObject *owner, PyObject *name, int write, int follows);
void uns_touch_attributes(Site *site, PyObject *owner, int write);

/* caught.c: exceptions that the target catches */
void uns_handler_entered(PyObject *error);
void uns_caught(const Site *site, PyObject *error);
PyObject *uns_set_caught_hook(PyObject *module, PyObject *hook);
PyObject *uns_raised_time(PyObject *module, PyObject *error);

/* unseen.c: what no probe can see */
void uns_note_unseen(PyObject *text);
PyObject *uns_unseen(PyObject *module, PyObject *unused);

/* cells.c */
#define UNS_GENERATIONS (1u << 16)
#define UNS_SHAPE_SALT  0xD6E8FEB86659FD93ull
extern uint16_t uns_generations[UNS_GENERATIONS];

static inline uint16_t *uns_generation_of(const PyObject *object) {
#ifdef Py_GIL_DISABLED
    /* Every thread has a heap of its own, in which its first objects lie where those of the others
     * lie in theirs: all bits of the address count. */
    return &uns_generations[(uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15ull >> 48];
#else
    return &uns_generations[(uintptr_t)object >> 4 & (UNS_GENERATIONS - 1)];
#endif
}

/* Where the cells of an object begin. One multiplication spreads the address; what belongs to one
 * object lies side by side. */
static inline uint64_t uns_home(const PyObject *object) {
    return (uint64_t)(uintptr_t)object * 0x9E3779B97F4A7C15ull >> 40;
}

/* Salts of attributes have the index bits clear and the lowest bit set. */
#define UNS_SALT(hash) (((hash) & ~UNS_INDEX_BITS) | 1)

static inline uint64_t uns_attribute_index(const PyObject *object, uint64_t salt) {
    return (uns_home(object) + (salt >> 60)) & UNS_CELL_MASK;
}

static inline uint64_t uns_attribute_cell(const PyObject *object, uint64_t salt) {
    return (((uintptr_t)object & ~UNS_INDEX_BITS) ^ salt) | uns_attribute_index(object, salt) << 8;
}

static inline uint64_t uns_shape_cell(const PyObject *container) {
    uint64_t salt = UNS_SHAPE_SALT ^ (uint64_t)UNS_LOAD(uns_generation_of(container)) << 40;
    return uns_cell_key((uintptr_t)container ^ salt, uns_home(container));
}

/* `offset` is the index in a sequence: neighbours lie side by side, too. */
static inline uint64_t uns_element_cell(const PyObject *container, uint64_t key_hash,
                                        uint64_t offset) {
    uint64_t salt = key_hash ^ (uint64_t)UNS_LOAD(uns_generation_of(container)) << 40;
    return uns_cell_key((uintptr_t)container ^ salt, uns_home(container) + 1 + offset);
}

int uns_element(PyObject *container, PyObject *key, uint64_t *cell);
int uns_hashes_quietly(PyObject *key);
int uns_has_key(PyObject *dict, PyObject *key);
PyObject *uns_holder(enum uns_treatment how, PyObject *object, PyObject *name, int write);
PyObject *uns_default_of(enum uns_treatment how, PyObject *object, PyObject *name, int write);
int uns_instance_has(PyObject *object, PyObject *name);
void uns_created(PyObject *container);

/* frames.c */
PyObject *uns_register_code(PyObject *module, PyObject *args);
int uns_code_is_registered(PyObject *code);
uint32_t uns_python_site(int *inside);
uint32_t uns_file_site(void);
int uns_is_in_library(void);
int uns_python_inside(uint32_t low, uint32_t high);
PyObject *uns_list_behind(PyObject *iterator);

/* capture.c */
void uns_capture(Site *site, struct uns_thread *t, uint32_t point, PyObject *object, PyObject *key,
                 int write);
void uns_capture_sync(uint32_t point, PyObject *lock);
void uns_capture_lock(PyObject *lock, int acquired);
PyObject *uns_set_capture_hook(PyObject *module, PyObject *hook);
PyObject *uns_set_break_hook(PyObject *module, PyObject *hook);
void uns_break(uint32_t point);
PyObject *uns_set_branch_hook(PyObject *module, PyObject *hook);
void uns_ask(const Site *site, struct uns_thread *t, PyObject *asked);

uint32_t uns_function_site(PyFrameObject *frame); /* where its code begins, 0: not the target's */
uint32_t uns_line_site(PyFrameObject *frame);

/* sketch.c: the calling thread reports the functions or lines that it comes to, if a run wants
 * it. */
void uns_report_functions(void);
void uns_report_back(uint32_t site);
/* replaced.c: the same, and watches whether the target takes that away. */
void uns_hear(void);

/* values.c: what an access of a recorded run finds, or is about to leave behind. */
void uns_take_value(struct uns_thread *t, int kind, const struct uns_value_record *access,
                    PyObject *object, PyObject *key, uint64_t shape);
void uns_settle_value(void);
int uns_truth(PyObject *value); /* without running the target's code */

/* stash.c: the receiver that is popped is borrowed; NULL if none was pushed at the site */
void uns_stash_push(uint32_t site, PyObject *receiver);
PyObject *uns_stash_pop(uint32_t site, int *through_super);
PyObject *uns_behind_super(PyObject *super);

/* locks.c, control.c, threads.c, clocks.c, offline.c */
int uns_locks_init(PyObject *module);
void uns_report_deadlock(void);
int uns_data_in_flight(void); /* sockets.c */
struct uns_lock *uns_lock_of(PyObject *lock);
int uns_has_children(void); /* children.c; some may have ended */
int uns_children_run(void);
int uns_is_signal(PyObject *lock); /* one of ours that guards nothing: a Condition's waiter */
void uns_use_gil_hooks(void);
extern PyMethodDef uns_control_methods[], uns_thread_methods[], uns_clock_methods[],
    uns_socket_methods[], uns_file_lock_methods[], uns_burst_methods[];
extern PyTypeObject TrackerType, HardwareType; /* offline.c, hardware.c */
int uns_are_events(const Py_buffer *rows);     /* if not, it has raised an exception */

/* orders.c */
PyObject *uns_solve_order(PyObject *module, PyObject *args);
#endif
