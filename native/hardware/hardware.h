/* SPDX-License-Identifier: Apache-2.0
 *
 * BB-HW (Bugaboo 4.2): a multiprocessor whose caches remember which instruction wrote a line,
 * driven by a trace. Every core has one L1 cache with LRU sets and a register with its latest
 * communication events; a snooping MESI protocol joins them, in which a cache that has a line
 * supplies it:
 *
 *   core 0           core 1                  the bus
 *   +------+------+  +------+------+         a read that misses   -> read reply, or memory
 *   | ctx  | L1   |  | ctx  | L1   |  ...    a write that misses  -> invalidate replies
 *   +------+------+  +------+------+         a write to S         -> invalidate replies (upgrade)
 *       |                |
 *       +----------------+---- communication table: (source, sink) of every reply, read by software
 *
 * A line in a cache: tag, state, and the metadata of its last writer (instruction and context). It
 * is written on a write or an upgrade that misses, travels with read replies, and is lost with the
 * last copy of the line. A write to a line in E or M does not touch it (4.2.2).
 *
 * Its oracle is tests/conformance/hardware_twin.py.
 */
#ifndef UNSNARL_HARDWARE_H
#define UNSNARL_HARDWARE_H
#include "tracker/tracker.h"

#define UNS_CORES_MOST       64u
#define UNS_HARDWARE_CONTEXT 10u /* bits of a context register: five events of two */

struct uns_hardware_options {
    uint32_t cores;      /* threads take them in turn */
    uint32_t sets, ways; /* of one L1; sets: a power of two */
    uint32_t line;       /* bytes, a power of two */
    uint32_t entries;    /* of the communication table */
    uint64_t trap;       /* accesses that go by while software reads it: what comes is discarded */
    int quiet_locks;     /* atomic instructions leave contexts alone, as the tracker's locks do */
};

/* MESI. A way that is invalid is free. */
enum uns_line_state { UNS_INVALID, UNS_SHARED, UNS_EXCLUSIVE, UNS_MODIFIED };

/* What table 5 counts, and what must add up. */
struct uns_hardware_counts {
    uint64_t accesses, reads, writes;
    uint64_t read_misses, write_misses, upgrades;
    uint64_t read_replies, invalidate_replies, memory_reads; /* memory_reads: of read misses */
    uint64_t metadata_writes, evictions, write_backs;
    uint64_t table_writes, traps, discarded, unsourced; /* unsourced: entries with no source */
};
#define UNS_HARDWARE_COUNTS (sizeof(struct uns_hardware_counts) / sizeof(uint64_t))

struct uns_hardware;

/* NULL: no memory, or no such machine. */
UNS_API struct uns_hardware *uns_hardware_new(const struct uns_hardware_options *options);
UNS_API void uns_hardware_free(struct uns_hardware *hardware);
/* What is no access to memory is passed over. */
UNS_API void uns_hardware_feed(struct uns_hardware *hardware, const struct uns_event_record *event);
/* Software reads what the table still has. */
UNS_API void uns_hardware_end(struct uns_hardware *hardware);
/* struct uns_edge_record; contexts as the tracker's graphs have them. An edge from memory, or from
 * a line whose writer is not known, has point 0 for its source. */
UNS_API const struct uns_table *uns_hardware_edges(const struct uns_hardware *hardware);
UNS_API const struct uns_hardware_counts *uns_hardware_counts(const struct uns_hardware *hardware);
UNS_API uint32_t uns_hardware_context(const struct uns_hardware *hardware, uint32_t core);
UNS_API enum uns_line_state uns_hardware_state(const struct uns_hardware *hardware, uint32_t core,
                                               uint64_t address);
#endif
