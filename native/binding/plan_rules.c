/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of a plan. They are written by programs, and a rule that was misread would make an
 * experiment lie: everything unknown is refused, with its position.
 *
 *   {"when": MATCH or null, "hold": MATCH, "until": MATCH or null, "limit": 0, "once": false,
 *    "exclusive": group or null, "guards": [points], "leave": [low, high] or null}
 *   MATCH: {"points": [raw points], "who": "self" | "others" | "any", "path": "0.1" or null,
 *           "occurrence": 0, "equal": false, "role": 0}
 */
#include "binding/plan.h"
#include <stdarg.h>

struct position {
    Py_ssize_t rule;
    const char *key;
};

/* "rules[2].hold: ..." Returns -1. */
static int refuse(const struct position *at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    PyObject *reason = PyUnicode_FromFormatV(format, args);
    va_end(args);
    if (reason)
        PyErr_Format(PyExc_ValueError, "rules[%zd]%s%s: %U", at->rule, at->key[0] ? "." : "",
                     at->key, reason);
    Py_XDECREF(reason);
    return -1;
}

/* Keys from `first` up to `end`, and no others. */
static int check_keys(PyObject *dict, enum uns_key first, enum uns_key end,
                      const struct position *at) {
    if (!PyDict_Check(dict))
        return refuse(at, "must be an object, not %R", dict);
    PyObject *key, *value;
    Py_ssize_t next = 0;
    while (PyDict_Next(dict, &next, &key, &value)) {
        enum uns_key found = PyUnicode_Check(key) ? first : end;
        while (found < end && PyUnicode_CompareWithASCIIString(key, uns_key_texts[found]))
            found++;
        if (found == end)
            return refuse(at, "has no key %R", key);
    }
    return 0;
}

static int parse_number(PyObject *dict, enum uns_key key, uint32_t most, uint32_t *number,
                        const struct position *at) {
    PyObject *value = uns_get(dict, key);
    if (!value)
        return 0;
    long long read = PyLong_Check(value) ? PyLong_AsLongLong(value) : -1;
    PyErr_Clear(); /* of an overflow: it is refused all the same */
    if (read < 0 || read > most)
        return refuse(at, "%s must be a number from 0 to %u, not %R", uns_key_texts[key], most,
                      value);
    *number = (uint32_t)read;
    return 0;
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* -1 refused; else the length. */
static Py_ssize_t parse_points(PyObject *list, uint32_t site_limit, const uint32_t **points,
                               const struct position *at) {
    if (!list || !PyList_Check(list) || !PyList_GET_SIZE(list))
        return refuse(at, "must name at least one point");
    Py_ssize_t length = PyList_GET_SIZE(list);
    uint32_t *copy = PyMem_RawCalloc((size_t)length, sizeof *copy);
    if (!copy)
        return PyErr_NoMemory(), -1;
    *points = copy;
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        long long point = PyLong_Check(item) ? PyLong_AsLongLong(item) : -1;
        PyErr_Clear();
        if (point < 0 || point > UINT32_MAX || UNS_POINT_SITE(point) >= site_limit ||
            UNS_POINT_OP(point) > UNS_CALL)
            return refuse(at, "%R is no point of this program", item);
        copy[i] = (uint32_t)point;
    }
    qsort(copy, (size_t)length, sizeof *copy, ascending);
    return length;
}

static int parse_path(PyObject *path, char *to, const struct position *at) {
    if (!path)
        return 0;
    const char *text = PyUnicode_Check(path) ? PyUnicode_AsUTF8(path) : NULL;
    PyErr_Clear();
    if (!text || !*text || strlen(text) >= UNS_PATH_BYTES ||
        strspn(text, ".0123456789") != strlen(text))
        return refuse(at, "path must be a thread's, like \"0.1\", not %R", path);
    strcpy(to, text);
    return 0;
}

static int parse_who(PyObject *who, enum uns_who *to, const struct position *at) {
    static const char *const names[] = {"any", "self", "others"};
    if (!who)
        return 0;
    for (unsigned i = 0; PyUnicode_Check(who) && i < sizeof names / sizeof *names; i++)
        if (!PyUnicode_CompareWithASCIIString(who, names[i])) {
            *to = (enum uns_who)i;
            return 0;
        }
    return refuse(at, "who must be \"self\", \"others\" or \"any\", not %R", who);
}

static int parse_match(PyObject *rule, Py_ssize_t number, enum uns_key part, uint32_t site_limit,
                       struct uns_match *match) {
    const struct position here = {number, uns_key_texts[part]}, *at = &here;
    PyObject *dict = uns_get(rule, part);
    if (!dict)
        return 0;
    if (check_keys(dict, MATCH_POINTS, UNS_KEYS, at) < 0 ||
        parse_path(uns_get(dict, MATCH_PATH), match->path, at) < 0 ||
        parse_who(uns_get(dict, MATCH_WHO), &match->who, at) < 0 ||
        parse_number(dict, MATCH_OCCURRENCE, INT32_MAX, &match->occurrence, at) < 0 ||
        parse_number(dict, MATCH_ROLE, UNS_ROLES_MOST, &match->role, at) < 0)
        return -1;
    match->equal = uns_get(dict, MATCH_EQUAL) == Py_True;
    if (match->equal ? !match->path[0] : match->role != 0)
        return refuse(at, "\"equal\" needs a path, and a role needs \"equal\"");
    if (part == RULE_WHEN && uns_get(dict, MATCH_WHO))
        return refuse(at, "has no key 'who'");
    Py_ssize_t length = parse_points(uns_get(dict, MATCH_POINTS), site_limit, &match->points, at);
    match->length = length < 0 ? 0 : (uint32_t)length;
    return length < 0 ? -1 : 0;
}

