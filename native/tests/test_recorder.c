/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run leaves behind, however it ends: the run file, and the logs of recorded runs.
 */
#include "runs.h"
#include "recorder/recorder.h"
#include "runtime/array.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static char file[64];
static struct uns_plan plan;

/* In a folder that goes with the test. */
static void remove_files(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%.*s'", (int)(strrchr(file, '/') - file), file);
    if (system(command) != 0)
        perror(command);
}

static void plan_file_of(enum uns_plan_kind kind) {
    char folder[] = "/tmp/unsnarl-test-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    snprintf(file, sizeof file, "%s/one.run", folder);
    plan = plan_of(kind, "walk", 1);
    plan.file = file;
}

static char *contents(const char *suffix, size_t *size) {
    char path[128];
    snprintf(path, sizeof path, "%s%s", file, suffix);
    int fd = open(path, O_RDONLY);
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0)
        return NULL;
    *size = (size_t)found.st_size;
    char *data = malloc(*size + 1);
    CHECK(data && read(fd, data, *size) == (ssize_t)*size);
    data[*size] = 0;
    close(fd);
    return data;
}

/* The payload of a section of a run file, whose frame is checked on the way. */
static char *section(const char *data, size_t size, uint32_t kind, uint32_t *rows) {
    struct uns_file_header header;
    memcpy(&header, data, sizeof header);
    CHECK(!memcmp(header.magic, UNS_MAGIC, 8));
    CHECK_EQUAL(header.version, UNS_FORMAT_VERSION);
    CHECK_EQUAL(header.size, size);
    const char *at = data + sizeof header, *found = NULL;
    *rows = 0;
    for (uint32_t i = 0; i < header.sections; i++) {
        struct uns_section_header one;
        CHECK(at + sizeof one <= data + size);
        memcpy(&one, at, sizeof one);
        CHECK(one.record_size && one.bytes % one.record_size == 0);
        at += sizeof one;
        if (one.kind == kind) {
            found = at;
            *rows = (uint32_t)(one.bytes / one.record_size);
        }
        at += (one.bytes + 7) & ~7ull;
    }
    CHECK(at == data + size);
    return (char *)found;
}

static void writes_one(void) {
    writes(1, 1);
}

static void reads_one(void) {
    reads(2, 1);
}

static void write_then_read(void) {
    struct worker workers[2];
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    uns_note("{\"a\": 1}", 8);
    uns_note("{\"b\": 2}", 8);
    start(&workers[0], writes_one);
    join(&workers[0]);
    start(&workers[1], reads_one);
    join(&workers[1]);
    CHECK_EQUAL(uns_run_finish(), 0);
}

TEST(a_run_file_has_what_the_run_did) {
    size_t size;
    uint32_t rows;
    plan_file_of(UNS_PLAN_FREE);
    CHECK_EQUAL(check_in_process(write_then_read), 0);
    char *data = contents("", &size);
    CHECK(data != NULL);
    const char *notes = section(data, size, UNS_SECTION_NOTES, &rows);
    CHECK_EQUAL(rows, 18);
    CHECK(!memcmp(notes, "{\"a\": 1}\n{\"b\": 2}\n", rows));
    const struct uns_thread_record *threads =
        (void *)section(data, size, UNS_SECTION_THREADS, &rows);
    CHECK_EQUAL(rows, 3);
    CHECK(!strcmp(threads[0].path, "0") && !strcmp(threads[2].path, "0.2"));
    CHECK(!strcmp(threads[1].name, "worker"));
    CHECK(threads[1].flags & UNS_THREAD_ENDED);
    const struct uns_edge_record *edges = (void *)section(data, size, UNS_SECTION_EDGES, &rows);
    CHECK_EQUAL(rows, 1);
    CHECK_EQUAL(edges->source_point, UNS_POINT(1, UNS_WRITE));
    CHECK_EQUAL(edges->sink_point, UNS_POINT(2, UNS_READ));
    CHECK_EQUAL(edges->sink_thread, 2);
    /* Started, joined, started, joined. */
    const struct uns_order_record *orders = (void *)section(data, size, UNS_SECTION_ORDERS, &rows);
    CHECK_EQUAL(rows, 4);
    CHECK(orders[0].thread == 1 && orders[0].other == 0);
    CHECK(orders[1].thread == 0 && orders[1].other == 1);
    CHECK_EQUAL(contents(".tmp", &size), NULL);
    free(data);
    remove_files();
}

