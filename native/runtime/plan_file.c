/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan for a process that has no Python in it: written by the fork server, read by probe_c before
 * the program's first instruction. Little-endian, a header, then lists, each padded to 8 bytes:
 *
 *   magic | version | size of struct uns_plan | the struct, its pointers NULL
 *   strategy | file | followed sketch | switch sites | interest sites | counts | segments, each
 * followed by its points | rules, each followed by the points of when, hold, until, and its guards
 * | capture | the points to stop at | first sites | modules
 */
#include "runtime/plan_file.h"
#include "gate/gate.h"
#include "runtime/array.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAN_MAGIC   0x4e4c50534e55ull /* "UNSPLN" */
#define PLAN_VERSION 7u

struct header {
    uint64_t magic;
    uint32_t version, size;
};

static void put(struct uns_array *out, const void *data, uint32_t count, uint32_t size) {
    static const char zeros[8];
    uint64_t bytes = (uint64_t)count * size, length = data ? count : UINT32_MAX;
    uns_array_append(out, &length, sizeof length);
    if (!data)
        return;
    uns_array_append(out, data, bytes);
    uns_array_append(out, zeros, -bytes & 7);
}

static void put_text(struct uns_array *out, const char *text) {
    put(out, text, text ? (uint32_t)strlen(text) + 1 : 0, 1);
}

static void put_rule(struct uns_array *out, const struct uns_rule *rule) {
    const struct uns_match *matches[] = {&rule->when, &rule->hold, &rule->until};
    for (int i = 0; i < 3; i++)
        put(out, matches[i]->points, matches[i]->length, sizeof(uint32_t));
    put(out, rule->guards, rule->guards_length, sizeof(uint32_t));
}

/* The same plan is the same file: addresses of this process are left out. */
static void put_plan(struct uns_array *out, const struct uns_plan *plan) {
    struct uns_plan copy = *plan;
    copy.strategy = copy.file = copy.follows = NULL;
    copy.switch_sites = copy.interest_sites = NULL;
    copy.counts = NULL;
    copy.segments = NULL;
    copy.rules = NULL;
    copy.capture = copy.stop.points = NULL;
    put(out, &copy, 1, sizeof copy);
}

static int store(const struct uns_array *out, const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    ssize_t written = write(fd, out->data, out->used);
    return close(fd) == 0 && written == (ssize_t)out->used ? 0 : -1;
}

int uns_plan_store(const struct uns_plan *plan, const char *path) {
    struct uns_array out = {0};
    const struct header header = {PLAN_MAGIC, PLAN_VERSION, sizeof *plan};
    uns_array_append(&out, &header, sizeof header);
    put_plan(&out, plan);
    put_text(&out, plan->strategy);
    put_text(&out, plan->file);
    put_text(&out, plan->follows);
    put(&out, plan->switch_sites, plan->site_limit, 1);
    put(&out, plan->interest_sites, plan->site_limit, 1);
    put(&out, plan->counts, plan->counts_length, sizeof *plan->counts);
    put(&out, plan->segments, plan->segments_length, sizeof *plan->segments);
    for (uint32_t i = 0; i < plan->segments_length; i++)
        put(&out, plan->segments[i].points, plan->segments[i].length, sizeof(uint32_t));
    put(&out, plan->rules, plan->rules_length, sizeof *plan->rules);
    for (uint32_t i = 0; i < plan->rules_length; i++)
        put_rule(&out, &plan->rules[i]);
    put(&out, plan->capture, plan->capture_length, sizeof(uint32_t));
    put(&out, plan->stop.points, plan->stop.length, sizeof(uint32_t));
    uint32_t length;
    const uint32_t *first_sites = uns_first_sites(&length);
    put(&out, first_sites, length, sizeof *first_sites);
    const struct uns_module *modules = uns_modules(&length);
    put(&out, modules, length, sizeof *modules);
    int outcome = store(&out, path);
    uns_array_free(&out);
    return outcome;
}

