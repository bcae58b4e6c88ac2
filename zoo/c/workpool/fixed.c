/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of workers adds up pieces of an array; main starts the jobs and waits for the last one. */
#include <assert.h>
#include <pthread.h>

#define WORKERS 3
#define JOBS 6

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static int next_job, open_jobs = JOBS;
static int numbers[JOBS] = {1, 2, 3, 4, 5, 6};
static long total;

static int take(void) {
    pthread_mutex_lock(&lock);
    int job = next_job < JOBS ? next_job++ : -1;
    pthread_mutex_unlock(&lock);
    return job;
}

static void done(void) {
    pthread_mutex_lock(&lock);
    if (--open_jobs == 0)
        pthread_cond_signal(&idle);
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    (void)arg;
    for (int job = take(); job >= 0; job = take()) {
        long square = (long)numbers[job] * numbers[job];
        pthread_mutex_lock(&lock);
        long before = total;
        total = before + square;
        pthread_mutex_unlock(&lock);
        done();
    }
    return NULL;
}

int main(void) {
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    pthread_mutex_lock(&lock);
    while (open_jobs > 0)
        pthread_cond_wait(&idle, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    assert(total == 91);
    return 0;
}
