/* SPDX-License-Identifier: Apache-2.0 */
/* Two clerks move money between two accounts, in opposite directions. */
#include <pthread.h>
#include <stdio.h>

struct account {
    pthread_mutex_t lock;
    int balance;
};

static struct account savings = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account current = {PTHREAD_MUTEX_INITIALIZER, 100};

static void *deposit(void *arg) {
    (void)arg;
    pthread_mutex_lock(&current.lock);
    current.balance -= 10;
    pthread_mutex_lock(&savings.lock);
    savings.balance += 10;
    pthread_mutex_unlock(&savings.lock);
    pthread_mutex_unlock(&current.lock);
    return NULL;
}

static void *withdraw(void *arg) {
    (void)arg;
    pthread_mutex_lock(&savings.lock);
    savings.balance -= 20;
    pthread_mutex_lock(&current.lock);
    current.balance += 20;
    pthread_mutex_unlock(&current.lock);
    pthread_mutex_unlock(&savings.lock);
    return NULL;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, deposit, NULL);
    pthread_create(&other, NULL, withdraw, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    printf("%d %d\n", savings.balance, current.balance);
    return 0;
}
