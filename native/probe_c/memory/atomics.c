/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic accesses: accesses like others, done here. Under the gate one thread runs at a time, so
 * the strongest order costs nothing; in a free run the program's own must not be weakened. Only
 * stores have two: the strongest one costs 20 times as much on x86-64.
 */
#include "probe_c/probe.h"

#define ORDER   __ATOMIC_SEQ_CST
#define READ()  uns_c_read(address, sizeof *address, UNS_C_HERE)
#define WRITE() uns_c_write(address, sizeof *address, UNS_C_HERE)

/* What was found and left, for records that have values. */
#define KNOW(value)                                                                                \
    if (UNS_UNLIKELY(uns_rt.sketch.values))                                                        \
    uns_c_know_value((uint64_t)(value))
#define KNOW_BOTH(found, left)                                                                     \
    if (UNS_UNLIKELY(uns_rt.sketch.values))                                                        \
    uns_c_know_both((uint64_t)(found), (uint64_t)(left))

#define LOAD_STORE(bits, type)                                                                     \
    type __tsan_atomic##bits##_load(const volatile type *address, int order) {                     \
        (void)order;                                                                               \
        READ();                                                                                    \
        type found = __atomic_load_n(address, ORDER);                                              \
        KNOW(found);                                                                               \
        return found;                                                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order) {              \
        WRITE();                                                                                   \
        if (order == ORDER)                                                                        \
            __atomic_store_n(address, value, ORDER);                                               \
        else                                                                                       \
            __atomic_store_n(address, value, __ATOMIC_RELEASE);                                    \
        KNOW(value);                                                                               \
    }                                                                                              \
    type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order) {           \
        (void)order;                                                                               \
        WRITE();                                                                                   \
        type found = __atomic_exchange_n(address, value, ORDER);                                   \
        KNOW_BOTH(found, value);                                                                   \
        return found;                                                                              \
    }
#define FETCH(bits, type, name, left)                                                              \
    type __tsan_atomic##bits##_fetch_##name(volatile type *address, type value, int order) {       \
        (void)order;                                                                               \
        WRITE();                                                                                   \
        type found = __atomic_fetch_##name(address, value, ORDER);                                 \
        KNOW_BOTH(found, (type)(left));                                                            \
        return found;                                                                              \
    }
/* Whether it will be a write is known only when it is done: it counts as one, as the hardware has
 * it. */
#define COMPARE(bits, type, name, weak)                                                            \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected,      \
                                                      type value, int order, int failure) {        \
        (void)order, (void)failure;                                                                \
        WRITE();                                                                                   \
        int done = __atomic_compare_exchange_n(address, expected, value, weak, ORDER, ORDER);      \
        KNOW_BOTH(*expected, done ? value : *expected);                                            \
        return done;                                                                               \
    }
#define ALL(bits, type)                                                                            \
    LOAD_STORE(bits, type)                                                                         \
    FETCH(bits, type, add, found + value)                                                          \
    FETCH(bits, type, sub, found - value)                                                          \
    FETCH(bits, type, and, found &value)                                                           \
    FETCH(bits, type, or, found | value)                                                           \
    FETCH(bits, type, xor, found ^ value)                                                          \
    FETCH(bits, type, nand, ~(found & value))                                                      \
    COMPARE(bits, type, strong, 0)                                                                 \
    COMPARE(bits, type, weak, 1)                                                                   \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *address, type expected,         \
                                                    type value, int order, int failure) {          \
        (void)order, (void)failure;                                                                \
        WRITE();                                                                                   \
        int done = __atomic_compare_exchange_n(address, &expected, value, 0, ORDER, ORDER);        \
        KNOW_BOTH(expected, done ? value : expected);                                              \
        return expected;                                                                           \
    }
ALL(8, uint8_t)
ALL(16, uint16_t)
ALL(32, uint32_t)
ALL(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
    (void)order;
    __atomic_thread_fence(ORDER);
}
void __tsan_atomic_signal_fence(int order) {
    (void)order;
}
