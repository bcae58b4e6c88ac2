/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe. A Site stands in co_consts; rewritten code runs `del site[x]` or `site[key] = x`
 * before an access, so the probe is a type slot and not a call: it adds no eval-breaker check, and
 * hence no race that the user's interpreter does not have (docs/adr/0001).
 */
#include "binding/binding.h"
#include <structmember.h>

/* In free runs nearly every access is nothing new; these find out in a few loads. */
static inline int is_old_at(struct uns_cell *cell, uint64_t key, uint32_t site, int write) {
    const struct uns_tracked *t = &uns_self->tracked;
    if (!(write ? uns_knows_write(cell, t, key) : uns_knows_read(cell, t, key)))
        return 0;
    uns_repeat(cell, t, UNS_POINT(site, write ? UNS_WRITE : UNS_READ), write);
    return 1;
}

static inline int is_old(const Site *site, uint64_t key, int write) {
    return is_old_at(uns_cell_at(&uns_rt.tracker, key), key, site->id, write);
}

/* The same for a cell that had to give way to another and lies next to its home. */
static inline int is_old_anywhere(const Site *site, uint64_t key, int write) {
    struct uns_cell *cell = uns_cell_at(&uns_rt.tracker, key);
    for (int way = 0; way < UNS_CELL_WAYS; way++)
        if (cell[way].key == key)
            return is_old_at(&cell[way], key, site->id, write);
    return 0;
}

/* One operation on one cell, or on an element and the shape of its container. */
struct operation {
    uint64_t cell, shape; /* shape 0: none */
    int write, shape_write;
    uint32_t op;
    int follows; /* it belongs to the operation before: no switch between the two */
    PyObject *object, *key;
};

/* Bugaboo 4.1 at a coarser grain: all of an object is one cell. */
static void widen(struct operation *o) {
    o->cell = uns_attribute_cell(o->object, UNS_SALT(0x0B1EC70000000000ull));
    o->write |= o->shape && o->shape_write;
    o->shape = 0;
}

/* At the head of a loop: did the thread come from before it, or round again? */
static inline int could_switch(const Site *site, const struct uns_thread *t) {
    if (!(site->flags & SITE_LOOP))
        return site->flags & SITE_BREAKER;
    return t->last_site < site->base || t->last_site >= site->id;
}

static void deliver_at_gate(Site *site, struct uns_thread *t, const struct operation *o) {
    uint32_t point = UNS_POINT(site->id, o->op);
    if (o->shape)
        uns_gate_touch(t, site->id, o->shape);
    int may_switch = o->follows ? UNS_FOLLOWS : t->may_switch || could_switch(site, t);
    t->may_switch = 0;
    t->last_site = site->id;
    uns_gate_access(t, point, o->cell, o->write, may_switch);
    if (o->shape)
        uns_gate_touched(t, o->shape, o->shape_write);
    if (UNS_UNLIKELY(uns_break_hook != NULL))
        uns_break(point);
    if (UNS_UNLIKELY(uns_capture_hook != NULL))
        uns_capture(site, t, point, o->object, o->key, o->write);
}

static inline int is_last_writer(const struct uns_thread *t, uint64_t key) {
    return uns_knows_write(uns_cell_at(&uns_rt.tracker, key), &t->tracked, key);
}

static void log_access(const Site *site, struct uns_thread *t, const struct operation *o) {
    uint32_t point = UNS_POINT(site->id, o->op);
    if (uns_rt.sketch.noise && !o->follows && (t->may_switch || could_switch(site, t)))
        uns_gate_noise(t); /* where the interpreter itself could switch */
    t->may_switch = 0;
    t->last_site = site->id;
    if (uns_rt.sketch.values) {
        const struct uns_value_record access = {.point = point, .cell = o->cell};
        uns_take_value(t, site->kind, &access, o->object, o->key, o->shape_write ? o->shape : 0);
    }
    if (uns_rt.sketch.level == UNS_LEVEL_ACCESS)
        uns_sketch_event(t, point);
}

/* Whoever writes the events down wants to know where a cell is: as if what belongs to an object lay
 * behind its header, in the order of the cells' homes. What lies far off has a line of its own. */
