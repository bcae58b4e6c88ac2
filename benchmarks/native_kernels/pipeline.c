/* SPDX-License-Identifier: Apache-2.0
 *
 * A pipeline as in dedup: one thread cuts a stream into chunks, some hash them, one adds up. Chunks
 * wander through queues with a mutex and two conditions.
 */
#include "kernels.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ROOM    64u
#define LONGEST 4096u
#define SHORT   512u
#define SLOTS   (1u << 16)

struct chunk {
    uint32_t length, sum;
    uint64_t hash;
    uint8_t bytes[LONGEST];
};
struct queue {
    struct chunk *chunks[ROOM];
    uint32_t first, count, producers;
    pthread_mutex_t mutex;
    pthread_cond_t filled, emptied;
};
static struct queue cut, hashed;
static const uint8_t *stream;
static long stream_length;
static atomic_uint *seen;
static atomic_long duplicates;
static uint64_t total;

static void open_queue(struct queue *queue, uint32_t producers) {
    *queue = (struct queue){.producers = producers};
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->filled, NULL);
    pthread_cond_init(&queue->emptied, NULL);
}

static void put(struct queue *queue, struct chunk *chunk) {
    pthread_mutex_lock(&queue->mutex);
    while (queue->count == ROOM)
        pthread_cond_wait(&queue->emptied, &queue->mutex);
    queue->chunks[(queue->first + queue->count++) % ROOM] = chunk;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->mutex);
}

/* NULL: there will be no more. */
static struct chunk *take(struct queue *queue) {
    struct chunk *chunk = NULL;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->count && queue->producers)
        pthread_cond_wait(&queue->filled, &queue->mutex);
    if (queue->count) {
        chunk = queue->chunks[queue->first];
        queue->first = (queue->first + 1) % ROOM;
        queue->count--;
        pthread_cond_signal(&queue->emptied);
    }
    pthread_mutex_unlock(&queue->mutex);
    return chunk;
}

static void close_queue(struct queue *queue) {
    pthread_mutex_lock(&queue->mutex);
    if (!--queue->producers)
        pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->mutex);
}

/* Where the latest bytes look a certain way, a chunk ends: equal content is cut equally. */
static struct chunk *chunk_from(const uint8_t *from, long left) {
    struct chunk *chunk = malloc(sizeof *chunk);
    uint32_t rolling = 0, length = 0;
    while (length < LONGEST && length < left) {
        chunk->bytes[length] = from[length];
        rolling = (rolling << 1) + from[length++];
        if (length > SHORT && (rolling & 0x7ff) == 0x123)
            break;
    }
    chunk->length = length;
    return chunk;
}

static void *produce(void *unused) {
    for (long at = 0; at < stream_length;) {
        struct chunk *chunk = chunk_from(stream + at, stream_length - at);
        at += chunk->length;
        put(&cut, chunk);
    }
    close_queue(&cut);
    return unused;
}

static void *hash(void *unused) {
    for (struct chunk *chunk; (chunk = take(&cut));) {
        uint64_t fnv = 1469598103934665603u;
        uint32_t low = 1, high = 0;
        for (uint32_t i = 0; i < chunk->length; i++) {
            fnv = (fnv ^ chunk->bytes[i]) * 1099511628211u;
            low += chunk->bytes[i];
            high += low;
        }
        chunk->hash = fnv;
        chunk->sum = high;
        if (atomic_fetch_add(&seen[fnv >> 48], 1))
            atomic_fetch_add(&duplicates, 1);
        put(&hashed, chunk);
    }
    close_queue(&hashed);
    return unused;
}

static void *add_up(void *unused) {
    for (struct chunk *chunk; (chunk = take(&hashed)); free(chunk))
        total += chunk->hash + chunk->sum;
    return unused;
}

static uint8_t *make_stream(long length) {
    uint8_t *made = data((size_t)length);
    uint32_t drawn = 5;
    for (long i = 0; i < length; i++)
        made[i] = (uint8_t)(draw(&drawn) >> (i >> 12 & 7));
    return made;
}

uint64_t pipeline(long size) {
    pthread_t first, last, workers[MOST_THREADS];
    int count = threads > 2 ? threads - 2 : 1;
    stream_length = size;
    stream = make_stream(size);
    seen = data(SLOTS * sizeof *seen);
    open_queue(&cut, 1);
    open_queue(&hashed, (uint32_t)count);
    pthread_create(&first, NULL, produce, NULL);
    for (int i = 0; i < count; i++)
        pthread_create(&workers[i], NULL, hash, NULL);
    pthread_create(&last, NULL, add_up, NULL);
    pthread_join(first, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(workers[i], NULL);
    pthread_join(last, NULL);
    return total + (uint64_t)duplicates;
}
