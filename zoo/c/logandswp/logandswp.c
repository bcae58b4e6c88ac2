/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps log lines in memory; a second thread sweeps them to disk from time to time. */
#include <assert.h>
#include <pthread.h>

#define WRITERS 2
#define LINES   6
#define SWEEPS  4
#define TOTAL   (WRITERS * LINES)

struct journal {
    pthread_mutex_t lock;
    long used;
    long lines[TOTAL];
};

struct disk {
    long written;
    long lines[TOTAL];
};

static struct journal journal = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct disk disk;

static void log_line(long line) {
    pthread_mutex_lock(&journal.lock);
    long slot = journal.used;
    journal.lines[slot] = line;
    journal.used = slot + 1;
    pthread_mutex_unlock(&journal.lock);
}

static void sweep(void) {
    long ready = journal.used;
    for (long i = 0; i < ready; i++)
        disk.lines[disk.written++] = journal.lines[i];
    pthread_mutex_lock(&journal.lock);
    journal.used = 0;
    pthread_mutex_unlock(&journal.lock);
}

static void *serve(void *arg) {
    const long *first = arg;
    for (long i = 0; i < LINES; i++)
        log_line(*first + i);
    return NULL;
}

static void *keep_sweeping(void *arg) {
    (void)arg;
    for (int i = 0; i < SWEEPS; i++)
        sweep();
    return NULL;
}

int main(void) {
    static const long first[WRITERS] = {100, 200};
    pthread_t writers[WRITERS], sweeper;
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&writers[i], NULL, serve, (void *)&first[i]);
    pthread_create(&sweeper, NULL, keep_sweeping, NULL);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    pthread_join(sweeper, NULL);
    sweep();
    assert(disk.written == TOTAL);
    return 0;
}
