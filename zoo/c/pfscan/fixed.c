/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for a word in several files at once; the main thread reports when all are scanned. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#define FILES   5
#define WORKERS 2
#define MATCHES 7

struct scan {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    long next;
    long active;
    long matches;
};

static struct scan scan = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};
static const char *const files[FILES] = {
    "lock, unlock", "no such word", "deadlock and livelock", "a lock", "block by block",
};

static const char *take_file(void) {
    const char *file = NULL;
    pthread_mutex_lock(&scan.lock);
    long next = scan.next;
    if (next < FILES) {
        file = files[next];
        scan.next = next + 1;
        scan.active += 1;
    }
    pthread_mutex_unlock(&scan.lock);
    return file;
}

static void end_file(long matches) {
    pthread_mutex_lock(&scan.lock);
    scan.matches += matches;
    scan.active -= 1;
    pthread_cond_signal(&scan.idle);
    pthread_mutex_unlock(&scan.lock);
}

static long count_matches(const char *text, const char *word) {
    long count = 0;
    while ((text = strstr(text, word)) != NULL) {
        count++;
        text++;
    }
    return count;
}

static void *work(void *word) {
    const char *file;
    while ((file = take_file()) != NULL)
        end_file(count_matches(file, word));
    return NULL;
}

static int all_scanned(void) {
    if (scan.next < FILES)
        return 0;
    return scan.active == 0;
}

static long report(void) {
    pthread_mutex_lock(&scan.lock);
    while (!all_scanned())
        pthread_cond_wait(&scan.idle, &scan.lock);
    long matches = scan.matches;
    pthread_mutex_unlock(&scan.lock);
    return matches;
}

int main(void) {
    static char word[] = "lock";
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, word);
    long matches = report();
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    assert(matches == MATCHES);
    return 0;
}
