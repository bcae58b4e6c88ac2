/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules: constraints on who may be chosen, on top of any strategy and of replay. With them
 * experiments force an order, forbid it, or pretend that a region is atomic (docs/adr/0012).
 *
 *   t executes `when`          a thread's pending operation      t or another executes `until`
 *   ----------------->  instance for t  ------------------------------------------>  satisfied
 *                       |  matches `hold`: not chosen      |
 *                       |  t ended, or left the code       |-->  abandoned
 *                       |  all are held, or the limit      |-->  released
 *
 * - A rule has one instance per thread at most: `when` again changes nothing. Without `when` it has
 *   one from the start, of no thread; then "self" and "others" mean anybody.
 * - Occurrences are a thread's own, counted over the whole run: its n-th event at any of the
 *   points. An instance whose `until` is over already is satisfied at once.
 * - The limit counts the choices in which an instance kept back a thread that could have run, not
 *   the events of its life: a rule that waits for the middle of a long run must live till then. A
 *   rule that brings a limit of its own has no more for all of its instances: one that is made anew
 *   in every turn of a loop would else keep a thread from its goal in every turn.
 * - In the fair end of a run (fair.c) rules are given up: they count as released and hold nobody.
 * - A match may be about a role instead of a thread (roles.c): a thread takes it when it first
 * comes to such an event. An `until` of a role that nobody has yet is not over.
 * - A region is a rule with a group: its `when` is where it is entered, and no thread is chosen to
 *   enter while another one has an instance of the group, or holds a lock that was taken at one of
 *   the guards (a region that takes a lock inside deadlocks with whoever holds it and wants in:
 *   so ended 18 % of the runs that were measured). If only guards keep threads out, one is let in,
 * and that counts as a release. Who is in the region may enter again; the first `until` ends it.
 * - A region, or any rule, may end when its thread leaves a function on another way than by
 *   `until` (an early return, an exception). An event outside of the function's sites says nothing:
 *   it may be in a callee. So the language is asked whether the function is still on the thread's
 *   stack, whenever the thread comes to the gate elsewhere; before it waits there, because others
 *   would be kept out by a region that was left.
 *
 * Nothing is allocated after the beginning. The rules and `sites` are constant from then on; all
 * else is guarded by the gate's mutex, but for a look whether there are guards at all
 * (`guards_used`, atomic).
 */
#include "gate/rules.h"
#include "gate/roles.h"
#include <stddef.h>
#include <string.h>

enum part { WHEN, HOLD, UNTIL, PARTS };

/* Bit r: rule r speaks of this site there. */
struct site_rules {
    uint64_t part[PARTS], guard;
};
struct instance {
    uint32_t rule;
    struct uns_thread *thread; /* NULL: of no thread */
    uint64_t waited;           /* choices in which it kept somebody back */
    int holds;                 /* ... among them the one at hand */
};
struct guard {
    const struct uns_lock *lock;
    const struct uns_thread *owner;
    uint64_t rules;
};

static struct {
    const struct uns_rule *rules;
    struct site_rules *sites;
    uint32_t *occurred; /* by rule, part and thread */
    struct uns_rule_record results[UNS_RULES_MOST];
    struct uns_thread *kept_out[UNS_RULES_MOST]; /* by a guard, in the choice at hand */
    uint64_t kept_waited[UNS_RULES_MOST];
    uint64_t waited[UNS_RULES_MOST];               /* by all instances of a rule */
    int given_up;                                  /* all of them */
    uint64_t regions;                              /* bit per rule: has a group */
    uint64_t roles;                                /* ... speaks of roles */
    struct instance instances[UNS_RULE_INSTANCES]; /* oldest first */
    uint32_t instances_used, guards_used;
    struct guard guards[UNS_RULE_GUARDS];
} all;

#define BIT(rule) (1ull << (rule))

/* Takes the next rule out of a set; 0: there is none. */
static int take_rule(uint64_t *rules, uint64_t *rule) {
    if (!*rules)
        return 0;
    *rule = (uint64_t)__builtin_ctzll(*rules);
    *rules &= *rules - 1;
    return 1;
}

static const struct uns_match *match_of(uint64_t rule, enum part part) {
    const struct uns_rule *r = &all.rules[rule];
    return part == WHEN ? &r->when : part == HOLD ? &r->hold : &r->until;
}

