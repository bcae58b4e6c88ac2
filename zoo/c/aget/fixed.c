/* SPDX-License-Identifier: Apache-2.0 */
/* Downloads a file in segments, and saves how far it got when the user interrupts. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#define SEGMENTS 2
#define SEGMENT  24
#define PIECE    6

struct segment {
    long begin;
    long end;
    long offset;
};

struct progress {
    long offsets[SEGMENTS];
    long written;
};

static const char remote[] = "the quick brown fox jumps over the lazy dog, and on";
static char local[sizeof remote];
static struct segment segments[SEGMENTS];
static pthread_mutex_t written_lock = PTHREAD_MUTEX_INITIALIZER;
static long written;

static void *fetch(void *arg) {
    struct segment *segment = arg;
    long offset = segment->begin;
    while (offset < segment->end) {
        memcpy(local + offset, remote + offset, PIECE);
        offset += PIECE;
        pthread_mutex_lock(&written_lock);
        segment->offset = offset;
        written += PIECE;
        pthread_mutex_unlock(&written_lock);
    }
    return NULL;
}

static void *save(void *arg) {
    struct progress *progress = arg;
    pthread_mutex_lock(&written_lock);
    for (int i = 0; i < SEGMENTS; i++)
        progress->offsets[i] = segments[i].offset;
    progress->written = written;
    pthread_mutex_unlock(&written_lock);
    return NULL;
}

static long fetched(const struct progress *progress) {
    long sum = 0;
    for (int i = 0; i < SEGMENTS; i++)
        sum += progress->offsets[i] - segments[i].begin;
    return sum;
}

int main(void) {
    pthread_t threads[SEGMENTS], interrupt;
    struct progress progress;
    for (int i = 0; i < SEGMENTS; i++) {
        long begin = i * SEGMENT;
        segments[i] = (struct segment){.begin = begin, .end = begin + SEGMENT, .offset = begin};
    }
    for (int i = 0; i < SEGMENTS; i++)
        pthread_create(&threads[i], NULL, fetch, &segments[i]);
    pthread_create(&interrupt, NULL, save, &progress);
    for (int i = 0; i < SEGMENTS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(interrupt, NULL);
    assert(fetched(&progress) == progress.written);
    return 0;
}
