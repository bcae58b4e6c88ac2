/* SPDX-License-Identifier: Apache-2.0 */
/* Each takes its own account and tries the other one; if that is taken, it gives both up. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define TRANSFERS 3

struct account {
    pthread_mutex_t lock;
    int money;
};

static struct account savings = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account cheques = {PTHREAD_MUTEX_INITIALIZER, 100};

static void transfer(struct account *from, struct account *to) {
    for (;;) {
        pthread_mutex_lock(&from->lock);
        if (pthread_mutex_trylock(&to->lock) == 0)
            break;
        pthread_mutex_unlock(&from->lock);
    }
    from->money--;
    to->money++;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *save(void *unused) {
    (void)unused;
    for (int i = 0; i < TRANSFERS; i++)
        transfer(&cheques, &savings);
    return NULL;
}

static void *spend(void *unused) {
    (void)unused;
    for (int i = 0; i < TRANSFERS; i++)
        transfer(&savings, &cheques);
    return NULL;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, save, NULL);
    pthread_create(&threads[1], NULL, spend, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(savings.money == 100 && cheques.money == 100);
    puts("the books are right");
    return 0;
}
