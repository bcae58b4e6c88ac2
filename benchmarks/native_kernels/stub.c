/* SPDX-License-Identifier: Apache-2.0
 *
 * What the compiler's -fsanitize=thread calls in fast_path.c, doing nothing: the price of the
 * calls.
 */
#define STUB __attribute__((aligned(64)))

STUB void __tsan_read8(void *address) {
    (void)address;
}
STUB void __tsan_write8(void *address) {
    (void)address;
}
void __tsan_init(void) {}
void __tsan_func_entry(void *caller) {
    (void)caller;
}
void __tsan_func_exit(void) {}