static uint64_t *counters(const char *data, size_t size) {
    uint32_t rows;
    uint64_t *found = (void *)section(data, size, UNS_SECTION_COUNTERS, &rows);
    CHECK_EQUAL(rows, UNS_COUNTERS);
    return found;
}

TEST(a_gated_run_has_its_schedule_and_its_trace) {
    size_t size;
    uint32_t rows;
    plan_file_of(UNS_PLAN_CONTROLLED);
    plan.trace = 1;
    CHECK_EQUAL(check_in_process(write_then_read), 0);
    char *data = contents("", &size);
    CHECK(data != NULL);
    const struct uns_segment_record *segments =
        (void *)section(data, size, UNS_SECTION_SCHEDULE, &rows);
    CHECK(rows >= 4); /* main, first worker, main, second worker, main */
    CHECK_EQUAL(segments[0].thread, 0);
    CHECK_EQUAL(segments[1].thread, 1);
    const struct uns_trace_record *trace = (void *)section(data, size, UNS_SECTION_TRACE, &rows);
    uint32_t accesses = 0;
    for (uint32_t i = 0; i < rows; i++)
        accesses += UNS_POINT_OP(trace[i].point) <= UNS_WRITE;
    CHECK_EQUAL(accesses, 2);
    CHECK(counters(data, size)[UNS_COUNT_STEPS] >= 2);
    CHECK(counters(data, size)[UNS_COUNT_SWITCHES] >= 4);
    free(data);
    remove_files();
}

static void writes_and_ends(void) {
    writes(3, 2);
    writes(3, 3);
}

static void trace_accesses(void) {
    struct worker workers[2];
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    CHECK(!uns_rt.fast);
    start(&workers[0], writes_and_ends);
    join(&workers[0]);
    start(&workers[1], reads_one);
    join(&workers[1]);
    uns_self->tracked.address = 0x1234;
    writes(4, 1);
    CHECK_EQUAL(uns_run_finish(), 0);
}

/* All of them, in one order, each with the time that the tracker had for it. */
static void check_events(enum uns_plan_kind kind) {
    size_t size;
    uint32_t kinds[UNS_EVENT_THREAD + 1] = {0}, count = 0;
    plan_file_of(kind);
    plan.accesses = 1;
    CHECK_EQUAL(check_in_process(trace_accesses), 0);
    char *data = contents(".events.0", &size);
    CHECK(data != NULL);
    const struct uns_piece_header *header = (void *)data;
    CHECK_EQUAL(header->section, UNS_SECTION_EVENTS);
    CHECK_EQUAL(header->record_size, sizeof(struct uns_event_record));
    const struct uns_event_record *events = (void *)(data + UNS_PIECE_BYTES);
    while (events[count].kind)
        kinds[events[count++].kind]++;
    for (uint32_t i = 1; i < count; i++)
        CHECK(events[i].time > events[i - 1].time);
    CHECK_EQUAL(kinds[UNS_EVENT_THREAD], 3);
    CHECK_EQUAL(kinds[UNS_EVENT_READ], 1);
    CHECK_EQUAL(kinds[UNS_EVENT_WRITE], 3);
    CHECK_EQUAL(events[0].kind, UNS_EVENT_THREAD);
    CHECK_EQUAL(events[count - 1].address, 0x1234);
    CHECK_EQUAL(events[count - 1].point, UNS_POINT(4, UNS_WRITE));
    free(data);
    remove_files();
}

TEST(a_free_run_writes_down_what_its_tracker_is_given) {
    check_events(UNS_PLAN_FREE);
}
TEST(a_gated_run_writes_down_what_its_tracker_is_given) {
    check_events(UNS_PLAN_CONTROLLED);
}

/* At both ends of blocks of sites, and in the last one, which is not whole. */
static const uint32_t far_sites[] = {1, UNS_COUNTED_SITES - 1, UNS_COUNTED_SITES, 700, 999};
#define FAR_SITES (sizeof far_sites / sizeof *far_sites)

