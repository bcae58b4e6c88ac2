/* SPDX-License-Identifier: Apache-2.0 */
/* Books the day's deposits: each teller works through a list, all into one account. */
#include <assert.h>
#include <pthread.h>

#define TELLERS  2
#define DEPOSITS 4

struct account {
    long balance;
};

static struct account account = {.balance = 100};
static const long books[TELLERS][DEPOSITS] = {{10, 20, 30, 40}, {5, 15, 25, 35}};

static void deposit(struct account *to, long amount) {
    to->balance += amount;
}

static void *work(void *arg) {
    const long *book = arg;
    for (int i = 0; i < DEPOSITS; i++)
        deposit(&account, book[i]);
    return NULL;
}

static long sum(const long *book) {
    long total = 0;
    for (int i = 0; i < DEPOSITS; i++)
        total += book[i];
    return total;
}

int main(void) {
    pthread_t tellers[TELLERS];
    long expected = account.balance;
    for (int i = 0; i < TELLERS; i++)
        expected += sum(books[i]);
    for (int i = 0; i < TELLERS; i++)
        pthread_create(&tellers[i], NULL, work, (void *)books[i]);
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);
    assert(account.balance == expected);
    return 0;
}
