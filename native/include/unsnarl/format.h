/* SPDX-License-Identifier: Apache-2.0
 *
 * The run file: what one run leaves behind. Little-endian, every record a fixed size, read by
 * numpy as structured arrays (src/unsnarl/runfile/). Written to a temporary name and renamed, so a
 * file under its final name is whole; the size in the header confirms it.
 *
 *   0        8        12         16              24            32
 *   +--------+--------+----------+---------------+-------------+
 *   | magic  |version | sections | size of file  |  reserved   |   header, 32 bytes
 *   +--------+--------+----------+---------------+-------------+
 *   | kind u32 | record size u32 | payload bytes u64 |            section header, 16 bytes
 *   +----------+-----------------+-------------------+
 *   | payload, padded with zeros to a multiple of 8   |           then the next section
 *
 * Example: an edges section with two edges is
 *   03 00 00 00  30 00 00 00  60 00 00 00 00 00 00 00  <96 bytes>
 *
 * A reader skips kinds it does not know. A change of a record's layout bumps UNS_FORMAT_VERSION.
 */
#ifndef UNSNARL_FORMAT_H
#define UNSNARL_FORMAT_H
#include <stdint.h>

#define UNS_MAGIC          "UNSNARL\x1a"
#define UNS_FORMAT_VERSION 2

enum uns_section {
    UNS_SECTION_NOTES = 1,     /* JSON texts, one a line: failure, variables, codes loaded late */
    UNS_SECTION_THREADS = 2,   /* struct uns_thread_record */
    UNS_SECTION_EDGES = 3,     /* struct uns_edge_record */
    UNS_SECTION_SCHEDULE = 4,  /* struct uns_segment_record */
    UNS_SECTION_COUNTS = 5,    /* struct uns_count_record */
    UNS_SECTION_SHARED = 6,    /* uint32_t: sites that touched a cell of two or more threads */
    UNS_SECTION_COUNTERS = 7,  /* uint64_t[UNS_COUNTERS], see enum uns_counter */
    UNS_SECTION_WAITS = 8,     /* struct uns_wait_record: who waits for whom, at a deadlock */
    UNS_SECTION_TRACE = 9,     /* struct uns_trace_record: every event, where asked for */
    UNS_SECTION_PATTERNS = 10, /* struct uns_pattern_record */
    UNS_SECTION_ORDERS = 11,   /* struct uns_order_record */
    UNS_SECTION_RULES = 12,    /* struct uns_rule_record: one per rule of the plan, in its order */
    UNS_SECTION_PAIRS = 13,    /* struct uns_pattern_record: every pair, not only its latest */
    UNS_SECTION_LOG = 14,      /* struct uns_log_record: thread by thread, each in its own order */
    UNS_SECTION_VALUES = 15,   /* struct uns_value_record, likewise */
    UNS_SECTION_BRANCHES = 16, /* struct uns_branch_record, likewise */
    UNS_SECTION_PENDING = 17,  /* struct uns_pending_record: what threads were about to do */
    UNS_SECTION_LATEST = 18,   /* struct uns_trace_record: ... and who had touched cells last */
    UNS_SECTION_STANDSTILLS = 19, /* struct uns_standstill_record, the rows of one together */
    UNS_SECTION_EVENTS = 20,      /* struct uns_event_record: of pieces only, never in a run file */
};

/* A point is what a node of the graph stands for: a site and what was done there.
 *
 *    31                                 4 3      0
 *   +------------------------------------+--------+
 *   |               site                 |   op   |
 *   +------------------------------------+--------+
 */
enum uns_op {
    UNS_READ = 0,
    UNS_WRITE = 1,
    UNS_ACQUIRE = 2,
    UNS_RELEASE = 3,
    UNS_WAIT = 4, /* an acquire that never came back: the run deadlocked there */
    UNS_START = 5,
    UNS_BEGIN = 6,
    UNS_END = 7,
    UNS_JOIN = 8,
    UNS_SLEEP = 9,
    UNS_CALL = 10, /* a call into code that is not instrumented, on this object */
    /* Of sketches: */
    UNS_ENTER = 11,
    UNS_EXIT = 12,
    UNS_BLOCK = 13, /* a basic block, or a line */
};
#define UNS_POINT(site, op) ((uint32_t)(site) << 4 | (op))
#define UNS_POINT_SITE(p)   ((p) >> 4)
#define UNS_POINT_OP(p)     ((p) & 15)

struct uns_file_header {
    char magic[8];
    uint32_t version, sections;
    uint64_t size, reserved;
};
struct uns_section_header {
    uint32_t kind, record_size;
    uint64_t bytes;
};