static void reads_far(void) {
    for (uint32_t i = 0; i < FAR_SITES; i++)
        for (uint32_t times = 0; times <= i; times++)
            reads(far_sites[i], 1);
}

static void read_far_sites(void) {
    struct worker worker;
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    start(&worker, reads_far);
    join(&worker);
    CHECK_EQUAL(uns_run_finish(), 0);
}

TEST(a_gated_run_counts_the_sites_that_it_met) {
    size_t size;
    uint32_t rows, found = 0;
    plan_file_of(UNS_PLAN_CONTROLLED);
    plan.site_limit = 1000;
    CHECK_EQUAL(check_in_process(read_far_sites), 0);
    char *data = contents("", &size);
    CHECK(data != NULL);
    const struct uns_count_record *counts = (void *)section(data, size, UNS_SECTION_COUNTS, &rows);
    for (uint32_t i = 0; i < rows; i++)
        if (counts[i].thread == 1) {
            CHECK(found < FAR_SITES);
            CHECK_EQUAL(counts[i].site, far_sites[found]);
            CHECK_EQUAL(counts[i].count, found + 1);
            found++;
        }
    CHECK_EQUAL(found, FAR_SITES);
    free(data);
    remove_files();
}

static void crashes(void) {
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    writes(1, 1);
    uns_note("before", 6);
    raise(SIGSEGV);
}

TEST(a_crash_leaves_its_run_file) {
    size_t size;
    uint32_t rows;
    plan_file_of(UNS_PLAN_FREE);
    int status = check_in_process(crashes);
    CHECK(WIFSIGNALED(status));
    CHECK_EQUAL(WTERMSIG(status), SIGSEGV);
    char *data = contents("", &size);
    CHECK(data != NULL);
    CHECK(!strncmp(section(data, size, UNS_SECTION_NOTES, &rows), "before\n", 7));
    free(data);
    remove_files();
}

/* Recorded runs. Events of one log, from its packed records. */
struct logged {
    uint32_t point, core;
    uint64_t stamp;
};

static uint32_t unpack(const char *suffix, struct logged *events, uint32_t room) {
    size_t size;
    char *data = contents(suffix, &size);
    struct uns_piece_header header;
    CHECK(data && size > UNS_PIECE_BYTES);
    memcpy(&header, data, sizeof header);
    CHECK(!memcmp(header.magic, UNS_PIECE_MAGIC, 8));
    CHECK_EQUAL(header.section, UNS_SECTION_LOG);
    CHECK_EQUAL(header.record_size, 8);
    uint32_t count = 0, core = 0;
    uint64_t stamp = 0, packed;
    for (size_t at = UNS_PIECE_BYTES; at < size && count < room; at += sizeof packed) {
        memcpy(&packed, data + at, sizeof packed);
        uint32_t low = (uint32_t)packed;
        if (!packed)
            break;
        if ((low & 15) == UNS_PACKED_CORE) {
            core = low >> 4;
            stamp = packed >> 32 << 32;
        } else if ((low & 15) == UNS_PACKED_LOW) {
            stamp |= packed >> 32;
        } else {
            stamp += packed >> 32;
            events[count++] = (struct logged){low, core, stamp};
        }
    }
    free(data);
    return count;
}

static void dies_in_the_middle(void) {
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    for (uint32_t site = 1; site <= 5000; site++)
        uns_sketch_event(uns_current(), UNS_POINT(site % SITES, UNS_BLOCK));
    kill(getpid(), SIGKILL);
}

/* 5000 events are more than the first chunk has room for. */
TEST(a_log_survives_a_kill) {
    static struct logged events[6000];
    size_t size;
    plan_file_of(UNS_PLAN_RECORD);
    plan.sketch.level = UNS_LEVEL_BLOCK;
    int status = check_in_process(dies_in_the_middle);
    CHECK(WIFSIGNALED(status));
    CHECK_EQUAL(unpack(".log.0", events, 6000), 5000);
    for (uint32_t i = 0; i < 5000; i++) {
        CHECK_EQUAL(events[i].point, UNS_POINT((i + 1) % SITES, UNS_BLOCK));
        CHECK(!i || events[i].core != events[i - 1].core || events[i].stamp >= events[i - 1].stamp);
    }
    CHECK_EQUAL(contents("", &size), NULL); /* nobody was left to write it */
    remove_files();
}