/* The lists stay where they are read: the mapping lives as long as the process. */
struct cursor {
    char *at, *end;
    int damaged; /* a list has another length than the plan says, or leads past the end */
};

/* A list of any length; NULL: there is none. */
static void *take_any(struct cursor *from, uint32_t size, uint32_t *count) {
    uint64_t length = UINT32_MAX, room = (uint64_t)(from->end - from->at);
    *count = 0;
    if (from->damaged || room < sizeof length) {
        from->damaged = 1;
        return NULL;
    }
    memcpy(&length, from->at, sizeof length);
    from->at += sizeof length;
    room -= sizeof length;
    if (length == UINT32_MAX)
        return NULL;
    if (length > room / size || ((length * size + 7) & ~7ull) > room) {
        from->damaged = 1;
        return NULL;
    }
    void *data = from->at;
    from->at += (length * size + 7) & ~7ull;
    *count = (uint32_t)length;
    return data;
}

/* A list of so many, or none. */
static void *take(struct cursor *from, uint32_t expected, uint32_t size) {
    uint32_t count;
    void *data = take_any(from, size, &count);
    from->damaged |= data && count != expected;
    return from->damaged ? NULL : data;
}

static const uint32_t *take_points(struct cursor *from, uint32_t length) {
    const uint32_t *points = take(from, length, sizeof *points);
    from->damaged |= length && !points;
    return points;
}

static const char *take_text(struct cursor *from) {
    uint32_t length;
    const char *text = take_any(from, 1, &length);
    from->damaged |= text && (!length || text[length - 1]);
    return text;
}

static void take_rule(struct cursor *from, struct uns_rule *rule) {
    rule->when.points = take_points(from, rule->when.length);
    rule->hold.points = take_points(from, rule->hold.length);
    rule->until.points = take_points(from, rule->until.length);
    rule->guards = take_points(from, rule->guards_length);
}

static int take_plan(struct cursor *from, struct uns_plan *plan) {
    struct uns_plan *stored = take(from, 1, sizeof *plan);
    if (!stored)
        return -1;
    *plan = *stored;
    plan->strategy = take_text(from);
    plan->file = take_text(from);
    plan->follows = take_text(from);
    plan->switch_sites = take(from, plan->site_limit, 1);
    plan->interest_sites = take(from, plan->site_limit, 1);
    plan->counts = take(from, plan->counts_length, sizeof *plan->counts);
    struct uns_path_segment *segments = take(from, plan->segments_length, sizeof *segments);
    for (uint32_t i = 0; segments && i < plan->segments_length; i++)
        segments[i].points = take_points(from, segments[i].length);
    plan->segments = segments;
    struct uns_rule *rules = take(from, plan->rules_length, sizeof *rules);
    for (uint32_t i = 0; rules && i < plan->rules_length; i++)
        take_rule(from, &rules[i]);
    plan->rules = rules;
    plan->capture = take_points(from, plan->capture_length);
    plan->stop.points = take_points(from, plan->stop.length);
    uint32_t sites, length;
    const uint32_t *first_sites = take_any(from, sizeof *first_sites, &sites);
    const struct uns_module *modules = take_any(from, sizeof *modules, &length);
    if (from->damaged)
        return -1;
    uns_use_first_sites(first_sites, sites);
    uns_use_modules(modules, length);
    return 0;
}

int uns_plan_load(const char *path, struct uns_plan *plan) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0)
        return -1;
    size_t size = (size_t)found.st_size;
    char *data = mmap(NULL, size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    const struct header *header = (const struct header *)data;
    if (data == MAP_FAILED || size < sizeof *header || header->magic != PLAN_MAGIC ||
        header->version != PLAN_VERSION || header->size != sizeof *plan)
        return -1;
    struct cursor from = {data + sizeof *header, data + size, 0};
    return take_plan(&from, plan);
}