#define MOST_SLOTS 4096u
static void set_address(struct uns_thread *t, const PyObject *object, uint64_t cell) {
    uint64_t slot = ((cell >> 8) - uns_home(object)) & UNS_CELL_MASK;
    t->tracked.address =
        slot < MOST_SLOTS ? (uintptr_t)object + sizeof(PyObject) + slot * sizeof(PyObject *) : 0;
}

static __thread unsigned delivered; /* accesses of the thread */

static inline void deliver(Site *site, const struct operation *operation) {
    struct uns_thread *t = uns_current();
    delivered++;
    if (UNS_UNLIKELY(t->muted))
        return;
    struct operation o = *operation;
    if (UNS_UNLIKELY(uns_rt.by_object))
        widen(&o);
    uint32_t point = UNS_POINT(site->id, o.op);
    if (UNS_UNLIKELY(uns_rt.recording)) {
        log_access(site, t, &o);
        if (!uns_rt.tracks)
            return;
    }
    if (UNS_UNLIKELY(uns_rt.held))
        deliver_at_gate(site, t, &o);
    int tapped = uns_rt.tracker.tap != NULL && o.object;
    if (UNS_UNLIKELY(tapped))
        set_address(t, o.object, o.cell);
    if (UNS_UNLIKELY(site->flags & SITE_INIT) && !uns_rt.by_object && !is_last_writer(t, o.cell))
        uns_write_new(&uns_rt.tracker, &t->tracked, point, o.cell);
    else
        uns_track_access(t, point, o.cell, o.write);
    if (UNS_UNLIKELY(uns_rt.held))
        uns_count_remote(t, site->id);
    if (UNS_UNLIKELY(tapped && o.shape))
        set_address(t, o.object, o.shape);
    if (o.shape)
        uns_track_access(t, point, o.shape, o.shape_write);
}

static inline enum uns_treatment treatment(Site *site, PyObject *object) {
    return UNS_LIKELY(UNS_SEE(&site->type) == Py_TYPE(object)) ? (enum uns_treatment)site->treatment
                                                               : uns_treatment_of(site, object);
}

static inline void plain(Site *site, PyObject *object, PyObject *key, uint64_t cell, int write) {
    if (uns_rt.fast && uns_self && is_old_anywhere(site, cell, write))
        return;
    const struct operation o = {.cell = cell,
                                .write = write,
                                .op = write ? UNS_WRITE : UNS_READ,
                                .object = object,
                                .key = key};
    deliver(site, &o);
}

void uns_deliver(Site *site, PyObject *object, PyObject *key, uint64_t cell, uint32_t op,
                 int follows) {
    int write = op != UNS_READ;
    if (uns_rt.fast && uns_self && op != UNS_CALL && is_old_anywhere(site, cell, write))
        return;
    const struct operation o = {
        .cell = cell, .write = write, .op = op, .follows = follows, .object = object, .key = key};
    deliver(site, &o);
}

static uint64_t call(Site *site, PyObject *object) {
    uint64_t cell = uns_object_cell(object);
    uns_deliver(site, object, site->name, cell, UNS_CALL, 0);
    return cell;
}

static void library_call(Site *site, PyObject *object) {
    uint64_t cell = call(site, object);
    uns_current()->call_point = UNS_POINT(site->id, UNS_CALL);
    uns_current()->call_cell = cell;
}

static inline void probe_attribute(Site *site, PyObject *object) {
    enum uns_treatment how = treatment(site, object);
    int write = site->kind == PROBE_ATTR_WRITE;
    if (how == TREAT_SKIP)
        return;
    if (UNS_UNLIKELY(how == TREAT_NAMESPACE)) {
        uns_note_namespace(object);
        return;
    }
    if (UNS_UNLIKELY(how == TREAT_OBJECT_READ)) {
        uns_touch_object(site, object, write, UNS_WRITE, NULL);
        return;
    }
    if (UNS_UNLIKELY(how == TREAT_CACHED)) /* its first read fills it in */
        write |= !uns_instance_has(object, site->name);
    PyObject *holder =
        UNS_LIKELY(how == TREAT_ATTRIBUTE) ? object : uns_holder(how, object, site->name, write);
    plain(site, object, site->name, uns_attribute_cell(holder, site->name_hash), write);
    PyObject *from =
        UNS_LIKELY(how == TREAT_ATTRIBUTE) ? NULL : uns_default_of(how, object, site->name, write);
    if (UNS_UNLIKELY(from != NULL))
        uns_deliver(site, from, site->name, uns_attribute_cell(from, site->name_hash), UNS_READ, 1);
}

