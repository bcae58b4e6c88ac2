/* SPDX-License-Identifier: Apache-2.0 */
/* Answers requests; every answer carries the date, which a clock thread writes into a buffer once
 * per second. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define WORKERS  2
#define REQUESTS 4
#define SECONDS  3
#define DATE     16

struct buffer {
    pthread_mutex_t lock;
    size_t length;
    char text[DATE];
};

struct worker {
    long undated;
    char header[DATE];
};

static struct buffer date = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct worker workers[WORKERS];

static void buffer_clean(struct buffer *buffer) {
    buffer->length = 0;
}

static void buffer_add(struct buffer *buffer, const char *text) {
    size_t length = strlen(text);
    memcpy(buffer->text, text, length);
    buffer->length = length;
}

static void tick(long now) {
    char text[DATE];
    pthread_mutex_lock(&date.lock);
    buffer_clean(&date);
    snprintf(text, sizeof text, "%02ld:%02ld:%02ld", now / 3600 % 24, now / 60 % 60, now % 60);
    buffer_add(&date, text);
    pthread_mutex_unlock(&date.lock);
}

static void *run_clock(void *arg) {
    const long *start = arg;
    for (long second = 1; second <= SECONDS; second++)
        tick(*start + second);
    return NULL;
}

static void *serve(void *arg) {
    struct worker *worker = arg;
    for (int i = 0; i < REQUESTS; i++) {
        pthread_mutex_lock(&date.lock);
        size_t length = date.length;
        memcpy(worker->header, date.text, length);
        pthread_mutex_unlock(&date.lock);
        if (length == 0)
            worker->undated++;
    }
    return NULL;
}

int main(void) {
    long start = 86390, undated = 0;
    pthread_t threads[WORKERS], ticker;
    tick(start);
    pthread_create(&ticker, NULL, run_clock, &start);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, serve, &workers[i]);
    pthread_join(ticker, NULL);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        undated += workers[i].undated;
    }
    assert(!undated);
    return 0;
}
