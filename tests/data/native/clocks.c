/* Waits with limits, by every clock: prints ok. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, steady;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;

static struct timespec in(clockid_t clock, long milliseconds) {
    struct timespec when;
    clock_gettime(clock, &when);
    when.tv_sec += milliseconds / 1000;
    when.tv_nsec += milliseconds % 1000 * 1000000;
    when.tv_sec += when.tv_nsec / 1000000000;
    when.tv_nsec %= 1000000000;
    return when;
}

static void *times_out(void *argument) {
    struct timespec real = in(CLOCK_REALTIME, 50), mono = in(CLOCK_MONOTONIC, 50);
    assert(pthread_mutex_timedlock(&mutex, &real) == ETIMEDOUT);
    assert(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &mono) == ETIMEDOUT);
    assert(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &mono) == ETIMEDOUT);
    assert(pthread_rwlock_clockwrlock(&rwlock, CLOCK_REALTIME, &real) == ETIMEDOUT);
    assert(pthread_rwlock_timedrdlock(&rwlock, &real) == ETIMEDOUT);
    assert(pthread_rwlock_timedwrlock(&rwlock, &real) == ETIMEDOUT);
    real = in(CLOCK_REALTIME, 50);
    mono = in(CLOCK_MONOTONIC, 50);
    assert(sem_timedwait(&semaphore, &real) == -1 && errno == ETIMEDOUT);
    assert(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &mono) == -1 && errno == ETIMEDOUT);
    assert(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
    return argument;
}

static void conditions(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&steady, &attributes);
    struct timespec real = in(CLOCK_REALTIME, 50), mono = in(CLOCK_MONOTONIC, 50);
    assert(pthread_cond_timedwait(&changed, &mutex, &real) == ETIMEDOUT);
    assert(pthread_cond_timedwait(&steady, &mutex, &mono) == ETIMEDOUT);
    mono = in(CLOCK_MONOTONIC, 50);
    assert(pthread_cond_clockwait(&changed, &mutex, CLOCK_MONOTONIC, &mono) == ETIMEDOUT);
    assert(pthread_cond_destroy(&steady) == 0);
}

/* Whoever sleeps sees that time has passed, by whatever clock. */
static void sleeps(void) {
    struct timeval before, after;
    struct timespec begun, done, rest = {.tv_sec = 3}, until;
    time_t then = time(NULL);
    gettimeofday(&before, NULL);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    assert(nanosleep(&(struct timespec){.tv_sec = 1}, &rest) == 0);
    assert(clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 500000000}, NULL) == 0);
    until = in(CLOCK_REALTIME, 500);
    assert(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == 0);
    assert(nanosleep(&(struct timespec){.tv_nsec = -1}, NULL) == -1 && errno == EINVAL);
    gettimeofday(&after, NULL);
    clock_gettime(CLOCK_MONOTONIC, &done);
    assert(after.tv_sec - before.tv_sec >= 1 && time(NULL) - then >= 1);
    assert((done.tv_sec - begun.tv_sec) * 1000 + (done.tv_nsec - begun.tv_nsec) / 1000000 >= 1990);
}

int main(void) {
    pthread_t thread;
    sem_init(&semaphore, 0, 0);
    pthread_mutex_lock(&mutex);
    pthread_rwlock_wrlock(&rwlock);
    pthread_create(&thread, NULL, times_out, NULL);
    pthread_join(thread, NULL);
    conditions();
    sleeps();
    pthread_rwlock_unlock(&rwlock);
    assert(pthread_rwlock_destroy(&rwlock) == 0);
    int value = -1;
    sem_post(&semaphore);
    assert(sem_getvalue(&semaphore, &value) == 0 && value == 1);
    assert(sem_destroy(&semaphore) == 0);
    puts("ok");
    return 0;
}
