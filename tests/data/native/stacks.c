/* SPDX-License-Identifier: Apache-2.0 */
/* Threads one after another, each on the stack of the one before: nobody joins them. Prints the
 * words that all of them wrote, as a cell of a free run and its number of words. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define WORDS   64
#define THREADS 20

static sem_t done;
static volatile pid_t last;
static uintptr_t first;
static int reused;

static void *work(void *unused) {
    volatile uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = (uint64_t)i;
    for (int i = 1; i < WORDS; i++)
        words[0] += words[i];
    reused += first == (uintptr_t)words;
    first = (uintptr_t)words;
    last = gettid();
    sem_post(&done);
    return unused;
}

/* The thread is gone, not only done: its stack can be had. */
static void wait_for_its_end(void) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/task/%d", (int)last);
    while (access(name, F_OK) == 0)
        usleep(1000);
}

int main(void) {
    pthread_attr_t detached;
    pthread_t thread;
    sem_init(&done, 0, 0);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&thread, &detached, work, NULL);
        sem_wait(&done);
        wait_for_its_end();
    }
    printf("%lu %d %d\n", (unsigned long)(first / 8), WORDS, reused);
    return 0;
}
