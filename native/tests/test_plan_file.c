/* SPDX-License-Identifier: Apache-2.0
 *
 * Plan files: what is stored is loaded, and a damaged file is refused rather than read out of
 * bounds.
 */
#include "check.h"
#include "runtime/plan_file.h"
#include <fcntl.h>
#include <sys/stat.h>

static const uint32_t when[] = {16, 32, 48}, hold[] = {17}, guards[] = {18, 34};
static const uint32_t anchors[] = {64, 65}, captured[] = {80, 96, 112}, stops[] = {128};
static const uint8_t switching[] = {0, 1, 0, 1, 1, 0, 0, 1};
static const uint32_t first_sites[] = {0, 1, 1, 3, 4, 5, 6, 7};
static const struct uns_module modules[] = {{.id = "program", .first = 0, .sites = 8}};

static const struct uns_path_count counts[] = {{"0.1", 7}, {"0.2", 9}};
static const struct uns_path_segment segments[] = {
    {.path = "0", .until = 5},
    {.path = "0.1", .points = anchors, .length = 2, .occurrence = 3, .anchored = 1}};
static const struct uns_rule rules[] = {{.when = {.points = when, .length = 3, .path = "0.1"},
                                         .hold = {.points = hold, .length = 1, .who = UNS_OTHERS},
                                         .guards = guards,
                                         .guards_length = 2,
                                         .group = 4}};

static const struct uns_plan stored = {.kind = UNS_PLAN_CONTROLLED,
                                       .strategy = "pct",
                                       .seed = 42,
                                       .time_limit = 2.5,
                                       .site_limit = 8,
                                       .switch_sites = switching,
                                       .counts = counts,
                                       .counts_length = 2,
                                       .segments = segments,
                                       .segments_length = 2,
                                       .rules = rules,
                                       .rules_length = 1,
                                       .capture = captured,
                                       .capture_length = 3,
                                       .stop = {.points = stops, .length = 1},
                                       .file = "/somewhere/one.run"};

static char path[] = "/tmp/unsnarl-plan-XXXXXX";

static void store(void) {
    close(mkstemp(path));
    uns_use_first_sites(first_sites, 8);
    uns_use_modules(modules, 1);
    CHECK_EQUAL(uns_plan_store(&stored, path), 0);
}

TEST(what_is_stored_is_loaded) {
    struct uns_plan plan;
    uint32_t length;
    store();
    uns_use_first_sites(NULL, 0);
    uns_use_modules(NULL, 0);
    CHECK_EQUAL(uns_plan_load(path, &plan), 0);
    CHECK(!strcmp(plan.strategy, "pct") && !strcmp(plan.file, stored.file) && !plan.follows);
    CHECK(plan.seed == 42 && plan.time_limit == 2.5);
    CHECK(!memcmp(plan.switch_sites, switching, sizeof switching) && !plan.interest_sites);
    CHECK(!strcmp(plan.counts[1].path, "0.2") && plan.counts[1].count == 9);
    CHECK(plan.segments[0].until == 5 && !plan.segments[0].points);
    CHECK(!memcmp(plan.segments[1].points, anchors, sizeof anchors));
    CHECK(!memcmp(plan.rules[0].when.points, when, sizeof when) && !plan.rules[0].until.points);
    CHECK(!memcmp(plan.rules[0].guards, guards, sizeof guards));
    CHECK(!memcmp(plan.capture, captured, sizeof captured));
    CHECK_EQUAL(plan.stop.points[0], 128);
    CHECK_EQUAL(uns_first_point(UNS_POINT(2, UNS_READ)), UNS_POINT(1, UNS_READ));
    CHECK(!strcmp((const char *)uns_modules(&length)->id, "program") && length == 1);
    unlink(path);
}

TEST(a_file_that_ends_early_is_refused) {
    struct uns_plan plan;
    struct stat found;
    store();
    CHECK_EQUAL(stat(path, &found), 0);
    for (off_t size = found.st_size - 8; size >= 0; size -= 8) {
        CHECK_EQUAL(truncate(path, size), 0);
        CHECK_EQUAL(uns_plan_load(path, &plan), -1);
    }
    unlink(path);
}

/* Every length in the file, one after the other, is made a large one. */
TEST(a_length_that_is_wrong_is_refused) {
    struct uns_plan plan;
    struct stat found;
    store();
    CHECK_EQUAL(stat(path, &found), 0);
    int fd = open(path, O_RDWR), refused = 0;
    for (off_t at = 16; at + 8 <= found.st_size; at += 8) {
        uint64_t old, large = 1ull << 61 | 3;
        CHECK_EQUAL(pread(fd, &old, sizeof old, at), sizeof old);
        CHECK_EQUAL(pwrite(fd, &large, sizeof large, at), sizeof large);
        refused += uns_plan_load(path, &plan) != 0;
        CHECK_EQUAL(pwrite(fd, &old, sizeof old, at), sizeof old);
    }
    CHECK(refused >= 15); /* as many lists as the plan has */
    CHECK_EQUAL(uns_plan_load(path, &plan), 0);
    unlink(path);
}

TEST(another_version_is_refused) {
    struct uns_plan plan;
    uint32_t version = 1;
    store();
    int fd = open(path, O_WRONLY);
    CHECK_EQUAL(pwrite(fd, &version, sizeof version, 8), sizeof version);
    CHECK_EQUAL(uns_plan_load(path, &plan), -1);
    CHECK_EQUAL(uns_plan_load("/nowhere/at/all", &plan), -1);
    unlink(path);
}

CHECK_MAIN
