/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan for a process that has no Python in it: written by the fork server, read by probe_c before
 * the program's first instruction. Little-endian, a header, then lists, each padded to 8 bytes:
 *
 *   magic | version | size of struct uns_plan | the struct, its pointers void
 *   strategy | file | followed sketch | switch sites | interest sites | counts | segments, each
 * followed by its points | rules, each followed by the points of when, hold, until, and its guards
 * | capture | the points to stop at | places | modules
 */
#include "runtime/plan_file.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAN_MAGIC   0x4e4c50534e55ull /* "UNSPLN" */
#define PLAN_VERSION 4u

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
    put(&out, plan, 1, sizeof *plan);
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
    const uint32_t *places = uns_places(&length);
    put(&out, places, length, sizeof *places);
    const struct uns_module *modules = uns_modules(&length);
    put(&out, modules, length, sizeof *modules);
    int outcome = store(&out, path);
    uns_array_free(&out);
    return outcome;
}

/* The lists stay where they are read: the mapping lives as long as the process. */
struct cursor {
    char *at, *end;
};

static void *take_list(struct cursor *from, uint32_t size, uint32_t *count) {
    uint64_t length;
    *count = 0;
    if (from->end - from->at < (ptrdiff_t)sizeof length)
        return from->at = from->end, NULL;
    memcpy(&length, from->at, sizeof length);
    from->at += sizeof length;
    if (length == UINT32_MAX)
        return NULL;
    uint64_t bytes = (length * size + 7) & ~7ull;
    void *data = from->at;
    from->at = bytes <= (uint64_t)(from->end - from->at) ? from->at + bytes : from->end;
    *count = (uint32_t)length;
    return data;
}

static void *take(struct cursor *from, uint32_t size) {
    uint32_t count;
    return take_list(from, size, &count);
}

static void take_rule(struct cursor *from, struct uns_rule *rule) {
    rule->when.points = take(from, sizeof(uint32_t));
    rule->hold.points = take(from, sizeof(uint32_t));
    rule->until.points = take(from, sizeof(uint32_t));
    rule->guards = take(from, sizeof(uint32_t));
}

static int take_plan(struct cursor *from, struct uns_plan *plan) {
    struct uns_plan *stored = take(from, sizeof *plan);
    if (!stored)
        return -1;
    *plan = *stored;
    plan->strategy = take(from, 1);
    plan->file = take(from, 1);
    plan->follows = take(from, 1);
    plan->switch_sites = take(from, 1);
    plan->interest_sites = take(from, 1);
    plan->counts = take(from, sizeof *plan->counts);
    struct uns_path_segment *segments = take(from, sizeof *segments);
    for (uint32_t i = 0; segments && i < plan->segments_length; i++)
        segments[i].points = take(from, sizeof(uint32_t));
    plan->segments = segments;
    struct uns_rule *rules = take(from, sizeof *rules);
    for (uint32_t i = 0; rules && i < plan->rules_length; i++)
        take_rule(from, &rules[i]);
    plan->rules = rules;
    plan->capture = take(from, sizeof(uint32_t));
    plan->stop.points = take(from, sizeof(uint32_t));
    const uint32_t *places = take(from, sizeof *places);
    uns_use_places(places, places ? plan->site_limit : 0);
    uint32_t length;
    const struct uns_module *modules = take_list(from, sizeof *modules, &length);
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
    struct cursor from = {data + sizeof *header, data + size};
    return take_plan(&from, plan);
}
