/* SPDX-License-Identifier: Apache-2.0 */
/* Interns the strings of two scripts; a third thread watches how long they are on average. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#define SCRIPTS  2
#define NAMES    4
#define LOOKS    4
#define SHORTEST 5

struct strings {
    pthread_mutex_t lock;
    long count;
    long letters;
};

static struct strings strings = {.lock = PTHREAD_MUTEX_INITIALIZER};
static const char *const names[SCRIPTS][NAMES] = {
    {"width", "title", "frame", "value"},
    {"index", "onkey", "color", "class"},
};

static void intern(const char *name) {
    long length = (long)strlen(name);
    pthread_mutex_lock(&strings.lock);
    strings.count += 1;
    strings.letters += length;
    pthread_mutex_unlock(&strings.lock);
}

static long average_length(void) {
    long count = strings.count;
    long letters = strings.letters;
    return count > 0 ? letters / count : SHORTEST;
}

static void *run_script(void *arg) {
    const char *const *script = arg;
    for (int i = 0; i < NAMES; i++)
        intern(script[i]);
    return NULL;
}

static void *watch(void *arg) {
    long *lowest = arg;
    for (int look = 0; look < LOOKS; look++) {
        long average = average_length();
        if (average < *lowest)
            *lowest = average;
    }
    return NULL;
}

int main(void) {
    pthread_t scripts[SCRIPTS], watcher;
    long lowest = SHORTEST;
    for (int i = 0; i < SCRIPTS; i++)
        pthread_create(&scripts[i], NULL, run_script, (void *)names[i]);
    pthread_create(&watcher, NULL, watch, &lowest);
    for (int i = 0; i < SCRIPTS; i++)
        pthread_join(scripts[i], NULL);
    pthread_join(watcher, NULL);
    assert(lowest >= SHORTEST);
    return 0;
}