static void probe_element(Site *site, PyObject *container, PyObject *key, enum uns_treatment how,
                          int write, int removes) {
    PyObject *owner = UNS_UNLIKELY(UNS_LOAD(&uns_namespaces)) ? uns_owner_of(container) : NULL;
    if (owner) {
        uns_touch_attribute(site, owner, key, write, 0);
        Py_DECREF(owner);
        return;
    }
    if (how == TREAT_DEFAULTDICT && !write)
        write = uns_adds_default(container, key);
    struct operation o = {.cell = uns_shape_cell(container),
                          .write = write,
                          .op = write ? UNS_WRITE : UNS_READ,
                          .object = container,
                          .key = key};
    uint64_t element;
    if (uns_element(container, key, &element)) {
        o.shape = o.cell;
        o.shape_write = removes;
        o.cell = element;
        if (write && !removes && (how == TREAT_DICT || how == TREAT_DEFAULTDICT))
            o.shape_write = !uns_has_key(container, key); /* a new key */
    }
    deliver(site, &o);
    if (!write && PySlice_Check(key))
        uns_read_slice(site, container);
}

/* `x[k]`, `k in x` or len(x), where a library's Python code does the work. The interpreter may
 * switch in there, though the target's code has no call here. */
static void library_operator(Site *site, PyObject *object) {
    library_call(site, object);
    if (UNS_UNLIKELY(uns_rt.held))
        uns_current()->may_switch = 1;
}

static void read_by_operator(Site *site, PyObject *object) {
    uns_touch_object(site, object, 0, UNS_CALL, NULL);
    if (UNS_UNLIKELY(uns_rt.held))
        uns_current()->may_switch = 1;
}

/* site[key] = container */
static void probe_item(Site *site, PyObject *container, PyObject *key) {
    if (site->kind == PROBE_NAMED_READ || site->kind == PROBE_NAMED_WRITE) {
        uns_touch_attribute(site, container, key, site->kind == PROBE_NAMED_WRITE, 0);
        return;
    }
    enum uns_treatment how = treatment(site, container);
    if (how == TREAT_CALLEE)
        uns_probe_call(site, container, key);
    else if (how == TREAT_OBJECT_WRITE)
        uns_touch_object(site, container, 1, UNS_CALL, NULL);
    else if (how == TREAT_OBJECT_READ)
        read_by_operator(site, container);
    else if (how == TREAT_BEHIND)
        uns_touch_behind(site, container, site->kind == PROBE_ITEM_READ ? UNS_READ : UNS_WRITE);
    else if (how == TREAT_LIBRARY)
        library_operator(site, container);
    else if (how != TREAT_SKIP)
        probe_element(site, container, key, how, site->kind != PROBE_ITEM_READ,
                      site->kind == PROBE_ITEM_DELETE);
}

/* A method of a container that concerns all of it. */
static void probe_whole(Site *site, PyObject *container, int write) {
    PyObject *owner = UNS_UNLIKELY(UNS_LOAD(&uns_namespaces)) ? uns_owner_of(container) : NULL;
    if (owner)
        uns_touch_attributes(site, owner, write);
    else
        plain(site, container, Py_None, uns_shape_cell(container), write);
    if (!owner && !write)
        uns_read_elements(site, container);
    Py_XDECREF(owner);
}

void uns_do_method(Site *site, PyObject *receiver, enum uns_treatment how, PyObject *argument) {
    switch (how) {
    case TREAT_SHAPE_READ:
    case TREAT_SHAPE_WRITE:
        probe_whole(site, receiver, how == TREAT_SHAPE_WRITE);
        break;
    case TREAT_LIBRARY:
        library_call(site, receiver);
        break;
    case TREAT_START: /* all that it locks is one step, but on the way in others may run */
        if (UNS_UNLIKELY(uns_rt.held))
            uns_current()->may_switch = 1;
        library_call(site, receiver);
        break;
    case TREAT_STEP:
        call(site, receiver);
        uns_current()->step_site = site->id;
        break;
    case TREAT_ATTRIBUTE: /* a method that others assign over */
        plain(site, receiver, site->name, uns_attribute_cell(receiver, site->name_hash), 0);
        break;
    case TREAT_OBJECT_READ:
    case TREAT_OBJECT_WRITE:
        uns_touch_object(site, receiver, how == TREAT_OBJECT_WRITE, UNS_CALL, argument);
        break;
    case TREAT_BEHIND:
        uns_touch_behind(site, receiver, UNS_READ);
        break;
    case TREAT_CACHED: { /* a cache of the class */
        PyObject *cache = uns_in_type(Py_TYPE(receiver), site->name);
        if (cache)
            uns_deliver(site, cache, Py_None, uns_object_cell(cache), UNS_CALL, 0);
        Py_XDECREF(cache);
        break;
    }
    default:
        break;
    }
}

