/* SPDX-License-Identifier: Apache-2.0
 *
 * __wrap_pthread_create and its like: what instrumented libraries call. A jump and not a call, so
 * that the return address, which is the site, stays the library's. Weak: a program may wrap the
 * same function for reasons of its own.
 */
#if defined(__x86_64__)
#define JUMP "jmp "
#else
#define JUMP "b "
#endif
#define INTERCEPTOR(name)                                                                          \
    __asm__(".text\n"                                                                              \
            ".p2align 4\n"                                                                         \
            ".weak __wrap_" #name "\n"                                                             \
            ".type __wrap_" #name ", %function\n"                                                  \
            "__wrap_" #name ":\n"                                                                  \
            "    " JUMP #name "\n"                                                                 \
            ".size __wrap_" #name ", . - __wrap_" #name "\n");
#include "probe_c/interceptors.inc"
