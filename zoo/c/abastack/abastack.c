/* SPDX-License-Identifier: Apache-2.0 */
/* Free slots are kept on a stack without locks: the top is exchanged if it is still the same. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define SLOTS 4
#define NONE -1

static atomic_int top;
static atomic_int below[SLOTS];
static atomic_int owner[SLOTS];

static int pop(void) {
    for (;;) {
        int slot = atomic_load(&top);
        if (slot == NONE)
            return NONE;
        int rest = atomic_load(&below[slot]);
        if (atomic_compare_exchange_strong(&top, &slot, rest))
            return slot;
    }
}

static void push(int slot) {
    int found = atomic_load(&top);
    do
        atomic_store(&below[slot], found);
    while (!atomic_compare_exchange_strong(&top, &found, slot));
}

static void use(int slot) {
    int users = atomic_fetch_add(&owner[slot], 1);
    assert(users == 0);
}

static void *keep(void *arg) {
    (void)arg;
    int first = pop();
    use(first);
    int second = pop();
    use(second);
    return NULL;
}

static void *swap(void *arg) {
    (void)arg;
    int first = pop();
    int second = pop();
    use(second);
    push(first);
    return NULL;
}

int main(void) {
    pthread_t keeper, swapper;
    for (int i = 0; i < SLOTS; i++)
        below[i] = i + 1 < SLOTS ? i + 1 : NONE;
    pthread_create(&keeper, NULL, keep, NULL);
    pthread_create(&swapper, NULL, swap, NULL);
    pthread_join(keeper, NULL);
    pthread_join(swapper, NULL);
    return 0;
}
