/* SPDX-License-Identifier: Apache-2.0 */
/* One thread looks at a flag until another sets it: by and by, after a sleep, or never. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static atomic_int flag, other;
static const char *how;

static void *wait(void *arg) {
    (void)arg;
    while (!flag)
        if (!strcmp(how, "yields"))
            sched_yield();
    return NULL;
}

static void *set(void *arg) {
    (void)arg;
    int sum = 0;
    if (!strcmp(how, "sleeps"))
        sleep(30);
    for (int i = 0; i < 40; i++)
        sum += other;
    if (strcmp(how, "never"))
        flag = 1 + sum;
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t waits, sets;
    how = count > 1 ? arguments[1] : "spins";
    pthread_create(&waits, NULL, wait, NULL);
    pthread_create(&sets, NULL, set, NULL);
    pthread_join(sets, NULL);
    pthread_join(waits, NULL);
    puts("ok");
    return 0;
}
