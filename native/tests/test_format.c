/* SPDX-License-Identifier: Apache-2.0
 *
 * The run file's layout, pinned: files of older versions are read by it, and numpy reads it by
 * offsets that a compiler never sees (src/unsnarl/runfile/layout.py).
 */
#include "check.h"
#include "unsnarl/format.h"
#include <stddef.h>

TEST(the_magic_is_eight_bytes_that_no_text_has) {
    CHECK_EQUAL(sizeof UNS_MAGIC - 1, 8);
    CHECK_EQUAL(UNS_MAGIC[7], 0x1a);
    CHECK_EQUAL(sizeof UNS_PIECE_MAGIC - 1, 8);
    CHECK(memcmp(UNS_MAGIC, UNS_PIECE_MAGIC, 8) != 0);
    CHECK_EQUAL(UNS_FORMAT_VERSION, 2);
}

TEST(headers_lie_as_drawn) {
    CHECK_EQUAL(sizeof(struct uns_file_header), 32);
    CHECK_EQUAL(offsetof(struct uns_file_header, version), 8);
    CHECK_EQUAL(offsetof(struct uns_file_header, sections), 12);
    CHECK_EQUAL(offsetof(struct uns_file_header, size), 16);
    CHECK_EQUAL(sizeof(struct uns_section_header), 16);
    CHECK_EQUAL(offsetof(struct uns_section_header, record_size), 4);
    CHECK_EQUAL(offsetof(struct uns_section_header, bytes), 8);
    CHECK_EQUAL(offsetof(struct uns_piece_header, thread), 24);
    CHECK(sizeof(struct uns_piece_header) <= UNS_PIECE_BYTES);
}

TEST(records_lie_as_the_reader_has_them) {
    CHECK_EQUAL(offsetof(struct uns_thread_record, events), 16);
    CHECK_EQUAL(offsetof(struct uns_thread_record, path), 24);
    CHECK_EQUAL(offsetof(struct uns_thread_record, name), 72);
    CHECK_EQUAL(offsetof(struct uns_edge_record, source_context), 8);
    CHECK_EQUAL(offsetof(struct uns_edge_record, source_thread), 12);
    CHECK_EQUAL(offsetof(struct uns_edge_record, source_time), 16);
    CHECK_EQUAL(offsetof(struct uns_edge_record, cell), 32);
    CHECK_EQUAL(offsetof(struct uns_edge_record, count), 40);
    CHECK_EQUAL(offsetof(struct uns_pattern_record, first_thread), 12);
    CHECK_EQUAL(offsetof(struct uns_pattern_record, kind), 44);
    CHECK_EQUAL(offsetof(struct uns_pattern_record, last_time), 48);
    CHECK_EQUAL(offsetof(struct uns_rule_record, held), 24);
    CHECK_EQUAL(offsetof(struct uns_wait_record, object), 16);
    CHECK_EQUAL(offsetof(struct uns_trace_record, point), 16);
    CHECK_EQUAL(offsetof(struct uns_value_record, point), 16);
    CHECK_EQUAL(offsetof(struct uns_branch_record, count), 14);
}

/* One table holds either (tracker/table.c). */
TEST(patterns_begin_as_edges_do) {
    CHECK_EQUAL(offsetof(struct uns_pattern_record, first_time),
                offsetof(struct uns_edge_record, source_time));
    CHECK_EQUAL(offsetof(struct uns_pattern_record, other_time),
                offsetof(struct uns_edge_record, sink_time));
    CHECK_EQUAL(offsetof(struct uns_pattern_record, cell), offsetof(struct uns_edge_record, cell));
    CHECK_EQUAL(offsetof(struct uns_pattern_record, count),
                offsetof(struct uns_edge_record, count));
}

TEST(a_point_is_a_site_and_an_operation) {
    uint32_t point = UNS_POINT((1u << 28) - 1, UNS_BLOCK);
    CHECK_EQUAL(point, 0xfffffffd);
    CHECK_EQUAL(UNS_POINT_SITE(point), (1u << 28) - 1);
    CHECK_EQUAL(UNS_POINT_OP(point), UNS_BLOCK);
}

/* Else the packed log could not distinguish a record of a core from an event. */
TEST(no_operation_is_a_mark_of_the_packed_log) {
    CHECK(UNS_BLOCK < UNS_PACKED_LOW);
    CHECK(UNS_PACKED_LOW < UNS_PACKED_CORE);
    CHECK_EQUAL(UNS_PACKED_CORE, 15);
}

TEST(there_is_a_number_for_every_counter) {
    CHECK(UNS_COUNT_WAITS_HOLDING < UNS_COUNTERS);
    CHECK_EQUAL(UNS_COUNTERS, 17);
}

CHECK_MAIN
