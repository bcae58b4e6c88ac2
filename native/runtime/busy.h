/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks of the runtime's own. A signal's handler must not interrupt a thread that holds one: it
 * could wait for it for ever. So the thread is busy meanwhile, and handlers wait.
 */
#ifndef UNSNARL_BUSY_H
#define UNSNARL_BUSY_H
#include "runtime/runtime.h"

static inline void uns_busy(void) {
    if (uns_self)
        uns_self->busy++;
}
static inline void uns_idle(void) {
    if (uns_self && !--uns_self->busy &&
        UNS_UNLIKELY(__atomic_load_n(&uns_self->signalled, __ATOMIC_RELAXED)))
        uns_rt.hooks.idle();
}

/* For a few instructions at a time. */
static inline void uns_spin_lock(uint32_t *lock) {
    uns_busy();
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        ;
}
static inline void uns_spin_unlock(uint32_t *lock) {
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    uns_idle();
}
#endif
