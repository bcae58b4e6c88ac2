/* Threads that are cancelled wherever they wait: prints ok. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t never, begun;
static int pipes[2], cleaned, held;

static void clean(void *argument) {
    (void)argument;
    /* POSIX: the mutex is held again when this runs. */
    held += pthread_mutex_trylock(&mutex) != 0;
    cleaned++;
    pthread_mutex_unlock(&mutex);
}

static void *in_condition(void *argument) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(clean, NULL);
    sem_post(&begun);
    for (;;)
        pthread_cond_wait(&changed, &mutex);
    pthread_cleanup_pop(1);
    return argument;
}
static void *in_sleep(void *argument) {
    sem_post(&begun);
    for (;;)
        sleep(1);
    return argument;
}
static void *in_semaphore(void *argument) {
    sem_post(&begun);
    sem_wait(&never);
    return argument;
}
static void *in_read(void *argument) {
    char byte;
    sem_post(&begun);
    read(pipes[0], &byte, 1);
    return argument;
}
static void *in_pause(void *argument) {
    sem_post(&begun);
    pause();
    return argument;
}
static void *in_test(void *argument) {
    sem_post(&begun);
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
    return argument;
}
static void *anywhere(void *argument) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    sem_post(&begun);
    for (;;)
        usleep(10);
    return argument;
}
static void *not_at_all(void *argument) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sem_post(&begun);
    usleep(100);
    return argument;
}
static void *in_join(void *argument) {
    pthread_t *other = argument;
    sem_post(&begun);
    pthread_join(*other, NULL);
    return argument;
}

static void *result_of(void *(*routine)(void *), void *argument) {
    pthread_t thread;
    void *result;
    pthread_create(&thread, NULL, routine, argument);
    sem_wait(&begun);
    assert(pthread_cancel(thread) == 0);
    assert(pthread_join(thread, &result) == 0);
    return result;
}

int main(void) {
    int token;
    pthread_t sleeper;
    assert(pipe(pipes) == 0);
    sem_init(&never, 0, 0);
    sem_init(&begun, 0, 0);
    void *(*cancelled[])(void *) = {in_condition, in_sleep, in_semaphore, in_read,
                                    in_pause,     in_test,  anywhere};
    for (unsigned i = 0; i < sizeof cancelled / sizeof *cancelled; i++)
        assert(result_of(cancelled[i], &token) == PTHREAD_CANCELED);
    assert(cleaned == 1 && held == 1);
    assert(pthread_mutex_trylock(&mutex) == 0);
    assert(result_of(not_at_all, &token) == &token);
    pthread_create(&sleeper, NULL, in_sleep, NULL);
    sem_wait(&begun);
    assert(result_of(in_join, &sleeper) == PTHREAD_CANCELED);
    assert(pthread_cancel(sleeper) == 0 && pthread_join(sleeper, NULL) == 0);
    puts("ok");
    return 0;
}