static void probe_method(Site *site, PyObject *receiver) {
    PyObject *self =
        UNS_UNLIKELY(Py_IS_TYPE(receiver, &PySuper_Type)) ? uns_behind_super(receiver) : NULL;
    if (self)
        uns_do_method(site, self, uns_super_treatment(self, site->name), NULL);
    else
        uns_do_method(site, receiver, treatment(site, receiver), NULL);
}

/* A method that does something to the element of its first argument. */
void uns_do_keyed_method(Site *site, PyObject *receiver, PyObject *method, enum uns_treatment how,
                         PyObject *key) {
    int write;
    if (uns_is_attribute_method(method, receiver, &write)) {
        uns_touch_attribute(site, receiver, key, write, 0);
    } else if (PyDict_Check(receiver) && (how == TREAT_SHAPE_READ || how == TREAT_SHAPE_WRITE)) {
        write = how == TREAT_SHAPE_WRITE;
        int adds =
            write && (uns_is_called(method, "setdefault") || uns_is_called(method, "__setitem__"));
        probe_element(site, receiver, key, TREAT_DICT, write, write && !adds);
    } else {
        uns_do_method(site, receiver, how, key);
    }
}

static void probe_method_call(Site *site, PyObject *operand) {
    int through_super;
    PyObject *receiver = uns_stash_pop(site->id, &through_super);
    if (!receiver)
        return;
    enum uns_treatment how =
        through_super ? uns_super_treatment(receiver, site->name) : treatment(site, receiver);
    if (site->flags & SITE_KEYED)
        uns_do_keyed_method(site, receiver, site->name, how, operand);
    else
        uns_do_method(site, receiver, how, NULL);
}

/* How many references to an iterator the probe's own frame has: on the stack and copied there.
 * From 3.14 on the stack may borrow those of locals; what a loop stands on is its own. */
static Py_ssize_t own_references(const Site *site) {
#if PY_VERSION_HEX >= 0x030E0000
    if (site->kind != PROBE_ITER)
        return 1;
#endif
    return site->flags & SITE_ARGUMENT ? 3 : 2;
}

static void probe_iterator(Site *site, PyObject *iterator) {
    enum uns_treatment how = treatment(site, iterator);
    if (how == TREAT_CONSUME)
        uns_consume(site, iterator, own_references(site));
    else if (how == TREAT_BEHIND)
        uns_touch_behind(site, iterator, UNS_READ);
    else if (how == TREAT_SHAPE_READ)
        probe_whole(site, iterator, 0);
}

static void probe_argument(Site *site, PyObject *container) {
    const struct operation o = {.cell = uns_shape_cell(container),
                                .write = 1,
                                .op = UNS_CALL,
                                .object = container,
                                .key = Py_None};
    deliver(site, &o);
}

static void probe_shape(Site *site, PyObject *container) {
    enum uns_treatment how = treatment(site, container);
    switch (how) {
    case TREAT_SKIP:
        break;
    case TREAT_LIBRARY:
        library_operator(site, container);
        break;
    case TREAT_CONSUME:
        uns_consume(site, container, own_references(site));
        break;
    case TREAT_BEHIND:
        uns_touch_behind(site, container, UNS_READ);
        break;
    case TREAT_DEEP:
        uns_read_deep(site, container);
        break;
    case TREAT_OBJECT_WRITE:
        uns_touch_object(site, container, 1, UNS_CALL, NULL);
        break;
    case TREAT_OBJECT_READ:
        read_by_operator(site, container);
        break;
    default:
        if (site->kind == PROBE_LIBRARY_ARG)
            probe_argument(site, container);
        else
            probe_whole(site, container, how == TREAT_SHAPE_WRITE);
    }
}

