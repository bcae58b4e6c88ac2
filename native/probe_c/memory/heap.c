/* SPDX-License-Identifier: Apache-2.0
 *
 * The heap: a new block has no past, and to free one is to write all of it, so that who uses it
 * afterwards is reported together with who freed it. The definitions are weak: a program that
 * brings its own allocator keeps it.
 */
#define _GNU_SOURCE
#include "probe_c/probe.h"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define OURS __attribute__((weak))

/* glibc's own, by the names that nobody replaces: dlsym would ask for memory itself. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

/* The site of the operator of C++ that is under way, + 1: malloc and free are called by us or by a
 * library then. (Volatile: the compiler knows free, and that it reads nothing of ours.) */
static __thread volatile uint32_t asking;

/* A thread that the run does not know yet (the runtime's own, one that is just being made) is none
 * of its events. */
static int counts(void) {
    return uns_c_on() && uns_self;
}

static uint32_t site_of(const void *caller) {
    uint32_t site = asking ? asking - 1 : uns_c_site(caller);
    asking = 0;
    return site;
}

static void *made(void *block, size_t size, const void *caller) {
    if (block && UNS_UNLIKELY(counts())) {
        uns_c_fresh(block, size);
        if (uns_rt.gated)
            uns_c_block_made(block, size, site_of(caller));
    }
    return block;
}

/* Who uses a block that is gone mostly uses its beginning. */
#define MOST_FREED 512

/* What a library frees for itself is nobody's event. Returns the block's size, 0: no event. */
static size_t freeing(void *block, uint32_t site) {
    if (!block || !UNS_UNLIKELY(counts()))
        return 0;
    uns_c_check_freed(block, uns_c_outside(site), "double free", "a block is freed a second time");
    size_t size = malloc_usable_size(block);
    if (site)
        uns_c_accessed_by_free(site, block, size < MOST_FREED ? size : MOST_FREED);
    if (uns_rt.gated)
        uns_c_block_freed(block);
    return size;
}

#define CALLER __builtin_return_address(0)

OURS void *malloc(size_t size) {
    return made(__libc_malloc(size), size, CALLER);
}
OURS void *calloc(size_t count, size_t size) {
    return made(__libc_calloc(count, size), count * size, CALLER);
}
OURS void *memalign(size_t alignment, size_t size) {
    return made(__libc_memalign(alignment, size), size, CALLER);
}
OURS void *aligned_alloc(size_t alignment, size_t size) {
    return made(__libc_memalign(alignment, size), size, CALLER);
}
OURS int posix_memalign(void **block, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) || alignment & (alignment - 1) || !alignment)
        return EINVAL;
    void *found = made(__libc_memalign(alignment, size), size, CALLER);
    if (found)
        *block = found;
    return found ? 0 : ENOMEM;
}
OURS void free(void *block) {
    uint32_t site = site_of(CALLER);
    size_t size = freeing(block, site);
    if (!size || !uns_c_watch_freed(block, size, uns_c_outside(site)))
        __libc_free(block);
}

/* The bytes that it keeps are the old ones. */
static void *resized(void *block, size_t size, const void *caller) {
    size_t kept = block ? malloc_usable_size(block) : 0;
    freeing(block, uns_c_site(caller));
    char *found = __libc_realloc(block, size);
    if (found != block)
        return made(found, size, caller);
    if (found && UNS_UNLIKELY(counts())) {
        if (size > kept)
            uns_c_fresh(found + kept, size - kept);
        if (uns_rt.gated)
            uns_c_block_made(found, size, uns_c_site(caller));
    }
    return found;
}
OURS void *realloc(void *block, size_t size) {
    return resized(block, size, CALLER);
}
OURS void *reallocarray(void *block, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return errno = ENOMEM, NULL;
    return resized(block, bytes, CALLER);
}

/* C++: libstdc++'s operators call malloc and free, and throw what has to be thrown. */
typedef void *new_function(size_t, ...);

static void *without_library(size_t size, ...) {
    void *block = malloc(size);
    return block ? block : (abort(), NULL);
}

#define NEW(name, parameters, ...)                                                                 \
    void *name parameters;                                                                         \
    OURS void *name parameters {                                                                   \
        static new_function *real;                                                                 \
        if (!real)                                                                                 \
            real = (new_function *)uns_c_next(#name);                                              \
        if (!asking) /* one operator calls another */                                              \
            asking = uns_c_site(CALLER) + 1;                                                       \
        void *block = (real ? real : without_library)(__VA_ARGS__);                                \
        asking = 0;                                                                                \
        return block;                                                                              \
    }
#define DELETE(name, ...)                                                                          \
    void name(void *block, ##__VA_ARGS__);                                                         \
    OURS void name(void *block, ##__VA_ARGS__) {                                                   \
        asking = uns_c_site(CALLER) + 1;                                                           \
        free(block);                                                                               \
        asking = 0;                                                                                \
    }
NEW(_Znwm, (size_t size), size)
NEW(_Znam, (size_t size), size)
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), size, tag)
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), size, tag)
NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), size, alignment)
NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), size, alignment)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm, size_t size)
DELETE(_ZdaPvm, size_t size)
DELETE(_ZdlPvRKSt9nothrow_t, const void *tag)
DELETE(_ZdaPvRKSt9nothrow_t, const void *tag)
DELETE(_ZdlPvSt11align_val_t, size_t alignment)
DELETE(_ZdaPvSt11align_val_t, size_t alignment)
DELETE(_ZdlPvmSt11align_val_t, size_t size, size_t alignment)
DELETE(_ZdaPvmSt11align_val_t, size_t size, size_t alignment)