static int parse_leave(PyObject *pair, struct uns_rule *rule, const struct position *at) {
    if (!pair)
        return 0;
    PyObject *row = PySequence_Tuple(pair);
    int good = row && PyArg_ParseTuple(row, "II", &rule->leave_low, &rule->leave_high) &&
               rule->leave_low < rule->leave_high;
    Py_XDECREF(row);
    PyErr_Clear();
    return good ? 0 : refuse(at, "must be the sites [low, high) of one code, not %R", pair);
}

static int parse_region(PyObject *dict, Py_ssize_t number, uint32_t site_limit,
                        struct uns_rule *rule) {
    struct position whole = {number, ""}, guards = {number, uns_key_texts[RULE_GUARDS]},
                    leave = {number, uns_key_texts[RULE_LEAVE]};
    uint32_t group = UINT32_MAX;
    rule->until.who = uns_get(dict, RULE_EXCLUSIVE) ? UNS_SELF : UNS_ANY;
    if (parse_number(dict, RULE_EXCLUSIVE, INT32_MAX, &group, &whole) < 0 ||
        parse_leave(uns_get(dict, RULE_LEAVE), rule, &leave) < 0)
        return -1;
    rule->group = (int32_t)group;
    PyObject *list = uns_get(dict, RULE_GUARDS);
    if (!list || (PyList_Check(list) && !PyList_GET_SIZE(list)))
        return 0;
    if (rule->group < 0)
        return refuse(&guards, "only a rule with \"exclusive\" has guards");
    Py_ssize_t length = parse_points(list, site_limit, &rule->guards, &guards);
    rule->guards_length = length < 0 ? 0 : (uint32_t)length;
    return length < 0 ? -1 : 0;
}

/* What is well-formed and yet makes no sense. */
static int check_rule(const struct uns_rule *rule, const struct position *at) {
    if (!rule->hold.length && rule->group < 0)
        return refuse(at, "needs \"hold\" or \"exclusive\"");
    if (!rule->when.length && (rule->group >= 0 || rule->leave_high))
        return refuse(at, "\"exclusive\" and \"leave\" need \"when\"");
    if (!rule->when.length && !rule->until.length)
        return refuse(at, "needs \"when\" or \"until\"");
    if (rule->group >= 0 && rule->until.length && rule->until.who != UNS_SELF)
        return refuse(at, "the \"until\" of an exclusive rule is by \"self\"");
    return 0;
}

static int parse_rule(PyObject *dict, Py_ssize_t number, uint32_t site_limit,
                      struct uns_rule *rule) {
    struct position whole = {number, ""};
    uint32_t limit = 0;
    if (check_keys(dict, RULE_WHEN, MATCH_POINTS, &whole) < 0 ||
        parse_region(dict, number, site_limit, rule) < 0 ||
        parse_match(dict, number, RULE_WHEN, site_limit, &rule->when) < 0 ||
        parse_match(dict, number, RULE_HOLD, site_limit, &rule->hold) < 0 ||
        parse_match(dict, number, RULE_UNTIL, site_limit, &rule->until) < 0 ||
        parse_number(dict, RULE_LIMIT, INT32_MAX, &limit, &whole) < 0)
        return -1;
    rule->limit = limit;
    rule->once = uns_get(dict, RULE_ONCE) ? PyObject_IsTrue(uns_get(dict, RULE_ONCE)) : 0;
    return check_rule(rule, &whole);
}

/* A thread can be kept back only where it comes to the gate, whatever the profile says. */
static void switch_at(const struct uns_match *match, uint8_t *sites) {
    for (uint32_t i = 0; sites && i < match->length; i++)
        sites[UNS_POINT_SITE(match->points[i])] = 1;
}

int uns_parse_rules(PyObject *list, struct uns_plan *plan) {
    if (!list || (PyList_Check(list) && !PyList_GET_SIZE(list)))
        return 0;
    Py_ssize_t length = PyList_Check(list) ? PyList_GET_SIZE(list) : UNS_RULES_MOST + 1;
    if (length > UNS_RULES_MOST || plan->kind < UNS_PLAN_CONTROLLED) {
        PyErr_Format(PyExc_ValueError,
                     "rules must be a list of at most %d, in a run that is controlled or replayed",
                     UNS_RULES_MOST);
        return -1;
    }
    struct uns_rule *rules = PyMem_RawCalloc((size_t)length, sizeof *rules);
    if (!rules)
        return PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < length; i++) {
        if (parse_rule(PyList_GET_ITEM(list, i), i, plan->site_limit, &rules[i]) < 0)
            return -1;
        switch_at(&rules[i].hold, (uint8_t *)plan->switch_sites);
        if (rules[i].group >= 0)
            switch_at(&rules[i].when, (uint8_t *)plan->switch_sites);
    }
    plan->rules = rules;
    plan->rules_length = (uint32_t)length;
    return 0;
}