/* A generator that others can reach lets go of its frame. */
static void probe_yield(Site *site) {
    PyObject *generator = uns_running_generator();
    if (generator && Py_REFCNT(generator) > 1)
        uns_deliver(site, generator, Py_None, uns_object_cell(generator), UNS_WRITE, 0);
}

static void probe_global(Site *site) {
    PyObject *globals = PyEval_GetGlobals();
    if (globals)
        plain(site, globals, site->name, uns_attribute_cell(globals, site->name_hash),
              site->kind == PROBE_GLOBAL_WRITE);
}

static void probe_branch(const Site *site, PyObject *asked) {
    struct uns_thread *t = uns_current();
    if (UNS_UNLIKELY(uns_branch_hook != NULL) && !t->muted)
        uns_ask(site, t, asked);
    if (uns_rt.recording && uns_rt.sketch.branches && !t->muted)
        uns_log_branch(t, site->flags & SITE_ASKS_NONE ? asked == Py_None : uns_truth(asked));
}

/* A jump back that asks nothing shows the site itself. */
static void probe_back(const Site *site, PyObject *asked) {
    if (asked == (const PyObject *)site ||
        (site->flags & SITE_ASKS_NONE ? asked == Py_None : uns_truth(asked)) ==
            !!(site->flags & SITE_TAKEN_IF))
        uns_report_back(site->id);
}

/* del site[operand] */
static void probe(Site *site, PyObject *operand) {
    switch ((enum uns_probe_kind)site->kind) {
    case PROBE_ATTR_READ:
    case PROBE_ATTR_WRITE:
        probe_attribute(site, operand);
        break;
    case PROBE_GLOBAL_READ:
    case PROBE_GLOBAL_WRITE:
        probe_global(site);
        break;
    case PROBE_CELL_READ:
    case PROBE_CELL_WRITE:
        plain(site, operand, site->name,
              uns_attribute_cell(operand, UNS_SALT(0xCE11000000000000ull)),
              site->kind == PROBE_CELL_WRITE);
        break;
    case PROBE_SHAPE_READ:
    case PROBE_SHAPE_WRITE:
    case PROBE_LIBRARY_ARG:
        probe_shape(site, operand);
        break;
    case PROBE_ITER:
        probe_iterator(site, operand);
        break;
    case PROBE_METHOD:
        probe_method(site, operand);
        break;
    case PROBE_STASH:
        uns_stash_push(site->id, operand);
        break;
    case PROBE_NAMESPACE:
        uns_note_namespace(operand);
        break;
    case PROBE_SUPER:
        uns_do_method(site, operand, uns_super_treatment(operand, site->name), NULL);
        break;
    case PROBE_STATE_READ:
    case PROBE_STATE_WRITE:
        uns_touch_state(site);
        break;
    case PROBE_CALLEE:
        uns_probe_callee(site, operand, treatment(site, operand));
        break;
    case PROBE_YIELD:
        probe_yield(site);
        break;
    case PROBE_METHOD_CALL:
        probe_method_call(site, operand);
        break;
    case PROBE_CREATE:
        if (!(site->flags & SITE_ALONE) || Py_REFCNT(operand) <= own_references(site))
            uns_created(operand);
        break;
    case PROBE_BRANCH:
        probe_branch(site, operand);
        break;
    case PROBE_BACK:
        probe_back(site, operand);
        break;
    case PROBE_HANDLER:
        uns_handler_entered(operand);
        break;
    case PROBE_CAUGHT:
        uns_caught(site, operand);
        break;
    case PROBE_ITEM_READ:
    case PROBE_ITEM_WRITE:
    case PROBE_ITEM_DELETE:
    case PROBE_NAMED_READ:
    case PROBE_NAMED_WRITE:
    case PROBE_CALLEE_ARG:
    case PROBE_KINDS:
        break; /* two operands */
    }
}

static inline int is_old_attribute(const Site *site, const PyObject *object) {
    uint64_t index = uns_attribute_index(object, site->name_hash);
    uint64_t key = (((uintptr_t)object & ~UNS_INDEX_BITS) ^ site->name_hash) | index << 8;
    return UNS_LIKELY(uns_self != NULL) &&
           is_old_at(&uns_rt.tracker.cells[index], key, site->id, site->kind == PROBE_ATTR_WRITE);
}