static int has(const uint32_t *points, uint32_t length, uint32_t point) {
    uint32_t low = 0;
    while (length) {
        uint32_t half = length / 2;
        if (points[low + half] == point)
            return 1;
        if (points[low + half] < point) {
            low += half + 1;
            length -= half + 1;
        } else {
            length = half;
        }
    }
    return 0;
}

static const struct site_rules *rules_at(uint32_t point) {
    static const struct site_rules none;
    uint32_t site = UNS_POINT_SITE(point);
    return site < uns_rt.site_limit ? &all.sites[site] : &none;
}

/* How often t has executed an event of the match; only kept where the match asks for it. */
static uint32_t *occurred(uint64_t rule, enum part part, const struct uns_thread *t) {
    static uint32_t unknown;
    unknown = 0;
    if (t->index >= UNS_GATE_THREADS)
        return &unknown;
    return &all.occurred[(rule * PARTS + part) * UNS_GATE_THREADS + t->index];
}

static int is_by(const struct uns_match *m, const struct uns_thread *self,
                 const struct uns_thread *t) {
    if (self && m->who != UNS_ANY && (m->who == UNS_SELF) != (t == self))
        return 0;
    return uns_roles_match(m, t);
}

static int is_event(uint64_t rule, enum part part, const struct uns_thread *self,
                    const struct uns_thread *t, uint32_t point) {
    const struct uns_match *m = match_of(rule, part);
    return is_by(m, self, t) && has(m->points, m->length, point);
}

/* Is the pending operation of t, if it is an event of the match at all, the one that is meant? */
static int is_next(uint64_t rule, enum part part, const struct uns_thread *t) {
    uint32_t wanted = match_of(rule, part)->occurrence;
    return !wanted || *occurred(rule, part, t) + 1 == wanted;
}

/* Who is to go first takes its role before who is to wait for it: both may come to the same event.
 */
static void take_roles(const struct uns_thread *t, uint32_t point) {
    static const enum part order[] = {UNTIL, HOLD, WHEN};
    const struct site_rules *here = rules_at(point);
    for (unsigned i = 0; all.roles && i < PARTS; i++)
        for (uint64_t left = here->part[order[i]] & all.roles, rule; take_rule(&left, &rule);) {
            const struct uns_match *m = match_of(rule, order[i]);
            if (m->role && has(m->points, m->length, point) && is_next(rule, order[i], t))
                uns_roles_take(m, t);
        }
}

/* The life of an instance. */

static void end_instance(uint32_t at, uint32_t *counter) {
    (*counter)++;
    all.results[all.instances[at].rule].active--;
    all.instances_used--;
    memmove(&all.instances[at], &all.instances[at + 1],
            (all.instances_used - at) * sizeof *all.instances);
}

static void count_release(uint64_t rule) {
    if (!all.results[rule].first_release)
        all.results[rule].first_release = uns_gate.arrivals + 1;
}

static void release_instance(uint32_t at) {
    uint32_t rule = all.instances[at].rule;
    count_release(rule);
    end_instance(at, &all.results[rule].released);
}

static void let_in(uint64_t rule) {
    count_release(rule);
    all.results[rule].released++;
    all.kept_out[rule]->passes |= BIT(rule);
    all.kept_waited[rule] = 0;
}

static int exists(uint64_t rule, const struct uns_thread *t) {
    for (uint32_t i = 0; i < all.instances_used; i++)
        if (all.instances[i].rule == rule && all.instances[i].thread == t)
            return 1;
    return 0;
}

static int until_is_over(uint64_t rule, const struct uns_thread *self) {
    const struct uns_match *until = match_of(rule, UNTIL);
    for (const struct uns_thread *t = uns_threads(); t && until->occurrence; t = t->next)
        if (is_by(until, self, t) && *occurred(rule, UNTIL, t) >= until->occurrence)
            return 1;
    return 0;
}

static int is_out_of_patience(uint64_t rule) {
    return all.rules[rule].limit && all.waited[rule] > all.rules[rule].limit;
}

