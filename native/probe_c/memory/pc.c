/* SPDX-License-Identifier: Apache-2.0
 *
 * Accesses that bring their own position along: tables of calls that other compilers and
 * languages make.
 */
#include "probe_c/probe.h"

#define AT(n, w) uns_c_accessed(uns_c_site(pc), address, n, w)
#define BOTH(name, size, ...)                                                                      \
    void __tsan_read##name##_pc(void *address, ##__VA_ARGS__, void *pc) {                          \
        AT(size, 0);                                                                               \
    }                                                                                              \
    void __tsan_write##name##_pc(void *address, ##__VA_ARGS__, void *pc) {                         \
        AT(size, 1);                                                                               \
    }
#define UNALIGNED(n)                                                                               \
    void __tsan_unaligned_read##n##_pc(void *address, void *pc) {                                  \
        AT(n, 0);                                                                                  \
    }                                                                                              \
    void __tsan_unaligned_write##n##_pc(void *address, void *pc) {                                 \
        AT(n, 1);                                                                                  \
    }
BOTH(1, 1)
BOTH(2, 2)
BOTH(4, 4)
BOTH(8, 8)
BOTH(16, 16)
BOTH(_range, size, unsigned long size)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)

/* Objects that a library guards as a whole: the caller's position is what counts. */
void __tsan_external_read(void *address, void *pc, void *tag) {
    (void)tag;
    AT(1, 0);
}
void __tsan_external_write(void *address, void *pc, void *tag) {
    (void)tag;
    AT(1, 1);
}
