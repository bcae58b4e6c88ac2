/* SPDX-License-Identifier: Apache-2.0 */
/* Money is paid in; whoever closes the book looks at the balance when it is said to be there. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100, entries;

static void *pay_in(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    entries++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    balance += 50;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *close_book(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    int expected = 100 + 50 * entries;
    int found = balance;
    pthread_mutex_unlock(&lock);
    assert(found == expected);
    return NULL;
}

int main(void) {
    pthread_t payers[2], closer;
    for (int i = 0; i < 2; i++)
        pthread_create(&payers[i], NULL, pay_in, NULL);
    pthread_create(&closer, NULL, close_book, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(payers[i], NULL);
    pthread_join(closer, NULL);
    return 0;
}