static void make_instance(uint64_t rule, struct uns_thread *t) {
    struct uns_rule_record *result = &all.results[rule];
    if (exists(rule, t) || (all.rules[rule].once && (result->active || result->satisfied)))
        return;
    if (all.instances_used == UNS_RULE_INSTANCES) {
        result->dropped++;
        return;
    }
    result->activated++;
    if (until_is_over(rule, t)) {
        result->satisfied++;
        return;
    }
    if (all.given_up || is_out_of_patience(rule)) {
        count_release(rule);
        result->released++;
        return;
    }
    result->active++;
    all.instances[all.instances_used++] = (struct instance){.rule = (uint32_t)rule, .thread = t};
}

/* What is executed. */

static void count_event(const struct site_rules *here, const struct uns_thread *t, uint32_t point) {
    for (enum part part = WHEN; part < PARTS; part++)
        for (uint64_t left = here->part[part], rule; take_rule(&left, &rule);) {
            const struct uns_match *m = match_of(rule, part);
            if (m->occurrence && has(m->points, m->length, point))
                ++*occurred(rule, part, t);
        }
}

static void satisfy(uint64_t rules, const struct uns_thread *t, uint32_t point) {
    for (uint32_t i = 0; rules && i < all.instances_used;) {
        uint32_t rule = all.instances[i].rule;
        uint32_t wanted = match_of(rule, UNTIL)->occurrence;
        if (rules & BIT(rule) && is_event(rule, UNTIL, all.instances[i].thread, t, point) &&
            *occurred(rule, UNTIL, t) >= wanted)
            end_instance(i, &all.results[rule].satisfied);
        else
            i++;
    }
}

static void activate(uint64_t rules, struct uns_thread *t, uint32_t point) {
    for (uint64_t left = rules, rule; take_rule(&left, &rule);) {
        uint32_t wanted = match_of(rule, WHEN)->occurrence;
        if (!is_event(rule, WHEN, NULL, t, point) || (wanted && *occurred(rule, WHEN, t) != wanted))
            continue;
        t->passes &= ~BIT(rule);
        make_instance(rule, t);
    }
}

/* One event may end an instance and make the next: in this order. */
void uns_rules_did(struct uns_thread *t, uint32_t point) {
    const struct site_rules *here = rules_at(point);
    if (!(here->part[WHEN] | here->part[HOLD] | here->part[UNTIL]))
        return;
    uns_gate_lock();
    take_roles(t, point); /* not every event stops at the gate */
    count_event(here, t, point);
    satisfy(here->part[UNTIL], t, point);
    activate(here->part[WHEN], t, point);
    uns_gate_unlock();
}

/* Without its thread, nobody is left to be held or to execute `until`. */
static int needs_thread(const struct uns_rule *rule) {
    return !rule->until.length || rule->until.who == UNS_SELF ||
           (rule->hold.length && rule->hold.who == UNS_SELF);
}

static void abandon(const struct uns_thread *t) {
    for (uint32_t i = 0; i < all.instances_used;) {
        uint32_t rule = all.instances[i].rule;
        if (all.instances[i].thread == t && needs_thread(&all.rules[rule]))
            end_instance(i, &all.results[rule].abandoned);
        else
            i++;
    }
}

static void use_guards(uint32_t count) {
    __atomic_store_n(&all.guards_used, count, __ATOMIC_RELAXED);
}

/* Of a thread, or of a lock. */
static void drop_guards(const struct uns_thread *owner, const struct uns_lock *lock) {
    for (uint32_t i = 0; i < all.guards_used;)
        if (all.guards[i].owner == owner || all.guards[i].lock == lock) {
            all.guards[i] = all.guards[all.guards_used - 1];
            use_guards(all.guards_used - 1);
        } else {
            i++;
        }
}

void uns_rules_ended(struct uns_thread *t) {
    uint32_t point = UNS_POINT(0, UNS_END);
    const struct site_rules *here = rules_at(point);
    count_event(here, t, point);
    satisfy(here->part[UNTIL], t, point);
    abandon(t);
    activate(here->part[WHEN], t, point);
    drop_guards(t, NULL);
}

static int has_left(const struct uns_rule *rule, uint32_t site) {
    return rule->leave_high && (site < rule->leave_low || site >= rule->leave_high) &&
           !uns_inside(rule->leave_low, rule->leave_high);
}