static inline int is_old_item(const Site *site, PyObject *container, PyObject *key) {
    int write = site->kind != PROBE_ITEM_READ;
    uint64_t element, shape = uns_shape_cell(container);
    if (!uns_self || site->kind >= PROBE_ITEM_DELETE || UNS_LOAD(&uns_namespaces) ||
        (site->treatment != TREAT_LIST && site->treatment != TREAT_DICT) ||
        !uns_element(container, key, &element) || !is_old(site, element, write))
        return 0;
    if (!write || site->treatment != TREAT_DICT)
        return is_old(site, shape, 0);
    /* A new key would change the shape. */
    return is_last_writer(uns_self, shape) ||
           (is_old(site, shape, 0) && uns_has_key(container, key));
}

static __attribute__((noinline)) int site_slow(Site *site, PyObject *key, PyObject *value) {
    if (!uns_rt.active || (uns_rt.blind && site->kind < PROBE_BRANCH))
        return 0;
    unsigned before = delivered;
    int possible =
        UNS_UNLIKELY(uns_rt.held | uns_rt.recording) && could_switch(site, uns_current());
    if (value)
        probe_item(site, value, key);
    else
        probe(site, key);
    /* A switch that was possible here stays possible until the next event. */
    if (possible && delivered == before)
        uns_current()->may_switch = 1;
    return 0;
}

/* site[key] = container, apart: the attribute's path below must need no stack of its own. */
static __attribute__((noinline)) int item_slot(Site *site, PyObject *key, PyObject *container) {
    if (UNS_LIKELY(uns_rt.fast && UNS_SEE(&site->type) == Py_TYPE(container)) &&
        (site->treatment == TREAT_SKIP || is_old_item(site, container, key)))
        return 0;
    return site_slow(site, key, container);
}

/* Loops over lists come by here on every turn. */
static __attribute__((noinline)) int iterator_slot(Site *site, PyObject *iterator) {
    if (Py_IS_TYPE(iterator, &PyListIter_Type)) {
        const PyObject *list = uns_list_behind(iterator);
        if (Py_REFCNT(iterator) <= own_references(site) &&
            (!list || (uns_self && is_old(site, uns_shape_cell(list), 0))))
            return 0;
    }
    return site_slow(site, iterator, NULL);
}

/* Container methods, len, in, the start of a loop: all about the shape. */
static __attribute__((noinline)) int shape_slot(Site *site, PyObject *container) {
    int plain_kind = site->kind == PROBE_SHAPE_READ || site->kind == PROBE_SHAPE_WRITE ||
                     site->kind == PROBE_METHOD || site->kind == PROBE_ITER;
    if (plain_kind && uns_self && !UNS_LOAD(&uns_namespaces) &&
        is_old_anywhere(site, uns_shape_cell(container), site->treatment == TREAT_SHAPE_WRITE))
        return 0;
    return site_slow(site, container, NULL);
}

static __attribute__((noinline)) int other_type_slot(Site *site, PyObject *object) {
    if (site->kind == PROBE_CREATE && uns_rt.active) {
        uns_created(object);
        return 0;
    }
    enum uns_treatment how = uns_rt.fast ? uns_decided(site, Py_TYPE(object)) : TREAT_UNKNOWN;
    if (how == TREAT_SKIP || (how == TREAT_ATTRIBUTE && is_old_attribute(site, object)))
        return 0;
    return site_slow(site, object, NULL);
}

static __attribute__((aligned(64))) int site_slot(PyObject *self, PyObject *key, PyObject *value) {
    Site *site = (Site *)self;
    if (value)
        return item_slot(site, key, value);
    if (UNS_UNLIKELY(!uns_rt.fast || UNS_SEE(&site->type) != Py_TYPE(key)))
        return other_type_slot(site, key);
    if (site->treatment == TREAT_SKIP ||
        (site->treatment == TREAT_ATTRIBUTE && is_old_attribute(site, key)))
        return 0;
    if (site->treatment == TREAT_CONSUME)
        return iterator_slot(site, key);
    if (site->treatment == TREAT_SHAPE_READ || site->treatment == TREAT_SHAPE_WRITE)
        return shape_slot(site, key);
    return site_slow(site, key, NULL);
}

