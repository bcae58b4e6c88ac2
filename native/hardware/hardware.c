/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/hardware.h"
#include <stdlib.h>
#include <string.h>

#define CONTEXT_MASK ((1u << UNS_HARDWARE_CONTEXT) - 1)
#define EVENT_BITS   2
#define NO_WAY       UINT32_MAX
#define NO_LINE      UINT64_MAX /* tag of a way that is invalid: no address has it */
#define FILTER_BITS  16

/* Two bits: an empty register is one of local reads, as in the paper. */
enum event { LOCAL_READ, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE };

/* The hardware has point and context, and the core, so that the writer is the one that replies. The
 * rest is for whoever reads the edges. */
struct metadata {
    uint64_t time;
    uint32_t point; /* 0: who wrote the line is not known */
    uint16_t context, thread;
    uint32_t core;
};

/* An entry of the communication table: both ends of an edge. */
struct entry {
    struct metadata source, sink;
    uint64_t cell;
};

struct uns_hardware {
    struct uns_hardware_options options;
    uint32_t line_bits, copies; /* copies: ways of one set in all cores */
    /* By set, then core, then way: what a bus looks through lies together. */
    uint64_t *tags, *used;
    uint8_t *states;
    struct metadata *metadata;
    uint32_t *filter; /* copies in all caches, by a hash of the line: 0 spares the bus a look */
    uint16_t contexts[UNS_CORES_MOST];
    struct entry *table;
    uint32_t filled;
    uint64_t clock, trapped_until;
    struct uns_table edges;
    struct uns_hardware_counts counts;
};

struct access {
    uint64_t line, cell;
    uint32_t set, core;
    int write, quiet;
    struct metadata here;
};

static int is_power(uint32_t number) {
    return number && !(number & (number - 1));
}

static int is_possible(const struct uns_hardware_options *o) {
    return o->cores && o->cores <= UNS_CORES_MOST && is_power(o->sets) && o->sets <= 1u << 16 &&
           o->ways && o->ways <= 64 && is_power(o->line) && o->line <= 4096 && o->entries &&
           o->entries <= 1u << 24;
}

struct uns_hardware *uns_hardware_new(const struct uns_hardware_options *options) {
    struct uns_hardware *h = is_possible(options) ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return NULL;
    h->options = *options;
    h->line_bits = (uint32_t)__builtin_ctz(options->line);
    h->copies = options->cores * options->ways;
    size_t lines = (size_t)h->copies * options->sets;
    h->tags = calloc(lines, sizeof *h->tags);
    h->used = calloc(lines, sizeof *h->used);
    h->states = calloc(lines, sizeof *h->states);
    h->metadata = calloc(lines, sizeof *h->metadata);
    h->table = calloc(options->entries, sizeof *h->table);
    h->filter = calloc(1u << FILTER_BITS, sizeof *h->filter);
    h->edges.row_size = sizeof(struct uns_edge_record);
    h->edges.key_size = UNS_KEY;
    if (!h->tags || !h->used || !h->states || !h->metadata || !h->table || !h->filter) {
        uns_hardware_free(h);
        return NULL;
    }
    memset(h->tags, 0xFF, lines * sizeof *h->tags);
    return h;
}

void uns_hardware_free(struct uns_hardware *h) {
    free(h->tags);
    free(h->used);
    free(h->states);
    free(h->metadata);
    free(h->table);
    free(h->filter);
    uns_table_free(&h->edges);
    free(h);
}

/* ---- contexts */

static void push(struct uns_hardware *h, const struct access *a, uint32_t core, enum event event) {
    if (a->quiet)
        return;
    h->contexts[core] = (uint16_t)((h->contexts[core] << EVENT_BITS | event) & CONTEXT_MASK);
}

/* As the graphs have them: three bits an event, of which 0 is none. */
static uint16_t widened(uint16_t context) {
    uint32_t wide = 0;
    for (uint32_t at = 0; at < UNS_HARDWARE_CONTEXT / EVENT_BITS; at++)
        wide |= ((context >> at * EVENT_BITS & 3u) + UNS_LC_RD) << at * UNS_CONTEXT_BITS;
    return (uint16_t)wide;
}

/* ---- the communication table and the software that reads it */

