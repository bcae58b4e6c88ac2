/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of sessions: one thread drops what is too old while another one counts a visit. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct session {
    struct session *next;
    int user, visits;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *sessions;

static void add(int user) {
    struct session *one = calloc(1, sizeof *one);
    one->user = user;
    one->next = sessions;
    sessions = one;
}

static struct session *find(int user) {
    struct session *one = sessions;
    while (one && one->user != user)
        one = one->next;
    return one;
}

static void *visit(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    struct session *one = find(2);
    if (one)
        one->visits++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *expire(void *arg) {
    (void)arg;
    pthread_mutex_lock(&lock);
    struct session *old = sessions;
    sessions = old->next;
    free(old);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t visitor, reaper;
    add(1);
    add(2);
    pthread_create(&visitor, NULL, visit, NULL);
    pthread_create(&reaper, NULL, expire, NULL);
    pthread_join(visitor, NULL);
    pthread_join(reaper, NULL);
    printf("%d left\n", sessions->user);
    return 0;
}
