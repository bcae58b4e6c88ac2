/* SPDX-License-Identifier: Apache-2.0 */
/* Free slots are kept on a stack without locks: the top has a count of its changes with it. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define SLOTS 4
#define NONE 0xffff

static _Atomic unsigned long top;
static atomic_int below[SLOTS];
static atomic_int owner[SLOTS];

static unsigned long changed(unsigned long found, int slot) {
    return ((found >> 16) + 1) << 16 | (unsigned long)(slot & 0xffff);
}

static int pop(void) {
    for (;;) {
        unsigned long found = atomic_load(&top);
        int slot = (int)(found & 0xffff);
        if (slot == NONE)
            return NONE;
        int rest = atomic_load(&below[slot]);
        if (atomic_compare_exchange_strong(&top, &found, changed(found, rest)))
            return slot;
    }
}

static void push(int slot) {
    unsigned long found = atomic_load(&top);
    do
        atomic_store(&below[slot], (int)(found & 0xffff));
    while (!atomic_compare_exchange_strong(&top, &found, changed(found, slot)));
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