static void read_table(struct uns_hardware *h) {
    for (uint32_t at = 0; at < h->filled; at++) {
        const struct entry *e = &h->table[at];
        const struct uns_edge_record edge = {
            .source_point = e->source.point,
            .sink_point = e->sink.point,
            .source_context = e->source.point ? widened(e->source.context) : 0,
            .sink_context = widened(e->sink.context),
            .source_thread = e->source.thread,
            .sink_thread = e->sink.thread,
            .source_time = e->source.time,
            .sink_time = e->sink.time,
            .cell = e->cell,
            .count = 1,
        };
        uns_table_add(&h->edges, &edge);
    }
    h->filled = 0;
}

/* While the trap is handled the program goes on, and its communication is lost (6.5.1). */
static void write_table(struct uns_hardware *h, const struct access *a,
                        const struct metadata *source) {
    h->counts.table_writes++;
    if (h->counts.accesses < h->trapped_until) {
        h->counts.discarded++;
        return;
    }
    h->counts.unsourced += !source->point;
    h->table[h->filled++] = (struct entry){*source, a->here, a->cell};
    if (h->filled == h->options.entries) {
        read_table(h);
        h->counts.traps++;
        h->trapped_until = h->counts.accesses + h->options.trap;
    }
}

/* ---- caches */

/* The first of a core's ways in a set. */
static size_t ways_of(const struct uns_hardware *h, uint32_t set, uint32_t core) {
    return (size_t)set * h->copies + (size_t)core * h->options.ways;
}

static uint32_t find(const struct uns_hardware *h, uint32_t set, uint32_t core, uint64_t line) {
    size_t first = ways_of(h, set, core);
    for (uint32_t way = 0; way < h->options.ways; way++)
        if (h->tags[first + way] == line)
            return (uint32_t)first + way;
    return NO_WAY;
}

static uint32_t *copies_of(const struct uns_hardware *h, uint64_t line) {
    return &h->filter[line * 0x9E3779B97F4A7C15ull >> (64 - FILTER_BITS)];
}

static void give_up(struct uns_hardware *h, uint32_t at) {
    h->counts.write_backs += h->states[at] == UNS_MODIFIED;
    --*copies_of(h, h->tags[at]);
    h->tags[at] = NO_LINE;
    h->states[at] = UNS_INVALID;
}

/* The longest unused, or a free one. */
static uint32_t victim(struct uns_hardware *h, const struct access *a) {
    size_t first = ways_of(h, a->set, a->core), oldest = first;
    for (size_t at = first; at < first + h->options.ways; at++) {
        if (!h->states[at])
            return (uint32_t)at;
        oldest = h->used[at] < h->used[oldest] ? at : oldest;
    }
    h->counts.evictions++;
    give_up(h, (uint32_t)oldest);
    return (uint32_t)oldest;
}

static void install(struct uns_hardware *h, const struct access *a, enum uns_line_state state,
                    const struct metadata *metadata) {
    uint32_t at = victim(h, a);
    h->tags[at] = a->line;
    ++*copies_of(h, a->line);
    h->states[at] = (uint8_t)state;
    h->used[at] = ++h->clock;
    h->metadata[at] = *metadata;
    h->counts.metadata_writes++;
}

/* Who has the line replies: its writer, if that still has it, else the first core. */
static uint32_t supplier(const struct uns_hardware *h, const struct access *a) {
    uint32_t found = NO_WAY;
    if (!*copies_of(h, a->line))
        return found;
    for (uint32_t core = 0; core < h->options.cores; core++) {
        uint32_t at = find(h, a->set, core, a->line);
        if (at == NO_WAY)
            continue;
        if (h->metadata[at].point && h->metadata[at].core == core)
            return at;
        found = found == NO_WAY ? at : found;
    }
    return found;
}

static uint32_t core_of(const struct uns_hardware *h, uint32_t at) {
    return at % h->copies / h->options.ways;
}

static void share(struct uns_hardware *h, uint32_t at) {
    h->counts.write_backs += h->states[at] == UNS_MODIFIED;
    h->states[at] = UNS_SHARED;
}