#define UNS_PATH_BYTES 48
#define UNS_NAME_BYTES 64
struct uns_thread_record {
    uint32_t index, parent; /* order of creation; the first thread is 0 and its own parent */
    uint32_t flags;
    uint32_t kind; /* threads of the same one are equal; 0: like no other */
    uint64_t events;
    char path[UNS_PATH_BYTES]; /* "0.1.2": path of creation, stable from run to run */
    char name[UNS_NAME_BYTES]; /* the program's own name, cut to fit */
};
#define UNS_THREAD_CONTROLLED 1u
#define UNS_THREAD_ENDED      2u
#define UNS_THREAD_DAEMON     4u
#define UNS_THREAD_ALIASED    8u /* shared its id with another live thread: precision lost */

struct uns_edge_record {
    uint32_t source_point, sink_point;
    uint16_t source_context, sink_context, source_thread, sink_thread;
    uint64_t source_time, sink_time, cell;
    uint32_t count, reserved;
};

/* Falcon's tables 1 (conflicting pairs) and 2 (unserialisable triples): reads and writes, the first
 * and the last by one thread. */
enum uns_pattern_kind {
    UNS_PATTERN_RW = 1,
    UNS_PATTERN_WR,
    UNS_PATTERN_WW,
    UNS_PATTERN_RWR,
    UNS_PATTERN_WWR,
    UNS_PATTERN_WRW,
    UNS_PATTERN_RWW,
    UNS_PATTERN_WWW,
    UNS_PATTERN_UNREAD, /* W1-W1-R2: what the first thread wrote was gone before the other read */
    UNS_PATTERN_REREAD, /* W1-R2-R2: the other read what it had read already */
    UNS_PATTERN_FINE = 16, /* added to a kind: not a pattern of Falcon's windows, see windows.c */
};
/* Begins as an edge does, so that one table holds either: a key of 12 bytes, times, cell, count. */
struct uns_pattern_record {
    uint32_t first_point, other_point, last_point; /* a pair has no last: 0 */
    uint16_t first_thread, other_thread;
    uint64_t first_time, other_time, cell;
    uint32_t count;
    uint16_t kind, span; /* span: the smallest window that would have shown it */
    uint64_t last_time;
};

/* What starting and joining threads orders: from its time `since` on, thread comes after all that
 * other did up to `upto`. */
struct uns_order_record {
    uint32_t thread, other;
    uint64_t since, upto;
};

/* "thread ran, from the occurrence-th time it was at point, until its event counter stood at
 * until". A thread that was waiting when the run ended has one more, in which it did nothing. */
struct uns_segment_record {
    uint32_t thread, point;
    uint32_t until, occurrence;
};
/* head: where the thread last could have been switched before this site; in the gil mode several
 * accesses follow one switch point, and the gate sees only the first of them beforehand */
struct uns_count_record {
    uint32_t thread, site, count, head;
    uint32_t remote, reserved; /* remote: another thread had touched the cell last */
};
/* The run ended before the thread did it. The cell is that of the data or lock, 0: of neither. */
struct uns_pending_record {
    uint32_t thread, point;
    uint64_t cell;
};
struct uns_wait_record {
    uint32_t thread, point, owner, taken; /* owner: UINT32_MAX if nobody will release it */
    uint64_t object, taken_time;          /* where and when the owner took it */
};
/* A thread that waited when nobody could go on until a time limit ran out. */
struct uns_standstill_record {
    struct uns_wait_record wait;
    uint64_t time, limit; /* limit: how long it would wait, in ns; 0: for ever */
    uint32_t number, flags;
};
#define UNS_STANDSTILL_RAN_OUT 1u /* its own time limit ended it */
#define UNS_STANDSTILL_ALONE   2u /* all threads waited: none slept, or was blocked outside */
/* What became of a rule's instances. abandoned: the thread ended, or left the code, before `until`;
 * active: neither, when the run ended; dropped: there was no room. */
struct uns_rule_record {
    uint32_t activated, satisfied, released, abandoned, active, dropped;
    uint64_t held;          /* choices in which a thread that could run was kept back */
    uint64_t first_release; /* arrivals at the gate before the first release + 1, 0 if none */
};
struct uns_trace_record {
    uint64_t time, cell;
    uint32_t point;
    uint16_t thread, context;
};
/* In a context: the access is part of the operation before it, and nobody can come in between. */
#define UNS_TRACE_FOLLOWS 0x8000u

/* One event of a recorded run, in the order of its thread. */
struct uns_log_record {
    uint64_t stamp; /* the core's counter; with a global order the event's number, from 1 on */
    uint32_t point;
    uint16_t thread, core;
};
/* What an access found, or left behind. `position`: so many records of its thread's log came
 * before. */