/* Called by t itself: the language looks at the calling thread. */
void uns_rules_arrived(struct uns_thread *t, uint32_t point) {
    take_roles(t, point);
    for (uint32_t i = 0; i < all.instances_used;) {
        uint32_t rule = all.instances[i].rule;
        if (all.instances[i].thread == t && has_left(&all.rules[rule], UNS_POINT_SITE(point)))
            end_instance(i, &all.results[rule].abandoned);
        else
            i++;
    }
}

/* Guards: the locks that were taken at points which regions name, and who has them. */

void uns_rules_took(struct uns_thread *t, struct uns_lock *lock) {
    uint64_t rules = 0;
    for (uint64_t left = rules_at(lock->taken)->guard, rule; take_rule(&left, &rule);)
        if (has(all.rules[rule].guards, all.rules[rule].guards_length, lock->taken))
            rules |= BIT(rule);
    if (!rules || lock->signal)
        return;
    uns_gate_lock();
    if (all.guards_used < UNS_RULE_GUARDS) {
        all.guards[all.guards_used] = (struct guard){lock, t, rules};
        use_guards(all.guards_used + 1);
    } else {
        all.results[__builtin_ctzll(rules)].dropped++;
    }
    uns_gate_unlock();
}

void uns_rules_gave(struct uns_lock *lock) {
    if (!uns_rt.gated || !__atomic_load_n(&all.guards_used, __ATOMIC_RELAXED))
        return;
    uns_gate_lock();
    drop_guards(NULL, lock);
    uns_gate_unlock();
}

static int is_guarded(uint64_t rule, const struct uns_thread *t) {
    for (uint32_t i = 0; i < all.guards_used; i++)
        if (all.guards[i].rules & BIT(rule) && all.guards[i].owner != t)
            return 1;
    return 0;
}

/* Before a choice. */

static int is_kept_out(uint64_t rule, struct uns_thread *t) {
    int32_t group = all.rules[rule].group;
    int kept = 0;
    for (uint32_t i = 0; i < all.instances_used; i++) {
        if (all.rules[all.instances[i].rule].group != group)
            continue;
        if (all.instances[i].thread == t)
            return 0; /* it is in already */
        kept = 1;
    }
    for (uint32_t i = 0; kept && i < all.instances_used; i++)
        all.instances[i].holds |= all.rules[all.instances[i].rule].group == group;
    if (t->passes & BIT(rule) || !is_guarded(rule, t))
        return kept;
    if (!all.kept_out[rule])
        all.kept_out[rule] = t;
    return 1;
}

static int is_held(struct uns_thread *t) {
    uint32_t point = t->pending.point;
    const struct site_rules *here = rules_at(point);
    int held = 0;
    for (uint32_t i = 0; here->part[HOLD] && i < all.instances_used; i++) {
        struct instance *one = &all.instances[i];
        if (here->part[HOLD] & BIT(one->rule) && is_event(one->rule, HOLD, one->thread, t, point) &&
            is_next(one->rule, HOLD, t))
            held = one->holds = 1;
    }
    for (uint64_t left = here->part[WHEN] & all.regions, rule; take_rule(&left, &rule);)
        if (is_event(rule, WHEN, NULL, t, point) && is_next(rule, WHEN, t))
            held |= is_kept_out(rule, t);
    return held;
}

static int could_run(const struct uns_thread *t) {
    const struct uns_pending *p = &t->pending;
    return t->state == UNS_READY && (!p->lock || !p->lock->word || p->deadline != UNS_FOREVER);
}

static void mark(void) {
    memset(all.kept_out, 0, uns_gate.rules * sizeof *all.kept_out);
    for (uint32_t i = 0; i < all.instances_used; i++)
        all.instances[i].holds = 0;
    for (uint32_t i = 0; i < uns_gate.live_count; i++)
        uns_gate.live[i]->held =
            could_run(uns_gate.live[i]) && is_held(uns_gate.live[i]) ? UNS_HELD_BY_RULE : 0;
}

static uint64_t limit_of(uint64_t rule) {
    return all.rules[rule].limit ? all.rules[rule].limit : UNS_RULE_LIMIT;
}