static Site *newest;
UNS_GUARD(naming);

/* Every thread comes by its own and others' sites: nobody counts references to them. */
static void keep_for_ever(Site *site) {
#ifdef Py_GIL_DISABLED
    PyObject *object = (PyObject *)site;
    object->ob_tid = 0;
    object->ob_ref_local = UINT32_MAX;
    object->ob_ref_shared = 0;
#else
    Py_INCREF(site); /* caches hold them */
#endif
}

/* The salt of a name. Its top four bits put the attribute next to its object's others: names get
 * them in turn, so that those of one class, which come one after the other, do not meet. */
uint64_t uns_salt_of(PyObject *name) {
    static PyObject *ordinals;
    UNS_ENTER(naming);
    if (!ordinals)
        ordinals = PyDict_New();
    PyObject *next = ordinals ? PyLong_FromSsize_t(PyDict_GET_SIZE(ordinals)) : NULL;
    PyObject *ordinal = next ? PyDict_SetDefault(ordinals, name, next) : NULL;
    uint64_t offset = ordinal ? PyLong_AsUnsignedLongLong(ordinal) : 0;
    Py_XDECREF(next);
    UNS_LEAVE(naming);
    if (!ordinal)
        return 1;
    uint64_t hash = uns_mix((uint64_t)PyObject_Hash(name));
    return UNS_SALT(hash >> 4 | offset << 60);
}

static PyObject *site_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    unsigned kind, id, flags;
    PyObject *name;
    if (!PyArg_ParseTuple(args, "IIUI:Site", &kind, &id, &name, &flags))
        return NULL;
    if (kind >= PROBE_KINDS || id >= UNS_MAX_SITES)
        return PyErr_Format(PyExc_ValueError, "no such probe kind %u or site %u", kind, id);
    Site *site = (Site *)type->tp_alloc(type, 0);
    if (!site)
        return NULL;
    site->kind = (uint8_t)kind;
    site->id = id;
    site->flags = (uint8_t)flags;
    site->base = id - (flags >> SITE_OFFSET);
    site->name = Py_NewRef(name);
    PyUnicode_InternInPlace(&site->name);
    site->name_hash = uns_salt_of(site->name);
    if (kind == PROBE_STATE_WRITE && uns_is_called(name, "os:cwd"))
        UNS_STORE(&uns_folder_changes, 1);
    keep_for_ever(site);
    UNS_ENTER(naming);
    site->next = newest;
    UNS_SHOW(&newest, site);
    UNS_LEAVE(naming);
    return (PyObject *)site;
}

/* {site id: "Queue.qsize"} for the attributes that were seen. */
PyObject *uns_variables(PyObject *module, PyObject *unused) {
    PyObject *found = PyDict_New();
    for (const Site *site = UNS_SEE(&newest); found && site; site = site->next) {
        if (site->kind > PROBE_ATTR_WRITE || !site->owner)
            continue;
        const char *type = site->owner->tp_name, *dot = strrchr(type, '.');
        PyObject *id = PyLong_FromUnsignedLong(site->id);
        PyObject *name = PyUnicode_FromFormat("%s.%U", dot ? dot + 1 : type, site->name);
        if (!id || !name || PyDict_SetItem(found, id, name) < 0)
            Py_CLEAR(found);
        Py_XDECREF(id);
        Py_XDECREF(name);
    }
    if (found && uns_add_file_names(found) < 0)
        Py_CLEAR(found);
    return found;
}

static PyMappingMethods site_mapping = {.mp_ass_subscript = site_slot};
static PyMemberDef site_members[] = {{"id", T_UINT, offsetof(Site, id), READONLY, NULL},
                                     {"kind", T_UBYTE, offsetof(Site, kind), READONLY, NULL},
                                     {"flags", T_UBYTE, offsetof(Site, flags), READONLY, NULL},
                                     {"name", T_OBJECT, offsetof(Site, name), READONLY, NULL},
                                     {NULL, 0, 0, 0, NULL}};

PyTypeObject SiteType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "unsnarl._core.Site",
    .tp_basicsize = sizeof(Site),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = site_new,
    .tp_as_mapping = &site_mapping,
    .tp_members = site_members,
};