struct uns_value_record {
    uint64_t cell, value; /* a number, or a hash */
    uint32_t point, position;
    uint16_t thread, flags;
    uint32_t reserved;
};
/* CERTAIN: else another thread may have come between the look and the access. */
#define UNS_VALUE_CERTAIN 1u
#define UNS_VALUE_NUMBER  2u /* the value itself, not a hash of it */
#define UNS_VALUE_MORE    4u /* of the same access as the record before */
/* Outcomes of branches, the first one lowest. */
#define UNS_BRANCHES_MOST 64u
struct uns_branch_record {
    uint64_t bits;
    uint32_t position; /* in the thread's log, of the first */
    uint16_t thread, count;
};

/* One event as the tracker took it: a trace of all of them, in their one order, makes its graph
 * again. The address is where hardware would look; what has none (a file) has a line of its own. */
enum uns_event_kind {
    UNS_EVENT_READ = 1,
    UNS_EVENT_WRITE,
    UNS_EVENT_FORCED, /* an operation on a lock: a write that is never skipped */
    UNS_EVENT_FORGET, /* the memory was made anew */
    UNS_EVENT_NEW,    /* ... and this is its first write */
    UNS_EVENT_WAIT,   /* an acquire that never came back */
    UNS_EVENT_THREAD, /* it begins; the cell is the id that it is tracked by */
};
struct uns_event_record {
    uint64_t time, cell, address;
    uint32_t point;
    uint16_t thread; /* UNS_NO_THREAD: nobody's */
    uint8_t kind, reserved;
};
#define UNS_NO_THREAD 0xFFFFu

/* Logs are written by their threads into files of their own, which the parent puts together: one
 * page with this header, then records. Those of the log are packed, since a page of a file that is
 * touched for the first time costs more than all else:
 *
 *    63              32 31         4 3  0
 *   +------------------+------------+----+
 *   | ticks since the  |   site     | op |   an event, `ticks` after the one before
 *   +------------------+------------+----+
 *   | stamp, high half |   core     | 15 |   from here on it is this core, ...
 *   | stamp, low half  |   0        | 14 |   ... and counted from this stamp
 */
#define UNS_PIECE_MAGIC "UNSPIECE"
#define UNS_PIECE_BYTES 4096u
#define UNS_PACKED_LOW  14u
#define UNS_PACKED_CORE 15u
struct uns_piece_header {
    char magic[8];
    uint32_t version, section; /* whose records these are */
    uint32_t record_size, reserved;
    struct uns_thread_record thread;
};

enum uns_counter {
    UNS_COUNT_EVENTS,
    UNS_COUNT_STEPS, /* how often a thread came to the gate */
    UNS_COUNT_SWITCHES,
    UNS_COUNT_EDGES_DROPPED,
    UNS_COUNT_CELLS_EVICTED,
    UNS_COUNT_STALLS,
    UNS_COUNT_DIVERGED,
    UNS_COUNT_DIVERGED_AT, /* arrivals at the gate before it + 1, 0 if none */
    UNS_COUNT_UNCONTROLLED,
    UNS_COUNT_ALIASED,
    UNS_COUNT_TRACE_DROPPED,
    UNS_COUNT_SCHEDULE_DROPPED,
    UNS_COUNT_PATTERNS_DROPPED,
    UNS_COUNT_DIVERGED_SEGMENT, /* of the schedule that was followed, + 1, 0 if none */
    UNS_COUNT_LOG_DROPPED,      /* there was no room for it on the disk, or too much of it */
    UNS_COUNT_SKETCH_PASSED,    /* events of the sketch that was followed */
    UNS_COUNT_WAITS_HOLDING,    /* waits for others, time or files by a thread that held a lock */
    UNS_COUNTERS = 17
};

_Static_assert(sizeof(struct uns_file_header) == 32, "file header");
_Static_assert(sizeof(struct uns_section_header) == 16, "section header");
_Static_assert(sizeof(struct uns_thread_record) == 136, "thread record");
_Static_assert(sizeof(struct uns_edge_record) == 48, "edge record");
_Static_assert(sizeof(struct uns_segment_record) == 16, "segment record");
_Static_assert(sizeof(struct uns_count_record) == 24, "count record");
_Static_assert(sizeof(struct uns_pattern_record) == 56, "pattern record");
_Static_assert(sizeof(struct uns_order_record) == 24, "order record");
_Static_assert(sizeof(struct uns_wait_record) == 32, "wait record");
_Static_assert(sizeof(struct uns_standstill_record) == 56, "standstill record");
_Static_assert(sizeof(struct uns_pending_record) == 16, "pending record");
_Static_assert(sizeof(struct uns_rule_record) == 40, "rule record");
_Static_assert(sizeof(struct uns_trace_record) == 24, "trace record");
_Static_assert(sizeof(struct uns_log_record) == 16, "log record");
_Static_assert(sizeof(struct uns_value_record) == 32, "value record");
_Static_assert(sizeof(struct uns_branch_record) == 16, "branch record");
_Static_assert(sizeof(struct uns_event_record) == 32, "event record");
_Static_assert(sizeof(struct uns_piece_header) == 160, "piece header");
#endif
