/* SPDX-License-Identifier: Apache-2.0 */
/* Images are shared by reference counts; the cache holds one reference of its own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct image {
    atomic_int refs;
    int width;
};

struct cache {
    pthread_mutex_t lock;
    struct image *newest;
};

static struct cache cache = {PTHREAD_MUTEX_INITIALIZER, NULL};

static struct image *image_new(int width) {
    struct image *made = malloc(sizeof *made);
    made->refs = 1;
    made->width = width;
    return made;
}

static void image_ref(struct image *image) {
    image->refs++;
}

static void image_unref(struct image *image) {
    if (--image->refs == 0)
        free(image);
}

static struct image *cache_get(struct cache *from) {
    pthread_mutex_lock(&from->lock);
    struct image *image = from->newest;
    image_ref(image);
    pthread_mutex_unlock(&from->lock);
    return image;
}

static void cache_put(struct cache *into, struct image *image) {
    pthread_mutex_lock(&into->lock);
    struct image *old = into->newest;
    into->newest = image;
    pthread_mutex_unlock(&into->lock);
    if (old)
        image_unref(old);
}

static void *draw(void *arg) {
    long *total = arg;
    struct image *image = cache_get(&cache);
    *total += image->width;
    image_unref(image);
    return NULL;
}

static void *reload(void *arg) {
    (void)arg;
    cache_put(&cache, image_new(640));
    return NULL;
}

int main(void) {
    long total = 0;
    pthread_t drawer, loader;
    cache_put(&cache, image_new(320));
    pthread_create(&drawer, NULL, draw, &total);
    pthread_create(&loader, NULL, reload, NULL);
    pthread_join(drawer, NULL);
    pthread_join(loader, NULL);
    cache_put(&cache, NULL);
    printf("%ld\n", total);
    return 0;
}