static void logs_blocks(void) {
    for (uint32_t i = 0; i < 500; i++)
        uns_sketch_event(uns_current(), UNS_POINT(7, UNS_BLOCK));
}

static void records_two_threads(void) {
    struct worker workers[2];
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    start(&workers[0], logs_blocks);
    start(&workers[1], logs_blocks);
    join(&workers[0]);
    join(&workers[1]);
    CHECK_EQUAL(uns_run_finish(), 0);
}

/* PRES: one order of all events, without gaps. */
TEST(a_global_order_numbers_every_event_once) {
    static struct logged events[3][1000];
    static uint8_t seen[3000];
    uint32_t total = 0;
    plan_file_of(UNS_PLAN_RECORD);
    plan.sketch = (struct uns_sketch){.level = UNS_LEVEL_BLOCK, .global = 1};
    CHECK_EQUAL(check_in_process(records_two_threads), 0);
    for (int t = 0; t < 3; t++) {
        char suffix[] = ".log.0";
        suffix[5] = (char)('0' + t);
        uint32_t count = unpack(suffix, events[t], 1000);
        total += count;
        for (uint32_t i = 0; i < count; i++) {
            CHECK(events[t][i].stamp >= 1 && events[t][i].stamp < 3000);
            CHECK(!seen[events[t][i].stamp]);
            seen[events[t][i].stamp] = 1;
            CHECK(!i || events[t][i].stamp > events[t][i - 1].stamp);
        }
    }
    CHECK(total >= 1000);
    for (uint32_t number = 1; number <= total; number++)
        CHECK(seen[number]);
    remove_files();
}

static void records_values_and_branches(void) {
    CHECK_EQUAL(uns_run_begin(&plan, &no_hooks), 0);
    struct uns_thread *t = uns_current();
    const struct uns_value_record value = {.cell = 5,
                                           .value = 42,
                                           .point = UNS_POINT(3, UNS_READ),
                                           .position = uns_log_position(t),
                                           .flags = UNS_VALUE_CERTAIN | UNS_VALUE_NUMBER};
    uns_log_value(t, &value);
    for (int i = 0; i < 70; i++)
        uns_log_branch(t, i % 3 == 0);
    CHECK_EQUAL(uns_run_finish(), 0);
}

TEST(values_and_branches_are_recorded) {
    size_t size;
    struct uns_value_record value;
    struct uns_branch_record branches[2];
    plan_file_of(UNS_PLAN_RECORD);
    plan.sketch = (struct uns_sketch){.level = UNS_LEVEL_SYNC, .values = 1, .branches = 1};
    CHECK_EQUAL(check_in_process(records_values_and_branches), 0);
    char *data = contents(".values.0", &size);
    CHECK(data != NULL);
    memcpy(&value, data + UNS_PIECE_BYTES, sizeof value);
    CHECK(value.cell == 5 && value.value == 42 && value.point == UNS_POINT(3, UNS_READ));
    free(data);
    data = contents(".branches.0", &size);
    CHECK(data != NULL);
    memcpy(branches, data + UNS_PIECE_BYTES, sizeof branches);
    CHECK_EQUAL(branches[0].count, UNS_BRANCHES_MOST);
    CHECK_EQUAL(branches[1].count, 70 - UNS_BRANCHES_MOST);
    for (uint32_t i = 0; i < 70; i++)
        CHECK_EQUAL(branches[i / 64].bits >> i % 64 & 1, i % 3 == 0);
    free(data);
    remove_files();
}

TEST(an_array_grows_until_it_may_not) {
    static char block[1 << 20];
    struct uns_array array = {0};
    memset(block, 'x', sizeof block);
    CHECK_EQUAL(uns_array_append(&array, "abc", 3), 0);
    for (int i = 0; i < 255; i++)
        CHECK_EQUAL(uns_array_append(&array, block, sizeof block), 0);
    CHECK_EQUAL(uns_array_append(&array, block, sizeof block), -1);
    CHECK(!memcmp(array.data, "abcxxx", 6));
    uns_array_free(&array);
    CHECK(array.data == NULL && array.used == 0);
}

CHECK_MAIN