static void read_miss(struct uns_hardware *h, const struct access *a) {
    static const struct metadata nobody;
    uint32_t from = supplier(h, a);
    h->counts.read_misses++;
    if (from == NO_WAY) {
        h->counts.memory_reads++;
        write_table(h, a, &nobody);
        install(h, a, UNS_EXCLUSIVE, &nobody);
        return;
    }
    const struct metadata source = h->metadata[from];
    h->counts.read_replies++;
    write_table(h, a, &source);
    share(h, from); /* where others have it, too, all are shared already */
    push(h, a, a->core, LOCAL_READ);
    push(h, a, core_of(h, from), REMOTE_READ);
    install(h, a, UNS_SHARED, &source);
}

/* Every other copy is given up, with a reply of its own. */
static void invalidate_others(struct uns_hardware *h, const struct access *a) {
    uint64_t before = h->counts.invalidate_replies;
    for (uint32_t core = 0; *copies_of(h, a->line) && core < h->options.cores; core++) {
        uint32_t at = core == a->core ? NO_WAY : find(h, a->set, core, a->line);
        if (at == NO_WAY)
            continue;
        h->counts.invalidate_replies++;
        write_table(h, a, &h->metadata[at]);
        give_up(h, at);
        push(h, a, core, REMOTE_WRITE);
    }
    /* What memory alone answers is no communication (4.2.1). */
    if (h->counts.invalidate_replies > before)
        push(h, a, a->core, LOCAL_WRITE);
}

static void upgrade(struct uns_hardware *h, const struct access *a, uint32_t at) {
    h->counts.upgrades++;
    invalidate_others(h, a);
    h->states[at] = UNS_MODIFIED;
    h->metadata[at] = a->here;
    h->counts.metadata_writes++;
}

static void hit(struct uns_hardware *h, const struct access *a, uint32_t at) {
    h->used[at] = ++h->clock;
    if (!a->write)
        return;
    if (h->states[at] == UNS_SHARED)
        upgrade(h, a, at);
    else
        h->states[at] = UNS_MODIFIED; /* silently: no metadata (4.2.2) */
}

static void miss(struct uns_hardware *h, const struct access *a) {
    if (!a->write) {
        read_miss(h, a);
        return;
    }
    h->counts.write_misses++;
    invalidate_others(h, a);
    install(h, a, UNS_MODIFIED, &a->here);
}

static int is_access(const struct uns_event_record *event) {
    return event->kind == UNS_EVENT_READ || event->kind == UNS_EVENT_WRITE ||
           event->kind == UNS_EVENT_FORCED || event->kind == UNS_EVENT_NEW;
}

void uns_hardware_feed(struct uns_hardware *h, const struct uns_event_record *event) {
    if (!is_access(event))
        return;
    struct access a = {.line = event->address >> h->line_bits,
                       .cell = event->cell,
                       .core = event->thread % h->options.cores,
                       .write = event->kind != UNS_EVENT_READ,
                       .quiet = event->kind == UNS_EVENT_FORCED && h->options.quiet_locks};
    a.set = (uint32_t)(a.line & (h->options.sets - 1));
    a.here =
        (struct metadata){event->time, event->point, h->contexts[a.core], event->thread, a.core};
    h->counts.accesses++;
    h->counts.writes += (uint64_t)a.write;
    h->counts.reads += !a.write;
    uint32_t at = find(h, a.set, a.core, a.line);
    if (at != NO_WAY)
        hit(h, &a, at);
    else
        miss(h, &a);
}

void uns_hardware_end(struct uns_hardware *h) {
    read_table(h);
}

const struct uns_table *uns_hardware_edges(const struct uns_hardware *h) {
    return &h->edges;
}

const struct uns_hardware_counts *uns_hardware_counts(const struct uns_hardware *h) {
    return &h->counts;
}

uint32_t uns_hardware_context(const struct uns_hardware *h, uint32_t core) {
    return h->contexts[core];
}

enum uns_line_state uns_hardware_state(const struct uns_hardware *h, uint32_t core,
                                       uint64_t address) {
    uint64_t line = address >> h->line_bits;
    uint32_t at = find(h, (uint32_t)(line & (h->options.sets - 1)), core, line);
    return at == NO_WAY ? UNS_INVALID : (enum uns_line_state)h->states[at];
}
