/* How threads end and are waited for: prints ok. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t first, second;
static sem_t go, gone;
static int destroyed, rounds;

static void destroy(void *value) {
    pthread_mutex_lock(&mutex);
    destroyed += *(int *)value;
    pthread_mutex_unlock(&mutex);
}
static void destroy_again(void *value) {
    pthread_mutex_lock(&mutex);
    rounds++;
    pthread_mutex_unlock(&mutex);
    if (!*(int *)value)
        pthread_setspecific(second, &destroyed); /* once more */
}

static void *with_keys(void *argument) {
    static int one = 1, none = 0;
    pthread_setspecific(first, &one);
    pthread_setspecific(second, &none);
    pthread_exit(argument);
}
static void *slow(void *argument) {
    sem_wait(&go);
    return argument;
}
static void *lonely(void *argument) {
    pthread_setname_np(pthread_self(), "lonely");
    usleep(10);
    sem_post(&gone);
    return argument;
}

static struct timespec in(clockid_t clock, long ns) {
    struct timespec when;
    clock_gettime(clock, &when);
    when.tv_nsec += ns;
    when.tv_sec += when.tv_nsec / 1000000000;
    when.tv_nsec %= 1000000000;
    return when;
}

static void join_in_all_ways(void) {
    pthread_t thread;
    void *result = NULL;
    struct timespec soon = in(CLOCK_REALTIME, 1000000), later = in(CLOCK_MONOTONIC, 1000000);
    pthread_create(&thread, NULL, slow, &result);
    assert(pthread_tryjoin_np(thread, NULL) == EBUSY);
    assert(pthread_timedjoin_np(thread, NULL, &soon) == ETIMEDOUT);
    assert(pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &later) == ETIMEDOUT);
    sem_post(&go);
    soon = in(CLOCK_REALTIME, 900000000);
    soon.tv_sec += 100;
    assert(pthread_timedjoin_np(thread, &result, &soon) == 0 && result == &result);
    assert(pthread_join(pthread_self(), NULL) == EDEADLK);
}

static void let_go(int at_once) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (at_once)
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    assert(pthread_create(&thread, &attributes, lonely, NULL) == 0);
    if (!at_once)
        assert(pthread_detach(thread) == 0);
    sem_wait(&gone);
}

int main(void) {
    pthread_t thread;
    void *result;
    pthread_key_create(&first, destroy);
    pthread_key_create(&second, destroy_again);
    sem_init(&go, 0, 0);
    sem_init(&gone, 0, 0);
    pthread_setname_np(pthread_self(), "chief");
    assert(pthread_create(&thread, NULL, with_keys, &thread) == 0);
    assert(pthread_join(thread, &result) == 0 && result == &thread);
    assert(destroyed == 1 && rounds == 2);
    join_in_all_ways();
    let_go(0);
    let_go(1);
    puts("ok");
    return 0;
}
