/* Atomic accesses of 16 bytes, and entry points that no compiler here calls: prints ok. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

typedef unsigned __int128 wide;
#define ORDER __ATOMIC_SEQ_CST
#define ROUNDS 200

void __tsan_read4_pc(void *address, void *pc);
void __tsan_write4_pc(void *address, void *pc);
void __tsan_write_range_pc(void *address, unsigned long size, void *pc);
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void AnnotateHappensBefore(const char *file, int line, const volatile void *address);

static wide total, other;
static int told[4];

static void *work(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        __atomic_fetch_add(&total, ((wide)1 << 64) + 1, ORDER);
        wide seen = __atomic_load_n(&other, ORDER);
        while (!__atomic_compare_exchange_n(&other, &seen, seen + ((wide)3 << 64), 0, ORDER, ORDER))
            ;
    }
    return argument;
}

static void each(void) {
    wide word = 12;
    assert(__atomic_fetch_sub(&word, 2, ORDER) == 12 && __atomic_fetch_and(&word, 14, ORDER) == 10);
    assert(__atomic_fetch_or(&word, 5, ORDER) == 10 && __atomic_fetch_xor(&word, 1, ORDER) == 15);
    assert(__atomic_fetch_nand(&word, 6, ORDER) == 14 && word == ~(wide)6);
    assert(__atomic_exchange_n(&word, 9, ORDER) == ~(wide)6);
    __atomic_store_n(&word, (wide)7 << 100, ORDER);
    assert(__atomic_load_n(&word, ORDER) >> 100 == 7);
    wide wrong = 1;
    assert(!__atomic_compare_exchange_n(&word, &wrong, 2, 0, ORDER, ORDER));
    assert(wrong == (wide)7 << 100);
}

int main(void) {
    pthread_t threads[2];
    void *here = &&place;
place:
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(total == ((wide)2 * ROUNDS << 64) + 2 * ROUNDS);
    assert(other == (wide)6 * ROUNDS << 64);
    each();
    __tsan_read4_pc(told, here);
    __tsan_write4_pc(told, here);
    __tsan_write_range_pc(told, sizeof told, here);
    __tsan_release(told);
    __tsan_acquire(told);
    AnnotateHappensBefore(__FILE__, __LINE__, told);
    puts("ok");
    return 0;
}
