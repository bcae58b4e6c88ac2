/* SPDX-License-Identifier: Apache-2.0 */
/* Money moves between two accounts, each with its own lock; an auditor adds them up. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct account {
    pthread_mutex_t lock;
    long balance;
} account_t;

typedef struct bank {
    account_t *checking;
    account_t *savings;
} bank_t;

static account_t *open_account(long balance) {
    account_t *opened = malloc(sizeof *opened);
    pthread_mutex_init(&opened->lock, NULL);
    opened->balance = balance;
    return opened;
}

static void deposit(account_t *to, long amount) {
    pthread_mutex_lock(&to->lock);
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
}

static void withdraw(account_t *from, long amount) {
    pthread_mutex_lock(&from->lock);
    from->balance -= amount;
    pthread_mutex_unlock(&from->lock);
}

static long look(account_t *at) {
    pthread_mutex_lock(&at->lock);
    long balance = at->balance;
    pthread_mutex_unlock(&at->lock);
    return balance;
}

static void *customer(void *arg) {
    bank_t *bank = arg;
    for (int i = 0; i < 3; i++) {
        withdraw(bank->checking, 10);
        deposit(bank->savings, 10);
    }
    return NULL;
}

static void *auditor(void *arg) {
    bank_t *bank = arg;
    long total = look(bank->checking) + look(bank->savings);
    if (total != 200) {
        fprintf(stderr, "audit: %ld in the books, 200 expected\n", total);
        exit(3);
    }
    return NULL;
}

int main(void) {
    bank_t bank = {open_account(100), open_account(100)};
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, customer, &bank);
    pthread_create(&threads[1], NULL, auditor, &bank);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    free(bank.checking);
    free(bank.savings);
    return 0;
}
