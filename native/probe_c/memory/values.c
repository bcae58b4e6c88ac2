/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of accesses in recorded runs. The compiler reports an access before it is done, and other
 * threads do not wait: what is read is looked at before and after (at the thread's next event), and
 * is known if it is the same; what is written only after. Memory may be gone by then. Atomic
 * accesses are done by the probe itself, and known for certain.
 */
#include "probe_c/probe.h"

/* Reads up to 8 bytes; 0: they cannot be read (uns_c_peeks). */
int uns_c_peek(const volatile void *address, uint64_t size, uint64_t *value);
extern char uns_c_peek_from, uns_c_peek_to, uns_c_peek_failed;
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
        ".hidden uns_c_peek, uns_c_peek_from, uns_c_peek_to, uns_c_peek_failed\n"
        ".globl uns_c_peek, uns_c_peek_from, uns_c_peek_to, uns_c_peek_failed\n"
        ".type uns_c_peek, @function\n"
        "uns_c_peek:\n"
        "cmpq $8, %rsi\n je 8f\n cmpq $4, %rsi\n je 4f\n cmpq $2, %rsi\n je 2f\n"
        "uns_c_peek_from:\n"
        "1: movzbl (%rdi), %eax\n jmp 9f\n"
        "2: movzwl (%rdi), %eax\n jmp 9f\n"
        "4: movl (%rdi), %eax\n jmp 9f\n"
        "8: movq (%rdi), %rax\n"
        "uns_c_peek_to:\n"
        "9: movq %rax, (%rdx)\n movl $1, %eax\n ret\n"
        "uns_c_peek_failed:\n"
        "xorl %eax, %eax\n ret\n"
        ".popsection\n");
#else
__asm__(".pushsection .text\n"
        ".hidden uns_c_peek, uns_c_peek_from, uns_c_peek_to, uns_c_peek_failed\n"
        ".globl uns_c_peek, uns_c_peek_from, uns_c_peek_to, uns_c_peek_failed\n"
        ".type uns_c_peek, %function\n"
        "uns_c_peek:\n"
        "cmp x1, #8\n b.eq 8f\n cmp x1, #4\n b.eq 4f\n cmp x1, #2\n b.eq 2f\n"
        "uns_c_peek_from:\n"
        "1: ldrb w3, [x0]\n b 9f\n"
        "2: ldrh w3, [x0]\n b 9f\n"
        "4: ldr w3, [x0]\n b 9f\n"
        "8: ldr x3, [x0]\n"
        "uns_c_peek_to:\n"
        "9: str x3, [x2]\n mov w0, #1\n ret\n"
        "uns_c_peek_failed:\n"
        "mov w0, #0\n ret\n"
        ".popsection\n");
#endif

/* A fault of ours, not of the program's: goes on behind it. */
uintptr_t uns_c_peeks(uintptr_t pc) {
    return pc >= (uintptr_t)&uns_c_peek_from && pc < (uintptr_t)&uns_c_peek_to
               ? (uintptr_t)&uns_c_peek_failed
               : 0;
}

#define WORD  8u
#define WORDS 64u /* of a range: what lies behind is not looked at */

/* The access that the thread is about to do, or has done since. */
static __thread struct {
    const volatile void *address;
    uint64_t size;
    struct uns_value_record record;
    int seen; /* before */
} latest;

void uns_c_settle_value(struct uns_thread *t) {
    uint64_t after;
    if (!latest.address)
        return;
    int there = uns_c_peek(latest.address, latest.size, &after);
    latest.address = NULL;
    int write = UNS_POINT_OP(latest.record.point) == UNS_WRITE;
    if (write && there)
        latest.record.value = after;
    latest.record.flags |= UNS_VALUE_NUMBER;
    if (there && (write || (latest.seen && after == latest.record.value)))
        latest.record.flags |= UNS_VALUE_CERTAIN;
    uns_log_value(t, &latest.record);
}

static void log_latest(struct uns_thread *t, uint64_t value, uint32_t flags) {
    latest.record.value = value;
    latest.record.flags |= (uint16_t)(UNS_VALUE_NUMBER | UNS_VALUE_CERTAIN | flags);
    uns_log_value(t, &latest.record);
}

void uns_c_know_value(uint64_t value) {
    if (!latest.address)
        return;
    latest.address = NULL;
    log_latest(uns_current(), value, 0);
}

/* As of a container's method in Python: one access that reads and writes. */
void uns_c_know_both(uint64_t found, uint64_t left) {
    uint32_t site = UNS_POINT_SITE(latest.record.point);
    if (!latest.address)
        return;
    latest.address = NULL;
    latest.record.point = UNS_POINT(site, UNS_READ);
    log_latest(uns_current(), found, 0);
    latest.record.point = UNS_POINT(site, UNS_WRITE);
    log_latest(uns_current(), left, UNS_VALUE_MORE);
}

static void take_word(struct uns_thread *t, uint32_t point, const volatile char *address,
                      uint64_t size, uint32_t flags) {
    uns_c_settle_value(t);
    latest.record = (struct uns_value_record){.point = point,
                                              .cell = uns_c_cell((uintptr_t)address),
                                              .position = uns_log_position(t),
                                              .flags = (uint16_t)flags};
    latest.size = size;
    latest.seen =
        UNS_POINT_OP(point) == UNS_READ && uns_c_peek(address, size, &latest.record.value);
    latest.address = address;
}

void uns_c_take_value(struct uns_thread *t, uint32_t point, const volatile void *address,
                      uint64_t size) {
    const volatile char *at = address;
    for (uint32_t word = 0; word < WORDS && size; word++) {
        uint64_t part = size >= WORD ? WORD : size >= 4 ? 4 : size >= 2 ? 2 : 1;
        take_word(t, point, at, part, word ? UNS_VALUE_MORE : 0);
        at += part;
        size -= part;
    }
}
