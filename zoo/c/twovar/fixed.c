/* SPDX-License-Identifier: Apache-2.0 */
/* A window onto a long tape moves along; another thread looks at where it begins and ends. */
#include <assert.h>
#include <pthread.h>

#define MOVES 4
#define LOOKS 4
#define WIDTH 10

struct window {
    pthread_mutex_t lock;
    long begin;
    long end;
};

static struct window window = {.lock = PTHREAD_MUTEX_INITIALIZER, .begin = 0, .end = WIDTH};

static void set_begin(struct window *w, long place) {
    w->begin = place;
}

static void set_end(struct window *w, long place) {
    w->end = place;
}

static long width(struct window *w) {
    pthread_mutex_lock(&w->lock);
    long begin = w->begin;
    long end = w->end;
    pthread_mutex_unlock(&w->lock);
    return end - begin;
}

static void *move(void *arg) {
    (void)arg;
    for (long step = 1; step <= MOVES; step++) {
        pthread_mutex_lock(&window.lock);
        set_begin(&window, 3 * step);
        set_end(&window, 3 * step + WIDTH);
        pthread_mutex_unlock(&window.lock);
    }
    return NULL;
}

static void *look(void *arg) {
    long *narrowest = arg;
    for (int i = 0; i < LOOKS; i++) {
        long seen = width(&window);
        if (seen < *narrowest)
            *narrowest = seen;
    }
    return NULL;
}

int main(void) {
    pthread_t mover, viewer;
    long narrowest = WIDTH;
    pthread_create(&mover, NULL, move, NULL);
    pthread_create(&viewer, NULL, look, &narrowest);
    pthread_join(mover, NULL);
    pthread_join(viewer, NULL);
    assert(narrowest == WIDTH);
    return 0;
}