/* Returns 1 if somebody's patience is over. */
static int count_holds(void) {
    uint64_t holding = 0;
    int over = 0;
    for (uint32_t i = 0; i < all.instances_used;) {
        struct instance *one = &all.instances[i];
        holding |= one->holds ? BIT(one->rule) : 0;
        one->waited += one->holds != 0;
        all.waited[one->rule] += one->holds != 0;
        if (one->waited > limit_of(one->rule) || is_out_of_patience(one->rule)) {
            release_instance(i);
            over = 1;
        } else {
            i++;
        }
    }
    for (uint32_t rule = 0; rule < uns_gate.rules; rule++) {
        holding |= all.kept_out[rule] ? BIT(rule) : 0;
        all.kept_waited[rule] += all.kept_out[rule] != NULL;
        if (all.kept_waited[rule] > limit_of(rule)) {
            let_in(rule);
            over = 1;
        }
        all.results[rule].held += (holding & BIT(rule)) != 0;
    }
    return over;
}

void uns_rules_look(void) {
    mark();
    if (count_holds())
        mark();
}

static int ends_instance(const struct instance *one, const struct uns_thread *t) {
    const struct uns_match *until = match_of(one->rule, UNTIL);
    return until->length ? is_by(until, one->thread, t) : one->thread == t;
}

int uns_rules_await(const struct uns_thread *t) {
    for (uint32_t i = 0; i < all.instances_used; i++)
        if (all.instances[i].holds && ends_instance(&all.instances[i], t))
            return 1;
    for (uint32_t i = 0; i < all.guards_used; i++)
        for (uint64_t left = all.guards[i].rules, rule; take_rule(&left, &rule);)
            if (all.kept_out[rule] && all.guards[i].owner == t)
                return 1;
    return 0;
}

static int release_oldest(void) {
    for (uint32_t i = 0; i < all.instances_used; i++)
        if (all.instances[i].holds) {
            release_instance(i);
            return 1;
        }
    for (uint32_t rule = 0; rule < uns_gate.rules; rule++)
        if (all.kept_out[rule]) {
            let_in(rule);
            return 1;
        }
    return 0;
}

int uns_rules_release(void) {
    if (!uns_gate_is_stuck() || !release_oldest())
        return 0;
    mark();
    return 1;
}

/* Regions, too, whose guards keep threads out without an instance. */
void uns_rules_give_up(void) {
    all.given_up = 1;
    while (all.instances_used)
        release_instance(all.instances_used - 1);
    for (uint64_t left = all.regions, rule; take_rule(&left, &rule);) {
        count_release(rule);
        all.results[rule].released++;
    }
    memset(all.kept_out, 0, sizeof all.kept_out);
}

/* The beginning. */

static void note_sites(uint64_t rule, const uint32_t *points, uint32_t length, size_t offset) {
    for (uint32_t i = 0; i < length; i++) {
        uint32_t site = UNS_POINT_SITE(points[i]);
        if (site < uns_rt.site_limit)
            *(uint64_t *)((char *)&all.sites[site] + offset) |= BIT(rule);
    }
}

static void note_rule(uint64_t rule) {
    const struct uns_rule *r = &all.rules[rule];
    for (enum part part = WHEN; part < PARTS; part++)
        note_sites(rule, match_of(rule, part)->points, match_of(rule, part)->length,
                   offsetof(struct site_rules, part) + part * sizeof(uint64_t));
    note_sites(rule, r->guards, r->guards_length, offsetof(struct site_rules, guard));
    if (r->group >= 0)
        all.regions |= BIT(rule);
    if (r->when.role | r->hold.role | r->until.role)
        all.roles |= BIT(rule);
    if (!r->when.length)
        make_instance(rule, NULL);
}

int uns_rules_begin(const struct uns_plan *plan) {
    memset(&all, 0, sizeof all);
    all.rules = plan->rules;
    all.sites = uns_pages((plan->site_limit + 1) * sizeof *all.sites);
    all.occurred =
        uns_pages((size_t)plan->rules_length * PARTS * UNS_GATE_THREADS * sizeof *all.occurred);
    if (!all.sites || !all.occurred || plan->rules_length > UNS_RULES_MOST)
        return -1;
    uns_gate.rules = plan->rules_length;
    uns_roles_begin();
    for (uint32_t rule = 0; rule < plan->rules_length; rule++)
        note_rule(rule);
    return 0;
}

const struct uns_rule_record *uns_gate_rule_results(uint32_t *count) {
    *count = uns_rt.gated ? uns_gate.rules : 0;
    return all.results;
}
