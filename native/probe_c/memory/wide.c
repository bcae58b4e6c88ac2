/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomic accesses of 16 bytes. Where the processor has no instruction for them, compilers call a
 * library whose locks are not ours to link: here it is one lock.
 */
#include "probe_c/probe.h"

typedef unsigned __int128 wide;
#define ACCESSED(w) uns_c_accessed(UNS_C_SITE(), address, sizeof *address, w)

/* Returns what was there; `value` replaces it if that was `expected`. */
static wide swap_if(volatile wide *address, wide expected, wide value) {
#if defined(__x86_64__)
    uint64_t low = (uint64_t)expected, high = (uint64_t)(expected >> 64);
    __asm__ volatile("lock cmpxchg16b %0"
                     : "+m"(*address), "+a"(low), "+d"(high)
                     : "b"((uint64_t)value), "c"((uint64_t)(value >> 64))
                     : "memory", "cc");
    return (wide)high << 64 | low;
#else
    static char busy;
    while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
        ;
    wide found = *address;
    if (found == expected)
        *address = value;
    __atomic_clear(&busy, __ATOMIC_RELEASE);
    return found;
#endif
}

static wide load(const volatile wide *address) {
    return swap_if((volatile wide *)address, 0, 0);
}

wide __tsan_atomic128_load(const volatile wide *address, int order) {
    (void)order;
    ACCESSED(0);
    return load(address);
}
/* `seen` is what is there now: the new value may depend on it. */
#define UPDATE(name, next)                                                                         \
    wide __tsan_atomic128_##name(volatile wide *address, wide value, int order) {                  \
        (void)order;                                                                               \
        ACCESSED(1);                                                                               \
        wide seen, found = load(address);                                                          \
        do {                                                                                       \
            seen = found;                                                                          \
            found = swap_if(address, seen, next);                                                  \
        } while (found != seen);                                                                   \
        return seen;                                                                               \
    }
UPDATE(exchange, value)
UPDATE(fetch_add, seen + value)
UPDATE(fetch_sub, seen - value)
UPDATE(fetch_and, seen &value)
UPDATE(fetch_or, seen | value)
UPDATE(fetch_xor, seen ^ value)
UPDATE(fetch_nand, ~(seen &value))

void __tsan_atomic128_store(volatile wide *address, wide value, int order) {
    (void)order;
    ACCESSED(1);
    wide seen, found = load(address);
    do {
        seen = found;
        found = swap_if(address, seen, value);
    } while (found != seen);
}

#define COMPARE(name)                                                                              \
    int __tsan_atomic128_compare_exchange_##name(volatile wide *address, wide *expected,           \
                                                 wide value, int order, int failure) {             \
        (void)order, (void)failure;                                                                \
        ACCESSED(1);                                                                               \
        wide wanted = *expected;                                                                   \
        *expected = swap_if(address, wanted, value);                                               \
        return *expected == wanted;                                                                \
    }
COMPARE(strong)
COMPARE(weak)
wide __tsan_atomic128_compare_exchange_val(volatile wide *address, wide expected, wide value,
                                           int order, int failure) {
    (void)order, (void)failure;
    ACCESSED(1);
    return swap_if(address, expected, value);
}
