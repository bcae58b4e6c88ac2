/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic accesses: accesses like others, done here. Under the gate one thread runs at a time, so
 * the strongest order costs nothing; in a free run the program's own must not be weakened. Only
 * stores have two: the strongest one costs 20 times as much on x86-64.
 */
#include "probe.h"

#define ORDER   __ATOMIC_SEQ_CST
#define READ()  uns_c_read(address, sizeof *address, UNS_C_HERE)
#define WRITE() uns_c_write(address, sizeof *address, UNS_C_HERE)

#define LOAD_STORE(bits, type)                                                                     \
    type __tsan_atomic##bits##_load(const volatile type *address, int order) {                     \
        (void)order;                                                                               \
        READ();                                                                                    \
        return __atomic_load_n(address, ORDER);                                                    \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order) {              \
        WRITE();                                                                                   \
        if (order == ORDER)                                                                        \
            __atomic_store_n(address, value, ORDER);                                               \
        else                                                                                       \
            __atomic_store_n(address, value, __ATOMIC_RELEASE);                                    \
    }                                                                                              \
    type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order) {           \
        (void)order;                                                                               \
        WRITE();                                                                                   \
        return __atomic_exchange_n(address, value, ORDER);                                         \
    }
#define FETCH(bits, type, name)                                                                    \
    type __tsan_atomic##bits##_fetch_##name(volatile type *address, type value, int order) {       \
        (void)order;                                                                               \
        WRITE();                                                                                   \
        return __atomic_fetch_##name(address, value, ORDER);                                       \
    }
/* Whether it will be a write is known only when it is done: it counts as one, as the hardware has
 * it. */
#define COMPARE(bits, type, name, weak)                                                            \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected,      \
                                                      type value, int order, int failure) {        \
        (void)order, (void)failure;                                                                \
        WRITE();                                                                                   \
        return __atomic_compare_exchange_n(address, expected, value, weak, ORDER, ORDER);          \
    }
#define ALL(bits, type)                                                                            \
    LOAD_STORE(bits, type)                                                                         \
    FETCH(bits, type, add)                                                                         \
    FETCH(bits, type, sub)                                                                         \
    FETCH(bits, type, and)                                                                         \
    FETCH(bits, type, or)                                                                          \
    FETCH(bits, type, xor)                                                                         \
    FETCH(bits, type, nand)                                                                        \
    COMPARE(bits, type, strong, 0)                                                                 \
    COMPARE(bits, type, weak, 1)                                                                   \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *address, type expected,         \
                                                    type value, int order, int failure) {          \
        (void)order, (void)failure;                                                                \
        WRITE();                                                                                   \
        __atomic_compare_exchange_n(address, &expected, value, 0, ORDER, ORDER);                   \
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
